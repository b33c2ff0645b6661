"""CAN actuators in MIT mode: one frame asks for position and gains, its answer says where the motor is."""

from __future__ import annotations

import contextlib
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ....errors import InvalidValue
from .bus import Bus, BusError, BusServo, PortGone, Reply, ReplyColumn, package

WAIT = 0.02
"""How long an answer may take [s]."""
TRIES = 3
TIMEOUT = 50e-6
"""One count of the motors' own timeout [s], of both makers."""


class Frame(NamedTuple):
    """A CAN frame."""

    id: int
    content: bytes
    extended: bool = False


class Span(NamedTuple):
    """A number that goes linearly over all counts of some bits, from -most (or 0) to most."""

    most: float
    bits: int
    least: float | None = None

    @property
    def low(self) -> float:
        return -self.most if self.least is None else self.least

    @property
    def factor(self) -> float:
        return (self.most - self.low) / ((1 << self.bits) - 1)

    def count(self, value: float) -> int:
        """The count nearest to a value; one beyond the span is cut to it."""
        inside = min(max(value, self.low), self.most)
        return round((inside - self.low) / self.factor)

    def si(self, count: int) -> float:
        """The value of a count."""
        return self.low + self.factor * count

    def column(self, name: str, unit: str) -> ReplyColumn:
        """How replies store a signal that goes over this span in a unit."""
        return ReplyColumn(name, unit, self.factor, -self.low / self.factor)


class MotorReply(NamedTuple):
    """A feedback frame taken apart."""

    id: int
    values: tuple[float, ...]
    on: bool
    alarm: str = ""


