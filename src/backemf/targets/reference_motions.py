"""The motions over which an export is judged: reference motions of an operating range,
or a user's own recordings; and each of them on a simulator's own clock, as every target's `run` is given
it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ..errors import InvalidValue, MissingValue, NotAvailable
from ..logs.log import Log, bench_of, start_of, targets
from ..physics import steady
from ..physics.actuator import Actuator
from ..physics.bench import GRAVITY, Bench, Flywheel, Pendulum
from ..physics.joint_law import capability
from .result import Request

DT = 0.004
DURATION = 2.0
ARM = 0.1
"""Length of the reference pendulum [m]."""
MOST_LOGS = 12
"""Recordings over which numbers are fitted; of more, this many are taken, evenly."""


class ReferenceMotion(NamedTuple):
    """One thing to run: where it starts, what is asked, and what was measured if it was recorded."""

    name: str
    bench: Bench
    time: np.ndarray
    """From 0."""
    command: Mapping[str, np.ndarray]
    """Targets, and `enabled`, `supply`, `inertia`, `load` where they are recorded."""
    start: Mapping[str, float]
    measured: np.ndarray | None = None
    settings: Mapping[str, float] = {}
    """Numbers of the drive during this recording, by path."""


def reference_bench(actuator: Actuator, load: float = 0.25, amplitude: float = 0.5) -> Bench:
    """A pendulum whose weight takes `load` of the stall torque, with at least the rotor's own inertia.

    A plain inertia on a linear axis, and for a drive that does not hold a position: it would swing the
    pendulum over the top, where the smallest difference decides which way it falls.
    """
    able = capability(actuator, amplitude)
    mass = load * able.stall / (GRAVITY * ARM)
    own = mass * ARM * ARM
    # a free shaft without inertia would have no motion to compare
    least = max(steady.armature(actuator), 0.02 * able.stall / max(able.speed, 1e-9))
    if actuator.motion == "linear" or load == 0 or actuator.drive.followed != "position_target":
        return Flywheel(inertia=max(own, least, 1e-9))
    return Pendulum(mass=mass, length=ARM, inertia=max(least - own, 0.0) or None)


def reference_inertia(actuator: Actuator, request: Request) -> float:
    """Of the reference bench [kg m^2]: the stand-in body of exported models."""
    return float(reference_bench(actuator, request.load, request.amplitude).inertia_at({}))


def reference_motions(
    actuator: Actuator, *, amplitude: float = 0.5, load: float = 0.25
) -> list[ReferenceMotion]:
    """Steps and sines of the drive's own target over the operating range, on the reference bench.

    Args:
        actuator: whose capability sizes them; one that follows nothing is braked from speed.
        amplitude: of a position [rad or m, at the output].
        load: gravity torque as a share of the stall torque.

    Returns:
        The motions, each from rest.
    """
    able, bench = capability(actuator, amplitude), reference_bench(actuator, load, amplitude)
    time = DT * np.arange(round(DURATION / DT) + 1)
    limits, held = actuator.motor.limits, able.volts / actuator.motor.resistance
    size = {
        "voltage_target": 0.6 * able.volts,
        "velocity_target": 0.4 * able.speed,
        "position_target": amplitude,
        "torque_target": 0.6 * able.stall,
        "current_target": 0.6 * min(held, (limits and limits.current) or held),
    }
    target = actuator.drive.followed
    if not target:
        return [
            ReferenceMotion(
                "braked from speed", bench, time, {}, {"position": 0.0, "velocity": 0.3 * able.speed}
            )
        ]
    A = size[target]
    slow, middle, fast = 0.5, 1.0, 3.0
    shapes = {
        "steps": A * np.where(time < 0.1, 0.0, np.where(time < 0.8, 0.7, np.where(time < 1.4, -0.4, 0.1))),
        "slow sine": A * np.sin(2 * np.pi * slow * time),
        "sine": 0.7 * A * np.sin(2 * np.pi * middle * time),
        "fast sine": 0.3 * A * np.sin(2 * np.pi * fast * time),
    }
    return [
        ReferenceMotion(name, bench, time, {target: values}, {"position": 0.0, "velocity": 0.0})
        for name, values in shapes.items()
    ]


def reference_words(actuator: Actuator, amplitude: float, load: float) -> str:
    """The operating range, for headers."""
    bench, able = reference_bench(actuator, load, amplitude), capability(actuator, amplitude)
    weight = f"pendulum with {load:g} of the stall torque as weight"
    on = weight if bench.load(1.0, 0.0, {}) else "plain inertia"
    distance, inertia = ("m", "kg") if actuator.motion == "linear" else ("rad", "kg m^2")
    return (
        f"steps and sines of 0.5, 1 and 3 Hz, amplitude {amplitude:g} {distance} (or 0.6 of the voltage, 0.4"
        f" of the speed), {DURATION:g} s each, on a {on} ({float(bench.inertia_at({})):.3g} {inertia}), at"
        f" {able.volts:g} V"
    )


def recorded_motion(actuator: Actuator, log: Log) -> ReferenceMotion:
    """A log's commands, start, settings and measurements; where a command is known as a function, at every
    moment too at which it changes."""
    bench = bench_of(log)
    if bench.locked:
        raise InvalidValue(
            f"{log.name} was recorded with the output locked; nothing moves in a replay: expected another"
            " bench"
        )
    if "position" not in log:
        raise MissingValue(f"{log.name} has no position to compare with; it has: {', '.join(log.signals)}")
    drive = actuator.drive
    names = [*targets(log, drive), *(n for n in ("enabled",) if n in log), *bench.series]
    settings = {k: float(v) for k, v in log.settings.items() if k in actuator.parameters}
    if "supply" in log and drive.supply is not None:
        settings["drive.supply"] = float(np.nanmedian(log["supply"]))
    if np.isfinite(log["position"]).sum() < 2:
        raise MissingValue(f"{log.name} has fewer than two samples of position")
    first, speed = start_of(log)
    fine, _ = log.refine()
    command, start = {n: fine[n] for n in names}, {"position": first, "velocity": speed}
    return ReferenceMotion(
        log.name, bench, fine.time - fine.time[0], command, start, fine["position"], settings
    )


def judged_over(request: Request) -> Request:
    """A request without what does not touch the motions that it is judged over."""
    same = {"target": "", "version": "", "joint": "", "notes": (), "findings": (), "spread": None}
    return request._replace(**same, gear=None, backlash=False)


def motions_of(actuator: Actuator, request: Request) -> tuple[list[ReferenceMotion], str]:
    """(motions, in words): the request's recordings where it has some, else the reference motions."""
    if not request.logs:
        range_ = {"amplitude": request.amplitude, "load": request.load}
        return reference_motions(actuator, **range_), reference_words(actuator, **range_)
    logs, n = _some(request.logs), len(request.logs)
    of = f"{len(logs)} of {n} recordings" if len(logs) < n else "1 recording" if n == 1 else f"{n} recordings"
    text = f"the motions of {of}, against backemf: {_list_names([log.name for log in logs])}"
    return [recorded_motion(actuator, log) for log in logs], text


