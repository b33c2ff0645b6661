"""What a `<dcmotor>` can hold of an actuator: the same actuator without what is missing there,
its numbers fitted to make up for it."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..mujoco.actuator import current_loop, from_actuator, no_place
from ..mujoco.attributes import motor_limits
from ..physics import steady
from ..physics.actuator import Actuator
from ..physics.drive import Drive
from ..physics.friction import Coulomb, LuGre, Viscous
from ..physics.gearbox import Gearbox
from ..physics.motor import Limits, Motor
from ..physics.quantity import present
from .approximate import Difference, best, difference, near, positions
from .export import NOTHING_LOST, Account, Request, moved
from .losses import LOOKS, NO_PLAY, Losses, account, at_the_gear, cooled, for_ever
from .motions import Reach, judged_over, motions_of, reach, reference_inertia
from .mujoco.finding import integrator_finding

BETTER = 0.9
"""Other numbers than the closed forms, or a bristle instead of the joint's friction,
are taken where they leave less than this share of the error."""


class Carried(NamedTuple):
    """The actuator a target simulates, and the account of what it lost."""

    actuator: Actuator
    account: Account


class Reduced(NamedTuple):
    """The actuator without what a `<dcmotor>` lacks, its numbers as they were."""

    actuator: Actuator
    losses: Losses
    open_friction: bool
    """Whether the kind of its friction is still to be chosen."""


def reduced(actuator: Actuator, request: Request, era: int) -> Reduced:
    """What is left of an actuator in a `<dcmotor>`, by closed forms."""
    if actuator.drive.open_circuit:
        raise no_place(actuator.drive)
    losses = Losses()
    motor = _motor(actuator, losses)
    gearbox = _gearbox(actuator.gearbox, losses, request.backlash)
    poor = replace(actuator, motor=motor, gearbox=gearbox, drive=_drive(actuator, losses, request, era))
    friction, open_friction = _friction(actuator, losses, request)
    return Reduced(replace(poor, friction=friction), losses, open_friction)


def carried(actuator: Actuator, request: Request, era: int) -> Carried:
    """The best `<dcmotor>` (and joint friction) for an actuator."""
    poor, losses, open_friction = reduced(actuator, request, era)
    if not losses:
        return Carried(poor, NOTHING_LOST)
    motions, over = motions_of(actuator, request)
    rich = positions(actuator, motions)
    touched = {word for loss in losses for word in loss.touches.split()}
    made, left = poor, difference(positions(poor, motions), rich)
    if request.method != "formula" and touched:
        for candidate in _candidates(poor, open_friction, actuator, request):
            fit = refitted(candidate, touched, actuator, request)
            bristle = candidate is not poor
            if fit.left.rms < BETTER * left.rms and (not bristle or _holds(fit.actuator, request, era)):
                made, left = fit
    told = account(actuator, losses, left, rich, motions, over)
    units = {path: made.unit(path) for path in made.parameters}
    return Carried(made, told._replace(adjusted=moved(poor.parameters, made.parameters, units)))


def _holds(actuator: Actuator, request: Request, era: int) -> bool:
    """Whether a bristle feeds no energy in and the engine's step follows it,
    on the reference bench and on the rotor alone."""
    if actuator.friction.findings():
        return False
    version = {"mujoco": request.version}.get(request.target, "3.11" if era == 1 else "4.0")
    dcmotor = from_actuator(replace(actuator, gearbox=rigid(actuator.gearbox)), era).dcmotor
    heavy = reference_inertia(actuator, request)
    return all(
        integrator_finding(dcmotor, J, request.timestep, request.integrator, version) is None
        for J in (heavy, 0.1 * heavy)
    )


def rigid(gearbox: Gearbox) -> Gearbox:
    """The same without loss and play."""
    return Gearbox(ratio=gearbox.ratio, n_motors=gearbox.n_motors)


def _motor(actuator: Actuator, losses: Losses) -> Motor:
    motor, heat, changes = actuator.motor, actuator.motor.thermal, {}
    K_t, K_e = motor.torque_constant, motor.back_emf_constant
    if K_e is not None:
        by_current = actuator.drive.followed == "current_target"
        if not math.isclose(K_t, K_e, rel_tol=1e-12):
            text = f"one constant K for K_t = {K_t:.4g} N m/A and K_e = {K_e:.4g} V s/rad"
            losses.keep("motor.back_emf_constant", text, "" if by_current else "motor")
        changes["back_emf_constant"] = None
        if not by_current:  # keeps stall torque per volt and no-load speed; not the current and its heat
            changes |= {"torque_constant": K_e, "resistance": motor.resistance * K_e / K_t}
    if motor.saturation_current is not None:
        text = "the torque constant does not fall with current"
        losses.keep("motor.saturation_current", text, "motor")
        changes["saturation_current"] = None
    if motor.iron_loss is not None:
        changes["iron_loss"] = None  # its drag goes into the viscous friction
        if heat is not None:
            losses.drop("motor.iron_loss", "its drag is carried, its heat is not", "motor", iron_loss=None)
    if heat is not None:
        changes["thermal"] = replace(heat.one_node(), magnet_coefficient=None)
        if len(heat.nodes) > 1:
            losses.keep("motor.thermal.housing_resistance", "winding and housing became one node")
        if heat.magnet_coefficient is not None:
            strong, text = replace(heat, magnet_coefficient=None), "warm magnets keep their strength"
            losses.drop("motor.thermal.magnet_coefficient", text, "motor", thermal=strong)
    if motor.limits is not None:
        changes["limits"] = _limits(motor, motor.limits, losses)
    return replace(motor, **changes)


def _limits(motor: Motor, limits: Limits, losses: Losses) -> Limits | None:
    def drop(name: str, text: str, rest: Limits | None) -> None:
        losses.drop(f"motor.limits.{name}", text, "motor", limits=rest)

    rate = limits.current_rate
    if limits.current is not None and (motor.thermal is not None or motor.inductance is not None):
        losses.keep("motor.limits.current", "it limits the torque; the current and its heat are not held")
    if limits.peak_current is not None:
        drop("peak_time", "the peak current may flow for ever", for_ever(limits))
    if limits.safe_current is not None:
        drop("safe_current", "a warm winding is not derated", cooled(limits))
    if rate is not None and motor.inductance is None:
        text = "without an inductance the engine has no current to slow"
        drop("current_rate", text, replace(limits, current_rate=None))
        rate = None
    return motor_limits(limits.largest_torque(motor), rate)


def _gearbox(gearbox: Gearbox, losses: Losses, backlash: bool) -> Gearbox:
    if gearbox.efficiency is not None and gearbox.efficiency < 1.0:
        text = "the loss is spread over friction and motor constant, the same in both directions"
        losses.keep("gearbox.efficiency", text, "friction motor")
    if gearbox.backlash is not None and backlash:
        stops = "an extra joint with stops for the play, as hard as the solver's"
        losses.keep("gearbox.backlash", f"{stops}; a replay shows the difference", measured=False)
        return replace(gearbox, efficiency=None)
    if gearbox.backlash is not None:
        losses.drop("gearbox.backlash", "no play", "gearbox", **NO_PLAY)
    return rigid(gearbox)


def _drive(actuator: Actuator, losses: Losses, request: Request, era: int) -> Drive:
    drive, loop, inductive = actuator.drive, actuator.drive.loop, actuator.motor.inductance is not None
    changes: dict[str, Any] = at_the_gear(actuator, losses) if request.backlash else {}
    changes |= losses.drop_each(actuator, "drive", deadband="every error counts", period=LOOKS)
    changes |= losses.drop_push(actuator)
    if drive.freezes:
        changes["freeze_when_saturated"] = False
        text = "the integral winds up at full voltage"
        losses.drop("drive.freeze_when_saturated", text, "drive", freeze_when_saturated=False)
    if drive.has_integral and loop is not None and loop.of == "velocity":
        text = "the engine would limit the integral of the command, not of the error"
        changes |= losses.drop_each(actuator, "drive", integral_limit=text)
    if current_loop(actuator):
        through = {} if loop is None else {"through": "voltage"}
        changes |= through
        if inductive:
            text = "a voltage R tau / K + K w instead of a current loop"
            losses.drop("drive.bandwidth", text, "drive" if through else "", **through)
    if len(drive.targets) > 1 and era == 1:
        for name in drive.targets[1:]:
            losses.drop(f"drive.{name}", "one input only: the position")
    return replace(drive, **changes) if changes else drive


def _friction(actuator: Actuator, losses: Losses, request: Request) -> tuple[Viscous, bool]:
    """A friction the target has, and whether its kind is still open."""
    friction, own = actuator.friction, actuator.parameters
    both = {"asymmetry": "the same friction in both directions", "offset": "no constant torque"}
    losses.drop_each(actuator, "friction", **both)
    drag: dict[str, Any] = {**friction.drag_terms, "viscous": friction.viscous + steady.iron_drag(actuator)}
    touched = any("friction" in loss.touches for loss in losses)
    if friction.name in ("viscous", "coulomb"):
        return (Coulomb(**drag, coulomb=friction.moving) if friction.moving > 0 else Viscous(**drag)), touched
    moving, at_rest = levels(actuator, request.load, request.amplitude)
    if friction.bristle:
        faded = "the bristle's damping does not fade with speed"
        losses.drop_each(actuator, "friction", damping_exponent=faded)
        if own.get("friction.stribeck_exponent", 2.0) != 2.0:
            losses.keep("friction.stribeck_exponent", "2 in the engine", "friction")
        if len(friction.bristles) > 1:
            losses.keep("friction.softening", "several springs became one bristle", "friction")
        if friction.loaded:
            losses.keep("friction.load", "LuGre's levels are those of a middling load", "friction")
        level = (max(moving, 1e-9), max(at_rest, moving, 1e-9))
        level = level if friction.loaded else (friction.moving, friction.breakaway)
        return present(friction.as_lugre(*level, **drag)), False
    names = ("friction.load", "friction.static", "friction.stribeck")
    listed = ", ".join(path for path, value in own.items() if value and path.startswith(names))
    text = f"{type(friction).__name__} became friction that does not see the load"
    losses.keep(listed, text, "friction motor" if "load" in listed else "friction")
    return Coulomb(**drag, coulomb=moving), True


def levels(actuator: Actuator, load: float, amplitude: float) -> tuple[float, float]:
    """(moving, at rest): dry friction at half the reference load."""
    torque = 0.5 * load * reach(actuator, amplitude).stall
    friction = actuator.friction
    return float(friction.level(0.0, torque, -torque, 1.0)), float(friction.level(1.0, torque, -torque, 1.0))


def _candidates(poor: Actuator, open_friction: bool, actuator: Actuator, request: Request) -> list[Actuator]:
    """The joint's own friction, and a bristle that this time step can hold."""
    if not open_friction or not poor.friction.dry:
        return [poor]
    able = reach(actuator, request.amplitude)
    coulomb, static = levels(actuator, request.load, request.amplitude)
    J = steady.armature(actuator) or reference_inertia(actuator, request)
    stiffness, floor = 0.1 * J / request.timestep**2, max(coulomb, 1e-3 * able.stall)
    bristle = LuGre(
        **poor.friction.drag_terms,
        coulomb=floor,
        static=max(static, floor),
        stribeck_velocity=actuator.friction.fades_at or 0.1 * able.speed,
        stiffness=stiffness,
        damping=0.6 * math.sqrt(J * stiffness),
    )
    return [poor, replace(poor, friction=bristle)]


