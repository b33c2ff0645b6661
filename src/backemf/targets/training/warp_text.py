"""The text of a training file for Warp that is the same for every actuator: the class around the emitted
kernels."""

LAUNCHED = '''
RANDOMISATIONS = ("parameter_error", "unit_spread", "held_out")
# Rows of an actuator's memory: the states, the last effort, where the delay line stands (0 after a reset),
# what the states' sums rounded away, then the delay line.
ACTED, PLACE, LINE = {acted}, {place}, {line}
# Rows of what parameters and time step decide, and the armature's among them.
KEPT, ARMATURE = {kept}, {armature}
_MADE = {{}}


def slots(timestep):
    """Commands that the delay line holds: room for a delay of six standard deviations above its value."""
    if DELAY is None or not TARGETS:
        return 0
    factor = float(np.exp(6.0 * sum(share for paths, share in UNIT_SPREAD.items() if DELAY in paths)))
    longest = factor * (PARAMETERS[DELAY] + 6.0 * PARAMETER_ERROR.get(DELAY, 0.0))
    return int(longest / timestep + 1e-9) + 2


def rows(timestep):
    """How many numbers an actuator remembers at this time step."""
    return LINE + slots(timestep) * len(TARGETS)


def launched(real):
    """(prepare, restart, compute): the kernels that are launched, for numbers of this kind, and the functions
    for a simulator's own (begin, moved)."""
    if real in _MADE:
        return _MADE[real]
    prepare, begin, moved = kernels(real)
    many = wp.array2d(dtype=real)

    @wp.kernel(enable_backward=False, module="unique")
    def restart(
        kept: many, each: int, memory: many, mask: wp.array(dtype=wp.bool),
        ids: wp.array(dtype=wp.int32), per: int,
    ):
        c = wp.tid()
        if ids:
            c = ids[c // per] * per + c % per
        if mask:
            if not mask[c // per]:
                return
        begin(c, c * each, kept, memory)

    @wp.kernel(enable_backward=False, module="unique")
    def compute(
        kept: many, each: int, old: many, memory: many, length: int, own: int, inertia: many, offset: many,
        position: many, velocity: many, load: many, {arrays}effort: many,
    ):
        e, j = wp.tid()
        c = e * inertia.shape[1] + j
        if own == 2:
            for i in range(memory.shape[0]):
                memory[i, c] = old[i, c]
        q = real(0.0)
        v = real(0.0)
        l = real(0.0)
        loaded = own % 2
        if position:
            q = position[e, j]
            v = velocity[e, j]
        if load:
            l = load[e, j]
            loaded = 1
{loads}
        effort[e, j] = moved(
            c, c * each, kept, memory, length, own % 2, inertia[e, j], q, v, loaded, l{given}
        )

    _MADE[real] = prepare, restart, compute, begin, moved
    return _MADE[real]
'''

LOADED = """        t{i} = real(0.0)
        if target{i}:
            t{i} = target{i}[e, j]"""
SHIFTED = """        if offset:
            t{i} = t{i} + offset[e, j]"""

