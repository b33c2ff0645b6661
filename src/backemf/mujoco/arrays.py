"""A dcmotor to and from MuJoCo's compiled arrays, on a live model and its data
(MuJoCo's DC-motor note, tables 17 and 18); and what any other actuator of a model does at its joint.

gainprm  R K alpha T0 kp ki kd Vmax mode       (mode: era 1 only; era 2 keeps its inputs in actuator_ctrlspec)
dynprm   te dimax RT C Ta sigma0 sigma1 slew Imax
biasprm  A Np phi tau_c tau_s omega_s
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from ..errors import InvalidValue, NotAvailable, UnknownName
from ..physics.motor import Limits, Motor
from ..physics.thermal import Thermal
from .attributes import cogging, friction, motor_limits
from .dcmotor import ERA_1_INPUTS, ERA_2_INPUTS, INTEGRATORS, Controller, DcMotor, Engine, rules
from .xml import scan

NONE_BIT = 1 << len(ERA_2_INPUTS)
"""`actuator_ctrlspec` of era 2: one bit for each input in their order, this one for none."""
SWITCHES = {
    "setpoint": ("dynprm[7], the slew rate", "dynprm", 7),
    "integral": ("gainprm[5], the integral gain", "gainprm", 5),
    "temperature_rise": ("dynprm[2], the thermal resistance", "dynprm", 2),
    "bristle": ("dynprm[5], the bristle stiffness", "dynprm", 5),
    "current": ("dynprm[0], the electrical time constant", "dynprm", 0),
}
"""What decides over each activation, in the order of `act`."""
PID_MOST, PID_SLEW = 0, 1
"""Places in a pid's dynprm: where the sum of errors stops, and how fast the setpoint moves."""


def load_mujoco() -> ModuleType:
    """MuJoCo itself, which is not needed for anything else in backemf."""
    try:
        import mujoco
    except ImportError:
        raise NotAvailable("MuJoCo is not installed; install it with: pip install mujoco") from None
    return mujoco


def rest_springs(model: Any, data: Any) -> None:
    """Let springs that yield rest where their joints stand: they begin at the model's own pose, and one that
    is put elsewhere would be thrown back.

    Args:
        model: compiled.
        data: of the model, with its positions set; its springs' references are changed.
    """
    if not getattr(model, "nplastic", 0):
        return
    mujoco = load_mujoco()
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_tendon(model, data)
    at, tendons = model.jnt_qposadr, model.tendon_plasticadr
    low, high = (data.ten_length - model.tendon_lengthspring[:, k] for k in (0, 1))
    for places, lengths in (
        (model.jnt_plasticadr, data.qpos[at] - model.qpos_spring[at]),
        (tendons, low),
        (tendons + (tendons >= 0), high),  # a tendon's spring has a slack length, and an end on either side
    ):
        yields = places >= 0
        data.plastic[places[yields]] = lengths[yields]


def play_joint(joint: str) -> str:
    """What the joint of the play behind a joint is called."""
    return f"{joint}_backlash"


def holding_tendons(model: Any, joint: int) -> tuple[int, ...]:
    """Fixed tendons whose springs yield and hold one joint alone, or it with its play; friction too, of both.

    Args:
        model: compiled.
        joint: its id.

    Returns:
        Their ids, in the model's order.
    """
    mujoco = load_mujoco()
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint)
    both = [joint, mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, play_joint(name)) if name else -1]
    yields = model.tendon_plasticadr >= 0 if getattr(model, "nplastic", 0) else np.zeros(model.ntendon, bool)
    found = []
    for k in range(model.ntendon):
        of = slice(model.tendon_adr[k], model.tendon_adr[k] + model.tendon_num[k])
        wraps = (
            [*map(int, model.wrap_objid[of])]
            if all(model.wrap_type[of] == int(mujoco.mjtWrap.mjWRAP_JOINT))
            else []
        )
        if (wraps == both and model.tendon_frictionloss[k] > 0) or (yields[k] and wraps in ([joint], both)):
            found.append(k)
    return tuple(found)


def dry_friction(model: Any, joint: int) -> float:
    """Of a joint itself, and of what holds it with its play.

    Args:
        model: compiled.
        joint: its id.

    Returns:
        The friction [N m or N].
    """
    held = sum(float(model.tendon_frictionloss[k]) for k in holding_tendons(model, joint))
    return float(model.dof_frictionloss[model.jnt_dofadr[joint]]) + held


