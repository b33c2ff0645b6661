"""What MuJoCo calls at every step for our actuators, compiled: from mjData to the actuators' steps and back.

An actuator's activations, from `actuator_actadr` on, are

    states      less what they start from; in the position's place 1 once the first step is taken, in the
                velocity's the joint's velocity at the last step
    effort      that acted over the last step
    inputs      nothing: their rates are where the step finds its inputs
    commands    of the last steps, the newest first, for a drive that acts late

so that all zeros are a motor at rest, and resetting, copying or storing a state of the simulation does the
same for its motors. `advance` writes rates that take the activations to their values after the step;
nothing else of the simulation is touched, so asking twice gives the same.

Joints of one tree move each other. With A the inverse of the mass matrix, the efforts e sought are those with
which every actuator, asked for the effort of a joint that moves as

    acceleration = what it was over the last step + A (e - what acted then),

answers just that: each does so in turn, its joint as heavy as the others leave it (1 / A[k, k]), and what the
ones before it answered is known to it. Actuators that oppose motion make this a descent, which ends; a step
takes up `sweeps` rounds of it, and the next one goes on from there. So arms stick with several joints at
once.

MuJoCo moves the velocity first and then, with it, the position: its velocities are those of half a step
before
its positions. So an actuator steps from the position half a step ago, h v / 2 back, and commands reach it
half a
step later. The motion then is right to second order, where it would lead by h / 2.

This text is compiled by `callback.py` and kept on the disk like every kernel: it knows no address and no
size.
`table` holds where things lie: the places of LAYOUT, the number of structures, then ROW numbers for each.
"""

from __future__ import annotations

import types

import numba
from numba import carray  # pyright: ignore[reportPrivateImportUsage]

from backemf.mujoco.live.addresses import (
    allocate,
    begin,
    call,
    demand,
    keep,
    numbers,
    on_stack,
    put,
    real,
    refuse,
    solve,
    whole,
    word,
)
from backemf.mujoco.live.places import (
    ACT,
    ACT_DOT,
    ADDRESS,
    ALLOCATE,
    ARMATURE,
    BIAS,
    BUS_AT,
    BUS_NEXT,
    CTRL,
    CTRL_HIGH,
    CTRL_LOW,
    DELAY,
    DOF_AT,
    DYNPRM,
    ERROR,
    FIRST,
    FREE,
    JOINT,
    LONG_DELAY,
    MAGIC,
    MAIN,
    MARK,
    MEMBER,
    N_BUS,
    N_DOFS,
    N_DYNPRM,
    N_LINE,
    N_SETTINGS,
    N_TREE,
    N_TRNID,
    NEXT,
    PASSIVE,
    QPOS,
    QPOS_AT,
    QVEL,
    ROW,
    SAG,
    SCALE,
    SHARED,
    SOLVE,
    STILL,
    STRUCTURES,
    SUBSTEPS,
    SWEEPS,
    TIME,
    TIMESTEP,
    USER,
    USERDATA,
)
from backemf.physics import supply

CACHE = globals().get("CACHE", False)
"""Whether the machine code is kept beside this text; said by whoever runs it."""
EXACT = {"error_model": "numpy", "fastmath": {"contract"}}
"""Divisions by 0 give infinity; products and sums may be one."""


def own(function):
    """A function of the supply's physics, compiled to call the others as they are compiled here."""
    return numba.njit(types.FunctionType(function.__code__, globals(), function.__name__), **EXACT)


TINY, N_DEMAND, N_NUMBERS, N_STATE = supply.TINY, len(supply.DEMAND), len(supply.NUMBERS), len(supply.BUS)
math = supply.math
open_voltage, bus_voltage = own(supply.open_voltage), own(supply.bus_voltage)
draw_power, feed_joints = own(supply.draw_power), own(supply.feed_joints)


@numba.njit("int64(int64, int64)", cache=CACHE)
def structure(table, heading):
    """Where in the table an actuator's structure stands; 0 if nowhere."""
    wanted = int(real(heading, 1))
    for k in range(word(table, STRUCTURES)):
        row = table + 8 * (STRUCTURES + 1 + ROW * k)
        if word(row, 0) == wanted:
            return row
    return 0


@numba.njit("int64(int64, int64, int64)", cache=CACHE)
def heading_of(table, m, i):
    return word(m + word(table, DYNPRM), 0) + 8 * i * word(table, N_DYNPRM)


@numba.njit("int64(int64, int64, int64, int64)", cache=CACHE)
def numbers_of(table, m, i, heading):
    """Where actuator i's terms begin."""
    return word(m + word(table, USER), 0) + 8 * (i * int(real(heading, 2)) + int(real(heading, 3)))


