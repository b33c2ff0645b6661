"""Feedforward as WPILib evaluates it: the input for a wanted motion, continuous,
or exact for an input that holds over a period."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...errors import InvalidValue
from ...findings import Finding, finding
from .characterization import Feedback
from .feedback import position_gains, settle, velocity_gains

_NO_INERTIA = 1e-9
"""Below this kA the mechanism follows at once and only the next velocity counts."""


def feedforward(
    velocity: float,
    acceleration: float = 0.0,
    *,
    kS: float = 0.0,
    kV: float = 0.0,
    kA: float = 0.0,
    kG: float = 0.0,
    angle: float | None = None,
) -> float:
    """u = kS sgn(v) + kV v + kA a + kG [cos(angle), for an arm whose horizontal is 0]."""
    return (
        kS * _sign(velocity)
        + kV * velocity
        + kA * acceleration
        + kG * (1.0 if angle is None else math.cos(angle))
    )


def feedforward_step(
    current: float,
    following: float,
    *,
    kS: float = 0.0,
    kV: float = 0.0,
    kA: float = 0.0,
    kG: float = 0.0,
    angle: float | None = None,
    period: float = 0.02,
) -> float:
    """The input that takes the mechanism from one velocity to the next in one period, held over it.

    v' = A v + B u with A = -kV / kA, B = 1 / kA: u = (v_next - A_d v) / B_d, A_d = exp(A T), B_d = (A_d - 1)
    B / A, or B T where kV = 0.
    """
    if not period > 0:
        raise InvalidValue(f"period is {period!r} s; expected more than 0")
    gravity = kG * (1.0 if angle is None else math.cos(angle))
    if kA < _NO_INERTIA:
        return kS * _sign(following) + kV * following + gravity
    x = -kV / kA * period
    A_d = math.exp(x)
    B_d = period / kA if kV == 0 else -math.expm1(x) / kV
    return kS * _sign(current) + (following - A_d * current) / B_d + gravity


def _sign(x: float) -> float:
    return float((x > 0) - (x < 0))


SLOW = 1.0
"""A position loop that takes longer is pointed out [s]."""


class LoopRequest(NamedTuple):
    """What is asked of a regulator; None: as its controller or WPILib has it."""

    controller: str = "wpilib"
    max_error: float | None = None
    max_velocity_error: float | None = None
    max_effort: float | None = None
    period: float | None = None
    delay: float | None = None

    @property
    def how(self) -> dict[str, Any]:
        """For either loop."""
        given = {"max_effort": self.max_effort, "period": self.period, "delay": self.delay}
        return {"preset": self.controller} | {k: v for k, v in given.items() if v is not None}

    def position(self, kV: float, kA: float, **more: Any) -> Feedback:
        errors = {"max_position_error": self.max_error, "max_velocity_error": self.max_velocity_error}
        return position_gains(
            kV, kA, **{k: v for k, v in errors.items() if v is not None}, **self.how, **more
        )

    def velocity(self, kV: float, kA: float, **more: Any) -> Feedback:
        error = self.max_velocity_error
        return velocity_gains(kV, kA, **({} if error is None else {"max_error": error}), **self.how, **more)


def loops_of(
    gains: Mapping[str, float | None],
    asked: LoopRequest,
    *,
    units: tuple[str, str],
    limit: float,
    settling: tuple[float, float, str] | None,
) -> dict[str, Feedback]:
    """Feedback by loop; none where kV and kA are not known."""
    kV, kA = gains["kV"], gains["kA"]
    if kV is None or kA is None or kV < 0 or kA <= 0:
        return {}
    loops = {"velocity": asked.velocity(kV, kA, units=units), "position": asked.position(kV, kA, units=units)}
    if settling is not None:
        time, step, loop = settling
        kS, left = max(gains["kS"] or 0.0, 0.0), limit - abs(gains.get("kG") or 0.0)
        how = {"preset": asked.controller, "period": asked.period, "delay": asked.delay, "units": units}
        loops["settling"] = settle(kV, kA, time=time, step=step, limit=left, kS=kS, loop=loop, **how)
    return loops


def slow_loop(
    position: Feedback, gains: Mapping[str, float | None], asked: LoopRequest, *, units: tuple[str, str]
) -> Iterator[Finding]:
    """A position loop that needs more than a second, and the error to give that makes it quicker."""
    kV, kA, takes = gains["kV"], gains["kA"], position.settles
    if kV is None or kA is None or takes is None or takes <= SLOW:
        return
    error = asked.max_error or 1.0
    tried = {e: asked._replace(max_error=e).position(kV, kA).settles for e in _smaller(error)}
    quick = next((e for e, time in tried.items() if time is not None and time <= SLOW), None)
    text = f"the position loop takes {takes:.2g} s to come within 2 %, before friction and limits."
    remedy = "ask for a time: --settle 0.5 --step, with the step that is to settle"
    if quick is not None:
        remedy = f"--max-error {quick:g} [{units[0]}] makes it {tried[quick]:.2g} s; or {remedy}"
    yield finding("slow_loop", text, remedy, time=takes)


def _smaller(error: float) -> list[float]:
    return [float(f"{error / by:.2g}") for by in (2, 5, 10, 20, 50, 100, 200, 500, 1000)]
