"""From logs to errors: which inputs, outputs, starts and settings each log brings,
and the normal equations of all of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..engine.compile.kernels import Kernels, kernels
from ..engine.rows import DELAY, PAIRS, Batch, Delay, HeldInputs, Observer
from ..engine.simulate import is_late
from ..engine.system import ActuatorSystem
from ..errors import InvalidValue, MissingValue
from ..logs.log import Log, Signal, check_recordings, noise_of, targets
from ..physics.actuator import Actuator
from ..physics.drive import Servo
from ..physics.quantity import parameters, substitute
from .parameters import FreeParameters
from .prepared_log import (
    Blocks,
    PreparedLog as PreparedLog,
    ReducedBlocks,
    StartStates,
    prepare as prepare,
    states_at as states_at,
)

OUTPUTS = ("position", "current")
"""Signals that are compared where they were recorded."""
LEAST_NOISE = {"position": 1e-6, "current": 1e-4, "velocity": 1e-5}
LONGEST, LONGEST_WITH_TEETH = 2e-3, 5e-4
"""Integration steps of a fit at most [s]."""
UNKNOWN_FIRMWARE_GAIN = 0.16
"""Duty per radian and count of a hobby bus servo whose firmware gain nobody printed:
the middle of those measured."""


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
    return with_inertia_for(actuator, min(loads, default=1e-3))


def with_inertia_for(actuator: Actuator, load: float) -> Actuator:
    """With a rotor inertia that is a fifth of a load's at the output [kg m^2]."""
    J = 0.2 * load / actuator.gearbox.output_inertia(1.0)
    return actuator.replace(**{"motor.rotor_inertia": max(J, 1e-12)})


