"""Simulators' own classes around a training file for Warp, as text.

Their imports stand where they begin (noqa: E402), so that the part above is the plain file unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

MJLAB = '''

from dataclasses import dataclass  # noqa: E402

import torch  # noqa: E402
from mjlab.actuator import actuator as mjlab_actuator  # noqa: E402
from mjlab.utils.spec import create_motor_actuator  # noqa: E402


class {name}Actuator(mjlab_actuator.Actuator):
    """The same for mjlab, as a torque motor; the file's friction is the joint's only one."""

    def edit_spec(self, spec, target_names):
        cfg = self.cfg
        joint = {{
            "armature": cfg.armature,
            "frictionloss": cfg.frictionloss,
            "viscous_damping": cfg.viscous_damping,
        }}
        for name in target_names:
            made = create_motor_actuator(
                spec, name, effort_limit=float("inf"), transmission_type=cfg.transmission_type, **joint
            )
            self._mjs_actuators.append(made)

    def initialize(self, mj_model, model, data, device):
        super().initialize(mj_model, model, data, device)
        cfg = self.cfg
        self.model = Actuator(
            data.nworld,
            len(self.target_names),
            timestep=float(mj_model.opt.timestep),
            inertia=cfg.inertia,
            randomise=cfg.randomise,
            seed=cfg.seed,
            device=str(device),
        )
        self.pending, self.waiting = wp.clone(self.model.memory), False
        self.effort = wp.to_torch(self.model.effort)

    def compute(self, cmd):
        given = [wp.from_torch(x) for x in (cmd.pos, cmd.vel{given})]
        if self.model.device.is_cuda:
            with wp.ScopedStream(wp.stream_from_torch(torch.cuda.current_stream(self.effort.device))):
                self.model.compute(*given, pending=self.pending)
        else:
            self.model.compute(*given, pending=self.pending)
        self.waiting = True  # until the physics has moved: asked again before, nothing has happened
        return self.effort

    def update(self, dt):
        if self.waiting:
            self.model.memory, self.pending, self.waiting = self.pending, self.model.memory, False

    def reset(self, env_ids=None):
        super().reset(env_ids)
        self.waiting = False
        if env_ids is None or isinstance(env_ids, slice):
            chosen = None if env_ids is None else range(self.model.shape[0])[env_ids]
        else:
            chosen = wp.from_torch(torch.as_tensor(env_ids, device=self.effort.device).to(torch.int32))
        self.model.reset(chosen)


@dataclass(kw_only=True)
class {name}ActuatorCfg(mjlab_actuator.ActuatorCfg):
    inertia: float
    """Of what the joint carries [kg m^2]."""
    randomise: tuple[str, ...] = ()
    seed: int = 0
    armature: float | None = {armature}
    frictionloss: float | None = 0.0
    viscous_damping: float | None = 0.0

    def build(self, entity, target_ids, target_names):
        return {name}Actuator(self, entity, target_ids, target_names)
'''

NEWTON = '''

from dataclasses import dataclass  # noqa: E402
from typing import Any  # noqa: E402

from newton.actuators import DriveBase  # noqa: E402


def _drive_kernel():
    """One launch for all of a drive's joints, wherever they stand in Newton's arrays."""
    real, (_, _, _, _, moved) = wp.float32, launched(wp.float32)
    many, one, at = wp.array2d(dtype=real), wp.array(dtype=real), wp.array(dtype=wp.uint32)

    @wp.kernel(enable_backward=False, module="unique")
    def drive(
        kept: many, each: int, old: many, memory: many, length: int, inertia: one, offset: one,
        positions: one, velocities: one, target_pos: one, target_vel: one, feedforward: one,
        pos_indices: at, vel_indices: at, target_pos_indices: at, target_vel_indices: at, forces: one,
    ):
        c = wp.tid()
        for i in range(memory.shape[0]):
            memory[i, c] = old[i, c]
{loads}
        q, v = positions[pos_indices[c]], velocities[vel_indices[c]]
        forces[c] = moved(
            c, c * each, kept, memory, length, 0, inertia[c], q, v, 0, real(0.0){given}
        )

    return drive


class {name}Drive(DriveBase):
    """The same for Newton. The effort is the mean of a step that the actuator takes with the joint, so there
    is no implicit mode of Newton's around it."""

    SHARED_PARAMS = {{"timestep", "joints_per_world", "randomise", "seed"}}

    @dataclass
    class State(DriveBase.State):
        memory: Any
        drive: Any

        def reset(self, mask=None):
            self.drive.model.restart(self.memory, mask, 1)

        def assign(self, other):
            wp.copy(self.memory, other.memory)

    @classmethod
    def resolve_arguments(cls, args):
        for name in ("inertia", "timestep"):
            if not float(args.get(name, 0.0)) > 0.0:
                raise ValueError(f"{{name}} is {{args.get(name)!r}}; expected a number above 0")
        given = {{"inertia": float(args["inertia"]), "timestep": float(args["timestep"])}}
        joints = int(args.get("joints_per_world", 1))
        drawn = {{"randomise": tuple(args.get("randomise", ())), "seed": int(args.get("seed", 0))}}
        return {{**given, "joints_per_world": joints, **drawn}}

    def __init__(self, inertia, timestep, joints_per_world=1, randomise=(), seed=0):
        self.inertia, self.timestep, self.joints = inertia, timestep, joints_per_world
        self.settings = {{"randomise": randomise, "seed": seed}}

    def finalize(self, device, num_actuators):
        shape = num_actuators // self.joints, self.joints
        if shape[0] * shape[1] != num_actuators:
            raise ValueError(f"{{num_actuators}} joints are no multiple of {{self.joints}} in every world")
        inertia = self.inertia.numpy().reshape(shape)
        settings = {{"timestep": self.timestep, "inertia": inertia, "device": device, **self.settings}}
        self.model = Actuator(*shape, **settings)
        self.kernel, self.pending = _drive_kernel(), wp.clone(self.model.memory)
        self.offset = None if self.model.offset is None else self.model.offset.flatten()

    def is_stateful(self):
        return True

    def is_graphable(self):
        return True

    def state(self, num_actuators, device):
        return self.State(memory=wp.clone(self.model.memory), drive=self)

    def compute(
        self, positions, velocities, target_pos, target_vel, feedforward, pos_indices, vel_indices,
        target_pos_indices, target_vel_indices, forces, state, dt, device=None, *, custom_inputs=None,
    ):
        model = self.model
        if abs(dt - model.timestep) > 1e-6 * model.timestep:
            raise ValueError(f"dt is {{dt}} s; this drive was made for a timestep of {{model.timestep}} s")
        mine = [model.kept, model.each, state.memory, self.pending, model.length, self.inertia, self.offset]
        theirs = [positions, velocities, target_pos, target_vel, feedforward, pos_indices, vel_indices]
        inputs = [*mine, *theirs, target_pos_indices, target_vel_indices, forces]
        wp.launch(self.kernel, dim=model.n, inputs=inputs, device=model.device)

    def update_state(self, current_state, next_state):
        wp.copy(next_state.memory, self.pending)


