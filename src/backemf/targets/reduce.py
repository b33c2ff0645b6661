"""What a `<dcmotor>` can hold of an actuator: the same actuator without what is missing there,
its numbers fitted to make up for it."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidValue
from ..model import drive as drives
from ..model.actuator import Actuator
from ..model.drive import Off, Regulator
from ..model.friction import Coulomb, Dahl, LuGre, Viscous
from ..model.gearbox import Gearbox
from ..model.motor import Limits, Motor
from ..model.thermal import Thermal, TwoNodeThermal
from ..simulator.actuator import from_actuator
from .approximate import Difference, best, difference, positions
from .export import Request
from .losses import NO_PLAY, Account, Loss, account, cooled, lacking
from .motions import Motion, motions_of, reach, reference_inertia
from .mujoco.finding import integrator_finding

BETTER = 0.9
"""A bristle is taken instead of the joint's friction where it leaves less than this share of the error."""


class Carried(NamedTuple):
    """The actuator a target simulates, and the account of what it lost."""

    actuator: Actuator
    account: Account


class Reduced(NamedTuple):
    """The actuator without what a `<dcmotor>` lacks, its numbers as they were."""

    actuator: Actuator
    losses: list[Loss]
    open_friction: bool
    """Whether the kind of its friction is still to be chosen."""


def reduced(actuator: Actuator, request: Request, era: int) -> Reduced:
    """What is left of an actuator in a `<dcmotor>`, by closed forms."""
    if isinstance(actuator.drive, Off):
        raise InvalidValue(
            "a dcmotor has no place for Off: its winding is always driven or shorted; expected another drive"
        )
    losses: list[Loss] = []
    poor = replace(
        actuator,
        motor=_motor(actuator, losses),
        gearbox=_gearbox(actuator, losses, request.backlash),
        drive=_drive(actuator, losses, era),
    )
    poor, open_friction = _friction(actuator, poor, losses, request)
    return Reduced(poor, losses, open_friction)


def carried(actuator: Actuator, request: Request, era: int) -> Carried:
    """The best `<dcmotor>` (and joint friction) for an actuator."""
    poor, losses, open_friction = reduced(actuator, request, era)
    if not losses:
        return Carried(poor, Account())
    motions, over = motions_of(actuator, request)
    rich = positions(actuator, motions)
    touched = {word for loss in losses for word in loss.touches.split()}
    if request.method == "formula" or not touched:
        found, left = poor, difference(positions(poor, motions), rich)
    else:
        fits = [
            refitted(candidate, touched, actuator, rich, motions, request)
            for candidate in _candidates(poor, open_friction, actuator, request)
        ]
        better = len(fits) == 2 and fits[1].left.rms < BETTER * fits[0].left.rms
        found, left = fits[1] if better and _holds(fits[1].actuator, request, era) else fits[0]
    return Carried(found, account(actuator, losses, left, rich, motions, over))


def _holds(actuator: Actuator, request: Request, era: int) -> bool:
    """Whether a bristle feeds no energy in and the engine's step follows it,
    on the reference bench and on the rotor alone."""
    if actuator.friction.findings():
        return False
    version = {"mujoco": request.version}.get(request.target, "3.11" if era == 1 else "4.0")
    dcmotor = from_actuator(
        replace(actuator, gearbox=Gearbox(ratio=actuator.gearbox.ratio, n_motors=actuator.gearbox.n_motors)),
        era,
    ).dcmotor
    heavy = reference_inertia(actuator, request)
    return all(
        integrator_finding(dcmotor, J, request.timestep, request.integrator, version) is None
        for J in (heavy, 0.1 * heavy)
    )