@contextlib.contextmanager
def without_log() -> Iterator[None]:
    """MuJoCo's warnings go nowhere for a while: by itself it writes a MUJOCO_LOG.TXT into the folder one is
    in. What it gives up for is an error in words.

    Raises:
        InvalidValue: the model needs more of MuJoCo than it has.
    """
    try:
        mujoco = load_mujoco()
    except NotAvailable:  # whoever needs it says so
        yield
        return
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        yield
    except mujoco.FatalError as error:
        words = " ".join(str(error).split())[:200]
        raise InvalidValue(
            f"MuJoCo {mujoco.__version__} gives up on this model: {words}; expected one with less in it, or"
            ' with <size memory="..."/> for what it has'
        ) from None
    finally:
        mujoco.set_mju_user_warning(before)


def load_model(path: str | Path) -> Any:
    """A file compiled by the installed MuJoCo."""
    mujoco = load_mujoco()
    if Path(path).is_dir():  # MuJoCo would leave a log of its own here
        raise InvalidValue(f"{str(path)!r} is a folder; expected an MJCF file")
    scan(Path(path))
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except (ValueError, TypeError) as error:  # TypeError: a name that is no text
        raise InvalidValue(
            f"MuJoCo {mujoco.__version__} does not load {Path(path).name}: {' '.join(str(error).split())}"
        ) from None


def joint_inertia(model: Any, data: Any, dof: int) -> float:
    """A joint's own entry of the mass matrix, armature included: the other joints held.

    Args:
        model: compiled.
        data: of the model, where its positions are known (`mj_forward`).
        dof: the joint's degree of freedom.

    Returns:
        The inertia [kg m^2 or kg].
    """
    column, full = np.zeros((model.nv, 1)), np.zeros((model.nv, 1))
    column[dof] = 1.0
    load_mujoco().mj_mulM(model, data, full, column)
    return float(full[dof, 0])


class Place(NamedTuple):
    """Where an actuator sits in the arrays of its model."""

    actuator: int
    joint: int
    dof: int
    qpos: int
    out: int
    """Row of actuator_gear, actuator_length, actuator_velocity and actuator_force."""
    ctrl: slice
    act: slice


def dcmotors(model: Any) -> list[int]:
    """Indices of every dcmotor in a model, however its file spelled it."""
    kind = load_mujoco().mjtGain.mjGAIN_DCMOTOR
    return [int(i) for i in np.flatnonzero(model.actuator_gaintype == int(kind))]


def pids(model: Any) -> list[int]:
    """Indices of every pid in a model; MuJoCo has it from 3.12 on."""
    kind = getattr(load_mujoco().mjtGain, "mjGAIN_PID", None)
    return [] if kind is None else [int(i) for i in np.flatnonzero(model.actuator_gaintype == int(kind))]


def place(model: Any, actuator: int | str) -> Place:
    """Find a dcmotor on a hinge or a slide, by name or index."""
    mujoco = load_mujoco()
    n = len(model.actuator_gaintype)
    if isinstance(actuator, str):
        names = {mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, k): k for k in range(n)}
        if actuator not in names:
            raise UnknownName("actuator", actuator, [name for name in names if name])
        actuator = names[actuator]
    i = int(actuator)
    if not 0 <= i < n:
        raise InvalidValue(f"actuator is {i}; the model has {n}: expected 0 to {n - 1}")
    label = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i) or i
    if i not in dcmotors(model):
        raise InvalidValue(
            f"actuator {label!r} is not a dcmotor; expected gaintype, dyntype and biastype 'dcmotor'"
        )
    trn = mujoco.mjtTrn
    if model.actuator_trntype[i] not in (int(trn.mjTRN_JOINT), int(trn.mjTRN_JOINTINPARENT)):
        raise InvalidValue(f"actuator {label!r} does not act on a joint; expected a hinge or a slide")
    joint = int(model.actuator_trnid[i, 0])
    if model.jnt_type[joint] not in (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)):
        raise InvalidValue(f"actuator {label!r} acts on a ball or free joint; expected a hinge or a slide")
    ctrl = ctrl_place(model, i)
    n_ctrl = int(model.actuator_ctrlnum[i]) if hasattr(model, "actuator_ctrlnum") else 1
    act, n_act = int(model.actuator_actadr[i]), int(model.actuator_actnum[i])
    return Place(
        actuator=i,
        joint=joint,
        dof=int(model.jnt_dofadr[joint]),
        qpos=int(model.jnt_qposadr[joint]),
        out=int(model.actuator_outadr[i]) if hasattr(model, "actuator_outadr") else i,
        ctrl=slice(ctrl, ctrl + n_ctrl),
        act=slice(act, act + n_act) if n_act else slice(0, 0),
    )


