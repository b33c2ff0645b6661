"""What one may ask of `fit`, `ladder` and `check`: keywords, words of the command line, forms and docs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import InvalidValue
from ..options import HIDDEN, Options, Scope, option, options, parse_file

if TYPE_CHECKING:
    from ..datasheets.datasheet import Datasheet

N_STARTS = 6
LADDER = "ladder"
"""In place of a friction's name: all of them, and the simplest that is as good as the best."""
ROBOT = Scope("robot", "robots: read them with bench=be.Robot.read(...)", "robots: give --robot FILE")
BENCH = Scope(
    "bench", "an actuator on a bench: read the logs of one joint", "an actuator on a bench: leave --robot out"
)


def law_names() -> list[str]:
    """Every friction law by the name of its table, and other names of it."""
    from ..physics.friction import FRICTIONS

    return [*FRICTIONS, *FRICTIONS.aliases]


def friction_names() -> list[str]:
    """The same, and the ladder."""
    return [*law_names(), LADDER]


def parse_paths(texts: list[str] | None) -> list[str] | None:
    """["a,b", "c"] -> ["a", "b", "c"]; nothing where nothing was given."""
    return [path.strip() for text in texts for path in text.split(",") if path.strip()] if texts else None


def parse_names(text: str | None) -> list[str] | None:
    """ "a,b" -> ["a", "b"]; nothing where nothing was given."""
    return parse_paths([text] if text else None)


def parse_hold_out(texts: list[str] | None) -> list[Any] | None:
    """["gain=8", "length=0.07"] or ["gain=8,length=0.07"] -> selections; each is held out."""
    parts = [part.strip() for text in texts or () for part in text.split(",")]
    return [_selection(part) for part in parts if part] or None


def _selection(text: str) -> str | dict[str, Any]:
    key, equals, value = text.partition("=")
    try:
        return {key: value if key == "name" else float(value)} if equals else text
    except ValueError:
        wanted = "expected a number behind the =, as in gain=8"
        raise InvalidValue(f"--hold-out is {text!r}; {wanted}") from None


def parse_share(text: str | None) -> float:
    """10% or 0.1 as a share; 0 where nothing was said."""
    if text is None:
        return 0.0
    try:
        share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        share = float("nan")
    if not 0.0 < share < 1.0:
        raise InvalidValue(f"--free-inertia is {text!r}; expected a share, as in 10%")
    return share


