"""A virtual microcontroller on a pseudo-terminal: prints a table and takes commands."""

from __future__ import annotations

import math
import os
import select
import time

import numpy as np

from . import terminal
from .faults import Faults
from .plant import Plant

PERIOD = 0.005
"""Between two rows [s]."""
HEAD = "# time[us],position[deg],velocity[rpm],current[mA],supply[V],temperature[degC]"
SILENCE = 0.5
"""It switches off by itself when it has heard nothing for so long [s]."""


class Lines:
    """One joint."""

    def __init__(self, plant: Plant, faults: Faults, speed: float, noise: float, seed: int):
        self.plant, self.faults, self.speed, self.noise = plant, faults, speed, noise
        self.random = np.random.default_rng(seed)
        self.master, self._slave, self.name = terminal.opened()
        self.began = time.monotonic()
        self._on, self._heard = False, 0.0
        self._listened = False

    def run(self, seconds: float | None = None) -> None:
        until = math.inf if seconds is None else time.monotonic() + seconds
        try:
            self._run(until)
        finally:
            os.close(self._slave)
            os.close(self.master)

    def _run(self, until: float) -> None:
        buffer, next_row = b"", time.monotonic()
        while time.monotonic() < until:
            ready, _, _ = select.select([self.master], [], [], max(0.0, next_row - time.monotonic()))
            self.plant.advance(self.speed * (time.monotonic() - self.began))
            if ready:
                try:
                    buffer += os.read(self.master, 4096)
                except OSError:
                    continue
                *lines, buffer = buffer.split(b"\n")
                for line in lines:
                    self._heard = time.monotonic()
                    self._take(line.decode("ascii", "replace").split())
            if self._on and time.monotonic() - self._heard > SILENCE:
                self._switch(False)
            if time.monotonic() >= next_row:
                next_row = max(next_row + PERIOD, time.monotonic())
                self._row()

    def _take(self, words: list[str]) -> None:
        self._listened = True
        if words == ["?"]:
            self._print(HEAD)
        elif len(words) == 2 and words[0] == "torque":
            self._switch(words[1] == "1")
            self._print(f"# torque {words[1]}")
        elif len(words) == 2 and words[0] == "goal":
            self.plant.ask(0, self.plant.target, float(words[1]))

    def _switch(self, on: bool) -> None:
        self._on = on
        self.plant.enable(0, on)

    def _row(self) -> None:
        if not self._listened or self.faults.is_silent(self.plant.time):
            return
        seen = self.plant.seen(0)
        current = seen["current"] + 4e-3 * self.noise * float(self.random.standard_normal())
        self._print(
            f"{1e6 * self.plant.time / self.speed:.0f},{math.degrees(seen['position']):.3f},"
            f"{seen['velocity'] * 30 / math.pi:.2f},{1e3 * current:.0f},{seen['supply']:.2f},"
            f"{seen['temperature']:.0f}"
        )

    def _print(self, line: str) -> None:
        _, ready, _ = select.select([], [self.master], [], 0.0)
        if ready:  # nobody reads, as with a board whose port is closed
            os.write(self.master, f"{line}\r\n".encode())