class MitBus(Bus):
    """What the makers share. A maker's class says how its frames are written and read."""

    has_watchdog = True
    scanned = range(1, 33)
    """Ids at which motors are looked for."""

    takes = ("interface", "gains")

    def __init__(self, channel: str, interface: str, gains: Sequence[float] = (10.0, 0.5)):
        stiffness, damping = gains
        if not (0 <= stiffness <= 5000 and 0 <= damping <= 100):
            raise InvalidValue(
                f"the gains are {stiffness:g} N m/rad and {damping:g} N m s/rad; expected 0 to 5000 and 0 to"
                " 100"
            )
        self.channel, self.interface = channel, interface
        self.gains = stiffness, damping
        self.sent_to: set[int] = set()
        """Identifiers of ours: some drivers let one hear oneself."""
        self._bus: Any = None
        self._can: Any = None
        self._goals: dict[int, float] = {}
        self._on: set[int] = set()
        self._asked: set[int] = set()
        self._timeouts: dict[int, int] = {}
        """Counts of the motors' own timeouts, as they were before."""

    # What a maker's class writes:
    @abstractmethod
    def _command(self, id: int, goal: float, stiffness: float, damping: float) -> Frame: ...

    @abstractmethod
    def _switch(self, id: int, on: bool) -> Frame:
        """Torque on or off; its answer is a feedback frame."""

    @abstractmethod
    def _feedback(self, frame: Frame) -> MotorReply | None:
        """What a frame says of a motor; None where it is another one."""

    @abstractmethod
    def _survey_motor(self, id: int) -> BusServo: ...

    @abstractmethod
    def _position(self, id: int) -> Span: ...

    @abstractmethod
    def _timeout(self, id: int) -> int | None:
        """Counts of silence after which a motor stops; None where its firmware has no such number."""

    @abstractmethod
    def put(self, id: int, name: str, value: float) -> None:
        """Write a number into a motor.

        Args:
            id: of the motor.
            name: of the number, as its maker's table here has it.
            value: as the maker counts it.
        """

    # What follows from it:
    def open(self) -> None:
        with package("python-can", "can"):
            import can
        self._can = can
        try:
            self._bus = self._can.Bus(interface=self.interface, channel=self.channel)
        except Exception as error:  # each driver has its own
            hint = "expected a driver of python-can and its channel"
            if self.interface == "socketcan":
                hint = "is it up? sudo ip link set can0 up type can bitrate 1000000"
            raise BusError(
                f"the CAN channel {self.channel!r} cannot be opened with {self.interface!r}: {error}; {hint}"
            ) from None

    def close(self) -> None:
        if self._bus is not None:
            with contextlib.suppress(Exception):
                self._bus.shutdown()
        self._bus = None

    def send(self, frame: Frame) -> None:
        """Put a frame on the bus."""
        message = self._can.Message(
            arbitration_id=frame.id, data=frame.content, is_extended_id=frame.extended
        )
        self.sent_to.add(frame.id)
        try:
            self._bus.send(message)
        except Exception as error:
            raise PortGone(f"the CAN channel {self.channel} is gone ({error})") from None

    def receive(self, until: float) -> Frame | None:
        """The next frame, up to a moment."""
        try:
            message = self._bus.recv(max(0.0, until - time.monotonic()))
        except Exception as error:
            raise PortGone(f"the CAN channel {self.channel} is gone ({error})") from None
        if message is None:
            return None
        return Frame(message.arbitration_id, bytes(message.data), bool(message.is_extended_id))

    def _drain(self) -> int:
        n = 0
        while self.receive(time.monotonic()) is not None:
            n += 1
        self._asked = set()
        return n

    def talk(self) -> int:
        time.sleep(WAIT)
        self._drain()
        time.sleep(0.1)
        return self._drain()

    def exchange(self, question: Frame, is_answer: Callable[[Frame], bool]) -> bytes | None:
        """Ask until an answer comes, or several times in vain; what it holds."""
        for _ in range(TRIES):
            self._drain()
            self.send(question)
            until = time.monotonic() + WAIT
            while (frame := self.receive(until)) is not None:
                if is_answer(frame):
                    return frame.content
        return None

    def scan(self) -> list[int]:
        return [id for id in self.scanned if self._answers_off(id)]

    def _answers_off(self, id: int) -> bool:
        """Whether a motor answers when it is told to let go."""
        self._drain()
        self.send(self._switch(id, False))
        return id in self._answers({id}, WAIT)

    def elsewhere(self, ids: Sequence[int]) -> str:
        here = self.scan()
        if here:
            return f"these ids answer: {', '.join(map(str, here))}"
        return (
            f"nobody answers, from id {self.scanned[0]} to {self.scanned[-1]}; is the supply on, the bus"
            " terminated, and its bit rate that of the motors?"
        )

    def survey(self, ids: Sequence[int]) -> dict[int, BusServo]:
        k_p, k_d = self.gains
        gains = {"drive.newton_metres_per_radian": k_p, "drive.newton_metre_seconds_per_radian": k_d}
        there = {}
        for id in ids:
            if any(self._answers_off(id) for _ in range(TRIES)):
                there[id] = replace(self._survey_motor(id), settings=gains)
        return there

    def _answers(self, ids: set[int], seconds: float) -> dict[int, MotorReply]:
        until, heard = time.monotonic() + seconds, dict[int, MotorReply]()
        self._stamps: dict[int, float] = {}
        while ids - heard.keys() and (frame := self.receive(until)) is not None:
            one = self._feedback(frame)
            if one is not None and one.id in ids:
                heard[one.id], self._stamps[one.id] = one, time.monotonic()
        return heard

    def sample(self, ids: Sequence[int]) -> list[Reply]:
        for id in ids:
            if id not in self._asked:
                # a motor without torque is told again to let go: a question that moves nothing
                on = id in self._on
                self.send(self._command(id, self._goals[id], *self.gains) if on else self._switch(id, on))
        heard = self._answers(set(ids), WAIT)
        self._asked = set()
        replies = []
        for id, one in heard.items():
            fallen = "its torque is off by itself" if id in self._on and not one.on else ""
            replies.append(Reply(id, self._stamps[id], one.values, one.alarm or fallen))
        return replies

    def ask(self, goals: Mapping[int, float]) -> float:
        self._goals.update(goals)
        self._drain()
        for id, goal in goals.items():
            if id in self._on:
                self.send(self._command(id, goal, *self.gains))
                self._asked.add(id)
        return time.monotonic()

    def reached_goal(self, id: int, goal: float) -> float:
        span = self._position(id)
        return span.si(span.count(goal))

    def torque(self, ids: Iterable[int], on: bool) -> list[int]:
        left = set(ids)
        for _ in range(TRIES):
            self._drain()
            for id in left:
                self.send(self._switch(id, on))
            self.switched = time.monotonic()
            heard = self._answers(set(left), 2 * WAIT)
            done = {id for id, one in heard.items() if one.on == on}
            self._on = self._on | done if on else self._on - done
            left -= done
            if not left:
                break
        return sorted(left)

    def prepare(self, ids: Sequence[int], silence: float) -> None:
        for id in ids:
            before = self._timeout(id)
            if before is not None:
                self._timeouts.setdefault(id, before)
                self.put(id, "timeout", max(1, round(silence / TIMEOUT)))

    def restore(self) -> None:
        for id, count in self._timeouts.items():
            self.put(id, "timeout", count)
        self._timeouts = {}
