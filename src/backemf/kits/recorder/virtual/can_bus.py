"""Virtual CAN motors, on a multicast group that python-can joins as a bus: MIT mode, and the makers' own
modes, in which a setpoint goes along a profile and a stiff loop of ours stands for the motor's cascade."""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from typing import Any

from ....physics.profile import profile_step, ramp_step
from ..buses import damiao, robstride
from ..buses.bus import package
from ..buses.mit import TIMEOUT, Frame
from .firmware import PERIOD
from .plants import VirtualJoints, VirtualLine

GAINS = ("newton_metres_per_radian", "newton_metre_seconds_per_radian")
DAMIAO = {
    **{"under_voltage": 15.0, "over_temperature": 100.0, "over_current": 0.9, "timeout": 0.0},
    **{"control_mode": 1.0, "firmware": 5013.0, "pole_pairs": 14.0, "over_voltage": 32.0},
    **{"position_span": 12.5, "velocity_span": 30.0, "torque_span": 10.0},
}
"""What a DM-J4310's registers hold beside what follows from its model: spans from Damiao's manual, the others
usual ones."""
FURTHER = {
    **{"acceleration": 4, "deceleration": 5, "maximum_speed": 6, "master_id": 7, "id": 8},
    **{"velocity_gain": 25, "velocity_integral": 26, "position_gain": 27, "position_integral": 28},
    **{"position": 80, "output": 81},
}
"""Damiao's registers that the recorder does not ask for: name -> RID."""
RIDS = {**damiao.REGISTERS, **FURTHER}
FIXED = (
    "hardware",
    "firmware",
    "pole_pairs",
    "resistance",
    "inductance",
    "flux",
    "gear_ratio",
    "position",
    "output",
)
"""Those that nobody can write."""
MODES = {1: "mit", 2: "position", 3: "velocity", 4: "position"}
"""Damiao's control modes; the last one limits the current too."""
RUN_MODES = {0: "mit", 1: "position", 2: "velocity", 3: "torque", 5: "position"}
"""RobStride's, with the profile's position mode (1) and the cyclic one (5)."""
PARAMETERS = {
    **{0x7005: ("run_mode", "B"), 0x7006: ("iq_ref", "f"), 0x700A: ("spd_ref", "f")},
    **{0x700B: ("limit_torque", "f"), 0x7016: ("loc_ref", "f"), 0x7017: ("limit_spd", "f")},
    **{0x7018: ("limit_cur", "f"), 0x7019: ("position", "f"), 0x701A: ("iq", "f"), 0x701B: ("velocity", "f")},
    **{0x701C: ("supply", "f"), 0x701E: ("loc_kp", "f"), 0x701F: ("spd_kp", "f"), 0x7020: ("spd_ki", "f")},
    **{
        0x7022: ("acc_rad", "f"),
        0x7024: ("vel_max", "f"),
        0x7025: ("acc_set", "f"),
        0x7028: ("timeout", "I"),
    },
}
"""RobStride, instruction manual, single parameters: index -> (name, form as `struct` spells it)."""
ROBSTRIDE = {"limit_spd": 2.0, "acc_rad": 20.0, "vel_max": 10.0, "acc_set": 10.0}
MEASURED = ("position", "velocity", "iq", "supply")
SET_ZERO, SET_ID, SAVE = 6, 7, 22
"""Kinds of RobStride's frames that the recorder does not send."""
STIFF, LOOK_AHEAD = 6.0, 0.025
"""Of the loop in the motors' own modes: share of the full torque for each radian, and its damping over its
stiffness [s]."""


