"""Controller gains of MuJoCo's dcmotor between era 1 (3.7 to 3.11, volts) and era 2 (3.12 on, newton-metres).

A conversion is exact: the same voltage in every state. Where none exists it is refused with the reason.
Both eras make v = a u - c l - b w + (k_i) x of one input u; era 2 writes it as R_0 / K tau + K w.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from ..errors import InvalidValue
from .dcmotor import Controller, DcMotor


class ConvertedDcMotor(NamedTuple):
    """The same actuator in the other era. Multiply what was sent as ctrl by `ctrl_scale`."""

    dcmotor: DcMotor
    ctrl_scale: float


def gains_to_era2(dcmotor: DcMotor) -> ConvertedDcMotor:
    """The era-2 dcmotor with the same voltage in every state."""
    control, motor = dcmotor.controller, dcmotor.motor
    R, K = motor.resistance, motor.torque_constant
    kp, kd, ki = control.kp, control.kd, 0.0 if control.ki is None else control.ki
    if not isinstance(control.inputs, str):
        return ConvertedDcMotor(dcmotor, 1.0)
    if control.inputs == "position":
        return _with(dcmotor, 1.0, inputs=("pos",), kp=kp * K / R, ki=ki * K / R, kd=kd * K / R + K * K / R)
    if control.inputs == "velocity":
        return _velocity_to_era2(dcmotor, kp, ki)
    limit = control.voltage_limit
    if motor.inductance is None and limit is not None:
        # Era 1 heats with the limited voltage but pushes with the unlimited one.
        given = (control.ctrlrange or (None,))[0] or (float("inf"),)
        if motor.thermal is not None and max(abs(x) for x in given) > limit:
            raise InvalidValue(
                "era 1's voltage input with a voltage limit, a thermal model and no inductance has no"
                " equivalent in era 2: it heats with the limited voltage and pushes with the unlimited one;"
                " set a ctrlrange within the limit, or drop the limit"
            )
        limit = None
    none: dict[str, object] = {"kp": 0.0, "ki": None, "integral_limit": None, "voltage_limit": limit}
    if limit is None and control.slew is None:
        return _with(dcmotor, 1.0, inputs=("voltage",), kd=0.0, **none)
    return _with(dcmotor, K / R, inputs=("ff",), kd=K * K / R, **none)


def _velocity_to_era2(dcmotor: DcMotor, kp: float, ki: float) -> ConvertedDcMotor:
    R, K = dcmotor.motor.resistance, dcmotor.motor.torque_constant
    if ki > 0:
        raise InvalidValue(
            "era 1's velocity input with ki > 0 has no equivalent in era 2: its integral runs on the"
            f" commanded velocity, era 2's on the position error; {recipe(dcmotor)}"
        )
    if kp == 0:
        raise InvalidValue(
            "era 1's velocity input with kp = 0 ignores its command; there is nothing to convert:"
            " expected kp other than 0"
        )
    if kp == -K:  # no damping left for era 2's vel to act through
        return _with(dcmotor, kp * K / R, inputs=("ff",), kp=0.0, ki=None, kd=0.0)
    return _with(dcmotor, kp / (kp + K), inputs=("vel",), kp=0.0, ki=None, kd=K * (kp + K) / R)


class Recipe(NamedTuple):
    """What to write and to send from 3.12 on for era 1's velocity input with an integral. Exactly the same
    voltage comes of it; what is lost is that the engine keeps the integral."""

    kp: float
    kd: float
    share: float
    """Of the commanded velocity, sent as vel."""
    voltage_limit: float | None
    gear: float

    def __str__(self) -> str:
        limit = f" 0 0 {self.voltage_limit:.6g}" if self.voltage_limit is not None else ""
        return (
            f'write gear="{self.gear:g}" input="pos vel" controller="{self.kp:.6g} 0 {self.kd:.6g}{limit}"'
            " (kp = ki K/R and kd = K (kp + K)/R of the old gains), send the integrated command as pos, begun"
            f" at 0, and {self.share:.6g} = kp/(kp + K) of the command as vel; slew and ctrlrange of the"
            " command are then yours to keep"
        )


def recipe(dcmotor: DcMotor) -> Recipe:
    """V = kp (u - w) + ki (x - l), with x the integral of u, as era 2's law of two inputs."""
    control, R, K = dcmotor.controller, dcmotor.motor.resistance, dcmotor.motor.torque_constant
    kp, ki = control.kp, control.ki or 0.0
    share = kp / (kp + K) if kp != -K else 0.0
    return Recipe(ki * K / R, K * (kp + K) / R, share, control.voltage_limit, dcmotor.gear)


