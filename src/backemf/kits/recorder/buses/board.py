"""A microcontroller that prints a table and takes commands, a line each.

It answers `?` with `# position[deg],current[mA],...`, the names and units of its columns; `time[us]` among
them is its own clock. Then it prints a row of numbers again and again, at its own pace. `torque 1` and
`torque 0` switch, and are answered by `# torque 1`; `goal 0.5236` is an angle in radians. It should switch
off by itself when it has heard nothing for a while.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .... import units
from ....errors import InvalidValue
from ....logs.log import UNITS
from ....logs.names import recognise
from .bus import Bus, BusServo, Reply, ReplyColumn, package, port_loss, port_refusal

WAIT = 0.05
"""How long a row may take [s]."""
PATIENCE = 3.0
"""How long a board may take to start after its port was opened [s]."""
SILENT = 0.02
DRIFT = 2e-4
"""Share by which two clocks may differ: so fast the estimate of their distance may grow again."""


class BoardBus(Bus):
    """One joint behind one microcontroller."""

    name = "lines"

    def __init__(self, port: str, baud: int | None = None):
        self.port_name, self.baud = port, baud or 115_200
        self._port: Any = None
        self._buffer = b""
        self._columns: tuple[ReplyColumn, ...] = ()
        self._clock: int | None = None
        self._second = 1.0
        self._distance: tuple[float, float] | None = None
        """(host time minus the board's time at least, when that was seen)."""
        self._said: list[str] = []
        self._id = 1

    def open(self) -> None:
        with package("pyserial", "lines"):
            import serial
        try:
            self._port = serial.Serial(self.port_name, self.baud, timeout=SILENT, exclusive=True)
        except (OSError, ValueError) as error:
            raise port_refusal(self.port_name, error) from None

    def close(self) -> None:
        if self._port is not None:
            with contextlib.suppress(OSError):
                self._port.close()

    def _send(self, line: str) -> float:
        with port_loss(self.port_name):
            self._port.write(f"{line}\n".encode())
        return time.monotonic()

    def _rows(self, seconds: float) -> list[tuple[float, list[float]]]:
        """Rows that have come, each with the time it was there; at least one, if one comes in time."""
        until, rows = time.monotonic() + seconds, list[tuple[float, list[float]]]()
        while True:
            with port_loss(self.port_name):
                content = self._port.read(self._port.in_waiting or 1)
            now = time.monotonic()
            self._buffer += content
            *whole, self._buffer = self._buffer.split(b"\n")
            for line in whole:
                text = line.decode("ascii", "replace").strip()
                if text.startswith("#"):
                    self._said.append(text)
                    continue
                with contextlib.suppress(ValueError):
                    rows.append((now, [float(word) for word in text.split(",")]))
            if rows or now > until:
                return rows

    def _ask(self, question: str, answer: str, seconds: float) -> str:
        """Ask until a remark that begins so comes back."""
        until = time.monotonic() + seconds
        self._said = []
        while time.monotonic() < until:
            self._send(question)
            self._rows(WAIT)
            found = [text for text in self._said if text.startswith(answer)]
            if found:
                return found[-1]
        return ""

    def scan(self) -> list[int]:
        return [self._id] if self._ask("?", "# ", PATIENCE) else []

    def survey(self, ids: Sequence[int]) -> dict[int, BusServo]:
        if len(ids) != 1:
            raise InvalidValue(f"{len(ids)} joints were asked for; a microcontroller's lines are one joint's")
        head = self._ask("?", "# ", PATIENCE)
        if not head:
            return {}
        self._id = ids[0]
        columns = []
        for k, word in enumerate(head.lstrip("# ").split(",")):
            guess = recognise(word.strip())
            if guess.signals == ("time",):
                self._clock, self._second = k, units.factor(guess.unit or "s", "s", "time")
                columns.append(ReplyColumn("clock", "s", self._second))
            elif len(guess.signals) == 1 and guess.signals[0] in UNITS:
                unit = UNITS[guess.signals[0]]
                factor = units.factor(guess.unit, unit, word) if guess.unit and unit != "degC" else 1.0
                columns.append(ReplyColumn(guess.signals[0], unit, factor))
            else:
                columns.append(ReplyColumn(guess.bare or f"column {k}", "1"))
        self._columns = tuple(columns)
        named = [c.name for c in columns]
        problems = (
            () if "position" in named else (f"its columns are {', '.join(named)}; expected a position",)
        )
        return {self._id: BusServo(id=self._id, model="lines", columns=self._columns, problems=problems)}

    def elsewhere(self, ids: Sequence[int]) -> str:
        return (
            "it does not answer ? with a line such as # position[deg],current[mA]; is its baud rate"
            f" {self.baud}, and does its program take commands?"
        )

    def sample(self, ids: Sequence[int]) -> list[Reply]:
        if not ids:
            return []
        replies = []
        for arrived, row in self._rows(WAIT):
            if len(row) == len(self._columns):
                replies.append(Reply(self._id, self._stamp(arrived, row), tuple(row)))
        return replies

    def _stamp(self, arrived: float, row: list[float]) -> float:
        """When a row was true: its own clock, set by the row that was fastest on its way."""
        if self._clock is None:
            return arrived
        own = self._second * row[self._clock]
        distance = arrived - own
        if self._distance is not None:
            least, seen = self._distance
            distance = min(distance, least + DRIFT * (arrived - seen))
        self._distance = distance, arrived
        return own + distance

    def ask(self, goals: Mapping[int, float]) -> float:
        for goal in goals.values():
            self._send(f"goal {goal:.5f}")
        return time.monotonic()

    def torque(self, ids: Iterable[int], on: bool) -> list[int]:
        ids = list(ids)
        self.switched = time.monotonic()
        return [] if self._ask(f"torque {int(on)}", f"# torque {int(on)}", 1.0) else ids
