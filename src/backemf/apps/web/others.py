"""Commands of other packages in the app: their options make a form, the form makes a command line.

Only those that print JSON are offered, for that is what the app shows. An argument is a source, or files of
the project; an option is a word without slashes, or a flag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..cli.main import other_commands

if TYPE_CHECKING:
    from .command_lines import Made
    from .form import FormReader

ASIDE = ("json", "help", "output")
"""Options that no form has."""


def offered_commands() -> dict[str, dict[str, Any]]:
    """By name, what a command says of itself and the fields of its form."""
    return {
        name: {
            "help": (command.help or "").strip().partition("\n\n")[0],
            "fields": [
                {"name": p.name, "kind": _kind(p), "help": getattr(p, "help", "") or "", "needed": p.required}
                for p in command.params
                if p.name not in ASIDE
            ],
        }
        for name, command in other_commands().items()
        if any(p.name == "json" for p in command.params)
    }


def _kind(parameter: Any) -> str:
    """How a form asks for a value: "source", "files", "flag" or "text"."""
    if parameter.param_type_name == "argument":
        return "files" if parameter.nargs == -1 else "source"
    return "flag" if parameter.is_flag else "text"


def words(name: str, asked: FormReader) -> Made:
    """The command line of a form.

    Args:
        name: of a command that is offered.
        asked: what the form says.

    Raises:
        InvalidValue: a value is no source, file or word.
    """
    from .form import WORD

    made: list[str] = []
    for p in other_commands()[name].params:
        kind, key = _kind(p), str(p.name)
        if key in ASIDE:
            continue
        option = p.opts[0]
        if kind == "files":
            made += asked.files(key)
        elif kind == "source":
            made += [source] if (source := asked.source(key)) else []
        elif kind == "flag":
            made += [option] if asked.flag(key) else []
        elif (text := asked.text(key, WORD, "a word")) is not None:
            made += [option, text]
    return made, []
