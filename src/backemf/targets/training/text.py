"""The text of a training file that is the same for every actuator:
the class around the emitted step, and simulators' own classes."""

CLASS = '''
RANDOMISATIONS = ("parameter_error", "unit_spread", "held_out")


def moved(kept, states, carried, u):
    """States after a step, what their sums rounded away, and the effort: one function for torch.compile."""
    *changes, effort = advance(kept, list(states.values()), u)
    after, left = {{}}, {{}}
    for (name, state), change in zip(states.items(), changes):
        total = change + carried[name] if name in SUMMED else change
        after[name] = state + total
        if name in SUMMED:  # what the addition rounded away belongs to the next step
            left[name] = total - (after[name] - state)
    return after, left, effort


class Actuator:
    """The torque of {what} on joints that a simulator moves (`compute`), or the motion of joints of its
    own (`step`).

    Everything is a tensor that broadcasts to (n_envs, n_joints). `inertia` is what each joint carries about
    its axis, without the rotor's share, which the simulator must add as `armature` [kg m^2]; better too small
    than too large.
    `randomise` names what is drawn: "parameter_error", "unit_spread", "held_out", or none.
    `compiled` gives the step to torch.compile at the first call; where that is not possible, a warning says
    so and every step runs eagerly.
    """

    def __init__(
        self,
        n_envs,
        n_joints,
        *,
        inertia,
        device="cpu",
        dtype=torch.float32,
        randomise=(),
        seed=0,
        compiled=False,
    ):
        for name in randomise:
            if name not in RANDOMISATIONS:
                raise ValueError(f"unknown randomisation {{name!r}}; valid: {{', '.join(RANDOMISATIONS)}}")
            if not {{"parameter_error": PARAMETER_ERROR, "unit_spread": UNIT_SPREAD, "held_out": HELD_OUT}}[
                name
            ]:
                raise ValueError(
                    f"this file holds no numbers for {{name!r}}; export a fit,"
                    " or give them in the tables above"
                )
        self.shape, self.device, self.dtype, self.randomise = (
            (n_envs, n_joints),
            torch.device(device),
            dtype,
            tuple(randomise),
        )
        self.compiled, self.function = compiled, None
        self.inertia = self.tensor(inertia)
        self.generator = torch.Generator(device=self.device).manual_seed(seed)
        self.parameters = {{
            path: torch.tensor(value, dtype=torch.float64, device=self.device)
            for path, value in PARAMETERS.items()
        }}
        self.offset = self.tensor(0.0)
        self.state = {{name: self.tensor(0.0) for name in STATES}}
        self.resample()
        self.reset()
        if not bool((self.inertia + self.armature > 0).all()):
            raise ValueError(
                "inertia is 0 for a joint without an armature; expected what the joint carries, in kg m^2,"
                " above 0"
            )

    def tensor(self, x):
        """Of this actuator's kind and size."""
        return torch.as_tensor(x, dtype=self.dtype, device=self.device).expand(self.shape)

    def chosen(self, env_ids):
        """True for the environments meant: all of them for None; (n_envs, 1)."""
        mask = torch.zeros(self.shape[0], 1, dtype=torch.bool, device=self.device)
        mask[slice(None) if env_ids is None else env_ids] = True
        return mask

    def reset(self, env_ids=None):
        """Back to rest, cold, in these environments. What follows the joint's position starts from the next
        one given."""
        chosen = self.chosen(env_ids)
        first = env_ids is None
        for name in STATES:
            start = (
                self.parameters[START[name]].to(self.dtype)
                if name in START
                else torch.zeros((), dtype=self.dtype, device=self.device)
            )
            self.state[name] = torch.where(chosen, start, self.state[name])
        nothing = self.tensor(0.0)
        self.carried = {{
            name: nothing if first else torch.where(chosen, nothing, self.carried[name]) for name in SUMMED
        }}
        self.fresh = chosen if first else chosen | self.fresh
        self.any_fresh = True
        if first:
            self.before, self.line = None, None

    def resample(self, env_ids=None):
        """Draw these environments' parameters anew: errors are added, spread multiplies,
        and nothing leaves its range."""
        n, m = self.shape
        chosen, drawn = self.chosen(env_ids), {{}}
        kind = {{"dtype": torch.float64, "device": self.device, "generator": self.generator}}
        # one draw an environment: it is the same unknown truth for all its joints
        if "parameter_error" in self.randomise:
            z = (
                torch.randn(n, 1, len(PARAMETER_ERROR), **kind)
                @ torch.tensor(CHOLESKY, dtype=torch.float64, device=self.device).T
            )
            for i, (path, error) in enumerate(PARAMETER_ERROR.items()):
                drawn[path] = (PARAMETERS[path] + error * z[..., i]).expand(n, m).clamp(*RANGES[path])
        if "unit_spread" in self.randomise:  # one draw a joint: each is another piece from the same box
            for paths, share in UNIT_SPREAD.items():
                factor = torch.exp(share * torch.randn(n, m, **kind))
                for path in paths:
                    drawn[path] = factor * drawn.get(path, PARAMETERS[path])
        for path, x in drawn.items():
            self.parameters[path] = torch.where(chosen, x.clamp(*RANGES[path]), self.parameters[path])
        for low, high in ORDERED:
            self.parameters[high] = torch.maximum(self.parameters[low], self.parameters[high])
        if "held_out" in self.randomise:  # an error of the target that stays: one draw a joint
            self.offset = torch.where(
                chosen, (torch.randn(n, m, **kind) * HELD_OUT).to(self.dtype), self.offset
            )
        self.forget()

    def forget(self):
        """Call this after changing `parameters`: terms made of them are kept between steps."""
        self.kept, self.kept_for, self.length, self.length_for = None, None, 0, None

    @property
    def armature(self):
        """Inertia that the simulator must add to each joint [kg m^2]."""
        h = torch.ones((), dtype=torch.float64, device=self.device)
        return self.tensor(prepare_armature([self.parameters[path] for path in PARAMETERS], h, self.dtype)[1])

    def terms(self, dt):
        """What parameters and step length decide, in 64 bits and then rounded once;
        kept while neither changes."""
        if self.kept is None or self.kept_for != dt:
            p, h = (
                [self.parameters[path] for path in PARAMETERS],
                torch.tensor(dt, dtype=torch.float64, device=self.device),
            )
            found = prepare(p, h, self.dtype), prepare_load(p, h, self.dtype)
            if any(x.requires_grad for x in p):
                return found
            self.kept, self.kept_for = found, dt
        return self.kept

{compute}
        q, v = self.tensor(position), self.tensor(velocity)
        J, given = self.tensor(self.inertia if inertia is None else inertia), [{given}]
        self.settle(q, given)
        if load is not None:
            load = self.tensor(load)
        elif self.before is None:
            load = self.tensor(0.0)
        else:  # what must have acted since the last call, for the joint to move as it did
            load = load_seen(self.terms(self.before[2])[1], [J], self.before[0], v, self.before[1])
            load = torch.where(self.fresh, 0.0, load) if self.any_fresh else load
        self.state["position"], self.state["velocity"] = q, v
        effort = self.moved([J, load, *self.delayed(given, dt)], dt, own=False)
        self.before, self.any_fresh = (v, effort, dt), False
        self.fresh = torch.zeros_like(self.fresh)
        return effort

{step}
        given = [{given}]
        self.settle(self.state["position"], given)
        self.moved([self.inertia, self.tensor(load), *self.delayed(given, dt)], dt, own=True)
        self.fresh, self.any_fresh = torch.zeros_like(self.fresh), False
        return self.state["position"], self.state["velocity"]

    def settle(self, position, given):
        """Where it was reset: what follows the position begins there, and old commands are the first new
        one."""
        if not self.any_fresh:
            return
        for name in FOLLOWS:
            self.state[name] = torch.where(self.fresh, position, self.state[name])
        for name, limits in ASKED.items():
            first = given[0]
            for path, bound in zip(limits, (torch.maximum, torch.minimum)):
                first = first if path is None else bound(first, self.parameters[path].to(self.dtype))
            self.state[name] = torch.where(self.fresh, first, self.state[name])
        if self.line is not None:
            self.line = torch.where(self.fresh, torch.stack(given), self.line)

    def moved(self, u, dt, own):
        """Advance the states, all or the hidden ones; give the effort."""
        after, left, effort = self.advanced(self.terms(dt)[0], dict(self.state), dict(self.carried), u)
        foreign = () if own else ("position", "velocity")
        self.state.update({{name: x for name, x in after.items() if name not in foreign}})
        self.carried.update({{name: x for name, x in left.items() if name not in foreign}})
        return effort.expand(self.shape)

    def advanced(self, kept, states, carried, u):
        if self.compiled:
            try:
                self.function = self.function or torch.compile(moved, dynamic=False)
                # laid out alike at every call, or it would be compiled again
                states, carried = (
                    {{name: x.contiguous() for name, x in some.items()}} for some in (states, carried)
                )
                return self.function(kept, states, carried, [x.contiguous() for x in u])
            except Exception as error:  # no compiler, or one that torch cannot use
                self.compiled = False
                warnings.warn(
                    f"torch.compile is not possible here ({{type(error).__name__}}: {{str(error)[:200]}});"
                    " every step runs eagerly, some ten times slower on a GPU",
                    stacklevel=4,
                )
        return moved(kept, states, carried, u)

    def delayed(self, given, dt):
        """The command as it arrives: `drive.delay` late, mixed where it changes inside a step.
        Steps of one length are assumed."""
        if DELAY is None or not given:
            return given
        lag = self.parameters[DELAY] / dt
        if self.length_for != dt:  # seldom, because it waits for the device
            self.length, self.length_for = int(lag.max()) + 2, dt
        length, now = self.length, torch.stack(given)[None]
        line = now.expand(length, *now.shape[1:]) if self.line is None else torch.cat([now, self.line])
        if len(line) < length:
            line = torch.cat([line, line[-1:].expand(length - len(line), *line.shape[1:])])
        self.line = line[:length]
        whole = torch.floor(lag + 1e-9)
        part = (lag - whole).clamp(min=0.0).to(self.dtype)
        at = whole.long().expand(self.shape).expand(1, len(given), *self.shape)
        late, earlier = (torch.gather(self.line, 0, at + k)[0] for k in (0, 1))
        return list((1.0 - part) * late + part * earlier)

    def detach(self):
        """Cut the gradient's way back: call it between the windows that are differentiated."""
        self.state = {{name: x.detach() for name, x in self.state.items()}}
        self.carried = {{name: x.detach() for name, x in self.carried.items()}}
        self.before = (
            None
            if self.before is None
            else (self.before[0].detach(), self.before[1].detach(), self.before[2])
        )
        self.line = None if self.line is None else self.line.detach()

    def save(self):
        """Everything that a step changes; `restore` takes it back."""
        return dict(self.state), dict(self.carried), self.before, self.line, self.fresh, self.any_fresh

    def restore(self, saved):
        state, carried, self.before, self.line, self.fresh, self.any_fresh = saved
        self.state, self.carried = dict(state), dict(carried)
'''

