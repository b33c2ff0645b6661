"""What every command shares: its options, how it prints, shows progress and ends."""

from __future__ import annotations

import contextlib
import json as json_
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from ...errors import InvalidValue
from ...files import may_write
from ...options import Answer, plain_value

ROOM_FOR_A_BAR = 60
"""Columns of a terminal that shows a bar beside the words."""
HELP = "backemf COMMAND --help shows what it expects, with an example"
_FOLDERS: set[Path] = set()
"""Places that were typed with a slash behind them: folders, whether they exist yet or not."""


def parse_place(typed: str | Path) -> Path:
    """A place as it was typed: a slash behind it makes it a folder."""
    path = Path(typed)
    (_FOLDERS.add if str(typed).endswith(("/", os.sep)) else _FOLDERS.discard)(path)
    return path


def print_json(content: Mapping[str, Any]) -> None:
    """One object; what is not a finite number is null."""
    typer.echo(
        json_.dumps(plain_value(content), indent=1, ensure_ascii=not _speaks_unicode(), allow_nan=False)
    )


def _speaks_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def pick(owner: Any, names: str) -> dict[str, Any]:
    """Attributes of an object by name, as they stand in a `--json`: `pick(p, "path value unit")`."""
    return {name: getattr(owner, name) for name in names.split()}


def under(title: str, lines: Iterable[str]) -> str:
    """Lines under a title, each with a dash; nothing where there are none."""
    dashed = "\n".join(f"  - {line}" for line in lines)
    return f"{title}:\n{dashed}" if dashed else ""


def finding_lines(findings: Iterable[Any]) -> list[str]:
    """Findings in words."""
    return [f"{f.code}: {f.text}\n    {f.remedy}" for f in findings]


def answer(result: Answer, options: Mapping[str, Any], json: bool, strict: bool) -> None:
    """How a command ends: one object or a text, the files that were written below it; then exit code 2 where
    there is a problem, and 1 if the caller wanted no findings and there are some.

    Args:
        result: what the command answers.
        options: what it was asked, for the object.
        json: whether to print the object.
        strict: whether there may be no findings.
    """
    if json:
        print_json(
            {**result.content(), **(failure(result.problem) if result.problem else {}), "options": options}
        )
    elif result.beside is not None:
        typer.echo(result.text(), nl=False)
        typer.echo(result.beside(), err=True)
    else:
        wrote = "\n".join(f"wrote {path}" for path in result.written if path is not None)
        said = for_people("\n\n".join(part for part in (result.text(), wrote) if part))
        typer.echo(said, nl=bool(said))
    if result.problem:
        typer.echo(f"backemf: {result.problem}", err=True)
        raise typer.Exit(2)
    if strict and list(result.findings):
        raise typer.Exit(1)


FINDING = re.compile(r"^(  - )([a-z0-9_]+)(: )")
COLOURS = {"finding": typer.colors.YELLOW, "wrote": typer.colors.GREEN}


def for_people(text: str) -> str:
    """A text as a terminal shows it: sentences end at its edge and go on below their own beginning, the name
    of a finding and what was written stand out. Anything else than a terminal gets the text as it is."""
    if not sys.stdout.isatty():
        return text
    from ...tables import room

    coloured = not os.environ.get("NO_COLOR")
    lines = [part for line in text.split("\n") for part in _fold(line, room())]
    return "\n".join(map(_colour, lines) if coloured else lines)


def _fold(line: str, most: int) -> list[str]:
    """A sentence in lines of this length; a row of a table, which has wide gaps, stays whole."""
    words = line.strip()
    if len(line) <= most or "   " in words or words.startswith(("--", "backemf ")):
        return [line]
    begin = len(line) - len(line.lstrip())
    below = " " * (begin + 2 if words.startswith("- ") else begin)
    return textwrap.wrap(line, most, subsequent_indent=below, break_long_words=False, break_on_hyphens=False)


def _colour(line: str) -> str:
    if line.startswith("wrote "):
        return typer.style(line, fg=COLOURS["wrote"])
    return FINDING.sub(lambda m: m[1] + typer.style(m[2], fg=COLOURS["finding"], bold=True) + m[3], line)


def is_folder(path: Path) -> bool:
    """Whether a place is a folder, or was typed as one."""
    return path in _FOLDERS or path.is_dir()


def drawable(path: Path | None, force: bool) -> None:
    """Refuse, before any work is done, a figure that cannot be written."""
    if path is not None:
        from ..report.figures.draw import drawable as check

        check(path, force=force)


def inside(path: Any, name: str) -> Any:
    """A place for one file: where a folder was named, this name in it."""
    return path / name if path is not None and is_folder(path) else path


def making(path: Path) -> contextlib.AbstractContextManager[None]:
    """Make the folder around a place, where that was typed as a new one."""
    return folder(path.parent)


