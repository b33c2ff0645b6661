"""A target in rows, one for each number that it holds or lacks; what it writes, what it loses, its page of
the documentation and what is read back all follow from them.

    carry   a number of the actuator's law, or of the actuator, that the target has;
    header  what only a line of the file's header says;
    absorb  what the target lacks and its other numbers make up for;
    drop    what the target lacks and nothing makes up for.

A row that the actuator has nothing of costs nothing: `spec.losses` asks each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..errors import InvalidValue
from ..findings import Finding
from ..physics.actuator import Actuator
from ..physics.joint_law import JointLaw
from ..physics.maths import is_number
from ..physics.motor import Limits
from .result import Account, Export, Request, complete, header as header_lines, number
from .template import fill

Present = Callable[[Actuator], object]
"""Whether an actuator has something; anything that counts as true is yes."""
Text = str | Callable[[Actuator], str]
"""What became of a number, perhaps with the actuator's own numbers."""


NO_PLAY: dict[str, Any] = {"backlash": None, "contact_stiffness": None, "contact_damping": 0.0}
"""The change that takes a gearbox's play away."""

LOOKS = "the law looks at every step, and at the velocity itself"
"""What becomes of a drive's period where a simulator evaluates its law at every step."""
NO_PUSH = "D does not see the setpoint move: the push of a moving setpoint is lost"
"""What becomes of a D on the error where a target has D on the motion, or none."""


class Loss(NamedTuple):
    """An effect that is not carried as it is."""

    path: str
    text: str
    kept: bool
    """Approximated by other numbers, rather than dropped."""
    touches: str = ""
    """Which numbers may make up for it: 'motor', 'friction' or both words."""
    without: Callable[[Actuator], Actuator] | None = None
    """The same actuator without it, where its cost can be known so."""
    measured: bool = True
    """Whether the stand-in has it, so that its error can be measured without the simulator itself."""


Value = Callable[[Any, Actuator], float | None]
"""Of a target's law and the actuator that it came from."""
Lose = Callable[[Actuator, Request], Iterable[Loss]]
"""What of an actuator is lost under a request."""
Reduce = Callable[[Actuator, Actuator, Request], Actuator]
"""(so far, as it was given, request) -> without what the target lacks."""


def lose_nothing(actuator: Actuator, request: Request) -> Iterable[Loss]:
    """Of a number that is carried as it is."""
    return ()


class Row(NamedTuple):
    """One number, or one thing that a target lacks."""

    ours: str
    """Paths of an actuator or numbers of its law, one after the other: "motor.limits.torque, current"."""
    theirs: str
    """Its place in the target; "-" where there is none."""
    remarks: str
    """Unit, side of the gear, or what becomes of it; for the documentation."""
    lose: Lose = lose_nothing
    name: str = ""
    """Of the number in an export and in its template."""
    value: Value | None = None
    """Of the law and the actuator; None where they have no such number."""
    reduce: Reduce | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that the row names, in full."""
        part, paths = "", []
        for word in self.ours.split(", "):
            part = word.partition(".")[0] if word.partition(".")[0] in PARTS else part
            paths.append(word if word.partition(".")[0] in PARTS else f"{part}.{word}")
        return tuple(paths)


PARTS = ("motor", "gearbox", "friction", "drive", "law")


def value_at(actuator: Actuator, path: str) -> Any:
    """What stands at a path of an actuator; None where nothing does."""
    found: Any = actuator
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


def _present(row_paths: Iterable[str]) -> Present:
    return lambda actuator: any(value_at(actuator, path) for path in row_paths)


def carry(ours: str, theirs: str, remarks: str = "", *, name: str = "", value: Value | None = None) -> Row:
    """A number that the target has.

    Args:
        ours: "law.stiffness", or a path of the actuator; several where `value` is given.
        theirs: its place in the target; the last word is the number's name, unless `name` is given.
        remarks: unit and side of the gear.
        name: in the export's numbers.
        value: of the law and the actuator, where that is not what stands at the path.

    Returns:
        The row.
    """
    last = re.split(r"[ /@.]+", theirs)[-1]
    return Row(ours, theirs, remarks, name=name or last, value=value or _value_of(ours.partition(", ")[0]))


def _value_of(ours: str) -> Value:
    """The law's number of that name, or what stands at a path of the actuator."""
    part, _, name = ours.partition(".")
    if part == "law":
        return lambda law, actuator: getattr(law, name)
    return lambda law, actuator: value_at(actuator, ours)