class Refitted(NamedTuple):
    """A candidate with its best numbers, and how far it is off."""

    actuator: Actuator
    left: Difference


def floors_of(able: Reach) -> dict[str, float]:
    """Frictions that count as small: 2 % of the stall torque, at full speed for a drag."""
    small = 0.02 * able.stall
    drag = small / max(able.speed, 1e-9)
    return {"friction.viscous": drag, "friction.coulomb": small, "friction.static": small}


def refitted(poor: Actuator, touched: set[str], actuator: Actuator, request: Request) -> Refitted:
    """A candidate with its best numbers."""
    search = _searched if request.logs else _remembered
    return search(poor, frozenset(touched), actuator, judged_over(request))


def _searched(poor: Actuator, touched: frozenset[str], actuator: Actuator, request: Request) -> Refitted:
    motions, _ = motions_of(actuator, request)
    rich = positions(actuator, motions)
    friction = poor.friction
    paths: list[str] = []
    if "friction" in touched:
        paths += ["friction.viscous", *(["friction.coulomb"] if friction.dry else [])]
        paths += ["friction.static", "friction.stribeck_velocity"] if friction.bristle else []
    if "motor" in touched:
        paths += ["motor.torque_constant", "motor.resistance"]
    x0 = [poor.parameters[path] for path in paths]
    if "friction.static" in paths:  # what is added at rest
        x0[paths.index("friction.static")] -= poor.parameters["friction.coulomb"]
    floors = floors_of(reach(actuator, request.amplitude))
    scale = [max(value, floors.get(path, 0.0)) for path, value in zip(paths, x0, strict=True)]
    bottom = dict.fromkeys(("motor.torque_constant", "motor.resistance"), 1e-9)
    bottom |= {"friction.coulomb": 1e-9 if friction.bristle else 0.0, "friction.stribeck_velocity": 1e-6}

    def make(x: np.ndarray) -> Actuator:
        pairs = zip(paths, x, x0, strict=True)
        values = {path: max(near(float(v), a), bottom.get(path, 0.0)) for path, v, a in pairs}
        if "friction.static" in values:
            values["friction.static"] += values["friction.coulomb"]
        return poor.replace(**values)

    fit = best(make, x0, scale, rich, motions)
    return Refitted(make(fit.x), fit.difference)


_remembered = functools.lru_cache(maxsize=64)(_searched)
"""Several targets lose the same over the reference motions, and have the same best numbers."""
