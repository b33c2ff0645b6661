"""CAN motors, microcontrollers and both Dynamixel protocols: recorded from their virtual kind."""

from __future__ import annotations

import math
import struct
import zlib

import numpy as np
import pytest

import backemf as be
from backemf.kits.recorder.buses import BUSES
from backemf.kits.recorder.buses.damiao import Damiao, Span
from backemf.kits.recorder.buses.mit import Frame
from backemf.kits.recorder.buses.robstride import RobStride
from backemf.kits.recorder.record_options import CAN
from backemf.kits.recorder.recorder import RecordingStopped
from backemf.planning.motions import SafetyLimits

from .rig import BENCH, hold, short, virtual

PARTS = {
    "dynamixel": "xm430-w350",
    "dynamixel1": "mx-106",
    "damiao": "dm-j4310-2ec",
    "robstride": "robstride-02",
    "lines": "sts3215-7.4v",
}


def group(name: str) -> str:
    """A multicast group of a test's own, so that tests may run side by side."""
    return f"239.74.{zlib.crc32(name.encode()) % 250 + 1}.{zlib.crc32(name[::-1].encode()) % 250 + 1}"


def on(name: str, place: str, *words: str):
    channel = ("--channel", group(place)) if name in CAN else ()
    return virtual(PARTS[name], "--protocol", name, *channel, "--noise", "0", *words)


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_every_bus_gives_logs_that_follow_what_was_asked(tmp_path, name):
    with on(name, f"{name}{tmp_path}") as port:
        logs = be.record(
            bus=name,
            port=port,
            motions=short("sweep", "coast", seconds=6.0),
            to=tmp_path,
            bench=BENCH,
            yes=True,
            limits=SafetyLimits(silence=2.0),  # the patience that a busy machine needs
            **({"interface": "udp_multicast"} if name in CAN else {}),
        )
    sweep, coast = logs
    error = sweep["position"] - sweep["position_target"]
    assert np.max(np.abs(error)) < 0.3, "it follows"
    # a motor without gears that holds its pendulum by a soft spring follows a sweep of 0.3 rad in part only
    assert np.ptp(sweep["position"]) > (0.02 if name in CAN else 0.15), "and moves"
    assert list(coast.signals["enabled"].values) == [1.0, 0.0]
    assert bool(sweep.settings) == (name != "lines"), "the log knows its drive, where the servo does"
    assert np.all(np.diff(sweep.signals["position"].time) > 0)


@pytest.mark.slow
def test_a_can_motor_that_is_too_fast_is_switched_off(tmp_path):
    with (
        on("damiao", f"fast{tmp_path}") as port,
        pytest.raises(RecordingStopped, match=r"velocity of .* above its limit of 0\.1"),
    ):
        be.record(
            bus="damiao",
            port=port,
            motions=hold(),
            to=tmp_path,
            yes=True,
            limits=SafetyLimits(velocity=0.1),
            interface="udp_multicast",
        )


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
