"""MuJoCo's dcmotor as it is compiled: motor, friction, gear and controller in actuator space, its joint, and
the engine's version.

Length is l = N q and velocity w = N dq/dt, with N the gear. `step.py` takes the step.

Controller gains go from era 1 (3.7 to 3.11, volts) to era 2 (3.12 on, newton-metres) and back. A conversion
is exact: the same voltage in every state. Where none exists it is refused with the reason. Both eras make
v = a u - c l - b w + (k_i) x of one input u; era 2 writes it as R_0 / K tau + K w.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any, ClassVar, NamedTuple, cast

from ..errors import InvalidValue, UnknownName
from ..physics.friction import LuGre, Viscous
from ..physics.maths import Scalar, clip, maximum, minimum, where
from ..physics.motor import Motor
from ..physics.quantity import Part, part, quantity
from ..physics.thermal import Thermal

ERA_1_INPUTS = ("voltage", "position", "velocity")
ERA_2_INPUTS = ("pos", "vel", "ff", "voltage")
INTEGRATORS = ("Euler", "implicitfast", "implicit", "RK4")


class Rules(NamedTuple):
    """How a version steps. The first three differ between versions;
    the others are where every version departs from its note."""

    era: int
    """1: one input and gains in volts (3.7 to 3.11); 2:
    up to four inputs and gains in newton-metres (from 3.12 on)."""
    derivative: int
    """1: nameplate resistance; 2: R(T); 3: R(T), and each limit drops only the terms that it holds."""
    bristle_velocity: str
    """Velocity that bends the bristle under RK4: that of the 'last stage' or of the 'start'."""
    next_current: bool = True
    """The force is that of the current at the end of the step; the note has the present one."""
    fixed_time_constant: bool = True
    """L / R_0 at every temperature; the note's equation 4 has L / R(T)."""
    heat_limited: bool = False
    """Whether the torque limit also holds the current that heats; the note's i_max is a limit on the current.
    """
    integral_gate: bool = True
    """At its limit the integral only accepts errors that lead away from it; the note only clips it."""
    voltage_mode_limited: bool = False
    """Whether era 1 limits the force, not only the heating,
    of a voltage beyond its limit when there is no inductance."""


_D1 = Rules(era=1, derivative=1, bristle_velocity="last stage")
_FROM: tuple[tuple[tuple[int, int], Rules], ...] = (
    ((3, 7), _D1),
    ((3, 12), _D1._replace(era=2)),
    ((3, 14), _D1._replace(era=2, derivative=2)),
    ((4, 0), Rules(era=2, derivative=3, bristle_velocity="start")),
)
"""Each row holds from its version until the next row's."""
VERSIONS = (*(f"3.{minor}" for minor in range(7, 18)), "4.0")


def release(version: str) -> tuple[int, int]:
    """(major, minor) of a version that has dcmotor and is known here."""
    match = re.fullmatch(r"(\d+)\.(\d+)(?:\.\d+)?", str(version).strip())
    if match is None or f"{match[1]}.{match[2]}" not in VERSIONS:
        raise UnknownName("MuJoCo version", version, VERSIONS)
    return int(match[1]), int(match[2])


def rules(version: str) -> Rules:
    """How a version steps; patch releases step like their minor release."""
    given = release(version)
    return [rule for first, rule in _FROM if first <= given][-1]


@part
class Engine(Part):
    """A version of MuJoCo with its integrator and time step."""

    path: ClassVar[str] = "engine"

    version: str = "4.0.0"
    integrator: str = "Euler"
    timestep: float = quantity("s", "h", default=0.002, above=0)
    override: Rules | None = None
    """Other rules than the version's own, to see what one of them does."""

    def check(self) -> None:
        """Refuse a version or an integrator that nobody knows."""
        rules(self.version)
        if self.integrator not in INTEGRATORS:
            raise UnknownName("integrator", self.integrator, INTEGRATORS)

    @property
    def rules(self) -> Rules:
        return rules(self.version) if self.override is None else self.override