class VirtualMotor:
    """One motor's own state: whether its torque is on, when it was last spoken to, what it is asked."""

    def __init__(self, id: int, k: int, registers: dict[str, float]):
        self.id, self.k, self.registers = id, k, registers
        self.on, self.heard = False, 0.0
        self.timeout = 0.0
        self.zero = 0.0
        """Where it counts from [rad]."""
        self.kind = "mit"
        self.goal = self.speed = self.setpoint = self.velocity = 0.0
        """Of the motor's own modes [rad, rad/s]: what is asked, and where the profile is."""
        self.acceleration = 0.0
        self.limit = 1.0
        """Share of the full torque."""

    def ask(self, goal: float, speed: float, acceleration: float, limit: float = 1.0) -> None:
        """What one of its own modes is asked.

        Args:
            goal: position of the output, from its zero [rad].
            speed: at most, or to be kept [rad/s].
            acceleration: at most [rad/s^2]; 0: any.
            limit: share of the full torque.
        """
        self.goal, self.speed, self.acceleration, self.limit = goal + self.zero, speed, acceleration, limit

    def step(self, position: float, h: float) -> float:
        """The profile after a time step; a setpoint stays where the loop has the torque that it may have.

        Args:
            position: of the output now [rad].
            h: time step [s].

        Returns:
            The velocity that is asked of the output [rad/s].
        """
        acceleration = self.acceleration or None
        if self.kind == "velocity":
            self.velocity = float(ramp_step(self.velocity, self.speed, acceleration, h))
            self.setpoint += self.velocity * h
        else:
            speed = abs(self.speed)
            track = profile_step(self.setpoint, self.velocity, self.goal, speed, acceleration, h)
            self.setpoint, self.velocity = float(track[0]), float(track[1])
        most = self.limit / STIFF
        free, self.setpoint = self.setpoint, min(max(self.setpoint, position - most), position + most)
        return self.velocity if free == self.setpoint else 0.0


