"""LeRobot's own motor buses on virtual servos, run by an interpreter that has LeRobot:
scripts/lerobot_bus.py.

python -m tests.recorder.lerobot_run KIND MODEL ARM FRESH     prints {"versions": ..., "checks": [...]}

Its utilities import torch, accelerate and datasets, which its motors never call: absent ones are stand-ins.
"""

# pyright: reportMissingImports=false
# LeRobot is in an environment of its own.
from __future__ import annotations

import functools
import json
import sys
from importlib.util import find_spec
from unittest.mock import MagicMock

for name in ("torch", "accelerate", "datasets"):
    if find_spec(name) is None:
        sys.modules[name] = MagicMock()
        sys.modules |= {f"datasets.{part}": MagicMock() for part in ("utils", "utils.logging")}

from lerobot import __version__  # noqa: E402
from lerobot.motors import Motor, MotorCalibration, MotorNormMode, motors_bus  # noqa: E402

N = 3
TRIES = 20
"""What LeRobot is told to ask again, on a machine that may be busy."""
PATIENCE = 2000.0
"""How much longer it waits for an answer [ms]; it is there long before, unless the machine is busy."""


def bus_of(kind: str, port: str, motors: dict):
    if kind == "feetech":
        from lerobot.motors.feetech import FeetechMotorsBus as Bus
    else:
        from lerobot.motors.dynamixel import DynamixelMotorsBus as Bus
    bus = Bus(port=port, motors=motors)
    wait = bus.port_handler.setPacketTimeout

    def wait_longer(length: int) -> None:
        wait(length)
        bus.port_handler.packet_timeout += PATIENCE

    bus.port_handler.setPacketTimeout = wait_longer
    bus.sync_read = functools.partial(bus.sync_read, num_retry=TRIES)
    return bus


def set_up(kind: str, model: str, port: str) -> list[tuple[str, bool]]:
    """A new servo with another id and baud rate, as `lerobot-setup-motors` does it."""
    bus = bus_of(kind, port, {"gripper": Motor(6, model, MotorNormMode.RANGE_0_100)})
    bus.setup_motor("gripper")
    bus.disconnect(disable_torque=False)
    bus.connect()
    holds = bus.ping("gripper", TRIES) is not None
    bus.disconnect(disable_torque=True)
    return [("setup_motor: found at another rate, it has its new id and rate", holds)]


def until(condition) -> bool:
    return any(condition() for _ in range(300))


def arm(kind: str, model: str, port: str) -> list[tuple[str, bool]]:
    """Connect, configure, calibrate, move and let go."""
    names = [f"joint_{k + 1}" for k in range(N)]
    motors = {name: Motor(k + 1, model, MotorNormMode.DEGREES) for k, name in enumerate(names)}
    bus = bus_of(kind, port, motors)
    bus.connect()
    checks = [("connect: the handshake", bus.is_connected)]
    bus.disable_torque(num_retry=TRIES)
    bus.configure_motors()
    if kind != "feetech":
        for name in names:
            bus.write("Operating_Mode", name, 4, num_retry=TRIES)
    bus.reset_calibration()
    offsets = bus.set_half_turn_homings()
    here = bus.sync_read("Present_Position", normalize=False)
    checks += [("set_half_turn_homings", set(here.values()) == {2047} and set(offsets) == set(names))]
    low, high = _ranges(bus, names)
    checks += [("record_ranges_of_motion", all(high[n] - low[n] > 150 for n in names))]
    bus.disable_torque(num_retry=TRIES)
    table = {
        name: MotorCalibration(k + 1, 0, offsets[name], 1000 + k, 3000 + k) for k, name in enumerate(names)
    }
    bus.write_calibration(table)
    checks += [("write_calibration reads back", bus.read_calibration() == table and bus.is_calibrated)]
    bus.enable_torque(num_retry=TRIES)
    goals = dict(zip(names, (10.0, -10.0, 5.0), strict=True))
    bus.sync_write("Goal_Position", goals, num_retry=TRIES)

    def is_there() -> bool:
        seen = bus.sync_read("Present_Position")
        return all(abs(seen[name] - goal) < 3.0 for name, goal in goals.items())

    checks += [("sync_write, sync_read: goals in degrees are reached", until(is_there))]
    checks += [("Moving ends", until(lambda: not any(bus.sync_read("Moving", normalize=False).values())))]
    bus.disable_torque(num_retry=TRIES)
    on = bus.sync_read("Torque_Enable", normalize=False)
    checks += [("disable_torque", set(on.values()) == {0})]
    bus.disconnect()
    return checks


def _ranges(bus, names: list[str]) -> tuple[dict, dict]:
    """The joints are moved while LeRobot records how far, in place of a hand and the Enter key."""
    asked = iter([*[2147] * 60, *[1947] * 60])

    def pressed() -> bool:
        goal = next(asked, None)
        if goal is not None:
            bus.sync_write("Goal_Position", dict.fromkeys(names, goal), normalize=False)
        return goal is None

    bus.enable_torque(num_retry=TRIES)
    motors_bus.enter_pressed = pressed
    return bus.record_ranges_of_motion(display_values=False)


def main(kind: str, model: str, port: str, fresh: str) -> None:
    checks = set_up(kind, model, fresh) + arm(kind, model, port)
    print(json.dumps({"versions": f"LeRobot {__version__}", "checks": checks}))


if __name__ == "__main__":
    main(*sys.argv[1:])
