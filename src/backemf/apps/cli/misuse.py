"""Words that are no command line, in our own sentences: what was given, what was expected, what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...errors import UnknownName
from .command_builder import Verb

FEW = 8
"""So many names are listed whole; of more the nearest five are."""
_COMMAND = re.compile(r"^No such command '(.*?)'")
_EXTRA = re.compile(r"^Got unexpected extra arguments? \((.*)\)|^Got unexpected extra argument\(s\) \((.*)\)")


def misuse(error: Any, group: Any, words: Sequence[str]) -> str:
    """What a complaint of typer's says, as our errors do.

    Args:
        error: the complaint, whose class and context tell what is wrong.
        group: every command.
        words: that were typed, behind `backemf`.

    Returns:
        A sentence, and behind a semicolon what to do.
    """
    kind, context = type(error).__name__, getattr(error, "ctx", None)
    said = str(error.format_message()).rstrip(".")
    command, path = _command_of(group, words) if context is None else _command_in(context)
    command: Any = command.describe() if isinstance(command, Verb) else command
    asked, lists = getattr(error, "option_name", ""), f"`{path} --help`"
    if kind == "NoSuchOption":
        return str(UnknownName("option", asked, _options(command), lists, listed=FEW))
    if kind == "MissingParameter" and error.param is not None:
        return (
            f"{_spelling(error.param)} is missing; `{path}` needs it: {_help(error.param)}{_example(command)}"
        )
    if kind == "BadOptionUsage":
        return _misused_option(asked, said, command, path)
    if unknown := _COMMAND.match(said):
        return str(UnknownName("command", unknown[1], command.commands, lists, listed=FEW))
    if extra := _EXTRA.match(said):
        takes = " ".join(str(p.name) for p in command.params if p.param_type_name == "argument")
        wanted = f"takes {takes} and options" if takes else "takes options alone"
        return f"{extra[1] or extra[2]} is too much; `{path}` {wanted}: `{path} --help` lists them"
    return f"{said[:1].lower()}{said[1:]}; `{path} --help` shows what it expects"


def _command_in(context: Any) -> tuple[Any, str]:
    """(the command that was being read, its name)."""
    return context.command, "backemf" + context.command_path.removeprefix(context.find_root().command_path)


def _command_of(group: Any, words: Sequence[str]) -> tuple[Any, str]:
    """(the command that words begin with, its name)."""
    path = ["backemf"]
    for word in words:
        if word not in getattr(group, "commands", {}):
            break
        group = group.commands[word]
        path.append(word)
    return group, " ".join(path)


def _misused_option(asked: str, said: str, command: Any, path: str) -> str:
    """An option whose value is missing, or that takes none."""
    if "does not take" in said:
        return f"{asked} is given a value, and it is a switch; write {asked} alone"
    param = next((p for p in command.params if asked in (*p.opts, *p.secondary_opts)), None)
    pair = param is not None and param.nargs == 2
    there, behind = ("too few values", "two values") if pair else ("no value", "a value")
    means = f": {_help(param)}" if param is not None else f"; `{path} --help` shows which"
    return f"{asked} has {there}; expected {behind} behind it{means}"


def _options(command: Any) -> list[str]:
    """Long options of a command."""
    words = (word for p in command.params for word in (*p.opts, *p.secondary_opts))
    return [*(word for word in words if word.startswith("--")), "--help"]


def _spelling(param: Any) -> str:
    """A parameter as it is typed."""
    long = [word for word in param.opts if word.startswith("--")]
    return long[0] if long else repr(param.name)


def _help(param: Any) -> str:
    return str(getattr(param, "help", "") or "see its --help").strip()


def _example(command: Any) -> str:
    """The example of a command's help."""
    _, mark, example = str(command.help or "").partition("Example: ")
    return f" Example: {' '.join(example.split())}" if mark else ""
