"""What messages about joints say: whose, which signal, and what it is, as rows of (joint, signal, value)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ...names import ASKING, words

JOINT_STATE = "sensor_msgs/msg/JointState"
CONTROLLER = "control_msgs/msg/JointTrajectoryControllerState"
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
ARRAY = "std_msgs/msg/Float64MultiArray"
UNITS = {"position": "rad", "velocity": "rad/s", "torque": "N m"}
Row = tuple[str, str, str, float]
"""(joint, the field as the message calls it, signal, value)."""
LEGS = tuple(f"{leg}_{part}_joint" for leg in ("FR", "FL", "RR", "RL") for part in ("hip", "thigh", "calf"))
"""Motors 0 to 11 of Unitree's quadrupeds (A1, Go1, Go2, B1, B2; unitree_legged_sdk)."""
NOBODY = "#"
"""Before the number of an element that has no name."""


NOT_ASKED = {"position_target": (2.146e9,), "velocity_target": (16000.0,)}
"""What Unitree's commands hold where a position or velocity is not asked for (PosStopF, VelStopF)."""


class Kind(NamedTuple):
    """A type of message."""

    rows: Callable[[Any, str], Iterator[Row]]
    rank: int
    """How near to the motors it is: of two that say the same, the lower counts."""
    stamped: bool = True
    """Whether it has a time of its own."""


def asks(topic: str) -> bool:
    return any(w.lower() in ASKING for w in words(topic))


def joint_state(message: Any, topic: str) -> Iterator[Row]:
    """Positions, velocities and efforts by name; targets where the topic says so."""
    behind = "_target" if asks(topic) else ""
    for field, signal in (("position", "position"), ("velocity", "velocity"), ("effort", "torque")):
        for name, value in zip(message.name, getattr(message, field), strict=False):
            yield name, field, f"{signal}{behind}", value


def controller_state(message: Any, topic: str) -> Iterator[Row]:
    """What a trajectory controller asked of the joints and what they did: `reference` and `feedback`, or
    `desired` and `actual` before ROS 2 Iron."""
    for fields, behind in ((("reference", "desired"), "_target"), (("feedback", "actual"), "")):
        field = next((f for f in fields if hasattr(message, f)), "")
        point = getattr(message, field, None)
        for part, signal in (("positions", "position"), ("velocities", "velocity"), ("effort", "torque")):
            for name, value in zip(message.joint_names, getattr(point, part, ()), strict=False):
                yield name, f"{field}.{part}", f"{signal}{behind}", value


def array(message: Any, topic: str) -> Iterator[Row]:
    """Commands of forward controllers: numbers whose joints only the controller's configuration names, or
    the layout's labels."""
    said = {w.lower() for w in words(topic)}
    kinds = {"position": "position", "velocity": "velocity", "effort": "torque", "torque": "torque"}
    signal = next((s for w, s in kinds.items() if w in said or f"{w}s" in said), "")
    labels = [d.label for d in message.layout.dim]
    named = len(labels) == len(message.data) and all(labels) and len(set(labels)) == len(labels)
    for k, value in enumerate(message.data):
        yield labels[k] if named else f"{NOBODY}{k}", "data", f"{signal}_target" if signal else "", value


def motor(name: str, fields: Sequence[tuple[str, str]]) -> Callable[[Any, str], Iterator[Row]]:
    """Unitree's motors, which have places and no names."""

    def rows(message: Any, topic: str) -> Iterator[Row]:
        for k, one in enumerate(getattr(message, name)):
            for field, signal in fields:
                value = getattr(one, field)
                nothing = value in NOT_ASKED.get(signal, ())
                yield f"motor_{k}", field, signal, math.nan if nothing else value

    return rows


def no_rows(message: Any, topic: str) -> Iterator[Row]:
    """A trajectory is more than a row: it is sampled when all of them are known."""
    return iter(())


STATE = motor("motor_state", (("q", "position"), ("dq", "velocity"), ("tau_est", "torque")))
COMMAND = motor("motor_cmd", (("q", "position_target"), ("dq", "velocity_target"), ("tau", "torque_target")))
KINDS = {
    CONTROLLER: Kind(controller_state, 1),
    JOINT_STATE: Kind(joint_state, 0),
    ARRAY: Kind(array, 2, stamped=False),
    TRAJECTORY: Kind(no_rows, 3),
    **{f"unitree_{family}/msg/LowState": Kind(STATE, 0, stamped=False) for family in ("go", "hg")},
    **{f"unitree_{family}/msg/LowCmd": Kind(COMMAND, 0, stamped=False) for family in ("go", "hg")},
}
