"""Fit: the actuator that logs make of a start, with an error on every number and an honest word on what they
cannot tell; what it consists of, and a recording beside what the fit makes of it."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .. import store
from ..errors import UnknownName
from ..findings import Finding
from ..logs.log import Log, mark_of
from ..logs.robot import Robot
from ..physics.actuator import Actuator
from ..physics.bench import Bench
from ..physics.quantity import quantities
from ..registry import SERVICES
from ..statistics import Coordinate
from ..tables import NotebookDisplay, Overview, interval, number, table
from .variation import ExpectedError, PredictionBand, Variation, expected_error as error_of_band

EVEN = 0.3
"""Error, on a number's own scale, up to which a plain error says the same."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Fit(NotebookDisplay, store.Noun):
    """The result of `fit`. `print(fit)` is a table; `fit.actuator` goes into exports and simulations."""

    also_shown: ClassVar[tuple[str, ...]] = ("training_mae", "held_out_mae")

    actuator: Actuator
    parameters: Mapping[str, FittedParameter]
    training: Mapping[str, float]
    """Log name -> mean absolute error of position [rad or m]."""
    held_out: Mapping[str, float]
    noise_floor: float
    """Mean absolute error that the noise of the recordings alone would leave."""
    findings: tuple[Finding, ...]
    starts: tuple[Start, ...]
    correlation: np.ndarray = field(repr=False)
    """Between the errors of the parameters, in their order."""
    substeps: int
    seed: int
    cpu_s: float
    friction: str
    logs: tuple[FittedLog, ...] = ()
    """Where the logs came from; empty in fits stored before this was kept."""
    rungs: tuple[LadderRung, ...] = ()
    """The ladder that it was chosen from; empty where one friction model was asked for."""
    judged_on: str = ""
    """In words, what the rungs were judged on."""
    bench: tuple[BenchNumber, ...] = ()
    """What was found of the bench along with the actuator, each number within its tolerance; last, what was
    read from the held-out logs."""
    name: str = ""
    """What was fitted: the part, as its sheet or whoever fitted it calls it."""
    read_from_held_out: tuple[str, ...] = ()
    """Which of them were read from the held-out logs themselves: the angle of a mounting never fitted."""
    joints: Mapping[str, Fit] = field(default_factory=dict)
    """Of a robot, the fit of each joint; `actuator` is then the first's, and `parameters` are those of all,
    by joint and path: `elbow_flex.friction.coulomb`, or by path alone where all share one."""
    score: Score | None = None
    """Of a robot: how far its joints, simulated together, are from the recordings."""
    robot: Robot | None = None
    """With the ground as it was told or found."""
    variation: Variation | None = None
    """How a next recording would differ: what bands are made of; absent in fits stored before bands were, and
    where the recordings cannot say."""

    def __post_init__(self) -> None:
        """The delays of a robot live in its joints' actuators, also of fits stored before they did. A command
        that counts before its time stamp is the recorder's doing, and no delay."""
        for name, late in self.delays.items():
            fit = self.joints[name]
            drive = replace(fit.actuator.drive, delay=late if late > 0 else None)
            late_fit = replace(fit, actuator=replace(fit.actuator, drive=drive))
            object.__setattr__(self, "joints", {**self.joints, name: late_fit})
        if self.delays:
            object.__setattr__(self, "actuator", next(iter(self.joints.values())).actuator)

    @property
    def actuators(self) -> dict[str, Actuator]:
        """Of a robot, each joint's."""
        return {name: fit.actuator for name, fit in self.joints.items()}

    @property
    def delays(self) -> dict[str, float]:
        """Of a robot, the moment at which each joint's commands count, later than their time stamp [s]."""
        found = {
            name: [b.value for b in fit.bench if b.path == "drive.delay"] for name, fit in self.joints.items()
        }
        return {name: late[0] for name, late in found.items() if late}

    @property
    def stretch(self) -> float:
        """Of joints that are driven by torque: seconds over which they are predicted from a recorded state; 0
        where a prediction runs through."""
        return 0.0 if self.score is None else self.score.stretch

    @property
    def training_mae(self) -> float:
        return float(np.mean(list(self.training.values())))

    @property
    def held_out_mae(self) -> float | None:
        return float(np.mean(list(self.held_out.values()))) if self.held_out else None

    @property
    def zero(self) -> float | None:
        """From the joint's zero to where the arm hangs, averaged over mountings and turned round: BAM's
        q_offset [rad]; None where no arm hung."""
        hanging = [number.value for number in self.bench if number.path == "bench.hanging"]
        return -sum(hanging) / len(hanging) if hanging else None

    def predict(self, log: Log) -> PredictedMotion:
        """What the fit says a recording should have looked like, joint by joint, from its start and what was
        asked; nothing is fitted.

        Args:
            log: a recording on the bench, or of the robot, that was fitted; it need not have been in the fit.

        Returns:
            Positions by joint beside the recorded ones, and a band in which they are to be expected; the one
            joint of a bench is called "". A log without positions starts at rest where it is first asked to
            be.
        """
        return SERVICES.predictions.predict_motion(self, log)

    def expected_error(self, log: Log) -> ExpectedError:
        """How far off the prediction of a log is to be expected, on a rig that may not exist yet.

        Args:
            log: what is asked, on which bench; positions are not needed.

        Returns:
            Mean absolute and root mean square error [rad or m].

        Raises:
            NotAvailable: the recordings that were fitted cannot say.
        """
        return SERVICES.predictions.expected_error(self, log)

    def draws(self, n: int, seed: int = 0) -> list[Any]:
        """Actuators drawn from the fit's joint uncertainty: what else these logs would have allowed; of a
        robot all of them by joint, with the same number where joints share it.

        The draws are normal in the fit's own coordinates: the excess of static over Coulomb friction, and
        logarithms where an error is large.
        """
        known = {path: f.metadata for path, f, _ in quantities(self.actuator)}
        x, T = self._coordinates()
        slopes = np.linalg.inv(T)
        values, vectors = np.linalg.eigh(slopes @ self.covariance @ slopes.T)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        drawn = []
        for z in np.random.default_rng(seed).standard_normal((n, len(x))):
            moved = dict(zip(self.parameters, x + root @ z, strict=True))
            there: dict[str, float] = {}
            for name in sorted(moved, key=lambda name: self._over(name) is not None):
                base = there.get(self._over(name) or "", self._base(name))
                excess = self._coordinate(name).outward(moved[name])
                there[name] = base + (excess if self._has_sign(name) else max(excess, 0.0))
                row = known.get(self.parameters[name].path, {})
                least, most = (row.get(end) for end in ("least", "most"))
                there[name] = min(
                    max(there[name], -math.inf if least is None else least),
                    math.inf if most is None else most,
                )
            made = {joint: self._with_numbers(joint, there) for joint in self.joints or ("",)}
            drawn.append(made if self.joints else made[""])
        return drawn

    def _with_numbers(self, joint: str, values: Mapping[str, float]) -> Actuator:
        """A joint's actuator with other numbers, by name; of a bench its one."""
        fit, own = self.joints.get(joint, self), dict[str, float]()
        for name, value in values.items():
            path = self.parameters[name].path
            whose = name.removesuffix(path).rstrip(".")
            groups = {} if self.robot is None else self.robot.groups
            if joint == whose or joint in groups.get(whose, () if whose in self.joints else (joint,)):
                own[path] = value
        return fit.actuator.replace(**{p: v for p, v in own.items() if p in fit.actuator.parameters})

    @property
    def covariance(self) -> np.ndarray:
        """Of the parameters' errors, in their order."""
        error = np.array([p.error for p in self.parameters.values()])
        return self.correlation * np.outer(error, error)

    def distance(self, truth: Mapping[str, float]) -> float:
        """How far the fit is from true values of some of its parameters, in the metric of its joint error:
        squared, it follows chi^2 with as many degrees of freedom if the errors are right."""
        paths = list(self.parameters)
        for path in truth:
            if path not in self.parameters:
                raise UnknownName("fitted parameter", path, paths)
        x, T = self._coordinates()
        slopes = np.linalg.inv(T)
        pick = [paths.index(path) for path in truth]
        V = (slopes @ self.covariance @ slopes.T)[np.ix_(pick, pick)]
        there = {p: self.parameters[p].value for p in paths} | dict(truth)
        off = [self._coordinate(p).inward(there[p] - self._base(p, there)) - x[paths.index(p)] for p in truth]
        return float(np.sqrt(max(np.array(off) @ np.linalg.solve(V, np.array(off)), 0.0)))

    def _coordinates(self) -> tuple[np.ndarray, np.ndarray]:
        """The parameters on the scales their errors are even on, and the derivative of values by these."""
        paths, x = list(self.parameters), []
        T = np.zeros((len(paths), len(paths)))
        for k, path in enumerate(paths):
            excess = self.parameters[path].value - self._base(path)
            x.append(self._coordinate(path).inward(excess))
            T[k, k] = self._coordinate(path).slope(excess)
            above = self._over(path)
            if above is not None and above in self.parameters:
                j = paths.index(above)
                T[k, j] = self._coordinate(above).slope(self.parameters[above].value)
        return np.array(x), T

    def _coordinate(self, path: str) -> Coordinate:
        """The number's own scale; the plain one where its error is a small part of that, so that sums of
        numbers that the logs tell better than each are kept."""
        p = self.parameters[path]
        own = Coordinate(self._has_sign(path), p.knee)
        return Coordinate(signed=True) if p.error < EVEN * own.slope(p.value - self._base(path)) else own

    def _has_sign(self, name: str) -> bool:
        return self.actuator.traits(self.parameters[name].path)["signed"] is not None

    def _over(self, name: str) -> str | None:
        """The parameter that one stands on, by the name that it has here."""
        path = self.parameters[name].path
        other = self.actuator.over(path)
        return None if other is None else name.removesuffix(path) + other

    def relative_error(self, path: str) -> float | None:
        """Standard error over value, where that means something."""
        p = self.parameters[path]
        return None if self._has_sign(path) or not p.value else p.error / abs(p.value)

    def _base(self, path: str, values: Mapping[str, float] | None = None) -> float:
        """What an ordered parameter stands on."""
        above = self._over(path)
        if above is None:
            return 0.0
        known = {name: p.value for name, p in self.parameters.items()} if self.joints else {}
        known = known or self.actuator.parameters
        return float((values or {}).get(above, known.get(above, 0.0)))

    def summary(self) -> list[str]:
        """One line per parameter, for the header of an export."""
        return [
            f"{p.path} = {number(p.value)} +- {number(p.error, 2)} {p.unit} (95 %:"
            f" {interval(p.low, p.high, 'to', 4)}; told by {p.told_by})"
            for p in self.parameters.values()
        ]

    def overview(self) -> Overview:
        unit = "mrad" if self.actuator.motion == "rotary" else "mm"
        held = (
            ""
            if self.held_out_mae is None
            else f", {1e3 * self.held_out_mae:.3g} on {len(self.held_out)} held out"
        )
        mae = f"{1e3 * self.training_mae:.3g} {unit}"
        n = len(self.training)
        title = f"{self.friction} friction, {mae} on {n} log{'s' if n != 1 else ''}{held}"
        rows = [
            (name, p.value, p.error, p.low, p.high, p.unit, p.told_by) for name, p in self.parameters.items()
        ]
        return Overview(
            title, ("parameter", "value", "error", "low", "high", "unit", "told by"), rows, self.findings
        )

    def __str__(self) -> str:
        rows = []
        for name, p in self.parameters.items():
            stated = "-" if p.prior is None else f"{number(p.prior[0])} +- {number(p.prior[1], 2)}"
            between = interval(p.low, p.high)
            rows.append((name, number(p.value), number(p.error, 2), between, p.unit, stated, p.told_by))
        header = ("parameter", "value", "error", "95 % interval", "unit", "stated before", "told by")
        text = table(rows, header, drop=("stated before", "told by"))
        if "told by" not in text:  # there was no room for the column
            by = [p.path for p in self.parameters.values() if p.told_by == "prior"]
            text += f"\n\nLeft where they were stated: {', '.join(by)}." if by else ""
        notes = "".join(f"\n  - {f.code}: {f.text}\n    {f.remedy}" for f in self.findings)
        head = f"Friction {self.friction}. {self._errors_in_words()}\n\n{text}"
        return head + (f"\n\nFindings:{notes}" if notes else "")

    def _errors_in_words(self) -> str:
        unit = "mrad" if self.actuator.motion == "rotary" else "mm"
        logs = f"{len(self.training)} log{'s' * (len(self.training) != 1)}"
        errors = f"Mean absolute error {1e3 * self.training_mae:.3g} {unit} on {logs}"
        if self.held_out_mae is not None:
            errors += f", {1e3 * self.held_out_mae:.3g} {unit} on {len(self.held_out)} held out"
        n = len(self.starts)
        errors += (
            f"; noise floor {1e3 * self.noise_floor:.3g} {unit}. {n} start{'s' if n != 1 else ''},"
            f" {self.cpu_s:.2g} s of CPU."
        )
        if self.read_from_held_out:
            errors += f" Read from the held-out logs themselves: {'; '.join(self.read_from_held_out)}."
        moved = [one for one in self.bench if abs(one.pull) > 1.0 and one.path.startswith("bench.")]
        if moved:
            errors += f"\nThe bench as found: {'; '.join(str(one) for one in moved[:6])}."
        return errors

    def write(self, path: Path | str, *, force: bool = False) -> Path:
        """Store as versioned JSON; an existing file is kept unless `force`."""
        return store.write(self, path, force=force)

    @staticmethod
    def read(path: Path | str) -> Fit:
        """The fit that `write` stored."""
        return store.read(path, Fit)

    def check_read(self) -> None:
        n = len(self.parameters)
        if self.correlation.shape != (n, n):
            raise ValueError(
                f"correlation has the shape {self.correlation.shape}; expected a row and a column for each of"
                f" {n} parameters"
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fit) and self.to_dict() == other.to_dict()

    # how Python says that fits, being compared by content, have no hash
    __hash__ = None  # type: ignore[assignment]  # arrays have no hash


