"""What virtual servos do with packets, byte by byte and without a clock: questions are frames as the makers
print them (ROBOTIS e-manual, protocols 1.0 and 2.0; Feetech, SMS/STS communication protocol), or built by the
same rules; answers follow from those."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
import pytest

import backemf as be
from backemf.datasheets import parts
from backemf.kits.recorder.registers import MAPS
from backemf.kits.recorder.virtual.firmware import Device, advance_devices
from backemf.kits.recorder.virtual.plants import Faults, VirtualPlant, VirtualRobot
from backemf.kits.recorder.virtual.serial_line import FRAMINGS, SerialLine, crc
from backemf.physics.bench import Pendulum
from backemf.physics.maths import whole
from backemf.physics.profile import limit_error, profile_step, ramp_step

PARTS = {
    "feetech": ("sts3215-7.4v", "feetech-sts", 777),
    "dynamixel1": ("mx-106", "dynamixel-mx", 320),
    "dynamixel2": ("xm430-w350", "dynamixel-x", 1030),
}
TURN = 2 * math.pi / 4096
ARM = """<mujoco><worldbody><body><joint name="elbow" axis="0 1 0" range="-170 170"/>
<inertial pos="0 0 -0.1" mass="0.1" diaginertia="1e-4 1e-4 1e-5"/></body></worldbody></mujoco>"""


@functools.cache
def actuator(name):
    return parts.part(name).actuator


class Wire(SerialLine):
    """Servos that are fed bytes and whose answers are kept, in a time that the test decides."""

    def __init__(self, protocol, ids=(1, 2), faults=(), table=None, **registers):
        part, name, number = PARTS[protocol]
        self.said = bytearray()
        bench = Pendulum(mass=0.02, length=0.05)
        plant = VirtualPlant(actuator(part), bench, len(ids), Faults.read(faults))
        devices = [Device(id, k, MAPS[table or name], number, plant, 0.0, 0) for k, id in enumerate(ids)]
        for device in devices:
            device.leave(registers)
        super().__init__(protocol, plant, devices, 1.0)
        self.close()
        self.one, self.joints = devices[0], plant

    def reply(self, device, content, wrong, id, baud):
        self.said += self.framing.status(id, content, device.status | self.framing.errors.get(wrong, 0))

    def hear(self, text):
        """What is answered to bytes in hexadecimal digits."""
        buffer, self.said = bytearray.fromhex(text), bytearray()
        while (packet := self.framing.take(buffer)) is not None:
            self.handle(packet)
        assert not buffer, "every byte was part of a packet"
        return bytes(self.said).hex(" ")

    def send(self, instruction, *content, id=1):
        """(error, content) of the answer to an instruction; None where there is none."""
        inside = bytes(content)
        if self.framing is FRAMINGS["dynamixel2"]:
            whole = b"\xff\xff\xfd\x00" + bytes([id, len(inside) + 3, 0, instruction]) + inside
            whole += crc(whole).to_bytes(2, "little")
        else:
            inside = bytes([id, len(inside) + 2, instruction]) + inside
            whole = b"\xff\xff" + inside + bytes([~sum(inside) & 0xFF])
        said = bytes.fromhex(self.hear(whole.hex()))
        if not said:
            return None
        return (said[8], said[9:-2]) if said.startswith(b"\xff\xff\xfd") else (said[4], said[5:-1])

    def write(self, name, value, id=1):
        """The error of the answer to a written register; None where none came."""
        r = self.one.table[name]
        address = r.address.to_bytes(self.framing.address_size, "little")
        answer = self.send(3, *address, *r.encode(value, big=self.one.table.big), id=id)
        return None if answer is None else answer[0]

    def get(self, name):
        self.one.refresh()
        return self.one.get(name)

    def wait(self, seconds):
        advance_devices(self.plant, self.devices, self.plant.time + seconds)


@pytest.mark.parametrize(
    ("protocol", "registers", "question", "answer"),
    [
        ("dynamixel1", {}, "ffff 01 02 01 fb", "ff ff 01 02 00 fc"),
        ("dynamixel1", {}, "ffff 01 04 02 2b 01 cc", "ff ff 01 03 00 19 e2"),  # 25 degC
        ("feetech", {}, "ffff 01 02 01 fb", "ff ff 01 02 00 fc"),
        ("feetech", {}, "ffff 01 04 02 38 02 be", "ff ff 01 04 00 00 08 f2"),  # 2048
        ("feetech", {}, "ffff 01 09 03 2a 00 08 00 00 e8 03 d5", "ff ff 01 02 00 fc"),
        (
            "dynamixel2",
            {"firmware": 38},
            "fffffd00 01 0300 01 194e",
            "ff ff fd 00 01 07 00 55 00 06 04 26 65 5d",
        ),
        (
            "dynamixel2",
            {"position": 166},
            "fffffd00 01 0700 02 8400 0400 1d15",
            "ff ff fd 00 01 08 00 55 00 a6 00 00 00 8c c0",
        ),
        ("dynamixel2", {}, "fffffd00 01 0900 03 7400 00020000 ca89", "ff ff fd 00 01 04 00 55 00 a1 0c"),
    ],
)
def test_frames_are_answered_as_their_makers_print(protocol, registers, question, answer):
    wire = Wire(protocol)
    for name, value in registers.items():
        wire.one.put(name, value)
        wire.one.refresh = lambda: None  # a measurement that the manual prints
    assert wire.hear(question) == answer


def test_reg_write_waits_for_the_action():
    for protocol, registered, action, name, value in (
        ("dynamixel1", "ffff 01 05 04 1e f4 01 e2", "ffff fe 02 05 fa", "goal", 500),
        ("feetech", "ffff 01 05 04 2a f4 01 d6", "ffff fe 02 05 fa", "goal", 500),
        (
            *("dynamixel2", "fffffd00 01 0900 04 6800 c8000000 ae8e", "fffffd00 01 0300 05 02ce"),
            *("goal_velocity", 200),
        ),
    ):
        wire = Wire(protocol)
        assert wire.hear(registered)
        assert wire.get(name) != value
        assert wire.get("registered") == 1
        wire.hear(action)
        assert wire.get(name) == value
        assert wire.get("registered") == 0


def test_several_servos_are_read_and_written_at_once():
    one = Wire("dynamixel1", ids=(0, 1, 2, 3))
    assert one.hear("fffffe 18 83 1e 04 00 10005001 01 20026003 02 30007001 03 20028003 12") == ""
    assert [d.get("goal") for d in one.devices] == [0x10, 0x220, 0x30, 0x220]
    assert [d.get("goal_velocity") for d in one.devices] == [0x150, 0x360, 0x170, 0x380]
    said = one.hear("fffffe 09 92 00 02 01 1e 02 02 24 1d")  # goal of 1, position of 2
    assert said == "ff ff 01 04 00 20 02 d8 ff ff 02 04 00 00 08 f1"
    two = Wire("dynamixel2")
    assert two.hear("fffffd00 fe 1100 83 7400 0400 01 96000000 02 aa000000 8287") == ""
    assert [d.get("goal") for d in two.devices] == [150, 170]
    assert two.hear("fffffd00 fe 0900 82 8400 0400 01 02 cefa").count("55 00 00 08 00 00") == 2
    said = two.hear("fffffd00 fe 0d00 92 01 9000 0200 02 9200 0100 1a05")  # voltage of 1, temperature of 2
    assert "ff ff fd 00 01 06 00 55 00 78 00" in said
    assert "ff ff fd 00 02 05 00 55 00 19" in said
    assert two.hear("fffffd00 fe 1000 93 01 2000 0200 a000 02 1f00 0100 50 b768") == ""
    assert (two.devices[0].get("supply_high"), two.devices[1].get("temperature_limit")) == (160, 80)


REFUSED = {
    "dynamixel1": (
        *(("position", 5, 8), ("id", 253, 8), ("proportional", 255, 8)),
        *(("position_high", 3000, 0), ("goal", 3001, 2), ("goal", 2900, 0)),
    ),
    "dynamixel2": (
        *(("position", 5, 7), ("id", 253, 4), ("mode", 2, 4), ("drive_mode", 4, 4)),
        *(("position_high", 3000, 0), ("goal", 3001, 6), ("goal", 2900, 0)),
    ),
    "feetech": (("position", 5, 0), ("position_high", 3000, 0), ("goal", 3500, 0)),
}


@pytest.mark.parametrize("protocol", REFUSED)
def test_what_cannot_be_is_refused_in_the_protocols_own_words(protocol):
    wire = Wire(protocol)
    for name, value, error in REFUSED[protocol]:
        before = wire.get(name)
        assert wire.write(name, value) == error, name
        stays = error or name == "position"
        assert wire.get(name) == (before if stays else value), name
    unknown, long = wire.send(0x10, 1, 2), wire.send(2, 1)
    assert (unknown and unknown[0], long and long[0]) == {
        "dynamixel1": (1 << 6, 1 << 3),
        "dynamixel2": (2, 5),
        "feetech": (0, 0),
    }[protocol]
    assert (
        wire.send(2, *(250, 0, 200, 0)[:: 1 if protocol == "dynamixel2" else 2])[0]
        == ({"dynamixel1": 8, "dynamixel2": 4, "feetech": 0}[protocol])
    )


def test_a_dynamixel_keeps_its_eeprom_closed_while_it_holds():
    for protocol, closed in (("dynamixel1", 8), ("dynamixel2", 7)):
        wire = Wire(protocol)
        wire.write("torque_enable", 1)
        assert wire.write("id", 7) == closed
        assert wire.one.id == 1
        wire.write("torque_enable", 0)
        assert wire.write("id", 7) == 0, "answered under the old id"
        assert wire.write("torque_enable", 1, id=1) is None
        assert wire.write("torque_enable", 1, id=7) == 0
        wire.send(8, id=7)
        assert wire.one.id == 7, "stored"
    wire = Wire("dynamixel1")
    wire.write("lock", 1)
    assert wire.write("return_delay", 0) == 8


def test_a_feetech_that_is_locked_forgets_with_the_power():
    wire = Wire("feetech", position_high=3000)
    wire.write("return_delay", 5)
    wire.write("lock", 0)
    wire.write("position_low", 1000)
    wire.write("torque_enable", 1)
    wire.write("torque_enable", 0)
    assert (wire.get("return_delay"), wire.get("position_low")) == (5, 1000), "torque has no part in it"
    wire.send(8)
    assert (wire.get("return_delay"), wire.get("position_low")) == (0, 1000)
    assert wire.get("position_high") == 3000, "as somebody left it"
    wire.send(6)
    assert (wire.get("position_low"), wire.get("position_high"), wire.one.id) == (0, 4095, 1)


def test_a_factory_reset_keeps_what_it_is_told_to():
    for code, id, baud in ((0xFF, 1, 57_600), (0x01, 9, 57_600), (0x02, 9, 2_000_000)):
        wire = Wire("dynamixel2", ids=(9,), baud=4, temperature_limit=50)
        assert wire.send(6, code, id=9) == (0, b"")
        assert (wire.one.id, wire.one.baud, wire.get("temperature_limit")) == (id, baud, 70)


def test_only_those_who_hear_a_rate_answer_at_it():
    wire = Wire("feetech")
    wire._rate = 1_000_000
    wire.write("baud", 4, id=2)
    assert wire.send(1, id=2) is None
    wire._rate = 115_200
    assert wire.send(1, id=1) is None
    assert wire.send(1, id=2) == (0, b"")
    assert wire.one.table.rates[5] == 76_800
    assert MAPS["dynamixel-mx"].rates[34] == pytest.approx(57_600, rel=0.01)


@pytest.mark.parametrize(("protocol", "sign"), [("feetech", -1), ("dynamixel2", 1)])
def test_a_homing_offset_moves_what_is_counted_and_not_the_joint(protocol, sign):
    wire = Wire(protocol)
    wire.write("homing_offset", 300)
    assert wire.get("position") == 2048 + sign * 300
    wire.write("torque_enable", 1)
    wire.write("goal", wire.get("position") + 40)
    wire.wait(1.0)
    assert wire.plant.motion(0)[0] / TURN == pytest.approx(40, abs=12)
    assert wire.get("position") - sign * 300 - 2048 == round(wire.plant.motion(0)[0] / TURN)
    wire.write("torque_enable", 0)
    wire.send(8)
    assert wire.get("homing_offset") == (300 if protocol == "dynamixel2" else 0), "locked, it was not stored"
    wire.write("homing_offset", -1500)
    expected = {"feetech": 1500, "dynamixel2": 0}[protocol]  # in its position mode 1024 at most
    assert wire.get("position") - 2048 - round(wire.plant.motion(0)[0] / TURN) == expected


def test_a_feetech_is_told_where_its_middle_is():
    wire = Wire("feetech")
    wire.write("torque_enable", 1)
    wire.write("goal", 2400)
    wire.wait(1.0)
    wire.write("torque_enable", 0)
    before = wire.get("position")
    assert wire.write("torque_enable", 128) == 0
    assert (wire.get("position"), wire.get("homing_offset")) == (2048, before - 2048)
    assert wire.get("torque_enable") == 0
    wire.send(8)
    assert wire.get("homing_offset") == before - 2048


@pytest.mark.parametrize(
    ("protocol", "registers", "speed", "acceleration"),
    [
        ("feetech", {"goal_velocity": 400, "acceleration": 10}, 400, 1000),
        ("feetech", {"goal_velocity": 300}, 300, None),
        ("dynamixel1", {"goal_velocity": 40, "goal_acceleration": 10}, 311.30, 976.55),
        ("dynamixel2", {"profile_velocity": 30, "profile_acceleration": 5}, 468.99, 1220.70),
    ],
)
def test_a_goal_is_approached_along_its_profile(protocol, registers, speed, acceleration):
    """Units: Feetech counts/s and 100 counts/s^2; MX 0.114 rpm and 8.583 deg/s^2; X 0.229 rpm and 214.577
    rev/min^2. A trapezoid over d takes d / v + v / a."""
    wire = Wire(protocol)
    for name, value in registers.items():
        wire.write(name, value)
    wire.write("torque_enable", 1)
    wire.write("goal", 2048 + 600)
    lasts = 600 / speed + (speed / acceleration if acceleration else 0.0)
    assert wire.get("moving") == 1
    seen = []
    for _ in range(round(1000 * lasts) - 4):
        wire.wait(1e-3)
        seen.append(wire.one._setpoint)
    assert wire.one._setpoint < 2648
    assert wire.get("moving") == 1
    wire.wait(8e-3)
    assert wire.one._setpoint == 2648
    rates = np.diff(seen) / 1e-3
    assert rates.max() == pytest.approx(speed, rel=1e-3)
    if acceleration:
        assert np.abs(np.diff(rates)).max() / 1e-3 == pytest.approx(acceleration, rel=1e-2)
    assert abs(wire.get("position") - 2648) < 40, "and the joint is there too"
    wire.wait(0.5)
    assert wire.get("moving") == 0


@pytest.mark.parametrize("goal", [700, -700])
@pytest.mark.parametrize(
    ("protocol", "before", "name", "unit"),
    [
        ("feetech", {"mode": 1}, "goal_velocity", TURN),
        ("dynamixel1", {"position_low": 0, "position_high": 0}, "goal_velocity", 0.114 * math.pi / 30),
        ("dynamixel2", {"mode": 1}, "goal_velocity", 0.229 * math.pi / 30),
    ],
)
def test_a_wheel_turns_at_the_speed_that_is_asked(protocol, before, name, unit, goal):
    wire = Wire(protocol)
    for register, value in before.items():
        assert wire.write(register, value) == 0
    wire.write("torque_enable", 1)
    count = round(math.copysign(2.0, goal) / unit)
    wire.write(name, count)
    wire.wait(0.5)
    start = wire.plant.motion(0)[0]
    wire.wait(3.0)
    assert (wire.plant.motion(0)[0] - start) / 3.0 == pytest.approx(count * unit, rel=0.03)
    assert wire.get("moving") == 1
    wire.write(name, 0)
    wire.wait(0.5)
    assert wire.plant.motion(0)[1] == pytest.approx(0.0, abs=0.01)
    assert wire.get("moving") == 0


@pytest.mark.parametrize(
    ("protocol", "mode", "name", "count", "share"),
    [("feetech", 2, "goal_time", 400, 0.4), ("dynamixel2", 16, "goal_duty", 354, 0.4)],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_duty_is_at_the_motor(protocol, mode, name, count, share, sign):
    wire = Wire(protocol)
    assert wire.write("mode", mode) == 0
    wire.write("torque_enable", 1)
    r = wire.one.table.duty_goal
    wire.send(3, *r.address.to_bytes(wire.framing.address_size, "little"), *r.encode(sign * count))
    wire.wait(0.5)
    duties = []
    for _ in range(200):
        wire.wait(2e-3)
        seen = wire.plant.sensor_values(0)
        duties.append(seen["voltage"] / seen["supply"])
    assert np.mean(duties) == pytest.approx(sign * share, abs=0.01)
    assert sign * wire.plant.motion(0)[1] > 0.5


def test_a_current_is_driven_and_limited():
    wire = Wire("dynamixel2", faults=["stuck=0s"])
    wire.write("mode", 0)
    wire.write("torque_enable", 1)
    wire.write("goal_current", -150)
    wire.wait(0.2)
    assert wire.plant.sensor_values(0)["current"] == pytest.approx(-150 * 2.69e-3, rel=0.02)
    wire.write("torque_enable", 0)
    wire.write("mode", 5)
    wire.write("torque_enable", 1)
    wire.write("goal_current", 100)
    wire.write("goal", 3500)
    wire.wait(0.2)
    assert wire.plant.sensor_values(0)["current"] == pytest.approx(0.269, rel=0.02)


@pytest.mark.parametrize(
    ("protocol", "name", "count"),
    [("feetech", "torque_limit", 300), ("dynamixel1", "torque_limit", 307), ("dynamixel2", "goal_duty", 266)],
)
@pytest.mark.parametrize("goal", [4000, 96])
def test_a_torque_limit_limits(protocol, name, count, goal):
    wire = Wire(protocol, faults=["stuck=0s"])
    wire.write(name, count)
    wire.write("torque_enable", 1)
    wire.write("goal", goal)
    wire.wait(3.0)
    seen = wire.plant.sensor_values(0)
    assert seen["voltage"] / seen["supply"] == pytest.approx(0.3 if goal > 2048 else -0.3, abs=0.01)
    assert wire.get("torque_enable") == 1, "no overload"


@pytest.mark.parametrize(("sign", "share"), [(1, 0.3), (-1, 0.6)])
def test_a_wheel_that_is_held_winds_up_no_further_than_its_duty(sign, share):
    """It asks for the error that gives the duty it is allowed, 0.166 * 32 of it per radian, and back."""
    wire, ahead = Wire("feetech", faults=["stuck=0s"], mode=1), sign * share / (0.166 * 32) / TURN
    for name, value in (("torque_limit", 1000 * share), ("torque_enable", 1), ("goal_velocity", sign * 400)):
        wire.write(name, round(value))
    wire.wait(1.5)
    assert wire.one._setpoint - wire.get("position") == pytest.approx(ahead, abs=3)
    wire.write("goal_velocity", -sign * 400)
    wire.wait(2.2 * abs(ahead) / 400)
    assert wire.one._setpoint - wire.get("position") == pytest.approx(-ahead, abs=3)


def test_an_overload_is_shut_down_and_only_a_reboot_helps():
    wire = Wire("dynamixel2", faults=["stuck=0s"])
    wire.write("torque_enable", 1)
    wire.write("goal", 4000)
    for _ in range(25):
        wire.wait(0.1)
        wire.one.refresh()
    assert (wire.get("torque_enable"), wire.get("hardware_error")) == (0, 1 << 5)
    assert wire.write("torque_enable", 1) == 0x81, "the alert, and a result that failed"
    wire.send(8)
    assert wire.write("torque_enable", 1) == 0


@pytest.mark.parametrize(("condition", "torque", "duty"), [(44, 0, 0.0), (44 & ~32, 1, 0.2)])
def test_an_overloaded_feetech_lets_go_or_pushes_less(condition, torque, duty):
    wire = Wire("feetech", faults=["stuck=0s"], unloading_condition=condition, protection_time=50)
    wire.write("torque_enable", 1)
    wire.write("goal", 4000)
    for _ in range(4):
        wire.wait(0.1)
        wire.one.refresh()
    assert wire.get("status") == 0, "0.5 s have not passed"
    for _ in range(4):
        wire.wait(0.1)
        wire.one.refresh()
    assert wire.get("status") == wire.one.status == 1 << 5
    seen = wire.plant.sensor_values(0)
    assert wire.get("torque_enable") == torque
    assert seen["voltage"] / seen["supply"] == pytest.approx(duty, abs=0.01)
    wire.write("torque_enable", 1)
    wire.write("goal", 2048)
    assert wire.get("status") == 0


def test_steps_add_up():
    wire = Wire("feetech", mode=3)
    wire.write("torque_enable", 1)
    for _ in range(3):
        wire.write("goal", -100)
    wire.wait(1.0)
    assert wire.one._setpoint == 2048 - 300


def test_a_law_sees_whole_counts():
    """An error below half a count is none to it, and one above is a whole one."""
    wire = Wire("dynamixel2", faults=["stuck=0s"])
    wire.write("torque_enable", 1)
    plant, errors = wire.joints, []
    for part in (-0.6, -0.4, 0.4, 0.6):
        plant.state[0, plant._states["position"]] = part * TURN
        wire.one.tick(plant.time + 1e-3)
        asked = plant.inputs[0, plant.columns["position_target"]]
        errors.append(asked / TURN - part)
        wire.one._ticked = plant.time
    assert errors == pytest.approx([1.0, 0.0, 0.0, -1.0])


def test_a_quiet_servo_answers_only_reads():
    for protocol, level in (("feetech", 0), ("dynamixel1", 1), ("dynamixel2", 1)):
        wire = Wire(protocol, response_level=level)
        assert wire.write("torque_enable", 1) is None
        assert wire.get("torque_enable") == 1
        assert wire.send(1) is not None
        assert wire.send(2, *(3, 0, 1, 0)[:: 1 if protocol == "dynamixel2" else 2]) is not None


def _played(start, goal, speed, acceleration, velocity=0.0, h=1e-3):
    s, v, track = start, velocity, [start]
    for _ in range(4000):
        s, v = profile_step(s, v, goal, speed, acceleration, h)
        track.append(float(s))
    return np.array(track)


def test_a_profile_is_a_trapezoid_from_any_start():
    random = np.random.default_rng(3)
    for _ in range(6):
        start, goal = random.uniform(-1000, 1000, 2)
        speed, acceleration = random.uniform(800, 2000), random.uniform(3000, 20_000)
        velocity = random.uniform(-1, 1) * speed
        track = _played(start, goal, speed, acceleration, velocity)
        rates = np.diff(track) / 1e-3
        assert track[-1] == goal
        assert np.abs(rates).max() <= speed * (1 + 1e-9)
        assert np.abs(np.diff(rates)).max() / 1e-3 <= acceleration * (1 + 1e-6)
        braking = velocity * abs(velocity) / (2 * acceleration)
        if (goal - start) * (goal - start - braking) > 0:  # it can stop in time
            past = (track - goal) * np.sign(goal - start)
            assert past.max() <= acceleration * 1e-6, "it does not pass its goal"


def test_profiles_are_traced_by_jax():
    jax = pytest.importorskip("jax")
    numbers = (10.0, 3.0, 200.0, 50.0, 400.0, 1e-3)
    with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64():
        for traced, plain in zip(jax.jit(profile_step)(*numbers), profile_step(*numbers), strict=True):
            assert float(traced) == pytest.approx(float(plain), rel=1e-12)
        assert float(jax.jit(limit_error)(5.0, 2.0, 3.0, 0.1, 0.5)) == pytest.approx(1.7)
        assert float(jax.jit(whole)(-2.5)) == -2.0
    assert ramp_step(0.0, -5.0, 100.0, 0.01) == -1.0
    assert ramp_step(0.0, -5.0, None, 0.01) == -5.0
    assert limit_error(-5.0, 2.0, 3.0, 0.1, 0.5) == pytest.approx(-1.3)


@pytest.mark.parametrize("robot", [False, True])
def test_what_rounds_moves_as_the_model_does_within_counts(robot, tmp_path):
    """The same goals through registers, and given to the plant as they are; a delay of 12.3 ms included."""
    part = actuator("xm430-w350").replace(**{"drive.delay": 0.0123})
    arm = tmp_path / "arm.xml"
    arm.write_text(ARM)

    def plant():
        if robot:
            model = be.Robot.read(arm)
            return VirtualRobot(part, model, model.names, Faults())
        return VirtualPlant(part, Pendulum(mass=0.1, length=0.1), 1, Faults())

    one, other = plant(), plant()
    device = Device(1, 0, MAPS["dynamixel-x"], 1020, one, 0.0, 0)
    other.enable(0, True)
    device.write(64, b"\x01")
    far, late = [], []
    for k in range(300):
        goal, now = round(400 * math.sin(k / 20)) + 2048, 0.01 * k
        device.write(116, goal.to_bytes(4, "little"))
        late.append((now + 0.0123, (goal - 2048) * TURN))
        advance_devices(one, [device], now + 0.01)
        while robot and late and late[0][0] <= now + 0.01:  # this plant leaves delays to others
            other.advance(late[0][0])
            other.follow(0, late.pop(0)[1])
        if not robot:
            other.ask(0, "position_target", (goal - 2048) * TURN)
        other.advance(now + 0.01)
        far.append(one.motion(0)[0] - other.motion(0)[0])
    assert np.ptp([400 * math.sin(k / 20) * TURN for k in range(300)]) > 1
    assert np.sqrt(np.mean(np.square(far))) < 1.0 * TURN


SERVO = be.Actuator(
    motor=be.motor.Motor(resistance=5.0, torque_constant=1.8, rotor_inertia=0.02),
    friction=be.friction.Coulomb(coulomb=0.06, viscous=0.02),
    drive=be.drive.Servo(firmware_gain=0.17, proportional=32.0, supply=12.0, duty_limit=0.97),
)


def servo(**firmware):
    return dataclasses.replace(SERVO, drive=dataclasses.replace(SERVO.drive, **firmware))


def followed(part, table="feetech-sts", number=777, step=0.9, seconds=1.2, registers=(), arm=None):
    """(device, times, positions) of a step of a virtual servo that was asked 1 ms before 0.1 s."""
    if arm is None:
        plant = VirtualPlant(part, Pendulum(mass=0.1, length=0.1), 1, Faults())
    else:
        model = be.Robot.read(arm)
        plant = VirtualRobot(part, model, model.names, Faults())
    one = Device(1, 0, MAPS[table], number, plant, 0.0, 0)
    for name, value in dict(registers).items():
        one.write(one.table[name].address, one.table[name].encode(value))
    at = one.table["torque_enable"].address
    one.write(at, b"\x01")
    advance_devices(plant, [one], 0.099)
    goal = one.table["goal"]
    one.write(goal.address, goal.encode(round(step / TURN) + 2048))
    times, seen = np.arange(1, 1 + round(seconds / 0.005)) * 0.005 + 0.1, []
    for time in times:
        advance_devices(plant, [one], time)
        seen.append(plant.motion(0)[0])
    return one, times, np.array(seen)


def simulated(part, times, step=0.9):
    target = round(step / TURN) * TURN
    run = be.simulate(
        part,
        Pendulum(mass=0.1, length=0.1),
        {"position_target": lambda t: np.where(t > 0.0999, target, 0.0)},  # when it is next looked at
        duration=times[-1] + 0.01,
        dt=1e-3,
        substeps=2,
    )
    return np.interp(times, run.time, run.position)


SLEW = 63 * 0.229 * math.pi / 30
"""Whole counts of a Dynamixel's profile velocity [rad/s]; 5.24 rad/s^2 are 14 of its acceleration."""
TWINS = {
    "acceleration": {"acceleration": 20.0},
    "slew": {"slew": SLEW},
    "both": {"acceleration": 5.24, "slew": SLEW},
    "deadband": {"deadband": 0.01},
    "deadband, punch": {"deadband": 0.003, "punch": 0.02},
    "count": {"count": TURN},
    "coarse count": {"count": 0.01},
    "duty_step": {"duty_step": 0.02},
    "period": {"period": 0.01},
    "integral": {"integral": 10.0, "firmware_integral_gain": 0.05},
    "derivative": {"derivative": 32.0, "firmware_derivative_gain": 1e-3},
    "derivative of the error": {
        **{"derivative": 32.0, "firmware_derivative_gain": 1e-3, "derivative_filter": 0.01}
    },
}


