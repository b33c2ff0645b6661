"""Virtual CAN motors, frame by frame and without a clock, as Damiao's and RobStride's manuals print them; and
once through python-can."""

from __future__ import annotations

import struct
import time

import pytest

from backemf.datasheets import parts
from backemf.kits.recorder.buses.mit import Frame
from backemf.kits.recorder.virtual.can_bus import CanLine
from backemf.kits.recorder.virtual.plants import Faults, VirtualPlant
from backemf.physics.bench import Pendulum

from .rig import virtual
from .test_buses import group

ON, OFF, ZERO = b"\xff" * 7 + b"\xfc", b"\xff" * 7 + b"\xfd", b"\xff" * 7 + b"\xfe"
PARTS = {"damiao": "dm-j4310-2ec", "robstride": "robstride-02"}


class Motors(CanLine):
    """Motors that are fed frames, in a time that the test decides."""

    def __init__(self, protocol, ids=(1, 2), faults=()):
        part = PARTS[protocol]
        plant = VirtualPlant(
            parts.part(part).actuator, Pendulum(mass=0.1, length=0.1), len(ids), Faults.read(faults)
        )
        super().__init__(protocol, plant, ids, part, 1.0, "")

    def wait(self, seconds):
        self.advance(self.plant.time + seconds)

    def send(self, id, content):
        """The answer to a frame: (identifier, content), or None."""
        answers = self.handle(Frame(id, content, self.protocol == "robstride"))
        return (answers[0].id, answers[0].content) if answers else None

    def register(self, rid, value=None, form="f", id=1):
        """A Damiao's register, written where a value is given."""
        content = bytes(4) if value is None else struct.pack(f"<{form}", value)
        answer = self.send(0x7FF, bytes([id, 0, 0x33 if value is None else 0x55, rid]) + content)
        return answer and struct.unpack(f"<{form}", answer[1][4:])[0]

    def parameter(self, index, value=None, form="f", id=1):
        """A RobStride's parameter, written where a value is given."""
        if value is None:
            place, content = self.send(17 << 24 | 0xFD << 8 | id, struct.pack("<H6x", index))
            assert (place >> 24, place >> 8 & 0xFF, place & 0xFF) == (17, id, 0xFD)
            return None if place >> 16 & 0xFF else struct.unpack_from(f"<{form}", content, 4)[0]
        content = struct.pack("<H2x", index) + struct.pack(f"<{form}", value).ljust(4, b"\0")
        return self.send(18 << 24 | 0xFD << 8 | id, content)


def test_a_damiao_is_asked_for_its_state_and_set_to_zero():
    line = Motors("damiao")
    id, content = line.send(0x7FF, bytes([2, 0, 0xCC, 0, 0, 0, 0, 0]))
    assert id == 0x12
    assert content == bytes([0x02, 0x80, 0x00, 0x80, 0x08, 0x00, 25, 25]), "off, in the middle of every span"
    line.send(0x01, ON)
    assert line.send(0x7FF, bytes([1, 0, 0xCC, 0]))[1][0] == 0x11, "on"
    line.register(10, 2, "I")
    line.send(0x101, struct.pack("<ff", 0.5, 5.0))
    line.wait(1.0)
    line.send(0x101, ZERO)
    assert line.register(80) == 0.0
    line.send(0x101, struct.pack("<ff", 0.2, 5.0))
    line.wait(1.0)
    assert line.plant.motion(0)[0] == pytest.approx(0.7, abs=0.03)


def test_a_damiao_goes_to_a_position_at_a_speed():
    line = Motors("damiao")
    line.send(0x01, ON)
    assert line.send(0x101, struct.pack("<ff", 1.0, 2.0)) is None, "not in its MIT mode"
    assert line.register(10, 2, "I") == 2
    assert line.send(0x01, bytes(8)) is None, "and now nothing else"
    line.send(0x101, struct.pack("<ff", 1.0, 2.0))
    line.wait(0.25)
    assert line.plant.motion(0)[0] == pytest.approx(0.5, abs=0.05)
    line.wait(0.5)
    assert line.plant.motion(0)[0] == pytest.approx(1.0, abs=0.03)
    line.register(4, 4.0)  # rad/s^2: half of the way takes sqrt(d / a)
    line.send(0x101, struct.pack("<ff", 0.0, 20.0))
    line.wait(0.5)
    assert line.plant.motion(0)[0] == pytest.approx(0.5, abs=0.05)
    line.register(4, 0.0)
    line.register(10, 3, "I")
    line.send(0x201, struct.pack("<f", -3.0))
    line.wait(0.3)
    start = line.plant.motion(0)[0]
    line.wait(4.0)
    assert (line.plant.motion(0)[0] - start) / 4.0 == pytest.approx(-3.0, rel=0.02)
    assert line.register(10, 9, "I") == 3, "there is no such mode"


