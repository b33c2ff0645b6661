"""A hosted system: where its states begin, and by how many steps its commands come late."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backemf.engine.hosted_system import LEAD, hosted_system, live_system
from backemf.engine.stepper import Stepper
from backemf.targets.export import export

from ..targets.code.variants import LATE, VARIANTS

Q, V = 0.2, 1.5


def targets_of(actuator: Any) -> list[float]:
    return [0.3 + 0.1 * k for k in range(len(actuator.drive.targets))]


@pytest.mark.parametrize("name", VARIANTS)
def test_it_begins_as_the_engine_does(name):
    actuator = VARIANTS[name]
    system, targets = hosted_system(actuator), targets_of(actuator)
    asked = dict(zip(actuator.drive.targets, targets, strict=True))
    expected = actuator.initial_state(asked, position=Q, velocity=V)
    found = system.begin([*system.parameters.values()], Q, V, targets)
    assert dict(zip(system.states, map(float, found), strict=True)) == expected
    live = live_system(actuator, switched=True)
    assert tuple(map(float, live.begin([*live.parameters.values()], Q, V, targets))) == tuple(
        map(float, found)
    )


@pytest.mark.parametrize("name", VARIANTS)
def test_the_file_for_torch_begins_alike(name):
    torch = pytest.importorskip("torch")
    actuator = VARIANTS[name]
    space: dict[str, Any] = {"__name__": "exported"}
    exec(next(iter(export(actuator, "torch", joint="knee", replay=False).files.values())), space)
    knee = space["Actuator"](1, 1, inertia=0.01, dtype=torch.float64)
    q, v, *targets = (torch.tensor([[x]], dtype=torch.float64) for x in (Q, V, *targets_of(actuator)))
    found = {name: float(x) for name, x in knee.beginning(q, v, targets).items()}
    asked = dict(zip(actuator.drive.targets, targets_of(actuator), strict=True))
    assert found == pytest.approx(actuator.initial_state(asked, position=Q, velocity=V), rel=1e-15)
    cold = actuator.initial_state()
    assert {name: float(x) for name, x in knee.state.items()} == pytest.approx(cold)


@pytest.mark.parametrize(("h", "whole", "part"), [(1e-3, 9, 0.3), (2e-3, 4, 0.65), (9.3e-3, 1, 0.0)])
def test_commands_are_late_by_whole_steps_and_a_part(h, whole, part):
    system, live = hosted_system(LATE), live_system(LATE)
    p = [*system.parameters.values()]
    assert [float(x) for x in system.lag(p, h)] == pytest.approx([whole, part], abs=1e-12)
    late = whole + part + LEAD  # MuJoCo's velocity leads by half a step
    assert [float(x) for x in live.lag(p, h)] == pytest.approx([np.floor(late + 1e-9), late % 1.0], abs=1e-9)


def test_the_effort_is_what_takes_the_joint_there():
    """J (v' - v) = h (effort + load), with the armature in J."""
    system = hosted_system(VARIANTS["friction lugre"])
    step, J, load, h = Stepper([system]), 0.01, 0.05, 1e-3
    state = step.start(position=Q, velocity=V)
    after, (effort,) = step(state, np.array([[J, load, 0.4]]), h)
    v = system.states.index("velocity")
    moved = J + float(system.armature([*system.parameters.values()]))
    assert moved * (after[0, v] - V) == pytest.approx(h * (float(np.ravel(effort)[0]) + load), rel=1e-9)
