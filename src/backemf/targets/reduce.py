"""What a `<dcmotor>` can hold of an actuator: the same actuator without what is missing there,
its numbers fitted to make up for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidValue
from ..mujoco.actuator_conversion import current_loop, no_place
from ..mujoco.attributes import motor_limits
from ..physics import steady
from ..physics.actuator import Actuator
from ..physics.friction import Coulomb, LuGre, MaxwellSlip, Viscous
from ..physics.gearbox import Gearbox
from ..physics.joint_law import capability, dry_levels
from ..physics.motor import Limits, Motor
from ..physics.quantity import present
from .approximate import RefittedActuator, difference, positions, refit
from .mujoco.holding import (
    KINDS,
    as_springs,
    bristle_holds,
    can_yield,
    check_at_rest,
    stiff_bristle,
    stiffest_spring,
    wanted_kind,
)
from .reference_motions import motions_of
from .result import NOTHING_LOST, Account, Request, changed_numbers
from .spec import (
    FIRMWARE_ROWS,
    FOR_EVER,
    NO_PLAY,
    NO_PUSH_ROW,
    PERIOD_ROW,
    SENSOR_AT_GEAR,
    Loss,
    Present,
    Row,
    absorb,
    drop,
    for_ever,
    lacking,
    lose_nothing,
    reduce_by,
    without_heat,
)
from .write import account

BETTER = 0.9
"""Other numbers than the closed forms, or a bristle instead of the joint's friction,
are taken where they leave less than this share of the error."""


ERAS = "3.7 to 3.11 in volts, from 3.12 on in newton-metres"


class ReducedActuator(NamedTuple):
    """The actuator a target simulates, and the account of what it lost."""

    actuator: Actuator
    account: Account


class DcMotorReduction(NamedTuple):
    """The actuator without what a `<dcmotor>` lacks, its numbers as they were."""

    actuator: Actuator
    losses: list[Loss]
    open_friction: bool
    """Whether the kind of its friction is still to be chosen."""


def reduce_actuator(actuator: Actuator, request: Request, era: int) -> DcMotorReduction:
    """What is left of an actuator in a `<dcmotor>`, by closed forms.

    Args:
        actuator: the whole one.
        request: whose load and amplitude say where friction is taken, and whether play is a joint of its own.
        era: of the `<dcmotor>`: 1 up to MuJoCo 3.11, 2 from 3.12 on.

    Returns:
        What is left, and what was lost.
    """
    if actuator.drive.open_circuit:
        raise no_place(actuator.drive)
    inputs = (ONE_POSITION,) if era == 1 else ()
    rows = (*OF_MOTOR, *OF_GEARBOX, *OF_DRIVE, *inputs, *OF_FRICTION)
    (reduced, losses), friction = reduce_by(rows, actuator, request), actuator.friction
    open_friction = not (friction.bristle and reduced.friction.bristle)
    if friction.name in ("viscous", "coulomb"):
        open_friction = any("friction" in loss.touches for loss in losses)
    return DcMotorReduction(reduced, losses, open_friction)


def carry_actuator(
    actuator: Actuator, request: Request, era: int, engine: InEngine | None = None
) -> ReducedActuator:
    """The best `<dcmotor>` (and joint friction) for an actuator.

    Args:
        actuator: the whole one.
        request: the motions it is judged over.
        era: as `reduce_actuator` takes it.
        engine: runs the file of a candidate; without it kinds of friction are compared by what stands in.

    Returns:
        What the target carries, and what that loses.

    Raises:
        InvalidValue: the version has no `springyield`, and that was asked for.
    """
    check_at_rest(request)
    reduced_actuator, losses, open_friction = reduce_actuator(actuator, request, era)
    if not losses:
        return ReducedActuator(_hold_still(reduced_actuator, request), NOTHING_LOST)
    motions, over = motions_of(actuator, request)
    reference = positions(actuator, motions)
    touched = {word for loss in losses for word in loss.touches.split()}
    made, left = reduced_actuator, difference(positions(reduced_actuator, motions), reference)
    tried, asked = [RefittedActuator(made, left)], request.method != "formula" and bool(touched)
    for candidate in _candidates(made, open_friction, actuator, request) if asked else ():
        fit = refit(candidate, touched, actuator, request)
        if candidate is reduced_actuator:
            tried[0] = fit if fit.left.rms < BETTER * left.rms else tried[0]
        elif bristle_holds(fit.actuator, request, era):
            tried.append(fit)
    if can_yield(request) and open_friction and made.friction.name == "coulomb":
        springs = as_springs(tried[0].actuator, request)
        tried.append(RefittedActuator(springs, difference(positions(springs, motions), reference)))
    made, left = _closest(tried, request, reference, engine)
    given_account = account(actuator, losses, left, reference, motions, over)
    units = {path: made.unit(path) for path in made.parameters}
    return ReducedActuator(
        made,
        given_account._replace(adjusted=changed_numbers(reduced_actuator.parameters, made.parameters, units)),
    )


InEngine = Callable[[Actuator], np.ndarray]
"""Positions of a candidate's own file over the motions [rad or m]; not finite where it does not run."""