def add_actuator(builder, joint, *, timestep, inertia, joints_per_world=1, randomise=(), seed=0):
    """Put this actuator onto a joint of a newton.ModelBuilder, by the joint's index, before finalize().

    `inertia` is what the joint carries [kg m^2]. Worlds follow one another, each with so many joints of this
    kind. Each step: control.joint_f.zero_(), then step(state, control, ...) of every model.actuators.
    """
    dof = builder.joint_qd_start[joint]
    builder.joint_armature[dof] = {armature}
    builder.joint_damping[dof] = builder.joint_friction[dof] = 0.0  # the file has them all
    builder.joint_target_ke[dof] = builder.joint_target_kd[dof] = 0.0  # the joint's own drive is off
    settings = {{"joints_per_world": joints_per_world, "randomise": randomise, "seed": seed}}
    builder.add_actuator(
        {name}Drive,
        index=dof,
        pos_index=builder.joint_q_start[joint],
        timestep=timestep,
        inertia=inertia,
        **settings,
    )
'''

MUJOCO_WARP = '''

from mujoco import mjtBias, mjtDyn, mjtGain, mjtIntegrator, mjtTrn  # noqa: E402


def add_actuator(spec, joint, name=None):
    """Put this actuator onto a joint of a mujoco.MjSpec: its memory becomes activations, so that a reset, a
    keyframe or a copy of the state has it too. Give the spec its timestep before."""
    of = spec.joint(joint)
    of.armature, of.frictionloss = {armature}, 0.0
    of.damping = 0.0 * of.damping  # a number, or several, by version
    return spec.add_actuator(
        name=name or joint,
        target=joint,
        trntype=mjtTrn.mjTRN_JOINT,
        dyntype=mjtDyn.mjDYN_USER,
        gaintype=mjtGain.mjGAIN_USER,
        biastype=mjtBias.mjBIAS_USER,
        actdim=rows(spec.option.timestep),
    )


