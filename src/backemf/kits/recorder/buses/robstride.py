"""RobStride motors in their motion mode: frames with 29-bit identifiers."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import NamedTuple

from ....errors import UnknownName
from .bus import BusError, BusServo, PortGone, ReplyColumn
from .mit import WAIT, Frame, MitBus, MotorReply, Span

HOST = 0xFD
ID, MOTION, FEEDBACK, ENABLE, STOP, READ, WRITE = 0, 1, 2, 3, 4, 17, 18
"""Kinds of frames: RobStride, instruction manual, communication types."""
POSITION = Span(4.0 * math.pi, 16)
PARAMETERS = {"run_mode": 0x7005, "supply": 0x701C, "timeout": 0x7028}
FAULTS = {
    0: "under voltage",
    1: "over current",
    2: "too hot",
    3: "encoder",
    4: "stalled",
    5: "not calibrated",
}


class Spans(NamedTuple):
    """What full counts of a model's frames are."""

    velocity: Span
    torque: Span
    stiffness: Span
    damping: Span


def _spans(velocity: float, torque: float, stiffness: float, damping: float) -> Spans:
    return Spans(Span(velocity, 16), Span(torque, 16), Span(stiffness, 16, 0.0), Span(damping, 16, 0.0))


MODELS = {
    "robstride-00": _spans(33.0, 14.0, 500.0, 5.0),
    "robstride-01": _spans(44.0, 17.0, 500.0, 5.0),
    "robstride-02": _spans(44.0, 17.0, 500.0, 5.0),
    "robstride-03": _spans(20.0, 60.0, 5000.0, 100.0),
    "robstride-04": _spans(15.0, 120.0, 5000.0, 100.0),
    "robstride-05": _spans(50.0, 5.5, 500.0, 5.0),
    "robstride-06": _spans(50.0, 36.0, 5000.0, 100.0),
}
"""RobStride, instruction manuals of RS00 to RS06: ranges of the motion mode. The motor does not say its
model; it is told as the channel's end: can0#robstride-03."""


class RobStride(MitBus):
    """Identifier: kind (5 bits), 16 bits that depend on it, the id it goes to."""

    name = "robstride"

    def __init__(self, channel: str, interface: str, gains: Sequence[float] = (10.0, 0.5)):
        bare, _, model = channel.partition("#")
        super().__init__(bare, interface, gains)
        self.model = model or "robstride-02"
        if self.model not in MODELS:
            raise UnknownName("RobStride model", self.model, MODELS)
        self.spans = MODELS[self.model]

    def _position(self, id: int) -> Span:
        return POSITION

    def _command(self, id: int, goal: float, stiffness: float, damping: float) -> Frame:
        s = self.spans
        counts = POSITION.count(goal), s.velocity.count(0.0), s.stiffness.count(stiffness)
        content = struct.pack(">HHHH", *counts, s.damping.count(damping))
        return Frame(MOTION << 24 | s.torque.count(0.0) << 8 | id, content, True)

    def _switch(self, id: int, on: bool) -> Frame:
        return Frame((ENABLE if on else STOP) << 24 | HOST << 8 | id, bytes(8), True)

    def _feedback(self, frame: Frame) -> MotorReply | None:
        if not frame.extended or frame.id >> 24 != FEEDBACK or len(frame.content) != 8:
            return None
        if frame.id & 0xFF != HOST:
            return None
        position, velocity, torque, tenths = struct.unpack(">HHHH", frame.content)
        bits, mode = frame.id >> 16 & 0x3F, frame.id >> 22 & 0x3
        alarm = ", ".join(words for bit, words in FAULTS.items() if bits >> bit & 1)
        values = (position, velocity, torque, tenths)
        return MotorReply(frame.id >> 8 & 0xFF, tuple(float(v) for v in values), mode == 2, alarm)

    def _survey_motor(self, id: int) -> BusServo:
        mode = int(self.get(id, "run_mode", "<B3x"))
        wrong = f"servo {id} is in run mode {mode}; expected 0, the motion mode: write it to parameter 0x7005"
        return BusServo(
            id=id,
            model=self.model,
            columns=(
                POSITION.column("position", "rad"),
                self.spans.velocity.column("velocity", "rad/s"),
                self.spans.torque.column("torque", "N m"),
                ReplyColumn("temperature", "degC", 0.1),
            ),
            registers={"supply": self.get(id, "supply", "<f"), "run_mode": mode},
            low=-POSITION.most,
            high=POSITION.most,
            resolution=POSITION.factor,
            problems=() if mode == 0 else (wrong,),
        )

    def get(self, id: int, name: str, form: str) -> float:
        """A parameter of a motor.

        Args:
            id: of the motor.
            name: a key of `PARAMETERS`.
            form: of its four bytes, as `struct` spells it.

        Returns:
            What it holds, as the motor counts it.

        Raises:
            BusError: where the motor does not say it.
        """
        question = struct.pack("<H6x", PARAMETERS[name])

        def is_answer(frame: Frame) -> bool:
            from_motor = frame.extended and frame.id >> 24 == READ and frame.id & 0xFF == HOST
            return from_motor and frame.content[:2] == question[:2]

        answer = self.exchange(Frame(READ << 24 | HOST << 8 | id, question, True), is_answer)
        if answer is None:
            raise BusError(f"servo {id} answers, but not when asked for its parameter {name}")
        return float(struct.unpack(form, answer[4:8])[0])

    def put(self, id: int, name: str, value: float) -> None:
        content = struct.pack("<H2xI", PARAMETERS[name], int(value))
        self.send(Frame(WRITE << 24 | HOST << 8 | id, content, True))
        self._answers({id}, WAIT)

    def _timeout(self, id: int) -> int | None:
        try:
            return int(self.get(id, "timeout", "<I"))
        except PortGone:
            raise
        except BusError:  # firmware without it
            return None