class CanLine(VirtualLine):
    """Motors of one maker on a multicast group."""

    def __init__(
        self, protocol: str, plant: VirtualJoints, ids: Sequence[int], part: str, speed: float, channel: str
    ):
        super().__init__(plant, speed)
        with package("python-can", "can"):
            import can
        self._message = can.Message
        self._bus: Any = can.Bus(interface="udp_multicast", channel=channel) if channel else None
        self.name, self.protocol = channel, protocol
        self.spans = robstride.MODELS.get(part.partition("/")[0], robstride.MODELS["robstride-02"])
        self.motors = [VirtualMotor(id, k, self._registers(id)) for k, id in enumerate(ids)]
        self.began = time.monotonic()

    def turn(self) -> None:
        message = self._bus.recv(0.02)
        now = time.monotonic()
        self.advance(self.speed * (now - self.began))
        for motor in self.motors:
            if motor.on and motor.timeout and now - motor.heard > motor.timeout:
                self._switch(motor, False)
        if message is None or self.faults.is_silent(self.plant.time):
            return
        frame = Frame(message.arbitration_id, bytes(message.data), bool(message.is_extended_id))
        for id, content, extended in self.handle(frame):
            self._bus.send(self._message(arbitration_id=id, data=content, is_extended_id=extended))

    def advance(self, until: float) -> None:
        """Step the physics up to a moment [s], with the profiles of motors in their own modes."""
        now = self.plant.time
        while now < until:
            guided = [motor for motor in self.motors if motor.on and motor.kind != "mit"]
            h = min(PERIOD, until - now) if guided else until - now
            stiffness = STIFF * self._full_torque
            for motor in guided:
                if motor.kind != "torque":
                    velocity = motor.step(self.plant.motion(motor.k)[0], h)
                    gains = stiffness, LOOK_AHEAD * stiffness
                    self._ask(motor, motor.setpoint - motor.zero, velocity, gains, 0.0)
            now += h
            self.plant.advance(now)

    @property
    def _full_torque(self) -> float:
        """Of a frame's full count [N m]."""
        return DAMIAO["torque_span"] if self.protocol == "damiao" else self.spans.torque.most

    def close(self) -> None:
        self._bus.shutdown()

    def _registers(self, id: int) -> dict[str, float]:
        if self.protocol != "damiao":
            return {**{name: 0.0 for name, _ in PARAMETERS.values()}, **ROBSTRIDE}
        p = self.plant.actuator.parameters
        known = {
            "torque_constant": p.get("motor.torque_constant", 0.0),
            "resistance": p.get("motor.resistance", 0.0),
            "inductance": p.get("motor.inductance", 0.0),
            "gear_ratio": p.get("gearbox.ratio", 1.0),
            "inertia": p.get("motor.rotor_inertia", 0.0),
            **{"id": float(id), "master_id": 0x10 + id},
        }
        return {**dict.fromkeys(RIDS, 0.0), **DAMIAO, **known}

    def _motor(self, id: int) -> VirtualMotor | None:
        return next((motor for motor in self.motors if motor.id == id), None)

    def handle(self, frame: Frame) -> list[Frame]:
        """What is answered to a frame."""
        return self._damiao(frame) if self.protocol == "damiao" else self._robstride(frame)

    def _switch(self, motor: VirtualMotor, on: bool) -> None:
        if on and not motor.on:
            self._hold(motor)
        motor.on = on
        self.plant.enable(motor.k, on)

    def _hold(self, motor: VirtualMotor) -> None:
        """Its own modes begin where it is, at rest; without gains it does nothing."""
        motor.setpoint = motor.goal = self.plant.motion(motor.k)[0]
        motor.speed = motor.velocity = 0.0
        if motor.kind != "mit":
            self._ask(motor, 0.0, 0.0, (0.0, 0.0), 0.0)

    def _ask(
        self, motor: VirtualMotor, goal: float, velocity: float, gains: tuple[float, float], tau: float
    ) -> None:
        asked = {"position_target": goal + motor.zero, "velocity_target": velocity, "torque_target": tau}
        for name, value in (*asked.items(), *zip(GAINS, gains, strict=True)):
            self.plant.ask(motor.k, name, value)

    def _set_zero(self, motor: VirtualMotor) -> None:
        motor.zero = self.plant.motion(motor.k)[0]

    def _damiao(self, frame: Frame) -> list[Frame]:
        d = frame.content
        if frame.extended:
            return []
        if frame.id == 0x7FF:
            return self._register(d)
        motor = self._motor(frame.id & 0xFF)
        if motor is None or len(d) not in (4, 8):
            return []
        motor.heard = time.monotonic()
        offset, mode = frame.id >> 8, int(motor.registers["control_mode"])
        if d[:7] == damiao.ALL:
            if d[7] in (0xFC, 0xFD):
                self._switch(motor, d[7] == 0xFC)
            elif d[7] == 0xFE:
                self._set_zero(motor)
        elif offset != mode - 1:  # of another mode than its own: it does not listen
            return []
        elif mode == damiao.MIT_MODE and len(d) == 8:
            q, w, tau = damiao.spans_of(DAMIAO)
            gains = (damiao.STIFFNESS.si((d[3] & 0xF) << 8 | d[4]), damiao.DAMPING.si(d[5] << 4 | d[6] >> 4))
            goal, speed = q.si(d[0] << 8 | d[1]), w.si(d[2] << 4 | d[3] >> 4)
            self._ask(motor, goal, speed, gains, tau.si((d[6] & 0xF) << 8 | d[7]))
        else:
            self._own_mode(motor, mode, d)
        return [self._feedback(motor)]

    @staticmethod
    def _own_mode(motor: VirtualMotor, mode: int, d: bytes) -> None:
        """A frame of the modes 2 to 4: position and speed, speed, position with speed and current."""
        limit, acceleration = 1.0, motor.registers["acceleration"]
        if mode == 3:
            goal, speed = 0.0, struct.unpack("<f", d[:4])[0]
        elif len(d) < 8:
            return
        elif mode == 2:
            goal, speed = struct.unpack("<ff", d)
        else:
            goal, speed, limit = struct.unpack("<fHH", d)
            speed, limit = speed / 100.0, min(1.0, limit / 10_000.0)
        motor.ask(goal, speed, acceleration, limit)

    def _feedback(self, motor: VirtualMotor) -> Frame:
        q, w, tau = damiao.spans_of(DAMIAO)
        seen = self._sensor_values(motor)
        p, v, t = q.count(seen["position"]), w.count(seen["velocity"]), tau.count(seen["torque"])
        heat = min(255, round(seen["temperature"]))
        content = [int(motor.on) << 4 | motor.id & 0xF, p >> 8, p & 0xFF, v >> 4]
        content += [(v & 0xF) << 4 | t >> 8, t & 0xFF, heat, heat]
        return Frame(int(motor.registers["master_id"]), bytes(content))

    def _register(self, d: bytes) -> list[Frame]:
        """Registers read (33) and written (55), all of them stored (AA), and the state asked for (CC)."""
        motor = self._motor(d[0] | d[1] << 8) if len(d) >= 4 else None
        if motor is None:
            return []
        motor.heard = time.monotonic()
        if d[2] == 0xCC:
            return [self._feedback(motor)]
        if d[2] == 0xAA:
            return [Frame(int(motor.registers["master_id"]), d)]
        name = next((n for n, rid in RIDS.items() if rid == d[3]), "")
        if not name or d[2] not in (0x33, 0x55) or len(d) != 8:
            return []
        if d[2] == 0x55 and name not in FIXED:
            self._write(motor, name, damiao.unpack(name, d[4:]))
        seen = self._sensor_values(motor)["position"]
        values = {**motor.registers, "position": seen, "output": seen}
        return [Frame(int(motor.registers["master_id"]), d[:4] + damiao.pack(name, values[name]))]

    def _write(self, motor: VirtualMotor, name: str, value: float) -> None:
        if name == "control_mode" and value not in MODES:
            return
        motor.registers[name] = value
        if name == "timeout":
            motor.timeout = TIMEOUT * value
        elif name == "id":
            motor.id = int(value)
        elif name == "control_mode":
            motor.kind = MODES[int(value)]
            self._hold(motor)

    def _robstride(self, frame: Frame) -> list[Frame]:
        kind, motor = frame.id >> 24, self._motor(frame.id & 0xFF)
        if not frame.extended or motor is None or len(frame.content) != 8 or kind == robstride.FEEDBACK:
            return []
        motor.heard = time.monotonic()
        s = self.spans
        if kind == robstride.ID:
            return [Frame(motor.id << 8 | 0xFE, struct.pack("<Q", 0xBE << 32 | motor.id), True)]
        if kind == robstride.READ:
            return self._parameter(motor, frame.content)
        if kind in (robstride.ENABLE, robstride.STOP):
            self._switch(motor, kind == robstride.ENABLE)
        elif kind == robstride.MOTION and motor.kind == "mit":
            position, velocity, k_p, k_d = struct.unpack(">HHHH", frame.content)
            gains = s.stiffness.si(k_p), s.damping.si(k_d)
            tau = s.torque.si(frame.id >> 8 & 0xFFFF)
            self._ask(motor, robstride.POSITION.si(position), s.velocity.si(velocity), gains, tau)
        elif kind == robstride.WRITE:
            self._put(motor, frame.content)
        elif kind == SET_ZERO:
            self._set_zero(motor)
        elif kind == SET_ID:
            motor.id = frame.id >> 16 & 0xFF
        elif kind not in (robstride.MOTION, SAVE):
            return []
        seen = self._sensor_values(motor)
        counts = robstride.POSITION.count(seen["position"]), s.velocity.count(seen["velocity"])
        content = struct.pack(
            ">HHHH", *counts, s.torque.count(seen["torque"]), round(10 * seen["temperature"])
        )
        mode = 2 if motor.on else 0
        return [Frame(robstride.FEEDBACK << 24 | mode << 22 | motor.id << 8 | robstride.HOST, content, True)]

    def _put(self, motor: VirtualMotor, d: bytes) -> None:
        """A parameter written, and what follows from it."""
        name, form = PARAMETERS.get(struct.unpack("<H", d[:2])[0], ("", ""))
        if not name or name in MEASURED:
            return
        value = float(struct.unpack_from(f"<{form}", d, 4)[0])
        if name == "run_mode" and value not in RUN_MODES:
            return
        r = motor.registers
        r[name] = value
        motor.timeout = TIMEOUT * r["timeout"]
        if name == "run_mode":
            motor.kind = RUN_MODES[int(value)]
            self._hold(motor)
        elif motor.kind == "torque":
            p = self.plant.actuator
            tau = r["iq_ref"] * p.motor.torque_constant * abs(p.gearbox.ratio)
            self._ask(motor, 0.0, 0.0, (0.0, 0.0), tau)
        elif motor.kind == "velocity":
            motor.ask(0.0, r["spd_ref"], r["acc_rad"])
        elif motor.kind == "position" and name in ("loc_ref", "limit_spd", "vel_max", "acc_set"):
            along = r["run_mode"] == 1
            goal = r["loc_ref"] if name == "loc_ref" else motor.goal - motor.zero
            motor.ask(goal, r["vel_max" if along else "limit_spd"], r["acc_set"] if along else 0.0)

    def _parameter(self, motor: VirtualMotor, d: bytes) -> list[Frame]:
        """A parameter read; one that there is not is answered with the manual's mark of a failed read."""
        name, form = PARAMETERS.get(struct.unpack("<H", d[:2])[0], ("", ""))
        place = robstride.READ << 24 | motor.id << 8 | robstride.HOST
        if not name:
            return [Frame(place | 1 << 16, d[:2] + bytes(6), True)]
        seen = self._sensor_values(motor)
        measured = {name: seen[name] for name in ("position", "velocity")}
        values = {**motor.registers, **measured, "iq": seen["current"], "supply": self.plant.supply}
        value = values[name] if form == "f" else int(values[name])
        return [Frame(place, d[:2] + bytes(2) + struct.pack(f"<{form}", value).ljust(4, b"\x00"), True)]

    def _sensor_values(self, motor: VirtualMotor) -> dict[str, float]:
        seen = self.plant.sensor_values(motor.k)
        seen = {**seen, "position": seen["position"] - motor.zero}
        hot = self.faults.hot
        return seen if hot is None else {**seen, "temperature": hot}