def _motor(actuator: Actuator, losses: list[Loss]) -> Motor:
    motor = actuator.motor
    changes: dict[str, Any] = {}
    if motor.back_emf_constant is not None:
        K_t, K_e = motor.torque_constant, motor.back_emf_constant
        by_current = isinstance(actuator.drive, drives.Current)
        if not math.isclose(K_t, K_e, rel_tol=1e-12):
            text = f"one constant K for K_t = {K_t:.4g} N m/A and K_e = {K_e:.4g} V s/rad"
            losses.append(Loss("motor.back_emf_constant", text, True, "" if by_current else "motor"))
        changes["back_emf_constant"] = None
        if (
            not by_current
        ):  # stall torque per volt and no-load speed are kept; the current, and with it the heat, is not
            changes |= {"torque_constant": K_e, "resistance": motor.resistance * K_e / K_t}
    if motor.saturation_current is not None:
        losses.append(
            Loss("motor.saturation_current", "the torque constant does not fall with current", True, "motor")
        )
        changes["saturation_current"] = None
    if motor.iron_loss is not None:
        changes["iron_loss"] = None  # its drag goes into the viscous friction
        if motor.thermal is not None:
            losses.append(
                Loss(
                    "motor.iron_loss",
                    "its drag is carried, its heat is not",
                    False,
                    without=lacking("motor", iron_loss=None),
                )
            )
    if isinstance(motor.thermal, TwoNodeThermal):
        losses.append(Loss("motor.thermal.housing_resistance", "winding and housing became one node", True))
        t = motor.thermal
        total = t.winding_resistance + t.housing_resistance
        one = {
            "ambient": t.ambient,
            "reference": t.reference,
            "resistance_coefficient": t.resistance_coefficient,
        }
        changes["thermal"] = Thermal(resistance=total, capacitance=t.winding_capacitance, **one)
    if motor.thermal is not None and motor.thermal.magnet_coefficient is not None:
        losses.append(
            Loss(
                "motor.thermal.magnet_coefficient",
                "warm magnets keep their strength",
                False,
                without=lacking("motor", thermal=replace(motor.thermal, magnet_coefficient=None)),
            )
        )
        if isinstance(motor.thermal, Thermal):
            changes["thermal"] = replace(motor.thermal, magnet_coefficient=None)
    if motor.limits is not None:
        changes["limits"] = _limits(motor, motor.limits, losses)
    return replace(motor, **changes) if changes else motor


def _limits(motor: Motor, limits: Limits, losses: list[Loss]) -> Limits | None:
    heats = motor.thermal is not None or motor.inductance is not None
    held = [] if limits.torque is None else [limits.torque]
    if limits.current is not None:
        held.append(float(motor.torque_at(limits.current, None)))
        if heats:
            losses.append(
                Loss(
                    "motor.limits.current",
                    "it limits the torque; the current and its heat are not held",
                    True,
                )
            )
    if limits.peak_current is not None:
        held.append(float(motor.torque_at(limits.peak_current, None)))
        for_ever = Limits(
            torque=limits.torque,
            current_rate=limits.current_rate,
            current=min(limits.peak_current, limits.current or math.inf),
        )
        without = lacking("motor", limits=for_ever)
        losses.append(
            Loss("motor.limits.peak_time", "the peak current may flow for ever", False, without=without)
        )
    if limits.safe_current is not None:
        without = lacking("motor", limits=cooled(limits))
        losses.append(
            Loss("motor.limits.safe_current", "a warm winding is not derated", False, without=without)
        )
    rate = limits.current_rate
    if rate is not None and motor.inductance is None:
        without = lacking("motor", limits=replace(limits, current_rate=None))
        losses.append(
            Loss(
                "motor.limits.current_rate",
                "without an inductance the engine has no current to slow",
                False,
                without=without,
            )
        )
        rate = None
    return Limits(torque=min(held) if held else None, current_rate=rate) if held or rate is not None else None


def _gearbox(actuator: Actuator, losses: list[Loss], backlash: bool) -> Gearbox:
    gearbox = actuator.gearbox
    if gearbox.efficiency is not None and gearbox.efficiency < 1.0:
        losses.append(
            Loss(
                "gearbox.efficiency",
                "the loss is spread over friction and motor constant, the same in both directions",
                True,
                "friction motor",
            )
        )
    if gearbox.backlash is not None:
        if backlash:
            losses.append(
                Loss(
                    "gearbox.backlash",
                    "an extra joint with stops for the play, as hard as the solver's; a replay shows the"
                    " difference",
                    True,
                    measured=False,
                )
            )
            return replace(gearbox, efficiency=None)
        losses.append(Loss("gearbox.backlash", "no play", False, without=lacking("gearbox", **NO_PLAY)))
    return Gearbox(ratio=gearbox.ratio, n_motors=gearbox.n_motors)


