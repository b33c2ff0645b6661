"""Isaac Lab's DC motor and its gains, from an actuator and back to the constants of a motor."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from ..errors import InvalidValue, MissingValue
from ..physics.actuator import Actuator
from ..physics.joint_law import JointLaw
from ..physics.steady import line
from ..tables import number as spelled
from .conversion_table import Conversion, computable, number, positive, require


@dataclass(frozen=True, kw_only=True, repr=False)
class Isaac(Conversion):
    """`DCMotorCfg` of Isaac Lab, at the joint."""

    saturation_effort: float = number("N m", "tau_s", "n N K_t V / R")
    velocity_limit: float = number("rad/s", "w_0", "V / (N K_e)")
    effort_limit: float = number("N m", "tau_max", "n N K_t i_max; the stall torque without a limit")
    stiffness: float = number("N m/rad", "k", "eta n N K_t / R k_V")
    damping: float = number("N m s/rad", "d", "n N^2 K_t K_e / R, and what D adds")
    armature: float = number("kg m^2", "J", "n N^2 J_r")
    friction: float = number("N m", "tau_f", "dry friction of the unloaded joint")
    viscous_friction: float = number("N m s/rad", "b", "viscous friction")

    @property
    def dcmotor(self) -> str:
        """The attributes of MuJoCo's `<dcmotor>` with the same torque-speed envelope."""
        nominal = f'nominal="1 {self.saturation_effort:.6g} {self.velocity_limit:.6g}"'
        return f'{nominal} saturation="{self.effort_limit:.6g}" ctrlrange="-1 1"'


FORGOTTEN = (
    "the electrical side: voltage, R and K apart from each other, current, inductance, heating",
    "the supply: the line is that of one voltage, and moves with it",
    "friction that grows with load or falls with speed, backlash, delay and slew of the command",
)


@computable
def isaac(actuator: Actuator, voltage: float | str | None = None) -> Isaac:
    """Isaac Lab's numbers of an actuator, at its drive's own voltage unless another is given."""
    V = positive(voltage, "V", "voltage")
    if V is None:
        ceiling = actuator.drive.ceiling({})
        V = None if ceiling is None else float(ceiling)
    V = require(V, "voltage", "its drive has no limit on it: give the supply, such as 12 V")
    eta = actuator.gearbox.efficiency
    law = JointLaw.of(actuator, volts=V)
    return Isaac(
        saturation_effort=law.stall_torque,
        velocity_limit=law.no_load_speed,
        effort_limit=law.effort_limit / (eta or 1.0),
        stiffness=law.stiffness,
        damping=law.damping + law.back_emf,
        armature=law.armature,
        friction=line(actuator).dry,
        viscous_friction=law.viscous,
        assumptions=(
            f"at {spelled(V)} V, cold; the speed is that of the bare motor, before friction",
            "damping holds the back-EMF: inside the torque limit of Isaac, where the real one is not",
            *(() if eta is None else (f"torque limits are before the gears' loss, eta = {spelled(eta)}",)),
        ),
        lost=FORGOTTEN,
    )


class IsaacConstants(NamedTuple):
    """R, K_t = K_e of one motor whose torque-speed line Isaac's two numbers are."""

    resistance: float
    torque_constant: float


def isaac_constants(
    saturation_effort: float, velocity_limit: float, voltage: float, ratio: float = 1.0, n_motors: int = 1
) -> IsaacConstants:
    """K = V / (N w_0), R = n N K V / tau_s: a voltage must be chosen, for the line tells only their ratio.

    Args:
        saturation_effort: stall torque at the joint [N m].
        velocity_limit: no-load speed at the joint [rad/s].
        voltage: the one that is chosen [V].
        ratio: rotor turns per turn of the joint.
        n_motors: on one joint.

    Returns:
        The constants of one motor, at its rotor.
    """
    K = voltage / (abs(ratio) * velocity_limit)
    return IsaacConstants(n_motors * abs(ratio) * K * voltage / saturation_effort, K)


