"""Frames of CAN motors, and the words of faults, that no clock is needed for."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

import backemf as be
from backemf.datasheets import parts
from backemf.errors import InvalidValue, UnknownName
from backemf.kits.recorder.buses import BUSES
from backemf.kits.recorder.buses.damiao import Damiao, Span
from backemf.kits.recorder.buses.mit import Frame
from backemf.kits.recorder.buses.robstride import RobStride
from backemf.kits.recorder.registers import MAPS
from backemf.kits.recorder.virtual.can_bus import PARAMETERS, RIDS
from backemf.kits.recorder.virtual.firmware import Device
from backemf.kits.recorder.virtual.plants import Faults, VirtualPlant


def test_a_damiao_frame_is_what_its_maker_prints():
    """MIT mode: p 16, v 12, kp 12, kd 12, t 12 bits, the high ones first; 0 is the middle of a span."""
    motor = Damiao("can0", "virtual")
    motor._spans[1] = Span(12.5, 16), Span(30.0, 12), Span(10.0, 12)
    frame = motor._command(1, 0.0, 500.0, 5.0)
    assert frame.id == 1
    p, v, k_p, k_d, t = _unpacked(frame.content)
    assert (p, v, t) == (32768, 2048, 2048)
    assert (k_p, k_d) == (4095, 4095)
    assert _unpacked(motor._command(1, 12.5, 0.0, 0.0).content)[0] == 65535
    assert motor._switch(1, True).content == b"\xff" * 7 + b"\xfc"
    heard = motor._feedback(Frame(0x11, bytes([0x11, 0x80, 0x00, 0x80, 0x08, 0x00, 30, 40])))
    assert heard is not None
    assert (heard.id, heard.on, heard.alarm) == (1, True, "")
    assert heard.values == (32768.0, 2048.0, 2048.0, 40.0, 30.0)
    for late in (0x33, 0x55):
        assert motor._feedback(Frame(0x11, bytes([1, 0, late, 9, 0, 0, 0, 0]))) is None, "of a register"
    over = motor._feedback(Frame(0x11, bytes([0xC1, 0x80, 0x00, 0x80, 0x08, 0x00, 30, 40])))
    assert over is not None
    assert over.alarm == "winding too hot"


def test_a_span_goes_over_all_counts():
    column = Span(12.5, 16).column("position", "rad")
    assert column.si(0) == pytest.approx(-12.5)
    assert column.si(65535) == pytest.approx(12.5)
    assert Span(500.0, 12, 0.0).column("stiffness", "1").si(4095) == pytest.approx(500.0)
    assert Span(12.5, 16).count(99.0) == 65535, "what does not fit is cut"


def _unpacked(d: bytes) -> tuple[int, ...]:
    whole = int.from_bytes(d, "big")
    return tuple(whole >> at & (1 << n) - 1 for at, n in ((48, 16), (36, 12), (24, 12), (12, 12), (0, 12)))


def test_a_robstride_frame_has_its_torque_in_the_identifier():
    motor = RobStride("can0#robstride-03", "virtual")
    frame = motor._command(5, math.pi, 100.0, 2.0)
    assert frame.extended
    assert (frame.id >> 24, frame.id >> 8 & 0xFFFF, frame.id & 0xFF) == (1, 32768, 5)
    position, velocity, k_p, k_d = struct.unpack(">HHHH", frame.content)
    assert position == round((math.pi + 4 * math.pi) / (8 * math.pi) * 65535)
    assert velocity == 32768
    assert (k_p, k_d) == (round(100 / 5000 * 65535), round(2 / 100 * 65535))
    heard = motor._feedback(
        Frame(2 << 24 | 2 << 22 | 5 << 8 | 0xFD, struct.pack(">HHHH", 1, 2, 3, 305), True)
    )
    assert heard == (5, (1.0, 2.0, 3.0, 305.0), True, "")


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: BUSES["usb"], "unknown bus 'usb'"),
        (lambda: BUSES["robstride"].connect("can0#robstride-99"), "unknown RobStride model"),
        (lambda: BUSES["damiao"].connect("can0", gains=(-1.0, 0.0)), "the gains are -1 N m/rad"),
        (
            lambda: BUSES["damiao"].connect("nothing0", interface="socketcan").open(),
            "cannot be opened with 'socketcan'",
        ),
    ],
)
def test_buses_that_cannot_be(make, text):
    with pytest.raises(be.BackemfError, match=text):
        make()


@pytest.mark.parametrize(
    ("words", "kind", "text"),
    [
        ("explode", UnknownName, "unknown fault 'explode'"),
        ("lose", InvalidValue, "expected a number: lose=0.01"),
        ("wrapped=1", InvalidValue, "expected wrapped alone"),
        ("stuck=-1", InvalidValue, "expected a number from 0 on"),
    ],
)
def test_faults_in_words(words, kind, text):
    with pytest.raises(kind, match=text):
        Faults.read([words])
    assert Faults.read(["stuck=300ms", "wrong-sign"]) == Faults(stuck=0.3, wrong_sign=True)


@pytest.mark.parametrize(
    ("model", "velocity", "torque", "stiffness", "damping"),
    [
        ("robstride-00", 33.0, 14.0, 500.0, 5.0),
        ("robstride-01", 44.0, 17.0, 500.0, 5.0),
        ("robstride-02", 44.0, 17.0, 500.0, 5.0),
        ("robstride-03", 20.0, 60.0, 5000.0, 100.0),
        ("robstride-04", 15.0, 120.0, 5000.0, 100.0),
        ("robstride-05", 50.0, 5.5, 500.0, 5.0),
        ("robstride-06", 50.0, 36.0, 5000.0, 100.0),
    ],
)
def test_full_counts_of_a_robstride_are_what_its_manual_prints(model, velocity, torque, stiffness, damping):
    motor = RobStride(f"can0#{model}", "virtual")
    for half, share in ((0, 0.0), (32768, 0.5), (65535, 1.0)):
        frame = motor._command(5, 4 * math.pi * (2 * share - 1), share * stiffness, share * damping)
        assert struct.unpack(">HHHH", frame.content) == pytest.approx((half, 32768, half, half), abs=1)
        signed = [x * (2 * share - 1) for x in (velocity, torque)]
        assert [s.si(half) for s in motor.spans[:2]] == pytest.approx(signed, abs=1e-3 * torque)


def test_what_is_wrong_with_a_motor_is_said_in_its_makers_words():
    damiao, robstride = Damiao("can0", "virtual"), RobStride("can0", "virtual")
    printed = "over voltage, under voltage, over current, driver too hot, winding too hot"
    printed += ", lost communication, overload"
    for code, words in enumerate(printed.split(", "), 8):  # DM-J4310, feedback frames: 8 to E
        heard = damiao._feedback(Frame(0x11, bytes([code << 4 | 1, 0, 0, 0, 0, 0, 0, 0])))
        assert (heard.id, heard.on, heard.alarm) == (1, False, words)
    printed = "under voltage, over current, too hot, encoder, stalled, not calibrated"
    for bit, words in enumerate(printed.split(", "), 16):  # instruction manual: bits 16 to 21
        heard = robstride._feedback(Frame(2 << 24 | 1 << bit | 7 << 8 | 0xFD, bytes(8), True))
        assert (heard.id, heard.on, heard.alarm) == (7, False, words)
    assert [robstride._switch(7, on) for on in (True, False)] == [
        Frame(kind << 24 | 0xFD << 8 | 7, bytes(8), True) for kind in (3, 4)
    ]
    for frame in (
        Frame(3 << 24 | 7 << 8 | 0xFD, bytes(8), True),
        Frame(2 << 24 | 7 << 8 | 0xFE, bytes(8), True),
        Frame(2 << 24 | 7 << 8 | 0xFD, bytes(7), True),
        Frame(2 << 24 | 7 << 8 | 0xFD, bytes(8)),
    ):
        assert robstride._feedback(frame) is None


def test_registers_stand_where_the_makers_print_them():
    """Damiao, DM-J series manual, register list; RobStride, instruction manual, single parameters."""
    damiao = (
        "under_voltage torque_constant over_temperature over_current acceleration deceleration maximum_speed"
        " master_id id timeout control_mode damping inertia hardware firmware - pole_pairs resistance"
        " inductance flux gear_ratio position_span velocity_span torque_span - velocity_gain"
        " velocity_integral position_gain position_integral over_voltage"
    )
    printed = {name: rid for rid, name in enumerate(damiao.split()) if name != "-"}
    assert printed | {"position": 80, "output": 81} == RIDS
    robstride = (
        "7005 run_mode, 7006 iq_ref, 700A spd_ref, 700B limit_torque, 7016 loc_ref, 7017 limit_spd,"
        " 7018 limit_cur, 7019 position, 701A iq, 701B velocity, 701C supply, 701E loc_kp, 701F spd_kp,"
        " 7020 spd_ki, 7022 acc_rad, 7024 vel_max, 7025 acc_set, 7028 timeout"
    )
    rows = [entry.split() for entry in robstride.split(", ")]
    assert {int(index, 16): name for index, name in rows} == {i: name for i, (name, _) in PARAMETERS.items()}


def test_sensors_are_as_noisy_as_they_are_told_to_be():
    plant = VirtualPlant(
        parts.part("xm430-w350").actuator, be.bench.Pendulum(mass=0.1, length=0.1), 1, Faults()
    )
    device = Device(1, 0, MAPS["dynamixel-x"], 1020, plant, 3.0, 0)
    seen: dict[str, list[float]] = {"current": [], "velocity": [], "voltage": []}
    for _ in range(800):
        device.refresh()
        for name, counts in seen.items():
            counts.append(device.get(name))
    # thrice 4 mA, 0.02 rad/s and 0.03 V, which come in counts of 2.69 mA, 0.024 rad/s and 0.1 V
    for name, wide in (("current", 12 / 2.69), ("velocity", 0.06 / 0.02398), ("voltage", 0.9)):
        assert np.std(seen[name]) == pytest.approx(np.hypot(wide, 12**-0.5), rel=0.1), name
