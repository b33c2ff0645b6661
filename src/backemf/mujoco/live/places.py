"""Where things lie: what the compiled code, and whoever writes numbers for it, both count on."""

from __future__ import annotations

from backemf.physics.supply import BUS

OF_DATA = ("ctrl", "qpos", "qvel", "act", "act_dot", "qfrc_bias", "qfrc_passive", "userdata")
OF_MODEL = (
    "actuator_dynprm",
    "actuator_user",
    "actuator_actadr",
    "actuator_trnid",
    "jnt_qposadr",
    "jnt_dofadr",
)
FUNCTIONS = ("mj_markStack", "mj_stackAllocNum", "mj_freeStack", "mj_solveM", "mju_error")
LAYOUT = (*OF_DATA, *OF_MODEL, *FUNCTIONS, "timestep", "time", "n_dynprm", "n_trnid", "magic", "long_delay")
"""What `table` begins with: offsets of pointers in mjData and mjModel [bytes], addresses of MuJoCo's own
functions, offsets of time step and time, widths of two arrays, the number by which our actuators are known,
and the address of what is said of a delay that is too long."""
ROW = 9
"""Numbers of a structure: its hash, its step's address, how many states and targets, where among the states
position and velocity are, how many targets come late (what follows them is a switch), and the addresses of
how it begins and of what it asks of a shared supply, or 0."""
HEADING = ("magic", "hash", "width", "user", "n_terms")
"""What `actuator_dynprm` begins with: our mark, the structure's hash, numbers of an actuator in
`actuator_user`, the first of ours among them, and how many terms precede the settings."""
SETTINGS = (
    *("sweeps", "substeps", "delay", "n_line", "n_tree", "next", "n_dofs", "main", "ctrl_low", "ctrl_high"),
    *("scale", "armature", "n_bus", "bus_next", "bus"),
)
"""What follows the terms in `actuator_user`; then for each state what it is at rest at 0; then for
each target which element of ctrl holds it. The last of a
tree's actuators knows how many they are, and each the `next`; the others have `n_tree` 0. The element of ctrl
called `main` is held within its range, as MuJoCo holds those of its own actuators, and times `scale` is what
the drive is asked for. `armature` is the actuator's own, which the joint's may exceed. Of those with one
supply the first knows how many they are, each the next one and where in `userdata` the bus is (-1: none);
behind their channels stand the supply's numbers and the bus as it begins."""
N_SETTINGS = 15
KEPT = ("time", *BUS, "sag")
"""What `userdata` has of a bus: when it was last asked, +1 [s]; the bus; what drives miss of a full one [V].
"""
SAG = len(KEPT) - 1
SHARED = -2
"""Where a channel would be of what comes from the shared bus."""
MEMBER = 8
"""Numbers noted of every actuator while a step is taken."""
FIRST = 100
"""Rounds after a reset, when nothing is known of the efforts."""
STILL = 1e-9
"""Change of a joint's velocity from one round to the next that ends them [rad/s or m/s]."""

# Places in the table and in rows, as numbers that the compiler sees.
CTRL, QPOS, QVEL, ACT, ACT_DOT, BIAS, PASSIVE, USERDATA = range(8)
DYNPRM, USER, ADDRESS, JOINT, QPOS_AT, DOF_AT = range(8, 14)
MARK, ALLOCATE, FREE, SOLVE, ERROR = range(14, 19)
TIMESTEP, TIME, N_DYNPRM, N_TRNID, MAGIC, LONG_DELAY = range(19, 25)
STRUCTURES = 25
SWEEPS, SUBSTEPS, DELAY, N_LINE, N_TREE, NEXT, N_DOFS, MAIN, CTRL_LOW, CTRL_HIGH, SCALE, ARMATURE = range(12)
N_BUS, BUS_NEXT, BUS_AT = range(12, 15)
