"""What the training files for torch and for Warp have in common: the numbers at their top, with where they
came from, what is drawn from them, and where states begin."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...engine.hosted_system import LONG_DELAY, HostedSystem, hosted_system
from ...engine.rows import DELAY
from ...errors import InvalidValue
from ...findings import Finding
from ...physics.actuator import Actuator
from ...physics.quantity import quantities
from ...results.spread import Spread, check_paths
from ..reference_motions import SimulationCase, check_enabled
from ..result import UNITS, Export, Request, complete, hash_comment, header
from ..template import fill

if TYPE_CHECKING:
    from ...engine.compile.lower import LoweredHosted

FLOOR = 0.05
"""Share of its value that a parameter keeps which must stay above a bound:
a winding with no resistance is no winding."""
LOOSE = 0.5
"""Relative error from which on draws pile up at the edge of the range."""

SAME: tuple[tuple[str, str, str], ...] = (
    (
        "drive.period",
        "states held_effort, until_sample, travel_...",
        "looks once a step where that is longer",
    ),
    ("drive.derivative_filter", "state lagged_setpoint", "starts at the first target"),
    (
        "a fit's errors and correlation",
        "PARAMETER_ERROR, CHOLESKY",
        "`randomise=('parameter_error',)`: one draw an environment",
    ),
    (
        "spread from unit to unit",
        "UNIT_SPREAD",
        "`randomise=('unit_spread',)`: one draw a joint; an assumption unless stated",
    ),
    (
        "a fit's bands",
        "BANDS, SLOW",
        "`randomise=('bands',)`: one whole draw an environment, and a slow error of the position target",
    ),
    (
        "a fit's held-out error",
        "HELD_OUT",
        "`randomise=('held_out',)`: a constant error of the position target, one draw a joint",
    ),
)
"""Rows of both files' tables for the documentation."""


class TrainingFile(NamedTuple):
    """What a training file is made of."""

    actuator: Actuator
    request: Request
    system: HostedSystem
    lowered: LoweredHosted
    spread: Spread
    """What it draws from."""

    @classmethod
    def of(cls, actuator: Actuator, request: Request) -> TrainingFile:
        """Of an actuator, with the engine's step traced.

        Raises:
            UnknownName: the request's spread has a parameter that the actuator has not.
        """
        from ...engine.compile.compiler import lowered_hosted

        system, spread = hosted_system(actuator), Spread() if request.spread is None else request.spread
        check_paths(actuator, [*spread.errors, *spread.draws])
        if request.draws and not spread.draws:
            raise InvalidValue(
                f"draws is {request.draws!r}, and nothing says how recordings differ; expected a fit that has"
                " bands (fit again where it is older), or no draws"
            )
        return cls(actuator, request, system, lowered_hosted(system), spread)

    @property
    def targets(self) -> tuple[str, ...]:
        """What the drive may be asked for."""
        return self.system.inputs[2:]

    @property
    def what(self) -> str:
        """The actuator in words."""
        return f"a {self.actuator.drive.kind} with {self.actuator.friction.kind} friction"

    @property
    def has_offset(self) -> bool:
        """Whether a constant error of the position target may be drawn."""
        return bool(self.spread.held_out or self.spread.slow) and _follows_position(self.actuator)

    def host_words(self) -> dict[str, Any]:
        """What the templates of all simulators' own classes say: names, and the inertia to add [kg m^2]."""
        armature = float(self.system.armature(list(self.system.parameters.values())))
        return {"name": class_name(self.request.joint), "armature": armature, "randomise": self.randomise}

    @property
    def randomise(self) -> str:
        """What is drawn unless told otherwise, as the file spells it."""
        return repr((self.request.draws,)).replace("'", '"') if self.request.draws else "()"

    def check_targets(self, theirs: Iterable[str], plain: str) -> None:
        """Refuse a drive that follows what a simulator has no place for.

        Args:
            theirs: targets that the simulator has a place for.
            plain: the export that needs no place.

        Raises:
            InvalidValue: it has none for this drive's.
        """
        known = tuple(theirs)
        if not self.targets or any(name not in known for name in self.targets):
            raise InvalidValue(
                f"{self.request.version} asks for positions, velocities and efforts;"
                f" {self.actuator.drive.kind} follows {', '.join(self.targets) or 'nothing'}: export with"
                f" {plain}, and call `compute` yourself"
            )

    def export(self, kind: str, usage: str, imports: str, body: str) -> Export:
        """The file: its header, imports, numbers and code.

        Args:
            kind: the last word of the file's name.
            usage: a sentence at the end of the header.
            imports: between header and numbers.
            body: behind the numbers.

        Returns:
            The export; nothing is lost.
        """
        found = _findings(self.actuator, {} if self.request.draws else self.spread.errors)
        top = hash_comment([*header(self.request, UNITS, findings=found), usage])
        files = {f"{self.request.joint}_{kind}.py": top + imports + _tables(self, kind) + body}
        return complete(self.request, self.actuator, files=files, findings=found)