@numba.njit("int64(int64, int64, int64)", cache=CACHE)
def joint_of(table, m, i):
    return whole(word(m + word(table, JOINT), 0), word(table, N_TRNID) * i)


@numba.njit("int64(int64, int64, int64)", cache=CACHE)
def bus_of(table, d, settings):
    """Where an actuator's bus is."""
    return word(d + word(table, USERDATA), 0) + 8 * int(real(settings, BUS_AT))


@numba.njit("float64(int64, int64, int64, int64)", cache=CACHE)
def read_ctrl(table, d, settings, channel):
    """What an element of ctrl says; without one, 0."""
    if channel == SHARED:
        return real(bus_of(table, d, settings), SAG)
    if channel < 0:
        return 0.0
    now = real(word(d + word(table, CTRL), 0), channel)
    if channel == int(real(settings, MAIN)):
        now = min(max(now, real(settings, CTRL_LOW)), real(settings, CTRL_HIGH)) * real(settings, SCALE)
    return now


@numba.njit("void(int64, int64, int64, int64, int64, int64, int64, float64)", cache=CACHE)
def ask(table, m, d, i, row, settings, dot, h):
    """Put actuator i's commands, as they arrive, among its inputs: late by the delay and half a step, mixed
    where one arrives inside a step."""
    n_states, n_targets, n_line = word(row, 2), word(row, 3), int(real(settings, N_LINE))
    at = whole(word(m + word(table, ADDRESS), 0), i)
    act, channels = word(d + word(table, ACT), 0) + 8 * at, settings + 8 * (N_SETTINGS + n_states)
    inputs, line = n_states + 1, n_states + 4 + n_targets
    has_begun = real(act, word(row, 4)) > 0.5
    lag = real(settings, DELAY) / h + 0.5
    if lag > n_line * (1.0 + 1e-12):
        on_stack(word(table, FREE), d)
        delay, longest = real(settings, DELAY), (n_line - 0.5) * h
        refuse(word(table, ERROR), word(table, LONG_DELAY), delay, n_line + 1, h, longest)
    late = int(lag + 1e-9)
    part = max(lag - late, 0.0)
    for k in range(n_targets):
        channel = int(real(channels, k))
        now = read_ctrl(table, d, settings, channel)
        new, old = now, now
        if has_begun and n_line > 0:
            if late > 0:
                new = real(act, line + k * n_line + late - 1)
            old = real(act, line + k * n_line + late) if late < n_line else new
        put(dot, inputs + 3 + k, (1.0 - part) * new + part * old if k < word(row, 6) else now)


@numba.njit("void(int64, int64, int64, int64, int64, float64, float64)", cache=CACHE)
def state(row, terms, settings, act, dot, q, v):
    """Put an actuator's state before the step where the step finds it."""
    n_states, starts = word(row, 2), settings + 8 * N_SETTINGS
    has_begun = real(act, word(row, 4)) > 0.5
    for k in range(n_states):
        put(dot, k, real(act, k) + real(starts, k))
    put(dot, word(row, 4), q)
    put(dot, word(row, 5), v)
    if not has_begun:
        begin(word(row, 7), terms, dot + 8 * (n_states + 4), dot)


@numba.njit("void(int64, int64, int64, int64, int64, int64, int64, float64, float64)", cache=CACHE)
def rates(table, m, d, i, row, settings, act, v, h):
    """From values after the step to rates: whoever integrates arrives there."""
    n_states, n_targets, n_line = word(row, 2), word(row, 3), int(real(settings, N_LINE))
    at = whole(word(m + word(table, ADDRESS), 0), i)
    dot, starts = word(d + word(table, ACT_DOT), 0) + 8 * at, settings + 8 * N_SETTINGS
    channels = starts + 8 * n_states
    inputs, line = n_states + 1, n_states + 4 + n_targets
    has_begun = real(act, word(row, 4)) > 0.5
    for k in range(n_states):
        put(dot, k, (real(dot, k) - real(starts, k) - real(act, k)) / h)
    put(dot, n_states, (real(dot, n_states) - real(act, n_states)) / h)
    put(dot, word(row, 4), (1.0 - real(act, word(row, 4))) / h)
    put(dot, word(row, 5), (v - real(act, word(row, 5))) / h)
    for k in range(3 + n_targets):
        put(dot, inputs + k, -real(act, inputs + k) / h)
    for k in range(n_targets):
        channel = int(real(channels, k))
        now = read_ctrl(table, d, settings, channel)
        for j in range(n_line):
            place = line + k * n_line + j
            before = real(act, place - 1) if j > 0 and has_begun else now
            put(dot, place, (before - real(act, place)) / h)


