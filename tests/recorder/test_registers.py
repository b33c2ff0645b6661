"""Control tables and packets against numbers that their makers print."""

from __future__ import annotations

import math

import pytest

from backemf.kits.recorder.registers import MAPS, TWOS, Register, of_model, of_part
from backemf.kits.recorder.virtual.serial_line import FRAMINGS, Packet, crc

PING_ONE = bytes.fromhex("ffff0102 01fb")
PING_TWO = bytes.fromhex("fffffd00 01 0300 01 194e")
"""ROBOTIS e-manual, protocol 1.0 and 2.0: ping to id 1."""


def test_packets_are_taken_apart_as_their_makers_write_them():
    for name, whole in (("dynamixel1", PING_ONE), ("feetech", PING_ONE), ("dynamixel2", PING_TWO)):
        buffer = bytearray(b"\x00\xff" + whole + whole[:3])
        assert FRAMINGS[name].take(buffer) == Packet(1, 1, b"")
        assert FRAMINGS[name].take(buffer) is None
        assert bytes(buffer) == whole[:3], "the beginning of the next packet is kept"


def test_a_damaged_packet_is_thrown_away_and_the_next_is_heard():
    for name, whole in (("dynamixel1", PING_ONE), ("dynamixel2", PING_TWO)):
        damaged = whole[:-1] + bytes([whole[-1] ^ 1])
        buffer = bytearray(damaged + whole)
        assert FRAMINGS[name].take(buffer) == Packet(1, 1, b"")


def test_status_packets_of_protocol_two_stuff_what_looks_like_a_head():
    status = FRAMINGS["dynamixel2"].status(1, b"\x01\xff\xff\xfd\x02")
    assert b"\xff\xff\xfd\xfd\x02" in status
    assert int.from_bytes(status[5:7], "little") == len(status) - 7
    assert crc(status[:-2]) == int.from_bytes(status[-2:], "little")


@pytest.mark.parametrize(
    ("register", "value", "content"),
    [
        (Register(0, 2), 0x1234, b"\x34\x12"),
        (Register(0, 2, 15), -5, b"\x05\x80"),
        (Register(0, 2, 10), -1000, b"\xe8\x07"),
        (Register(0, 2, 11), -2047, b"\xff\x0f"),
        (Register(0, 4, TWOS), -1, b"\xff\xff\xff\xff"),
        (Register(0, 1), 255, b"\xff"),
    ],
)
def test_numbers_are_written_as_the_servo_reads_them(register, value, content):
    assert register.encode(value) == content
    assert register.decode(content) == value
    assert register.decode(register.encode(value, big=True), big=True) == value


def test_what_does_not_fit_is_cut_and_never_wraps():
    assert Register(0, 2, 10).decode(Register(0, 2, 10).encode(99_999)) == 1023
    assert Register(0, 4, TWOS).decode(Register(0, 4, TWOS).encode(-(2**40))) == -(2**31)
    assert Register(0, 1).encode(-3) == b"\x00"


@pytest.mark.parametrize(
    ("name", "block"),
    [
        ("feetech-sts", (56, 15)),
        ("feetech-scs", (56, 10)),
        ("dynamixel-x", (124, 23)),
        ("dynamixel-mx2", (124, 23)),
        ("dynamixel-mx", (36, 34)),
    ],
)
def test_one_read_brings_every_signal(name, block):
    table = MAPS[name]
    assert table.block == block
    assert table.scales["position"].si(table.scales["position"].count(0.5)) == pytest.approx(
        0.5, abs=table.scales["position"].factor / 2
    )
    used = [(r.address, r.address + r.size, n) for n, r in table.registers.items()]
    for a, b in zip(sorted(used), sorted(used)[1:], strict=False):
        assert a[1] <= b[0], f"{a[2]} and {b[2]} share a byte"


def test_counts_are_the_units_that_the_makers_print():
    sts, mx, x = MAPS["feetech-sts"], MAPS["dynamixel-mx"], MAPS["dynamixel-x"]
    assert sts.scale("current", sts.model(777)).si(-100) == pytest.approx(-0.65)  # 6.5 mA a count
    assert sts.scales["position"].si(3072) == pytest.approx(math.pi / 2)
    assert mx.scale("current", mx.model(320)).si(2058) == pytest.approx(0.045)  # 4.5 mA (count - 2048)
    assert mx.scale("current", mx.model(29)) is None, "an MX-28 has no current"
    assert x.scale("current", x.model(1020)).si(100) == pytest.approx(0.269)  # 2.69 mA a count
    assert x.scales["velocity"].si(100) == pytest.approx(22.9 * 2 * math.pi / 60)  # 0.229 rpm a count


def test_a_part_of_the_catalogue_is_found_by_its_model_number():
    assert of_model("feetech", 777).name == "feetech-sts"
    assert of_model("feetech", 1284).name == "feetech-scs"
    assert of_model("dynamixel2", 321).name == "dynamixel-mx2"
    assert of_model("dynamixel2", 9999).name == "dynamixel-x"
    assert of_part("sts3215-12v", "feetech") == (MAPS["feetech-sts"], 777)
    assert of_part("mx-106", "dynamixel1") == (MAPS["dynamixel-mx"], 320)
    assert of_part("mx-106", "feetech") is None
