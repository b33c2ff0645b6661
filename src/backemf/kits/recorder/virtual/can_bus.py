"""Virtual CAN motors in MIT mode, on a multicast group that python-can joins as a bus."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from typing import Any

from ..buses import damiao, robstride
from ..buses.bus import package
from ..buses.mit import TIMEOUT, Frame
from .plants import VirtualJoints, VirtualLine

GAINS = ("newton_metres_per_radian", "newton_metre_seconds_per_radian")
DAMIAO = {
    **{"under_voltage": 15.0, "over_temperature": 100.0, "over_current": 0.9, "timeout": 0.0},
    **{"control_mode": 1.0, "firmware": 5013.0, "pole_pairs": 14.0, "over_voltage": 32.0},
    **{"position_span": 12.5, "velocity_span": 30.0, "torque_span": 10.0},
}
"""What a DM-J4310's registers hold beside what follows from its model: spans from Damiao's manual, the others
usual ones."""


class VirtualMotor:
    """One motor's own state: whether its torque is on, and when it was last spoken to."""

    def __init__(self, id: int, k: int, registers: dict[str, float]):
        self.id, self.k, self.registers = id, k, registers
        self.on, self.heard = False, 0.0
        self.timeout = 0.0


class CanLine(VirtualLine):
    """Motors of one maker on a multicast group."""

    def __init__(
        self, protocol: str, plant: VirtualJoints, ids: Sequence[int], part: str, speed: float, channel: str
    ):
        super().__init__(plant, speed)
        with package("python-can", "can"):
            import can
        self._message = can.Message
        self._bus: Any = can.Bus(interface="udp_multicast", channel=channel)
        self.name, self.protocol = channel, protocol
        self.motors = {id: VirtualMotor(id, k, self._registers()) for k, id in enumerate(ids)}
        self.spans = robstride.MODELS.get(part.partition("/")[0], robstride.MODELS["robstride-02"])
        self.began = time.monotonic()

    def turn(self) -> None:
        message = self._bus.recv(0.02)
        now = time.monotonic()
        self.plant.advance(self.speed * (now - self.began))
        for motor in self.motors.values():
            if motor.on and motor.timeout and now - motor.heard > motor.timeout:
                self._switch(motor, False)
        if message is None or self.faults.is_silent(self.plant.time):
            return
        frame = Frame(message.arbitration_id, bytes(message.data), bool(message.is_extended_id))
        for id, content, extended in self.handle(frame):
            self._bus.send(self._message(arbitration_id=id, data=content, is_extended_id=extended))

    def close(self) -> None:
        self._bus.shutdown()

    def _registers(self) -> dict[str, float]:
        p = self.plant.actuator.parameters
        known = {
            "torque_constant": p.get("motor.torque_constant", 0.0),
            "resistance": p.get("motor.resistance", 0.0),
            "inductance": p.get("motor.inductance", 0.0),
            "gear_ratio": p.get("gearbox.ratio", 1.0),
            "inertia": p.get("motor.rotor_inertia", 0.0),
        }
        return {**dict.fromkeys(damiao.REGISTERS, 0.0), **DAMIAO, **known}

    def handle(self, frame: Frame) -> list[Frame]:
        """What is answered to a frame."""
        return self._damiao(frame) if self.protocol == "damiao" else self._robstride(frame)

    def _switch(self, motor: VirtualMotor, on: bool) -> None:
        motor.on = on
        self.plant.enable(motor.k, on)

    def _ask(
        self, motor: VirtualMotor, goal: float, velocity: float, gains: tuple[float, float], tau: float
    ) -> None:
        asked = {"position_target": goal, "velocity_target": velocity, "torque_target": tau}
        for name, value in (*asked.items(), *zip(GAINS, gains, strict=True)):
            self.plant.ask(motor.k, name, value)

    def _damiao(self, frame: Frame) -> list[Frame]:
        d = frame.content
        if len(d) != 8 or frame.extended:
            return []
        if frame.id == 0x7FF:
            return self._register(d)
        motor = self.motors.get(frame.id)
        if motor is None:
            return []
        motor.heard = time.monotonic()
        q, w, tau = damiao.spans_of(DAMIAO)
        if d[:7] == damiao.ALL:
            if d[7] in (0xFC, 0xFD):
                self._switch(motor, d[7] == 0xFC)
        else:
            gains = (damiao.STIFFNESS.si((d[3] & 0xF) << 8 | d[4]), damiao.DAMPING.si(d[5] << 4 | d[6] >> 4))
            goal, speed = q.si(d[0] << 8 | d[1]), w.si(d[2] << 4 | d[3] >> 4)
            self._ask(motor, goal, speed, gains, tau.si((d[6] & 0xF) << 8 | d[7]))
        seen = self._sensor_values(motor)
        p, v, t = q.count(seen["position"]), w.count(seen["velocity"]), tau.count(seen["torque"])
        heat = min(255, round(seen["temperature"]))
        content = [int(motor.on) << 4 | motor.id & 0xF, p >> 8, p & 0xFF, v >> 4]
        content += [(v & 0xF) << 4 | t >> 8, t & 0xFF, heat, heat]
        return [Frame(0x10 + motor.id, bytes(content))]

    def _register(self, d: bytes) -> list[Frame]:
        motor = self.motors.get(d[0] | d[1] << 8)
        name = next((n for n, rid in damiao.REGISTERS.items() if rid == d[3]), "")
        if motor is None or not name or d[2] not in (0x33, 0x55):
            return []
        if d[2] == 0x55:
            motor.registers[name] = damiao.unpack(name, d[4:])
            if name == "timeout":
                motor.timeout = TIMEOUT * motor.registers[name]
        return [Frame(0x10 + motor.id, d[:4] + damiao.pack(name, motor.registers[name]))]

    def _robstride(self, frame: Frame) -> list[Frame]:
        kind, motor = frame.id >> 24, self.motors.get(frame.id & 0xFF)
        if not frame.extended or motor is None or len(frame.content) != 8 or kind == robstride.FEEDBACK:
            return []
        motor.heard = time.monotonic()
        s = self.spans
        if kind in (robstride.ENABLE, robstride.STOP):
            self._switch(motor, kind == robstride.ENABLE)
        elif kind == robstride.MOTION:
            position, velocity, k_p, k_d = struct.unpack(">HHHH", frame.content)
            gains = s.stiffness.si(k_p), s.damping.si(k_d)
            tau = s.torque.si(frame.id >> 8 & 0xFFFF)
            self._ask(motor, robstride.POSITION.si(position), s.velocity.si(velocity), gains, tau)
        elif kind == robstride.READ:
            return self._parameter(motor, frame.content)
        elif kind == robstride.WRITE:
            index, count = struct.unpack("<H2xI", frame.content)
            if index == robstride.PARAMETERS["timeout"]:
                motor.timeout = TIMEOUT * count
        seen = self._sensor_values(motor)
        counts = robstride.POSITION.count(seen["position"]), s.velocity.count(seen["velocity"])
        content = struct.pack(
            ">HHHH", *counts, s.torque.count(seen["torque"]), round(10 * seen["temperature"])
        )
        mode = 2 if motor.on else 0
        return [Frame(robstride.FEEDBACK << 24 | mode << 22 | motor.id << 8 | robstride.HOST, content, True)]

    def _parameter(self, motor: VirtualMotor, d: bytes) -> list[Frame]:
        names = {index: name for name, index in robstride.PARAMETERS.items()}
        name = names.get(struct.unpack("<H", d[:2])[0])
        packed = {
            "supply": struct.pack("<f", self.plant.supply),
            "timeout": struct.pack("<I", round(motor.timeout / TIMEOUT)),
        }.get(name or "", bytes(4))
        place = robstride.READ << 24 | motor.id << 8 | robstride.HOST
        return [Frame(place, d[:2] + bytes(2) + packed, True)]

    def _sensor_values(self, motor: VirtualMotor) -> dict[str, float]:
        seen = self.plant.sensor_values(motor.k)
        hot = self.faults.hot
        return seen if hot is None else {**seen, "temperature": hot}
