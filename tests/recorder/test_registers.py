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


PRINTED = {
    "dynamixel-x": (
        "id 0..252, baud 0..7 = 1, return_delay 0..254 = 250, mode = 3, homing_offset -1044479..1044479,"
        " moving_threshold = 10, temperature_limit 0..100 = 70, supply_low = 35, duty_limit 0..885 = 885,"
        " current_limit = 1750, position_high 0..4095 = 4095, position_low 0..4095 = 0, shutdown = 53,"
        " torque_enable 0..1, response_level 0..2 = 2, derivative 0..16383, integral 0..16383,"
        " proportional 0..16383, goal_duty = 885, goal_current = 1750, profile_acceleration 0..32767,"
        " profile_velocity 0..32767"
    ),
    "dynamixel-mx": (
        "id 0..252, baud = 34, return_delay 0..254 = 250, position_low 0..4095, position_high 0..4095 = 4095,"
        " temperature_limit = 80, supply_low = 60, supply_high = 160, torque_maximum 0..1023 = 1023,"
        " response_level 0..2 = 2, shutdown = 36, torque_enable 0..1, proportional 0..254 = 32,"
        " torque_limit 0..1023 = 1023, lock 0..1"
    ),
    "feetech-sts": (
        "baud = 0, return_delay = 0, response_level = 1, position_low = 0, position_high = 4095,"
        " temperature_limit = 70, supply_low = 40, torque_maximum = 1000, unloading_condition = 44,"
        " proportional = 32, derivative = 32, integral = 0, minimum_force = 16, dead_zone_forward = 1,"
        " dead_zone_backward = 1, current_limit = 500, mode = 0, protective_torque = 20,"
        " protection_time = 200, overload_torque = 80, torque_limit = 1000, lock = 1"
    ),
    "feetech-scs": "position_low = 0, position_high = 1023, temperature_limit = 70, torque_maximum = 1000",
}  # fmt: skip
"""Ranges and initial values: ROBOTIS e-manual of XL330-M288 and MX-106; Feetech, memory tables."""


@pytest.mark.parametrize("name", PRINTED)
def test_a_new_servo_holds_what_its_maker_prints_and_takes_what_it_says(name):
    table = MAPS[name]
    for entry in PRINTED[name].split(", "):
        words, _, initial = entry.partition(" = ")
        register, _, span = words.partition(" ")
        assert table[register].size > 0
        if span:
            assert table.takes[register] == tuple(map(int, span.split(".."))), register
        if initial:
            assert table.defaults[register] == int(initial), register


@pytest.mark.parametrize(
    ("protocol", "models"),
    [
        ("feetech", {777: ("sts3215", 6.5), 2825: ("sts3250", 6.5), 1284: ("scs0009", None)}),
        ("dynamixel1", {29: ("mx-28", None), 310: ("mx-64", 4.5), 320: ("mx-106", 4.5)}),
        ("dynamixel2", {30: ("mx-28", None), 311: ("mx-64", 3.36), 321: ("mx-106", 3.36)}),
        ("dynamixel2", {1060: ("xl430-w250", None), 1190: ("xl330-m077", 1.0), 1200: ("xl330-m288", 1.0)}),
        ("dynamixel2", {1220: ("xc330-t288", 1.0), 1230: ("xc330-m181", 1.0), 1240: ("xc330-m288", 1.0)}),
        ("dynamixel2", {1020: ("xm430-w350", 2.69), 1030: ("xm430-w210", 2.69)}),
        ("dynamixel2", {1120: ("xm540-w270", 2.69), 1130: ("xm540-w150", 2.69)}),
    ],
)
def test_model_numbers_and_milliamperes_are_those_of_the_sheets(protocol, models):
    for number, (name, milliamperes) in models.items():
        table = of_model(protocol, number)
        current = table.scale("current", table.model(number)) if "current" in table.scales else None
        assert table.model(number).name == name
        assert (current and 1e3 * current.factor) == pytest.approx(milliamperes)


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("dynamixel-x", {0: 9600, 1: 57_600, 2: 115_200, 3: 1e6, 4: 2e6, 5: 3e6, 6: 4e6, 7: 4.5e6}),
        ("dynamixel-mx", {1: 1e6, 3: 5e5, 7: 25e4, 16: 115_200, 34: 57_600, 207: 9600}),
        ("dynamixel-mx", {250: 2.25e6, 251: 2.5e6, 252: 3e6}),
        ("feetech-sts", {0: 1e6, 1: 5e5, 2: 25e4, 3: 128_000, 4: 115_200, 5: 76_800, 6: 57_600, 7: 38_400}),
    ],
)
def test_rates_are_those_that_the_makers_print(name, rates):
    for count, rate in rates.items():
        assert MAPS[name].rates[count] == pytest.approx(rate, rel=0.025)  # MX: as near as 2 MHz can be parted
    assert set(MAPS[name].bauds) <= {*MAPS[name].rates.values(), 57_600, 115_200}
    assert MAPS[name].bauds[0] == 1_000_000


@pytest.mark.parametrize(
    ("name", "signal", "count", "value"),
    [
        ("feetech-sts", "velocity", 4096, 2 * math.pi),
        ("feetech-sts", "profile_velocity", 4096, 2 * math.pi),
        ("feetech-sts", "profile_acceleration", 40.96, 2 * math.pi),  # 100 steps/s^2 a count
        ("feetech-sts", "duty", 1000, 1.0),
        ("feetech-scs", "position", 512 + 1024 / 300 * 90, math.pi / 2),
        ("feetech-scs", "velocity", 1024 / 300 * 90, math.pi / 2),
        ("feetech-scs", "profile_velocity", 1024 / 300 * 90, math.pi / 2),
        ("dynamixel-x", "duty", 885, 1.0),
        ("dynamixel-x", "profile_velocity", 60 / 0.229, 2 * math.pi),
        ("dynamixel-x", "profile_acceleration", 3600 / 214.577, 2 * math.pi),  # rev/min^2
        ("dynamixel-mx", "velocity", 60 / 0.114, 2 * math.pi),
        ("dynamixel-mx", "profile_velocity", 60 / 0.114, 2 * math.pi),
        ("dynamixel-mx", "profile_acceleration", 360 / 8.583, 2 * math.pi),
        ("dynamixel-mx", "duty", 1023, 1.0),
        *(
            (name, "supply", 120, 12.0)
            for name in ("feetech-sts", "feetech-scs", "dynamixel-x", "dynamixel-mx")
        ),
        *(
            (name, "temperature", 40, 40.0)
            for name in ("feetech-sts", "feetech-scs", "dynamixel-x", "dynamixel-mx")
        ),
        *(
            (name, "return_delay", 250, 5e-4)
            for name in ("feetech-sts", "feetech-scs", "dynamixel-x", "dynamixel-mx")
        ),
    ],
)
def test_a_count_is_what_the_maker_prints(name, signal, count, value):
    assert MAPS[name].scales[signal].si(count) == pytest.approx(value)
    assert MAPS[name].scales[signal].count(value) == round(count)
    assert MAPS["feetech-scs"].counts_per_turn == pytest.approx(1024 * 360 / 300, abs=0.5)
