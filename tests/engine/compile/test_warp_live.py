"""Where everything stands in the columns of the live kernel, and what its text says; that it moves as the
engine does is tested with the file around it (tests/targets/training/test_warp.py)."""

from __future__ import annotations

import ast
import dataclasses

import pytest

import backemf as be
from backemf.engine.compile.dialects.warp_dialect import emit_live, rows
from backemf.engine.compile.lower import lower_hosted
from backemf.engine.hosted_system import hosted_system

from ...targets.code.variants import ERROR
from .test_torch import BACKLASH, LUGRE, TWO_NODES

LATE = dataclasses.replace(LUGRE, drive=dataclasses.replace(LUGRE.drive, delay=0.01))
ACTUATORS = {"lugre": LUGRE, "late": LATE, "backlash": BACKLASH, "two nodes": TWO_NODES}


@pytest.mark.parametrize("name", ACTUATORS)
def test_no_two_things_stand_in_one_row(name):
    lowered = lower_hosted(hosted_system(ACTUATORS[name]))
    at = rows(lowered)
    memory = [*range(len(at.states)), at.acted, at.place, *(at.remainder_row(state) for state in at.summed)]
    assert memory == list(range(at.line))
    lag = [at.lag, at.lag + 1] if at.delayed else []
    assert [*range(len(at.terms)), *lag, at.armature] == list(range(at.kept))
    assert at.delayed == (name == "late")


@pytest.mark.parametrize("name", ACTUATORS)
def test_the_text_is_one_factory_of_three(name):
    text = emit_live(lower_hosted(hosted_system(ACTUATORS[name])))
    (factory,) = (n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "kernels")
    inside = [n.name for n in factory.body if isinstance(n, ast.FunctionDef)]
    assert inside == ["prepare", "begin", "moved"]
    assert ("slot" in text) == (name == "late")  # a ring of commands only where they come late
    assert "float64" not in ast.unparse(next(n for n in factory.body if getattr(n, "name", "") == "moved"))


LIMITED = be.drive.Servo(**ERROR, command_low=0.25, command_high=0.5)


def test_what_is_asked_starts_within_its_limits():
    lowered = lower_hosted(hosted_system(dataclasses.replace(LUGRE, drive=LIMITED)))
    assert lowered.follows == ("lagged_setpoint",)
    text = emit_live(lowered)
    within = text[text.index("def moved(") : text.index("wp.where(fresh, ")]
    low, high = (f"p{lowered.parameters.index(f'drive.command_{side}')}" for side in ("low", "high"))
    assert f"wp.where(g0 >= {low} or g0 != g0, g0, {low})" in within
    assert f"<= {high}" in within
