"""One description of a verb's options: keywords, command line, forms, docs and JSON are made from its fields.

@options
class FitOptions(Options):
    seed: int = option(default=0, help="Seed of the random starts.", least=0)

def run_fit(actuator, logs, options: FitOptions) -> Fit: ...

fit = takes(FitOptions)(run_fit)  # fit(actuator, logs, *, seed=0)
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import math
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import (
    Any,
    ClassVar,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    cast,
    dataclass_transform,
    overload,
)

from .bounds import outside
from .errors import InvalidValue

A = TypeVar("A")
B = TypeVar("B")
R = TypeVar("R")
P = ParamSpec("P")
O = TypeVar("O", bound="Options")  # house.md's letter
HIDDEN = ""
"""`cli=HIDDEN`: a keyword that has no word on the command line."""


FOLDER = "/"
"""`writes=FOLDER`: a place that is a folder, or that the command looks at itself."""
FIGURE = "*"
"""`writes=FIGURE`: a place for a picture or a page."""
OWN_UNIT = "rad/s | m/s | rad | m"
"""`unit=OWN_UNIT`: a number alone is in a unit that another option says; or it has one of these."""


class Scope(NamedTuple):
    """Where an option applies: `Scope("robot", "robots: read them with bench=be.Robot.read(...)",
    "robots: give --robot FILE")`."""

    kind: str
    """What `check` is called with: "robot"."""
    remedy: str
    """To whom it applies and how to get there, in Python."""
    in_shell: str = ""
    """The same for who types commands."""


class Option(NamedTuple):
    """What is known of one option."""

    name: str
    annotation: str
    default: Any
    help: str
    choices: Callable[[], Sequence[str]] | None
    parse: Callable[[Any], Any] | None
    applies_to: Scope | None
    cli: str | None
    more: str
    least: float | None
    typed: Any
    writes: str | None
    unit: str | None
    positional: bool = False

    @property
    def spelled(self) -> str:
        """Its long name on the command line; one that it has not there is called as in Python."""
        if self.cli == HIDDEN:
            return self.name
        return (self.cli or "--" + self.name.replace("_", "-")).split("/")[0].split(" ")[0]

    @property
    def is_number(self) -> bool:
        """Whether it is one number, or a pair of them, that people type."""
        return self.parse is None and self.annotation.split(" |")[0] in (
            "int",
            "float",
            "tuple[float, float]",
        )

    @property
    def is_count(self) -> bool:
        """Whether that is a whole number."""
        return self.is_number and self.annotation.startswith("int")

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is dataclasses.MISSING

    @property
    def text(self) -> str:
        """Its help, with its choices spelled out where the text has a place for them."""
        if self.choices is None or "{choices}" not in self.help:
            return self.help
        return self.help.replace("{choices}", ", ".join(self.choices()))


def option(
    *,
    default: Any = dataclasses.MISSING,
    help: str,
    choices: Sequence[str] | Callable[[], Sequence[str]] | None = None,
    parse: Callable[[Any], Any] | None = None,
    applies_to: Scope | None = None,
    cli: str | None = None,
    more: str = "",
    least: float | None = None,
    typed: Any = None,
    writes: str | None = None,
    unit: str | None = None,
    kw_only: bool = True,
) -> Any:
    """A field of an options class.

    Args:
        default: the value where nobody says; what differs from it counts as given. Without it the option
            must be given.
        help: a sentence for docs, command line and forms, with its unit; "{choices}" in it is filled.
        choices: names that it takes, or a function that gives them when they are first needed.
        parse: from what was typed to the value; the annotation of its argument is the type of the words.
        applies_to: where it applies; everywhere without it.
        cli: its spelling on the command line; `--name` without it, none where it is HIDDEN.
        more: what only Python takes beyond that.
        least: the smallest value.
        typed: the default as it is typed, where `parse` makes it from words.
        writes: of a place to write to, what the file is called where a folder is named; "" where none may
            be, FIGURE of a picture, FOLDER of a folder.
        unit: of a number, in SI: alone it is in this unit, and another may be typed behind it. "1" of a plain
            number, "kg m^2 | kg" where it is one of two, OWN_UNIT where another option says it.
        kw_only: False for one that Python also takes by its place, behind what the verb works on.

    Returns:
        The field, for the body of a class.
    """
    names = choices if choices is None or callable(choices) else (lambda: choices)
    known = {"help": help, "choices": names, "parse": parse, "applies_to": applies_to}
    return dataclasses.field(
        default=default,
        kw_only=kw_only,
        metadata={
            **known,
            **{"cli": cli, "more": more, "least": least, "typed": typed, "writes": writes, "unit": unit},
        },
    )


OUTSIDE_HELP = "Let a model include files from outside its own folder."


def option_of(kind: type[Any], name: str, **changes: Any) -> Any:
    """A field as another class has it.

    Args:
        kind: that class.
        name: of the field.
        changes: what is otherwise here, as `option` takes it.

    Returns:
        The field, for the body of a class.
    """
    one = next(f for f in dataclasses.fields(kind) if f.name == name)
    default = changes.pop("default", one.default)
    return dataclasses.field(default=default, metadata={**one.metadata, **changes})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(option, option_of))
def options(cls: type[A]) -> type[A]:
    """Make a class of fields that are `option(...)` the options of a verb: a frozen dataclass of keywords."""
    return dataclasses.dataclass(frozen=True, kw_only=True, repr=False)(cls)


class Options:
    """Base of every verb's options."""

    situation: ClassVar[str] = "this is of a {}"
    """What a refusal says of where the option was given."""

    def __post_init__(self) -> None:
        for one in options_of(type(self)):
            value = getattr(self, one.name)
            if one.least is not None and value is not None and value < one.least:
                raise InvalidValue(f"{one.name} is {value}; expected {one.least:g} or more")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.given_options().items())})"

    def given_options(self) -> dict[str, Any]:
        """Options that differ from their defaults."""
        values = ((one, getattr(self, one.name)) for one in options_of(type(self)))
        return {one.name: value for one, value in values if not _same(value, one.default)}

    def only(self, kind: str | Collection[str]) -> Self:
        """The same without what does not apply.

        Args:
            kind: as `check` takes it.
        """
        kinds = _kinds(kind)
        others = (
            one for one in options_of(type(self)) if one.applies_to and one.applies_to.kind not in kinds
        )
        return dataclasses.replace(cast(Any, self), **{other.name: other.default for other in others})

    def check(self, kind: str | Collection[str], named: str = "", *, in_shell: bool = False) -> None:
        """Refuse what was given and does not apply.

        Args:
            kind: of the scopes of these options, or several: "robot" or "bench" for a fit.
            named: what it is called in the message, where that is another word: "pendulum".
            in_shell: speak of the command line's words.

        Raises:
            InvalidValue: where an option was given that does not apply to this kind.
        """
        given, kinds = self.given_options(), _kinds(kind)
        for one in options_of(type(self)):
            scope = one.applies_to
            if scope is None or scope.kind in kinds or one.name not in given:
                continue
            name = one.spelled if in_shell else one.name
            remedy = scope.in_shell if in_shell and scope.in_shell else scope.remedy
            where = self.situation.format(named or ", ".join(kinds))
            raise InvalidValue(f"{name} is {_short(given[one.name])}, and {where}; it applies to {remedy}")

    def narrow(self, kind: type[O]) -> O:
        """The same as options of a class that this one extends."""
        return kind(**{one.name: getattr(self, one.name) for one in options_of(kind)})

    def to_dict(self) -> dict[str, Any]:
        """Every option with its value, as `--json` shows them: what is no plain value as text."""
        shown = (one for one in options_of(type(self)) if one.cli != HIDDEN or one.annotation in PLAIN)
        return {one.name: plain_value(getattr(self, one.name)) for one in shown}


