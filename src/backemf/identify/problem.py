"""From logs to errors: which inputs, outputs, starts and settings each log brings,
and the normal equations of all of them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from ..engine.compile.kernels import Kernels, kernels
from ..engine.rows import DELAY, PAIRS, Batch, Delay, HeldInputs, Observer, Resets, hold_inputs
from ..engine.simulate import is_late
from ..engine.system import ActuatorSystem
from ..errors import InvalidValue, MissingValue
from ..logs.log import Log, Signal, bench_of, noise_of, restarts_of, start_of, targets
from ..physics.actuator import Actuator
from ..physics.bench import Bench
from ..physics.drive import Servo
from ..physics.quantity import parameters, substitute
from .bench_numbers import with_angle
from .parameters import FreeParameters

OUTPUTS = ("position", "current")
"""Signals that are compared where they were recorded."""
LEAST_NOISE = {"position": 1e-6, "current": 1e-4, "velocity": 1e-5}
UNKNOWN_FIRMWARE_GAIN = 0.16
"""Duty per radian and count of a hobby bus servo whose firmware gain nobody printed:
the middle of those measured."""


class PreparedLog(NamedTuple):
    """One log as the engine takes it."""

    log: Log
    rows: HeldInputs
    measured: np.ndarray
    """(n_samples, n_outputs), NaN where nothing was measured."""
    settings: dict[str, float]
    """Parameters that this log fixes, bench included."""
    start: dict[str, float]
    bench: Bench
    inputs: np.ndarray
    """What was asked, before any delay."""
    time: np.ndarray
    """The log's clock, with every moment at which a command that is known as a function changes."""
    samples: np.ndarray
    """Where the log's own samples are on that clock."""
    restarts: list[tuple[int, float, float]]
    """Samples at which the model starts anew, with position and velocity there."""
    joint: str = ""
    """Whose it is; the one joint of a bench has no name."""
    recording: str = ""
    """Which recording of the robot it is cut from."""


def fitted_drive(actuator: Actuator, logs: Sequence[Log]) -> tuple[Actuator, bool]:
    """The actuator with a drive that the logs' settings fit:
    (actuator, whether its firmware gain is a guess)."""
    first = next((log for log in logs if "drive.proportional" in log.settings), None)
    loop, has_register = actuator.drive.loop, "drive.proportional" in actuator.parameters
    if first is None or has_register or loop is None or (loop.of, loop.effort) != ("position", "V"):
        return actuator, False
    recorded = float(np.nanmedian(first["supply"])) if "supply" in first else None
    supply = first.settings.get("drive.supply") or actuator.drive.supply or recorded
    if supply is None:
        raise MissingValue(
            f"{first.name} sets a servo gain, but neither it nor the actuator says the supply voltage; give"
            " drive.supply"
        )
    register = first.settings["drive.proportional"]
    drive = Servo(firmware_gain=UNKNOWN_FIRMWARE_GAIN, proportional=register, supply=supply)
    return replace(actuator, drive=drive), True


def with_some_inertia(actuator: Actuator, logs: Sequence[Log]) -> Actuator:
    """A rotor inertia to start from where nobody printed one:
    a fifth of the lightest load's, at the rotor."""
    benches = [log.bench for log in logs if log.bench is not None and not log.bench.series]
    loads = [float(np.min(bench.inertia_at({}))) for bench in benches]
    J = 0.2 * min(loads, default=1e-3) / actuator.gearbox.output_inertia(1.0)
    return actuator.replace(**{"motor.rotor_inertia": max(J, 1e-12)})


def weightless(logs: Sequence[Log]) -> bool:
    """Whether some log's bench has no inertia of its own, so that the rotor must have one."""
    benches = [log.bench for log in logs if log.bench is not None and not log.bench.series]
    return any(not float(np.min(bench.inertia_at({}))) for bench in benches if not bench.locked)