@dataclass(frozen=True, kw_only=True, repr=False)
class FromIsaac(Conversion):
    """A motor behind Isaac's numbers, for a voltage that was chosen."""

    voltage: float = number("V", "V", "chosen")
    resistance: float = number("ohm", "R", "n N K V / tau_s")
    torque_constant: float = number("N m/A", "K", "V / (N w_0)")
    speed_constant: float = number("rad/(s V)", "K_v", "1 / K")
    stall_current: float = number("A", "I_s", "V / R")
    current_limit: float | None = number("A", "i_max", "tau_max / (n N K)", default=None)
    volts_per_radian: float | None = number("V/rad", "k_V", "k R / (n N K)", default=None)
    back_emf_damping: float = number("N m s/rad", "n N^2 K^2 / R", "tau_s / w_0")
    volt_seconds_per_radian: float | None = number(
        "V s/rad", "k_D", "(d - tau_s / w_0) R / (n N K)", default=None
    )


@computable
def from_isaac(
    *,
    saturation_effort: float | str,
    velocity_limit: float | str,
    effort_limit: float | str | None = None,
    stiffness: float | str | None = None,
    damping: float | str | None = None,
    voltage: float | str = 1.0,
    ratio: float = 1.0,
    n_motors: int = 1,
) -> FromIsaac:
    """The motor constants behind Isaac's numbers at a voltage of your own; all in SI, or text with a unit.

    Args:
        saturation_effort: stall torque at the joint [N m].
        velocity_limit: no-load speed at the joint [rad/s].
        effort_limit: greatest torque at the joint [N m].
        stiffness: of the joint [N m/rad].
        damping: of the joint [N m s/rad].
        voltage: the one that is chosen [V].
        ratio: rotor turns per turn of the joint.
        n_motors: on one joint.

    Returns:
        Constants of one motor at its rotor, and gains of its controller.

    Raises:
        BackemfError: where a number is missing or out of range.
    """
    tau = positive(saturation_effort, "N m", "saturation_effort")
    w = positive(velocity_limit, "rad/s", "velocity_limit")
    V = positive(voltage, "V", "voltage")
    if tau is None or w is None or V is None:
        raise MissingValue("saturation_effort, velocity_limit and voltage are needed: the line of the motor")
    if ratio == 0 or not math.isfinite(ratio) or n_motors < 1:
        raise InvalidValue(f"ratio is {ratio:g} and n_motors {n_motors}; expected not 0, and at least 1")
    R, K = isaac_constants(tau, w, V, ratio, n_motors)
    per_ampere = n_motors * abs(ratio) * K
    most = positive(effort_limit, "N m", "effort_limit")
    k = positive(stiffness, "N m/rad", "stiffness", zero=True)
    d = positive(damping, "N m s/rad", "damping", zero=True)
    own = tau / w
    return FromIsaac(
        voltage=V,
        resistance=R,
        torque_constant=K,
        speed_constant=1.0 / K,
        stall_current=V / R,
        current_limit=None if most is None else min(most, tau) / per_ampere,
        volts_per_radian=None if k is None else k * R / per_ampere,
        back_emf_damping=own,
        volt_seconds_per_radian=None if d is None or d < own else (d - own) * R / per_ampere,
        assumptions=(
            f"Isaac tells tau_s and w_0 alone: V = {spelled(V)} V was chosen, and R, K and currents follow",
            "one ideal motor, K_t = K_e; gears without loss",
        ),
        lost=("nothing of the torque-speed line, whatever voltage is chosen", *_damping_lost(d, own)),
        given=("voltage",),
    )


def _damping_lost(damping: float | None, own: float) -> list[str]:
    """Said where a damping is less than the back-EMF's own [N m s/rad]."""
    if damping is None or damping >= own:
        return []
    return [
        f"damping {spelled(damping)} is less than the back-EMF of this motor, {spelled(own)} N m s/rad: a"
        " voltage loop cannot have it, a current loop can"
    ]
