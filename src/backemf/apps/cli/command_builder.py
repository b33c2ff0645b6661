"""Commands from options: what a verb's fields say becomes the words of its command line."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ...options import FOLDER, HIDDEN, CommandSpec, Option, options_of
from .terminal import TYPED, Json, Strict, answer, at_terminal, inside, keep, making, parse_place

TYPES: dict[str, Any] = {
    **{"bool": bool, "int": int, "float": float, "str": str, "Path": Path},
    **{"int | None": int | None, "float | None": float | None, "str | None": str | None},
    "Path | None": Path | None,
    **dict.fromkeys(("Sequence[str]", "Sequence[str] | None", "list[str] | None"), list[str] | None),
    "tuple[float, float] | None": tuple[float, float] | None,
    "list[str]": list[str],
}
"""What is typed, by the annotation of a field, or of what its `parse` takes."""


def command(
    kind: type[Any],
    order: str,
    choices: Mapping[str, Callable[[], Sequence[str]]] | None = None,
    fields: str = "",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function with an argument `options` into a command that has an option for each field of `kind`.

    Args:
        kind: the class of the options.
        order: how the words of the command line follow each other, the function's own among them; a field
            that is not named here stands behind the last that is.
        choices: names that the function's own arguments take, where their help has a place for them.
        fields: those that the command has; all of the class without it.
    """
    shown = {_name(one): one for one in options_of(kind) if one.cli != HIDDEN}
    some = {name: one for name, one in shown.items() if not fields or name in fields.split()}

    def decorate(run: Callable[..., Any]) -> Callable[..., Any]:
        hints = typing.get_type_hints(run, include_extras=True)
        own = {p.name: p for p in inspect.signature(run).parameters.values() if p.name in hints}
        own.pop("options", None)
        parameters = [
            own[name].replace(annotation=hints[name]) if name in own else _parameter(name, some[name])
            for name in _in_order(order.split(), own, some)
        ]
        signature = inspect.Signature(parameters)

        def call(*args: Any, **given: Any) -> Any:
            words = signature.bind(*args, **given)
            words.apply_defaults()
            typed = {name: value for name, value in words.arguments.items() if name in some}
            rest = {name: value for name, value in words.arguments.items() if name in own}
            return run(**rest, options=kind(**parse_value(kind, typed)))

        call.__name__, call.__doc__, call.__module__ = run.__name__, run.__doc__, run.__module__
        call.__annotations__ = {p.name: p.annotation for p in parameters}
        call.__dict__ |= {"__signature__": signature, "options": kind, "choices": choices or {}}
        return call

    return decorate


def parse_value(kind: type[Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the fields by name, from what was typed; what was not given is left out."""
    values = {}
    for one in options_of(kind):
        word = typed.get(_name(one))
        if word is not None and word != [] and word != one.typed:
            values[one.name] = word if one.parse is None else one.parse(word)
    return values


def _name(option: Option) -> str:
    return option.spelled.removeprefix("--").replace("-", "_")


def _in_order(order: Sequence[str], own: Mapping[str, Any], fields: Mapping[str, Any]) -> list[str]:
    """All names: fields that nobody placed come behind the last that somebody did."""
    unknown = set(order) ^ (set(own) | set(fields))
    last = max((k for k, name in enumerate(order) if name in fields), default=len(order) - 1) + 1
    new = [name for name in fields if name in unknown]
    assert unknown == set(new), f"no options of this command: {sorted(unknown - set(new))}"
    return [*order[:last], *new, *order[last:]]


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
    if option.cli and not option.cli.startswith("-"):
        shown: Any = typer.Argument(help=option.help)
    else:
        shown = typer.Option(*names, help=option.help, **more)
    annotation = Annotated[wanted, shown]
    return inspect.Parameter(
        name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation
    )


def from_data(one: CommandSpec, name: str) -> Callable[..., Any]:
    """A command of a kit as a function that typer takes."""

    def run(options: Any, strict: Strict = False, json: Json = False) -> None:
        force, places = getattr(options, "force", False), {}
        for field in options_of(one.options):
            if field.writes is not None and field.writes != FOLDER:
                path = getattr(options, field.name)
                path = inside(path, field.writes) if field.writes else path
                keep(path, force)
                places[field.name] = path
        options = dataclasses.replace(options, **places)
        with contextlib.ExitStack() as opened:
            for path in filter(None, places.values()):
                opened.enter_context(making(path))
            terminal = opened.enter_context(at_terminal(one.working, json))
            made = one.run(options, terminal)
        if made is None:  # it has said what there was to say
            return
        for path, figure in made.figures.items():
            from ..report.figures.draw import save

            save(figure, path)
        told = {"options": options.to_dict()}
        answer(json, lambda: {**made.content(), **told}, made.text, made.findings, strict, made.written)

    if not one.has_findings:
        del run.__annotations__["strict"]
    run.__name__, run.__doc__ = name, one.run.__doc__
    behind = ["strict", "json"] if one.has_findings else ["json"]
    words = one.order or " ".join(_name(field) for field in options_of(one.options) if field.cli != HIDDEN)
    return command(one.options, " ".join([words, *behind]))(run)


ASIDE = ("json", "force", "strict")
"""Options that say nothing of the answer itself."""


class Verb(TyperCommand):
    """A command whose help names the choices of its options, which are loaded for that alone."""

    def describe(self) -> Verb:
        """This command with every help text whole."""
        known = getattr(self.callback, "__dict__", {})
        if "options" not in known:
            return self
        names = {_name(one): one.choices for one in options_of(known["options"])} | known["choices"]
        for param in self.params:
            text = getattr(param, "help", None) or ""
            if "{choices}" in text:
                listed = ", ".join(names[str(param.name)]())
                param.help = text.replace("{choices}", listed)  # type: ignore[attr-defined]
        return self

    def invoke(self, ctx: Any) -> Any:
        """Run it, and let its answer say with which options."""
        described = "options" in getattr(self.callback, "__dict__", {})
        words = [p for p in self.params if p.param_type_name == "option" and not p.is_eager]
        shown = [p.name for p in words if p.name not in ASIDE]
        TYPED.update({} if described else {str(name): ctx.params.get(name) for name in shown})
        try:
            return super().invoke(ctx)
        finally:
            TYPED.clear()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super(Verb, self.describe()).format_help(ctx, formatter)
