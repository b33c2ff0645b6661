"""Gains and physics, both ways: what a motor's gains tell of the mechanism, and what gains to expect before
anything is built.

The gearbox and SysId equations, corrected: friction at the output counts once, and kS does not grow with the
gear ratio.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ...analysis import conversion
from ...analysis.feedforward import geared
from ...errors import MissingValue
from ...findings import Finding, finding
from ...physics.actuator import Actuator
from ...physics.friction import Coulomb
from ...physics.motor import Motor
from ...physics.steady import Feedforward
from .characterize import LENGTHS, UNITS, Characterization

_SLIPS = {
    "rotations read as radians": 2 * math.pi,
    "radians read as rotations": 1 / (2 * math.pi),
    "degrees read as radians": math.pi / 180,
    "velocity per minute, not per second": 1 / 60,
    "rotations per minute read as radians per second": 2 * math.pi / 60,
}
"""Wrong units, and the factor by which kV is off."""


ROTARY = {
    "inertia": "kg m^2",
    "friction": "N m",
    "viscous": "N m s/rad",
    "gravity": "N m",
    "resistance": "ohm",
}
LINEAR = {"inertia": "kg", "friction": "N", "viscous": "N s/m", "gravity": "N", "resistance": "ohm"}
"""What stands behind the gains of a mechanism, with its unit."""


@dataclass(frozen=True, kw_only=True)
class Physics:
    """The mechanism behind measured gains, beside the prediction of its motor."""

    inertia: float | None
    """Total at the output, rotors included [kg m^2, or kg on a linear axis]."""
    friction: float | None
    """Coulomb torque at the output [N m, or N]."""
    viscous: float | None
    """At the output [N m s/rad, or N s/m]."""
    gravity: float | None
    """Torque of gravity at the output, where kG was measured [N m, or N]."""
    resistance: float | None
    """Effective: of motor, leads and supply together, where the inertia is known [ohm]."""
    predicted: Mapping[str, float]
    """Gains of the motor alone: kV of its back-EMF; and the others where the mechanism is known."""
    findings: tuple[Finding, ...]
    linear: bool = False
    """Whether it slides: then forces and masses."""

    @property
    def units(self) -> dict[str, str]:
        """Of what is behind the gains, by name."""
        return LINEAR if self.linear else ROTARY


def motor_named(motor: str | Motor) -> Motor:
    """A motor, or that of a part in the catalogue."""
    if isinstance(motor, Motor):
        return motor
    from ...datasheets.parts import sheet

    return sheet(motor).actuator().motor


def theoretical(
    motor: str | Motor,
    *,
    ratio: float,
    inertia: float,
    n_motors: int = 1,
    control: str = "voltage",
    motor_friction: float = 0.0,
    output_friction: float = 0.0,
    viscous: float = 0.0,
    units: str = "radians",
) -> Feedforward:
    """Gains to expect of a mechanism: `inertia` of the load at the output; the rotors' own is added. On a
    linear axis ratio is rotor radians per metre."""
    one = Actuator(motor=motor_named(motor), friction=Coulomb(coulomb=motor_friction))
    gains = conversion.gains(
        one,
        ratio=ratio,
        inertia=inertia,
        n_motors=n_motors,
        control=control,
        friction=output_friction,
        viscous=viscous,
    )
    size = UNITS[units][0]
    return Feedforward(gains.kS, gains.kV * size, gains.kA * size)


def physics(
    measured: Characterization,
    motor: str | Motor,
    *,
    ratio: float,
    n_motors: int = 1,
    inertia: float | None = None,
) -> Physics:
    """Back out the mechanism from its gains. `inertia`, where known (at the output, rotors included),
    gives the effective resistance."""
    m = motor_named(motor)
    line, rotors = geared(Actuator(motor=m), ratio, n_motors)
    size = UNITS[measured.units][0]
    values = {name: gain.value for name, gain in measured.gains.items()}
    kS, kV, kA = values.get("kS"), values.get("kV"), values.get("kA")
    if kV is None or kA is None:
        raise MissingValue("the mechanism needs kV and kA; these tests do not determine both")
    gains = Feedforward(kS or 0.0, kV / size, kA / size)
    findings: list[Finding] = []
    resistance = None
    predicted: dict[str, float] = {}
    if measured.control == "voltage":
        back = line.behind_voltage(gains)
        per_input = line.torque_per_volt
        predicted["kV"] = line.K_e * size
        findings += _compare(kV, predicted["kV"], measured)
        if inertia is not None:
            resistance = gains.kA * line.K_t / inertia
            if resistance > 1.5 * m.resistance:
                own = f"the motor's own {m.resistance:.3g} ohm"
                text = f"the effective resistance is {resistance:.3g} ohm, {own}."
                remedy = "look at leads, connectors and current limits, or at the inertia that was given"
                findings.append(finding("resistance_high", text, remedy))
    else:
        back = line.behind_current(gains)
        per_input = line.K_t
        predicted["kV"] = 0.0
    if inertia is not None:
        same = line.voltage_gains(inertia) if measured.control == "voltage" else line.current_gains(inertia)
        predicted["kA"] = same.kA * size
    if back.inertia < rotors:
        least = f"that of the rotors alone, {rotors:.3g}"
        text = f"the gains give an inertia of {back.inertia:.3g}, less than {least}."
        remedy = "check the motor, the gear ratio and the unit of velocity"
        findings.append(finding("inertia_low", text, remedy))
    kG = values.get("kG")
    return Physics(
        inertia=back.inertia,
        friction=None if kS is None else back.friction,
        viscous=back.viscous,
        gravity=None if kG is None else kG * per_input,
        resistance=resistance,
        predicted=predicted,
        findings=tuple(findings),
        linear=UNITS[measured.units][1] in LENGTHS,
    )


def _compare(kV: float, predicted: float, measured: Characterization) -> list[Finding]:
    """kV is back-EMF and what viscous friction adds: a little more than the catalogue's, never less."""
    ratio = kV / predicted
    if 0.85 < ratio < 1.3:
        return []
    near = min(_SLIPS, key=lambda name: abs(math.log(abs(ratio) / _SLIPS[name])) if ratio else math.inf)
    slip = ratio > 0 and abs(math.log(ratio / _SLIPS[near])) < 0.2
    unit = measured.gains["kV"].unit
    text = f"kV is {kV:.4g} {unit}, {ratio:.3g} times what motor and gearing predict ({predicted:.4g})" + (
        f": as {near} gives." if slip else "."
    )
    if slip:
        return [finding("units_suspect", text, "check the encoder's conversion factor", ratio=ratio)]
    remedy = (
        "check the gear ratio, the number of motors and which motor it is; much viscous friction also raises"
        " kV"
    )
    return [finding("kV_unexpected", text, remedy, ratio=ratio)]