def _drive(actuator: Actuator, losses: list[Loss], era: int) -> Any:
    drive, changes = actuator.drive, {}
    if isinstance(drive, Regulator) and drive.deadband is not None:
        changes["deadband"] = None
        losses.append(
            Loss("drive.deadband", "every error counts", False, without=lacking("drive", deadband=None))
        )
    if isinstance(drive, Regulator) and drive.has_integral and drive.freeze_when_saturated:
        changes["freeze_when_saturated"] = False
        losses.append(
            Loss(
                "drive.freeze_when_saturated",
                "the integral winds up at full voltage",
                False,
                without=lacking("drive", freeze_when_saturated=False),
            )
        )
    inductive = actuator.motor.inductance is not None
    if isinstance(drive, drives.Impedance):
        if drive.through == "current":
            changes["through"] = "voltage"
            if inductive:
                losses.append(
                    Loss(
                        "drive.bandwidth",
                        "a voltage R tau / K + K w instead of a current loop",
                        False,
                        without=lacking("drive", through="voltage"),
                    )
                )
        if era == 1:
            losses.append(Loss("drive.velocity_target", "one input only: the position", False))
            losses.append(Loss("drive.torque_target", "one input only: the position", False))
    if isinstance(drive, drives.Current) and inductive:
        losses.append(Loss("drive.bandwidth", "a voltage R tau / K + K w instead of a current loop", False))
    return replace(drive, **changes) if changes else drive


def _friction(
    actuator: Actuator, poor: Actuator, losses: list[Loss], request: Request
) -> tuple[Actuator, bool]:
    """The actuator with a friction the target has, and whether its kind is still open."""
    friction = actuator.friction
    for name, what in (
        ("asymmetry", "the same friction in both directions"),
        ("offset", "no constant torque"),
    ):
        if getattr(friction, name) is not None:
            losses.append(Loss(f"friction.{name}", what, False, without=lacking("friction", **{name: None})))
    drag: dict[str, Any] = {
        "viscous": friction.viscous + iron_drag(actuator),
        "viscous_quadratic": friction.viscous_quadratic,
        "viscous_cubic": friction.viscous_cubic,
    }
    kind = type(friction)
    if kind is Viscous:
        return _open(replace(poor, friction=Viscous(**drag)), losses)
    if kind is Coulomb and isinstance(friction, Coulomb):
        made = Coulomb(**drag, coulomb=friction.coulomb) if friction.coulomb > 0 else Viscous(**drag)
        return _open(replace(poor, friction=made), losses)
    if kind is Dahl and isinstance(friction, Dahl):
        bristle = {
            "stiffness": friction.stiffness,
            "coulomb": friction.coulomb,
            "static": friction.coulomb,
            "stribeck_velocity": 1.0,
        }
        return replace(poor, friction=LuGre(**drag, **bristle)), False
    coulomb, static = levels(actuator, request.load, request.amplitude)
    if isinstance(friction, LuGre):
        if friction.damping_exponent is not None:
            losses.append(
                Loss(
                    "friction.damping_exponent",
                    "the bristle's damping does not fade with speed",
                    False,
                    without=lacking("friction", damping_exponent=None),
                )
            )
        if friction.stribeck_exponent is not None and friction.stribeck_exponent != 2.0:
            losses.append(Loss("friction.stribeck_exponent", "2 in the engine", True, "friction"))
        if kind is not LuGre:
            losses.append(
                Loss("friction.load", "LuGre's levels are those of a middling load", True, "friction")
            )
        same = {
            "stribeck_velocity": friction.stribeck_velocity,
            "stiffness": friction.stiffness,
            "damping": friction.damping,
        }
        own = (
            (friction.coulomb, friction.static)
            if kind is LuGre
            else (max(coulomb, 1e-9), max(static, coulomb, 1e-9))
        )
        return replace(poor, friction=LuGre(**drag, coulomb=own[0], static=own[1], **same)), False
    names = [
        f.name
        for f in dataclasses.fields(friction)
        if f.name.startswith("load") or f.name in ("static", "stribeck_velocity", "stribeck_exponent")
    ]
    listed = ", ".join(f"friction.{n}" for n in names if getattr(friction, n) not in (None, 0.0))
    losses.append(
        Loss(
            listed,
            f"{kind.__name__} became friction that does not see the load",
            True,
            "friction motor" if "load" in listed else "friction",
        )
    )
    return replace(poor, friction=Coulomb(**drag, coulomb=coulomb)), True


