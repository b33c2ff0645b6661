"""Feedback gains from kV and kA: the linear-quadratic regulator with measurement delay, and a plain design
for a settling time; and feedforward as WPILib evaluates it, continuous or exact for an input that holds over
a period.

Both feedbacks come with a simulated step that includes friction, delay and the limit of the input.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np

from ...errors import InvalidValue, UnknownName
from ...findings import Finding, finding
from .characterization import Feedback as Feedback
from .commands import CharacterizeOptions
from .mechanism import Mechanism, stepper

_NO_INERTIA = 1e-7
"""Below this kA the mechanism follows at once."""


@dataclass(frozen=True, kw_only=True)
class Preset:
    """How a controller counts: output per volt, its unit of time, its period,
    and the delay of its velocity."""

    name: str
    output: float
    """Controller output for one volt."""
    time: float
    """Seconds to its unit of time in a velocity: x per `time` factor."""
    period: float
    """Of its loop [s]."""
    normalized: bool
    """Whether its derivative gain is per second (otherwise per period)."""
    delay: float
    """Of the measurement [s]."""

    def feedback(
        self,
        loop: str,
        K: tuple[float, float],
        design: str,
        *,
        period: float,
        delay: float,
        encoder_factor: float,
        **more: Any,
    ) -> Feedback:
        """Gains as this controller counts them.

        Args:
            loop: "velocity" or "position".
            K: gains in volts per error and per rate of it.
            design: what it is made for, in words.
            period: between two runs of the loop [s].
            delay: by how much its measurement is late [s].
            encoder_factor: what it counts for one unit of position.
            more: further fields of the feedback.

        Returns:
            The same gains in both countings.
        """
        per_volt = self.output / encoder_factor
        return Feedback(
            loop=loop,
            kP=K[0] * per_volt / (self.time if loop == "velocity" else 1.0),
            kD=K[1] * per_volt / (1.0 if self.normalized else period),
            volts_per_error=K[0],
            volts_per_rate=K[1],
            period=period,
            delay=delay,
            design=design,
            controller=self.name,
            **more,
        )


PRESETS = {
    p.name: p
    for p in (
        Preset(name="wpilib", output=1.0, time=1.0, period=0.020, normalized=True, delay=0.0),
        Preset(name="ctre-v5", output=1023 / 12, time=0.1, period=0.001, normalized=False, delay=0.0815),
        Preset(name="ctre-v6", output=1.0, time=1.0, period=0.001, normalized=True, delay=0.001),
        Preset(name="rev-neo", output=1 / 12, time=60.0, period=0.001, normalized=False, delay=0.112),
        Preset(name="rev-brushed", output=1 / 12, time=60.0, period=0.001, normalized=False, delay=0.0815),
        Preset(name="venom", output=4096 / 12, time=60.0, period=0.001, normalized=False, delay=0.005),
    )
}
"""By name. rev-brushed also holds for an encoder on the data port."""


class LoopSettings(TypedDict, total=False):
    """What every design of a loop takes beside its gains."""

    preset: str | Preset
    """The controller; "wpilib" unless given."""
    period: float | None
    """Between two runs of the loop [s]; the controller's, unless given."""
    delay: float | None
    """By how much the measurement is late [s]; the controller's, unless given."""
    encoder_factor: float
    """What the controller counts for one unit of position; 1 unless given."""
    units: tuple[str, str]
    """Those of position and input, for the words."""


def _settings(
    preset: str | Preset = "wpilib",
    period: float | None = None,
    delay: float | None = None,
    encoder_factor: float = 1.0,
    units: tuple[str, str] = ("", ""),
) -> tuple[Callable[..., Feedback], dict[str, float], tuple[str, str]]:
    """(what makes feedback of gains, period and delay, units) of a controller."""
    _check_positive(encoder_factor=encoder_factor)
    p: Any = PRESETS.get(str(preset), preset)
    if not hasattr(p, "feedback"):
        raise UnknownName("preset", str(preset), PRESETS)
    clock = {"period": p.period if period is None else period, "delay": p.delay if delay is None else delay}
    return functools.partial(p.feedback, **clock, encoder_factor=encoder_factor), clock, units


