"""What does it cost to run the whole actuator inside a simulator? Everything side by side in one run.

    python benchmarks/live.py             tables
    python benchmarks/live.py --json      one object
    python benchmarks/live.py --only mujoco,stick

`mujoco` steps the SO-101 as its file describes it, with our actuators attached, and with a Python controller
that does the same, in turns; `stick` lets arms hang on their friction for a minute; `legs` steps twelve
motors; `humanoid` puts 29 into a model and steps them;
`training` and `population` are the kernels for learning and for fits, on a GPU where there is one.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import backemf as be
from backemf.engine.hosted_system import hosted_system
from backemf.engine.stepper import stepper
from backemf.tables import table

ARM = Path(__file__).resolve().parents[2] / "shared" / "data" / "so101" / "so101.xml"
ROUNDS, STEPS = 25, 4000
SERVO = be.Actuator(
    motor=be.motor.Motor(resistance=2.0, torque_constant=0.01, rotor_inertia=1e-6),
    gearbox=be.gearbox.Gearbox(ratio=100.0),
    friction=be.friction.M4(
        coulomb=0.05, static=0.08, stribeck_velocity=0.3, load=0.05, load_stribeck=0.05, viscous=0.01
    ),
    drive=be.drive.Position(volts_per_radian=20.0, supply=12.0, delay=0.012),
)
"""A geared servo with load-dependent friction, whose commands come late: about the size of an STS3215."""


def arm() -> mujoco.MjSpec:
    """The SO-101's public model, or where its file is not there six links of about its size."""
    if ARM.is_file():
        return mujoco.MjSpec.from_file(str(ARM))
    inner = ""
    for k in reversed(range(6)):
        mass, axis = (0.3, 0.2, 0.2, 0.1, 0.1, 0.05)[k], "0 0 1" if k == 0 else "0 1 0"
        inner = (
            f'<body pos="{".1 0 0" if k else "0 0 .1"}"><joint name="j{k}" axis="{axis}" damping=".6"'
            f' frictionloss=".05" armature=".028"/><geom type="capsule" fromto="0 0 0 .1 0 0" size=".02"'
            f' mass="{mass}"/>{inner}</body>'
        )
    drives = "".join(f'<position joint="j{k}" kp="50"/>' for k in range(6))
    return mujoco.MjSpec.from_string(
        f'<mujoco><option timestep=".005" integrator="implicitfast"/><worldbody>{inner}</worldbody>'
        f"<actuator>{drives}</actuator></mujoco>"
    )


def cost(model: Any, prepare: Callable[[Any], Callable[[], None] | None]) -> float:
    """CPU time of a step [s], moving."""
    data = mujoco.MjData(model)
    before = prepare(data)
    data.ctrl[:] = 0.3
    begun = time.process_time()
    for _ in range(STEPS):
        if before is not None:
            before()
        mujoco.mj_step(model, data)
    return (time.process_time() - begun) / STEPS


def mujoco_rows() -> dict[str, Any]:
    """The arm as its file says, with ours attached, and with a controller in Python."""
    motors = be.attach(arm(), {".*": SERVO})
    bare, live, torques = arm().compile(), motors.model, _torques()
    step = stepper([hosted_system(SERVO)] * torques.nu)

    def in_python(data: Any) -> Callable[[], None]:
        inputs, state = np.zeros((torques.nu, 3)), step.start()
        inputs[:, 0], inputs[:, 2] = 0.01, 0.3

        def control() -> None:
            state[:, 0], state[:, 1] = data.qpos, data.qvel
            new, effort = step(state, inputs, torques.opt.timestep)
            state[:] = new
            data.ctrl[:] = effort[:, 0]

        return control

    cases = {
        "bare": lambda: cost(bare, lambda data: None),
        "attached": lambda: cost(live, lambda data: None),
        "in Python": lambda: cost(torques, in_python),
    }
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(ROUNDS):  # in turns, so that what else the machine does falls on all of them
        for name, run in cases.items():
            times[name].append(run())
    ratios = {
        name: statistics.median(a / b for a, b in zip(times[name], times["bare"], strict=True))
        for name in cases
    }
    worst = max(motors.joints.values(), key=lambda one: one.error)
    return {
        "attach_over_mj_step": ratios["attached"],
        "python_over_mj_step": ratios["in Python"],
        "mj_step_us": 1e6 * statistics.median(times["bare"]),
        "timestep_ms": 1e3 * live.opt.timestep,
        "substeps": {joint: one.substeps for joint, one in motors.joints.items()},
        "error_of_the_step": worst.error,
        "model": "so101.xml" if ARM.is_file() else "six links (so101.xml is not here)",
    }


def _torques() -> Any:
    """The arm with torque motors, for a controller outside."""
    spec = arm()
    for a in spec.actuators:
        a.set_to_motor()
    for j in spec.joints:
        for field in ("damping", "frictionloss"):
            value = getattr(j, field)
            if isinstance(value, np.ndarray):
                value[:] = 0.0
            else:
                setattr(j, field, 0.0)
    return spec.compile()