@numba.njit("int64(int64, int64, int64, int64, int64, int64, int64, int64, int64)", cache=CACHE)
def gather(table, m, d, i, n, n_dofs, units, members, link):
    """Who the actuators of a tree, or of a bus, are: where each one's numbers are, and its joint's, and its
    unit torque; 1, or 0 where a structure is not known in this process."""
    acts, dots = word(d + word(table, ACT), 0), word(d + word(table, ACT_DOT), 0)
    for k in range(n * n_dofs):
        put(units, k, 0.0)
    for k in range(n):
        heading = heading_of(table, m, i)
        row, mine = structure(table, heading), numbers_of(table, m, i, heading)
        if row == 0:
            return 0
        at, joint = whole(word(m + word(table, ADDRESS), 0), i), joint_of(table, m, i)
        member = members + 8 * MEMBER * k
        dof = whole(word(m + word(table, DOF_AT), 0), joint)
        settings = mine + 8 * int(real(heading, 4))
        keep(member, 0, row)
        keep(member, 1, mine)
        keep(member, 2, settings)
        keep(member, 3, acts + 8 * at)
        keep(member, 4, dots + 8 * at)
        keep(member, 5, dof)
        keep(member, 6, whole(word(m + word(table, QPOS_AT), 0), joint))
        keep(member, 7, i)
        if n_dofs > 0:
            put(units, k * n_dofs + dof, 1.0)
        i = int(real(settings, link))
    return 1


@numba.njit("int64(int64, int64, int64, int64, int64, int64, float64)", cache=CACHE)
def share_supply(table, m, d, i, first, n, h):
    """Solve the bus for what its n actuators ask for now, of which `first` are i's settings; 1, or 0 where a
    structure is not known in this process."""
    members, bus = allocate(word(table, ALLOCATE), d, n * (MEMBER + N_DEMAND)), bus_of(table, d, first)
    joints = members + 8 * MEMBER * n
    if gather(table, m, d, i, n, 0, members, members, BUS_NEXT) == 0:
        return 0
    for k in range(n):
        member = members + 8 * MEMBER * k
        row, terms, settings, act, dot = (
            word(member, 0),
            word(member, 1),
            word(member, 2),
            word(member, 3),
            word(member, 4),
        )
        q, v = (
            real(word(d + word(table, QPOS), 0), word(member, 6)),
            real(word(d + word(table, QVEL), 0), word(member, 5)),
        )
        ask(table, m, d, word(member, 7), row, settings, dot, h)
        state(row, terms, settings, act, dot, q - 0.5 * h * v, v)
        demand(word(row, 8), terms, dot, dot + 8 * (word(row, 2) + 1), joints + 8 * N_DEMAND * k)
    behind = first + 8 * (N_SETTINGS + word(word(members, 0), 2) + word(word(members, 0), 3))
    now, before = real(d + word(table, TIME), 0) + 1.0, real(bus, 0)
    for k in range(N_STATE if before == 0.0 else 0):
        put(bus, k + 1, real(behind, N_NUMBERS + k))
    elapsed = max(now - before, 0.0) if before != 0.0 else 0.0
    kept, asked = carray(numbers(bus + 8), (N_STATE,)), carray(numbers(joints), (n, N_DEMAND))
    feed_joints(carray(numbers(behind), (N_NUMBERS,)), elapsed, h, kept, asked)
    put(bus, 0, now)
    put(bus, SAG, real(behind, 0) - kept[N_STATE - 1])
    return 1


@numba.njit("int64(int64, int64, int64, int64, int64, int64, int64, float64)", cache=CACHE, **EXACT)
def look(table, m, d, n, n_dofs, inverse, members, h):
    """What is known before the rounds: commands, how joints move each other, what acted and what was seen;
    the least number of rounds."""
    mobility, efforts = inverse + 8 * n * n_dofs, inverse + 8 * n * (n_dofs + n)
    changes, seen, sweeps = efforts + 8 * n, efforts + 16 * n, 1
    for k in range(n):
        member = members + 8 * MEMBER * k
        row, act, dof = word(member, 0), word(member, 3), word(member, 5)
        ask(table, m, d, word(member, 7), row, word(member, 2), word(member, 4), h)
        for j in range(n):
            put(mobility, n * k + j, real(inverse, k * n_dofs + word(members + 8 * MEMBER * j, 5)))
        if real(act, word(row, 4)) > 0.5:
            v = real(word(d + word(table, QVEL), 0), dof)
            put(efforts, k, real(act, word(row, 2)))
            put(changes, k, 0.0)
            put(seen, k, (v - real(act, word(row, 5))) / h)
        else:  # nothing was seen yet: gravity and springs are known, and at first held
            bias, passive = word(d + word(table, BIAS), 0), word(d + word(table, PASSIVE), 0)
            known = 0.0
            for j in range(n_dofs):
                known += real(inverse, k * n_dofs + j) * (real(passive, j) - real(bias, j))
            sweeps = FIRST
            put(efforts, k, 0.0)
            put(changes, k, real(bias, dof) - real(passive, dof))
            put(seen, k, known)
    return sweeps


