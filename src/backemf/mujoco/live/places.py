"""Where things lie: what the compiled code, and whoever writes numbers for it, both count on."""

from __future__ import annotations

OF_DATA = ("ctrl", "qpos", "qvel", "act", "act_dot", "qfrc_bias", "qfrc_passive")
OF_MODEL = (
    "actuator_dynprm",
    "actuator_user",
    "actuator_actadr",
    "actuator_trnid",
    "jnt_qposadr",
    "jnt_dofadr",
)
FUNCTIONS = ("mj_markStack", "mj_stackAllocNum", "mj_freeStack", "mj_solveM", "mju_error")
LAYOUT = (*OF_DATA, *OF_MODEL, *FUNCTIONS, "timestep", "n_dynprm", "n_trnid", "magic", "long_delay")
"""What `table` begins with: offsets of pointers in mjData and mjModel [bytes], addresses of MuJoCo's own
functions, the time step's offset, widths of two arrays, the number by which our actuators are known, and the
address of what is said of a delay that is too long."""
ROW = 8
"""Numbers of a structure: its hash, its step's address, how many states and targets, where among the states
position and velocity are, how many targets come late (what follows them is a switch), and the address of how
it begins."""
HEADING = ("magic", "hash", "width", "user", "n_terms")
"""What `actuator_dynprm` begins with: our mark, the structure's hash, numbers of an actuator in
`actuator_user`, the first of ours among them, and how many terms precede the settings."""
SETTINGS = (
    *("sweeps", "substeps", "delay", "n_line", "n_tree", "next", "n_dofs", "main", "ctrl_low", "ctrl_high"),
    *("scale", "armature"),
)
"""What follows the terms in `actuator_user`; then for each state what it is at rest at 0; then for
each target which element of ctrl holds it. The last of a
tree's actuators knows how many they are, and each the `next`; the others have `n_tree` 0. The element of ctrl
called `main` is held within its range, as MuJoCo holds those of its own actuators, and times `scale` is what
the drive is asked for. `armature` is the actuator's own, which the joint's may exceed."""
N_SETTINGS = 12
MEMBER = 8
"""Numbers noted of every actuator while a step is taken."""
FIRST = 100
"""Rounds after a reset, when nothing is known of the efforts."""
STILL = 1e-9
"""Change of a joint's velocity from one round to the next that ends them [rad/s or m/s]."""

# Places in the table and in rows, as numbers that the compiler sees.
CTRL, QPOS, QVEL, ACT, ACT_DOT, BIAS, PASSIVE = range(7)
DYNPRM, USER, ADDRESS, JOINT, QPOS_AT, DOF_AT = range(7, 13)
MARK, ALLOCATE, FREE, SOLVE, ERROR = range(13, 18)
TIMESTEP, N_DYNPRM, N_TRNID, MAGIC, LONG_DELAY = range(18, 23)
STRUCTURES = 23
SWEEPS, SUBSTEPS, DELAY, N_LINE, N_TREE, NEXT, N_DOFS, MAIN, CTRL_LOW, CTRL_HIGH, SCALE, ARMATURE = range(12)
