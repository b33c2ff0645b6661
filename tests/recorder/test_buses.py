"""CAN motors, microcontrollers and both Dynamixel protocols: recorded from their virtual kind."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import backemf as be
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