@numba.njit("float64(int64, int64, int64, int64, int64, int64, float64)", cache=CACHE, **EXACT)
def sweep(table, m, d, n, mobility, members, h):
    """One round, in which every actuator of a tree answers in turn; the largest change of a velocity."""
    efforts = mobility + 8 * n * n
    changes, seen, moved = efforts + 8 * n, efforts + 16 * n, 0.0
    for k in range(n):
        member = members + 8 * MEMBER * k
        row, terms, settings = word(member, 0), word(member, 1), word(member, 2)
        act, dot, dof, n_states = word(member, 3), word(member, 4), word(member, 5), word(row, 2)
        q = real(word(d + word(table, QPOS), 0), word(member, 6))
        v = real(word(d + word(table, QVEL), 0), dof)
        acceleration = real(seen, k)
        for j in range(n):
            acceleration += real(mobility, n * k + j) * real(changes, j)
        own = real(mobility, n * k + k)
        above = 1.0 / own - real(settings, ARMATURE)
        before = real(efforts, k) + real(changes, k)
        put(dot, n_states + 1, max(above, 0.0))
        put(dot, n_states + 2, acceleration)
        put(dot, n_states + 3, before)
        state(row, terms, settings, act, dot, q - 0.5 * h * v, v)
        substeps = int(real(settings, SUBSTEPS))
        call(word(row, 1), substeps, terms, dot, dot + 8 * (n_states + 1), h / substeps, dot)
        new = real(dot, n_states)
        moved = max(moved, abs(new - before) * own * h)
        put(changes, k, new - real(efforts, k))
    return moved


@numba.cfunc("float64(int64, int64, int64, int32)", cache=CACHE, **EXACT)
def advance(table, m, d, i):
    """Write the rates of the activations of all actuators of i's tree, if i is their last; gives 0, or NaN
    where a structure is not known in this process."""
    heading = heading_of(table, m, i)
    if real(heading, 0) != word(table, MAGIC):
        return 0.0
    settings = numbers_of(table, m, i, heading) + 8 * int(real(heading, 4))
    n, n_dofs, sweeps = int(real(settings, N_TREE)), int(real(settings, N_DOFS)), int(real(settings, SWEEPS))
    h, n_bus = real(m + word(table, TIMESTEP), 0), int(real(settings, N_BUS))
    if n_bus > 0:
        on_stack(word(table, MARK), d)
        known = share_supply(table, m, d, i, settings, n_bus, h)
        on_stack(word(table, FREE), d)
        if known == 0:
            return numba.float64(0.0) / 0.0
    if n == 0:
        return 0.0
    on_stack(word(table, MARK), d)
    units = allocate(word(table, ALLOCATE), d, n * (2 * n_dofs + n + 4 + MEMBER))
    inverse = units + 8 * n * n_dofs
    mobility, members = inverse + 8 * n * n_dofs, inverse + 8 * n * (n_dofs + n + 3)
    if gather(table, m, d, i, n, n_dofs, units, members, NEXT) == 0:
        on_stack(word(table, FREE), d)
        return numba.float64(0.0) / 0.0
    solve(word(table, SOLVE), m, d, inverse, units, numba.int32(n))
    sweeps = max(sweeps, look(table, m, d, n, n_dofs, inverse, members, h))
    for _ in range(sweeps):
        if sweep(table, m, d, n, mobility, members, h) < STILL:
            break
    for k in range(n):
        member = members + 8 * MEMBER * k
        v = real(word(d + word(table, QVEL), 0), word(member, 5))
        rates(table, m, d, word(member, 7), word(member, 0), word(member, 2), word(member, 3), v, h)
    on_stack(word(table, FREE), d)
    return 0.0


@numba.cfunc("float64(int64, int64, int64, int32)", cache=CACHE, **EXACT)
def effort(table, m, d, i):
    """What actuator i puts on its joint over the step whose rates `advance` wrote."""
    heading = heading_of(table, m, i)
    if real(heading, 0) != word(table, MAGIC):
        return 0.0
    row = structure(table, heading)
    if row == 0:
        return numba.float64(0.0) / 0.0
    at = whole(word(m + word(table, ADDRESS), 0), i) + word(row, 2)
    h = real(m + word(table, TIMESTEP), 0)
    return real(word(d + word(table, ACT), 0), at) + h * real(word(d + word(table, ACT_DOT), 0), at)