LINK = (
    '<body pos="{at}"><joint name="{name}" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .25 0 0"'
    ' size=".02" mass="{mass}" contype="0" conaffinity="0"/>{inner}</body>'
)


def hanging(masses: tuple[float, ...], h: float) -> mujoco.MjSpec:
    inner = ""
    for k in reversed(range(len(masses))):
        at = "0 0 1" if k == 0 else ".25 0 0"
        inner = LINK.format(name="abcdef"[k], at=at, mass=masses[k], inner=inner)
    return mujoco.MjSpec.from_string(
        f'<mujoco><option timestep="{h}"/><worldbody>{inner}</worldbody></mujoco>'
    )


def stick_rows() -> dict[str, Any]:
    """Drift in a minute of arms that hang on their friction alone."""
    rows = []
    for masses, h in (((0.5,), 2e-3), ((0.6, 0.4, 0.2), 2e-3), ((0.6, 0.4, 0.2), 5e-3), ((0.2,) * 6, 2e-3)):
        model = hanging(masses, h).compile()
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        loads = np.abs(data.qfrc_bias)
        for share in (0.3, 0.6, 0.9, 0.99):
            laws = {
                "abcdef"[k]: dataclasses.replace(
                    SERVO,
                    friction=be.friction.Stribeck(
                        coulomb=0.7 * x / share, static=x / share, stribeck_velocity=0.1
                    ),
                    drive=be.drive.Voltage(supply=12.0),
                )
                for k, x in enumerate(loads)
            }
            motors = be.attach(hanging(masses, h), laws)
            data = mujoco.MjData(motors.model)
            for _ in range(round(60.0 / h)):
                mujoco.mj_step(motors.model, data)
            rows.append({"joints": len(masses), "timestep_ms": 1e3 * h, "share": share})
            rows[-1]["drift"] = float(np.max(np.abs(data.qpos)))
    return {"creep_rad_per_minute": max(row["drift"] for row in rows), "cases": rows}


def leg_rows() -> dict[str, Any]:
    """Twelve motors on a floating body: what they add to a step with plain servos, and each more substep."""
    leg = (
        '<body pos="{x} {y} 0"><joint name="{n}0" axis="1 0 0"/><geom type="capsule" fromto="0 0 0 0 .08 0"'
        ' size=".03" mass=".7"/><body pos="0 .08 0"><joint name="{n}1" axis="0 1 0"/><geom type="capsule"'
        ' fromto="0 0 0 0 0 -.2" size=".02" mass="1"/><body pos="0 0 -.2"><joint name="{n}2" axis="0 1 0"/>'
        '<geom type="capsule" fromto="0 0 0 0 0 -.2" size=".015" mass=".2"/></body></body></body>'
    )
    places = [(0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)]
    legs = "".join(leg.format(x=x, y=y, n="abcd"[k]) for k, (x, y) in enumerate(places))
    text = (
        '<mujoco><option timestep=".002" gravity="0 0 0"><flag contact="disable"/></option><worldbody>'
        f'<body><freejoint/><geom type="box" size=".2 .1 .05" mass="6"/>{legs}</body></worldbody><actuator>'
        + "".join(f'<position joint="{n}{k}" kp="5" kv="1"/>' for n in "abcd" for k in range(3))
        + "</actuator></mujoco>"
    )

    def attached_with(substeps: int) -> Any:
        return be.attach(mujoco.MjSpec.from_string(text), {".*": SERVO}, substeps=substeps).model

    bare, once, often = mujoco.MjModel.from_xml_string(text), attached_with(1), attached_with(9)
    base, one, nine = [], [], []
    for _ in range(ROUNDS):
        base.append(cost(bare, lambda data: None))
        one.append(cost(once, lambda data: None))
        nine.append(cost(often, lambda data: None))
    added = statistics.median(a - b for a, b in zip(one, base, strict=True))
    more = statistics.median((a - b) / 8 for a, b in zip(nine, one, strict=True))
    return {"joints": 12, "added_us": 1e6 * added, "substep_us": 1e6 * more}


GAINS = ((100, 2, 88), (150, 4, 139), (40, 2, 50), (20, 1, 25), (60, 1.5, 25), (14, 0.5, 5))
"""kp [N m/rad], kv [N m s/rad] and largest torque [N m] of a humanoid's joints."""
AXES = ("1 0 0", "0 1 0", "0 0 1")
LIMBS = {"left_leg": 6, "right_leg": 6, "waist": 3, "left_arm": 7, "right_arm": 7}