@pytest.mark.parametrize("step", [0.9, 0.05])
@pytest.mark.parametrize("table", ["feetech-sts", "dynamixel-x"])
@pytest.mark.parametrize("name", TWINS)
def test_a_virtual_servo_moves_as_its_model_does(name, table, step):
    """2 mrad: a position is a whole number of 1.5 mrad to it, and it looks at it once a millisecond."""
    part = servo(**TWINS[name])
    _, times, seen = followed(part, table, 777 if "sts" in table else 1020, step)
    assert np.sqrt(np.mean((seen - simulated(part, times, step)) ** 2)) < 2e-3


def test_a_virtual_robots_servo_moves_as_its_model_does(tmp_path):
    arm = tmp_path / "arm.xml"
    arm.write_text(ARM)
    for name in ("both", "deadband, punch", "count"):
        part = servo(**TWINS[name])
        _, _, alone = followed(part)
        _, _, seen = followed(part, arm=arm)
        assert np.sqrt(np.mean((seen - alone) ** 2)) < 4e-3, name  # its arm has 5 % more inertia


def test_numbers_of_the_firmware_stand_in_the_registers():
    part = servo(acceleration=20.0, slew=1.5, deadband=0.01, punch=0.02, count=TURN)
    one, _, _ = followed(part, seconds=0.1)
    full = 1 / (0.17 * 32)
    assert {name: one.get(name) for name in ("acceleration", "dead_zone_forward", "minimum_force")} == {
        "acceleration": round(20.0 / (100 * TURN)),
        "dead_zone_forward": round(0.01 / TURN),
        "minimum_force": round(1000 * 0.02 / full),
    }
    assert one.get("goal_velocity") == 0, "a wheel would turn by it"
    one, _, _ = followed(part, "dynamixel-x", 1020, seconds=0.1)
    assert one.get("profile_velocity") == round(1.5 / (0.229 * math.pi / 30))
    plain, _, _ = followed(SERVO, seconds=0.1)
    assert [plain.get(name) for name in ("dead_zone_backward", "minimum_force", "acceleration")] == [0, 0, 0]
    with pytest.warns(be.errors.BackemfWarning, match=r"acceleration is 100, and acceleration holds 39\.1"):
        followed(servo(acceleration=100.0), seconds=0.01)


