"""Commands from options: what a verb's fields say becomes the words of its command line."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import keyword
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ...bounds import outside
from ...options import FIGURE, FOLDER, HIDDEN, OWN_UNIT, Answer, CommandSpec, Option, Terminal, options_of
from .terminal import answer, at_terminal, drawable, inside, keep, making, parse_place

TYPES: dict[str, Any] = {
    **{"bool": bool, "int": str, "float": str, "str": str, "Path": Path},
    **{"int | None": str | None, "float | None": str | None, "str | None": str | None},
    "Path | None": Path | None,
    **dict.fromkeys(("Sequence[str]", "Sequence[str] | None", "list[str] | None"), list[str] | None),
    "tuple[float, float] | None": tuple[str, str] | None,
    "list[str]": list[str],
}
"""What is typed, by the annotation of a field, or of what its `parse` takes; numbers are text, for a unit may
stand behind them."""
WITH_UNIT = "<number[unit]>"
UNITS_HELP = (
    "A number alone is in the unit in brackets, or in SI; another may stand behind it, as in 4.8V or"
    " '15 kg cm'."
)


def command(
    kind: type[Any], working: str = "", has_findings: bool = True, strict_help: str = CommandSpec.strict_help
) -> Callable[[Callable[[Any, Terminal], Answer | None]], Callable[..., None]]:
    """Make a function of options and a terminal into a command with a word for each field.

    Args:
        kind: the class of the options.
        working: what is said while it works.
        has_findings: whether there is a `--strict`.
        strict_help: what that does.

    Returns:
        A decorator; what it makes is a function that typer takes.
    """
    return lambda run: from_data(CommandSpec(kind, run, "", working, has_findings, strict_help), run.__name__)


def parse_value(kind: type[Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the fields by name, from what was typed; what was not given is left out."""
    values = {}
    for one in (one for one in options_of(kind) if one.cli != HIDDEN):
        word = typed.get(_name(one))
        if word is not None and word != [] and word != one.typed:
            values[one.name] = one.parse(word) if one.parse else _number(one, word) if one.is_number else word
    return values


def number_of(option: Option, text: str) -> float:
    """A number as it was typed, in SI.

    Args:
        option: whose it is.
        text: "4.8", "4.8V".

    Returns:
        The number in the option's unit.

    Raises:
        BackemfError: it is none, or its unit is of another kind.
    """
    from ...errors import InvalidValue
    from ...units import NumberWithUnit, has_unit, si

    if not option.is_count:
        own = option.unit == OWN_UNIT
        unit = "1" if option.unit is None or (own and not has_unit(text)) else option.unit
        number = si(text, unit, option.spelled)
        return NumberWithUnit(number, text) if unit == OWN_UNIT else number
    try:
        return int(text)
    except ValueError:
        wanted = f"expected a whole number: {option.help}"
        raise InvalidValue(f"{option.spelled} is {text!r:.60}; {wanted}") from None


def _number(option: Option, typed: Any) -> Any:
    """A number or a pair of them, in SI; a default is one already."""
    if typed == option.default:
        return typed
    several = typed if option.annotation.startswith("tuple") else [typed]
    numbers = tuple(number_of(option, str(text)) for text in several)
    return numbers if option.annotation.startswith("tuple") else numbers[0]


def _name(option: Option) -> str:
    """The word of the command line as a name of Python's."""
    name = option.spelled.removeprefix("--").replace("-", "_")
    return f"{name}_" if keyword.iskeyword(name) else name


def _parameter(name: str, option: Option) -> inspect.Parameter:
    """The argument that typer makes an option of, or an argument where its word has no dashes."""
    typed = option.annotation if option.parse is None else next(iter(option.parse.__annotations__.values()))
    wanted = TYPES[typed]
    default = None if option.parse is not None or option.default == () else option.default
    default = (
        inspect.Parameter.empty if option.required else option.typed if option.typed is not None else default
    )
    names = (option.cli or option.spelled).split() if option.cli or wanted is bool else ()
    more: dict[str, Any] = {} if option.writes is None else {"parser": parse_place}
    if option.is_number:
        more["metavar"] = _number_word(option)
        default = str(default) if default not in (None, inspect.Parameter.empty) else default
    if option.cli and not option.cli.startswith("-"):
        shown: Any = typer.Argument(help=option.help)
    else:
        shown = typer.Option(*names, help=option.help, **more)
    return _keyword(name, default, Annotated[wanted, shown])


