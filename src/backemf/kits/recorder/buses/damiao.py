"""Damiao DM-J motors in MIT mode; the motor's registers hold its own datasheet."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from ....errors import InvalidValue
from .bus import BusError, BusServo, ReplyColumn
from .mit import Frame, MitBus, MotorReply, Span

REGISTERS = {
    **{"under_voltage": 0, "torque_constant": 1, "over_temperature": 2, "over_current": 3},
    **{"timeout": 9, "control_mode": 10, "damping": 11, "inertia": 12, "hardware": 13, "firmware": 14},
    **{"pole_pairs": 16, "resistance": 17, "inductance": 18, "flux": 19, "gear_ratio": 20},
    **{"position_span": 21, "velocity_span": 22, "torque_span": 23, "over_voltage": 29},
}
"""Damiao, DM-J series manual, table of registers: name -> RID."""
WHOLE = ("timeout", "control_mode", "hardware", "firmware", "pole_pairs", "master_id", "id")
"""Those that are whole numbers; the others are float32."""
REGISTER_ANSWERS = (b"\x00\x33", b"\x00\x55")
"""How answers about registers go on, read and written; a late one is no feedback."""
MIT_MODE = 1
FAULTS = {
    **{8: "over voltage", 9: "under voltage", 10: "over current", 11: "driver too hot"},
    **{12: "winding too hot", 13: "lost communication", 14: "overload"},
}
STIFFNESS, DAMPING = Span(500.0, 12, 0.0), Span(5.0, 12, 0.0)
ALL = b"\xff" * 7
WIDTHS = {"position": 16, "velocity": 12, "torque": 12}
"""Bits of what a frame holds; a register says what they span."""


def pack(name: str, value: float) -> bytes:
    """The four bytes of a register."""
    return struct.pack("<I", int(value)) if name in WHOLE else struct.pack("<f", value)


def unpack(name: str, content: bytes) -> float:
    """The number in a register's four bytes."""
    return float(struct.unpack("<I" if name in WHOLE else "<f", content)[0])


def spans_of(registers: Mapping[str, float]) -> tuple[Span, Span, Span]:
    """Of position, velocity and torque, as a motor's registers say them."""
    position, velocity, torque = (Span(registers[f"{name}_span"], bits) for name, bits in WIDTHS.items())
    return position, velocity, torque


class Damiao(MitBus):
    """Commands go to the motor's id; answers carry it in the low half of their first byte."""

    name = "damiao"
    scanned = range(1, 16)
    """Those that answers tell apart; what goes to others looks like answers from 0x11 on."""

    def __init__(self, channel: str, interface: str, gains: Sequence[float] = (10.0, 0.5)):
        super().__init__(channel, interface, gains)
        self._spans: dict[int, tuple[Span, Span, Span]] = {}

    def survey(self, ids: Sequence[int]) -> dict[int, BusServo]:
        if max(ids) > self.scanned[-1]:
            raise InvalidValue(
                f"servo {max(ids)} was asked for; Damiao's answers tell ids from 1 to 15 apart"
            )
        return super().survey(ids)

    def _position(self, id: int) -> Span:
        return self._spans[id][0]

    def _command(self, id: int, goal: float, stiffness: float, damping: float) -> Frame:
        q, w, tau = self._spans[id]
        p, v, t = q.count(goal), w.count(0.0), tau.count(0.0)
        k_p, k_d = STIFFNESS.count(stiffness), DAMPING.count(damping)
        high = [p >> 8, p & 0xFF, v >> 4, (v & 0xF) << 4 | k_p >> 8, k_p & 0xFF]
        return Frame(id, bytes([*high, k_d >> 4, (k_d & 0xF) << 4 | t >> 8, t & 0xFF]))

    def _switch(self, id: int, on: bool) -> Frame:
        return Frame(id, ALL + (b"\xfc" if on else b"\xfd"))

    def _feedback(self, frame: Frame) -> MotorReply | None:
        d = frame.content
        if frame.extended or len(d) != 8 or frame.id == 0x7FF or d[1:3] in REGISTER_ANSWERS:
            return None
        id, state = d[0] & 0xF, d[0] >> 4
        if frame.id == id or frame.id in self.sent_to:  # a command, ours or another master's
            return None
        values = (d[1] << 8 | d[2], d[3] << 4 | d[4] >> 4, (d[4] & 0xF) << 8 | d[5], d[7], d[6])
        return MotorReply(id, tuple(float(v) for v in values), state == 1, FAULTS.get(state, ""))

    def _survey_motor(self, id: int) -> BusServo:
        there = {name: self.get(id, name) for name in REGISTERS}
        q, w, tau = self._spans[id] = spans_of(there)
        mode = int(there["control_mode"])
        mistakes = f"servo {id} is in control mode {mode}; expected {MIT_MODE}, MIT: write it to register 10"
        return BusServo(
            id=id,
            model="damiao",
            firmware=str(int(there["firmware"])),
            columns=(
                q.column("position", "rad"),
                w.column("velocity", "rad/s"),
                tau.column("torque", "N m"),
                ReplyColumn("temperature", "degC"),
                ReplyColumn("driver_temperature", "degC"),
            ),
            registers=there,
            low=-q.most,
            high=q.most,
            resolution=q.factor,
            temperature_limit=there["over_temperature"],
            problems=() if mode == MIT_MODE else (mistakes,),
        )

    def get(self, id: int, name: str) -> float:
        """A register by its name, as the motor counts it."""
        return self._register(id, name, 0x33, bytes(4))

    def put(self, id: int, name: str, value: float) -> None:
        self._register(id, name, 0x55, pack(name, value))

    def _timeout(self, id: int) -> int:
        return int(self.get(id, "timeout"))

    def _register(self, id: int, name: str, kind: int, content: bytes) -> float:
        """What a register holds, after it was read or written."""
        begin = bytes([id & 0xFF, id >> 8, kind, REGISTERS[name]])

        def is_answer(frame: Frame) -> bool:
            return len(frame.content) == 8 and frame.id != 0x7FF and frame.content[:4] == begin

        answer = self.exchange(Frame(0x7FF, begin + content), is_answer)
        if answer is None:
            raise BusError(f"servo {id} answers, but not when asked for its register {name}")
        return unpack(name, answer[4:])