def header(ours: str, theirs: str, remarks: str, *, value: Value | None = None) -> Row:
    """A number that only a line of the file's header says.

    Args:
        ours: "law.stiffness", or a path of the actuator; several where `value` is given.
        theirs: the header's line, with the number's name as its last word.
        remarks: unit and side of the gear.
        value: of the law and the actuator, where that is not what stands at the path.

    Returns:
        The row.
    """
    return carry(ours, theirs, remarks, value=value)


def whole_rows(*rows: tuple[str, str, str]) -> tuple[Row, ...]:
    """Rows of a target that carries the whole actuator: ours, theirs, remarks."""
    return tuple(Row(*row) for row in rows)


def _say(words: Text, actuator: Actuator) -> str:
    return words(actuator) if callable(words) else words


def absorb(
    ours: str,
    text: Text,
    *,
    when: Present | None = None,
    path: Text = "",
    remarks: str = "",
    touches: str = "",
    reduce: Reduce | None = None,
) -> Row:
    """What the target lacks and other numbers make up for.

    Args:
        ours: the paths.
        text: what becomes of it.
        when: whether an actuator has it; a path with a number other than 0, unless given.
        path: under which its cost is listed, unless as `ours`.
        remarks: for the documentation, unless the text.
        touches: which numbers may make up for it: 'motor', 'friction' or both words.
        reduce: what stands in its place in the reduced actuator.

    Returns:
        The row.
    """
    row = Row(ours, "-", f"absorbed: {remarks or text}")
    there = when or _present(row.paths)

    def lose(actuator: Actuator, request: Request) -> Iterator[Loss]:
        if there(actuator):
            yield Loss(_say(path or ours, actuator), _say(text, actuator), True, touches)

    return row._replace(lose=lose, reduce=reduce)


def drop(
    ours: str,
    text: Text,
    *,
    when: Present | None = None,
    path: Text = "",
    remarks: str = "",
    without: Callable[[Actuator], Actuator] | None = None,
    measured: bool = True,
    **changes: Any,
) -> Row:
    """What the target lacks and nothing makes up for.

    Args:
        ours: the paths.
        text: what becomes of it.
        when: whether an actuator has it; a path with a number other than 0, unless given.
        path: under which its cost is listed, unless as `ours`.
        remarks: for the documentation, unless the text.
        without: the same actuator without it.
        measured: whether its cost can be known so.
        changes: of the part, instead of `without`: a value, or a function of the part's own; the number of
            the path becomes None unless something else is given.

    Returns:
        The row.
    """
    row = Row(ours, "-", f"dropped: {remarks or text}")
    there, part = when or _present(row.paths), row.paths[0].partition(".")[0]
    change = changes or {name.rpartition(".")[2]: None for name in row.paths}

    def lacking_it(actuator: Actuator) -> Callable[[Actuator], Actuator]:
        if without is not None:
            return without
        own = getattr(actuator, part)
        return lacking(
            part, **{name: v(getattr(own, name)) if callable(v) else v for name, v in change.items()}
        )

    def lose(actuator: Actuator, request: Request) -> Iterator[Loss]:
        if there(actuator):
            gone = lacking_it(actuator) if measured else None
            yield Loss(_say(path or ours, actuator), _say(text, actuator), False, without=gone)

    def reduce(now: Actuator, given: Actuator, request: Request) -> Actuator:
        return lacking_it(given)(now) if there(given) else now

    return row._replace(lose=lose, reduce=reduce)


def present_at(path: str) -> Present:
    """Whether something stands at a path, be it 0."""
    return lambda actuator: value_at(actuator, path) is not None


def rows_without(rows: Iterable[Row], *paths: str) -> tuple[Row, ...]:
    """Those rows whose first path is none of these."""
    return tuple(row for row in rows if row.paths[0] not in paths)


