"""Valid files of every format that backemf reads, from which the broken ones are made."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import scipy.io

import backemf as be
from backemf.kits.frc import wpilog
from backemf.logs import mapping
from backemf.targets.export import export

N = 30
T = 0.01 * np.arange(N)

SHEET = """name = "a motor"
maker = "somebody"
kind = "motor"
side = "rotor"
voltage = "12 V"
source = "a made-up sheet"

[entries]
resistance = "2.1 ohm"
no_load_speed = "3000 rpm"
stall_torque = "10 kg*cm"
no_load_current = "0.2 A"
"""
YAML = "time: [0.0, 0.01, 0.02, 0.03]\nposition_rad: [0.0, 0.1, 0.2, 0.3]\nnote: a rig\n"
MJCF = """<mujoco>
 <worldbody>
  <body name="arm">
   <joint name="knee" type="hinge" axis="0 1 0" damping="0.1" armature="0.01"/>
   <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.2" mass="0.5"/>
  </body>
 </worldbody>
 <actuator>
  <position name="knee" joint="knee" kp="20" kv="1" forcerange="-3 3"/>
 </actuator>
</mujoco>
"""
URDF = """<robot name="arm">
 <link name="base"/>
 <link name="leg"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0"
   iyz="0"/></inertial></link>
 <joint name="knee" type="revolute">
  <parent link="base"/><child link="leg"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="3" velocity="6"/>
  <dynamics damping="0.1" friction="0.05"/>
 </joint>
</robot>
"""
BAM = {
    "kt": 1.5,
    "R": 2.1,
    "armature": 0.01,
    "friction_base": 0.05,
    "friction_viscous": 0.02,
    "model": "m1",
    "actuator": "mx106",
    "q_offset": 0.01,
}


def servo() -> be.Actuator:
    return be.Actuator(
        motor=be.motor.Motor(resistance=4.0, torque_constant=0.9, rotor_inertia=3e-3),
        friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02),
        drive=be.drive.Position(volts_per_radian=8.0, voltage_limit=7.4),
    )


def pendulum() -> str:
    entries = [
        {
            "timestamp": float(t),
            "position": float(np.sin(t)),
            "goal_position": 0.5,
            "torque_enable": True,
            "input_volts": 15.0,
        }
        for t in T
    ]
    return json.dumps(
        {
            "mass": 0.5,
            "length": 0.1,
            "arm_mass": 0.09,
            "kp": 8,
            "vin": 15.0,
            "motor": "mx106",
            "trajectory": "lift",
            "entries": entries,
        }
    )


def table() -> str:
    return "time [s],position [deg],voltage_target [V]\n" + "".join(
        f"{t:.3f},{10 * t:.4f},{np.sin(t):.4f}\n" for t in T
    )


def sysid() -> str:
    rows = [[float(t), 1.0, float(t) ** 2, 2.0 * float(t)] for t in T]
    tests = {name: rows for name in ("slow-forward", "slow-backward", "fast-forward", "fast-backward")}
    return json.dumps(
        {"sysid": True, "test": "Simple", "units": "Rotations", "unitsPerRotation": 1.0, **tests}
    )


def mat(compressed: bool) -> bytes:
    out = io.BytesIO()
    scipy.io.savemat(
        out,
        {
            "t": T,
            "q": np.degrees(T),
            "run": {"u": 2 * T, "m": np.stack([T, 3 * T])},
            "kp": 8.0,
            "name": "rig",
        },
        do_compression=compressed,
    )
    return out.getvalue()


def npz() -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, time=T, position_rad=T, state=np.stack([T, 2 * T], axis=1), kp=8.0, name="rig")
    return out.getvalue()


def npy() -> bytes:
    out = io.BytesIO()
    rows = np.zeros(N, [("time", "f8"), ("position_rad", "f4"), ("enabled", "?")])
    rows["time"] = T
    np.save(out, rows)
    return out.getvalue()


def parquet() -> bytes:
    import pyarrow
    import pyarrow.parquet

    out = io.BytesIO()
    pyarrow.parquet.write_table(
        pyarrow.table({"time": T, "position [rad]": T, "state": [[k, 2.0 * k] for k in range(N)]}), out
    )
    return out.getvalue()


def episodes() -> bytes:
    import pyarrow
    import pyarrow.parquet

    out = io.BytesIO()
    joints = [[float(k), 2.0 * k] for k in range(N)]
    columns = {
        "observation.state": joints,
        "action": joints,
        "timestamp": T,
        "frame_index": np.arange(N),
        "episode_index": [0] * N,
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()


def episode_facts() -> str:
    features = {
        name: {"dtype": "float32", "shape": [2], "names": ["pan", "lift"]}
        for name in ("observation.state", "action")
    }
    return json.dumps({"codebase_version": "v3.0", "fps": 30, "features": features})


def mcap() -> bytes:
    from mcap_ros2.writer import Writer

    stamp = "\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
    bar = "=" * 80
    header = f"{bar}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n{bar}"
    text = (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[]"
        f" effort\n{header}"
    )
    out = io.BytesIO()
    writer = Writer(out)
    schema = writer.register_msgdef("sensor_msgs/msg/JointState", text + stamp)
    for k in range(N):
        stamped = {"stamp": {"sec": 1_700_000_000, "nanosec": 10_000_000 * k}, "frame_id": ""}
        message = {
            "header": stamped,
            "name": ["knee"],
            "position": [0.1 * k],
            "velocity": [],
            "effort": [1.0],
        }
        writer.write_message(
            "/joint_states", schema, message, log_time=1_700_000_000_000_000_000 + 10_000_000 * k
        )
    writer.finish()
    return out.getvalue()


def db3(folder: Path) -> bytes:
    from ..data.readers.bags import state, write_db3

    messages = [state(float(t), ["knee"], [float(t)]) for t in T]
    return write_db3(folder / "seed.db3", messages, stored=True).read_bytes()


def wpilib(folder: Path) -> bytes:
    logged = {"sysid-test-state-arm": ("string", "", [(1.0, "quasistatic-forward"), (2.0, "none")])}
    for name, unit in (
        ("voltage-pivot-arm", "Volt"),
        ("position-pivot-arm", "Rotation"),
        ("velocity-pivot-arm", "Rotation per Second"),
    ):
        logged[name] = ("double", unit, [(1.0 + float(t), float(t)) for t in T])
    path = wpilog.write_wpilog(folder / "seed.wpilog", logged)
    return path.read_bytes()


def stored(folder: Path, content: object) -> bytes:
    path = folder / "seed.json"
    content.write(path, force=True)  # type: ignore[attr-defined]  # every noun here can write itself
    return path.read_bytes()


def saved_mapping(folder: Path) -> str:
    path = mapping.write(mapping.mapping(["position=q[deg],-1", "time=t[s]"]), folder / "map.json")
    return path.read_text(encoding="utf-8")


def fit(folder: Path) -> bytes:
    """A stored fit, put together by hand: fitting one takes seconds."""
    from backemf.results.fit_result import Fit, FittedParameter, Start

    resistance = FittedParameter(
        path="motor.resistance", value=4.0, error=0.1, low=3.8, high=4.2, unit="ohm", start=5.0
    )
    begun = Start(cost=1.0, mae=0.01, ended="gradient", n_evaluations=5, parameters={"motor.resistance": 4.0})
    made = Fit(
        actuator=servo(),
        parameters={"motor.resistance": resistance},
        training={"a": 0.01},
        held_out={"b": 0.02},
        noise_floor=0.001,
        findings=(),
        starts=(begun,),
        correlation=np.eye(1),
        substeps=2,
        seed=0,
        cpu_s=1.0,
        friction="coulomb",
    )
    return stored(folder, made)


def motions(folder: Path) -> bytes:
    from backemf.planning.motions import usual

    return stored(folder, usual(seconds=4.0))


def recorded() -> str:
    """What a recorder writes, by hand."""
    columns = [{"name": "position", "unit": "rad", "factor": 1e-3, "zero": 2048, "offset": 0.0}]
    columns += [{"name": "current", "unit": "A", "factor": 6.5e-3, "zero": 0.0}]
    joint = {"name": "1", "id": 1, "model": "sts3215", "firmware": "3.10", "columns": columns}
    bench = {"part": "Pendulum", "mass": 0.5, "length": 0.1}
    head = {"backemf_recording": 1, "bus": "feetech", "began": "today", "bench": bench}
    lines: list[object] = [{**head, "joints": [{**joint, "settings": {"drive.proportional": 16.0}}]}]
    lines += [{"ended": "complete", "reason": ""}, ["e", 0.0, 0, 1], ["g", 0.0, 0, 0.25]]
    lines += [["s", t, 0, 2048 + k, k - 7] for k, t in enumerate(T.tolist())]
    return "".join(json.dumps(line) + "\n" for line in lines)


ISAAC = """LEGS = {"legs": DCMotorCfg(joint_names_expr=[".*"], saturation_effort=30.0, velocity_limit=28.0,
    effort_limit=23.5, stiffness={".*": 25.0}, damping=0.5, friction=0.2, armature=0.01)}