def from_model(model: Any, actuator: int | str) -> DcMotor:
    """The dcmotor of a live model. What its class cannot hold (two-sided force ranges,
    negative friction) is refused."""
    at = place(model, actuator)
    i = at.actuator
    R, K, alpha, T_0, kp, ki, kd, v_max, mode = (float(x) for x in model.actuator_gainprm[i][:9])
    t_e, rate, R_T, C, T_a, sigma_0, sigma_1, slew, most = (float(x) for x in model.actuator_dynprm[i][:9])
    A, N_p, phi, tau_c, tau_s, w_s = (float(x) for x in model.actuator_biasprm[i][:6])
    if K == 0:
        raise InvalidValue(
            "the motor constant is 0: this dcmotor is friction without a winding (input 'none', from 4.0 on);"
            " expected a motor"
        )
    torque = None
    if model.actuator_forcelimited[i]:
        low, torque = (float(x) for x in model.actuator_forcerange[i])
        if low != -torque:
            given = f"forcerange is {low:g} {torque:g}"
            raise InvalidValue(f"{given}; expected the same limit in both directions")
    heat = {"resistance": R_T, "capacitance": C, "ambient": T_a, "reference": T_0}
    motor = Motor(
        resistance=R,
        torque_constant=K,
        rotor_inertia=float(model.actuator_armature[i]),
        inductance=t_e * R if t_e > 0 else None,
        limits=motor_limits(torque, rate if rate > 0 else None),
        thermal=Thermal(**heat, resistance_coefficient=alpha) if R_T > 0 else None,
        cogging=cogging(A, N_p, phi),
    )
    limited, both = model.actuator_ctrllimited[at.ctrl], model.actuator_ctrlrange[at.ctrl]
    ranges = tuple(
        (float(low), float(high)) if on else None for on, (low, high) in zip(limited, both, strict=True)
    )
    controller = Controller(
        inputs=inputs_of(model, i, mode),
        kp=kp,
        ki=max(ki, 0.0),
        kd=kd,
        slew=max(slew, 0.0),
        integral_limit=max(most, 0.0),
        voltage_limit=max(v_max, 0.0),
        ctrlrange=ranges if any(r is not None for r in ranges) else (),
    )
    return DcMotor(
        motor=motor,
        friction=friction(drag(model, i), sigma_0, sigma_1, tau_c, tau_s, w_s),
        gear=float(model.actuator_gear[at.out, 0]),
        controller=controller,
    )


def drag(model: Any, k: int, owner: str = "actuator") -> dict[str, Any]:
    """The three terms of damping of an actuator, or of a joint.

    Args:
        model: compiled.
        k: index of the actuator, or of the joint's degree of freedom.
        owner: "actuator" or "dof".

    Returns:
        The terms by field of `Viscous`; None where one is 0.
    """
    poly = getattr(model, f"{owner}_dampingpoly", None)  # older versions have none on joints
    B_2, B_3 = (0.0, 0.0) if poly is None else (float(x) for x in poly[k][:2])
    linear = float(getattr(model, f"{owner}_damping")[k])
    return {"viscous": linear, "viscous_quadratic": B_2 or None, "viscous_cubic": B_3 or None}


def inputs_of(model: Any, i: int, mode: float = 0.0) -> str | tuple[str, ...]:
    """What the ctrl of a dcmotor or pid asks for.

    Args:
        model: compiled.
        i: index of the actuator.
        mode: which input it is, in era 1.

    Returns:
        Words of its era.
    """
    if installed_era() == 1:
        return ERA_1_INPUTS[int(mode)]
    bits = int(model.actuator_ctrlspec[i])
    return tuple(name for k, name in enumerate(ERA_2_INPUTS) if bits & (1 << k))


