"""Where everything stands in the columns of the live kernel, and what its text says; that it moves as the
engine does is tested with the file around it (tests/targets/training/test_warp.py)."""

from __future__ import annotations

import ast
import dataclasses

import pytest

from backemf.engine.compile.dialects.warp import emit_live, rows
from backemf.engine.compile.lower import lower_hosted
from backemf.engine.hosted import Beginning, hosted_system

from .test_torch import BACKLASH, LUGRE, TWO_NODES

LATE = dataclasses.replace(LUGRE, drive=dataclasses.replace(LUGRE.drive, delay=0.01))
ACTUATORS = {"lugre": LUGRE, "late": LATE, "backlash": BACKLASH, "two nodes": TWO_NODES}


@pytest.mark.parametrize("name", ACTUATORS)
def test_no_two_things_stand_in_one_row(name):
    lowered = lower_hosted(hosted_system(ACTUATORS[name]))
    start = {"winding_temperature": "motor.resistance"} if "winding_temperature" in lowered.states else {}
    delay = "drive.delay" if name == "late" else None
    at = rows(lowered, Beginning(start=start, delay=delay))
    memory = [*range(len(at.states)), at.acted, at.place, *(at.carried(state) for state in at.summed)]
    assert memory == list(range(at.line))
    lag = [at.lag, at.lag + 1] if at.delayed else []
    own = [at.parameter(path) for path in at.parameters]
    assert [*range(len(at.terms)), *own, *lag, at.armature] == list(range(at.kept))
    assert at.delayed == (name == "late")


@pytest.mark.parametrize("name", ACTUATORS)
def test_the_text_is_one_factory_of_three(name):
    delay = "drive.delay" if name == "late" else None
    text = emit_live(lower_hosted(hosted_system(ACTUATORS[name])), Beginning(delay=delay))
    (factory,) = (n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "kernels")
    inside = [n.name for n in factory.body if isinstance(n, ast.FunctionDef)]
    assert inside == ["prepare", "begin", "moved"]
    assert ("slot" in text) == (name == "late")  # a ring of commands only where they come late
    assert "float64" not in ast.unparse(next(n for n in factory.body if getattr(n, "name", "") == "moved"))


def test_what_is_asked_starts_within_its_limits():
    lowered = lower_hosted(hosted_system(LUGRE))
    low, high = "motor.resistance", "motor.torque_constant"  # any parameters
    text = emit_live(lowered, Beginning(asked={"setpoint": (low, high)}))
    at = rows(lowered, Beginning(asked={"setpoint": (low, high)}))
    within = f"wp.min(wp.max(given0, kept[{at.parameter(low)}, k]), kept[{at.parameter(high)}, k])"
    assert f"wp.where(fresh, {within}, memory[" in text
