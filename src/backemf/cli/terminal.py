"""What every command shares: its options, how it prints, shows progress and ends."""

from __future__ import annotations

import contextlib
import json as json_
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 if there are findings.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite what exists.")]
Maps = Annotated[
    list[str] | None,
    typer.Option(
        "--map", help="How to read a signal: position=motor_pos[deg],-1. May be given several times."
    ),
]
Between = Annotated[
    tuple[float, float] | None, typer.Option("--between", help="Keep only this part of each recording [s].")
]


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
    number = float(value)
    return number if math.isfinite(number) else None


def _speaks_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def plain_findings(findings: Iterable[Any]) -> list[dict[str, Any]]:
    """Findings as they stand in every `--json`."""
    return [f.to_dict() for f in findings]


def print_findings(findings: Iterable[Any], title: str = "Findings") -> None:
    listed = [f"  - {f.code}: {f.text}\n    {f.remedy}" for f in findings]
    if listed:
        typer.echo(f"\n{title}:\n" + "\n".join(listed))


def end(findings: Iterable[Any], strict: bool) -> None:
    """Exit with 1 if the caller wanted no findings and there are some."""
    if strict and list(findings):
        raise typer.Exit(1)


def keep(path: Path | None, force: bool) -> None:
    """Refuse, before any work is done, to write over a file of the user's."""
    from ..files import may_write

    if path is not None:
        may_write(path, force=force)


class Working:
    """Says what is being done and how far it is: `say("start 2 of 6", 0.33)`;
    without a share only the words change."""

    def __init__(self, bar: Any = None, task: Any = None):
        self._bar, self._task = bar, task

    def __call__(self, text: str, share: float | None = None) -> None:
        if self._bar is None:
            return
        from rich.markup import escape

        self._bar.update(
            self._task,
            description=escape(text),
            **({} if share is None else {"completed": share, "total": 1.0}),
        )


@contextlib.contextmanager
def working(title: str, wanted: bool = True) -> Iterator[Working]:
    """A line on the terminal while something takes long: what is done, a bar, time gone and time left.
    Silent where nobody watches."""
    if not (wanted and sys.stderr.isatty()):
        yield Working()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield Working(bar, bar.add_task(title, total=None))
