"""The feedback loops of a mechanism: what is asked of them, and what they come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ..data.characterization import Feedback
from ..findings import Finding, finding
from .feedback import position_gains, settle, velocity_gains

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