def humanoid() -> str:
    """A floating body with 29 joints in five limbs, six sets of gains, and feet on a floor."""
    limbs, drives, n = "", "", 0
    for at, (limb, size) in enumerate(LIMBS.items()):
        foot = '<geom type="box" size=".08 .04 .02" mass=".3"/>' if "leg" in limb else ""
        inner, down = foot, 1 if limb == "waist" else -1
        for k in reversed(range(size)):
            kp, kv, most = GAINS[(n + at) % len(GAINS)]
            name, place = f"{limb}{k}", f"0 0 {0.11 * down}" if k else f"0 {0.12 * (at - 2)} {0.1 * down}"
            inner = (
                f'<body pos="{place}"><joint name="{name}" axis="{AXES[k % 3]}"'
                f' range="-2 2" armature=".01" damping=".05" frictionloss=".1"/><geom type="capsule"'
                f' fromto="0 0 0 0 0 {0.1 * down}" size=".02" mass="{1.2 - 0.1 * k:g}"/>{inner}</body>'
            )
            drives += f'<position joint="{name}" kp="{kp}" kv="{kv}" forcerange="-{most} {most}"/>'
            n += 1
        limbs += inner
    return (
        '<mujoco><compiler angle="radian"/><option timestep=".002" integrator="implicitfast"/><worldbody>'
        '<geom type="plane" size="5 5 .1"/><body pos="0 0 .79"><freejoint/><geom size=".08" mass="10"/>'
        f"{limbs}</body></worldbody><actuator>{drives}</actuator></mujoco>"
    )


def humanoid_rows() -> dict[str, Any]:
    """29 joints of one part: CPU of an export into the model, and what the attached motors add to a step."""
    text, rows = humanoid(), {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "humanoid.xml"
        path.write_text(text, encoding="utf-8")
        begin = time.process_time()
        be.export({".*": be.Datasheet.read("go-m8010-6")}, "mujoco", into=path)
        rows["into_cpu_s"] = time.process_time() - begin
    bare = mujoco.MjModel.from_xml_string(text)
    for part in ("go-m8010-6", "xm540-w270"):
        live, base, times = be.attach(mujoco.MjSpec.from_string(text), {".*": part}), [], []
        for _ in range(ROUNDS):
            base.append(cost(bare, lambda data: None))
            times.append(cost(live.model, lambda data: None))
        ratio = statistics.median(a / b for a, b in zip(times, base, strict=True))
        most = max(one.substeps for one in live.joints.values())
        rows[f"attach_over_mj_step, {part}, {most} substeps"] = ratio
    return rows | {"mj_step_us": 1e6 * statistics.median(base)}


def training_rows() -> dict[str, Any]:
    """Training files for Warp and torch, 4096 x 12 joints, in microseconds a step."""
    live_training = _beside("live_training")
    with tempfile.TemporaryDirectory() as folder:
        return live_training.measured(*live_training.exported(Path(folder)))


def population_rows() -> dict[str, Any]:
    """Candidates of a fit, on a core and on a GPU."""
    found = _beside("live_population").measure()
    return {**found["processor"], **{f"gpu, {name}": row for name, row in found["gpu"].items()}}


def _beside(name: str) -> Any:
    """Another script of this folder."""
    sys.path.insert(0, str(Path(__file__).parent))
    return importlib.import_module(name)


PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    "mujoco": mujoco_rows,
    "stick": stick_rows,
    "legs": leg_rows,
    "humanoid": humanoid_rows,
    "training": training_rows,
    "population": population_rows,
}


def shown(name: str, found: dict[str, Any]) -> str:
    """A part's numbers as a table."""
    rows = [
        (key, f"{value:.4g}" if isinstance(value, float) else str(value))
        for key, value in found.items()
        if not isinstance(value, list)
    ]
    lists = [value for value in found.values() if isinstance(value, list) and value]
    tables = [
        table(
            [[f"{x:.3g}" if isinstance(x, float) else str(x) for x in row.values()] for row in rows_],
            [*rows_[0]],
        )
        for rows_ in lists
    ]
    return "\n\n".join([f"{name}\n" + table(rows, ("what", "measured")), *tables])


def has_gpu() -> bool:
    """Whether Warp is installed and finds one."""
    try:
        import warp  # pyright: ignore[reportMissingImports]  # optional
    except ImportError:
        return False
    warp.config.log_level = warp.LOG_ERROR
    return warp.get_cuda_device_count() > 0


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--only",
        help=f"of {', '.join(PARTS)}, separated by commas; without a GPU and without"
        " this, training is left out",
    )
    parser.add_argument("--quick", action="store_true", help="a small part, to see that it runs")
    asked = parser.parse_args(words)
    if asked.quick:
        asked.only = "legs"
    names = asked.only.split(",") if asked.only else [n for n in PARTS if n != "training" or has_gpu()]
    found: dict[str, Any] = {}
    for name in names:
        if name not in PARTS:
            parser.error(f"unknown part {name!r}; valid: {', '.join(PARTS)}")
        with contextlib.redirect_stdout(sys.stderr):  # what the packages have to say
            measured = PARTS[name]()
        found.update(measured if name in ("mujoco", "stick") else {name: measured})
        if not asked.json:
            print(shown(name, measured), end="\n\n", flush=True)
    if asked.json:
        print(json.dumps(found, indent=1))
    elif "training" not in names:
        print("training: no GPU here")


if __name__ == "__main__":
    main()
