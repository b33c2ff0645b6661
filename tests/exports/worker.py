"""Exports in the simulator of this interpreter; prints one JSON object.

python -m tests.exports.worker mujoco     every part, replayed in the installed MuJoCo
python -m tests.exports.worker mjlab      the generated configurations built by mjlab itself, and what it made
of them
"""

from __future__ import annotations

import json
import sys
from typing import Any

import mujoco
import numpy as np

import backemf as be
from backemf.datasheets import parts
from backemf.errors import BackemfError
from backemf.mujoco.actuator_conversion import from_actuator
from backemf.mujoco.arrays import from_model
from backemf.mujoco.dcmotor import DcMotor
from backemf.physics.friction import Viscous
from backemf.targets.export import export
from backemf.targets.mjlab import at_output
from backemf.targets.replay import replay


def names() -> list[str]:
    """Every part of the catalogue and every identified set."""
    return [*parts.names(), *(f"{n}/{k}" for n in parts.names() for k in parts.sheet(n).identified)]


def without_dry_friction() -> dict[str, be.Actuator]:
    """Actuators that a dcmotor holds whole and whose step we have a copy of:
    the engine's own solver is in no joint friction here."""
    servo = be.drive.Servo(firmware_gain=0.158, proportional=32.0, supply=12.0, duty_limit=0.9625)
    strong = be.motor.Motor(resistance=2.96, torque_constant=2.19, rotor_inertia=0.0266)
    bristle = be.friction.LuGre(
        coulomb=0.05, static=0.07, stribeck_velocity=0.3, stiffness=200.0, damping=1.0, viscous=0.1
    )
    small = be.motor.Motor(
        resistance=4.0,
        torque_constant=0.01,
        rotor_inertia=1e-7,
        inductance=4e-4,
        thermal=be.motor.Thermal(resistance=20.0, capacitance=2.0),
        cogging=be.motor.Cogging(amplitude=2e-5, periods=12.0),
        limits=be.motor.Limits(torque=0.02),
    )
    gains = {
        "volts_per_radian": 40.0,
        "volts_per_radian_second": 20.0,
        "volt_seconds_per_radian": 0.3,
        "supply": 12.0,
        "slew": 6.0,
        "integral_limit": 0.2,
    }
    return {
        "resistive servo": be.Actuator(
            motor=strong, friction=be.friction.Viscous(viscous=0.035), drive=servo
        ),
        "bristle": be.Actuator(motor=strong, friction=bristle, drive=servo),
        "everything on": be.Actuator(
            motor=small,
            gearbox=be.gearbox.Gearbox(ratio=150.0, n_motors=2),
            friction=bristle,
            drive=be.drive.Position(**gains),
        ),
    }


def actuator_named(name: str) -> be.Actuator:
    return without_dry_friction().get(name) or be.Actuator.read(name)


def replayed(name: str) -> dict[str, Any]:
    """One part through both targets: differences in rad, and whether they are what they may be."""
    actuator, found = actuator_named(name), {"name": name, "wrong": []}
    held = actuator.drive.error_of == "position"  # an open loop drifts as far as it travels
    for target in (f"mujoco@{mujoco.__version__}", "mujoco-classic"):
        made = export(actuator, target, method="formula", replay=False)
        run = replay(made, refine=made.lossless and held)
        for case in run.cases:
            if not np.isfinite(case.target).all():
                found["wrong"].append(f"{target} {case.name}: not finite")
            if case.refinement is not None and target.startswith("mujoco@"):
                found["ratio"] = max(found.get("ratio", 0.0), case.worst_native / (case.refinement + 2e-3))
                found["refinement"] = max(found.get("refinement", 0.0), case.refinement)
                if case.worst_native > 1.3 * case.refinement + 2e-3:
                    found["wrong"].append(
                        f"{target} {case.name}: {case.worst_native:.3g} rad from backemf, own step error"
                        f" {case.refinement:.3g}"
                    )
        steps = [case.step_difference for case in run.cases if case.step_difference is not None]
        if steps:
            found["step"] = max(steps)
            if max(steps) > 1e-6:
                found["wrong"].append(f"{target}: {max(steps):.3g} rad from simulator/step.py")
    return found


def plain(dcmotor: DcMotor) -> dict[str, float]:
    """Every number of a dcmotor that is not zero, by path."""
    found: dict[str, float] = {}

    def walk(path: str, value: Any) -> None:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            if value:
                found[path] = float(value)
        elif hasattr(value, "__dataclass_fields__"):
            # the checker knows its base class only
            for key in value.__dataclass_fields__:  # type: ignore[attr-defined]
                walk(f"{path}.{key}", getattr(value, key))

    walk("dcmotor", dcmotor)
    return found


def built_by_mjlab(name: str) -> dict[str, Any]:
    """The generated file run, its configuration put onto a joint by mjlab,
    and the compiled dcmotor against ours."""
    actuator = actuator_named(name)
    try:
        made = export(actuator, "mjlab", joint="knee", method="formula")
    except BackemfError as error:
        return {"name": name, "refused": str(error), "wrong": []}
    space: dict[str, Any] = {}
    exec(compile(made.text, f"{name}.py", "exec"), space)
    kind = "slide" if actuator.motion == "linear" else "hinge"
    spec = mujoco.MjSpec.from_string(
        f'<mujoco><worldbody><body><joint name="knee" type="{kind}"/><geom size="0.1"'
        ' mass="1"/></body></worldbody></mujoco>'
    )
    space["ACTUATOR"].build(None, [0], ["knee"]).edit_spec(spec, ["knee"])
    model = spec.compile()
    theirs = plain(from_model(model, 0))
    side = at_output(made.carried)
    friction, loss = side.friction, 0.0
    if friction.dry and not friction.bristle:
        loss, friction = friction.moving, Viscous(viscous=friction.viscous)
    ours = plain(
        from_actuator(
            be.Actuator(motor=side.motor, friction=friction, drive=side.drive, motion=side.motion), 1
        ).dcmotor
    )
    # What mjlab puts onto the joint instead: inertia, drag and friction.
    J, drag = ours.pop("dcmotor.motor.rotor_inertia", 0.0), ours.pop("dcmotor.friction.viscous", 0.0)
    joint = {
        "armature": (J, model.dof_armature[0]),
        "viscous": (drag, model.dof_damping[0]),
        "frictionloss": (loss, model.dof_frictionloss[0]),
    }
    pairs = {**{k: (v, theirs.get(k, 0.0)) for k, v in ours.items() if "delay" not in k}, **joint}
    wrong = [
        f"{k}: {a:.9g} and {b:.9g}"
        for k, (a, b) in pairs.items()
        if not np.isclose(a, b, rtol=1e-9, atol=1e-15)
    ]
    return {"name": name, "numbers": len(pairs), "wrong": wrong}


def main() -> None:
    one = {"mujoco": replayed, "mjlab": built_by_mjlab}[sys.argv[1]]
    found = []
    every = [*without_dry_friction(), *names()]
    for k, name in enumerate(every):
        found.append(one(name))
        if k % 10 == 0:
            print(f"{sys.argv[1]} {mujoco.__version__}: {k} of {len(every)}", file=sys.stderr, flush=True)
    print(json.dumps({"mujoco": mujoco.__version__, "parts": found}))


if __name__ == "__main__":
    main()