def lacking(part: str, **changes: Any) -> Callable[[Actuator], Actuator]:
    """The same actuator with one part changed."""
    return lambda actuator: replace(actuator, **{part: replace(getattr(actuator, part), **changes)})


def without_heat(limits: Limits | None) -> Limits | None:
    """Limits that do not know a temperature."""
    gone = dict.fromkeys(("safe_current", "derating_start", "derating_end"))
    return None if limits is None else replace(limits, **gone)


def for_ever(limits: Limits) -> Limits:
    """Limits that let the peak current flow without end, at any temperature."""
    most = min(limits.peak_current or math.inf, limits.current or math.inf)
    return Limits(torque=limits.torque, current_rate=limits.current_rate, current=most)


def check_direction(actuator: Actuator) -> None:
    """Refuse a command that turns the output backwards, where the target has no sign for that."""
    drive, N = actuator.drive, actuator.gearbox.ratio
    if N < 0 and drive.followed and drive.loop is None:
        raise InvalidValue(
            f"gearbox.ratio is {N:g} with {drive.kind}; expected a positive ratio: turn the joint's axis"
            " round instead"
        )


def reduce_by(rows: Iterable[Row], actuator: Actuator, request: Request) -> tuple[Actuator, list[Loss]]:
    """Take away what rows say that a target lacks.

    Args:
        rows: of the target.
        actuator: the whole one.
        request: whose load, amplitude and time step decide what some rows lose.

    Returns:
        (the actuator without it, what was lost).
    """
    rows, now = tuple(rows), actuator
    for row in rows:
        now = now if row.reduce is None else row.reduce(now, actuator, request)
    return now, [loss for row in rows for loss in row.lose(actuator, request)]


class TargetLaw(NamedTuple):
    """A target's law of an actuator, what that moves like, and what was lost."""

    law: Any
    carried: Actuator
    costs: Account
    findings: tuple[Finding, ...] = ()
    numbers: Mapping[str, float] | None = None
    """The file's, where the law knows them by its own names; None: those of the rows."""


class Filling(NamedTuple):
    """What a file says besides its numbers."""

    fields: Mapping[str, str] = {}
    """Of its template."""
    lines: Sequence[str] = ()
    """At the end of its header."""
    ctrl: Mapping[str, float] | None = None
    """Factor from each of the drive's targets to the file's inputs; None: 1."""
    template: str = ""
    units: str = ""
    """Both instead of the spec's."""
    files: Mapping[str, str] | None = None
    """Instead of a filled template."""
    beside: Mapping[str, str] = {}
    """Files that belong to the filled template."""
    notes: Sequence[str] = ()
    """Where the export's numbers came from, besides the request's."""