def _regulator(
    A: np.ndarray, B: np.ndarray, q: list[float], r: float, period: float, delay: float
) -> np.ndarray:
    """K of the discrete regulator with weights 1/q^2 and 1/r^2, and of the state a delay later."""
    from scipy.linalg import expm, fractional_matrix_power, solve_discrete_are

    n = len(A)
    block = np.zeros((n + 1, n + 1))
    block[:n, :n], block[:n, n:] = A, B
    held = expm(block * period)
    A_d, B_d = held[:n, :n], held[:n, n:]
    Q, R = np.diag([1.0 / (x * x) for x in q]), np.array([[1.0 / (r * r)]])
    S = solve_discrete_are(A_d, B_d, Q, R)
    K = np.linalg.solve(B_d.T @ S @ B_d + R, B_d.T @ S @ A_d)
    if delay > 0:
        K = K @ np.real(fractional_matrix_power(A_d - B_d @ K, delay / period))
    return K


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not (math.isfinite(value) and value > 0):
            raise InvalidValue(f"{name} is {value!r}; expected more than 0")


def velocity_gains(
    kV: float, kA: float, *, max_error: float = 1.5, max_effort: float = 7.0, **settings: Unpack[LoopSettings]
) -> Feedback:
    """The regulator of velocity: errors of `max_error` are worth an input of `max_effort`.
    A mechanism without inertia needs none."""
    _check_positive(max_error=max_error, max_effort=max_effort)
    feedback, clock, units = _settings(**settings)
    K = 0.0
    if abs(kA) >= _NO_INERTIA:
        A, B = np.array([[-kV / kA]]), np.array([[1.0 / kA]])
        K = float(_regulator(A, B, [max_error], max_effort, **clock)[0, 0])
    off = f"{_with(max_error, units[0], '/s')} off is worth {_with(max_effort, units[1])}"
    return feedback("velocity", (K, 0.0), _clock_words(off, clock))


def position_gains(
    kV: float,
    kA: float,
    *,
    max_position_error: float = 1.0,
    max_velocity_error: float = 1.5,
    max_effort: float = 7.0,
    **settings: Unpack[LoopSettings],
) -> Feedback:
    """The regulator of position and velocity: both errors together are worth an input of `max_effort`."""
    errors = {"max_position_error": max_position_error, "max_velocity_error": max_velocity_error}
    _check_positive(**errors, max_effort=max_effort)
    feedback, clock, units = _settings(**settings)
    if abs(kA) < _NO_INERTIA:
        A, B = np.array([[0.0]]), np.array([[1.0]])
        K = _regulator(A, B, [max_position_error], max_effort, **clock)
        gains = (kV * float(K[0, 0]), 0.0)
    else:
        A, B = np.array([[0.0, 1.0], [0.0, -kV / kA]]), np.array([[0.0], [1.0 / kA]])
        K = _regulator(A, B, [*errors.values()], max_effort, **clock)
        gains = (float(K[0, 0]), float(K[0, 1]))
    both = f"{_with(max_position_error, units[0])} and {_with(max_velocity_error, units[0], '/s')}"
    design = _clock_words(f"{both} off are worth {_with(max_effort, units[1])}", clock)
    return feedback("position", gains, design)


def _with(value: float, unit: str, per: str = "") -> str:
    return f"{value:g} {unit}{per}" if unit else f"{value:g}"


def _clock_words(off: str, clock: Mapping[str, float]) -> str:
    """What a regulator was made for, in words."""
    return f"LQR: {off}; every {1e3 * clock['period']:g} ms, measured {1e3 * clock['delay']:g} ms late"