def iron_drag(actuator: Actuator) -> float:
    """Drag of the iron loss at the output for one rad/s [N m s/rad]."""
    gearbox = actuator.gearbox
    return float(gearbox.output_torque(actuator.motor.iron_drag(gearbox.rotor_speed(1.0))))


def _open(poor: Actuator, losses: list[Loss]) -> tuple[Actuator, bool]:
    return poor, any("friction" in loss.touches for loss in losses)


def levels(actuator: Actuator, load: float, amplitude: float) -> tuple[float, float]:
    """(moving, at rest): dry friction at half the reference load."""
    torque = 0.5 * load * reach(actuator, amplitude).stall
    friction = actuator.friction
    return float(friction.level(0.0, torque, -torque, 1.0)), float(friction.level(1.0, torque, -torque, 1.0))


def _candidates(poor: Actuator, open_friction: bool, actuator: Actuator, request: Request) -> list[Actuator]:
    """The joint's own friction, and a bristle that this time step can hold."""
    if not open_friction or not isinstance(poor.friction, Coulomb):
        return [poor]
    coulomb, static = levels(actuator, request.load, request.amplitude)
    J = actuator.gearbox.output_inertia(actuator.motor.rotor_inertia) or reference_inertia(actuator, request)
    stiffness = 0.1 * J / request.timestep**2
    floor = max(coulomb, 1e-3 * reach(actuator, request.amplitude).stall)
    drag = {
        "viscous": poor.friction.viscous,
        "viscous_quadratic": poor.friction.viscous_quadratic,
        "viscous_cubic": poor.friction.viscous_cubic,
    }
    w_s = getattr(actuator.friction, "stribeck_velocity", 0.1 * reach(actuator, request.amplitude).speed)
    bristle = LuGre(
        **drag,
        coulomb=floor,
        static=max(static, floor),
        stribeck_velocity=w_s,
        stiffness=stiffness,
        damping=0.6 * math.sqrt(J * stiffness),
    )
    return [poor, replace(poor, friction=bristle)]


class Refitted(NamedTuple):
    """A candidate with its best numbers, and how far it is off."""

    actuator: Actuator
    left: Difference


def refitted(
    poor: Actuator,
    touched: set[str],
    actuator: Actuator,
    rich: np.ndarray,
    motions: list[Motion],
    request: Request,
) -> Refitted:
    """A candidate with its best numbers."""
    able = reach(actuator, request.amplitude)
    small, drag = 0.02 * able.stall, 0.02 * able.stall / max(able.speed, 1e-9)
    paths: list[str] = []
    if "friction" in touched:
        paths += ["friction.viscous", *(["friction.coulomb"] if isinstance(poor.friction, Coulomb) else [])]
        if isinstance(poor.friction, LuGre):
            paths += ["friction.static", "friction.stribeck_velocity"]
    if "motor" in touched:
        paths += ["motor.torque_constant", "motor.resistance"]
    x0 = [poor.parameters[path] for path in paths]
    if "friction.static" in paths:  # what is added at rest
        x0[paths.index("friction.static")] -= poor.parameters["friction.coulomb"]
    floors = {"friction.viscous": drag, "friction.coulomb": small, "friction.static": small}
    scale = [max(value, floors.get(path, 0.0)) for path, value in zip(paths, x0, strict=True)]
    least = 1e-9 if isinstance(poor.friction, LuGre) else 0.0
    bottom = {
        "friction.coulomb": least,
        "friction.stribeck_velocity": 1e-6,
        "motor.torque_constant": 1e-9,
        "motor.resistance": 1e-9,
    }

    def make(x: np.ndarray) -> Actuator:
        values = {path: max(float(v), bottom.get(path, 0.0)) for path, v in zip(paths, x, strict=True)}
        if "friction.static" in values:
            values["friction.static"] += values["friction.coulomb"]
        return poor.replace(**values)

    found = best(make, x0, scale, rich, motions)
    return Refitted(make(found.x), found.difference)
