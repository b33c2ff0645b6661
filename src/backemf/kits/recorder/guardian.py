"""The guardian: a process that owns the port, plays motions, and cuts the torque when its partner is gone.

It is told on its input and answers on its output, a JSON object a line. The end of its input is the end of
its partner; signals, errors and a full disk end a motion too. It runs in a session of its own, so that a
terminal's Ctrl-C reaches the partner alone.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...codec import load
from ...errors import BackemfError
from ...planning.motions import Motion, SafetyLimits
from .buses import Bus, of_job
from .preflight import zero_of
from .session import Session

PULSE, BEAT = "pulse", 0.15
"""An event that says no more than that the guardian runs, and how often it comes [s]."""
FROZEN = 0.8
"""A partner answers every pulse while something moves: one that says nothing for so long is frozen [s]."""
PATIENCE = 1.0
"""How long an answer that matters waits for a partner that does not read [s]."""
SIGNALS = ("SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT", "SIGXFSZ")


class Partner:
    """Who asked for all this: what it says, whether it is there, and what it is told."""

    def __init__(self, reading: int, writing: int):
        self._reading, self._writing = reading, writing
        self._buffer, self.gone, self.wish = b"", False, ""
        self._waiting: list[dict[str, Any]] = []
        self.heard = time.monotonic()
        """When it last said something, by the clock of this process [s]."""
        self._telling = threading.Lock()
        os.set_blocking(writing, False)

    def tell(self, event: dict[str, Any]) -> None:
        """A live line is dropped where nobody reads; everything else waits for a moment."""
        content, until = (json.dumps(event) + "\n").encode(), time.monotonic() + PATIENCE
        live = event.get("event") in ("live", PULSE)
        with self._telling:
            while content and not self.gone:
                try:
                    content = content[os.write(self._writing, content) :]
                    live = False  # half a line would be worse than none
                except BlockingIOError:
                    if live or time.monotonic() > until:
                        return
                    time.sleep(0.005)
                except OSError:
                    self.gone = True

    def pulse(self) -> None:
        """Say again and again that this process runs, whatever its work waits for; until the partner is
        gone."""
        while not self.gone:
            self.tell({"event": PULSE})
            time.sleep(BEAT)

    def listen(self, seconds: float) -> None:
        """Take in what the partner says."""
        while True:
            ready, _, _ = select.select([self._reading], [], [], seconds)
            if not ready:
                return
            content = os.read(self._reading, 65536)
            if not content:
                self.gone = True
                return
            self._buffer, self.heard = self._buffer + content, time.monotonic()
            *lines, self._buffer = self._buffer.split(b"\n")
            for line in lines:
                said = json.loads(line)
                if said.get("do") == "stop":
                    self.wish = str(said.get("reason", "stopped"))
                elif said.get("do") != "alive":
                    self._waiting.append(said)
            seconds = 0.0

    def stop_reason(self) -> str:
        self.listen(0.0)
        frozen = time.monotonic() - self.heard
        if frozen > FROZEN and not (self.wish or self.gone):
            return f"the program that asked for this motion has said nothing for {frozen:.1f} s"
        return self.wish or ("the program that asked for this motion is gone" if self.gone else "")

    def orders(self) -> Iterator[dict[str, Any]]:
        """One after another, until the partner is gone or a signal came."""
        while not (self.gone and not self._waiting) and not self.wish:
            if self._waiting:
                yield self._waiting.pop(0)
            else:
                self.listen(0.1)


def main() -> None:
    """Take the first line of the input for the job, open its bus, and follow orders until the end."""
    partner = Partner(sys.stdin.fileno(), os.dup(sys.stdout.fileno()))

    def stop(number: int, frame: Any) -> None:
        partner.wish = f"the guardian got the signal {signal.Signals(number).name}"

    for name in SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
    bus: Bus | None = None
    try:
        orders = partner.orders()
        job = next(orders, None)
        if job is None:
            return
        bus = of_job(job)
        bus.open()
        go_first()
        threading.Thread(target=partner.pulse, daemon=True).start()
        session = _survey(bus, job, partner)
        for order in orders:
            if order["do"] == "play":
                motion = load(order["motion"], "the motion", Motion)
                done = session.play(motion, Path(order["path"]), order["head"])
                partner.tell({"event": "done", "motion": motion.name, **done})
            elif order["do"] == "limits":
                session.limits = load(order["limits"], "the limits", SafetyLimits)
            elif order["do"] == "bye":
                break
    except BackemfError as error:
        partner.tell({"event": "error", "text": str(error)})
    except Exception as error:
        partner.tell({"event": "error", "text": f"{type(error).__name__}: {error}"})
        raise
    finally:
        if bus is not None:
            with contextlib.suppress(Exception):
                bus.close()
        partner.tell({"event": "bye"})


def _survey(bus: Bus, job: dict[str, Any], partner: Partner) -> Session:
    """Who is there and in which state, told to the partner before anything moves."""
    ids = {int(id): name for id, name in job["ids"].items()}
    noise = _lasting_noise(bus)
    servos = bus.survey(list(ids))
    missing = [id for id in ids if id not in servos]
    where = bus.elsewhere(missing) if missing else ""
    first = {}
    for _ in range(5):
        for reply in bus.sample([id for id in servos if id not in first]):
            first[reply.id] = reply
        if len(first) == len(servos):
            break
    noise = max(noise, _lasting_noise(bus))
    shown = []
    for id, servo in servos.items():
        reply = first.get(id)
        seen = None if reply is None else servo.reply_values(reply.values)
        alarm = "" if reply is None else reply.alarm
        shown.append({**servo.to_dict(), "name": ids[id], "seen": seen, "alarm": alarm})
    answer = {"servos": shown, "missing": missing, "elsewhere": where, "noise": noise}
    partner.tell({"event": "survey", **answer, "watchdog": bus.has_watchdog})
    offsets = {s["id"]: zero_of(job.get("zero", "middle"), s["seen"]) for s in shown}
    return Session(
        bus=bus,
        names=ids,
        servos=servos,
        offsets=offsets,
        limits=load(job["limits"], "the limits", SafetyLimits),
        say=partner.tell,
        stopped=partner.stop_reason,
        rate=float(job["rate"]),
        speed=float(job.get("speed", 1.0)),
    )


def _lasting_noise(bus: Bus) -> int:
    """Bytes of another master, who goes on talking: an answer that is merely late comes once."""
    return bus.talk() and bus.talk()


def child_environment() -> dict[str, str]:
    """Of a Python process that finds this package where this one does."""
    paths = [str(Path(__file__).resolve().parents[3]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


NICE = -15
"""What the system calls eager: -20 is the most."""


def go_first() -> None:
    """Go before other programs; without the right to do so, nothing changes."""
    with contextlib.suppress(OSError, AttributeError):  # not allowed, or a system without such numbers
        os.setpriority(os.PRIO_PROCESS, 0, NICE)


if __name__ == "__main__":
    main()