def _some(logs: Sequence[Log]) -> list[Log]:
    if len(logs) <= MOST_LOGS:
        return list(logs)
    return [logs[int(i)] for i in np.linspace(0, len(logs) - 1, MOST_LOGS).round()]


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


LOST = 1e6
"""Positions beyond this [rad or m] are not a motion any more."""


class SimulationCase(NamedTuple):
    """A motion on the simulator's own clock."""

    timestep: float
    """[s]"""
    moments: np.ndarray
    """timestep * arange(n): the state is recorded before each step."""
    command: Mapping[str, np.ndarray]
    """The drive's targets by name at the moments, in joint units."""
    ctrl: Mapping[str, float]
    """Factor from each target to the file's own input, in the order of its inputs."""
    enabled: np.ndarray
    """Whether the drive is on, at the moments."""
    inertia: float
    """Of the bench on the joint [kg m^2, kg]; the stand-in body's is replaced by it."""
    load: Callable[[int, float, float], float]
    """Torque of the bench on the joint at row k, position, velocity [N m, N]."""
    position: float = 0.0
    velocity: float = 0.0
    motion: str = "rotary"
    means: Mapping[str, np.ndarray] = MappingProxyType({})
    """The targets' means over each step, for what acts at a command's own moment inside a step."""

    @property
    def inputs(self) -> np.ndarray:
        """What is sent to the file, a row for each moment."""
        return self._ctrl_values(self.command)

    @property
    def mean_inputs(self) -> np.ndarray:
        """The same as means over each step."""
        return self._ctrl_values({**self.command, **self.means})

    def _ctrl_values(self, command: Mapping[str, np.ndarray]) -> np.ndarray:
        sent = np.zeros((len(self.moments), len(self.ctrl)))
        for k, (name, factor) in enumerate(self.ctrl.items()):
            if name in command:
                sent[:, k] = factor * command[name]
        return sent

    def check(self, name: str, positions: np.ndarray) -> np.ndarray:
        """The positions, if they are a motion."""
        if not (np.abs(positions) < LOST).all():
            raise InvalidValue(
                f"{name} diverges at a step of {1e3 * self.timestep:g} ms; export with a shorter timestep"
            )
        return positions