def installed_era() -> int:
    """The era of the installed MuJoCo: 1 or 2; see `Rules.era`."""
    return rules(load_mujoco().__version__).era


def engine_of(model: Any) -> Engine:
    """Version, integrator and time step of a live model."""
    mujoco = load_mujoco()
    names = {int(getattr(mujoco.mjtIntegrator, f"mjINT_{name.upper()}")): name for name in INTEGRATORS}
    if (chosen := int(model.opt.integrator)) not in names:
        raise InvalidValue(f"the model's integrator is number {chosen}; expected {', '.join(INTEGRATORS)}")
    integrator, h = names[chosen], float(model.opt.timestep)
    return Engine(version=mujoco.__version__, integrator=integrator, timestep=h)


class Arrays(NamedTuple):
    """The numbers of one dcmotor as the engine stores them."""

    gainprm: np.ndarray
    dynprm: np.ndarray
    biasprm: np.ndarray
    forcerange: np.ndarray
    forcelimited: bool
    damping: float
    dampingpoly: np.ndarray
    armature: float
    gear: float
    ctrlrange: np.ndarray
    """A row for each input."""
    ctrllimited: np.ndarray
    ctrlspec: int
    """Bits of era 2's inputs; 0 in era 1."""


def arrays(dcmotor: DcMotor) -> Arrays:
    """The compiled arrays of a dcmotor."""
    motor, friction, control = dcmotor.motor, dcmotor.friction, dcmotor.controller
    limits, heat, cog, lugre = motor.limits or Limits(), dcmotor.heat, motor.cogging, dcmotor.lugre
    t_e = 0.0 if motor.inductance is None else motor.inductance / motor.resistance
    mode, bits = 0, 0
    if control.era == 1:
        mode = ERA_1_INPUTS.index(control.words[0])
    else:
        bits = sum(1 << ERA_2_INPUTS.index(name) for name in control.words) or NONE_BIT
    gains = [control.kp, control.ki, control.kd, control.voltage_limit]
    gain = [motor.resistance, motor.torque_constant, 0.0, 0.0, *gains, mode]
    dyn = [t_e, limits.current_rate, 0.0, 0.0, 0.0, 0.0, 0.0, control.slew, control.integral_limit]
    bias = [0.0] * 6
    if heat is not None:
        gain[2:4] = heat.resistance_coefficient, heat.reference
        dyn[2:5] = heat.resistance, heat.capacitance, heat.ambient
    if cog is not None:
        bias[:3] = cog.amplitude, cog.periods, cog.phase
    if lugre is not None:
        dyn[5:7] = lugre.stiffness, lugre.damping
        bias[3:] = lugre.coulomb, lugre.static, lugre.stribeck_velocity
    torque, ranges = limits.torque or 0.0, control.ctrlrange or (None,) * control.n_inputs
    return Arrays(
        gainprm=_row(gain),
        dynprm=_row(dyn),
        biasprm=_row(bias),
        forcerange=np.array([-torque, torque]),
        forcelimited=limits.torque is not None,
        damping=friction.viscous,
        dampingpoly=_row([friction.viscous_quadratic, friction.viscous_cubic]),
        armature=motor.rotor_inertia,
        gear=dcmotor.gear,
        ctrlrange=np.array([r or (0.0, 0.0) for r in ranges]).reshape(-1, 2),
        ctrllimited=np.array([r is not None for r in ranges], dtype=bool),
        ctrlspec=bits,
    )


def _row(values: list[Any]) -> np.ndarray:
    return np.array([0.0 if v is None else v for v in values], dtype=float)


