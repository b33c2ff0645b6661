"""mjlab 1.6: a `BuiltinDcMotorActuatorCfg`, everything at the joint, because mjlab sends its targets without
the gear.

It runs MuJoCo's `<dcmotor>` of 3.7 to 3.11: stiffness and damping are in V/rad and V s/rad, lags in physics
steps. A drive of torques has mjlab's own law, a `DcMotorActuatorCfg`. A file is built and moved here by mjlab
itself, on its CPU device; that needs mjlab's own environment.
"""

from __future__ import annotations

import importlib.metadata
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InvalidValue, NotAvailable
from ..mujoco.actuator_conversion import from_actuator
from ..mujoco.attributes import DcMotorAttributes
from ..mujoco.dcmotor import DcMotor
from ..physics.actuator import Actuator
from ..physics.friction import Viscous
from ..physics.gearbox import Gearbox
from ..physics.joint_law import JointLaw
from .isaaclab import candidate
from .mujoco.classic import law_holds
from .mujoco.dcmotor_target import attributes, dcmotor_holds, sticking
from .mujoco.finding import integrator_finding
from .reduce import LACKED, carry_actuator
from .reference_motions import SimulationCase, reference_inertia
from .result import Effect, Request, hash_comment, number
from .spec import Filling, Loss, Row, TargetLaw, TargetSpec, carry, check_direction, drop, lacking
from .write import weigh_losses

PD_UNITS = (
    "SI at the joint: stiffness N m/rad, damping N m s/rad, efforts N m, speeds rad/s, armature kg m^2,"
    " frictionloss N m, viscous_damping N m s/rad, lags in physics steps."
)
ABSENT = "not in mjlab's configuration"
UNLIMITED = "mjlab sets no ctrlrange: limit the command before sending, and nothing is lost"


def at_output(actuator: Actuator) -> Actuator:
    """The same actuator without a gearbox: its motors, as one, turned into a slow strong one at the joint."""
    check_direction(actuator)
    return replace(actuator.at_ratio(1.0), gearbox=Gearbox())


def _mjlab() -> Any:
    try:
        import mjlab  # type: ignore[import-not-found]  # in an environment of its own
    except ImportError:
        raise NotAvailable(
            "mjlab is not installed here; it needs an environment of its own with MuJoCo 3.11: pip install"
            " mjlab==1.6.0"
        ) from None
    return mjlab


def simulator() -> str:
    """mjlab and its version, on its CPU device."""
    _mjlab()
    return f"mjlab {importlib.metadata.version('mjlab')} (CPU)"


def _follows_torque(actuator: Actuator) -> bool:
    loop = actuator.drive.loop
    return loop is not None and loop.effort != "V"


def _check(actuator: Actuator) -> None:
    if actuator.drive.followed in ("", "current_target") and not _follows_torque(actuator):
        raise InvalidValue(
            f"mjlab's DC motor has no mode for {actuator.drive.kind}; expected a voltage, position"
            " or velocity drive"
        )


THEIRS = {"friction": "frictionloss", "viscous": "viscous_damping"}
PD_LAW = ("stiffness", "damping", "effort_limit", "armature", *THEIRS)
"""Numbers of a law in a PD file, and those whose names differ there."""
OF_JOINT = (drop("friction.viscous_quadratic", ABSENT), drop("friction.viscous_cubic", ABSENT))
"""What mjlab's configuration lacks of a `<dcmotor>` at the joint."""


def _settle(spec: TargetSpec, actuator: Actuator, request: Request) -> TargetLaw:
    if _follows_torque(actuator):
        return _settle_pd(actuator, request)
    made, costs = carry_actuator(actuator, request._replace(backlash=False), 1)
    joint_side, loss = at_output(made), 0.0
    absent = [lost for row in OF_JOINT for lost in row.lose(joint_side, request)]
    friction, limits = joint_side.friction, joint_side.motor.limits
    if friction.dry and not friction.bristle:
        loss = friction.moving
        joint_side = replace(joint_side, friction=Viscous(viscous=friction.viscous))
    dcmotor = from_actuator(joint_side, 1).dcmotor
    if limits is not None and limits.current_rate is not None and actuator.motor.limits is not None:
        slower = lacking("motor", limits=replace(actuator.motor.limits, current_rate=None))
        absent.append(Loss("motor.limits.current_rate", ABSENT, False, without=slower))
    dropped = [*costs.dropped, *weigh_losses(actuator, actuator, absent, request).dropped]
    if dcmotor.controller.ctrlrange:
        path = "drive.command_low, command_high, or a voltage drive's supply"
        dropped.append(Effect(path=path, text=UNLIMITED))
    inertia = reference_inertia(actuator, request)
    finding = integrator_finding(dcmotor, inertia, request.timestep, request.integrator, "3.11.0")
    values = settings(dcmotor, loss, joint_side.drive.delay, request)
    law = {"mode": str(dcmotor.controller.inputs).upper(), **values}
    costs = costs._replace(dropped=tuple(dropped))
    return TargetLaw(law, made, costs, () if finding is None else (finding,))