@part
class Controller(Part):
    """The on-board controller, in the engine's own words.

    Era 1: `inputs` is one word, and the gains give volts. Era 2: `inputs` is a tuple, and the gains give
    newton-metres.
    """

    path: ClassVar[str] = "controller"

    inputs: str | tuple[str, ...] = ("voltage",)
    kp: float = quantity("per length", "k_p", default=0.0)
    ki: float | None = quantity("per length s", "k_i", default=None, least=0, zero_is_absent=True)
    kd: float = quantity("per velocity", "k_d", default=0.0)
    slew: float | None = quantity("input/s", "s", default=None, least=0, zero_is_absent=True)
    """Greatest rate of the first input."""
    integral_limit: float | None = quantity("input s", "I_max", default=None, least=0, zero_is_absent=True)
    voltage_limit: float | None = quantity("V", "v_max", default=None, least=0, zero_is_absent=True)
    ctrlrange: tuple[tuple[float, float] | None, ...] = ()
    """Limits of each input; empty: none."""

    def check(self) -> None:
        """Refuse inputs that its era does not have, and gains and ranges without an input for them."""
        if self.era == 2:
            _check_inputs(self)
        elif self.inputs not in ERA_1_INPUTS:
            raise UnknownName("input of era 1 (3.7 to 3.11)", self.inputs, ERA_1_INPUTS)
        if self.ctrlrange and len(self.ctrlrange) != self.n_inputs:
            raise InvalidValue(
                f"ctrlrange has {len(self.ctrlrange)} pairs for {self.n_inputs} inputs; expected one pair (or"
                " None) for each, or nothing"
            )

    @property
    def era(self) -> int:
        return 1 if isinstance(self.inputs, str) else 2

    @property
    def words(self) -> tuple[str, ...]:
        """Its inputs, a word each, in either era."""
        return (str(self.inputs),) if self.era == 1 else tuple(self.inputs)

    @property
    def n_inputs(self) -> int:
        return len(self.words)

    @property
    def regulates(self) -> bool:
        """Whether a feedback law makes the voltage."""
        return any(word != "voltage" for word in self.words)

    def commands(self, ctrl: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """The inputs within their ranges."""
        if len(ctrl) != self.n_inputs:
            raise InvalidValue(
                f"ctrl has {len(ctrl)} values; expected {self.n_inputs}, for the inputs {self.inputs!r}"
            )
        ranges = self.ctrlrange or (None,) * len(ctrl)
        return tuple(u if r is None else clip(u, *r) for u, r in zip(ctrl, ranges, strict=True))

    def integrand(self, u: Sequence[Scalar], l: Scalar, x: Scalar, gate: bool) -> Scalar:
        """What the integral x takes in: the position error, in era 1's other modes the input itself.

        Args:
            u: the inputs, within their ranges.
            l: the actuator's length, gear times position.
            x: the integral so far.
            gate: whether at its limit it takes only what leads away from it.

        Returns:
            Its rate.
        """
        e = u[0] if self.inputs in ("voltage", "velocity") else u[0] - l
        if self.integral_limit is None or not gate:
            return e
        most = self.integral_limit
        return where(x >= most, minimum(e, 0.0), where(x <= -most, maximum(e, 0.0), e))

    def regulate(self, motor: Motor, u: Sequence[Scalar], l: Scalar, w: Scalar, x: Scalar) -> Scalar:
        """The voltage of the feedback law, within its limit; era 1's voltage mode passes through here too.

        Args:
            motor: whose nameplate the law knows.
            u: the inputs, within their ranges.
            l: the actuator's length, gear times position.
            w: its velocity, gear times the joint's.
            x: the integral.

        Returns:
            The voltage [V].
        """
        kp, kd, ki = self.kp, self.kd, 0.0 if self.ki is None else self.ki
        if self.inputs == "position":
            v = kp * (u[0] - l) + ki * x - kd * w
        elif self.inputs == "velocity":
            v = kp * (u[0] - w) + ki * (x - l)
        elif self.inputs == "voltage":
            v = u[0]
        elif self.regulates:
            R, K, asked = motor.resistance, motor.torque_constant, dict(zip(self.inputs, u, strict=True))
            pos, vel, ff = (asked.get(name, 0.0) for name in ("pos", "vel", "ff"))
            tau = kp * (pos - l) + kd * (vel - w) + ki * x + ff
            v = R / K * tau + K * w  # the nameplate's R: a warm winding gets less torque than it asks for
        else:
            return 0.0 * w
        return v if self.voltage_limit is None else clip(v, -self.voltage_limit, self.voltage_limit)

    def added_voltage(self, u: Sequence[Scalar]) -> Scalar:
        """Era 2's raw voltage, added after the limit."""
        return u[-1] if self.era == 2 and "voltage" in self.inputs else 0.0

    def slope(self, motor: Motor) -> float:
        """dv/dw of the feedback law."""
        R, K = motor.resistance, motor.torque_constant
        if self.era == 1:
            return {"position": -self.kd, "velocity": -self.kp, "voltage": 0.0}[self.words[0]]
        return K - self.kd * R / K if self.regulates else 0.0

    def stiffness(self, motor: Motor) -> float:
        """-dv/dl of the feedback law."""
        if self.era == 1:  # a velocity's integral holds the position that it has come to
            return {"position": self.kp, "velocity": self.ki or 0.0, "voltage": 0.0}[self.words[0]]
        return self.kp * motor.resistance / motor.torque_constant if self.regulates else 0.0


def _check_inputs(controller: Controller) -> None:
    given = controller.words
    for name in given:
        if name not in ERA_2_INPUTS:
            raise UnknownName("input of era 2 (3.12 on)", name, ERA_2_INPUTS)
    if given != tuple(name for name in ERA_2_INPUTS if name in given):
        raise InvalidValue(
            f"inputs are {' '.join(given)!r}; expected each once, in the order {' '.join(ERA_2_INPUTS)!r}"
        )
    kp, ki, kd, slew = controller.kp, controller.ki, controller.kd, controller.slew
    among = f"with the inputs {' '.join(given) or 'none'!r}"
    asked = f"{among}; expected one of pos, vel and ff among the inputs: without them no controller runs"
    if ki is not None and "pos" not in given:
        raise InvalidValue(f"ki is {ki:g} {among}; expected pos among them: ki integrates its error")
    if not controller.regulates and (kp != 0 or kd != 0):
        raise InvalidValue(f"kp is {kp:g} and kd is {kd:g} {asked}")
    if not controller.regulates and slew is not None:
        raise InvalidValue(f"slew is {slew:g} {asked}")


@part
class DcMotor(Part):
    """A compiled dcmotor: every number that one step of it needs, on the actuator's side of the gear.

    `friction` holds the engine's own damping: its quadratic and cubic terms see the joint's velocity, so that
    all three reach the joint with gear^2.
    """

    motor: Motor
    friction: Viscous = field(default_factory=Viscous)
    """Viscous, or LuGre."""
    gear: float = quantity("1", "N", default=1.0)
    controller: Controller = field(default_factory=Controller)

    def check(self) -> None:
        """Refuse what a dcmotor has no place for."""
        unknown = unknown_effects(self.motor, self.friction)
        if unknown:
            raise InvalidValue(f"MuJoCo's dcmotor does not know {', '.join(unknown)}; leave them out")

    @property
    def lugre(self) -> LuGre | None:
        """Its bristle; None where its friction is drag alone."""
        return cast("LuGre", self.friction) if self.friction.bristle else None

    @property
    def heat(self) -> Thermal | None:
        """Its thermal model, which has one node."""
        return None if self.motor.thermal is None else self.motor.thermal.one_node()


def unknown_effects(motor: Motor, friction: Viscous) -> list[str]:
    """Paths of what is present in a motor and a friction but has no place in a dcmotor."""
    thermal = motor.thermal
    limits = ("current", "continuous_current", "peak_current", "safe_current", "derating_start")
    bent = ("asymmetry", "offset", "stribeck_exponent", "damping_exponent")
    paths = given_in(motor, "motor", ("back_emf_constant", "saturation_current", "iron_loss"))
    paths += given_in(motor.limits, "motor.limits", limits)
    if thermal is not None and len(thermal.nodes) > 1:
        paths.append("motor.thermal.housing_resistance")
    elif thermal is not None and thermal.magnet_coefficient is not None:
        paths.append("motor.thermal.magnet_coefficient")
    if friction.name not in ("viscous", "lugre"):
        paths.append(f"friction of kind {friction.kind}")
    return paths + given_in(friction, "friction", bent)


def given_in(owner: Part | None, path: str, names: Iterable[str]) -> list[str]:
    """Those among some numbers that a part has.

    Args:
        owner: the part.
        path: what it is called.
        names: of the numbers, as its fields.

    Returns:
        Their paths: "motor.iron_loss".
    """
    return [f"{path}.{name}" for name in names if getattr(owner, name, None) is not None]


@part
class DcMotorJoint(Part):
    """The hinge or slide that one dcmotor drives:
    constant inertia, a load, and damping and armature of its own."""

    path: ClassVar[str] = "joint"

    inertia: float = quantity("kg m^2", "M", least=0)
    """Without any armature."""
    load: Any = 0.0
    """Torque on the joint apart from damping: a number, or a function of position and velocity."""
    armature: float = quantity("kg m^2", "J_j", default=0.0, least=0)
    damping: Viscous = field(default_factory=Viscous)

    def torque(self, q: Scalar, v: Scalar) -> Scalar:
        """Of its load at a position q and a velocity v [N m or N]."""
        load: Callable[[Scalar, Scalar], Scalar] | float = self.load
        return load(q, v) if callable(load) else load


def states(dcmotor: DcMotor) -> tuple[str, ...]:
    """Names of the activations, in the engine's order."""
    motor, controller = dcmotor.motor, dcmotor.controller
    kept = {
        "setpoint": controller.slew is not None,
        "integral": controller.ki is not None,
        "temperature_rise": motor.thermal is not None,
        "bristle": dcmotor.friction.bristle,
        "current": motor.inductance is not None,
    }
    return tuple(name for name, there in kept.items() if there)


def initial_state(dcmotor: DcMotor, **given: float) -> dict[str, float]:
    """Everything zero, as after the engine's reset, with what is given put in."""
    start = {name: 0.0 for name in ("position", "velocity", *states(dcmotor))}
    for name in given:
        if name not in start:
            raise UnknownName("state", name, start)
    return {**start, **given}


class ConvertedDcMotor(NamedTuple):
    """The same actuator in the other era. Multiply what was sent as ctrl by `ctrl_scale`."""

    dcmotor: DcMotor
    ctrl_scale: float


def gains_to_era2(dcmotor: DcMotor) -> ConvertedDcMotor:
    """The era-2 dcmotor with the same voltage in every state."""
    control, motor = dcmotor.controller, dcmotor.motor
    R, K = motor.resistance, motor.torque_constant
    kp, kd, ki = control.kp, control.kd, 0.0 if control.ki is None else control.ki
    if control.era == 2:
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
    R, K, inputs = motor.resistance, motor.torque_constant, control.words
    if control.era == 1:
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