"""


def seeds(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Format -> (the file's name, its bytes)."""
    text = {
        "pendulum": ("log.json", pendulum()),
        "arrays": ("log.json", json.dumps({"time": T.tolist(), "position_rad": T.tolist(), "note": "x"})),
        "table": ("log.csv", table()),
        "yaml": ("log.yaml", YAML),
        "sysid": ("sysid.json", sysid()),
        "recorded": ("log.jsonl", recorded()),
        "motions": ("plan.json", motions(folder).decode()),
        "lerobot facts": ("set/meta/info.json", episode_facts()),
        "mapping": ("map.json", saved_mapping(folder)),
        "sheet": ("sheet.toml", SHEET),
        "bam": ("bam.json", json.dumps(BAM)),
        "mjcf explained": ("model.xml", MJCF),
        "mjcf edited": ("model.xml", MJCF),
        "mjcf read": ("model.xml", export(servo(), "mujoco", joint="knee", method="formula").text),
        "mjcf source": ("model.xml", MJCF),
        "isaac": ("robot.py", ISAAC),
        "urdf edited": ("model.urdf", URDF),
    }
    binary = {
        "mat": ("log.mat", mat(False)),
        "mat compressed": ("log.mat", mat(True)),
        "npz": ("log.npz", npz()),
        "npy": ("log.npy", npy()),
        "parquet": ("log.parquet", parquet()),
        "lerobot": ("set/data/chunk-000/file-000.parquet", episodes()),
        "mcap": ("log.mcap", mcap()),
        "db3": ("log.db3", db3(folder)),
        "wpilog": ("log.wpilog", wpilib(folder)),
        "actuator": ("actuator.json", stored(folder, servo())),
        "fit": ("fit.json", fit(folder)),
    }
    return {name: (file, content.encode()) for name, (file, content) in text.items()} | binary
