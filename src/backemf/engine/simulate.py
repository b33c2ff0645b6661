"""The front door to the engines: an actuator, a bench and a command become a trajectory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..errors import BackemfWarning, InvalidValue, MissingValue, SignalError, UnknownName
from ..findings import Finding
from ..physics import energy as energy_book
from ..physics.actuator import Actuator, inertias, linear_unit, signals
from ..physics.bench import Bench
from ..physics.maths import is_number
from ..signal import Command, moments
from ..tables import NotebookDisplay, Overview, frame
from .compile.kernels import kernels
from .rows import Delay, HeldInputs, check_substeps, hold_inputs, split
from .system import ActuatorSystem, EnergySystem

FINEST = 10e-6
"""No integration step is made shorter than this on account of the tolerance [s]."""
AT_SAMPLE = 1e-6
"""Share of a step so near to a sample that a command that jumps there does so at the sample."""
ENGINES = ("auto", "compiled", "reference")


def simulate(
    actuator: Actuator,
    bench: Bench,
    command: Any = None,
    *,
    duration: float | None = None,
    dt: float = 0.001,
    time: Any = None,
    start: Mapping[str, float] | None = None,
    substeps: int | None = None,
    tolerance: float = 1e-4,
    energy: bool = False,
    engine: str = "auto",
    warn: bool = True,
) -> Trajectory:
    """Simulate an actuator on a bench.

    The first run of a new kind of actuator compiles for a second or two; the result is kept on disk.

    Args:
        actuator: what moves.
        bench: what its output carries.
        command: a number, an array of samples, a function of time (`step`, `sine`, ...), for the drive's
            own target; or a mapping of several: targets, `enabled`, `supply`, `inertia` and `load` for a
            recorded bench. A command of `be.signal` jumps at its very moment, between samples too.
        duration: length [s], sampled every dt; or give `time`.
        dt: between samples [s].
        time: the sample times themselves [s], increasing.
        start: states that do not start at rest, by name.
        substeps: integration steps per sample; absent: doubled until position changes by less than
            `tolerance`, never finer than 10 us.
        tolerance: of the position [rad or m].
        energy: also keep the energy book.
        engine: 'compiled' machine code, the 'reference' in JAX, or 'auto': compiled wherever that is
            possible.
        warn: also warn of the trajectory's findings: a motion that runs away, a tolerance that is missed.

    Returns:
        Every state, signal and input at the sample times, at the output's side of the gears.

    Raises:
        InvalidValue: a number or the order of the arguments is wrong.
        MissingValue: an input, a duration or an inertia is missing.
        SignalError: a series does not fit the sample times, or is not finite.
    """
    if not isinstance(actuator, Actuator) or not isinstance(bench, Bench):
        given = f"a {type(actuator).__name__} and a {type(bench).__name__}"
        raise InvalidValue(f"simulate was given {given}; expected simulate(actuator, bench, command)")
    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    ready = prepare_simulation(actuator, bench, command, duration=duration, dt=dt, time=time, start=start)
    run = _trajectory(ready, engine, substeps, tolerance, energy)
    for finding in run.findings if warn else ():
        warnings.warn(str(finding), BackemfWarning, stacklevel=2)
    return run


def _trajectory(
    ready: SimulationInputs, engine: str, substeps: int | None, tolerance: float, energy: bool
) -> Trajectory:
    """Run what is ready, as `simulate` was asked to."""
    times, inputs, in_force, system, s0, rows, samples = ready
    actuator, bench = system.actuator, system.bench
    runner = _runner(engine, system, list(s0.values()), rows)
    states, books, n, change = _run(runner, rows, substeps, tolerance, energy, actuator.drive.period)
    states = states[samples]
    shown = _output_signals(actuator, dict(zip(system.states, states.T, strict=True)), inputs, in_force)
    book = {}
    if books is not None:
        book = {name: books[samples, k] for k, name in enumerate(energy_book.FLOWS)}
        with np.errstate(invalid="ignore", over="ignore"):
            book["stored"] = np.asarray(energy_book.stored_energy(actuator, bench, shown, inputs), float)
    return Trajectory(
        time=times,
        signals=shown,
        actuator=actuator,
        bench=bench,
        substeps=n,
        refinement=change,
        energy=book,
        findings=(*_findings(states, change, tolerance), *_too_hot(actuator, times, shown)),
    )


class SimulationInputs(NamedTuple):
    """What is simulated, as the engines take it."""

    times: np.ndarray
    inputs: dict[str, Any]
    """Every input at the sample times."""
    in_force: dict[str, Any]
    """What of them acts from each sample on."""
    system: ActuatorSystem
    start: dict[str, float]
    rows: HeldInputs
    samples: np.ndarray
    """Where the samples are among the rows."""


def prepare_simulation(
    actuator: Actuator,
    bench: Bench,
    command: Any,
    *,
    duration: float | None,
    dt: float,
    time: Any,
    start: Mapping[str, float] | None,
) -> SimulationInputs:
    """The arguments of `simulate`, checked and laid out.

    Args:
        actuator: what moves.
        bench: what its output carries.
        command: as `simulate` takes it.
        duration: length [s]; None: that of `time`, or of the command's samples.
        dt: between samples [s].
        time: the sample times themselves [s], or None.
        start: states that do not start at rest, by name.

    Returns:
        What the engines take.

    Raises:
        BackemfError: as `simulate`.
    """
    times = _times(duration, dt, time, command)
    inputs = _inputs(actuator, bench, command, times)
    _check_inertia(actuator, bench, inputs)
    system = ActuatorSystem(actuator=actuator, bench=bench, inputs=tuple(inputs))
    clock, places = _clock(times, command)
    rows, in_force = _rows(actuator, _on(clock, inputs, times, command, actuator), clock, command)
    s0 = actuator.initial_state({name: float(x[0]) for name, x in in_force.items()}, **(start or {}))
    for name, value in s0.items():
        if not (is_number(value) and np.isfinite(value)):
            raise InvalidValue(f"start has {name} = {value!r}; expected a finite number")
    rows, samples = split(rows)
    in_force = {name: x[places] for name, x in in_force.items()}
    return SimulationInputs(times, inputs, in_force, system, s0, rows, samples[places])


def _findings(states: np.ndarray, change: float | None, tolerance: float) -> tuple[Finding, ...]:
    """What the caller must know of the numbers before using them."""
    if not np.isfinite(states).all():
        k = int(np.argmax(~np.isfinite(states).all(axis=1)))
        return (
            Finding(
                code="not_finite",
                text=f"the motion runs away: from sample {k} on its states are not finite numbers.",
                remedy="lower the drive's gains, shorten its delay, or look for a feedback of the wrong sign",
            ),
        )
    if change is not None and change > tolerance:
        return (
            Finding(
                code="tolerance_missed",
                text=f"halving the step still changes position by {change:.2g}, more than the tolerance of"
                f" {tolerance:.2g}; steps are never finer than {1e6 * FINEST:g} us.",
                remedy="raise `tolerance`, soften contacts and gains, or compare with other substeps",
                numbers={"change": change, "tolerance": tolerance},
            ),
        )
    return ()


def _too_hot(actuator: Actuator, times: np.ndarray, shown: Mapping[str, Any]) -> list[Finding]:
    heat = actuator.motor.thermal
    return [] if heat is None else heat.findings(times - times[0], shown["winding_temperature"])


Run = Callable[[int, bool], tuple[np.ndarray, np.ndarray | None]]
"""(substeps, with energy) -> (states, energy moved since the start or None)."""


def _runner(engine: str, system: ActuatorSystem, s0: list[float], rows: HeldInputs) -> Run:
    """A run on the engine asked for."""
    p, n_states = list(system.parameters.values()), len(s0)

    def run(n: int, energy: bool) -> tuple[np.ndarray, np.ndarray | None]:
        asked, start = system, s0
        if energy:
            asked = EnergySystem(actuator=system.actuator, bench=system.bench, inputs=system.inputs)
            start = [*s0, *[0.0] * len(energy_book.FLOWS)]
        if engine == "reference":
            from . import reference

            states = reference.run(asked, p, start, rows, n)
        else:
            states = kernels(asked, fallback=engine == "auto").trajectory(p, start, rows, n)
        return states[:, :n_states], states[:, n_states:] if energy else None

    return run


def _run(
    run: Run,
    rows: HeldInputs,
    substeps: int | None,
    tolerance: float,
    energy: bool,
    period: float | None = None,
) -> Any:
    if substeps is not None:
        n = check_substeps(substeps)
        return *run(n, energy), n, None
    if not (is_number(tolerance) and np.isfinite(tolerance) and tolerance > 0):
        raise InvalidValue(f"tolerance is {tolerance!r}; expected a number above 0 (rad or m)")
    longest = float(np.max(rows.dt)) if len(rows.dt) else 0.0
    most = max(1, int(np.ceil(longest / FINEST)))
    longest_step = min(1e-3, period or 1e-3)  # a sampled law looks at most once a step
    n = min(max(1, int(np.ceil(longest / longest_step - 1e-6))), most)
    change, previous = np.inf, np.inf
    # What runs away at a coarse step may hold at a finer one.
    with np.errstate(invalid="ignore", over="ignore"):
        coarse, _ = run(n, False)
        while True:
            n = min(2 * n, most)
            fine, books = run(n, energy)
            previous, change = change, float(np.max(np.abs(fine[:, 0] - coarse[:, 0])))
            # Halving the step quarters the error away from friction events and halves it at worst, so what is
            # left is at most this change; two small changes in a row are asked for, because one can be luck.
            if (change <= 0.25 * tolerance and previous <= tolerance) or n >= most:
                return fine, books, n, change
            coarse = fine


def _output_signals(
    actuator: Actuator, states: Mapping[str, np.ndarray], inputs: Mapping[str, Any], in_force: Any
) -> dict[str, Any]:
    """States, signals and inputs at every sample."""
    shown: dict[str, Any] = dict(states)
    with np.errstate(invalid="ignore", over="ignore"):  # of a motion that ran away, which is a finding
        shown.update(signals(actuator, shown, in_force))
    shape = next(iter(states.values())).shape
    shown = {name: np.broadcast_to(np.asarray(x, float), shape).copy() for name, x in shown.items()}
    return shown | {name: value for name, value in inputs.items() if name not in shown}


def _times(duration: float | None, dt: float, time: Any, command: Any) -> np.ndarray:
    if time is not None:
        return _checked_times(np.asarray(time, float))
    if not (is_number(dt) and np.isfinite(dt) and dt > 0):
        raise InvalidValue(f"dt is {dt!r} s; expected a number above 0")
    if duration is None:
        lengths = [len(v) for v in _by_input(command).values() if _is_series(v)]
        if not lengths:
            raise MissingValue("simulate needs a duration in seconds (or the sample times as time=...)")
        return np.arange(lengths[0]) * float(dt)
    if not (is_number(duration) and np.isfinite(duration) and duration > 0):
        raise InvalidValue(f"duration is {duration!r} s; expected a number above 0")
    return np.arange(round(duration / dt) + 1) * float(dt)


def _checked_times(times: np.ndarray) -> np.ndarray:
    """Sample times that are finite and increase."""
    if times.ndim != 1 or len(times) < 2:
        raise SignalError(f"time has shape {times.shape}; expected at least two samples in one row")
    if not np.isfinite(times).all():
        raise SignalError(f"time is not finite at sample {int(np.argmax(~np.isfinite(times)))}")
    if np.any(np.diff(times) <= 0):
        k = int(np.argmax(np.diff(times) <= 0))
        raise SignalError(
            f"time does not increase at sample {k + 1}: {times[k]:g} s, then {times[k + 1]:g} s"
        )
    return times


def _clock(times: np.ndarray, command: Any) -> tuple[np.ndarray, np.ndarray]:
    """(the sample times with every moment between them at which a command jumps, where the samples are)."""
    given = _by_input(command).values()
    jumps = np.unique(np.concatenate([times[:0], *(moments(one, times[0], times[-1]) for one in given)]))
    after = np.clip(np.searchsorted(times, jumps), 1, len(times) - 1)
    step = times[after] - times[after - 1]
    near = np.minimum(jumps - times[after - 1], times[after] - jumps) <= AT_SAMPLE * step
    clock = np.union1d(times, jumps[~near])
    return clock, np.searchsorted(clock, times)


def _on(
    clock: np.ndarray, inputs: dict, times: np.ndarray, command: Any, actuator: Actuator
) -> dict[str, Any]:
    """Inputs over a finer clock: a command that knows its jumps as it is, anything else held."""
    if len(clock) == len(times):
        return inputs
    given = _by_input(command, actuator.drive.followed)
    owner = np.searchsorted(times, clock, side="right") - 1
    return {n: given[n](clock) if isinstance(given[n], Command) else x[owner] for n, x in inputs.items()}


def _by_input(command: Any, followed: str = "") -> dict[str, Any]:
    """What is asked, by input: a mapping as it is, or one command for what the drive follows."""
    return dict(command) if isinstance(command, Mapping) else {followed: command}


def _is_series(value: Any) -> bool:
    return not callable(value) and np.ndim(value) > 0


def _inputs(actuator: Actuator, bench: Bench, command: Any, times: np.ndarray) -> dict[str, Any]:
    """Every input as a series over the sample times, checked."""
    drive = actuator.drive
    given = {} if command is None else _by_input(command, drive.followed)
    if "" in given:
        raise InvalidValue(
            f"{drive.kind} follows no command; leave it out, or give a mapping with 'enabled' or 'supply'"
        )
    valid = {"enabled", "supply", *bench.series, *drive.targets, *drive.optional_inputs}
    for name in given:
        if name not in valid:
            raise UnknownName("input", name, valid)
    needed = [*bench.series, *(n for n in drive.targets if n not in drive.optional_inputs)]
    for name in needed:
        if name not in given:
            raise MissingValue(
                f"the command has no {name!r}; {drive.kind} on {bench.kind} needs: {', '.join(needed)}"
            )
    return {name: _series(name, given[name], times) for name in sorted(given)}


def _series(name: str, value: Any, times: np.ndarray) -> np.ndarray:
    given = value(times) if callable(value) else value
    try:
        values = np.asarray(given, float)
    except (TypeError, ValueError):
        raise SignalError(
            f"{name} is {given!r:.60}; expected a number, as many numbers as there are samples, or a function"
            " of time"
        ) from None
    if values.ndim == 0:
        values = np.full(times.shape, float(values))
    if values.shape != times.shape:
        raise SignalError(f"{name} has {len(values)} samples, but time has {len(times)}; expected as many")
    if not np.isfinite(values).all():
        k = int(np.argmax(~np.isfinite(values)))
        raise SignalError(f"{name} is {values[k]} at sample {k} ({times[k]:g} s); expected finite numbers")
    if name in ("supply", "inertia") and np.any(values <= 0):
        k = int(np.argmax(values <= 0))
        raise SignalError(f"{name} is {values[k]:g} at sample {k} ({times[k]:g} s); expected more than 0")
    return values


def _check_inertia(actuator: Actuator, bench: Bench, inputs: dict[str, Any]) -> None:
    J_load, J_rotor = inertias(actuator, bench, inputs)
    if bench.locked:
        return
    if np.min(J_load + J_rotor) <= 0:
        raise MissingValue(
            f"{bench.kind} has no inertia and motor.rotor_inertia is 0; one of them must be above 0"
        )
    if actuator.gearbox.backlash is not None and (np.min(J_load) <= 0 or J_rotor <= 0):
        raise MissingValue(
            "backlash needs an inertia on both sides: motor.rotor_inertia and the bench's must be above 0"
        )


def _rows(
    actuator: Actuator, inputs: dict[str, Any], times: np.ndarray, command: Any
) -> tuple[HeldInputs, dict[str, Any]]:
    """The inputs as rows, and what of them acts from each sample on: the same, unless the drive is late."""
    values = np.stack([*inputs.values()], axis=1) if inputs else np.zeros((len(times), 0))
    delay = actuator.drive.delay
    if not delay:
        return hold_inputs(values[:-1], np.diff(times)), inputs
    dt = float(np.median(np.diff(times)))
    before = times[0] + dt * np.arange(-int(np.ceil(delay / dt)) - 1, 0)
    given = _by_input(command, actuator.drive.followed)
    past = [
        given[n](before) if callable(given.get(n)) else np.full(len(before), inputs[n][0]) for n in inputs
    ]
    late = Delay(values, times, delay, [is_late(n) for n in inputs], (before, np.stack(past, axis=1)))
    return late.rows(), dict(zip(inputs, late.in_force().T, strict=True))


def is_late(name: str) -> bool:
    """Whether an input reaches the motor through the drive's delay: what is asked does, what is there does
    not."""
    return name.endswith("_target") or name.startswith("newton_")


UNITS = {
    **{"position": "rad", "velocity": "rad/s", "torque": "N m", "load": "N m", "inertia": "kg m^2"},
    **{"current": "A", "voltage": "V", "supply": "V", "temperature": "degC", "winding_temperature": "degC"},
    **{"case_temperature": "degC", "housing_temperature": "degC"},
}
"""What a trajectory's signals are in; those that are not named are plain numbers."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Trajectory(NotebookDisplay):
    """Signals by name, each as long as `time`: `trajectory.position`, or `trajectory["bristle"]`.

    Sample k is the moment time[k], at which the command of row k takes over. `energy` holds, where it was
    asked for, the energy moved since the start [J] by name, and what is stored.
    """

    time: np.ndarray
    signals: Mapping[str, np.ndarray]
    actuator: Actuator
    bench: Bench
    substeps: int
    """Integration steps per sample."""
    refinement: float | None = None
    """Largest change of position [rad or m] when the substeps were doubled;
    None where the caller fixed their number."""
    energy: Mapping[str, np.ndarray] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    """What must be known before these numbers are used."""

    def __getitem__(self, name: str) -> np.ndarray:
        if name == "time":
            return self.time
        if name not in self.signals:
            raise UnknownName("signal", name, [*self.signals, "time"])
        return self.signals[name]

    def __getattr__(self, name: str) -> np.ndarray:
        if name.startswith("_") or name == "signals":
            raise AttributeError(name)
        try:
            return self.signals[name]
        except KeyError:
            raise AttributeError(f"no signal {name!r}; there are: {', '.join(self.signals)}") from None

    def __len__(self) -> int:
        return len(self.time)

    def overview(self) -> Overview:
        """Its signals at a glance."""
        seconds, n = self.time[-1] - self.time[0], len(self)
        rows = [
            (name, float(v[0]), float(v[-1]), float(np.min(v)), float(np.max(v)))
            for name, v in self.signals.items()
        ]
        what = f"{self.actuator.drive.kind} with {self.actuator.friction.kind} on {self.bench.kind}"
        return Overview(
            f"{seconds:.4g} s of {what}, {n} samples of {self.substeps} steps",
            ("signal", "first", "last", "least", "most"),
            rows,
            self.findings,
        )

    def to_pandas(self) -> Any:
        """Every signal over time as a pandas DataFrame."""
        return frame({"time": self.time, **self.signals}, "time")

    def columns(self) -> dict[str, np.ndarray]:
        """Time, every signal and the energy book by name and unit, as a table's columns: what `be.read` reads
        back as a log. The winding's temperature, a state, is there once: as the signal `temperature`."""
        signals = {name: x for name, x in self.signals.items() if name != "winding_temperature"}
        table = {"time [s]": self.time, **{f"{name} [{self._unit(name)}]": x for name, x in signals.items()}}
        return {**table, **{f"energy_{name} [J]": x for name, x in self.energy.items()}}

    def _unit(self, name: str) -> str:
        unit = UNITS.get(name) or UNITS.get(name.removeprefix("rotor_")) or "1"
        if name.endswith("_target") or name == "setpoint":
            unit = UNITS.get(name.removesuffix("_target"), "rad")
        return linear_unit(unit) if self.actuator.motion == "linear" else unit

    def final_state(self) -> dict[str, float]:
        """The state at the last sample, to start another run from."""
        return {name: float(self.signals[name][-1]) for name in self.actuator.states}
