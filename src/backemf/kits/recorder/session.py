"""Playing motions on a bus and writing down what comes back: what the guardian does while it lives; limits
hold while something moves, and sentences say which was broken."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...planning.motions import SETTLE, Motion, SafetyLimits
from .buses.bus import Bus, BusError, BusServo, Reply
from .reader import RecordingJournal

SHOWN = 0.1
"""Between two lines of the live view [s]."""
BLOCKED, STILL = 0.4, 0.01
"""A joint that moves less than the second [rad] for as long as the first [s] stands still."""
UNCONFIRMED = "could not be confirmed off"
CUT_TRIES = 2.0
"""How long the torque is tried to be switched off before a person is called for help [s]."""


class StopMotion(Exception):
    """Why a motion ends before its time."""


@dataclass(kw_only=True)
class Session:
    """Servos on an open bus, each with the joint's name and its zero."""

    bus: Bus
    names: Mapping[int, str]
    servos: Mapping[int, BusServo]
    offsets: Mapping[int, float]
    """Of each joint's zero from the servo's own [rad]."""
    limits: SafetyLimits
    say: Callable[[dict[str, Any]], None]
    stopped: Callable[[], str]
    """Why to stop, in words; empty while nobody wants to."""
    rate: float = 250.0
    speed: float = 1.0
    """How much faster than real the servos' time runs: 1 for those that are real."""
    _heard: dict[int, float] = field(default_factory=dict)
    _on: set[int] = field(default_factory=set)
    _asked: dict[int, float] = field(default_factory=dict)
    """Where each servo was last asked to be [rad]."""
    _stood: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Since when each servo has been where it is [s], and where that is [rad]."""
    _turn: int = 0

    @property
    def ids(self) -> list[int]:
        return list(self.names)

    @property
    def _number(self) -> dict[int, int]:
        """What the log calls each servo."""
        return {id: k for k, id in enumerate(self.names)}

    def play(self, motion: Motion, path: Path, head: dict[str, Any]) -> dict[str, Any]:
        """Record one motion. The torque is off afterwards, whatever happens.

        Args:
            motion: what the joints are asked.
            path: of the new log.
            head: its first line: what is known before.

        Returns:
            How it ended, why, and for each joint the samples, their rate [Hz], jitter [s] and losses.
        """
        journal = RecordingJournal(path, head)
        counted = _SampleCounter(self.ids)
        ended, reason = "early", ""
        try:
            home = self._enable()
            starts = self._starts(motion, home)
            self._go(home, starts)
            self._record(motion, journal, counted, starts)
            ended = "complete"
            self._back(motion, home)
        except (StopMotion, BusError) as error:
            ended, reason = "early", str(error)
        except OSError as error:  # of the log's file: those of the port are errors of the bus
            ended, reason = "early", f"the log cannot be written: {error.strerror or error}"
        except BaseException as error:
            ended, reason = "early", f"{type(error).__name__}: {error}"
            raise
        finally:
            left = self.cut()
            reason = "; ".join(part for part in (reason, left) if part)
            journal.end(ended, reason, **counted.facts())
        return {"ended": ended, "reason": reason, **counted.facts()}

    def _enable(self) -> dict[int, float]:
        """Torque on where the joints are: {id: position [rad] of the servo}."""
        self.bus.prepare(self.ids, self.limits.silence)
        home = {}
        for _ in range(20):
            for reply in self.bus.sample([id for id in self.ids if id not in home]):
                home[reply.id] = self.servos[reply.id].reply_values(reply.values)["position"]
                self._look(reply, enabled=False)
            if len(home) == len(self.names):
                break
        else:
            silent = ", ".join(self.names[id] for id in self.ids if id not in home)
            raise StopMotion(f"{silent} did not say where it is, so its torque stays off")
        self._heard, self._stood = dict.fromkeys(self.ids, time.monotonic()), {}
        self._ask(home)
        self._on = set(self.ids)
        silent = self.bus.torque(self.ids, True)
        if silent:
            raise StopMotion(
                f"the torque of {', '.join(self.names[id] for id in silent)} cannot be switched on"
            )
        self._ask(home)
        return home

    def _ask(self, goals: Mapping[int, float]) -> float:
        """Ask servos to be somewhere [rad]; when that was sent [s]."""
        self._asked |= goals
        return self.bus.ask(goals)

    def _starts(self, motion: Motion, home: Mapping[int, float]) -> dict[int, float]:
        starts = {}
        for id, name in self.names.items():
            track = motion.track(name)
            starts[id] = home[id] if track is None else float(track.at(np.zeros(1))[0]) + self.offsets[id]
        return starts

    def _go(self, here: Mapping[int, float], there: Mapping[int, float]) -> None:
        """A smooth ramp, and a rest at its end."""
        far = max((abs(there[id] - here[id]) for id in there), default=0.0)
        seconds = self.limits.way_time(far) / self.speed
        begin, pace, told = time.monotonic(), _Pace(self.rate), 0.0
        while True:
            t = time.monotonic() - begin
            if t - told > SHOWN:
                told = t
                self.say({"event": "on the way"})
            x = 1.0 if seconds <= 0 else min(1.0, t / seconds)
            share = x * x * (3.0 - 2.0 * x)
            self._ask({id: here[id] + share * (there[id] - here[id]) for id in there})
            self._watch(self.bus.sample(self.ids), "on the way to the start: ")
            if t > seconds + SETTLE / self.speed:
                return
            pace()

    def _record(
        self, motion: Motion, journal: RecordingJournal, counted: _SampleCounter, starts: Mapping[int, float]
    ) -> None:
        players = {
            id: (track, track.player())
            for id, name in self.names.items()
            if (track := motion.track(name)) is not None
        }
        number, told = self._number, dict[int, float]()
        begin, pace, shown = time.monotonic(), _Pace(self.rate * self.speed), 0.0
        for id, k in number.items():
            journal.switch(0.0, k, True)
            told[id] = self.bus.reached_goal(id, starts[id])
            journal.goal(0.0, k, told[id] - self.offsets[id])
        while (t := (time.monotonic() - begin) * self.speed) < motion.duration:
            for id in [
                id for id, (track, _) in players.items() if track.coast is not None and t >= track.coast
            ]:
                del players[id]
                self._release(id)
                journal.switch((self.bus.switched - begin) * self.speed, number[id], False)
            goals = {id: at(t) + self.offsets[id] for id, (_, at) in players.items()}
            if goals:
                sent = (self._ask(goals) - begin) * self.speed
                for id, goal in goals.items():
                    given = self.bus.reached_goal(id, goal)
                    if given != told[id]:
                        told[id] = given
                        journal.goal(sent, number[id], given - self.offsets[id])
            replies = self._sample(journal, counted, begin)
            self._watch(replies)
            if time.monotonic() - shown > SHOWN:
                shown = time.monotonic()
                if len(replies) == len(self.names):  # else the question would wait for one that is silent
                    self._still_on()
                self._show(motion, t, counted.rate(t), replies, told)
            pace()

    def _sample(self, journal: RecordingJournal, counted: _SampleCounter, begin: float) -> list[Reply]:
        """What all servos say now, written down with what is lost; `begin` is when the motion did [s]."""
        replies, number = self.bus.sample(self.ids), self._number
        for reply in replies:
            stamp = (reply.time - begin) * self.speed
            journal.sample(stamp, number[reply.id], reply.values)
            counted.stamps[reply.id].append(stamp)
        for id in set(self.ids) - {reply.id for reply in replies}:
            journal.lose((time.monotonic() - begin) * self.speed, number[id], "no answer")
            counted.lost[id] += 1
        return replies

    def _still_on(self) -> None:
        """One joint after another: a servo that started anew says nothing of it, and no longer follows."""
        self._turn += 1
        on = [id for id in self.ids if id in self._on]
        if on and self.bus.is_on(on[self._turn % len(on)]) is False:
            name = self.names[on[self._turn % len(on)]]
            raise StopMotion(f"the torque of {name} went off by itself: a brown-out, or its own protection")

    def _release(self, id: int) -> None:
        """Torque off in the middle of a motion: a joint that coasts."""
        if self.bus.torque([id], False):
            raise StopMotion(f"the torque of {self.names[id]} cannot be switched off to let it coast")
        self._on.discard(id)

    def _back(self, motion: Motion, home: Mapping[int, float]) -> None:
        """To where everything was before, so that nothing falls when the torque goes off."""
        here = {}
        for reply in self.bus.sample(self.ids):
            if reply.id in self._on:
                here[reply.id] = self.servos[reply.id].reply_values(reply.values)["position"]
        with contextlib.suppress(StopMotion):
            self._go(here, {id: home[id] for id in here})

    def _look(self, reply: Reply, where: str = "", *, enabled: bool = True) -> None:
        """A reply that breaks a limit ends the motion; `where` comes before the words."""
        name, servo, offset = self.names[reply.id], self.servos[reply.id], self.offsets[reply.id]
        broken = violation(name, servo, reply, self.limits, offset, enabled=enabled)
        broken = broken or (self._standstill(reply, offset) if enabled else "")
        if broken:
            raise StopMotion(f"{where}{broken}")

    def _standstill(self, reply: Reply, offset: float) -> str:
        """That a joint stands still far from where it is asked to be, in words; empty where it does not."""
        q, asked = self.servos[reply.id].reply_values(reply.values)["position"], self._asked.get(reply.id)
        since, there = self._stood.get(reply.id, (reply.time, math.inf))
        far = (
            reply.id in self._on
            and asked is not None
            and abs(asked - q) > (self.limits.following or math.inf)
        )
        if not far or abs(q - there) > STILL:
            self._stood[reply.id] = (reply.time, q)
            return ""
        if (reply.time - since) * self.speed < BLOCKED or asked is None:
            return ""
        return (
            f"{self.names[reply.id]} is asked for {asked - offset:.3f} rad and stands at {q - offset:.3f}: is"
            f" it blocked, or too weak? (--limit following={self.limits.following:g})"
        )

    def _watch(self, replies: list[Reply], where: str = "") -> None:
        """Everything that ends a motion: a wish, a limit, a servo that is silent."""
        wish = self.stopped()
        if wish:
            raise StopMotion(wish)
        now = time.monotonic()
        for reply in replies:
            self._heard[reply.id] = reply.time
            self._look(reply, where)
        for id, heard in self._heard.items():
            if now - heard > self.limits.silence:
                raise StopMotion(f"{where}{self.names[id]} has not answered for {now - heard:.2f} s")

    def _show(
        self, motion: Motion, t: float, rate: float, replies: list[Reply], told: Mapping[int, float]
    ) -> None:
        joints = []
        for reply in replies:
            seen = self.servos[reply.id].reply_values(reply.values)
            error = told[reply.id] - seen["position"]
            seen["position"] -= self.offsets[reply.id]
            joints.append({"joint": self.names[reply.id], "error": error, **seen})
        self.say({"event": "live", "motion": motion.name, "time": t, "rate": rate, "joints": joints})

    def cut(self) -> str:
        """Torque off, tried until every servo confirms it; what to do by hand where one does not."""
        until, silent = time.monotonic() + CUT_TRIES, self.ids
        while time.monotonic() < until:
            with contextlib.suppress(BusError):
                silent = self.bus.torque(silent, False)
                if not silent:
                    break
            time.sleep(0.02)
        self._on = set()
        if not silent:
            with contextlib.suppress(BusError):
                self.bus.restore()
            return ""
        named = ", ".join(self.names[id] for id in silent)
        return f"the torque of {named} {UNCONFIRMED}: switch off its supply"


class _Pace:
    """Sleeps until the next cycle is due; one that is late starts at once."""

    def __init__(self, rate: float):
        self.period, self.next = 1.0 / rate, time.monotonic()

    def __call__(self) -> None:
        self.next += self.period
        wait = self.next - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        elif wait < -self.period:
            self.next = time.monotonic()


class _SampleCounter:
    """Samples, rate, jitter and losses as they come."""

    def __init__(self, ids: Iterable[int]):
        self.stamps: dict[int, list[float]] = {id: [] for id in ids}
        self.lost = dict.fromkeys(self.stamps, 0)

    def rate(self, t: float) -> float:
        """Samples a second so far, of the slowest joint."""
        return min(len(stamps) for stamps in self.stamps.values()) / max(t, 1e-3)

    def facts(self) -> dict[str, Any]:
        rows = []
        for id, stamps in self.stamps.items():
            steps = np.diff(stamps) if len(stamps) > 1 else np.array([np.inf])
            known = bool(np.isfinite(steps).all())
            rows.append(
                {
                    "samples": len(stamps),
                    "rate": round(1.0 / float(np.median(steps)), 2) if known else 0.0,
                    "jitter": round(float(np.std(steps)), 6) if known else 0.0,
                    "lost": self.lost[id],
                }
            )
        return {"joints": rows}


def violation(
    name: str, servo: BusServo, reply: Reply, limits: SafetyLimits, offset: float, *, enabled: bool = True
) -> str:
    """Which limit a reply breaks, in words; empty where none. Motion is judged as the joint counts it."""
    seen = servo.reply_values(reply.values)
    if reply.alarm and enabled:
        return f"{name} reports {reply.alarm}"
    q = seen["position"] - offset
    if limits.position_low is not None and q < limits.position_low:
        return f"{name} is at {q:.3f} rad, below its limit of {limits.position_low:g}"
    if limits.position_high is not None and q > limits.position_high:
        return f"{name} is at {q:.3f} rad, above its limit of {limits.position_high:g}"
    return over(name, seen, limits, servo)


def over(name: str, seen: Mapping[str, float], limits: SafetyLimits, servo: BusServo) -> str:
    """Which limit is broken of those that do not depend on where a joint is.

    Args:
        name: of the joint.
        seen: what its servo says, in SI.
        limits: that are given.
        servo: what it says of itself; its own limits hold too.

    Returns:
        The limit in words; empty where none is broken.
    """
    amperes = limits.current_of(name)
    for signal, most, unit in (("velocity", limits.velocity, "rad/s"), ("current", amperes, "A")):
        if most is not None and signal in seen and abs(seen[signal]) > most:
            return f"{name} has a {signal} of {seen[signal]:.3g} {unit}, above its limit of {most:g}"
    hottest = [t for t in (limits.temperature, servo.temperature_limit) if t]
    if hottest and seen.get("temperature", 0.0) > min(hottest):
        return f"{name} is at {seen['temperature']:.0f} degC, above its limit of {min(hottest):g}"
    return _supply_beyond(name, seen["supply"], limits, servo) if "supply" in seen else ""


def _supply_beyond(name: str, volts: float, limits: SafetyLimits, servo: BusServo) -> str:
    """Which limit of its supply a servo is beyond, in words; what is stated comes before its own."""
    low, high = servo.supply or (-math.inf, math.inf)
    low = low if limits.supply_low is None else limits.supply_low
    high = high if limits.supply_high is None else limits.supply_high
    if volts < low:
        return f"the supply of {name} is {volts:.1f} V, below its limit of {low:g}"
    return f"the supply of {name} is {volts:.1f} V, above its limit of {high:g}" if volts > high else ""