def prepare(actuator: Actuator, log: Log, outputs: Sequence[str], free: FreeParameters) -> PreparedLog:
    """A log's inputs as rows, its measurements, settings and start."""
    given = log
    log, samples = given.refine()
    bench = _freed_bench(bench_of(log), free)
    inputs = _inputs(actuator, log, bench)
    values = np.stack(list(inputs.values()), axis=1) if inputs else np.zeros((len(log), 0))
    rows = hold_inputs(values, np.diff(log.time))
    if actuator.drive.delay:
        rows = Delay(values, log.time, actuator.drive.delay, [is_late(n) for n in inputs]).rows()
    measured = np.stack([log[n] if n in log else np.full(len(log), np.nan) for n in outputs], axis=1)
    restarts = [] if bench.locked else [(int(samples[k]), q, v) for k, q, v in restarts_of(given)]
    measured[[k for k, _, _ in restarts]] = np.nan  # what is predicted there crossed the gap
    q, v = start_of(log)
    first = {name: float(x[0]) for name, x in inputs.items()}
    start = actuator.initial_state(first, position=q, **({} if bench.locked else {"velocity": v}))
    if "winding_temperature" in start and "temperature" in log:
        start["winding_temperature"] = float(log["temperature"][0])
    mine = {k: v for k, v in log.settings.items() if k in actuator.parameters}
    fixed = {**parameters(bench, "bench."), **mine}
    return PreparedLog(given, rows, measured, fixed, start, bench, values, log.time, samples, restarts)


def _freed_bench(bench: Bench, free: FreeParameters) -> Bench:
    """With an angle and a factor of the supply where these are to be found."""
    if "bench.hanging" in free.paths:
        bench = with_angle(bench)
    if "bench.supply_factor" in free.paths and bench.supply_factor is None:
        bench = replace(bench, supply_factor=1.0)
    return bench


def _inputs(actuator: Actuator, log: Log, bench: Bench) -> dict[str, np.ndarray]:
    """What acts on a log, by name."""
    wanted = [*targets(log, actuator.drive), *(n for n in ("enabled", "supply") if n in log), *bench.series]
    inputs = {name: log[name] for name in sorted(wanted)}
    for name, values in inputs.items():
        if not np.isfinite(values).all():
            k = int(np.argmax(~np.isfinite(values)))
            raise InvalidValue(
                f"{log.name}: {name} is not finite at sample {k}; cut the log or repair the signal"
            )
    return inputs