def _settle_pd(actuator: Actuator, request: Request) -> TargetLaw:
    """A torque or impedance interface: mjlab's PD law in newton-metres behind a torque-speed line."""
    chosen, costs = candidate(actuator, request, late=False)
    x, lag = chosen.values, _lag(actuator.drive.delay, request)
    same = ("stiffness", "damping", "effort_limit", "saturation_effort", "velocity_limit", "armature")
    law: dict[str, Any] = {
        **{name: x[name] for name in same},
        "effort_limit": min(x["effort_limit"], x["saturation_effort"]),
        "frictionloss": x["dynamic_friction"],
        "viscous_damping": x["viscous_friction"],
        **({"delay_min_lag": lag, "delay_max_lag": lag} if lag else {}),
    }
    if lag:
        costs = costs._replace(dropped=tuple(e for e in costs.dropped if e.path != "drive.delay"))
    return TargetLaw(law, chosen.actuator, costs)


def _lag(delay: float | None, request: Request) -> int:
    """A delay in physics steps."""
    return 0 if not delay else max(1, round(delay / request.timestep))


def _place(settled: TargetLaw, numbers: Mapping[str, float], actuator: Actuator, request: Request) -> Filling:
    values, lines = dict(settled.law), []
    if values["frictionloss"] > 0:
        solver = sticking(values["frictionloss"], request.timestep)
        given = attributes({k: v for k, v in solver.items() if k != "frictionloss"})
        lines = [f"frictionloss sticks only with solver settings on the joint in the MJCF: {given}."]
    if "mode" in values:
        lines += dcmotor_holds(settled.carried, request)
    else:
        named = {name: values[THEIRS.get(name, name)] for name in PD_LAW}
        lines += law_holds(JointLaw(gain=1.0, **named), actuator, settled.carried, request)
    fields = {"mode": values.pop("mode", "")}
    if fields["mode"]:
        fields |= {name: number(values.pop(name)) for name in ("kt", "resistance")}
    fields["arguments"] = "\n".join(f"    {k}={_literal(v)}," for k, v in values.items())
    if fields["mode"]:
        return Filling(fields, lines)
    return Filling(fields, lines, template="mjlab_pd.py", units=PD_UNITS)


def settings(dcmotor: DcMotor, loss: float, delay: float | None, request: Request) -> dict[str, Any]:
    """Keyword -> value; what is absent is left to mjlab's defaults, which switch it off."""
    motor, control, given = dcmotor.motor, dcmotor.controller, DcMotorAttributes.of(dcmotor)
    if control.regulates and (control.kp <= 0 or control.voltage_limit is None):
        raise InvalidValue(
            f"mjlab's {control.inputs} mode needs a proportional gain and a voltage limit above 0; give"
            " drive.supply or drive.voltage_limit"
        )
    lag = _lag(delay, request)
    values: dict[str, Any] = {
        "kt": motor.torque_constant,
        "resistance": motor.resistance,
        "stiffness": control.kp,
        "damping": control.kd,
        "integral_gain": control.ki,
        "integral_limit": control.integral_limit,
        "slew_rate": control.slew,
        "voltage_limit": control.voltage_limit,
        "effort_limit": None if motor.limits is None else motor.limits.torque,
        "electrical_time_constant": given["inductance:timeconst"],
        "armature": motor.rotor_inertia,
        "frictionloss": loss,
        "viscous_damping": dcmotor.friction.viscous,
        "delay_min_lag": lag,
        "delay_max_lag": lag,
        "thermal": given.thermal,
        "cogging": given.cogging,
        "lugre": given.lugre,
    }
    always = ("kt", "resistance", "armature", "frictionloss", "viscous_damping")
    return {k: v for k, v in values.items() if v or k in always}


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(repr(float(v)) for v in value) + ")"
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        raise InvalidValue(f"a number for mjlab is {value!r}; expected a finite one")
    return repr(float(value))