@options
class FitOptions(Options):
    """Keywords of `be.fit`."""

    situation: ClassVar[str] = "these logs are of a {}"

    free_paths: Sequence[str] | None = option(
        default=None,
        help="Exactly these are free, by path: a,b or given several times; nothing of the bench moves"
        " either.",
        more="Without it winding, rotor inertia, friction, and whatever the logs call for.",
        parse=parse_paths,
        applies_to=BENCH,
        cli="--only",
    )
    prior: Datasheet | Mapping[str, tuple[float, float]] | None = option(
        default=None,
        help="A datasheet, or path -> (value, standard error): combinations the data leaves open stay there.",
        cli=HIDDEN,
    )
    hold_out: Any = option(
        default=None,
        help="Logs to judge on: gain=8, length=0.07, mass=0.3, or a name pattern.",
        more='{"gain": 8}, names, or a function of a log; of a robot also "last 40 %" of every log.',
        parse=parse_hold_out,
    )
    friction: str | None = option(
        default=None,
        help="Another friction model than the start's: {choices}; ladder tries all.",
        more="m4+dwell is M4 with a number beside its own: load_asymmetry, dwell, peak or load_quadratic.",
        choices=friction_names,
    )
    also: Sequence[str] = option(
        default=(),
        help="Parameters to free, by path, beside the usual ones. May be given several times.",
        more="Of a robot also robot.payload.mass, robot.base (how it stands to gravity), robot.LINK.mass.",
        cli="--free",
    )
    delay: bool = option(
        default=False, help="Also find a delay of the command.", applies_to=BENCH, cli=HIDDEN
    )
    offset: bool = option(
        default=True,
        help="On a pendulum, also find the position at which the arm of each mounting hangs.",
        applies_to=BENCH,
        cli=HIDDEN,
    )
    tolerances: bool = option(
        default=True,
        help="Let the bench's numbers move within their tolerances.",
        applies_to=BENCH,
        cli=HIDDEN,
    )
    bounds: Mapping[str, tuple[float, float]] | None = option(
        default=None, help="Least and most of parameters, by path.", applies_to=BENCH, cli=HIDDEN
    )
    n_starts: int = option(
        default=N_STARTS, help="How many starts at most.", applies_to=BENCH, cli="--starts", least=1
    )
    within: float = option(
        default=3.0, help="Further starts lie within this factor of the first.", applies_to=BENCH, cli=HIDDEN
    )
    substeps: int | None = option(
        default=None,
        help="Steps of the simulation between two samples; as many as it takes, unless given.",
        applies_to=BENCH,
        cli=HIDDEN,
    )
    seed: int = option(default=0, help="Seed of the random starts.", least=0)
    on: str = option(
        default="cpu",
        help="cpu, or gpu: thousands of starts are scored on an NVIDIA GPU, the best are taken.",
        choices=("cpu", "gpu"),
        applies_to=BENCH,
    )
    apply: bool = option(
        default=False,
        help="Mend what a check finds wrong with the recordings and has tried to mend.",
        applies_to=BENCH,
    )
    inspect: bool = option(
        default=True, help="Look for faults of the recordings at all.", applies_to=BENCH, cli=HIDDEN
    )
    bands: bool = option(
        default=True,
        help="Find out how far predictions of other recordings may be off, from how these differ.",
        cli="--bands/--no-bands",
    )
    progress: Callable[[str, float, float], None] | None = option(
        default=None,
        help="Is called with what is being done, the cost, and which share of the whole is done.",
        cli=HIDDEN,
    )
    share: Sequence[str] = option(
        default=("motor",),
        help="Of a robot: what joints of equal hardware have in common. The motor, unless given.",
        parse=parse_paths,
        applies_to=ROBOT,
    )
    firmware: str | None = option(
        default=None, help="A profile of the part's firmware settings, such as lerobot.", applies_to=ROBOT
    )
    gains: Any = option(
        default=None,
        help='Of a robot: its PD gains in a JSON file, {"kp": ..., "kd": ...} [N m/rad].',
        more="Or these as a mapping, one number, a list, or by joint.",
        parse=parse_file,
        applies_to=ROBOT,
    )
    values: Mapping[str, Any] | None = option(
        default=None,
        help="Of a robot: numbers of its joints before the fit, by path; of one joint behind its name.",
        more='{"drive.supply": 11.1, "elbow.drive.proportional": "16"}; text may have a unit.',
        applies_to=ROBOT,
        cli=HIDDEN,
    )
    coupling: Any = option(
        default=None,
        help="Of a robot whose motors move several joints: a JSON file with the torque of a joint for one of"
        " each motor.",
        more='{"pitch": {"left": 1, "right": 1}, ...}; "at": "motors" where positions are the motors\' too.',
        parse=parse_file,
        applies_to=ROBOT,
    )
    joints: Sequence[str] | None = option(
        default=None,
        help="Of a robot: joints to fit, as a,b; all but grippers, unless given.",
        parse=parse_names,
        applies_to=ROBOT,
    )
    free_inertia: float = option(
        default=0.0,
        help="Of a robot: how far masses and lengths of its model may be off, as in 10%; as stated, else.",
        more="A share: 0.1. A payload, the base's tilt and the joints' zeros are found along with them.",
        parse=parse_share,
        applies_to=ROBOT,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0.0 <= self.free_inertia < 1.0:
            raise InvalidValue(f"free_inertia is {self.free_inertia:g}; expected a share from 0 up to 1")


@options
class LadderOptions(FitOptions):
    """Keywords of `be.ladder`: those of `be.fit`, and the rungs."""

    n_starts: int = option(
        default=3, help="How many starts at most.", applies_to=BENCH, cli="--starts", least=1
    )
    rungs: Sequence[str] | None = option(
        default=None, help="Frictions to try, from poor to rich; the usual ones, unless given.", cli=HIDDEN
    )


@options
class CheckOptions(Options):
    """Keywords of `be.check`."""

    free_paths: Sequence[str] | None = option(
        default=None,
        help="Exactly these are free, by path: a,b or given several times; nothing of the bench moves"
        " either.",
        more="Without it winding, rotor inertia, friction, and whatever the logs call for.",
        parse=parse_paths,
        cli="--only",
    )
    prior: Datasheet | Mapping[str, tuple[float, float]] | None = option(
        default=None,
        help="A datasheet, or path -> (value, standard error): combinations the data leaves open stay there.",
        cli=HIDDEN,
    )
    progress: Callable[[str, float], None] | None = option(
        default=None, help="Is called with what is being done, and which share of it is.", cli=HIDDEN
    )


@options
class CheckWords(CheckOptions):
    """What the command line says beside that."""

    friction: str | None = option(
        default=None, help="Another friction model than the start's.", choices=law_names
    )
    apply: bool = option(
        default=False, help="Mend what a check finds wrong with the recordings and has tried to mend."
    )
