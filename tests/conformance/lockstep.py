"""The engine and our step side by side: one step from the engine's own states,
and a free run from the same start."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from backemf.mujoco.step import DcMotor, Engine, initial_state, states, step
from backemf.physics.quantity import parameters, substitute

from .cases import EFFECTS, START, STEPS, TIMESTEP, Case, pendulum

ONE_STEP = 1e-13
"""Largest difference after one step, relative to the largest value that the state has had so far in the run.
"""
FREE_RUN = 1e-9
"""Largest difference in position (rad) and velocity (rad/s) in a free run of all steps."""
NUDGE = 1e-12
"""By how much the engine's start is moved to see how sensitive the trajectory itself is [rad]."""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How far our step is from the engine's in one case."""

    case: Case
    one_step: float
    free_run: float = 0.0
    amplification: float = 0.0
    """How much the engine alone amplifies a nudge of its start; looked at only where the free run parts."""
    steps: int = STEPS
    """Fewer where the engine diverged and reset itself."""

    @property
    def agrees(self) -> bool:
        """A free run may part only as far as the trajectory itself makes of roundings of 1e-14 all along the
        way."""
        return self.one_step <= ONE_STEP and (
            self.free_run <= FREE_RUN or self.free_run <= 1e-14 * self.amplification
        )


def engine_run(case: Case, nudge: float = 0.0) -> dict[str, np.ndarray]:
    """States of the real engine, one row more than steps;
    they end where it diverges, because there it resets itself."""
    model = mujoco.MjModel.from_xml_string(case.xml())
    data = mujoco.MjData(model)
    data.qpos[0], data.qvel[0] = START["position"] + nudge, START["velocity"]
    dcmotor = case.dcmotor(mujoco.__version__)
    rows = np.empty((STEPS + 1, 2 + model.na))
    for k, u in enumerate(case.ctrl()):
        rows[k, 0], rows[k, 1], rows[k, 2:] = data.qpos[0], data.qvel[0], data.act
        data.ctrl[:] = u
        mujoco.mj_step(model, data)
        if not data.time > k * TIMESTEP:
            rows = rows[: k + 1]
            break
    else:
        rows[STEPS, 0], rows[STEPS, 1], rows[STEPS, 2:] = data.qpos[0], data.qvel[0], data.act
    return dict(zip(("position", "velocity", *states(dcmotor)), rows.T, strict=True))


def engine_of(case: Case) -> Engine:
    return Engine(version=mujoco.__version__, integrator=case.integrator, timestep=TIMESTEP)


def one_step(case: Case, seen: dict[str, np.ndarray]) -> float:
    """The worst difference after one step from each of the engine's states,
    relative to the largest value so far."""
    before = {name: values[:-1] for name, values in seen.items()}
    n = len(before["position"])
    after = step(
        case.dcmotor(mujoco.__version__), pendulum(), engine_of(case), before, tuple(case.ctrl()[:n].T)
    )
    if list(after) != list(seen):
        raise AssertionError(f"states are {list(after)}, the engine's {list(seen)}")
    worst = 0.0
    for name, values in seen.items():
        scale = np.maximum(np.maximum.accumulate(np.abs(values))[1:], np.finfo(float).tiny)
        worst = max(worst, float(np.max(np.abs(after[name] - values[1:]) / scale)))
    return worst


def free_run(cases: Sequence[Case]) -> np.ndarray:
    """Positions and velocities of cases that share their states, run side by side: (steps + 1, 2, cases)."""
    together = batched(cases)
    state = {name: np.full(len(cases), value) for name, value in initial_state(together, **START).items()}
    joint, engine, inputs = pendulum(), engine_of(cases[0]), np.stack([case.ctrl() for case in cases], axis=2)
    rows = np.empty((STEPS + 1, 2, len(cases)))
    with np.errstate(all="ignore"):  # where the engine diverges, so does this
        for k in range(STEPS):
            rows[k] = state["position"], state["velocity"]
            state = step(together, joint, engine, state, tuple(inputs[k]))
    rows[STEPS] = state["position"], state["velocity"]
    return rows


NEUTRAL = {
    "motor.limits.torque": np.inf,
    "motor.limits.current_rate": np.inf,
    "motor.cogging.amplitude": 0.0,
    "motor.thermal.resistance_coefficient": 0.0,
}
"""Numbers that switch an effect off to the last bit, so that cases with and without it can run side by side.
"""


def batched(cases: Sequence[Case]) -> DcMotor:
    """One dcmotor with arrays for numbers; an effect that only some cases have is neutral in the others."""
    some = tuple(effect for effect in EFFECTS if any(effect in case.effects for case in cases))
    base = dataclasses.replace(cases[0], effects=some).dcmotor(mujoco.__version__)
    rows = [
        {**parameters(base), **{path: v for path, v in NEUTRAL.items() if path in parameters(base)}}
        for _ in cases
    ]
    for row, case in zip(rows, cases, strict=True):
        row.update(parameters(case.dcmotor(mujoco.__version__)))
    return substitute(base, {path: np.array([row[path] for row in rows]) for path in rows[0]})


def groups(cases: Iterable[Case]) -> list[list[Case]]:
    """Cases that can run side by side: same inputs and integrator,
    and alike in the effects that add a state to the motion."""
    found: dict[tuple, list[Case]] = {}
    for case in cases:
        key = (case.control, case.integrator, *(effect in case.effects for effect in ("inductance", "lugre")))
        found.setdefault(key, []).append(case)
    return list(found.values())


def compare(cases: Sequence[Case], free: bool = True) -> list[Difference]:
    """Cases of one group: one step each, and where asked for the free run and the reason where it parts."""
    seen = [engine_run(case) for case in cases]
    steps = [one_step(case, s) for case, s in zip(cases, seen, strict=True)]
    if not free:
        return [Difference(case=c, one_step=e) for c, e in zip(cases, steps, strict=True)]
    mine = free_run(cases)
    found = []
    for k, case in enumerate(cases):
        theirs = _motion(seen[k])
        n = len(theirs)
        apart, amplification = float(np.max(np.abs(mine[:n, :, k] - theirs))), 0.0
        if not apart <= FREE_RUN:
            moved = _motion(engine_run(case, NUDGE))
            n = min(n, len(moved))
            apart = float(np.max(np.abs(mine[:n, :, k] - theirs[:n])))
            amplification = float(np.max(np.abs(moved[:n] - theirs[:n]))) / NUDGE
        found.append(
            Difference(case=case, one_step=steps[k], free_run=apart, amplification=amplification, steps=n - 1)
        )
    return found


def _motion(seen: dict[str, np.ndarray]) -> np.ndarray:
    return np.stack([seen["position"], seen["velocity"]], axis=1)