def _findings(actuator: Actuator, errors: Mapping[str, float]) -> list[Finding]:
    """What stands against drawing from errors, and against the actuator itself."""
    findings, values = [], actuator.parameters
    if actuator.motor.rotor_inertia == 0:
        text = "motor.rotor_inertia is 0, so the joint's own inertia is all there is."
        remedy = "give motor.rotor_inertia, or an inertia above 0 for every joint"
        findings.append(Finding(code="no_rotor_inertia", text=text, remedy=remedy))
    shares = {path: error / abs(values[path]) for path, error in errors.items() if values[path]}
    loose = {path: share for path, share in shares.items() if share > LOOSE}
    if loose:
        text = (
            f"{', '.join(f'{path} to {share:.0%}' for path, share in loose.items())}: so loosely known that"
            " draws pile up at the edge of the range."
        )
        remedy = "record what tells them, give the fit a prior, or leave them out of the errors"
        findings.append(Finding(code="loosely_known", text=text, remedy=remedy, numbers=loose))
    return findings


def _tables(file: TrainingFile, kind: str) -> str:
    """The tables at the top of the file, each with where it came from, and how they are drawn from."""
    states, lowered = file.system.states, file.lowered
    text = [
        f"ORDERED = {_ordered_pairs(file.actuator)!r}",
        (
            "# States, those that are sums of small changes, and those that begin where the joint is, as fast"
            " as it is, or at the first targets."
        ),
        f"STATES = {states!r}",
        f"SUMMED = {_set(name for name, sums in zip(states, lowered.summed, strict=True) if sums)}",
        f"FOLLOWS = {lowered.follows!r}",
        f"DELAY = {DELAY if lowered.lag else None!r}",
        f"JOINT_WORD = {zlib.crc32(file.request.joint.encode())}  # no two joints draw one slow error",
    ]
    long_delay = '\n    " expected'.join(f'"{LONG_DELAY}"'.split(" expected")).replace(";\n", ';"\n')
    drawn = (row for own in file.spread.joints.values() for row in own.draws.get(DELAY, ()))
    line = fill(
        "delay_line.py", long_delay=long_delay, targets=repr(file.targets), most=max(drawn, default=0.0)
    )
    own = {"whole": "jnp.uint32" if kind == "jax" else "int", "real": ".double()" if kind == "torch" else ""}
    return "\n".join(
        [
            "",
            *_numbers(file.actuator),
            *_draws(file.actuator, file.spread),
            *text,
            line,
            fill("bands_draw.py", **own),
        ]
    )


def _numbers(actuator: Actuator) -> list[str]:
    values = {f'"{path}"': repr(value) for path, value in actuator.parameters.items()}
    units = {f'"{path}"': actuator.unit(path) for path in actuator.parameters}
    ranges = {f'"{path}"': _range(f.metadata, value) for path, f, value in quantities(actuator)}
    return [
        "# The actuator's numbers, by path.",
        *_table("PARAMETERS", values, units),
        f"# What each may be when drawn; what must be above 0 keeps at least {FLOOR:.0%} of its value.",
        *_table("RANGES", {k: f"({_number(low)}, {_number(high)})" for k, (low, high) in ranges.items()}),
    ]


def _draws(actuator: Actuator, spread: Spread) -> list[str]:
    """What is drawn, and how far it may be off."""
    errors = {path: error for path, error in spread.errors.items() if error > 0}
    kept = Spread(errors=errors, correlation=_rows(spread, errors))
    by_position = _follows_position(actuator)
    held = spread.held_out * math.sqrt(0.5 * math.pi) if spread.held_out and by_position else None
    slow = spread.slow if by_position else None
    origin = "the fit's standard errors" if errors else "none was given"
    assumed = "an assumption of backemf, not a measurement: give your own"
    stated = assumed if spread.units is None else "stated with the export"
    units = {
        repr(paths).replace("'", '"'): _number(share) for paths, share in spread.units_of(actuator).items()
    }
    return [
        (
            f"# Standard errors, in each parameter's unit: {origin}. CHOLESKY times independent draws is"
            " their correlation."
        ),
        *_table("PARAMETER_ERROR", {f'"{path}"': _number(error) for path, error in errors.items()}),
        "CHOLESKY = [" + "".join(f"\n    {row!r}," for row in kept.cholesky()) + ("\n]" if errors else "]"),
        (
            f"# Relative spread from unit to unit, the standard deviation of the logarithm: {stated}. A row"
            " moves together."
        ),
        *_table("UNIT_SPREAD", units),
        (
            "# Standard deviation of a constant error of the position target [rad or m]: the fit's mean"
            " absolute held-out error"
        ),
        f"# times sqrt(pi / 2){'' if held else '; none was given'}.",
        f"HELD_OUT = {held!r}",
        "# Whole draws of a fit's bands, one number a draw in every row: what belongs together stays so.",
        *_table(
            "BANDS", {f'"{path}"': repr(band_row(actuator, path, v)) for path, v in spread.draws.items()}
        ),
        "# What goes with them: standard deviation of a slow error of the position [rad or m], and the time",
        f"# after which it is down to 1/e of itself [s]{'' if slow else '; none'}.",
        f"SLOW = {slow!r}",
    ]