def _number_word(option: Option) -> str:
    """What the help writes behind an option that is a number."""
    if option.is_count:
        return "<count>"
    return "<number>" if option.unit == "1" else WITH_UNIT


def _switch(name: str, text: str) -> inspect.Parameter:
    return _keyword(name, False, Annotated[bool, typer.Option(f"--{name}", help=text)])


def _keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def from_data(spec: CommandSpec, name: str) -> Callable[..., None]:
    """A command that is described as data, as a function that typer takes."""
    fields = {_name(one): one for one in options_of(spec.options) if one.cli != HIDDEN}
    words = spec.order.split() or _usual_order(spec.options, fields)
    assert set(words) <= set(fields), f"no options of {name}: {set(words) - set(fields)}"
    parameters = [_parameter(word, fields[word]) for word in dict.fromkeys([*words, *fields])]
    aside = {"strict": spec.strict_help} if spec.has_findings else {}
    for word, text in (aside | {"json": "Print one JSON object instead of text."}).items():
        parameters.append(_switch(word, text))
    signature = inspect.Signature(parameters)

    def call(**given: Any) -> None:
        bound = signature.bind(**given)
        bound.apply_defaults()
        typed = bound.arguments
        strict, json = typed.pop("strict", False), typed.pop("json")
        run_command(spec, spec.options(**parse_value(spec.options, typed)), json, strict)

    call.__name__, call.__doc__, call.__module__ = name, spec.run.__doc__, spec.run.__module__
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    call.__dict__ |= {"__signature__": signature, "options": spec.options}
    return call


def _usual_order(kind: type[Any], fields: Mapping[str, Option]) -> list[str]:
    """Arguments first, then what must be given, then the command's own options, and those that it shares."""
    own = vars(kind).get("__annotations__", {})

    def rank(word: str) -> tuple[bool, ...]:
        one = fields[word]
        return one.spelled.startswith("-"), not one.required, one.name not in own, word == "force"

    return sorted(fields, key=rank)


def run_command(spec: CommandSpec, options: Any, json: bool, strict: bool) -> None:
    """Look at the places that are written to, run a command, and say what it answers.

    Args:
        spec: the command.
        options: of its class.
        json: whether to answer with JSON.
        strict: whether findings end it with 1.
    """
    options = _with_places(options)
    with contextlib.ExitStack() as opened:
        for one in options_of(spec.options):
            path = getattr(options, one.name)
            if one.writes not in (None, FOLDER) and path is not None:
                opened.enter_context(making(path))
        opened.enter_context(outside(getattr(options, "allow_outside", False)))
        result = spec.run(options, opened.enter_context(at_terminal(spec.working, json)))
    if result is None:  # it has said what there was to say
        return
    for path, figure in result.figures.items():
        from ..report.figures.draw import save

        save(figure, path)
    answer(result, (result.asked or options).to_dict(), json, strict)


def _with_places(options: Any) -> Any:
    """The options with the file in a folder that was named; refused where none can be written."""
    force, places = getattr(options, "force", False), {}
    for one in options_of(type(options)):
        if one.writes in (None, FOLDER):
            continue
        path = getattr(options, one.name)
        if one.writes not in ("", FIGURE):
            path = inside(path, one.writes)
        keep(path, force)
        if one.writes == FIGURE:
            drawable(path, force)
        places[one.name] = path
    return dataclasses.replace(options, **places)


class Verb(TyperCommand):
    """A command whose help names the choices of its options, which are loaded for that alone."""

    def describe(self) -> Verb:
        """This command with every help text whole."""
        for one in self._options():
            for param in self.params:
                if param.name == _name(one):
                    param.help = one.text  # type: ignore[attr-defined]  # of an argument or an option
        return self

    def _options(self) -> tuple[Option, ...]:
        kind = getattr(self.callback, "options", None)
        return () if kind is None else options_of(kind)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        if any(one.unit not in (None, "1") for one in self._options()):
            self.epilog = UNITS_HELP
        super(Verb, self.describe()).format_help(ctx, formatter)