@dataclass(frozen=True, kw_only=True)
class TargetSpec:
    """What a target holds of an actuator, how its file is written, and how it is run."""

    label: str
    """The target's own name, for messages."""
    units: str
    """Of the file's numbers, with the side of the gear, as its header says them."""
    rows: tuple[Row, ...]
    file: str
    """Name of the file, with {joint} in it."""
    template: str
    comment: Callable[[Sequence[str]], str]
    """Lines as a comment of its language."""
    settle: Callable[[TargetSpec, Actuator, Request], TargetLaw]
    place: Callable[[TargetLaw, Mapping[str, float], Actuator, Request], Filling]
    """The rest of the file, from what was settled and its numbers."""
    check: Callable[[Actuator], object] = lambda actuator: None
    """Refuses an actuator that the target has no place for."""
    signed: tuple[str, ...] = ()
    """Numbers that may be negative."""
    versions: Mapping[str, TargetSpec] = field(default_factory=dict)
    """Versions of the target that differ from it."""
    inert: Mapping[str, str] = field(default_factory=dict)
    """Numbers of the file that a run does not feel, and why."""
    run: Any = None
    """(files, joint, case) -> positions [rad or m] at the case's moments; None where nothing here runs it."""
    why_not_run: str = ""
    simulator: Callable[[], str] | None = None
    """Name and version of what runs its files here."""
    adjustment: Callable[[Export, Mapping[str, float]], Any] | None = None
    """What other settings of the drive change in the file's numbers."""
    check_version: Callable[[str], None] | None = None
    timestep_of: Callable[[Mapping[str, str]], float] | None = None
    our_step: Callable[..., Any] | None = None

    def write(self, actuator: Actuator, request: Request) -> Export:
        """The file of a target.

        Raises:
            BackemfError: the target has no place for this actuator, or a number would be negative or not
                finite.
        """
        spec = self.versions.get(request.version, self)
        spec.check(actuator)
        settled = spec.settle(spec, actuator, request)
        numbers = spec.numbers(settled.law, actuator) if settled.numbers is None else settled.numbers
        filling = spec.place(settled, numbers, actuator, request)
        files = filling.files
        if files is None:
            top = header_lines(request, filling.units or spec.units, settled.costs, settled.findings)
            words = {
                "joint": request.joint,
                "header": spec.comment([*top, *filling.lines]).rstrip("\n"),
                **{name: number(value) for name, value in numbers.items()},
                **filling.fields,
            }
            text = fill(filling.template or spec.template, **words)
            files = {spec.file.format(joint=request.joint): text, **filling.beside}
        return complete(
            request,
            actuator,
            settled.costs,
            files=files,
            carried=settled.carried,
            numbers=numbers,
            ctrl=filling.ctrl,
            findings=settled.findings,
            notes=filling.notes,
        )

    def losses(self, actuator: Actuator, request: Request) -> list[Loss]:
        """What is lost of an actuator, row by row."""
        return [loss for row in self.rows for loss in row.lose(actuator, request)]

    def numbers(self, law: Any, actuator: Actuator) -> dict[str, float]:
        """The file's numbers by their own names; what is not there is left out.

        Raises:
            InvalidValue: a number is negative or not finite, which must never be written.
        """
        found: dict[str, Any] = {}
        for row in self.rows:
            if row.value is not None:
                own = isinstance(law, Mapping)
                found[row.name] = law.get(row.name) if own else row.value(law, actuator)
        numbers = {name: value for name, value in found.items() if is_number(value)}
        self.check_numbers(numbers)
        return numbers

    def check_numbers(self, numbers: Mapping[str, float]) -> None:
        """Refuse what must never be written: a number that is negative or not finite."""
        for name, value in numbers.items():
            if not 0.0 <= (abs(value) if name in self.signed else value) < math.inf:
                raise InvalidValue(
                    f"{name} for the joint is {value!r}; expected a finite number of 0 or more"
                )

    def read_law(self, numbers: Mapping[str, float]) -> JointLaw:
        """The law behind a file's numbers: what `carry` and `header` wrote, read back."""
        own = {row.paths[0].removeprefix("law."): row.name for row in self.rows if row.value is not None}
        known = {field_: numbers[name] for field_, name in own.items() if name in numbers}
        return JointLaw(**{name: value for name, value in known.items() if name in JointLaw._fields})


def _sees_behind_play(actuator: Actuator) -> bool:
    """Whether the controller sees the output behind the gears' play."""
    drive = actuator.drive
    return actuator.gearbox.backlash is not None and drive.loop is not None and drive.sensor != "rotor"


_SENSOR = drop(
    "drive.sensor", "the controller sees the gear before its play", when=_sees_behind_play, sensor="rotor"
)
SENSOR_AT_GEAR = _SENSOR._replace(
    lose=lambda actuator, request: _SENSOR.lose(actuator, request) if request.backlash else (),
    reduce=lambda now, given, request: (
        lacking("drive", sensor="rotor")(now) if request.backlash and _sees_behind_play(given) else now
    ),
)
"""Where the play is a joint of its own, the target's controller sees the other."""
AT_ONCE = "the torque follows at once"
FOR_EVER = "the peak current may flow for ever"


def _friction_beyond_coulomb(actuator: Actuator) -> list[str]:
    """Paths of what one dry friction and one damping do not have."""
    same = {f"friction.{name}" for name in ("viscous", "coulomb", "asymmetry", "offset")}
    own = actuator.parameters.items()
    return [path for path, value in own if path.startswith("friction.") and value and path not in same]