def _hold_still(reduced: Actuator, request: Request) -> Actuator:
    """An actuator that nothing is lost of, its Coulomb friction as a spring that yields where that was asked
    for: else the joint's own friction stays, which creeps next to nothing and lets positions be set by
    hand."""
    asked = reduced.friction.name == "coulomb" and wanted_kind(request) == "springyield"
    return as_springs(reduced, request) if asked and can_yield(request) else reduced


def _closest(
    tried: list[RefittedActuator], request: Request, reference: np.ndarray, engine: InEngine | None
) -> RefittedActuator:
    """The kind of friction that was asked for, or the one whose file moves most like the actuator; the first
    unless another is clearly closer."""
    wanted = wanted_kind(request)
    of_kind = [one for one in tried if KINDS.get(one.actuator.friction.name) == wanted]
    if not of_kind and request.at_rest == "lugre":
        raise InvalidValue(
            f"a step of {1e3 * request.timestep:g} ms holds no bristle of this actuator, or it needs none;"
            " expected a shorter timestep, or at_rest='frictionloss'"
        )
    if of_kind or len(tried) == 1:
        return (of_kind or tried)[0]
    off = _errors(tried, request, reference, engine)
    best = min(range(len(tried)), key=lambda k: off[k])
    return tried[best] if off[best] < BETTER * off[0] else tried[0]


def _errors(
    tried: list[RefittedActuator], request: Request, reference: np.ndarray, engine: InEngine | None
) -> list[float]:
    """RMS of each candidate [rad or m]: of its file where one can be run, else of what stands in for it."""
    off = [one.left.rms for one in tried]
    if engine is not None:
        ran = [difference(engine(one.actuator), reference).rms for one in tried]
        return ran if math.isfinite(ran[0]) else off
    # what nothing ran is not taken for its stand-in's sake alone
    springs = [one.actuator.friction.name == "maxwell-slip" for one in tried]
    return [math.inf if held else v for v, held in zip(off, springs, strict=True)]


def rigid(gearbox: Gearbox) -> Gearbox:
    """The same without loss and play."""
    return Gearbox(ratio=gearbox.ratio, n_motors=gearbox.n_motors)


def _by_current(actuator: Actuator) -> bool:
    return actuator.drive.followed == "current_target"


def _lose_one_constant(actuator: Actuator, request: Request) -> Iterator[Loss]:
    K_t, K_e = actuator.motor.torque_constant, actuator.motor.back_emf_constant
    if K_e is not None and not math.isclose(K_t, K_e, rel_tol=1e-12):
        text = f"one constant K for K_t = {K_t:.4g} N m/A and K_e = {K_e:.4g} V s/rad"
        yield Loss("motor.back_emf_constant", text, True, "" if _by_current(actuator) else "motor")


def _one_constant(now: Actuator, given: Actuator, request: Request) -> Actuator:
    """Keeps stall torque per volt and no-load speed; not the current and its heat."""
    motor, changes = given.motor, {}
    K_t, K_e = motor.torque_constant, motor.back_emf_constant
    if K_e is None:
        return now
    if not _by_current(given):
        changes = {"torque_constant": K_e, "resistance": motor.resistance * K_e / K_t}
    return replace(now, motor=replace(now.motor, back_emf_constant=None, **changes))


def _lose_heat(actuator: Actuator, request: Request) -> Iterator[Loss]:
    heat = actuator.motor.thermal
    if heat is not None and len(heat.nodes) > 1:
        yield Loss("motor.thermal.housing_resistance", "winding and housing became one node", True)
    if heat is not None and heat.magnet_coefficient is not None:
        without = lacking("motor", thermal=replace(heat, magnet_coefficient=None))
        path, text = "motor.thermal.magnet_coefficient", "warm magnets keep their strength"
        yield Loss(path, text, False, without=without)


