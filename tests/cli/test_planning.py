"""What the command line says of plans: the commands that record what a check found missing."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import backemf as be
from backemf.apps.cli.plan_command import bench_option, commands
from backemf.findings import finding
from backemf.logs.benches import bench_of
from backemf.planning.plan_options import parse_posture

BENCH = be.bench.Pendulum(mass=0.3, length=0.1, arm_mass=0.02)


def log(**more) -> be.Log:
    t = np.arange(0.0, 1.0, 0.01)
    made = be.log("a", t, position=0 * t, position_target=0 * t, current=0 * t, bench=BENCH)
    return replace(made, **more)


def verdict(*codes, **determined):
    rows = [SimpleNamespace(path=path.replace("__", "."), determined=yes) for path, yes in determined.items()]
    return SimpleNamespace(parameters=rows, findings=[SimpleNamespace(code=code) for code in codes])


def test_what_is_missing_is_planned_and_recorded(tmp_path):
    joints = [{"name": "elbow", "id": 3}]
    head = {"backemf_recording": 1, "bus": "feetech", "port": "/dev/ttyACM0", "joints": joints}
    (tmp_path / "a.jsonl").write_text(json.dumps(head) + "\n")
    one = log(source=str(tmp_path / "a.jsonl"), settings={"drive.proportional": 16.0})
    some = verdict(motor__resistance=True, friction__static=False)
    plan, record = (
        shlex.split(line) for line in commands("sts3215-12v", [one], some, friction="m4", sets=["motor.x=1"])
    )
    bench = "pendulum mass=0.3kg length=0.1m arm_mass=0.02kg"
    assert plan == [
        *("backemf", "plan", "sts3215-12v", "--bench", bench, "--target", "friction.static"),
        *("--friction", "m4", "--set", "motor.x=1", "--set", "drive.proportional=16", "-o", "more.json"),
    ]
    assert record == [
        *("backemf", "record", "--bus", "feetech", "--port", "/dev/ttyACM0", "--ids", "elbow=3"),
        *("--motions", "more.json", "--bench", bench, "-o", str(tmp_path)),
    ]


def test_nothing_is_printed_where_everything_is_told():
    told = verdict(motor__resistance=True)
    assert commands("a", [log()], told, friction=None, sets=None) == []
    early = log(findings=(finding("ended_early", "it ended", "again"),))
    (again,) = commands("a", [early], told, friction=None, sets=None)
    assert again.startswith("backemf record --bus BUS --port PORT --motions PLAN")
    (line, _) = commands("a", [log()], verdict("no_slow_motion", a=True, b=False), friction=None, sets=None)
    assert line.startswith("backemf plan a --bench"), "what curvatures do not ask for"
    assert "--target" not in line
    untold = verdict(motor__resistance=False)
    assert commands("a", [replace(log(), bench=be.bench.Locked())], untold, friction=None, sets=None) == []
    line, _ = commands("a", [log()], untold, friction=None, sets=None)
    assert "--target" not in line, "all of it"


@pytest.mark.parametrize(
    "bench",
    [
        BENCH,
        be.bench.Flywheel(inertia=2e-4),
        be.bench.Spring(inertia=1e-3, stiffness=2.0, damping=0.1),
        be.bench.Pendulum(mass=0.3, length=0.1, hanging=0.2),
    ],
)
def test_a_bench_is_typed_as_it_is_read(bench):
    assert bench_of(bench_option(bench)) == bench


def test_a_posture_in_words():
    assert parse_posture("a=0.5, b=-90deg") == pytest.approx({"a": 0.5, "b": -np.pi / 2})
    with pytest.raises(be.BackemfError, match="expected JOINT=ANGLE"):
        parse_posture("elbow")