def settle(
    kV: float,
    kA: float,
    *,
    time: float,
    step: float,
    limit: float = 12.0,
    kS: float = 0.0,
    loop: str = "position",
    **settings: Unpack[LoopSettings],
) -> Feedback:
    """Gains that settle a step within 2 % in `time` seconds, slower where the input would saturate or the
    delay forbids it; the note says so.

    A position loop also pushes with kS towards its target until it is there; velocity gets kS from the
    feedforward.
    """
    feedback, clock, units = _settings(**settings)
    _check_positive(time=time, step=abs(step), limit=limit, kA=kA, period=clock["period"])
    lag = clock["delay"] + 0.5 * clock["period"]
    size, spare = abs(step), 0.99 * limit - kS  # a hair below the limit
    note = ""
    if loop == "velocity":
        rate, spare = 4.0 / time, spare - kV * size
        if spare <= 0:
            raise InvalidValue(
                f"a velocity of {step:g} needs {kS + kV * size:.3g}; the input is limited to {limit:g}"
            )
        reach = min(rate, (kV + spare / size) / kA, 0.5 / lag)
        K = (max(0.0, kA * reach - kV), 0.0)
        if kA * rate <= kV:
            note = "it settles as fast by itself"
    elif loop == "position":
        # Two equal poles at -w settle to 2 % in 5.83 / w.
        rate, spare = 5.83 / time, max(spare, 1e-9)
        reach = min(rate, math.sqrt(spare / (size * kA)), 0.3 / lag)
        K = (kA * reach * reach, max(0.0, 2 * kA * reach - kV))
        if K[1] == 0.0:
            K_0, note = _damped_gain(kV, kA, time, spare / size, lag)
            K, reach = (K_0, 0.0), rate
    else:
        raise UnknownName("loop", loop, ("position", "velocity"))
    if reach < rate and not note:
        note = _too_slow("the delay" if reach in (0.5 / lag, 0.3 / lag) else "the limit of the input", time)
    size_of = _with(float(f"{step:.4g}"), units[0], "/s" if loop == "velocity" else "")
    design = f"made to settle {size_of} in {time:g} s within {_with(float(f'{limit:.3g}'), units[1])}"
    against = kS if loop == "position" else 0.0
    return feedback(loop, K, design, note=note, step=step, against_friction=against)


def _damped_gain(kV: float, kA: float, time: float, most: float, lag: float) -> tuple[float, str]:
    """(gain, note) where the mechanism damps itself: kA s^2 + kV s + K_0, its slow pole at the wanted rate.
    `most` is the gain that the input's limit allows."""
    slow = min(4.0 / time, kV / (2 * kA), 0.3 / lag)
    K_0 = min(slow * (kV - kA * slow), most)
    pole = 0.5 * (kV - math.sqrt(max(kV * kV - 4 * kA * K_0, 0.0))) / kA
    if pole >= 0.99 * 4.0 / time:
        return K_0, ""
    return K_0, _too_slow("the limit of the input" if most == K_0 else "the delay", time)


def _too_slow(why: str, time: float) -> str:
    return f"{why} does not allow {time:g} s"


@dataclass(frozen=True, kw_only=True)
class StepResponse:
    """A step of the closed loop."""

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    input: np.ndarray
    target: float
    settling_time: float
    """Until it stays within 2 % [s]; infinite where it does not."""
    overshoot: float
    """As a share of the step."""
    saturated: float
    """Share of the time at the limit."""


def step_response(
    feedback: Feedback,
    *,
    kS: float,
    kV: float,
    kA: float,
    kG: float = 0.0,
    step: float = 1.0,
    limit: float = 12.0,
    duration: float = 2.0,
) -> StepResponse:
    """Simulate a step; the feedforward holds the target (velocity) or gravity (position).

    Args:
        feedback: the loop, with its period and delay.
        kS: input that dry friction takes [V, or A].
        kV: input per velocity, in the unit of the step.
        kA: input per acceleration, in the unit of the step.
        kG: input that holds the weight [V, or A].
        step: where to, from 0 at rest: a position, or a velocity.
        limit: the largest input [V, or A].
        duration: how long [s].

    Returns:
        The motion, and how well it settles.
    """
    _check_positive(kA=kA, limit=limit, duration=duration)
    mechanism = Mechanism(friction=kS, effort_per_velocity=kV, effort_per_acceleration=kA, gravity=kG)
    n = max(2, math.ceil(duration / feedback.period))
    fine = max(1, math.ceil(feedback.period / 0.001))
    h = feedback.period / fine
    late = round(feedback.delay / h)
    take = stepper(mechanism, h * np.arange(1, fine + 1))
    t = h * np.arange(n * fine + 1)
    position, velocity, effort = np.zeros_like(t), np.zeros_like(t), np.zeros_like(t)
    for k in range(0, n * fine, fine):
        seen = max(0, k - late)
        if feedback.loop == "velocity":
            u = feedforward(step, kS=kS, kV=kV, kG=kG) + feedback.volts_per_error * (step - velocity[seen])
        else:
            off = step - position[seen]
            push = feedback.against_friction * math.copysign(1.0, off) if abs(off) > 0.01 * abs(step) else 0.0
            u = kG + push + feedback.volts_per_error * off - feedback.volts_per_rate * velocity[seen]
        u = min(max(u, -limit), limit)
        to = slice(k + 1, k + fine + 1)
        position[to], velocity[to] = take(position[k], velocity[k], u)
        effort[to] = u
    shown = (velocity if feedback.loop == "velocity" else position) / step
    outside = np.flatnonzero(np.abs(shown - 1) > 0.02)
    settled = float(np.append(t, math.inf)[outside[-1] + 1]) if len(outside) else 0.0
    return StepResponse(
        time=t,
        position=position,
        velocity=velocity,
        input=effort,
        target=step,
        settling_time=settled,
        overshoot=max(0.0, float(np.max(shown)) - 1),
        saturated=float(np.mean(np.abs(effort) >= limit - 1e-12)),
    )