def write_to(model: Any, actuator: int | str, dcmotor: DcMotor) -> None:
    """Change a live model's dcmotor. Refused where it would add or remove an activation or an input, which
    are fixed at compile time.

    Where armature or gear change, the engine's constants are computed again (`mj_setConst`): for joints that
    move alone it takes the inertia from there.
    """
    at, new = place(model, actuator), arrays(dcmotor)
    i, era, control = at.actuator, installed_era(), dcmotor.controller
    reflected = float(model.actuator_armature[i] * model.actuator_gear[at.out, 0] ** 2)
    if control.era != era:
        raise InvalidValue(
            f"the controller's inputs are {control.inputs!r}, of era {control.era}; the installed MuJoCo is"
            f" of era {era}: convert them with gains_to_era{era}"
        )
    for name, (words, array, k) in SWITCHES.items():
        old, value = float(getattr(model, f"actuator_{array}")[i, k]), float(getattr(new, array)[k])
        if (old > 0) != (value > 0):
            verb = "add" if value > 0 else "remove"
            raise InvalidValue(
                f"{words}, would go from {old:g} to {value:g} and {verb} the activation {name!r}; "
                "the activations are fixed when a model is compiled: change the file and compile it again"
            )
    if era == 2 and int(model.actuator_ctrlspec[i]) != new.ctrlspec:
        raise InvalidValue(
            f"the inputs would change from {inputs_of(model, i)!r} to {control.inputs!r}; "
            "they are fixed when a model is compiled: change the file and compile it again"
        )
    model.actuator_gainprm[i, :9] = new.gainprm
    model.actuator_dynprm[i, :9] = new.dynprm
    model.actuator_biasprm[i, :6] = new.biasprm
    model.actuator_forcerange[i], model.actuator_forcelimited[i] = new.forcerange, new.forcelimited
    model.actuator_damping[i], model.actuator_dampingpoly[i, :2] = new.damping, new.dampingpoly
    model.actuator_armature[i], model.actuator_gear[at.out, 0] = new.armature, new.gear
    model.actuator_ctrlrange[at.ctrl], model.actuator_ctrllimited[at.ctrl] = new.ctrlrange, new.ctrllimited
    if new.armature * new.gear**2 != reflected:
        mujoco = load_mujoco()
        mujoco.mj_setConst(model, mujoco.MjData(model))


def read_state(model: Any, data: Any, actuator: int | str) -> dict[str, float]:
    """Position, velocity and activations of a live actuator, by name and in the engine's order."""
    at = place(model, actuator)
    on = {a: getattr(model, f"actuator_{a}")[at.actuator] for a in ("gainprm", "dynprm")}
    names = [name for name, (_, array, k) in SWITCHES.items() if on[array][k] > 0]
    activations = {name: float(v) for name, v in zip(names, data.act[at.act], strict=True)}
    return {"position": float(data.qpos[at.qpos]), "velocity": float(data.qvel[at.dof]), **activations}


def write_state(model: Any, data: Any, actuator: int | str, state: dict[str, float]) -> None:
    """Put a state into a live simulation; names that are not given stay as they are."""
    at, now = place(model, actuator), read_state(model, data, actuator)
    for name in state:
        if name not in now:
            raise UnknownName("state", name, now)
    after = {**now, **state}
    data.qpos[at.qpos], data.qvel[at.dof] = after["position"], after["velocity"]
    data.act[at.act] = list(after.values())[2:]


class DrivenJoint(NamedTuple):
    """The hinge or slide that an actuator moves."""

    joint: int
    dof: int
    name: str
    slides: bool

    @property
    def motion(self) -> str:
        """As an `Actuator` calls it."""
        return "linear" if self.slides else "rotary"


class Plain(NamedTuple):
    """Torque at the joint: clip(gain u - stiffness q - derivative w, +-limit) - damping w - frictionloss."""

    kind: str
    """position, velocity, motor or general."""
    gear: float
    """From its own attributes to the joint."""
    gain: float
    """N m per unit of ctrl; negative where the gear is."""
    stiffness: float
    """N m/rad."""
    derivative: float
    """Inside the limit [N m s/rad]."""
    limit: float | None
    """N m; None: nothing limits it."""
    damping: float
    """Behind the limit, of actuator and joint [N m s/rad]."""
    armature: float
    """Of actuator and joint [kg m^2]."""
    frictionloss: float
    """Of the joint [N m]."""
    ctrlrange: tuple[float, float] | None


def ctrl_place(model: Any, i: int) -> int:
    """Where an actuator's inputs begin in ctrl; from MuJoCo 4 on one may have several."""
    at = getattr(model, "actuator_ctrladr", None)
    return i if at is None else int(at[i])


def actuator_names(model: Any) -> list[str]:
    """Of every actuator, its index where it has no name."""
    mujoco = load_mujoco()
    kind = mujoco.mjtObj.mjOBJ_ACTUATOR
    return [mujoco.mj_id2name(model, kind, i) or str(i) for i in range(len(model.actuator_gaintype))]