def _callback_kernel():
    """One launch for all joints of this kind: reads activations, writes their rates and the forces."""
    real, (_, _, _, begin, moved) = wp.float32, launched(wp.float32)
    many, at = wp.array2d(dtype=real), wp.array2d(dtype=wp.int32)

    @wp.kernel(enable_backward=False, module="unique")
    def act(
        kept: many, each: int, memory: many, length: int, inertia: many, offset: many, places: at, h: real,
        qpos: many, qvel: many, ctrl: many, {arrays}act: many, act_dot: many, force: many,
    ):
        e, j = wp.tid()
        c = e * inertia.shape[1] + j
        first = places[3, j]
        for i in range(memory.shape[0]):
            memory[i, c] = act[e, first + i]
        if memory[PLACE, c] < real(0.5):
            begin(c, c * each, kept, memory)
{loads}
        force[e, places[4, j]] = moved(
            c, c * each, kept, memory, length, 0, inertia[e, j], qpos[e, places[0, j]], qvel[e, places[1, j]],
            0, real(0.0){given}
        )
        for i in range(memory.shape[0]):
            act_dot[e, first + i] = (memory[i, c] - act[e, first + i]) / h

    return act


class {name}Callback:
    """The same for MuJoCo Warp: `Model.callback.act_dyn` takes the actuators' step. `ctrl` is the first
    target; the others, if there are any, are arrays in `targets`."""

    def __init__(self, mj_model, model, data, *, joints, inertia, randomise=(), seed=0):
        if mj_model.opt.integrator == mjtIntegrator.mjINT_RK4:
            raise ValueError("RK4 asks for a step's torque four times; choose Euler or implicitfast")
        timestep = float(mj_model.opt.timestep)
        found = [self.place(mj_model, name, rows(timestep)) for name in joints]
        settings = {{"timestep": timestep, "inertia": inertia, "randomise": randomise, "seed": seed}}
        self.model = Actuator(data.nworld, len(found), device=data.qpos.device, **settings)
        self.places = wp.array(np.array(found, dtype=np.int32).T.copy(), device=data.qpos.device)
        self.targets = {{name: self.model.array(0.0) for name in TARGETS[1:]}}
        self.kernel, self.before = _callback_kernel(), model.callback.act_dyn
        model.callback.act_dyn = self
        # MuJoCo Warp 4.0 leaves activations of a user's type as they are, whatever their rates say
        types = model.actuator_dyntype.numpy()
        types[[place[4] for place in found]] = int(mjtDyn.mjDYN_INTEGRATOR)
        model.actuator_dyntype.assign(types)

    def place(self, mj_model, joint, actdim):
        """(qpos, dof, ctrl, activation, actuator) of a joint."""
        of = mj_model.joint(joint)
        for i in np.flatnonzero(mj_model.actuator_trnid[:, 0] == of.id):
            if mj_model.actuator_dyntype[i] == mjtDyn.mjDYN_USER and mj_model.actuator_actnum[i] == actdim:
                ctrl = getattr(mj_model, "actuator_ctrladr", range(mj_model.nu))[i]
                return of.qposadr[0], of.dofadr[0], ctrl, mj_model.actuator_actadr[i], i
        raise ValueError(
            f"the joint {{joint!r}} has no user actuator with {{actdim}} activations; expected what"
            " `add_actuator` of this file made, at the model's timestep"
        )

    def __call__(self, model, data):
        if self.before is not None:
            self.before(model, data)
        own = self.model
        mine = [own.kept, own.each, own.memory, own.length, own.inertia, own.offset, self.places]
        theirs = [own.timestep, data.qpos, data.qvel, data.ctrl, *self.targets.values(), data.act]
        outputs = [data.act_dot, data.actuator_force]
        wp.launch(self.kernel, dim=own.shape, inputs=[*mine, *theirs, *outputs], device=own.device)
