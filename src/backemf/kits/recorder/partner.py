"""The guardian's partner: starts it, hears it, and takes its place at the port if it is killed."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from .buses import BusError, of_job
from .guardian import PULSE, child_environment
from .reader import close_for
from .session import UNCONFIRMED

NO_PULSE = 0.7
"""A guardian whose pulse does not come for so long is frozen [s]."""
PATIENCE = 8.0
"""How long a guardian that was told to stop may take [s]."""


class GuardianLost(BusError):
    """The guardian ended without a word."""


class SignalInterrupt(KeyboardInterrupt):
    """A signal that ends the program, as Ctrl-C does."""


class Guardian:
    """A guardian process. Leaving the block ends it, and with it the torque."""

    def __init__(self, job: dict[str, Any]):
        self.job, self._said_bye = job, False
        self.path: Path | None = None
        """The log that is being written."""
        self._process: Any = None
        self._buffer, self._frozen = b"", ""
        self.help_needed = ""
        """What is left to do by hand, in words, where a servo did not confirm that its torque is off."""

    def __enter__(self) -> Guardian:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "backemf.kits.recorder.guardian"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env=child_environment(),
        )
        self.send(self.job)
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, order: dict[str, Any]) -> None:
        """Give an order; one that is gone gets none."""
        with contextlib.suppress(OSError, ValueError):  # its end of the line may be closed already
            self._process.stdin.write((json.dumps(order) + "\n").encode())
            self._process.stdin.flush()

    def hear(self, within: float | None = None) -> dict[str, Any]:
        """The next event; an error of the guardian's is raised here. One that says nothing `within` some
        seconds, or has no pulse, is ended, and the torque cut from here."""
        begin = time.monotonic()
        while (event := self._event(within))["event"] == PULSE:
            self.send({"do": "alive"})
            if within is not None and time.monotonic() - begin > within:
                self._end_frozen(within)
                raise GuardianLost(self._take_over())
        if event["event"] == "bye":
            self._said_bye = True
            raise GuardianLost("the guardian has ended")
        if event["event"] == "error":
            raise BusError(event["text"])
        if event["event"] == "done" and UNCONFIRMED in event["reason"]:
            self.help_needed = event["reason"]
        return event

    def _event(self, within: float | None) -> dict[str, Any]:
        """What the guardian says next, its pulse too."""
        line = self._line(None if within is None else min(within, NO_PULSE))
        if not line:
            raise GuardianLost(self._take_over())
        return json.loads(line)

    def _end_frozen(self, seconds: float) -> None:
        self._frozen = f"said nothing for {seconds:g} s and was ended"
        self._process.kill()

    def _line(self, within: float | None) -> bytes:
        """The next whole line; empty where there will be none."""
        out = self._process.stdout.fileno()
        while b"\n" not in self._buffer:
            if not select.select([out], [], [], within)[0]:
                self._end_frozen(within or 0.0)
                return b""
            content = os.read(out, 65536)
            if not content:
                return b""
            self._buffer += content
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _take_over(self) -> str:
        """Cut the torque in the guardian's place."""
        code = self._process.wait()
        self._said_bye = True
        how = self._frozen or (f"ended by signal {-code}" if code < 0 else f"ended with {code}")
        reason = f"the guardian process {how}"
        left = self.help_needed = cut(self.job)
        reason = f"{reason}; {left or 'the torque was switched off in its place'}"
        if self.path is not None:
            close_for(self.path, reason)
        return reason

    def stop(self, reason: str) -> None:
        """Ask for the end, and wait until the torque is off."""
        self.send({"do": "stop", "reason": reason})
        self._end()

    def _end(self) -> None:
        timer = threading.Timer(PATIENCE, self._process.kill)
        timer.start()
        try:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            while not self._said_bye:
                with contextlib.suppress(BusError):
                    self.hear()
            self._process.wait()
        finally:
            timer.cancel()
            self._process.stdout.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None and not self._said_bye:
            signals = {KeyboardInterrupt: "Ctrl-C", SignalInterrupt: str(error)}
            self.send({"do": "stop", "reason": f"stopped: {signals.get(kind, f'{kind.__name__}: {error}')}"})
        else:
            self.send({"do": "bye"})
        self._end()


def cut(job: dict[str, Any]) -> str:
    """Torque off from here, in a job whose guardian is gone; what is left to do by hand, in words."""
    ids = [int(id) for id in job["ids"]]
    try:
        bus = of_job(job)
        bus.open()
        try:
            silent = bus.torque(ids, False)
        finally:
            bus.close()
    except BusError as error:
        return f"the torque could not be switched off ({error}): switch off the supply"
    if silent:
        return f"the torque of {', '.join(map(str, silent))} {UNCONFIRMED}: switch off the supply"
    return ""


@contextlib.contextmanager
def signals_as_interruptions() -> Iterator[Callable[[], None]]:
    """SIGTERM and a closed terminal end the block as Ctrl-C does, so that the torque goes off first. What is
    given raises again what came at a moment at which Python drops exceptions, such as in a destructor."""
    came: list[int] = []

    def raise_signal(number: int, frame: Any) -> None:
        came.append(number)
        raise_pending()

    def raise_pending() -> None:
        if came:
            name = signal.Signals(came[0]).name
            raise KeyboardInterrupt if name == "SIGINT" else SignalInterrupt(name)

    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is None or (name == "SIGINT" and signal.getsignal(number) is signal.SIG_IGN):
                continue  # nobody at the keyboard
            before[number] = signal.signal(number, raise_signal)
    try:
        yield raise_pending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
