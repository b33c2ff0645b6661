"""Tables in a terminal of eighty columns: none is wider, and no word is broken or lost."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import pytest

import backemf as be
from backemf.apps.cli.identify import robot_text
from backemf.apps.cli.logs import describe, text_of
from backemf.apps.demo.arm import write_arm_dataset
from backemf.identify.check import Check, Expectation
from backemf.logs.read import look

from ..robot.known import known_fit
from .typed import typed

RULE = re.compile(r"-+(  -+)*")


def tables(text: str) -> list[list[str]]:
    """The lines of every table, from the title above its rule of dashes to the empty line behind it."""
    blocks = [block.splitlines() for block in text.split("\n\n")]
    return [block for block in blocks if any(RULE.fullmatch(line) for line in block)]


def words(lines: list[str]) -> set[str]:
    return {word for line in lines for word in line.split() if not RULE.fullmatch(word)}


def check_narrow(monkeypatch, show) -> None:
    """What `show` gives at eighty columns is no wider, and has every word of what it gives at two hundred."""
    monkeypatch.setenv("COLUMNS", "200")
    wide = tables(show())
    monkeypatch.setenv("COLUMNS", "80")
    narrow = tables(show())
    assert len(wide) == len(narrow) > 0
    for one, other in zip(wide, narrow, strict=True):
        begin = next(k for k, line in enumerate(other) if RULE.fullmatch(line))
        assert max(len(line) for line in other[max(begin - 1, 0) :]) <= 80, "\n".join(other)
        assert words(one) == words(other)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arm")
    write_arm_dataset(folder / "arm_dataset", folder / "arm.xml")
    return folder


def test_a_robots_recordings(dataset, monkeypatch):
    robot = be.Robot.read(dataset / "arm.xml")
    (one, *_) = look(dataset / "arm_dataset", robot=robot)
    summary = describe(one, robot)
    check_narrow(monkeypatch, lambda: text_of(summary["joints"], summary["of_no_joint"]))
    log = ("log", str(dataset / "arm_dataset"), "--robot", str(dataset / "arm.xml"), "--episodes")
    check_narrow(monkeypatch, lambda: typed(*log, "0", COLUMNS=_columns()).stdout)
    check_narrow(monkeypatch, lambda: typed(*log, "0-2", COLUMNS=_columns()).stdout)


def _columns() -> str:
    return os.environ["COLUMNS"]


def test_a_robots_fit(dataset, monkeypatch):
    fit = known_fit(be.Robot.read(dataset / "arm.xml"), [], [])
    one = next(iter(fit.parameters.values()))
    fit = replace(fit, parameters={**fit.parameters, "shoulder_lift.friction.stribeck_velocity": one})
    check_narrow(monkeypatch, lambda: robot_text(fit))


def test_a_check(monkeypatch):
    rows = tuple(
        Expectation(path=path, value=1.2345e-5, unit="N m s/rad", relative_error=0.123, from_data=9.0)
        for path in ("friction.stribeck_velocity", "motor.torque_constant", "friction.load_stribeck")
    )
    check = Check(verdict="record more", n_logs=3, n_samples=999, parameters=rows, findings=())
    check_narrow(monkeypatch, lambda: str(check))


def test_the_catalogue(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = typed("catalog", COLUMNS="80").stdout.splitlines()
    rule = next(line for line in lines if RULE.fullmatch(line))
    assert max(len(line) for line in lines[lines.index(rule) - 1 :] if "   " in line.strip()) <= 80