def _one_node(now: Actuator, given: Actuator, request: Request) -> Actuator:
    heat = given.motor.thermal
    if heat is None:
        return now
    return replace(
        now,
        motor=replace(
            now.motor, thermal=replace(heat.one_node(), magnet_coefficient=None, max_temperature=None)
        ),
    )


def _has_no_rate(motor: Motor) -> bool:
    """Whether a limited rate of current has no current to slow."""
    return motor.limits is not None and motor.limits.current_rate is not None and motor.inductance is None


def _torque_limit(now: Actuator, given: Actuator, request: Request) -> Actuator:
    motor, limits = given.motor, given.motor.limits
    if limits is None:
        return now
    rate = None if _has_no_rate(motor) else limits.current_rate
    return replace(now, motor=replace(now.motor, limits=motor_limits(limits.largest_torque(motor), rate)))


def _drop_limit(name: str, text: str, when: Present, rest: Callable[[Limits], Limits | None]) -> Row:
    path = f"motor.limits.{name.partition(',')[0]}"
    return drop(f"motor.limits.{name}", text, when=when, path=path, limits=rest)._replace(reduce=None)


OF_MOTOR = (
    Row("motor.resistance", "resistance", "divided by n_motors"),
    Row(
        "motor.torque_constant, back_emf_constant",
        "motorconst",
        "times ratio / gear; where K_e differs, one K stands for both, and K and R are fitted",
        lose=_lose_one_constant,
        reduce=_one_constant,
    ),
    Row("motor.rotor_inertia", "armature", "times n_motors (ratio / gear)^2; reaches the joint with gear^2"),
    Row("motor.inductance", "inductance (second number, L / R)", ""),
    absorb(
        "motor.saturation_current",
        "the torque constant does not fall with current",
        when=lambda a: a.motor.saturation_current is not None,
        touches="motor",
        reduce=lambda now, given, request: lacking("motor", saturation_current=None)(now),
    ),
    drop(
        "motor.iron_loss",
        "its drag is carried, its heat is not",
        when=lambda a: a.motor.iron_loss is not None and a.motor.thermal is not None,
    )._replace(
        theirs="damping",
        remarks="n N^2 K_fe at the output; its heat is dropped",
        reduce=lambda now, given, request: lacking("motor", iron_loss=None)(now),
    ),
    Row(
        "motor.thermal", "thermal", "one node; warm magnets keep their strength", _lose_heat, reduce=_one_node
    ),
    Row("motor.cogging", "cogging", ""),
    absorb(
        "motor.limits.current, limits.torque, limits.continuous_current",
        "it limits the torque; the current and its heat are not held",
        when=lambda a: (
            a.motor.limits is not None
            and a.motor.limits.current is not None
            and (a.motor.thermal is not None or a.motor.inductance is not None)
        ),
        path="motor.limits.current",
        reduce=_torque_limit,
    )._replace(theirs="saturation (first number)", remarks="the engine limits the torque only"),
    _drop_limit(
        "peak_time, limits.peak_current",
        FOR_EVER,
        lambda a: a.motor.limits is not None and a.motor.limits.peak_current is not None,
        for_ever,
    ),
    _drop_limit(
        "safe_current, limits.derating_start, limits.derating_end",
        "a warm winding is not derated",
        lambda a: a.motor.limits is not None and a.motor.limits.safe_current is not None,
        without_heat,
    ),
    _drop_limit(
        "current_rate",
        "without an inductance the engine has no current to slow",
        lambda a: _has_no_rate(a.motor),
        lambda limits: replace(limits, current_rate=None),
    )._replace(theirs="saturation (third number)", remarks="only with an inductance"),
)


def _lose_play(actuator: Actuator, request: Request) -> Iterator[Loss]:
    stops = "an extra joint with stops for the play, as hard as the solver's"
    if actuator.gearbox.backlash is not None and request.backlash:
        text = f"{stops}; a replay shows the difference"
        yield Loss("gearbox.backlash", text, True, measured=False)
    elif actuator.gearbox.backlash is not None:
        yield Loss("gearbox.backlash", "no play", False, without=lacking("gearbox", **NO_PLAY))


def _rigid_gearbox(now: Actuator, given: Actuator, request: Request) -> Actuator:
    gearbox = given.gearbox
    if gearbox.backlash is not None and request.backlash:
        return replace(now, gearbox=replace(gearbox, efficiency=None))
    return replace(now, gearbox=rigid(gearbox))