def gains_to_era1(dcmotor: DcMotor) -> ConvertedDcMotor:
    """The era-1 dcmotor with the same voltage in every state."""
    control, motor = dcmotor.controller, dcmotor.motor
    R, K, inputs = motor.resistance, motor.torque_constant, control.inputs
    if isinstance(inputs, str):
        return ConvertedDcMotor(dcmotor, 1.0)
    if len(inputs) != 1:
        raise InvalidValue(
            f"the inputs are {' '.join(inputs) or 'none'!r}; era 1 has exactly one input, so more or fewer"
            " have no equivalent"
        )
    if inputs == ("voltage",):
        return _with(dcmotor, 1.0, inputs="voltage", voltage_limit=None)
    c, b, ki = control.kp * R / K, control.kd * R / K - K, None if control.ki is None else control.ki * R / K
    if inputs == ("pos",):
        return _with(dcmotor, 1.0, inputs="position", kp=c, ki=ki, kd=b)
    a = R / K if inputs == ("ff",) else control.kd * R / K
    if c != 0:
        return _with(dcmotor, a / c, inputs="position", kp=c, ki=None, kd=b)
    if abs(b) > 1e-12 * K:
        return _with(dcmotor, a / b, inputs="velocity", kp=b, ki=None, kd=0.0)
    if control.voltage_limit is not None and motor.inductance is None:
        raise InvalidValue(
            "this law is a plain voltage with a limit, and era 1's voltage input does not limit the force"
            " without an inductance; no equivalent: put the limit on the command instead"
        )
    return _with(dcmotor, a, inputs="voltage", kp=0.0, ki=None, kd=0.0)


PRINTED = 1e-5
"""A saved model has six digits: to so much a derivative gain that only makes up for the back-EMF is that."""


def in_volts(dcmotor: DcMotor) -> ConvertedDcMotor:
    """The same law with gains in volts, as servos have it, where one input and gains from 0 on say it; else
    the dcmotor as it is."""
    control, motor = dcmotor.controller, dcmotor.motor
    R, K = motor.resistance, motor.torque_constant
    if control.inputs not in (("pos",), ("vel",), ("ff",)):
        return ConvertedDcMotor(dcmotor, 1.0)
    least = K * K / R
    if abs(control.kd - least) <= PRINTED * least:
        control = dataclasses.replace(control, kd=least)
    limit, (given, *_) = control.voltage_limit, (*control.ctrlrange, None)
    raw = control.inputs == ("ff",) and control.kp == 0 and control.kd == least and control.slew is None
    if raw and limit is not None and motor.inductance is None:
        low, high = given or (-float("inf"), float("inf"))
        most = limit * K / R
        ranges = ((max(low, -most), min(high, most)),)
        control = dataclasses.replace(control, ctrlrange=ranges, voltage_limit=None)
    try:
        converted_dc_motor = gains_to_era1(dataclasses.replace(dcmotor, controller=control))
    except InvalidValue:
        return ConvertedDcMotor(dcmotor, 1.0)
    law = converted_dc_motor.dcmotor.controller
    law = law if abs(law.kd) > 1e-12 * K else dataclasses.replace(law, kd=0.0)
    if min(law.kp, law.kd, law.ki or 0.0) < 0:
        return ConvertedDcMotor(dcmotor, 1.0)
    return ConvertedDcMotor(
        dataclasses.replace(converted_dc_motor.dcmotor, controller=law), converted_dc_motor.ctrl_scale
    )


def _with(dcmotor: DcMotor, scale: float, **changes: object) -> ConvertedDcMotor:
    """Change the controller; slew and ranges of the command scale with it."""
    control = dcmotor.controller
    ranges = tuple(r and tuple(sorted((scale * r[0], scale * r[1]))) for r in control.ctrlrange)
    slew = None if control.slew is None else abs(scale) * control.slew
    fields: dict[str, Any] = {"slew": slew, "ctrlrange": ranges, **changes}
    controller: Controller = dataclasses.replace(control, **fields)
    return ConvertedDcMotor(dataclasses.replace(dcmotor, controller=controller), scale)