COMPUTE = '''    def compute(self, {asked}):
        """What was asked, and the joint's position and velocity now, become the torque on it over the next dt
        seconds.

        `load` is every other torque on the joint; without it, it is taken from how the joint moved since the
        last call.
        """'''
STEP = '''    def step(self, {asked}):
        """Move joints of its own by dt seconds, against a load; gives their position and velocity."""'''

# The imports of a flavour stand where it begins (noqa: E402), so that the part above is the plain file
# unchanged.
ISAACLAB = '''

from dataclasses import MISSING  # noqa: E402

from isaaclab.actuators import ActuatorBase, ActuatorBaseCfg  # noqa: E402
from isaaclab.utils import configclass  # noqa: E402


class {name}Actuator(ActuatorBase):
    """The same for Isaac Lab, as an explicit actuator; the file's friction is the joint's only one."""

    def __init__(self, cfg, *args, **kwargs):
        super().__init__(cfg, *args, **kwargs)
        settings = {{"device": self._device, "randomise": cfg.randomise, "seed": cfg.seed}}
        self.model = Actuator(self._num_envs, self.num_joints, inertia=cfg.inertia, **settings)

    def reset(self, env_ids):
        self.model.reset(env_ids)

    def compute(self, control_action, joint_pos, joint_vel):
        effort = self.model.compute({isaaclab}position=joint_pos, velocity=joint_vel, dt=self.cfg.dt)
        self.computed_effort = self.applied_effort = effort
        control_action.joint_efforts, control_action.joint_positions, control_action.joint_velocities = (
            effort,
            None,
            None,
        )
        return control_action


@configclass
class {name}ActuatorCfg(ActuatorBaseCfg):
    class_type: type = {name}Actuator
    stiffness: float = 0.0
    damping: float = 0.0
    armature: float = {armature}
    friction: float = 0.0
    dynamic_friction: float = 0.0
    viscous_friction: float = 0.0
    dt: float = {timestep}
    """The simulation's own time step [s]."""
    inertia: float = MISSING
    """Of what the joint carries [kg m^2]."""
    randomise: tuple = ()
    seed: int = 0
'''

MJLAB = '''

from dataclasses import dataclass  # noqa: E402

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
        cfg, self.timestep, self.saved = self.cfg, float(mj_model.opt.timestep), None
        self.model = Actuator(
            data.nworld,
            len(self.target_names),
            inertia=cfg.inertia,
            device=device,
            randomise=cfg.randomise,
            seed=cfg.seed,
        )

    def compute(self, cmd):
        if self.saved is not None:  # asked again before the physics moved, as after a reset
            self.model.restore(self.saved)
        self.saved = self.model.save()
        return self.model.compute({mjlab}position=cmd.pos, velocity=cmd.vel, dt=self.timestep)

    def update(self, dt):
        self.saved = None

    def reset(self, env_ids=None):
        super().reset(env_ids)
        if self.saved is not None:
            self.model.restore(self.saved)
            self.saved = None
        self.model.reset(env_ids)


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