def driven_joint(model: Any, i: int) -> DrivenJoint | str:
    """The joint of an actuator; in words what it acts on, where that is no hinge or slide."""
    at, words = _acts_on(model, i)
    return words if at is None else at


def driven_joints(model: Any) -> dict[int, DrivenJoint]:
    """The joint of every actuator that moves a hinge or slide."""
    on = {i: _acts_on(model, i)[0] for i in range(len(model.actuator_gaintype))}
    return {i: at for i, at in on.items() if at is not None}


def _acts_on(model: Any, i: int) -> tuple[DrivenJoint | None, str]:
    """The hinge or slide that an actuator moves, if it moves one; and in words what it acts on."""
    mujoco = load_mujoco()
    kinds = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
    if int(model.actuator_trntype[i]) not in kinds:
        return None, "(not a joint)"
    joint = int(model.actuator_trnid[i, 0])
    name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint) or str(joint)
    kind, slide = int(model.jnt_type[joint]), int(mujoco.mjtJoint.mjJNT_SLIDE)
    if kind not in (int(mujoco.mjtJoint.mjJNT_HINGE), slide):
        return None, f"{name} (ball or free)"
    return DrivenJoint(joint, int(model.jnt_dofadr[joint]), name, kind == slide), name


def kind_of(model: Any, i: int) -> str:
    """The element that an actuator could have been written as."""
    mujoco = load_mujoco()
    if i in dcmotors(model):
        return "dcmotor"
    gain, bias = model.actuator_gainprm[i], model.actuator_biasprm[i]
    affine = int(model.actuator_biastype[i]) == int(mujoco.mjtBias.mjBIAS_AFFINE)
    fixed = int(model.actuator_gaintype[i]) == int(mujoco.mjtGain.mjGAIN_FIXED)
    if not fixed:
        return "general"
    if not affine:
        return "motor"
    if bias[1] == -gain[0] and bias[0] == 0:
        return "position"
    return "velocity" if bias[1] == 0 and bias[2] == -gain[0] else "general"


def plain(model: Any, i: int, at: DrivenJoint) -> Plain:
    """The law of an actuator that is no dcmotor.

    Args:
        model: compiled.
        i: index of the actuator.
        at: the joint that it moves.

    Returns:
        Its numbers at the joint.
    """
    mujoco = load_mujoco()
    out = int(model.actuator_outadr[i]) if hasattr(model, "actuator_outadr") else i
    ctrl = ctrl_place(model, i)
    g, joint, dof, kind = float(model.actuator_gear[out, 0]), at.joint, at.dof, kind_of(model, i)
    gain, bias = float(model.actuator_gainprm[i][0]), model.actuator_biasprm[i]
    affine = int(model.actuator_biastype[i]) == int(mujoco.mjtBias.mjBIAS_AFFINE)
    own = {name: _of_actuator(model, i, name) * g * g for name in ("damping", "armature")}
    low, high = (float(u) for u in model.actuator_ctrlrange[ctrl])
    ctrlrange = (low, high) if model.actuator_ctrllimited[ctrl] else None
    limits = []
    if model.actuator_forcelimited[i]:
        limits.append(abs(g) * float(np.max(np.abs(model.actuator_forcerange[i]))))
    if model.jnt_actfrclimited[joint]:
        limits.append(float(np.max(np.abs(model.jnt_actfrcrange[joint]))))
    if kind == "motor" and ctrlrange is not None:
        limits.append(abs(g * gain) * max(abs(u) for u in ctrlrange))
    return Plain(
        kind=kind,
        gear=g,
        gain=g * gain,
        stiffness=-float(bias[1]) * g * g if affine else 0.0,
        derivative=-float(bias[2]) * g * g if affine else 0.0,
        limit=min(limits, default=None),
        damping=own["damping"] + float(model.dof_damping[dof]),
        armature=own["armature"] + float(model.dof_armature[dof]),
        frictionloss=float(model.dof_frictionloss[dof]),
        ctrlrange=ctrlrange,
    )


def _of_actuator(model: Any, i: int, name: str) -> float:
    """Damping and armature of an actuator's own, which older versions do not have."""
    values = getattr(model, f"actuator_{name}", None)
    return 0.0 if values is None else float(values[i])
