"""Small bags of ROS 2, written as MCAP and as SQLite."""

from __future__ import annotations

import sqlite3

from backemf.logs.readers import ros_bag

from ...conftest import needed, unavailable

START = 1_700_000_000
CONTROLLER = "control_msgs/msg/JointTrajectoryControllerState"
BAR = "\n" + "=" * 80 + "\n"
HEADER = BAR.join(
    (
        "",
        "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id",
        "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec",
    )
)
POINT = BAR.join(
    (
        "",
        "MSG: trajectory_msgs/JointTrajectoryPoint\nfloat64[] positions\nfloat64[] velocities\n"
        "float64[] accelerations\nfloat64[] effort\nbuiltin_interfaces/Duration time_from_start",
        "MSG: builtin_interfaces/Duration\nint32 sec\nuint32 nanosec\n",
    )
)
LAYOUT = BAR.join(
    (
        "",
        "MSG: std_msgs/MultiArrayLayout\nstd_msgs/MultiArrayDimension[] dim\nuint32 data_offset",
        "MSG: std_msgs/MultiArrayDimension\nstring label\nuint32 size\nuint32 stride\n",
    )
)
DEFINITIONS = ros_bag.DEFINITIONS | {
    "sensor_msgs/msg/JointState": (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort"
        + HEADER
    ),
    "trajectory_msgs/msg/JointTrajectory": (
        "std_msgs/Header header\nstring[] joint_names\ntrajectory_msgs/JointTrajectoryPoint[] points"
        + HEADER
        + POINT
    ),
    "std_msgs/msg/Float64MultiArray": f"std_msgs/MultiArrayLayout layout\nfloat64[] data{LAYOUT}",
}
IRON = (
    DEFINITIONS[CONTROLLER]
    .replace("Point desired", "Point reference")
    .replace("Point actual", "Point feedback")
)


def stamp(seconds):
    return {"sec": START + int(seconds), "nanosec": round(1e9 * (seconds % 1))}


def header(seconds):
    return {"stamp": stamp(seconds), "frame_id": ""}


def duration(seconds):
    return {"sec": int(seconds), "nanosec": round(1e9 * (seconds % 1))}


def point(positions, after=0.0, velocities=()):
    row = {"positions": positions, "velocities": list(velocities), "accelerations": [], "effort": []}
    return row | {"time_from_start": duration(after)}


def state(seconds, names, positions):
    row = {"header": header(seconds), "name": names, "position": positions, "velocity": [], "effort": []}
    return ("/joint_states", "sensor_msgs/msg/JointState", seconds, row)


def array(topic, seconds, values, labels=()):
    dim = [{"label": label, "size": 1, "stride": 1} for label in labels]
    layout = {"dim": dim, "data_offset": 0}
    return (topic, "std_msgs/msg/Float64MultiArray", seconds, {"layout": layout, "data": values})


def write_mcap(path, messages, definitions=DEFINITIONS):
    try:
        from mcap_ros2.writer import Writer
    except ImportError:
        unavailable("mcap-ros2-support, of the extra 'dev',")
    with path.open("wb") as file:
        writer = Writer(file)
        schemas = {}
        for topic, kind, seconds, message in messages:
            if kind not in schemas:
                schemas[kind] = writer.register_msgdef(kind, definitions[kind])
            writer.write_message(topic, schemas[kind], message, log_time=round((START + seconds) * 1e9))
        writer.finish()
    return path


def write_db3(path, messages, definitions=DEFINITIONS, stored=False):
    """The same with the tables of rosbag2, with the definitions where they are `stored`."""
    needed("mcap_ros2")
    from mcap_ros2._dynamic import serialize_dynamic

    base = sqlite3.connect(path)
    columns = (
        "id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT, offered_qos_profiles TEXT"
    )
    base.execute(f"CREATE TABLE topics({columns})")
    base.execute(
        "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)"
    )
    if stored:
        base.execute("CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT)")
        base.execute("INSERT INTO schema VALUES (4, 'iron')")
        base.execute("ALTER TABLE topics ADD COLUMN type_description_hash TEXT NOT NULL DEFAULT ''")
        base.execute(
            "CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT, encoding TEXT,"
            " encoded_message_definition TEXT, type_description_hash TEXT)"
        )
    ids = {}
    for topic, kind, seconds, message in messages:
        if topic not in ids:
            ids[topic] = len(ids) + 1
            row = (ids[topic], topic, kind, "cdr", "", *[""][: int(stored)])
            base.execute(f"INSERT INTO topics VALUES ({','.join('?' * len(row))})", row)
            if stored:
                row = (ids[topic], kind, "ros2msg", definitions[kind], "")
                base.execute("INSERT INTO message_definitions VALUES (?,?,?,?,?)", row)
        content = serialize_dynamic(kind, definitions[kind])[kind](message)
        at = round((START + seconds) * 1e9)
        base.execute(
            "INSERT INTO messages(topic_id, timestamp, data) VALUES (?,?,?)", (ids[topic], at, content)
        )
    base.commit()
    base.close()
    return path