def test_a_damiao_that_is_held_pushes_as_much_as_it_may():
    line = Motors("damiao", faults=["stuck=0s"])
    line.register(10, 4, "I")
    line.send(0x301, ON)
    line.send(0x301, struct.pack("<fHH", -2.0, 500, 2000))  # rad, 0.01 rad/s, 0.0001 of the full current
    line.wait(1.0)
    assert line.plant.sensor_values(0)["torque"] == pytest.approx(-0.2 * 10.0, rel=0.1)


def test_a_damiao_keeps_what_it_is_told():
    line = Motors("damiao")
    assert line.register(8, 5, "I") == 5
    assert line.register(7, 0x30, "I", id=5) == 0x30
    assert line.send(0x05, OFF)[0] == 0x30
    assert line.register(8, id=1) is None, "nobody has the old id"
    store = bytes([5, 0, 0xAA, 1, 0, 0, 0, 0])
    assert line.send(0x7FF, store) == (0x30, store)
    ratio = line.register(20, id=5)
    assert line.register(20, 99.0, id=5) == ratio == 10.0, "its gears stay"
    assert line.register(99, id=5) is None


def test_a_robstride_in_its_own_modes():
    line = Motors("robstride")
    enable, stop = 3 << 24 | 0xFD << 8 | 1, 4 << 24 | 0xFD << 8 | 1
    for mode, names in ((5, {0x7017: 2.0}), (1, {0x7024: 2.0, 0x7025: 1e4})):
        start = line.plant.motion(0)[0]
        line.parameter(0x7005, mode, "B")
        assert line.parameter(0x7005, None, "B") == mode
        line.send(enable, bytes(8))
        for index, value in names.items():
            line.parameter(index, value)
        line.parameter(0x7016, start + 1.0)
        line.wait(0.25)
        assert line.plant.motion(0)[0] == pytest.approx(start + 0.5, abs=0.05)
        line.wait(0.5)
        assert line.plant.motion(0)[0] == pytest.approx(start + 1.0, abs=0.03)
        assert line.parameter(0x7019) == pytest.approx(line.plant.motion(0)[0], abs=1e-6)
        line.send(stop, bytes(8))
    line.parameter(0x7005, 2, "B")
    line.send(enable, bytes(8))
    line.parameter(0x700A, -3.0)
    line.wait(0.5)
    start = line.plant.motion(0)[0]
    line.wait(4.0)
    assert (line.plant.motion(0)[0] - start) / 4.0 == pytest.approx(-3.0, rel=0.02)


def test_a_robstride_drives_a_current_and_says_what_it_does_not_have():
    line = Motors("robstride", faults=["stuck=0s"])
    line.parameter(0x7005, 3, "B")
    line.send(3 << 24 | 0xFD << 8 | 1, bytes(8))
    line.parameter(0x7006, -2.0)
    line.wait(0.1)
    assert line.plant.sensor_values(0)["current"] == pytest.approx(-2.0, rel=0.02)
    assert line.parameter(0x701A) == pytest.approx(-2.0, rel=0.02)
    assert line.parameter(0x6000) is None, "read, and marked as failed"
    place, uid = line.send(0xFD << 8 | 2, bytes(8))
    assert (place, uid[0]) == (2 << 8 | 0xFE, 2)
    line.send(7 << 24 | 9 << 16 | 0xFD << 8 | 2, bytes(8))
    assert line.send(0xFD << 8 | 2, bytes(8)) is None
    assert line.parameter(0x701C, id=9) == pytest.approx(48.0)
    assert line.send(11 << 24 | 0xFD << 8 | 1, bytes(8)) is None


@pytest.mark.realtime
def test_python_can_moves_a_damiao_in_position_velocity_mode(tmp_path):
    can = pytest.importorskip("can")
    words = ("--protocol", "damiao", "--channel", group(str(tmp_path)), "--noise", "0")
    with (
        virtual("dm-j4310-2ec", *words) as channel,
        can.Bus(interface="udp_multicast", channel=channel) as bus,
    ):

        def ask(id, content):
            for _ in range(50):
                bus.send(can.Message(arbitration_id=id, data=content, is_extended_id=False))
                until = time.monotonic() + 0.2
                while (heard := bus.recv(max(0.0, until - time.monotonic()))) is not None:
                    if heard.arbitration_id == 0x11:
                        return bytes(heard.data)
            raise AssertionError("no answer")

        ask(0x7FF, bytes([1, 0, 0x55, 10]) + struct.pack("<I", 2))
        ask(0x101, ON)
        ask(0x101, struct.pack("<ff", 0.5, 3.0))

        def position():
            d = ask(0x7FF, bytes([1, 0, 0xCC, 0, 0, 0, 0, 0]))
            return ((d[1] << 8 | d[2]) / 65535 - 0.5) * 25.0

        assert any(abs(position() - 0.5) < 0.05 or time.sleep(0.05) for _ in range(200))
        ask(0x101, OFF)