LAW_MOTOR = (
    absorb("motor.inductance", AT_ONCE),
    absorb("motor.saturation_current", "the torque constant does not fall with current"),
    drop(
        "motor.thermal, limits.safe_current, limits.derating_start, limits.derating_end",
        "nothing warms",
        when=lambda a: a.motor.thermal,
        path="motor.thermal",
        thermal=None,
        limits=without_heat,
    ),
    drop("motor.cogging", "no cogging"),
    absorb(
        "motor.limits.current, limits.torque, limits.continuous_current",
        "a limit before damping, so that back-EMF acts beyond it",
        when=lambda a: a.motor.limits and (a.motor.limits.current or a.motor.limits.torque),
        path="motor.limits",
    ),
    absorb("motor.limits.current_rate", AT_ONCE),
    drop(
        "motor.limits.peak_current, limits.peak_time",
        FOR_EVER,
        when=lambda a: a.motor.limits and a.motor.limits.peak_current is not None,
        path="motor.limits.peak_time",
        limits=for_ever,
    ),
)
"""What a law at the joint lacks of a motor."""
LAW_LOSS = absorb(
    "gearbox.efficiency",
    "the loss is spread over all numbers, the same in both directions",
    when=lambda a: (a.gearbox.efficiency or 1.0) < 1,
)
LAW_PLAY = drop(
    "gearbox.backlash, contact_stiffness, contact_damping", "no play", path="gearbox.backlash", **NO_PLAY
)
LAW_FRICTION = (
    absorb(
        "friction",
        lambda a: f"{a.friction.kind} became one friction and one damping",
        when=_friction_beyond_coulomb,
        path=lambda a: ", ".join(_friction_beyond_coulomb(a)),
        remarks="every other friction became one friction and one damping",
    ),
    drop("friction.asymmetry", "the same friction in both directions"),
    drop("friction.offset", "no constant torque"),
)
NO_PUSH_ROW = drop("drive.derivative_filter", NO_PUSH, when=lambda a: a.drive.without_push)
"""A D on the error pushes where the setpoint moves; a D on the motion does not."""
NO_INTEGRAL_ROW = drop(
    "drive.volts_per_radian_second, newton_metres_per_radian_second, integral, firmware_integral_gain,"
    " integral_limit, freeze_when_saturated",
    "no integral",
    when=lambda a: a.drive.has_integral,
    path="drive integral",
    without=lambda a: replace(a, drive=replace(a.drive, **a.drive.without_integral)),
)
PERIOD_ROW = drop(
    "drive.period, n_velocity_periods", LOOKS, when=lambda a: a.drive.period, path="drive.period", period=None
)
CURRENT_LOOP = Row(
    "drive.bandwidth, through", "-", "not weighed: the torque of a current loop follows at once"
)
SEES_JOINT = Row("drive.sensor", "-", "not weighed: the law sees the joint")
UNLIMITED = Row("drive.command_low, command_high", "-", "not weighed: limit the command before sending it")
"""What costs nothing where a user takes care of it."""
FIRMWARE_ROWS = (
    drop("drive.acceleration", "the setpoint speeds up at once"),
    drop("drive.deadband", "every error counts"),
    drop("drive.punch", "no start-up duty"),
    drop("drive.count", "positions are not rounded"),
    drop("drive.duty_step", "the duty is not rounded"),
)
"""What firmware does between the samples and no law of a simulator does."""
LAW_DRIVE = (
    drop("drive.slew", "the setpoint jumps"),
    drop("drive.delay", "no delay"),
    PERIOD_ROW,
    NO_INTEGRAL_ROW,
    *FIRMWARE_ROWS,
    NO_PUSH_ROW,
    absorb(
        "drive.supply",
        "the torque limit does not fall with speed",
        when=lambda a: a.drive.hides_back_emf and a.drive.ceiling({}) is not None,
    ),
    CURRENT_LOOP,
)
"""What a law that is evaluated at every step lacks of a drive."""
ONE_INPUT = drop(
    "drive.targets",
    "one input only",
    when=lambda a: a.drive.targets[1:],
    path=lambda a: ", ".join(f"drive.{name}" for name in a.drive.targets[1:]),
    measured=False,
)