def at_rest(registers, table="feetech-sts", number=777):
    """Where a servo with much friction stops."""
    part = SERVO.replace(**{"friction.coulomb": 0.3})
    return followed(part, table, number, 0.05, registers=registers)[2][-1]


def test_dead_zones_and_start_up_duties_act_as_they_are_written():
    goal = round(0.05 / TURN) * TURN
    off = goal - at_rest({})
    assert off > 3 * TURN, "friction and weight hold it back"
    assert goal - at_rest({"minimum_force": 100}) < off - 2 * TURN
    assert at_rest({"dead_zone_forward": 33}) == pytest.approx(0.0, abs=1e-6), "33 counts away"
    assert goal - at_rest({"dead_zone_backward": 33}) == pytest.approx(off, abs=1e-9), "the other side"
    mx = {"table": "dynamixel-mx", "number": 320}
    assert at_rest({"punch": 102}, **mx) == pytest.approx(at_rest({"minimum_force": 100}), abs=TURN)


def test_gains_act_where_their_effect_is_known():
    known = servo(firmware_integral_gain=0.05, firmware_derivative_gain=1e-3)
    _, times, plain = followed(known)
    for register, value, field in (("integral", 10, "integral"), ("derivative", 100, "derivative")):
        _, _, seen = followed(known, registers={register: value})
        assert np.abs(seen - plain).max() > 5e-3, register
        there = simulated(
            servo(**{field: value, f"firmware_{field}_gain": getattr(known.drive, f"firmware_{field}_gain")}),
            times,
        )
        assert np.sqrt(np.mean((seen - there) ** 2)) < 2e-3, register
    _, _, back = followed(servo(derivative=32.0, firmware_derivative_gain=1e-3), registers={"derivative": 0})
    assert np.abs(back - followed(SERVO)[2]).max() < 1e-6
    for name in ("derivative", "integral"):
        with pytest.warns(
            be.errors.BackemfWarning, match=f"{name} 50 does nothing here: .* drive.firmware_{name}"
        ):
            followed(SERVO, registers={name: 50}, seconds=0.01)