def check_enabled(cases: Sequence[SimulationCase], file: str) -> None:
    """Refuse recordings in which the drive was off, for a file that cannot switch it off.

    Raises:
        NotAvailable: one was.
    """
    if not all(case.enabled.all() for case in cases):
        raise NotAvailable(f"{file} has no switch for its drive, and a recording was disabled")


def run_alone(run_all: Callable[..., list[np.ndarray]]) -> Callable[..., np.ndarray]:
    """A target's `run` for one case, from its `run_all` for several."""
    return lambda files, joint, case, *more, **how: run_all(files, joint, [case], *more, **how)[0]


def make_case(case: ReferenceMotion, ctrl: Mapping[str, float], h: float, motion: str) -> SimulationCase:
    """A motion on a simulator's clock, its commands held: at each moment the newest sample not later.

    Args:
        case: with commands, start and bench at the joint.
        ctrl: factor from each of the drive's targets to the file's inputs, in their order.
        h: the simulator's time step [s].
        motion: of the joint: "rotary" or "linear".

    Returns:
        The case, from the motion's start to its end.

    Raises:
        InvalidValue: the recorded inertia varies.
    """
    n = int(np.ceil(case.time[-1] / h - 1e-9)) + 1
    moments = h * np.arange(n)
    at = np.searchsorted(case.time, moments + 1e-9, side="right") - 1
    held = {name: np.asarray(values, float)[at] for name, values in case.command.items()}
    series = {name: held[name] for name in case.bench.series}
    inertia = float(np.asarray(case.bench.inertia_at({k: v[0] for k, v in series.items()})))
    if "inertia" in series and np.ptp(series["inertia"]) > 1e-9 * inertia:
        raise InvalidValue(f"{case.name}: the recorded inertia varies; a replay has a constant one")

    def load(k: int, q: float, w: float) -> float:
        return float(np.asarray(case.bench.load(q, w, {name: v[k] for name, v in series.items()})))

    return SimulationCase(
        timestep=h,
        moments=moments,
        command={k: v for k, v in held.items() if k.endswith("_target")},
        means={
            k: _mean(case.time, np.asarray(v, float), moments, h)
            for k, v in case.command.items()
            if k.endswith("_target")
        },
        ctrl=ctrl,
        enabled=held["enabled"] > 0.5 if "enabled" in held else np.ones(n, bool),
        inertia=inertia,
        load=load,
        position=case.start["position"],
        velocity=case.start["velocity"],
        motion=motion,
    )


def _mean(time: np.ndarray, values: np.ndarray, moments: np.ndarray, h: float) -> np.ndarray:
    """Of a held signal over the h seconds from each moment on."""
    ends = np.append(time, time[-1] + 2 * h)  # the last sample holds
    sums = np.concatenate([[0.0], np.cumsum(values * np.diff(ends))])
    over = np.interp(moments + h, ends, sums) - np.interp(moments, ends, sums)
    return over / h