def failure(text: str) -> dict[str, str]:
    """A reason in JSON: what is wrong, and what to do about it, which stands behind the first semicolon."""
    error, semicolon, remedy = text.partition("; ")
    if not semicolon or "\n" in text:  # a list of reasons has a remedy each
        return {"error": text, "remedy": HELP}
    return {"error": error, "remedy": remedy}


def keep(path: Path | None, force: bool) -> None:
    """Refuse, before any work is done, to write over a file of the user's or where a folder was named."""
    if path is not None and path.parent in _FOLDERS and not path.parent.exists():
        may_write(path.parent)
        return
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


_WATCHED: list[Callable[[str, float | None], None]] = []
"""Who is told what is being done, where that is no terminal."""


def watch(told: Callable[[str, float | None], None]) -> None:
    """From now on tell this function what is being done, and which share of it is."""
    _WATCHED[:] = [told]


def tell(text: str, share: float | None = None) -> None:
    """Tell whoever watches."""
    for told in _WATCHED:
        told(text, share)


class Working:
    """Says what is being done and how far it is: `say("start 2 of 6", 0.33)`;
    without a share only the words change."""

    def __init__(self, bar: Any = None, task: Any = None):
        self._bar, self._task, self._share = bar, task, 0.0

    def __call__(self, text: str, share: float | None = None) -> None:
        tell(text, share)
        if self._bar is None:
            return
        from rich.markup import escape

        known = {} if share is None else {"completed": share, "total": 1.0}
        if share is not None and share < self._share:  # something else began: its own time, gone and left
            self._bar.reset(self._task)
        self._share = self._share if share is None else share
        self._bar.update(self._task, description=escape(text), **known)

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Out of the way of a question, until the block ends."""
        if self._bar is not None:
            self._bar.stop()
        yield
        if self._bar is not None:
            self._bar.start()


@contextlib.contextmanager
def working(title: str, wanted: bool = True) -> Iterator[Working]:
    """A line on the terminal while something takes long: what is done, a bar, time gone and time left.
    Silent where nobody watches."""
    if not (wanted and sys.stderr.isatty()):
        yield Working()
        return
    from rich import console, progress as p, table

    shown = console.Console(stderr=True)
    words = table.Column(ratio=1, no_wrap=True, overflow="ellipsis")  # what gives way where a line is short
    whole: dict[str, Any] = {"table_column": table.Column(no_wrap=True, min_width=7)}
    columns = [p.SpinnerColumn(), p.TextColumn("{task.description}", table_column=words)]
    if shown.width >= ROOM_FOR_A_BAR:
        columns.append(p.BarColumn(bar_width=12, table_column=table.Column(no_wrap=True, min_width=12)))
    columns += [p.TimeElapsedColumn(**whole), p.TextColumn("left"), p.TimeRemainingColumn(**whole)]
    with p.Progress(*columns, console=shown, transient=True, expand=True) as bar:
        yield Working(bar, bar.add_task(title, total=None))


class AtTerminal:
    """A terminal as commands see it, with a table that changes while something moves."""

    def __init__(self, json: bool, say: Working, opened: contextlib.ExitStack):
        self.quiet, self.say, self._opened, self._screens = json, say, opened, list[Any]()
        self.attended = not json and sys.stdin.isatty() and sys.stderr.isatty()

    def show(self, text: str) -> None:
        """A text for people that stays."""
        if not self.quiet:
            typer.echo(text)

    def announce(self, content: Mapping[str, Any], text: str) -> None:
        """What others wait for, at once."""
        if self.quiet:
            print_json(content)
        else:
            typer.echo(text)
        sys.stdout.flush()

    def table(self, title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table in place of the one before, where a terminal shows it.

        Args:
            title: above it.
            head: names of its columns.
            rows: the cells.
        """
        if self.quiet or not sys.stderr.isatty():
            return
        from rich.console import Console
        from rich.live import Live
        from rich.table import Table

        if not self._screens:  # not before the first motion: a question may stand there
            screen = Live(console=Console(stderr=True), transient=True)
            self._screens.append(self._opened.enter_context(screen))
        shown = Table(title=title)
        for name in head:
            shown.add_column(name, justify="right")
        for row in rows:
            shown.add_row(*row)
        self._screens[0].update(shown)

    def confirm(self, question: str) -> bool:
        """Whether the person says yes."""
        with self.say.away():
            return typer.confirm(question, err=True)

    def prompt(self, question: str) -> str:
        """What the person types."""
        with self.say.away():
            return typer.prompt(question, err=True)


@contextlib.contextmanager
def at_terminal(title: str, json: bool) -> Iterator[AtTerminal]:
    """The terminal while a command runs; with a title it says what is being done."""
    with contextlib.ExitStack() as opened:
        say = opened.enter_context(working(title, bool(title) and not json))
        yield AtTerminal(json, say, opened)