def weightless(logs: Sequence[Log]) -> bool:
    """Whether some log's bench has no inertia of its own, so that the rotor must have one."""
    benches = [log.bench for log in logs if log.bench is not None and not log.bench.series]
    return any(not float(np.min(bench.inertia_at({}))) for bench in benches if not bench.locked)


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
    begin: StartStates | None = None
    """Where the stretches begin, as far as it is known by now, where that is free."""

    def __post_init__(self) -> None:
        first, actuator = self.logs[0], self.actuator
        self.starts = self.starts or {"": actuator}
        if DELAY in self.free.paths and actuator.drive.delay is None:
            actuator = replace(actuator, drive=replace(actuator.drive, delay=0.0))
        self.system = self._system(actuator)
        inner = tuple(path for path in self.free.paths if path in self.system.parameters)
        self.pairs = [pair for pair in PAIRS if pair[0] in self.system.states]
        begun = () if self.begin is None else tuple(np.ravel(self.pairs).tolist())
        self.kernels: Kernels = kernels(self.system, free=inner, start=begun)
        self.names = list(self.system.parameters)
        self.fixed = {**parameters(actuator), **parameters(first.bench, "bench.")}
        self.P = np.array([[{**self.fixed, **p.settings}[n] for n in self.names] for p in self.logs])
        self._S = self._starts()
        self._cut()
        self.batch: Batch = self._lay_out([p.rows for p in self.logs])
        self.measured = np.concatenate([p.measured for p in self.logs])
        self.columns = [self.names.index(path) for path in inner]
        self.index = self.free.columns(len(self.logs))
        self.offsets = np.cumsum([0, *(len(p.samples) for p in self.logs)])
        """Where the samples of each log begin and end, one after the other."""
        self.step = _usual_step(self.logs)
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

    def _cut(self) -> None:
        """Note which stretch is of which log."""
        self.log_of = np.repeat(np.arange(len(self.logs)), [len(p.stretches) for p in self.logs])
        """The log of each stretch."""
        self.first_stretches = np.searchsorted(self.log_of, np.arange(len(self.logs)))
        self.rows = np.cumsum([0, *(len(p.time) for p in self.logs)])
        """Where the rows of each log begin and end, one after the other."""

    def _starts(self) -> np.ndarray:
        """States at the start of every stretch, as the recordings say."""
        every = [start for p in self.logs for start in p.starts]
        return np.array([[start[name] for name in self.system.states] for start in every])

    def _lay_out(self, rows: Sequence[HeldInputs]) -> Batch:
        """Rows of every log, cut into its stretches: each is a run of its own."""
        whole = self.kernels.batch(rows)
        cuts = [self.rows[k] + one.sample for k, p in enumerate(self.logs) for one in p.stretches]
        return replace(whole, offsets=np.array([*cuts, self.rows[-1]], np.int64))

    @property
    def S(self) -> np.ndarray:
        """States at the start of every stretch."""
        if self.begin is None:
            return self._S
        S = self._S.copy()
        for pair in self.pairs:
            S[:, [self.system.states.index(name) for name in pair]] = self.begin.now
        return S

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
        """Parameters of every stretch; a free delay acts through the rows, which are laid out anew."""
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
                self.batch, self._laid_out = self._lay_out(late_by), (delays.copy(), inputs)
        return P[self.log_of]

    def inputs_at(self, x: np.ndarray) -> list[np.ndarray]:
        """What acts on each log, before any delay."""
        return [p.inputs for p in self.logs]

    @property
    def sigma_of_rows(self) -> np.ndarray:
        """The standard deviation of the errors, by output; by row too, where it differs from log to log."""
        return self.sigma if self.sigma.ndim == 1 else np.repeat(self.sigma, np.diff(self.rows), axis=0)

    @property
    def n_measured(self) -> int:
        return int(np.isfinite(self.measured).sum())

    def observer(self, bandwidth: float) -> Observer | None:
        """A correction towards the recorded position, or None at bandwidth 0."""
        if bandwidth <= 0:
            return None
        return Observer(bandwidth, self.measured[:, self.outputs.index("position")])

    def blocks(
        self, x: np.ndarray, bandwidth: float = 0.0, robust: float = np.inf, substeps: int | None = None
    ) -> Blocks:
        """The normal equations of each stretch, by the columns of derivatives.

        Args:
            x: the optimiser's.
            bandwidth: of the observer [rad/s]; 0: the plain simulation.
            robust: weighted error beyond which one counts less.
            substeps: integration steps from sample to sample; the problem's own without it.

        Returns:
            (J'J, J'r, cost), each with a row for every stretch.
        """
        P, n = self.rows_of(x), self.substeps if substeps is None else substeps
        weights, observer = 1.0 / self.sigma_of_rows, self.observer(bandwidth)
        how = {"observer": observer, "robust": robust}
        sums = self.kernels.normal(P, self.S, self.batch, n, self.measured, weights, **how)
        F = self._folding
        with np.errstate(invalid="ignore"):  # what runs away is not finite; the caller looks at the cost
            return Blocks(*sums) if F is None else Blocks(F.T @ sums[0] @ F, sums[1] @ F, sums[2])

    @property
    def _folding(self) -> np.ndarray | None:
        """Columns of the kernels as those of the paths and of one start: a rotor moves along with it; None
        where they are that already."""
        if self.begin is None or len(self.pairs) == 1:
            return None
        paths = np.eye(len(self.free.paths))
        both = np.kron(np.ones((len(self.pairs), 1)), np.eye(2))
        none = np.zeros((len(paths), 2)), np.zeros((len(both), len(paths)))
        return np.block([[paths, none[0]], [none[1], both]])

    def reduce(self, blocks: Blocks, damping: float = 0.0) -> ReducedBlocks:
        """The normal equations by paths alone, with every start where it is best.

        Args:
            blocks: at the starts of now.
            damping: of the starts' curvature.

        Returns:
            Of every stretch; the blocks themselves where no start is free.
        """
        if self.begin is not None:
            return self.begin.reduce(blocks, damping)
        n, _, c = blocks.JtJ.shape
        return ReducedBlocks(*blocks, np.zeros((n, 2, c)), np.zeros((n, 2)))

    def in_logs(self, of_stretches: np.ndarray) -> np.ndarray:
        """Sums over the stretches of each log."""
        if len(self.log_of) == len(self.logs):
            return of_stretches
        return np.add.reduceat(of_stretches, self.first_stretches, axis=0)

    def normal_of_logs(
        self, x: np.ndarray, bandwidth: float = 0.0, robust: float = np.inf, substeps: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The normal equations of each log, by paths; each start where it is best.

        Args:
            x: the optimiser's.
            bandwidth: of the observer [rad/s]; 0: the plain simulation.
            robust: weighted error beyond which one counts less.
            substeps: integration steps from sample to sample; the problem's own without it.

        Returns:
            (J'J, J'r, cost), each with a row for every log.
        """
        JtJ, Jtr, cost, *_ = self.reduce(self.blocks(x, bandwidth, robust, substeps))
        return self.in_logs(JtJ), self.in_logs(Jtr), self.in_logs(cost)

    def by_stretch(self, step: np.ndarray, x: np.ndarray) -> np.ndarray:
        """A step in x as what it changes in the paths of each stretch, (stretches, paths)."""
        return np.append(self.free.slopes(x) @ step, 0.0)[self.index[self.log_of]]

    def gather(self, matrices: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The sum over logs of matrices by columns of derivatives, (n_logs, n_paths, n_paths), in x."""
        total = np.zeros((len(x), len(x)))
        for columns, logs in self.patterns:
            at = np.flatnonzero(columns >= 0)
            total[np.ix_(columns[at], columns[at])] += matrices[logs].sum(axis=0)[np.ix_(at, at)]
        T = self.free.slopes(x)
        with np.errstate(invalid="ignore", over="ignore"):  # likewise
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
        P = np.stack([self.parameters_of(x)[self.log_of] for x in X])
        S = np.broadcast_to(self.S, (len(X), *self._S.shape))
        how = {"robust": robust, "on": on}
        weights = 1.0 / self.sigma_of_rows
        cost = self.kernels.cost(P, S, self.batch, self.substeps, self.measured, weights, **how)
        return cost.sum(axis=1)

    def sensitivities(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighted errors (n, n_outputs) and their derivatives by column (n, n_outputs, n_columns), those of
        the start last where it is free, on the samples of all logs, one after the other."""
        outputs, tangents = self.kernels.sensitivities(self.rows_of(x), self.S, self.batch, self.substeps)
        sigma, F = self.sigma_of_rows, self._folding
        errors = (outputs - self.measured) / sigma
        with np.errstate(invalid="ignore"):  # what runs away is not finite; `bounded_sensitivities` knows
            tangents = (tangents if F is None else tangents @ F) / sigma[..., :, None]
        return np.concatenate(self.of_logs(errors)), np.concatenate(self.of_logs(tangents))

    def bounded_sensitivities(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same, with the rows of the derivatives bounded: no e-fold of a number moves a sample further
        than its log's motion is wide. Where a simulation runs away they would swamp all others; a row that
        has left the numbers altogether tells nothing."""
        errors, tangents = self.sensitivities(x)
        tangents = np.where(np.isfinite(tangents).all(axis=-1, keepdims=True), tangents, 0.0)
        slopes = np.append(np.diag(self.free.slopes(x)), 0.0)  # what no parameter sets comes last
        bounded, n = tangents.copy(), len(self.free.paths)
        for k, log in enumerate(self.logs):
            rows = slice(int(self.offsets[k]), int(self.offsets[k + 1]))
            measured = log.measured[log.samples]
            width = np.nanmax(measured, axis=0) - np.nanmin(measured, axis=0)
            widest = width / (self.sigma if self.sigma.ndim == 1 else self.sigma[k])
            with np.errstate(over="ignore"):
                moved = np.max(np.abs(tangents[rows, :, :n] * slopes[self.index[k]]), axis=-1)
            bounded[rows] *= np.minimum(1.0, widest / np.maximum(moved, 1e-300))[..., None]
        return errors, bounded

    def stretch_rows(self) -> list[slice]:
        """The samples of each stretch, among those of all logs one after the other."""
        cuts = [
            int(self.offsets[k] + np.searchsorted(log.samples, one.sample))
            for k, log in enumerate(self.logs)
            for one in log.stretches
        ]
        return [slice(a, b) for a, b in itertools.pairwise([*cuts, int(self.offsets[-1])])]

    def predictions(self, x: np.ndarray) -> list[np.ndarray]:
        """Simulated position of every log, on its own samples."""
        return [s[:, 0] for s in self.states(x)]

    def states(self, x: np.ndarray) -> list[np.ndarray]:
        """Simulated states of every log, on its own samples; behind a long gap from the start there."""
        return self.of_logs(self.kernels.trajectory(self.rows_of(x), self.S, self.batch, self.substeps))

    def of_logs(self, rows: np.ndarray) -> list[np.ndarray]:
        """An array over all rows as one array a log, on its own samples."""
        parts = np.split(rows, self.rows[1:-1])
        return [s[p.samples] for s, p in zip(parts, self.logs, strict=True)]

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


def _usual_step(logs: Sequence[PreparedLog]) -> float:
    return float(np.median(np.concatenate([np.diff(p.log.time) for p in logs])))


def problem(
    actuator: Actuator,
    logs: Sequence[Log],
    free: FreeParameters,
    *,
    outputs: Sequence[str] | None = None,
    substeps: int | None = None,
    starts: Mapping[str, Actuator] | None = None,
    labels: Sequence[tuple[str, str]] = (),
    free_starts: bool = False,
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
        free_starts: whether position and velocity at the start of each stretch are found along.

    Returns:
        The problem, weighed by the noise of the recordings.

    Raises:
        MissingValue: there is no log, no motion, no position, or no supply where others recorded one.
        InvalidValue: the benches are of different sorts, or an input is not finite.
    """
    if not logs:
        raise MissingValue("no logs were given; expected at least one recording")
    check_recordings(logs)
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
    begin = _begin(prepared) if free_starts else None
    return Problem(actuator, prepared, free, seen, steps, _noise(prepared, seen), starts or {}, begin)


def _begin(prepared: Sequence[PreparedLog]) -> StartStates | None:
    """Where all stretches begin; None where nothing can move."""
    locked = prepared[0].bench.locked
    return None if locked else StartStates.of([one for p in prepared for one in p.stretches])


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
    """Integration steps per sample of a fit: at most 2 ms each, whatever the parameters, or half of one where
    teeth meet; and none longer than the drive's period, in which its law looks once."""
    step = float(np.median(np.concatenate([np.diff(p.time) for p in prepared])))
    longest = LONGEST if actuator.gearbox.backlash is None else LONGEST_WITH_TEETH
    return max(1, int(np.ceil(step / min(longest, actuator.drive.period or np.inf) - 1e-6)))


def mean_absolute_errors(p: Problem, x: np.ndarray) -> dict[str, float]:
    """Mean absolute error of position by log name."""
    rows = zip(p.logs, p.position_errors(x), strict=True)
    return {one.log.name: float(np.nanmean(np.abs(error))) for one, error in rows}