Step = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Loads on all joints, and their targets (n, n_targets), become positions and velocities after a step."""


def move_together(cases: Sequence[SimulationCase], simulator: str, step: Step) -> list[np.ndarray]:
    """Several cases at once, each a joint of its own.

    Args:
        cases: With one time step and equal targets; shorter ones hold their last.
        simulator: Its name and version.
        step: Moves all joints by a step.

    Returns:
        Positions [rad or m] at each case's moments.

    Raises:
        NotAvailable: A recording was disabled.
    """
    check_enabled(cases, "a training file")
    lengths = [len(case.moments) for case in cases]
    q, w = (np.array([getattr(case, name) for case in cases]) for name in ("position", "velocity"))
    sent, positions = [case.mean_inputs for case in cases], np.empty((len(cases), max(lengths)))
    for k in range(max(lengths)):
        positions[:, k] = q
        rows = [min(k, n - 1) for n in lengths]
        moving = zip(cases, rows, q.tolist(), w.tolist(), strict=True)
        loads = np.array([case.load(row, x, v) for case, row, x, v in moving])
        q, w = step(loads, np.array([inputs[row] for inputs, row in zip(sent, rows, strict=True)]))
    ends = zip(cases, positions, lengths, strict=True)
    return [case.check(simulator, row[:n].copy()) for case, row, n in ends]


def _follows_position(actuator: Actuator) -> bool:
    return actuator.drive.error_of == "position"


def _range(meta: Any, value: float) -> tuple[float, float]:
    above, least = meta["above"], meta["least"]
    low, most = least if above is None else above + FLOOR * (value - above), meta["most"]
    return -math.inf if low is None else float(low), math.inf if most is None else float(most)


def _rows(spread: Spread, errors: dict[str, float]) -> list[list[float]] | None:
    """The correlation of the errors that are not 0."""
    if spread.correlation is None:
        return None
    at = [i for i, path in enumerate(spread.errors) if path in errors]
    return [[float(spread.correlation[i][j]) for j in at] for i in at]


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'float("{value}")'


def _table(name: str, rows: Mapping[str, str], remarks: Mapping[str, str] | None = None) -> list[str]:
    """A dictionary of Python, from its keys and values as texts."""
    if not rows:
        return [f"{name} = {{}}"]
    after = {k: f"  # {remarks[k]}" if remarks else "" for k in rows}
    return [f"{name} = {{", *(f"    {k}: {v},{after[k]}" for k, v in rows.items()), "}"]


def band_row(actuator: Actuator, path: str, values: Sequence[float]) -> tuple[float, ...]:
    """Drawn numbers of one path, none outside its range.

    Args:
        actuator: whose number it is.
        path: of the number.
        values: one of each draw, in its unit.

    Returns:
        The same, to seven digits.
    """
    ranges = {known: _range(f.metadata, value) for known, f, value in quantities(actuator)}
    low, high = ranges[path]
    return tuple(float(f"{min(max(value, low), high):.7g}") for value in values)


def _set(names: Iterable[str]) -> str:
    rows = [f'    "{name}",' for name in names]
    return "\n".join(["frozenset((", *rows, "))"]) if rows else "frozenset()"


def _ordered_pairs(actuator: Actuator) -> tuple[tuple[str | None, str], ...]:
    """(lower, higher): pairs that a draw must not swap."""
    known = actuator.parameters
    return tuple((actuator.over(path), path) for path in known if actuator.over(path) in known)


def class_name(joint: str) -> str:
    """A joint's name as the beginning of a class's: left_knee -> LeftKnee."""
    words = "".join(c if c.isalnum() else " " for c in joint).split()
    return "".join(word.capitalize() for word in words) or "Joint"