'''

OFFERS: Mapping[str, Mapping[str, str]] = {
    "mjlab": {
        "position_target": "cmd.position_target",
        "velocity_target": "cmd.velocity_target",
        "torque_target": "cmd.effort_target",
    },
    "newton": {
        "position_target": "target_pos[target_pos_indices[c]]",
        "velocity_target": "target_vel[target_vel_indices[c]]",
    },
}
"""What the simulators call what is asked. Newton's feedforward is whatever else a drive follows, and
MuJoCo Warp's ctrl the first target."""
FEEDFORWARD = "torque_target", "voltage_target", "current_target"
THEIRS: Mapping[str, Sequence[str]] = {
    "mjlab": tuple(OFFERS["mjlab"]),
    "newton": (*OFFERS["newton"], *FEEDFORWARD),
    "mujoco-warp": (),
}
"""Targets that a simulator has a place for; any, where there are none here."""


def _shift(name: str, i: int, offset: str, shifted: bool) -> list[str]:
    """A constant error of the position target, where one is drawn."""
    if not shifted or name != "position_target":
        return []
    return ["        if offset:", f"            t{i} = t{i} + {offset}"]


def _given(n: int) -> str:
    return "".join(f", t{i}" for i in range(n))


def mjlab(name: str, targets: Sequence[str], armature: float, shifted: bool) -> str:
    given = "".join(f", {OFFERS['mjlab'][target]}" for target in targets)
    return MJLAB.format(name=name, armature=armature, given=given)


def newton(name: str, targets: Sequence[str], armature: float, shifted: bool) -> str:
    lines = []
    for i, target in enumerate(targets):
        if target in OFFERS["newton"]:
            lines.append(f"        t{i} = {OFFERS['newton'][target]}")
        else:
            lines += [f"        t{i} = real(0.0)", "        if feedforward:"]
            lines.append(f"            t{i} = feedforward[target_vel_indices[c]]")
        lines += _shift(target, i, "offset[c]", shifted)
    given = _given(len(targets))
    return NEWTON.format(name=name, armature=armature, loads="\n".join(lines), given=given)


def mujoco_warp(name: str, targets: Sequence[str], armature: float, shifted: bool) -> str:
    lines = []
    for i, target in enumerate(targets):
        lines.append(f"        t{i} = " + (f"target{i}[e, j]" if i else "ctrl[e, places[2, j]]"))
        lines += _shift(target, i, "offset[e, j]", shifted)
    arrays = "".join(f"target{i}: many, " for i in range(1, len(targets)))
    numbers = {"name": name, "armature": armature, "loads": "\n".join(lines)}
    return MUJOCO_WARP.format(**numbers, arrays=arrays, given=_given(len(targets)))


HOSTS: Mapping[str, Callable[[str, Sequence[str], float, bool], str]] = {
    "mjlab": mjlab,
    "newton": newton,
    "mujoco-warp": mujoco_warp,
}