OF_GEARBOX = (
    Row(
        "gearbox.ratio, n_motors",
        "gear",
        "1 where the drive closes a loop: the motor then stands at the joint",
    ),
    absorb(
        "gearbox.efficiency",
        "the loss is spread over friction and motor constant, the same in both directions",
        when=lambda a: a.gearbox.efficiency is not None and a.gearbox.efficiency < 1.0,
        touches="friction motor",
        reduce=_rigid_gearbox,
    ),
    Row(
        "gearbox.backlash, contact_stiffness, contact_damping",
        "an extra joint in series",
        "only where asked for",
        _lose_play,
    ),
)


def _lose_current_loop(actuator: Actuator, request: Request) -> Iterator[Loss]:
    if current_loop(actuator) and actuator.motor.inductance is not None:
        without = None if actuator.drive.loop is None else lacking("drive", through="voltage")
        text = "a voltage R tau / K + K w instead of a current loop"
        yield Loss("drive.bandwidth", text, False, without=without)


def _by_voltage(now: Actuator, given: Actuator, request: Request) -> Actuator:
    through_voltage = current_loop(given) and given.drive.loop is not None
    return lacking("drive", through="voltage")(now) if through_voltage else now


def _limits_integral(actuator: Actuator) -> bool:
    """Whether a velocity loop limits its integral."""
    drive = actuator.drive
    of_velocity = drive.loop is not None and drive.loop.of == "velocity"
    return bool(drive.has_integral and of_velocity and getattr(drive, "integral_limit", None))


OF_DRIVE = (
    Row(
        "drive.volts_per_radian, newton_metres_per_radian, firmware_gain, proportional",
        "controller (kp)",
        ERAS,
    ),
    Row(
        "drive.volt_seconds_per_radian, newton_metre_seconds_per_radian, derivative,"
        " firmware_derivative_gain",
        "controller (kd)",
        ERAS,
    ),
    Row(
        "drive.volts_per_radian_second, newton_metres_per_radian_second, integral, firmware_integral_gain",
        "controller (ki)",
        ERAS,
    ),
    Row("drive.supply, duty_limit, voltage_limit", "controller (Vmax), or ctrlrange for a voltage", ""),
    Row("drive.slew, command_low, command_high", "controller (slewmax), ctrlrange", "times gear"),
    Row("drive.delay", "delay, nsample", ""),
    SENSOR_AT_GEAR,
    *FIRMWARE_ROWS,
    PERIOD_ROW,
    NO_PUSH_ROW,
    drop(
        "drive.freeze_when_saturated",
        "the integral winds up at full voltage",
        when=lambda a: a.drive.freezes,
        freeze_when_saturated=False,
    ),
    drop(
        "drive.integral_limit",
        "the engine would limit the integral of the command, not of the error",
        when=_limits_integral,
    )._replace(
        theirs="controller (Imax)", remarks="dropped in a velocity loop, whose command it would limit"
    ),
    Row(
        "drive.bandwidth, through",
        "-",
        "dropped: a voltage R tau / K + K w instead of a current loop",
        _lose_current_loop,
        reduce=_by_voltage,
    ),
)


def _lose_inputs(actuator: Actuator, request: Request) -> Iterator[Loss]:
    for name in actuator.drive.targets[1:]:
        yield Loss(f"drive.{name}", "one input only: the position", False)


ONE_POSITION = Row("drive.targets", "-", "3.7 to 3.11 have one input only: the position", _lose_inputs)


def _unbent(friction: Viscous, request: Request) -> bool:
    """Whether friction that bends is to be held by what is asked for, and that is no bristle of its own."""
    several = len(friction.bristles) > 1
    return request.at_rest == "frictionloss" or (request.at_rest == "springyield" and not several)


def _lose_friction(actuator: Actuator, request: Request) -> Iterator[Loss]:
    friction, own = actuator.friction, actuator.parameters
    if friction.name in ("viscous", "coulomb"):
        if request.at_rest == "lugre" and friction.dry:
            yield Loss("friction.coulomb", "a bristle, as asked for", True, "friction")
        return
    if not friction.bristle:
        names = ("friction.load", "friction.static", "friction.stribeck", "friction.peak", "friction.dwell")
        listed = ", ".join(path for path, value in own.items() if value and path.startswith(names))
        text = f"{type(friction).__name__} became friction that does not see the load"
        yield Loss(listed, text, True, "friction motor" if "load" in listed else "friction")
        return
    if _unbent(friction, request):
        yield Loss("friction.stiffness", f"{request.at_rest}, as asked for", True, "friction")
    else:
        yield from _lose_bend(actuator, request)


