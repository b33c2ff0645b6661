"""What was asked, from a command line: words, or a table of times and values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

ENDINGS = (".csv", ".txt", ".tsv")
Named = Annotated[
    str | None,
    typer.Option(
        "--command",
        help='What was asked as a function of time, in place of its samples: "square from=0deg to=180deg'
        ' period=2s at=0.5s". Its unit says what it asks for: a position where it has none.',
    ),
]


def command_of(text: str, unit: str = "") -> Any:
    """ "step size=1rad at=0.1s" -> that command; `volts.csv` -> its values, each held until the next. `unit`
    is what it must be in."""
    from .... import signal

    if not text.lower().endswith(ENDINGS):
        return signal.read(text, unit)
    return _table(Path(text), unit)


def _table(path: Path, unit: str) -> Any:
    from .... import signal, units
    from ....errors import InvalidValue, MissingValue
    from ....logs import names
    from ....logs.readers import delimited as delimited

    if not path.is_file():
        raise MissingValue(
            f"there is no file {str(path)!r}; expected a table with the columns time and command"
        )
    (recording,) = delimited.entries(path)
    guesses = {c.name: names.recognise(c.name, c.unit) for c in recording.channels}
    times = [name for name, guess in guesses.items() if guess.signals == ("time",)]
    others = [name for name in guesses if name not in times]
    if len(times) != 1 or len(others) != 1:
        found = ", ".join(repr(name) for name in guesses)
        raise InvalidValue(f"{path} has the columns {found}; expected two: time, and the command")
    values: dict[str, Any] = {c.name: c.values for c in recording.channels}
    t, u = guesses[times[0]].unit, guesses[others[0]].unit
    clock = values[times[0]] * (units.factor(t, "s", "time") if t else 1.0)
    asked = values[others[0]] * (units.factor(u, unit or "1", "command") if u else 1.0)
    return signal.held(clock, asked)