CLASS = '''

class Actuator:
    """The torque of {what} on joints that a simulator moves (`compute`), or the motion of joints of its
    own (`step`).

    Arrays are Warp's, (n_environments, n_joints), of this dtype and on this device. `inertia` is what each
    joint carries about its axis [kg m^2], without the rotor's share, which the simulator must add as
    `armature`; better too small than too large. `randomise` names what is drawn: "parameter_error",
    "unit_spread", "held_out", or none. A call is one launch and allocates nothing, so it can be captured in
    a CUDA graph.
    """

    def __init__(
        self, n_environments, n_joints, *, timestep, inertia, randomise=(), seed=0, device=None,
        dtype=wp.float32,
    ):
        tables = {{"parameter_error": PARAMETER_ERROR, "unit_spread": UNIT_SPREAD, "held_out": HELD_OUT}}
        for name in randomise:
            if name not in RANDOMISATIONS:
                raise ValueError(f"unknown randomisation {{name!r}}; valid: {{', '.join(RANDOMISATIONS)}}")
            if not tables[name]:
                raise ValueError(
                    f"this file holds no numbers for {{name!r}}; export a fit,"
                    " or give them in the tables above"
                )
        if not timestep > 0.0:
            raise ValueError(f"timestep is {{timestep!r}}; expected seconds, above 0")
        self.shape, self.n = (n_environments, n_joints), n_environments * n_joints
        self.timestep = float(timestep)
        self.device, self.dtype, self.randomise = wp.get_device(device), dtype, tuple(randomise)
        self.generator = np.random.default_rng(seed)
        self.length = max(slots(timestep), 1)
        self.kernels = launched(dtype)
        self.kernels[2].module.load(self.device)  # now, because a capture must not
        self.parameters = {{path: np.array(value, dtype=np.float64) for path, value in PARAMETERS.items()}}
        """By path, in 64 bits, on the host: numbers or (n_environments, n_joints). Call `prepare` after
        changing them."""
        self.inertia = self.array(inertia)
        self.offset = self.array(0.0) if "held_out" in self.randomise else None
        self.memory = wp.zeros((rows(timestep), self.n), dtype=dtype, device=self.device)
        self.effort = self.array(0.0)
        self.kept, self.each, self.last, self.command = None, 0, None, None
        self.resample()
        self.reset()
        if not (self.inertia.numpy() + self.armature.numpy() > 0.0).all():
            raise ValueError(
                "inertia is 0 for a joint without an armature; expected what the joint carries, in kg m^2,"
                " above 0"
            )

    def array(self, x):
        """A new array of this actuator's kind and size."""
        x = x.numpy() if isinstance(x, wp.array) else np.asarray(x, dtype=np.float64)
        full = np.ascontiguousarray(np.broadcast_to(x, self.shape))
        return wp.array(full, dtype=self.dtype, device=self.device)

    def row(self, source, i, each=1):
        return source[i].reshape(self.shape) if each else self.array(source.numpy()[i, 0])

    @property
    def state(self):
        """The states by name, as views of the memory: (n_environments, n_joints)."""
        return {{name: self.row(self.memory, i) for i, name in enumerate(STATES)}}

    @property
    def armature(self):
        """Inertia that the simulator must add to each joint [kg m^2]."""
        return self.row(self.kept, ARMATURE, self.each)

    def chosen(self, ids):
        """True for the environments meant: all of them for None; (n_environments, 1)."""
        mask = np.zeros((self.shape[0], 1), dtype=bool)
        mask[slice(None) if ids is None else np.asarray(ids)] = True
        return mask

    def resample(self, ids=None):
        """Draw these environments' parameters anew, on the host: errors are added, spread multiplies,
        and nothing leaves its range."""
        (n, m), chosen, drawn = self.shape, self.chosen(ids), {{}}
        # one draw an environment: it is the same unknown truth for all its joints
        if "parameter_error" in self.randomise:
            z = self.generator.standard_normal((n, len(PARAMETER_ERROR))) @ np.array(CHOLESKY).T
            for i, (path, error) in enumerate(PARAMETER_ERROR.items()):
                one = np.clip(PARAMETERS[path] + error * z[:, i : i + 1], *RANGES[path])
                drawn[path] = np.broadcast_to(one, self.shape)
        if "unit_spread" in self.randomise:  # one draw a joint: each is another piece from the same box
            for paths, share in UNIT_SPREAD.items():
                factor = np.exp(share * self.generator.standard_normal((n, m)))
                for path in paths:
                    drawn[path] = factor * drawn.get(path, PARAMETERS[path])
        for path, x in drawn.items():
            self.parameters[path] = np.where(chosen, np.clip(x, *RANGES[path]), self.parameters[path])
        for low, high in ORDERED:
            self.parameters[high] = np.maximum(self.parameters[low], self.parameters[high])
        if self.offset is not None:  # an error of the target that stays: one draw a joint
            drawn = np.where(chosen, self.generator.standard_normal((n, m)) * HELD_OUT, self.offset.numpy())
            self.offset.assign(drawn.astype(self.offset.numpy().dtype))
        self.prepare()

    def prepare(self):
        """What parameters and time step decide, in 64 bits and rounded once; call it after changing
        `parameters`. Where numbers become arrays it allocates anew: capture graphs again then."""
        values = [np.asarray(self.parameters[path], dtype=np.float64) for path in PARAMETERS]
        each = int(bool(self.randomise) or any(x.ndim for x in values))
        if self.kept is None or each > self.each:
            self.each, width = each, self.n if each else 1
            self.given = wp.zeros((len(values), width), dtype=wp.float64, device=self.device)
            self.kept = wp.zeros((KEPT, width), dtype=self.dtype, device=self.device)
            self.last = None
        size = self.shape if self.each else (1, 1)
        self.given.assign(np.stack([np.broadcast_to(x, size).ravel() for x in values]))
        inputs = [self.given, self.timestep, self.length, self.kept]
        wp.launch(self.kernels[0], dim=self.kept.shape[1], inputs=inputs, device=self.device)

    def reset(self, chosen=None):
        """Back to rest, cold, in these environments: None for all, an array of Warp's (bool: a mask of
        n_environments; int32: their numbers), or anything that NumPy takes for either. What follows the
        joint's position starts from the next one given."""
        if chosen is not None and not isinstance(chosen, wp.array):
            chosen = np.asarray(chosen)
            kind = bool if chosen.dtype == bool else np.int32
            chosen = wp.array(chosen.astype(kind), device=self.device)
        self.restart(self.memory, chosen, self.shape[1])

    def restart(self, memory, chosen, per):
        """Columns of a memory, `per` of them together."""
        mask = chosen if chosen is not None and chosen.dtype == wp.bool else None
        ids = chosen if mask is None else None
        n = self.n if ids is None else ids.shape[0] * per
        inputs = [self.kept, self.each, memory, mask, ids, per]
        wp.launch(self.kernels[1], dim=n, inputs=inputs, device=self.device)

    def compute(self, position, velocity, *targets, load=None, out=None, pending=None):
        """The joints' position and velocity now, and what is asked, become the torque on them over the next
        time step.

        `targets` are {targets}; what is left out is 0. `load` is every other torque on the joint; without
        it, it is taken from how the joint moved since the last call. The torque is written into `out`, or an
        array of the actuator's own that the next call overwrites. With `pending`, an array like `memory`, the
        step is written there and the memory stays.
        """
        return self.launch(2 if pending is not None else 0, position, velocity, targets, load, out, pending)

    def step(self, *targets, load=None):
        """Move joints of its own by a time step, against a load; gives their position and velocity."""
        self.launch(1, None, None, targets, load, None, None)
        state = self.state
        return state["position"], state["velocity"]

    def launch(self, own, position, velocity, targets, load, out, pending):
        given = (own, position, velocity, *targets, load, out, self.memory, pending, self.inertia)
        if self.last is not None and len(given) == len(self.last):
            if all(a is b for a, b in zip(given, self.last)):  # the same arrays: nothing to pack again
                self.command.launch()
                return self.effort if out is None else out
        if not min(len(TARGETS), 1) <= len(targets) <= len(TARGETS):
            expected = ", ".join(TARGETS) or "none"
            raise ValueError(f"{{len(targets)}} targets were given; expected {{expected}}")
        arrays = [position, velocity, load, *targets]
        for x in (*arrays, out):
            if x is not None and tuple(x.shape) != self.shape:
                raise ValueError(f"an array has shape {{tuple(x.shape)}}; expected {{self.shape}}")
        arrays += [None] * (len(TARGETS) - len(targets)) + [self.effort if out is None else out]
        memory = self.memory if pending is None else pending
        inputs = [self.kept, self.each, self.memory, memory, self.length, own, self.inertia, self.offset]
        command = wp.launch(
            self.kernels[2], dim=self.shape, inputs=[*inputs, *arrays], device=self.device, record_cmd=True
        )
        command.launch()
        self.last, self.command = given, command
        return arrays[-1]

    def save(self):
        """Everything that a step changes; `restore` takes it back."""
        return wp.clone(self.memory)

    def restore(self, saved):
        wp.copy(self.memory, saved)
'''