_FOLLOWS_AT_ONCE = 1e-9
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
    gravity = kG * (1.0 if angle is None else math.cos(angle))
    return kS * _sign(velocity) + kV * velocity + kA * acceleration + gravity


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
    if kA < _FOLLOWS_AT_ONCE:
        return kS * _sign(following) + kV * following + gravity
    x = -kV / kA * period
    A_d = math.exp(x)
    B_d = period / kA if kV == 0 else -math.expm1(x) / kV
    return kS * _sign(current) + (following - A_d * current) / B_d + gravity


def _sign(x: float) -> float:
    return float((x > 0) - (x < 0))


SLOW = 1.0
"""A position loop that takes longer is pointed out [s]."""
LONGEST = 8.0
"""What has not settled by then is not waited for [s]."""


def _position_loop(
    gains: Mapping[str, float | None], asked: CharacterizeOptions, units: tuple[str, str]
) -> Feedback:
    errors = {"max_position_error": asked.max_error, "max_velocity_error": asked.max_velocity_error}
    errors["max_effort"] = asked.max_effort
    clock = {"preset": asked.controller, "period": asked.period, "delay": asked.delay}
    kV, kA = float(gains["kV"] or 0.0), float(gains["kA"] or 0.0)
    loop = position_gains(kV, kA, **_given_values(errors), **clock, units=units)
    return _with_step(loop, gains, asked, units)


LEVEL = 0.5
"""Share of what the input can reach that a step asks for, where none was told."""


def simulate_step(feedback: Feedback, gains: Mapping[str, float | None], limit: float) -> StepResponse | None:
    """A step of a loop with friction, delay and the limit of the input, long enough to see it come to rest.

    Args:
        feedback: the loop, with the size of its step.
        gains: kS, kV, kA and perhaps kG, in the unit of the step; None where one is not determined.
        limit: the largest input [V, or A].

    Returns:
        The motion; None where a gain is not known, or where friction and weight leave no input to move it.
    """
    kS, kV, kA, kG = (gains.get(name, 0.0) for name in ("kS", "kV", "kA", "kG"))
    if kS is None or kV is None or kA is None or kA <= 0 or feedback.step is None:
        return None
    kS, kV, kG = max(kS, 0.0), max(kV, 0.0), kG or 0.0
    if limit - abs(kG) - kS <= 0:
        return None
    duration, moving = 1.0, feedback.loop == "velocity"
    if moving:
        duration = float(np.clip(8 * kA / max(kV, 1e-9), 0.3, 5.0))
    while True:
        how = {"step": feedback.step, "limit": limit, "duration": duration}
        run = step_response(feedback, kS=kS, kV=kV, kA=kA, kG=kG, **how)
        over = moving or duration >= LONGEST or run.settling_time <= 0.7 * duration
        if over or _is_held(feedback, run, kS):
            return run
        duration *= 2


