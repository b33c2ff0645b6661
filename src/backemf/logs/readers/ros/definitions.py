"""Fields of common messages of ROS 2, in their order: what a bag without definitions is decoded by.

From the interface packages sensor_msgs, control_msgs, trajectory_msgs, std_msgs and Unitree's unitree_go;
fields behind the last that is read are left out.
"""

from __future__ import annotations

_TIME = ("builtin_interfaces/Time", "int32 sec\nuint32 nanosec")
_DURATION = ("builtin_interfaces/Duration", "int32 sec\nuint32 nanosec")
_HEADER = ("std_msgs/Header", "builtin_interfaces/Time stamp\nstring frame_id")
_NUMBERS = "float64[] positions\nfloat64[] velocities\nfloat64[] accelerations\nfloat64[] effort"
_POINT = ("trajectory_msgs/JointTrajectoryPoint", f"{_NUMBERS}\nbuiltin_interfaces/Duration time_from_start")
_POINTS = ("desired", "actual", "error")
_LAYOUT = (
    ("std_msgs/MultiArrayLayout", "std_msgs/MultiArrayDimension[] dim\nuint32 data_offset"),
    ("std_msgs/MultiArrayDimension", "string label\nuint32 size\nuint32 stride"),
)
_BEGINS = (
    "uint8[2] head\nuint8 level_flag\nuint8 frame_reserve\nuint32[2] sn\nuint32[2] version\nuint16 bandwidth"
)
_IMU = (
    "float32[4] quaternion\nfloat32[3] gyroscope\nfloat32[3] accelerometer\nfloat32[3] rpy\nint8 temperature"
)
_NOW = "float32 q\nfloat32 dq\nfloat32 ddq\nfloat32 tau_est\nfloat32 q_raw\nfloat32 dq_raw\nfloat32 ddq_raw"
_ASKED = "float32 q\nfloat32 dq\nfloat32 tau\nfloat32 kp\nfloat32 kd"


def _text(fields: str, *parts: tuple[str, str]) -> str:
    """A definition with those of its parts behind it, in the form that bags hold."""
    return "".join([fields, *(f"\n{'=' * 80}\nMSG: {name}\n{of_it}" for name, of_it in parts), "\n"])


DEFINITIONS = {
    "sensor_msgs/msg/JointState": _text(
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort",
        _HEADER,
        _TIME,
    ),
    "trajectory_msgs/msg/JointTrajectory": _text(
        "std_msgs/Header header\nstring[] joint_names\ntrajectory_msgs/JointTrajectoryPoint[] points",
        _HEADER,
        _TIME,
        _POINT,
        _DURATION,
    ),
    "control_msgs/msg/JointTrajectoryControllerState": _text(
        "\n".join(
            [
                "std_msgs/Header header\nstring[] joint_names",
                *(f"trajectory_msgs/JointTrajectoryPoint {p}" for p in _POINTS),
            ]
        ),
        _HEADER,
        _TIME,
        _POINT,
        _DURATION,
    ),
    "std_msgs/msg/Float64MultiArray": _text("std_msgs/MultiArrayLayout layout\nfloat64[] data", *_LAYOUT),
    "unitree_go/msg/LowState": _text(
        f"{_BEGINS}\nunitree_go/IMUState imu_state\nunitree_go/MotorState[20] motor_state",
        ("unitree_go/IMUState", _IMU),
        ("unitree_go/MotorState", f"uint8 mode\n{_NOW}\nint8 temperature\nuint32 lost\nuint32[2] reserve"),
    ),
    "unitree_go/msg/LowCmd": _text(
        f"{_BEGINS}\nunitree_go/MotorCmd[20] motor_cmd",
        ("unitree_go/MotorCmd", f"uint8 mode\n{_ASKED}\nuint32[3] reserve"),
    ),
}