@dataclass
class Problem:
    """Logs of n >= 1 joints of one structure, with actuators whose free parameters are to be found."""

    actuator: Actuator
    """The structure that all joints have, with the numbers of the first."""
    logs: list[PreparedLog]
    free: FreeParameters
    outputs: tuple[str, ...]
    substeps: int
    sigma: np.ndarray
    """Standard deviation of an error, by output, or by log and output: what weights are the inverse of."""
    starts: Mapping[str, Actuator] = field(default_factory=dict)
    """By joint; of a bench its one actuator."""

    def __post_init__(self) -> None:
        first, actuator = self.logs[0], self.actuator
        self.starts = self.starts or {"": actuator}
        if DELAY in self.free.paths and actuator.drive.delay is None:
            actuator = replace(actuator, drive=replace(actuator.drive, delay=0.0))
        self.system = self._system(actuator)
        inner = tuple(path for path in self.free.paths if path in self.system.parameters)
        self.kernels: Kernels = kernels(self.system, free=inner)
        self.names = list(self.system.parameters)
        self.fixed = {**parameters(actuator), **parameters(first.bench, "bench.")}
        self.P = np.array([[{**self.fixed, **p.settings}[n] for n in self.names] for p in self.logs])
        self.S = np.array([[p.start[n] for n in self.system.states] for p in self.logs])
        self.batch: Batch = self.kernels.batch([p.rows for p in self.logs])
        self.measured = np.concatenate([p.measured for p in self.logs])
        self.columns = [self.names.index(path) for path in inner]
        self.index = self.free.columns(len(self.logs))
        self.resets = self._resets()
        self.offsets = np.cumsum([0, *(len(p.samples) for p in self.logs)])
        """Where the samples of each log begin and end, one after the other."""
        self.step = float(np.median(np.concatenate([np.diff(p.log.time) for p in self.logs])))
        """The usual time from one sample to the next [s]."""
        self.sigma_noise = self.sigma
        self.delay_free = DELAY in self.free.paths
        self._laid_out: tuple[np.ndarray, list[np.ndarray]] | None = None
        """The delays and inputs that the rows are laid out for."""

    @functools.cached_property
    def patterns(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Logs in which the same parameters act: (parameter of each column, the logs)."""
        every = np.unique(self.index, axis=0)
        return [(columns, np.flatnonzero((self.index == columns).all(axis=1))) for columns in every]

    def _system(self, actuator: Actuator) -> ActuatorSystem:
        """What is simulated; all logs have the inputs of the first."""
        first = self.logs[0]
        asked = [*targets(first.log, self.actuator.drive), *first.bench.series]
        names = {*asked, *(n for n in first.log.signals if n in ("enabled", "supply"))}
        return ActuatorSystem(
            actuator=actuator, bench=first.bench, inputs=tuple(sorted(names)), outputs=self.outputs
        )

    def _resets(self) -> Resets | None:
        """Where the model starts anew within a log, as the kernels take it."""
        at, to = np.zeros(len(self.measured), bool), np.zeros((2, len(self.measured)))
        for log, begin in zip(self.logs, self.batch.offsets, strict=False):
            for k, q, v in log.restarts:
                at[begin + k], to[:, begin + k] = True, (q, v)
        return Resets(at, *to) if at.any() else None

    def take_after(self, whole: Problem, places: Sequence[int]) -> None:
        """What a problem of some of another's logs has from it, beside what it is made of.

        Args:
            whole: the other.
            places: of the logs there.
        """

    @property
    def first(self) -> np.ndarray:
        """The optimiser's x at the start parameters."""
        return self.free.to_x({q.name: q.start for q in self.free.parameters}, self.fixed)

    def parameters_of(self, x: np.ndarray) -> np.ndarray:
        """Parameters of every log for the optimiser's x."""
        values = np.array([*self.free.to_values(x, self.fixed).values(), 0.0])
        P = self.P.copy()
        index = self.index[:, : len(self.columns)]
        P[:, self.columns] = np.where(index >= 0, values[index], P[:, self.columns])
        return P

    def rows_of(self, x: np.ndarray) -> np.ndarray:
        """The same; a free delay acts through the rows, which are laid out anew."""
        P = self.parameters_of(x)
        if self.delay_free:
            late = [is_late(n) for n in self.system.inputs]
            delays = P[:, self.names.index(DELAY)]
            inputs, held = self.inputs_at(x), self._laid_out
            if (
                held is None
                or not np.array_equal(delays, held[0])
                or any(a is not b for a, b in zip(inputs, held[1], strict=True))
            ):
                rows = zip(inputs, self.logs, delays, strict=True)
                late_by = [Delay(given, p.time, delay, late).rows() for given, p, delay in rows]
                self.batch, self._laid_out = self.kernels.batch(late_by), (delays.copy(), inputs)
        return P

    def inputs_at(self, x: np.ndarray) -> list[np.ndarray]:
        """What acts on each log, before any delay."""
        return [p.inputs for p in self.logs]

    @property
    def sigma_of_rows(self) -> np.ndarray:
        """The standard deviation of the errors, by output; by row too, where it differs from log to log."""
        return (
            self.sigma if self.sigma.ndim == 1 else np.repeat(self.sigma, np.diff(self.batch.offsets), axis=0)
        )

    @property
    def n_measured(self) -> int:
        return int(np.isfinite(self.measured).sum())

    def observer(self, bandwidth: float) -> Observer | None:
        """A correction towards the recorded position, or None at bandwidth 0."""
        if bandwidth <= 0:
            return None
        return Observer(bandwidth, self.measured[:, self.outputs.index("position")])

    def normal_of_logs(
        self, x: np.ndarray, bandwidth: float = 0.0, robust: float = np.inf, substeps: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The normal equations of each log, by the columns of derivatives.

        Args:
            x: the optimiser's.
            bandwidth: of the observer [rad/s]; 0: the plain simulation.
            robust: weighted error beyond which one counts less.
            substeps: integration steps from sample to sample; the problem's own without it.

        Returns:
            (J'J, J'r, cost), each with a row for every log.
        """
        P, n = self.rows_of(x), self.substeps if substeps is None else substeps
        corrections = {"observer": self.observer(bandwidth), "resets": self.resets}
        weights = 1.0 / self.sigma_of_rows
        return self.kernels.normal(
            P, self.S, self.batch, n, self.measured, weights, **corrections, robust=robust
        )

    def gather(self, matrices: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The sum over logs of matrices by columns of derivatives, (n_logs, n_paths, n_paths), in x."""
        total = np.zeros((len(x), len(x)))
        for columns, logs in self.patterns:
            at = np.flatnonzero(columns >= 0)
            total[np.ix_(columns[at], columns[at])] += matrices[logs].sum(axis=0)[np.ix_(at, at)]
        T = self.free.slopes(x)
        return T.T @ total @ T

    def in_x(self, matrix: np.ndarray, k: int, x: np.ndarray) -> np.ndarray:
        """A matrix of one log by columns of derivatives, in x.

        Args:
            matrix: (n_paths, n_paths).
            k: the place of the log.
            x: where the coordinates' slopes are taken.

        Returns:
            (n_x, n_x); 0 for numbers that do not act on this log.
        """
        at = np.flatnonzero(self.index[k] >= 0)
        total = np.zeros((len(x), len(x)))
        total[np.ix_(self.index[k][at], self.index[k][at])] = matrix[np.ix_(at, at)]
        T = self.free.slopes(x)
        return T.T @ total @ T

    def scores(self, vectors: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Vectors of each log by columns of derivatives, (n_logs, n_paths), in x: (n_logs, n_x)."""
        spread = np.zeros((len(vectors), len(x) + 1))
        spread[np.arange(len(vectors))[:, None], self.index] = vectors  # what no parameter sets goes last
        return spread[:, :-1] @ self.free.slopes(x)

    def normal(
        self, x: np.ndarray, bandwidth: float = 0.0, robust: float = np.inf, substeps: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The normal equations in x, summed over the logs.

        Args:
            x: the optimiser's.
            bandwidth: of the observer [rad/s]; 0: the plain simulation.
            robust: weighted error beyond which one counts less.
            substeps: integration steps from sample to sample; the problem's own without it.

        Returns:
            (J'J, J'r, cost), without the prior; not finite where the simulation is not.
        """
        JtJ, Jtr, cost = self.normal_of_logs(x, bandwidth, robust, substeps)
        # A step that runs away is not finite; the caller looks at the cost.
        with np.errstate(invalid="ignore", over="ignore"):
            return self.gather(JtJ, x), self.scores(Jtr, x).sum(axis=0), float(cost.sum())

    def costs(self, X: Sequence[np.ndarray], robust: float = np.inf, on: str = "cpu") -> np.ndarray:
        """The data's cost at many x at once.

        Args:
            X: the optimiser's, all with the delay of the first.
            robust: weighted error beyond which one counts less.
            on: where it is simulated: "cpu" or "gpu".

        Returns:
            One cost for each x.
        """
        self.rows_of(X[0])
        P = np.stack([self.parameters_of(x) for x in X])
        corrections = {"resets": self.resets, "robust": robust, "on": on}
        S = np.broadcast_to(self.S, (len(X), *self.S.shape))
        cost = self.kernels.cost(
            P, S, self.batch, self.substeps, self.measured, 1.0 / self.sigma_of_rows, **corrections
        )
        return cost.sum(axis=1)

    def sensitivities(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighted errors (n, n_outputs) and their derivatives by column (n, n_outputs, n_paths), on the
        samples of all logs, one after the other."""
        outputs, tangents = self.kernels.sensitivities(
            self.rows_of(x), self.S, self.batch, self.substeps, resets=self.resets
        )
        sigma = self.sigma_of_rows
        errors, tangents = (outputs - self.measured) / sigma, tangents / sigma[..., :, None]
        return np.concatenate(self.of_logs(errors)), np.concatenate(self.of_logs(tangents))

    def bounded_sensitivities(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same, with the rows of the derivatives bounded: no e-fold of a number moves a sample further
        than its log's motion is wide. Where a simulation runs away they would swamp all others."""
        errors, tangents = self.sensitivities(x)
        slopes = np.append(np.diag(self.free.slopes(x)), 0.0)  # what no parameter sets comes last
        bounded = tangents.copy()
        for k, log in enumerate(self.logs):
            rows = slice(int(self.offsets[k]), int(self.offsets[k + 1]))
            measured = log.measured[log.samples]
            width = np.nanmax(measured, axis=0) - np.nanmin(measured, axis=0)
            widest = width / (self.sigma if self.sigma.ndim == 1 else self.sigma[k])
            moved = np.max(np.abs(np.nan_to_num(tangents[rows] * slopes[self.index[k]])), axis=-1)
            bounded[rows] *= np.minimum(1.0, widest / np.maximum(moved, 1e-300))[..., None]
        return errors, bounded

    def predictions(self, x: np.ndarray) -> list[np.ndarray]:
        """Simulated position of every log, on its own samples."""
        return [s[:, 0] for s in self.states(x)]

    def states(self, x: np.ndarray) -> list[np.ndarray]:
        """Simulated states of every log, on its own samples; behind a long gap from position and velocity
        there."""
        P = self.rows_of(x)
        if self.resets is None:
            return self.of_logs(self.kernels.trajectory(P, self.S, self.batch, self.substeps))
        pairs = [pair for pair in PAIRS if pair[0] in self.system.states]
        places = np.array([[self.system.states.index(name) for name in pair] for pair in pairs])
        columns = (self.batch.values, self.batch.before, self.batch.switch, self.batch.dt)
        found = []
        for log, p, s, begin in zip(self.logs, P, self.S, self.batch.offsets, strict=False):
            ends = [*(k for k, _, _ in log.restarts), len(log.measured)]
            for (k, *at), end in zip([(0,), *log.restarts], ends, strict=True):
                s = s.copy()
                if at:
                    s[places] = at
                rows = HeldInputs(*(column[begin + k : begin + end - 1] for column in columns))
                many = end - k > 1
                found.append(self.kernels.trajectory(p, s, rows, self.substeps) if many else s[None])
                s = found[-1][-1]
        return self.of_logs(np.concatenate(found))

    def of_logs(self, rows: np.ndarray) -> list[np.ndarray]:
        """An array over all rows as one array a log, on its own samples."""
        return [s[p.samples] for s, p in zip(self.batch.split(rows), self.logs, strict=True)]

    def values(self, x: np.ndarray) -> dict[str, float]:
        """Every free number by name."""
        return self.free.to_values(x, self.fixed)

    @property
    def joints(self) -> tuple[str, ...]:
        """Those that some log is of."""
        return tuple(dict.fromkeys(log.joint for log in self.logs))

    @property
    def recordings(self) -> list[str]:
        """Of each log, the recording that it is cut from."""
        return [log.recording for log in self.logs]

    def places_of(self, joint: str) -> list[int]:
        """Places of the logs of a joint."""
        return [k for k, log in enumerate(self.logs) if log.joint == joint]

    def numbers_of(self, joint: str) -> list[int]:
        """Places of the free numbers that act on a joint, those that it shares included."""
        return sorted({int(k) for k in self.index[self.places_of(joint)[0]] if k >= 0})

    def actuators(self, x: np.ndarray) -> dict[str, Actuator]:
        """Each joint's actuator, with the numbers that are the same in all its logs."""
        values = list(self.values(x).values())
        made = {}
        for joint in self.joints:
            start, places = self.starts[joint], set(self.places_of(joint))
            rows = [(self.free.parameters[k], values[k]) for k in self.numbers_of(joint)]
            common = [
                (q.path, v) for q, v in rows if not q.beside and (q.logs is None or places <= set(q.logs))
            ]
            made[joint] = substitute(start, {path: v for path, v in common if path in start.parameters})
        return made

    def delays(self, x: np.ndarray) -> dict[str, float]:
        """By joint, the moment at which its commands count, later than their time stamp [s]."""
        values = list(self.values(x).values())
        found = dict.fromkeys(self.joints, 0.0)
        for joint in self.joints:
            for k in self.numbers_of(joint):
                if self.free.parameters[k].path == DELAY:
                    found[joint] = values[k]
        return found

    def actuator_at(self, x: np.ndarray) -> Actuator:
        """The first joint's."""
        return next(iter(self.actuators(x).values()))

    def x_from(self, known: Mapping[str, float]) -> np.ndarray:
        """The coordinates of values by name, the start where nothing is known."""
        values = {q.name: known.get(q.name, q.start) for q in self.free.parameters}
        return self.free.to_x(values, self.fixed)

    def position_errors(self, x: np.ndarray) -> list[np.ndarray]:
        """Simulated less measured position of each log, each joint by itself [rad or m]."""
        rows = zip(self.logs, self.predictions(x), strict=True)
        return [q - one.measured[one.samples, 0] for one, q in rows]


def long_enough(logs: Sequence[Log]) -> None:
    """Refuse logs that hold no motion, only a moment."""
    for log in logs:
        if len(log) < 2:
            raise MissingValue(f"{log.name} has {len(log)} sample; expected a recording over time")


def problem(
    actuator: Actuator,
    logs: Sequence[Log],
    free: FreeParameters,
    *,
    outputs: Sequence[str] | None = None,
    substeps: int | None = None,
    starts: Mapping[str, Actuator] | None = None,
    labels: Sequence[tuple[str, str]] = (),
) -> Problem:
    """Logs and an actuator as one problem; all logs must have the same sort of bench and the same inputs.

    Args:
        actuator: the structure of all, with the numbers that stay where nothing else is said.
        logs: of one joint each.
        free: the numbers to be found, by the places of the logs that they belong to.
        outputs: what is compared; without it the position, and the current where it was recorded.
        substeps: steps of the simulation between two samples; without it as many as it takes.
        starts: of a robot, each joint's actuator.
        labels: of a robot, the joint and the recording of each log.

    Returns:
        The problem, weighed by the noise of the recordings.

    Raises:
        MissingValue: there is no log, no motion, no position, or no supply where others recorded one.
        InvalidValue: the benches are of different sorts, or an input is not finite.
    """
    if not logs:
        raise MissingValue("no logs were given; expected at least one recording")
    long_enough(logs)
    seen = _recorded_outputs(logs) if outputs is None else tuple(outputs)
    common = [name for name in ("enabled", "supply") if any(name in log for log in logs)]
    prepared = [prepare(actuator, _with_common(log, common, actuator), seen, free) for log in logs]
    kinds = {type(p.bench).__name__ for p in prepared}
    if len(kinds) > 1:
        raise InvalidValue(
            f"the logs come from different benches ({', '.join(sorted(kinds))}); fit one sort at a time"
        )
    if labels:
        prepared = [
            one._replace(joint=joint, recording=recording)
            for one, (joint, recording) in zip(prepared, labels, strict=True)
        ]
    steps = substeps or default_substeps(prepared, actuator)
    return Problem(actuator, prepared, free, seen, steps, _noise(prepared, seen), starts or {})


def _noise(prepared: Sequence[PreparedLog], outputs: Sequence[str]) -> np.ndarray:
    """Standard deviation of the recordings' noise, by output."""
    noise = [np.median([noise_of(p.measured[:, k]) for p in prepared]) for k in range(len(outputs))]
    return np.array([max(x, LEAST_NOISE.get(o, 1e-9)) for x, o in zip(noise, outputs, strict=True)])


def _recorded_outputs(logs: Sequence[Log]) -> tuple[str, ...]:
    """What some log recorded and is compared."""
    seen = tuple(o for o in OUTPUTS if any(o in log for log in logs))
    if "position" not in seen:
        there = ", ".join(sorted({s for log in logs for s in log.signals}))
        raise MissingValue(f"none of the logs has a position; they have: {there}")
    return seen


def _with_common(log: Log, names: Sequence[str], actuator: Actuator) -> Log:
    """The log with the inputs that others have: always enabled, the nominal supply."""
    supply = log.settings.get("drive.supply", actuator.drive.supply)
    if supply is None and "supply" in names and "supply" not in log:
        raise MissingValue(
            f"{log.name} has no supply, which other logs recorded, and neither it nor the actuator states"
            " one; give drive.supply"
        )
    usual = {"enabled": 1.0, "supply": supply}
    extra = {n: Signal(time=log.time, values=np.full(len(log), usual[n])) for n in names if n not in log}
    return replace(log, signals={**log.signals, **extra}) if extra else log


def default_substeps(prepared: Sequence[PreparedLog], actuator: Actuator) -> int:
    """Integration steps per sample of a fit: at most 2 ms each, whatever the parameters; and none longer than
    the drive's period, in which its law looks once."""
    step = float(np.median(np.concatenate([np.diff(p.time) for p in prepared])))
    return max(1, int(np.ceil(step / min(2e-3, actuator.drive.period or np.inf) - 1e-6)))


def mean_absolute_errors(p: Problem, x: np.ndarray) -> dict[str, float]:
    """Mean absolute error of position by log name."""
    rows = zip(p.logs, p.position_errors(x), strict=True)
    return {one.log.name: float(np.nanmean(np.abs(error))) for one, error in rows}