def _lose_bend(actuator: Actuator, request: Request) -> Iterator[Loss]:
    """What a bristle loses that stays one."""
    friction, own = actuator.friction, actuator.parameters
    if own.get("friction.damping_exponent"):
        without = lacking("friction", damping_exponent=None)
        text = "the bristle's damping does not fade with speed"
        yield Loss("friction.damping_exponent", text, False, without=without)
    if own.get("friction.stribeck_exponent", 2.0) != 2.0:
        yield Loss("friction.stribeck_exponent", "2 in the engine", True, "friction")
    springs = can_yield(request) and request.at_rest != "lugre"
    if len(friction.bristles) > 1 and springs:
        most = stiffest_spring(actuator, request)
        if own["friction.stiffness"] > most:
            text = f"springs of {most:.4g} N m/rad together, the stiffest that the time step holds"
            yield Loss("friction.stiffness", text, True)
    elif len(friction.bristles) > 1:
        yield Loss("friction.softening", "several springs became one bristle", True, "friction")
    if friction.loaded:
        yield Loss("friction.load", "LuGre's levels are those of a middling load", True, "friction")


def _engine_friction(now: Actuator, given: Actuator, request: Request) -> Actuator:
    """A friction that the engine has: the joint's, or a bristle."""
    friction = given.friction
    drag: dict[str, Any] = {**friction.drag_terms, "viscous": friction.viscous + steady.iron_drag(given)}
    if friction.name in ("viscous", "coulomb"):
        dry = friction.moving
        return replace(now, friction=Coulomb(**drag, coulomb=dry) if dry > 0 else Viscous(**drag))
    moving, at_rest = dry_levels(given, request.load, request.amplitude)
    if not friction.bristle or _unbent(friction, request):
        return replace(now, friction=Coulomb(**drag, coulomb=moving))
    if len(friction.bristles) > 1 and can_yield(request) and request.at_rest != "lugre":
        stiffness = min(given.parameters["friction.stiffness"], stiffest_spring(given, request))
        softening = given.parameters["friction.softening"]
        springs = MaxwellSlip(**drag, coulomb=friction.moving, stiffness=stiffness, softening=softening)
        return replace(now, friction=springs)
    level = (friction.moving, friction.breakaway)
    if friction.loaded:
        level = (max(moving, 1e-9), max(at_rest, moving, 1e-9))
    return replace(now, friction=present(friction.as_lugre(*level, **drag)))


OF_FRICTION = (
    Row("friction.viscous, viscous_quadratic, viscous_cubic", "damping", "divided by gear^2"),
    drop("friction.asymmetry", "the same friction in both directions")._replace(reduce=None),
    drop("friction.offset", "no constant torque")._replace(reduce=None),
    Row(
        "friction.coulomb",
        "joint frictionloss with solreffriction, solimpfriction",
        "so that it sticks; of kind LuGre and Dahl lugre",
    ),
    Row(
        "friction.coulomb, stiffness, softening",
        "fixed tendons with stiffness and springyield",
        "from 4.0 on: four for MaxwellSlip; one in place of frictionloss where closer or asked for",
    ),
    Row(
        "friction",
        "lugre, or frictionloss",
        "of kind LuGre and Dahl: torques / gear, speeds * gear, stiffness / gear^2; others are fitted",
        _lose_friction,
        reduce=_engine_friction,
    ),
)


LACKED = tuple(
    row._replace(theirs="-")
    for row in (*OF_MOTOR, *OF_GEARBOX, *OF_DRIVE, ONE_POSITION, *OF_FRICTION)
    if row.lose is not lose_nothing
)
"""What a target that stands on a `<dcmotor>` of one input lacks."""


def _candidates(
    reduced: Actuator, open_friction: bool, actuator: Actuator, request: Request
) -> list[Actuator]:
    """The joint's own friction, and a bristle that this time step can hold."""
    if not open_friction or not reduced.friction.dry:
        return [reduced]
    wanted = wanted_kind(request)
    if wanted not in (None, "lugre"):
        return [reduced]
    able = capability(actuator, request.amplitude)
    coulomb, static = dry_levels(actuator, request.load, request.amplitude)
    (stiffness, damping), floor = stiff_bristle(reduced, actuator, request), max(coulomb, 1e-3 * able.stall)
    bristle = LuGre(
        **reduced.friction.drag_terms,
        coulomb=floor,
        static=max(static, floor),
        stribeck_velocity=actuator.friction.fades_at or 0.1 * able.speed,
        stiffness=stiffness,
        damping=damping,
    )
    either = [reduced, replace(reduced, friction=bristle)]
    return either if request.similar is None else either[1:]