@dataclass(frozen=True, kw_only=True)
class FittedParameter(store.Noun, stored_as="Fitted"):
    """One fitted parameter."""

    path: str
    value: float
    error: float
    """Standard error, by how much the recordings disagree with each other."""
    low: float
    high: float
    """95 % interval that goes with it."""
    unit: str
    start: float
    prior: tuple[float, float] | None = None
    """(value, error) stated before the fit, or None."""
    told_by: str = "data"
    """'data', 'prior' where the data leaves it open, or 'both'."""
    error_if_right: float | None = None
    """Standard error if the model is right, so that only noise and the bench's tolerances count."""
    low_if_right: float | None = None
    high_if_right: float | None = None
    knee: float = 0.0
    """Size below which its error is even on the plain scale, for numbers that may vanish; 0: on the scale of
    the logarithm."""


@dataclass(frozen=True, kw_only=True)
class BenchNumber(store.Noun):
    """A number of the bench or of the recording that the fit found along, and whose it is."""

    path: str
    group: str
    """What the logs that share it have in common, in words; empty where it is common to all."""
    stated: float
    tolerance: float
    value: float
    error: float
    unit: str
    logs: tuple[str, ...]

    @property
    def pull(self) -> float:
        """How many tolerances the data move it."""
        return (self.value - self.stated) / self.tolerance

    def __str__(self) -> str:
        name = self.path.partition(".")[2].replace("_", " ")
        whose = f" ({self.group})" if self.group else ""
        stated = f"stated {number(self.stated)} +- {number(self.tolerance, 2)}"
        return f"{name}{whose} {number(self.value)} +- {number(self.error, 2)} {self.unit}, {stated}"


