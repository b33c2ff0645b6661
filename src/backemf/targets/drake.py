"""A description's text in Drake: parsed by Drake itself, its joint driven step by step."""

from __future__ import annotations

import importlib
import importlib.metadata
import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidValue, MissingValue, NotAvailable
from .reference_motions import SimulationCase

LOST = 1e6
"""Positions beyond this [rad or m] are not a motion any more."""
LEAST = 1e-9
"""Inertia of a bench that has none: a body must have some."""
Beside = Callable[[int, float, float], tuple[float, float]]
"""A controller beside the file, at row k, position, velocity: (effort to the file's actuator, which clips it,
effort behind that)."""


def simulator() -> str:
    """Name and version of what runs descriptions here."""
    _drake()
    return f"Drake {importlib.metadata.version('drake')}"


class Multibody(NamedTuple):
    """Drake's modules of this name."""

    parsing: Any
    plant: Any
    tree: Any


def _drake() -> Multibody:
    try:
        return Multibody(
            importlib.import_module("pydrake.multibody.parsing"),
            importlib.import_module("pydrake.multibody.plant"),
            importlib.import_module("pydrake.multibody.tree"),
        )
    except ImportError:
        raise NotAvailable(
            "Drake is not installed, and nothing else runs this file here; install it with"
            " `pip install drake==1.51.1`"
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the parser's warnings: what it ignores stands in the file's header and in INERT."""
    log = logging.getLogger("drake")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


class ParsedPlant(NamedTuple):
    """A plant of one joint, before it is finalised."""

    plant: Any
    joint: Any
    actuator: Any


def parse_plant(text: str, language: str, joint: str, timestep: float) -> ParsedPlant:
    """The file as Drake reads it.

    Args:
        text: of the file.
        language: "urdf" or "sdf".
        joint: its name there.
        timestep: of the discrete plant [s].

    Returns:
        The plant, the joint and its actuator.

    Raises:
        InvalidValue: Drake cannot read it; its own words say why.
    """
    multibody = _drake()
    plant = multibody.plant.MultibodyPlant(timestep)
    plant.SetUseSampledOutputPorts(False)  # a step is then one plain discrete update
    plant.set_discrete_contact_approximation(multibody.plant.DiscreteContactApproximation.kSap)
    try:
        with _quiet():
            multibody.parsing.Parser(plant).AddModelsFromString(text, language)
    except Exception as error:
        raise InvalidValue(f"Drake cannot read this {language}: {str(error).splitlines()[0]}") from None
    if not plant.HasJointNamed(joint):
        raise MissingValue(f"the {language} has no joint {joint!r} that Drake can move")
    at = plant.GetJointByName(joint)
    own = [plant.get_joint_actuator(k) for k in plant.GetJointActuatorIndices()]
    own = [actuator for actuator in own if actuator.joint().index() == at.index()]
    if not own:
        raise MissingValue(
            f"Drake finds no actuator on joint {joint!r} of the {language}; expected a transmission or an"
            " effort limit above 0"
        )
    return ParsedPlant(plant, at, own[0])


def _check(plant: ParsedPlant) -> None:
    """Refuse numbers that Drake would take and make nonsense of."""
    joint, actuator = plant.joint, plant.actuator
    given = {
        "damping": joint.default_damping(),
        "rotor inertia": actuator.default_rotor_inertia(),
        "effort limit": actuator.effort_limit(),
    }
    for name, value in given.items():
        if math.isnan(value) or value < 0:
            raise InvalidValue(f"{name} of joint {joint.name()!r} is {value!r}; expected 0 or more")
    if not math.isfinite(actuator.default_gear_ratio()):
        raise InvalidValue(
            f"gear ratio of {joint.name()!r} is {actuator.default_gear_ratio()!r}; expected a number"
        )


def run_case(parsed_plant: ParsedPlant, case: SimulationCase, beside: Beside | None = None) -> np.ndarray:
    """Run a case in Drake.

    Args:
        parsed_plant: the file as Drake read it.
        case: what is asked for and when, and the bench.
        beside: a controller beside the file, whose effort goes to the actuator; without it targets go to the
            file's own.

    Returns:
        Positions at the case's moments [rad or m].
    """
    _check(parsed_plant)
    plant, joint, actuator = parsed_plant
    free = np.full(1, math.inf)  # the range of the stand-in: the bench has no stops
    joint.set_position_limits(-free, free)
    world, child = plant.world_frame(), joint.child_body()
    if joint.parent_body().index() != plant.world_body().index():
        plant.WeldFrames(world, joint.parent_body().body_frame())
    plant.mutable_gravity_field().set_gravity_vector(np.zeros(3))
    plant.Finalize()
    # Drake leaves a controller out where its desired state is not connected: that is the disabled drive.
    contexts = {True: plant.CreateDefaultContext(), False: plant.CreateDefaultContext()}
    for context in contexts.values():
        child.SetSpatialInertiaInBodyFrame(context, _inertia(case))
    held, after = actuator.has_controller(), plant.AllocateDiscreteVariables()
    state, positions = np.array([case.position, case.velocity]), np.empty(len(case.moments))
    for k in range(len(case.moments)):
        q, w = float(state[0]), float(state[1])
        positions[k] = q
        if not abs(q) < LOST:
            raise InvalidValue(
                f"Drake's motion diverges at a step of {1e3 * case.timestep:g} ms; export with a shorter"
                " timestep"
            )
        on = bool(case.enabled[k])
        context, inputs = contexts[on], inputs_at(case, k)
        u, behind = (inputs.effort, 0.0) if beside is None else beside(k, q, w)
        outside = case.load(k, q, w) + (behind if on else 0.0)
        plant.SetPositionsAndVelocities(context, state)
        plant.get_actuation_input_port().FixValue(context, np.array([u if on else 0.0]))
        plant.get_applied_generalized_force_input_port().FixValue(context, np.array([outside]))
        if held and on:
            desired = np.array([inputs.position, inputs.velocity])
            plant.get_desired_state_input_port(actuator.model_instance()).FixValue(context, desired)
        plant.CalcForcedDiscreteVariableUpdate(context, after)
        state = np.array(after.value()).ravel()
    return positions


class PlantInputs(NamedTuple):
    """Inputs of the plant at one moment."""

    position: float
    velocity: float
    effort: float


def inputs_at(case: SimulationCase, k: int) -> PlantInputs:
    """What is sent at moment k of a case."""
    sent = {
        name: factor * float(case.command[name][k])
        for name, factor in case.ctrl.items()
        if name in case.command
    }
    position, velocity = sent.pop("position_target", 0.0), sent.pop("velocity_target", 0.0)
    return PlantInputs(position, velocity, sum(sent.values()))


def _inertia(case: SimulationCase) -> Any:
    tree, J = _drake().tree, max(case.inertia, LEAST)
    mass, per_mass = (J, 1.0) if case.motion == "linear" else (1.0, J)
    return tree.SpatialInertia(mass, np.zeros(3), tree.UnitInertia(per_mass, per_mass, per_mass))
