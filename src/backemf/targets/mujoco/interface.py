"""The actuator that a joint of a user's model has now, and a new one made to be commanded as the old one is:
a position stays a position of the joint, a torque a torque."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from ...errors import InvalidValue
from ...mujoco.arrays import dcmotors
from ...mujoco.eras import in_volts
from ...mujoco.models import Loaded
from ...mujoco.plain import driven, plain
from ...physics import drive as drives, steady
from ...physics.actuator import Actuator
from ...physics.drive import Drive

OF_INPUT = {
    "pos": "position_target",
    "position": "position_target",
    "vel": "velocity_target",
    "velocity": "velocity_target",
    "ff": "torque_target",
    "voltage": "voltage_target",
}
"""What each input of a `<dcmotor>` asks for."""
OF_JOINT = ("armature", "damping", "frictionloss")
ASKS = {
    "position_target": "a position",
    "velocity_target": "a velocity",
    "torque_target": "a torque",
    "voltage_target": "a voltage",
}


class Old(NamedTuple):
    """A joint and its actuator as they are in a compiled model, numbers at the joint."""

    joint: str
    dof: int
    actuator: int | None
    """None: the joint has none."""
    follows: str
    """What its ctrl asks for, as a drive's target."""
    ctrl: int | None
    """Place in ctrl of its first input."""
    gear: float = 1.0
    stiffness: float = 0.0
    derivative: float = 0.0
    limit: float | None = None
    """Largest torque [N m]."""
    ctrlrange: tuple[float, float] | None = None
    armature: float = 0.0
    damping: float = 0.0
    frictionloss: float = 0.0
    inputs: tuple[str, ...] = ()
    """Those of a dcmotor of 3.12 and later."""
    scale: float = 1.0
    """What a dcmotor's law with gains in volts follows, over gear times ctrl."""


def old_of(loaded: Loaded, joint: str) -> Old:
    """What a joint has now; classes are resolved, because the model is compiled."""
    model = loaded.model
    j = model.joint(joint)
    dof = int(j.dofadr[0])
    own: dict[str, Any] = {n: float(getattr(model, f"dof_{n}")[dof]) for n in OF_JOINT}
    moving = {
        i: at for i in range(len(model.actuator_gaintype)) if not isinstance(at := driven(model, i), str)
    }
    mine = [(i, at) for i, at in moving.items() if at.joint == j.id]
    if len(mine) > 1:
        raise InvalidValue(f"{joint!r} has {len(mine)} actuators; expected one: remove the others first")
    if not mine:
        return Old(joint=joint, dof=dof, actuator=None, follows="", ctrl=None, **own)
    ((i, at),) = mine
    x = plain(model, i, at)
    ctrl = int(model.actuator_ctrladr[i]) if hasattr(model, "actuator_ctrladr") else i
    common: dict[str, Any] = {"joint": joint, "dof": dof, "actuator": i, "ctrl": ctrl, **own}
    common |= {"gear": x.gear, "limit": x.limit, "ctrlrange": x.ctrlrange}
    if i in dcmotors(model):
        dcmotor = loaded.dcmotor(i)
        inputs, volts = dcmotor.controller.inputs, in_volts(dcmotor)
        if inputs == ("ff",) and volts.dcmotor.controller.inputs == "voltage":
            raise InvalidValue(
                f"{joint!r}: its ff input with kd = K^2 / R is a plain voltage, ctrl times R / K; expected"
                ' input="voltage" with ctrl in volts: write it so first'
            )
        names = [inputs] if isinstance(inputs, str) else list(inputs)
        several = () if isinstance(inputs, str) else tuple(inputs)
        common |= {"inputs": several, "scale": volts.ctrl_scale}
        return Old(follows=OF_INPUT.get(names[0], "") if names else "", **common)
    moves = "velocity_target" if x.derivative > 0 and x.gain else "torque_target"
    follows = "position_target" if x.stiffness > 0 else moves
    return Old(follows=follows, stiffness=x.stiffness, derivative=x.derivative, **common)


def adapted(actuator: Actuator, old: Old) -> tuple[Actuator, list[str]]:
    """(the actuator commanded as the old one is, what was changed for that, in words)."""
    drive, asked = actuator.drive, "torque_target" if _by_torque(actuator.drive) else actuator.drive.followed
    if not old.follows or old.follows == asked:
        return (replace(actuator, drive=_torque(drive)), []) if asked == "torque_target" else (actuator, [])
    most: dict[str, Any] = {"supply": drive.supply} if drive.supply is not None else {}
    if not most and drive.ceiling({}) is not None:
        most = {"voltage_limit": drive.ceiling({})}
    said = f"{old.joint}: ctrl asks for {ASKS[old.follows]}, and stays so"
    if old.follows == "torque_target":
        text = f"{said}; the law of the {drive.kind} is left to your controller"
        return replace(actuator, drive=_torque(drive)), [text]
    if old.follows == "voltage_target":
        return replace(actuator, drive=drives.Voltage(**most)), [f"{said}; the {drive.kind} is left out"]
    if old.follows == "velocity_target":
        per_volt = steady.line(actuator).torque_per_volt
        kept = drives.Velocity(volt_seconds_per_radian=max(old.derivative, 1e-9) / per_volt, **most)
        return replace(actuator, drive=kept), [f"{said}, with the model's kv {old.derivative:.4g} N m s/rad"]
    gains = f"kp {old.stiffness:.4g} N m/rad and kv {old.derivative:.4g} N m s/rad"
    law = drives.Impedance(
        newton_metres_per_radian=old.stiffness, newton_metre_seconds_per_radian=old.derivative, **most
    )
    return replace(actuator, drive=law), [f"{said}; {actuator.drive.kind} has no gains, so {gains} are kept"]


def _by_torque(drive: Drive) -> bool:
    """Whether a drive does nothing but what a torque or a current asks for."""
    loop = drive.loop
    if drive.followed in ("torque_target", "current_target"):
        return True
    return loop is not None and loop.effort != "V" and not (loop.proportional or loop.derivative)


def _torque(drive: Drive) -> Drive:
    """A drive that makes the current of the torque asked for, up to its voltage."""
    if drive.followed == "current_target":
        return drive
    most = drive.ceiling({})
    if drive.supply is not None:
        return drives.Current(supply=drive.supply)
    return drives.Current() if most is None else drives.Current(voltage_limit=most)