@dataclass(frozen=True, kw_only=True)
class Start(store.Noun):
    """Where one start ended."""

    cost: float
    mae: float
    """Mean absolute error of position on the training logs."""
    ended: str
    n_evaluations: int
    parameters: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class FittedLog(store.Noun):
    """What a fit remembers of a log: enough to find the file again and to say what it was."""

    name: str
    source: str
    """The file it was read from, from the root on: the next command may run elsewhere; empty where it came
    from arrays."""
    bench: Bench | None
    settings: Mapping[str, float]
    duration: float
    """[s]"""
    rate: float | None
    """Samples per second."""
    n_samples: int
    commands: Mapping[str, str] = field(default_factory=dict)
    """What was asked as a function of time, by signal, in the words of `be.signal.read`."""
    told: tuple[str, ...] = ()
    """How its channels were said to be read: position=motor_pos[deg],-1."""
    mark: str = ""
    """Of its samples; empty in fits stored before this was kept."""
    demands: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By joint, the torque, speed and gain that it asks for, where it was fitted and bands were wanted."""

    @staticmethod
    def of(log: Log) -> FittedLog:
        """What to remember of a log."""
        first = next(iter(log.joints.values()), log)
        rate = first.signals[first.clock].rate
        return FittedLog(
            name=log.name,
            source=os.path.abspath(log.source) if log.source else "",
            bench=log.bench,
            settings=dict(log.settings),
            duration=float(log.time[-1] - log.time[0]),
            rate=rate if math.isfinite(rate) else None,
            n_samples=len(log),
            commands={name: str(command) for name, command in log.commands.items()},
            told=log.told,
            mark=mark_of(log),
        )


@dataclass(frozen=True, kw_only=True)
class LadderRung(store.Noun, stored_as="Tried"):
    """One friction model of the ladder that this fit was chosen from."""

    friction: str
    n_parameters: int | None
    training_mae: float | None
    held_out_mae: float | None
    standard_error: float
    """Of the held-out error."""
    chosen: bool
    reason: str = ""
    """Why there is no fit."""
    parameters: Mapping[str, float] = field(default_factory=dict)
    """What it found, by name; empty in fits stored before this was kept."""
    held_out_rms: float | None = None
    """Of a robot, all joints together, in place of the mean absolute error."""

    @property
    def held_out(self) -> float | None:
        """What it was judged by: of a robot an RMS, of a bench a mean absolute error [rad or m]."""
        return self.held_out_mae if self.held_out_rms is None else self.held_out_rms


@dataclass(frozen=True, kw_only=True)
class Score(store.Noun):
    """How far all joints of a robot, simulated together, are from recordings."""

    rms: float
    """Root mean square over joints and samples [rad]."""
    rms_free: float
    """The same without the samples in which the robot touches something."""
    held_out: bool
    """Whether no number was fitted to these recordings."""
    joints: Mapping[str, float]
    """Root mean square by joint."""
    logs: Mapping[str, float]
    """By recording."""
    joints_free: Mapping[str, float] = field(default_factory=dict)
    joints_held: Mapping[str, float] = field(default_factory=dict)
    """By joint, while its command stands still and others move: without contact, and where that ever is."""
    share_touched: float = 0.0
    """Share of the samples in which the robot touches something."""
    stretch: float = 0.0
    """Of joints that are driven by torque: every so many seconds they were put where they were recorded; 0
    where the simulation ran through."""
    force: Mapping[str, float] = field(default_factory=dict)
    """Of joints driven by torque: the share of the recorded torque that inverse dynamics leaves."""


@dataclass(frozen=True, kw_only=True)
class PredictedMotion:
    """A recording of n joints and what the fit makes of it; the one joint of a bench is called ""."""

    log: Log
    """A bench's with its numbers as the fit found them."""
    role: str
    """'training', 'held out' or 'not in the fit'."""
    joints: tuple[str, ...]
    """Those that were fitted."""
    time: np.ndarray = field(repr=False)
    """[s]"""
    positions: Mapping[str, np.ndarray] = field(repr=False)
    """By joint, those of a robot that were not fitted as they were recorded [rad or m]."""
    recorded: Mapping[str, np.ndarray] = field(repr=False)
    """By joint; NaN where nothing was."""
    asked: Mapping[str, np.ndarray] = field(repr=False)
    """By fitted joint, the position that was asked for, where one was."""
    touched: np.ndarray = field(repr=False)
    """Samples in which the robot touches something."""
    fit: Any = field(repr=False, compare=False)
    recording: Any = field(default=None, repr=False, compare=False)
    """Of a robot, for `identify.predict`: its motion, what joints carry along it, how near it comes to the
    ground."""
    mounting: tuple[float, float] | None = None
    """Where the arm hangs of a mounting that was never fitted, and the standard deviation of that [rad]."""
    stretch: float = 0.0
    """Every so many seconds joints that are driven by torque are put where they were recorded; 0: never."""
    findings: tuple[Finding, ...] = ()

    @functools.cached_property
    def band(self) -> PredictionBand:
        """Where 95 % of the samples are to be expected; simulated when it is first asked for. Raises
        `NotAvailable`, with the reason, where the fit has none to give."""
        return SERVICES.predictions.band_of(self)

    @property
    def low(self) -> Mapping[str, np.ndarray]:
        """By joint, the lower end of the band [rad or m]."""
        return self.band.low

    @property
    def high(self) -> Mapping[str, np.ndarray]:
        """By joint, the upper end of the band [rad or m]."""
        return self.band.high

    @property
    def has_band(self) -> bool:
        """Whether the fit never saw it, and can say how far off it is to be expected."""
        return self.role != "training" and self.fit.variation is not None

    def inside(self, positions: Mapping[str, np.ndarray] | None = None) -> float:
        """Share of the samples that lie in the band, those in which a robot touches something apart; NaN
        where there are none.

        Args:
            positions: by joint [rad or m]; without it those recorded.
        """
        said = self.recorded if positions is None else positions
        kept = {j: np.isfinite(said[j]) & ~self.touched for j in self.joints}
        each = [(self.low[j] <= said[j])[kept[j]] & (said[j] <= self.high[j])[kept[j]] for j in self.joints]
        found = np.concatenate(each)
        return float(np.mean(found)) if len(found) else math.nan

    @property
    def expected(self) -> ExpectedError:
        """How far off it is to be expected [rad or m]."""
        return error_of_band(self.band, self.fit.variation, self.joints)

    def mean_absolute(self) -> float:
        """Mean over the joints of their mean absolute errors, samples in touch apart [rad or m]; NaN where
        nothing was recorded."""
        off = {j: np.abs(self.positions[j] - self.recorded[j])[~self.touched] for j in self.joints}
        means = [float(np.nanmean(each)) for each in off.values() if np.isfinite(each).any()]
        return float(np.mean(means)) if means else math.nan

    def array(self, which: str = "positions") -> np.ndarray:
        """'positions' or 'recorded' of all joints, (samples, joints), as the robot has them."""
        return np.stack(list(getattr(self, which).values()), axis=1)

    def rms(self, positions: Mapping[str, np.ndarray] | None = None, *, free: bool = False) -> float | None:
        """Root mean square error over the fitted joints [rad or m]; None where no sample is left.

        Args:
            positions: by joint, those of another model on the same clock; without it the fit's.
            free: without the samples in which the robot touches something.
        """
        said = self.positions if positions is None else positions
        kept = ~self.touched if free else np.ones(len(self.time), bool)
        error = np.stack([(said[j] - self.recorded[j])[kept] for j in self.joints], axis=1)
        return float(np.sqrt(np.nanmean(error**2))) if len(error) else None
