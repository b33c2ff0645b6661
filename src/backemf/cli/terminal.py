"""What every command shares: its options, how it prints, shows progress and ends."""

from __future__ import annotations

import contextlib
import json as json_
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InvalidValue
from ..files import may_write

_FOLDERS: set[Path] = set()
"""Places that were typed with a slash behind them: folders, whether they exist yet or not."""


def option(help: str, *names: str, **more: Any) -> Any:
    """An option of a command; without names it is called as its variable. A switch needs its name."""
    return typer.Option(*names, help=help, **more)


def place(help: str, *names: str) -> Any:
    """An option that says where to write, `-o` unless named: `new` is a file, `new/` a folder."""
    return option(help, *(names or ("--output", "-o")), parser=_place)


def _place(typed: str | Path) -> Path:
    path = Path(typed)
    (_FOLDERS.add if str(typed).endswith(("/", os.sep)) else _FOLDERS.discard)(path)
    return path


Json = Annotated[bool, option("Print one JSON object instead of text.", "--json")]
Strict = Annotated[bool, option("Exit with 1 if there are findings.", "--strict")]
Force = Annotated[bool, option("Overwrite what exists.", "--force")]
Maps = Annotated[
    list[str] | None,
    option("How to read a signal: position=motor_pos[deg],-1. May be given several times.", "--map"),
]
Between = Annotated[tuple[float, float] | None, option("Keep only this part of each recording [s].")]


def print_json(content: Mapping[str, Any]) -> None:
    """One object; what is not a finite number is null."""
    typer.echo(json_.dumps(_plain(content), indent=1, ensure_ascii=not _speaks_unicode(), allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "to_dict"):  # a finding
        return _plain(value.to_dict())
    number = float(value)
    return number if math.isfinite(number) else None


def _speaks_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def picked(owner: Any, names: str) -> dict[str, Any]:
    """Attributes of an object by name, as they stand in a `--json`: `picked(p, "path value unit")`."""
    return {name: getattr(owner, name) for name in names.split()}


def under(title: str, lines: Iterable[str]) -> str:
    """Lines under a title, each with a dash; nothing where there are none."""
    dashed = "\n".join(f"  - {line}" for line in lines)
    return f"{title}:\n{dashed}" if dashed else ""


def finding_lines(findings: Iterable[Any]) -> list[str]:
    """Findings in words."""
    return [f"{f.code}: {f.text}\n    {f.remedy}" for f in findings]


def answer(
    json: bool,
    content: Callable[[], Mapping[str, Any]],
    text: Callable[[], str],
    findings: Iterable[Any] = (),
    strict: bool = False,
    written: Iterable[Path | None] = (),
) -> None:
    """How a command ends: one object or a text with the files that were written below it,
    then exit code 1 if the caller wanted no findings and there are some."""
    if json:
        print_json(content())
    else:
        wrote = "\n".join(f"wrote {path}" for path in written if path is not None)
        typer.echo("\n\n".join(part for part in (text(), wrote) if part))
    if strict and list(findings):
        raise typer.Exit(1)


def is_folder(path: Path) -> bool:
    """Whether a place is a folder, or was typed as one."""
    return path in _FOLDERS or path.is_dir()


def drawable(path: Path | None, force: bool) -> None:
    """Refuse, before any work is done, a figure that cannot be written."""
    if path is not None:
        from ..report.picture import drawable as check

        check(path, force=force)


def keep(path: Path | None, force: bool) -> None:
    """Refuse, before any work is done, to write over a file of the user's or where a folder was named."""
    if path in _FOLDERS and not path.is_dir():
        raise InvalidValue(f"'{path}/' is a folder; expected the name of a file to write")
    if path is not None:
        may_write(path, force=force)


@contextlib.contextmanager
def folder(path: Path) -> Iterator[None]:
    """Make the folder that a place was typed as, and take it away again if nothing comes to be in it."""
    made = path in _FOLDERS and not path.is_dir()
    if made and path.exists():
        raise InvalidValue(f"'{path}/' is the name of a folder, but there is a file; give another name")
    if made:
        may_write(path).mkdir()
    try:
        yield
    finally:
        if made:
            with contextlib.suppress(OSError):  # what was written stays
                path.rmdir()


class Working:
    """Says what is being done and how far it is: `say("start 2 of 6", 0.33)`;
    without a share only the words change."""

    def __init__(self, bar: Any = None, task: Any = None):
        self._bar, self._task = bar, task

    def __call__(self, text: str, share: float | None = None) -> None:
        if self._bar is None:
            return
        from rich.markup import escape

        known = {} if share is None else {"completed": share, "total": 1.0}
        self._bar.update(self._task, description=escape(text), **known)


@contextlib.contextmanager
def working(title: str, wanted: bool = True) -> Iterator[Working]:
    """A line on the terminal while something takes long: what is done, a bar, time gone and time left.
    Silent where nobody watches."""
    if not (wanted and sys.stderr.isatty()):
        yield Working()
        return
    from rich import console, progress as p

    what = (p.SpinnerColumn(), p.TextColumn("{task.description}"), p.BarColumn(bar_width=24))
    when = (p.TimeElapsedColumn(), p.TextColumn("left:"), p.TimeRemainingColumn())
    with p.Progress(*what, *when, console=console.Console(stderr=True), transient=True) as bar:
        yield Working(bar, bar.add_task(title, total=None))