def run(files: Mapping[str, str], joint: str, case: SimulationCase) -> np.ndarray:
    """Positions [rad or m] at the case's moments when mjlab builds and drives what the file configures; the
    joint's solver settings are those that the header asks for."""
    import mujoco
    import torch  # pyright: ignore[reportMissingImports]  # mjlab's

    # in an environment of its own
    from mjlab.entity import EntityArticulationInfoCfg, EntityCfg  # type: ignore[import-not-found]
    from mjlab.sim import MujocoCfg, Simulation, SimulationCfg  # type: ignore[import-not-found]

    law, h, J = _law(files), case.timestep, max(case.inertia, 1e-9)
    kind, mass = ("slide", J) if case.motion == "linear" else ("hinge", 1.0)
    solver = {k: v for k, v in sticking(0.0, h).items() if k != "frictionloss"}
    on_joint = attributes({"name": joint, "type": kind, "axis": "0 0 1", **solver})
    inertial = f'<inertial pos="0 0 0" mass="{mass!r}" diaginertia="{J!r} {J!r} {J!r}"/>'
    xml = f'<mujoco><worldbody><body name="arm"><joint {on_joint}/>{inertial}</body></worldbody></mujoco>'
    arm = EntityCfg(
        spec_fn=lambda: mujoco.MjSpec.from_string(xml),
        articulation=EntityArticulationInfoCfg(actuators=(law,)),
    ).build()
    model = arm.compile()
    options = MujocoCfg(timestep=h, integrator="implicitfast", gravity=(0.0, 0.0, 0.0))
    simulation = Simulation(num_envs=1, cfg=SimulationCfg(mujoco=options), model=model, device="cpu")
    arm.initialize(model, simulation.model, simulation.data, "cpu")
    arm.write_joint_state_to_sim(torch.tensor([[case.position]]), torch.tensor([[case.velocity]]))
    send = {
        "position_target": arm.set_joint_position_target,
        "velocity_target": arm.set_joint_velocity_target,
    }
    send |= {"torque_target": arm.set_joint_effort_target, "voltage_target": arm.set_joint_effort_target}
    positions = np.empty(len(case.moments))
    for k in range(len(case.moments)):
        q, w = arm.data.joint_pos[0, 0].item(), arm.data.joint_vel[0, 0].item()
        positions[k] = q
        for name, values in case.command.items():
            send[name](torch.tensor([[float(values[k])]]))
        arm.write_data_to_sim()
        simulation.data.qfrc_applied[0, 0] = case.load(k, q, w)
        simulation.step()
        arm.update(h)
    return case.check("mjlab", positions)


def _law(files: Mapping[str, str]) -> Any:
    name, text = next(iter(files.items()))
    space: dict[str, Any] = {}
    try:
        exec(compile(text, name, "exec"), space)
        return space["ACTUATOR"]
    except Exception as error:  # somebody's changes of a Python file may fail in any way
        raise InvalidValue(f"{name} does not run: {type(error).__name__}: {error}") from None


SPEC = TargetSpec(
    label="mjlab",
    units="SI at the joint (gear 1): stiffness V/rad, damping V s/rad, integral_gain V/(rad s), limits V and"
    " N m, lags in physics steps.",
    rows=(
        carry("motor.torque_constant", "motor_params.kt, .ke", "at the joint: times ratio", name="kt"),
        carry("motor.resistance, gearbox.n_motors", "motor_params.resistance", "divided by n_motors"),
        carry(
            "drive.volts_per_radian, firmware_gain, proportional, newton_metres_per_radian",
            "stiffness",
            "V/rad; of an impedance DcMotorActuatorCfg's, N m/rad",
        ),
        carry(
            "drive.volt_seconds_per_radian, derivative, firmware_derivative_gain,"
            " newton_metre_seconds_per_radian",
            "damping",
            "V s/rad; of an impedance N m s/rad",
        ),
        carry("drive.volts_per_radian_second, integral, firmware_integral_gain", "integral_gain", ""),
        carry("drive.integral_limit", "integral_limit", ""),
        carry("drive.slew", "slew_rate", "per second"),
        carry(
            "drive.supply, duty_limit, voltage_limit",
            "voltage_limit",
            "required in position and velocity mode",
        ),
        carry("motor.limits.torque, limits.current", "effort_limit", "N m"),
        carry("law.stall_torque", "saturation_effort", "N m, of an impedance drive"),
        carry("law.no_load_speed", "velocity_limit", "rad/s, of an impedance drive"),
        carry("motor.inductance", "electrical_time_constant", "L / R"),
        carry("motor.rotor_inertia, gearbox.ratio", "armature", "n N^2 J"),
        carry(
            "friction.coulomb",
            "frictionloss",
            "or fitted; the header says its creep, and solver settings with which it sticks",
        ),
        carry("friction.viscous", "viscous_damping", ""),
        carry("drive.delay", "delay_min_lag", "rounded to physics steps"),
        carry("drive.delay", "delay_max_lag", "the same"),
        Row("motor.thermal", "thermal", "one node"),
        Row("motor.cogging", "cogging", "amplitude n N A, N times the periods"),
        Row(
            "friction.stiffness, damping, static, stribeck_velocity",
            "lugre",
            "of kind LuGre, Dahl, at the joint",
        ),
        *LACKED,
        *OF_JOINT,
        Row("motor.limits.current_rate", "-", f"dropped: {ABSENT}"),
        Row("drive.command_low, command_high", "-", f"dropped: {UNLIMITED}"),
        Row("drive.newton_metres_per_radian_second", "-", "dropped: no integral"),
    ),
    file="{joint}_mjlab.py",
    template="mjlab_dcmotor.py",
    comment=hash_comment,
    check=_check,
    settle=_settle,
    place=_place,
    signed=("stiffness", "damping"),
    run=run,
    simulator=simulator,
)