def _is_held(feedback: Feedback, run: StepResponse, kS: float) -> bool:
    """Whether a position ends at rest, or creeps to where friction is as large as what still drives it."""
    off, late = run.target - run.position[-1], run.position[-(len(run.time) // 10) :]
    return bool(abs(off) * feedback.volts_per_error <= 1.02 * kS and np.ptp(late) < 0.01 * abs(run.target))


def _with_step(
    feedback: Feedback, gains: Mapping[str, float | None], asked: CharacterizeOptions, units: tuple[str, str]
) -> Feedback:
    """The loop with the step of it that is shown, until when that comes within 2 %, or what keeps it off."""
    limit, moving = asked.limit or 0.0, feedback.loop == "velocity"
    kS, kV, kA, kG = (float(gains.get(name) or 0.0) for name in ("kS", "kV", "kA", "kG"))
    fastest = (limit - abs(kG) - max(kS, 0.0)) / max(kV, kA, 1e-9)  # at last, or in a second
    farthest = min(LEVEL * limit / max(feedback.volts_per_error, 1e-9), asked.max_error or 1.0)
    step = feedback.step or (LEVEL * fastest if moving else farthest)
    run = simulate_step(replace(feedback, step=step), gains, limit)
    if run is None:
        return feedback
    if math.isfinite(run.settling_time):
        return replace(feedback, step=step, settles=run.settling_time)
    off = _with(float(f"{abs(step - run.position[-1]):.2g}"), units[0])
    held = not moving and _is_held(feedback, run, max(kS, 0.0))
    why = f"friction holds it {off} off" if held else f"it has not settled after {run.time[-1]:.2g} s"
    return replace(feedback, step=step, note="; ".join(filter(None, (feedback.note, why))))


def _given_values(values: Mapping[str, float | None]) -> dict[str, float]:
    """Those that were given; the others are as WPILib has them."""
    return {name: value for name, value in values.items() if value is not None}


def loops_of(
    gains: Mapping[str, float | None], asked: CharacterizeOptions, units: tuple[str, str], limit: float
) -> dict[str, Feedback]:
    """The feedback that gains call for.

    Args:
        gains: kS, kV, kA and perhaps kG, in the chosen unit; None where one is not determined.
        asked: what the regulators are made for, and what is to settle.
        units: those of position and input, for the words.
        limit: the largest input [V, or A].

    Returns:
        The loops by name: velocity, position, and settling where that was asked for; none where kV and kA
        are not known.
    """
    kV, kA = gains["kV"], gains["kA"]
    if kV is None or kA is None or kV < 0 or kA <= 0:
        return {}
    asked = replace(asked, limit=limit)
    errors = _given_values({"max_error": asked.max_velocity_error, "max_effort": asked.max_effort})
    how: LoopSettings = {"preset": asked.controller, "period": asked.period, "delay": asked.delay}
    how["units"] = units
    loops = {
        "velocity": _with_step(velocity_gains(kV, kA, **errors, **how), gains, asked, units),
        "position": _position_loop(gains, asked, units),
    }
    if asked.settling_time is not None and asked.step is not None:
        kS, left = max(gains["kS"] or 0.0, 0.0), limit - abs(gains.get("kG") or 0.0)
        step = {"time": asked.settling_time, "step": asked.step, "limit": left, "kS": kS}
        made = settle(kV, kA, **step, loop=asked.loop, **how)
        loops["settling"] = _with_step(made, gains, asked, units)
    return loops


def slow_loop(
    position: Feedback, gains: Mapping[str, float | None], asked: CharacterizeOptions, units: tuple[str, str]
) -> Iterator[Finding]:
    """A position loop that needs more than a second, and the error to give that makes it quicker.

    Args:
        position: the loop.
        gains: kS, kV and kA, in the chosen unit; None where one is not determined.
        asked: what the loop was made for, with the limit of the input.
        units: those of position and input, for the words.

    Yields:
        One finding, or none.
    """
    takes = position.settles
    if position.step is None or (takes is not None and takes <= SLOW):
        return
    smaller = (
        float(f"{(asked.max_error or 1.0) / by:.2g}") for by in (2, 5, 10, 20, 50, 100, 200, 500, 1000)
    )
    times = (
        (error, _position_loop(gains, replace(asked, max_error=error), units).settles) for error in smaller
    )
    quick = next(((error, time) for error, time in times if time is not None and time <= SLOW), None)
    size = _with(float(f"{position.step:.3g}"), units[0])
    text = f"the position loop does not come within 2 % of a step of {size}: {position.note}."
    if takes is not None:
        text = f"the position loop takes {takes:.2g} s to come within 2 % of a step of {size}."
    remedy = "ask for a time: --settle 0.5 --step, with the step that is to settle"
    if quick is not None:
        remedy = f"--max-error {quick[0]:g} [{units[0]}] makes it {quick[1]:.2g} s; or {remedy}"
    yield finding("slow_loop", text, remedy, **({} if takes is None else {"time": takes}))