def parse_file(path: Path | None) -> Path | None:
    """What is typed for a file: its name."""
    return path


PLAIN = ("bool", "int", "float", "str", "int | None", "float | None", "str | None")
"""Annotations of values that JSON holds as they are."""


@functools.cache
def options_of(cls: type[Any]) -> tuple[Option, ...]:
    """The options of a class, in their order."""
    return tuple(
        Option(name=f.name, annotation=str(f.type), default=f.default, positional=not f.kw_only, **f.metadata)
        for f in dataclasses.fields(cls)
    )


def _kinds(kind: str | Collection[str]) -> Collection[str]:
    return {kind} if isinstance(kind, str) else kind


def _same(value: Any, default: Any) -> bool:
    """Whether a value is the default; a list of the same is."""
    return value is default or plain_value(value) == plain_value(default)


def _short(value: Any) -> str:
    return textwrap.shorten(repr(plain_value(value)), 60)


def plain_value(value: Any) -> Any:
    """A value as JSON holds it: what is no finite number as nothing, anything else by its name or as text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain_value(one) for one in value]
    if hasattr(value, "tolist"):  # of numpy
        return plain_value(value.tolist())
    if hasattr(value, "items"):
        return {str(key): plain_value(one) for key, one in value.items()}
    if hasattr(value, "__float__"):
        return float(value) if math.isfinite(value) else None
    if hasattr(value, "__fspath__"):
        return str(value)
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    return plain_value(value.to_dict()) if name is None and hasattr(value, "to_dict") else str(name or value)


class Takes(Generic[P, O]):
    """Makes a function that takes keywords out of one that takes options."""

    def __init__(self, kind: Callable[P, O]):
        self.kind = kind

    @overload
    def __call__(self, run: Callable[[A, B, O], R]) -> Callable[Concatenate[A, B, P], R]: ...
    @overload
    def __call__(self, run: Callable[[A, O], R]) -> Callable[Concatenate[A, P], R]: ...
    @overload
    def __call__(self, run: Callable[[O], R]) -> Callable[P, R]: ...
    def __call__(self, run: Callable[..., Any]) -> Callable[..., Any]:
        kind = cast(type[Any], self.kind)
        name = run.__name__.removeprefix("run_")
        parameters = inspect.signature(run).parameters
        before = [p for p in parameters.values() if p.name != "options"][: [*parameters].index("options")]
        words = {one.name for one in options_of(kind)}
        places = [p.name for p in before] + [one.name for one in options_of(kind) if one.positional]

        def verb(*args: Any, **given: Any) -> Any:
            if len(args) > len(places):
                raise TypeError(
                    f"{name}() takes {len(places)} positional arguments but {len(args)} were given;"
                    " its options are keywords"
                )
            for place, value in zip(places, args, strict=False):
                if place in given:
                    raise TypeError(f"{name}() got multiple values for argument {place!r}")
                given[place] = value
            first = {p.name: given.pop(p.name) for p in before if p.name in given}
            for word in given:
                if word not in words:
                    near = difflib.get_close_matches(word, words, n=1)
                    hint = f"; did you mean {near[0]}?" if near else f"; it takes {', '.join(sorted(words))}"
                    raise TypeError(f"{name}() got an unexpected keyword argument {word!r}{hint}")
            made = kind(**given)
            with outside(getattr(made, "allow_outside", False)):
                return run(**first, options=made)

        functools.update_wrapper(verb, run)
        del verb.__wrapped__  # type: ignore[attr-defined]  # its signature is another
        verb.__name__ = verb.__qualname__ = name
        verb.__doc__ = "\n".join([inspect.cleandoc(run.__doc__ or ""), "", *_arguments(kind)])
        keywords = [
            inspect.Parameter(
                one.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD if one.positional else inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if one.required else one.default,
                annotation=one.annotation,
            )
            for one in sorted(options_of(kind), key=lambda one: not one.positional)
        ]
        signature = inspect.signature(run).replace(parameters=[*before, *keywords])
        verb.__signature__ = signature  # type: ignore[attr-defined]  # what `inspect` reads of any callable
        return verb


def takes(kind: Callable[P, O]) -> Takes[P, O]:
    """`fit = takes(FitOptions)(run_fit)`: `fit` has the keywords of `FitOptions`, which `run_fit` is given as
    its argument `options`, behind one or two of its own.

    Args:
        kind: the class of the options; its keywords are copied, so that type checkers and completion see
            them.
    """
    return Takes(kind)


def _arguments(kind: type[Any]) -> Iterator[str]:
    """The keywords as a docstring lists them."""
    yield "Keyword Args:"
    for one in options_of(kind):
        scope = f" Of a {one.applies_to.kind} alone." if one.applies_to else ""
        more = f" {one.more}" if one.more else ""
        text = f"{one.name}: {one.help.replace('{choices}', 'by name')}{more}{scope}"
        yield textwrap.fill(text, 106, initial_indent="    ", subsequent_indent="        ")


class Terminal(Protocol):
    """Whoever runs a command: shows what it says while it works, and asks a person where one is there."""

    attended: bool
    """Whether a person can be asked."""
    quiet: bool
    """Whether JSON was asked for, beside which nothing may be printed."""

    def say(self, text: str, share: float | None = None) -> None:
        """What is being done, and which share of it is."""
        ...

    def show(self, text: str) -> None:
        """A text for people that stays."""
        ...

    def announce(self, content: Mapping[str, Any], text: str) -> None:
        """What others wait for, at once: an object where JSON was asked for, else a line."""
        ...

    def table(self, title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table in place of the one before.

        Args:
            title: above it.
            head: names of its columns.
            rows: the cells.
        """
        ...

    def confirm(self, question: str) -> bool:
        """Whether the person says yes."""
        ...

    def prompt(self, question: str) -> str:
        """What the person types."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class Answer:
    """What a command says at its end."""

    content: Callable[[], Mapping[str, Any]]
    """The keys of `--json`."""
    text: Callable[[], str]
    """The same for people."""
    findings: Sequence[Any] = ()
    written: Sequence[Path | None] = ()
    figures: Mapping[Path, Any] = dataclasses.field(default_factory=dict)
    """To be drawn, by the file they go to."""
    asked: Options | None = None
    """What was asked, where reading made more of it: numbers in the unit of a file."""
    beside: Callable[[], str] | None = None
    """What people are told on stderr; the text is a file then, printed as it is."""
    problem: str = ""
    """Why it is an error all the same."""


@dataclasses.dataclass(frozen=True)
class CommandSpec:
    """A command as data: what it takes, and what it does with that. Its help is the docstring of `run`."""

    options: type[Any]
    run: Callable[[Any, Terminal], Answer | None]
    order: str = ""
    """Words of the command line in their order; that of the fields without it."""
    working: str = ""
    """What is said while it works; nothing where it speaks itself."""
    has_findings: bool = True
    """Whether there is a `--strict`."""
    strict_help: str = "Exit with 1 if there are findings."
