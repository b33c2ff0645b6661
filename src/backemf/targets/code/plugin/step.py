"""The C of a plugin: a step of all actuators of a tree, and what MuJoCo calls."""

MEMBERS = r"""
/* What an actuator is asked now, within its ctrlrange. */
static double backemf_asked(const mjModel *m, const mjData *d, const backemf_member *one, int k) {
    const int channel = one->channels[k];
    const int at = channel < 0 ? 0 : backemf_ctrl_at(m, channel);
    double x = channel < 0 ? 0.0 : d->ctrl[at];
    if (channel >= 0 && m->actuator_ctrllimited[at] && !(m->opt.disableflags & mjDSBL_CLAMPCTRL)) {
        x = mju_clip(x, m->actuator_ctrlrange[2 * at], m->actuator_ctrlrange[2 * at + 1]);
    }
    return mju_isBad(x) ? 0.0 : x;
}

static int backemf_n_line(const backemf_member *one) {
    const int n = one->kind->n_targets;
    return n > 0 ? (one->size - one->kind->n_states - 1) / n : 0;
}

/* Commands as they arrive: late by the delay and half a step, mixed where one arrives inside a step. */
static void backemf_arrive(const mjModel *m, const mjData *d, backemf_member *one, double h) {
    const backemf_kind *kind = one->kind;
    const mjtNum *line = one->act + kind->n_states + 1;
    const int n_line = backemf_n_line(one);
    const double lag = (kind->delay < 0 ? 0.0 : one->p[kind->delay]) / h + 0.5;
    int k, late = lag < n_line ? (int)(lag + 1e-9) : n_line;
    double part = lag - late > 0.0 ? lag - late : 0.0;
    if (late >= n_line) {
        late = n_line;
        part = 0.0;
    }
    for (k = 0; k < kind->n_targets; k++) {
        const double now = backemf_asked(m, d, one, k);
        double latest = now, before = now;
        if (one->begun) {
            latest = late > 0 ? line[k * n_line + late - 1] : now;
            before = late < n_line ? line[k * n_line + late] : latest;
        }
        one->u[3 + k] = k < kind->n_late ? (1.0 - part) * latest + part * before : now;
    }
}

/* Its states before the step. */
static void backemf_before(const backemf_member *one, double q, double v) {
    const backemf_kind *kind = one->kind;
    const double *p = one->p;
    double first = kind->n_targets > 0 ? one->u[3] : 0.0;
    int k;
    if (kind->command_low >= 0 && first < p[kind->command_low]) {
        first = p[kind->command_low];
    }
    if (kind->command_high >= 0 && first > p[kind->command_high]) {
        first = p[kind->command_high];
    }
    for (k = 0; k < kind->n_states; k++) {
        const double rest = kind->start[k] < 0 ? 0.0 : p[kind->start[k]];
        const double followed = kind->follows[k] == 1 ? q : kind->follows[k] == 2 ? first : 0.0;
        one->next[k] = one->begun ? one->act[k] : rest + followed;
    }
    one->next[kind->position] = q;
    one->next[kind->velocity] = v;
}

/* The rest of what it remembers: where the joint was, and what was asked. */
static void backemf_after(const mjModel *m, const mjData *d, const backemf_member *one) {
    const backemf_kind *kind = one->kind;
    const int n_line = backemf_n_line(one), first = kind->n_states + 1;
    int j, k;
    one->next[kind->position] = 1.0;
    one->next[kind->velocity] = d->qvel[one->dof];
    for (k = 0; k < kind->n_targets; k++) {
        const double now = backemf_asked(m, d, one, k);
        for (j = 0; j < n_line; j++) {
            const int at = first + k * n_line + j;
            one->next[at] = j > 0 && one->begun ? one->act[at - 1] : now;
        }
    }
    *one->known = 1.0;
}

static int backemf_tree(const mjModel *m, int i) {
    return m->dof_treeid[m->jnt_dofadr[m->actuator_trnid[2 * i]]];
}

/* Where an actuator's memory is. */
static void backemf_memory(const mjModel *m, mjData *d, int i, backemf_member *one) {
    const int instance = m->actuator_plugin[i];
    const int all = m->plugin_statenum[instance] / backemf_mine(m, instance);
    int j, place = 0;
    for (j = 0; j < i; j++) {
        place += m->actuator_plugin[j] == instance;
    }
    one->kind = backemf_kind_of(m, instance);
    one->actuator = i;
    one->size = (all - 1) / 2;
    one->act = d->plugin_state + m->plugin_stateadr[instance] + place * all;
    one->next = one->act + one->size;
    one->known = one->next + one->size;
    one->begun = one->act[one->kind->position] > 0.5;
}

/* Who is on the joints of a tree, the last first; how many. */
static int backemf_members(const mjModel *m, int tree, backemf_member *members) {
    int i, n = 0;
    for (i = backemf_actuators(m) - 1; i >= 0; i--) {
        if (backemf_kind_of(m, m->actuator_plugin[i]) == NULL || backemf_off(m, i) ||
            backemf_tree(m, i) != tree) {
            continue;
        }
        if (members != NULL) {
            members[n].actuator = i;
        }
        n++;
    }
    return n;
}

/* A member's numbers, read anew at every step: nothing is kept beside model and simulation. */
static void backemf_found(const mjModel *m, mjData *d, backemf_member *one) {
    const int joint = m->actuator_trnid[2 * one->actuator];
    backemf_memory(m, d, one->actuator, one);
    one->dof = m->jnt_dofadr[joint];
    one->qpos = m->jnt_qposadr[joint];
    one->kept = mj_stackAllocNum(d, (size_t)one->kind->n_kept);
    backemf_read(m, m->actuator_plugin[one->actuator], one);
    one->kind->prepare(one->p, m->opt.timestep / one->substeps, one->kept);
}
"""

SOLVE = r"""
/* The efforts of a tree's actuators, and what they remember after the step. With A the inverse of the mass
   matrix, sought are the efforts e with which every actuator, asked for the effort of a joint that
   accelerates as over the last step and by A (e - what acted then) more, answers just that: each does so in
   turn, its joint as heavy as the others leave it. MuJoCo's velocities are those of half a step before its
   positions, so an actuator steps from where the joint was half a step ago. */
static void backemf_solve(const mjModel *m, mjData *d, int tree) {
    const double h = m->opt.timestep;
    const int n = backemf_members(m, tree, NULL), nv = (int)m->nv;
    backemf_member *members;
    mjtNum *units, *inverse, *efforts, *changes, *seen;
    int j, k, round, sweeps = 1;
    mj_markStack(d);
    members = mj_stackAllocByte(d, (size_t)n * sizeof *members, sizeof(double));
    units = mj_stackAllocNum(d, (size_t)n * (size_t)nv);
    inverse = mj_stackAllocNum(d, (size_t)n * (size_t)nv);
    efforts = mj_stackAllocNum(d, (size_t)n);
    changes = mj_stackAllocNum(d, (size_t)n);
    seen = mj_stackAllocNum(d, (size_t)n);
    backemf_members(m, tree, members);
    for (k = 0; k < n * nv; k++) {
        units[k] = 0.0;
    }
    for (k = 0; k < n; k++) {
        backemf_found(m, d, members + k);
        units[k * nv + members[k].dof] = 1.0;
    }
    mj_solveM(m, d, inverse, units, n);
    for (k = 0; k < n; k++) {
        backemf_member *one = members + k;
        backemf_arrive(m, d, one, h);
        sweeps = one->sweeps > sweeps ? one->sweeps : sweeps;
        if (one->begun) {
            efforts[k] = one->act[one->kind->n_states];
            changes[k] = 0.0;
            seen[k] = (d->qvel[one->dof] - one->act[one->kind->velocity]) / h;
        } else { /* nothing was seen yet: gravity and springs are known, and at first held */
            double known = 0.0;
            for (j = 0; j < nv; j++) {
                known += inverse[k * nv + j] * (d->qfrc_passive[j] - d->qfrc_bias[j]);
            }
            sweeps = sweeps > BACKEMF_FIRST ? sweeps : BACKEMF_FIRST;
            efforts[k] = 0.0;
            changes[k] = d->qfrc_bias[one->dof] - d->qfrc_passive[one->dof];
            seen[k] = known;
        }
    }
    for (round = 0; round < sweeps; round++) {
        double moved = 0.0;
        for (k = 0; k < n; k++) {
            backemf_member *one = members + k;
            const double v = d->qvel[one->dof], own = inverse[k * nv + one->dof];
            const double above = 1.0 / own - m->dof_armature[one->dof];
            const double before = efforts[k] + changes[k];
            double acceleration = seen[k], effort, change;
            for (j = 0; j < n; j++) {
                acceleration += inverse[k * nv + members[j].dof] * changes[j];
            }
            one->u[0] = above > 0.0 ? above : 0.0;
            one->u[1] = acceleration;
            one->u[2] = before;
            backemf_before(one, d->qpos[one->qpos] - 0.5 * h * v, v);
            one->kind->step(one->substeps, one->kept, one->u, one->next);
            effort = one->next[one->kind->n_states];
            change = fabs(effort - before) * own * h;
            moved = change > moved ? change : moved;
            changes[k] = effort - efforts[k];
        }
        if (moved < backemf_still) {
            break;
        }
    }
    for (k = 0; k < n; k++) {
        backemf_after(m, d, members + k);
    }
    mj_freeStack(d);
}

/* Called of every instance before the first `compute` of a step: nothing is known of it yet. */
static void backemf_begin(const mjModel *m, mjData *d, int instance) {
    backemf_member one;
    int i;
    for (i = 0; i < backemf_actuators(m); i++) {
        if (m->actuator_plugin[i] == instance) {
            backemf_memory(m, d, i, &one);
            *one.known = 0.0;
        }
    }
}

static void backemf_compute(const mjModel *m, mjData *d, int instance, int capability) {
    backemf_member one;
    int i, k;
    (void)capability;
    for (i = 0; i < backemf_actuators(m); i++) {
        if (m->actuator_plugin[i] != instance) {
            continue;
        }
        backemf_memory(m, d, i, &one);
        if (backemf_off(m, i)) {
            for (k = 0; k < one.size; k++) {
                one.next[k] = 0.0;
            }
            *one.known = 1.0;
        } else if (*one.known < 0.5) {
            backemf_solve(m, d, backemf_tree(m, i));
        }
        d->actuator_force[backemf_force_at(m, i)] = one.next[one.kind->n_states];
    }
}

static void backemf_advance(const mjModel *m, mjData *d, int instance) {
    backemf_member one;
    int i, k;
    for (i = 0; i < backemf_actuators(m); i++) {
        if (m->actuator_plugin[i] != instance) {
            continue;
        }
        backemf_memory(m, d, i, &one);
        for (k = 0; k < one.size; k++) {
            one.act[k] = *one.known > 0.5 ? one.next[k] : one.act[k];
            one.next[k] = 0.0;
        }
        *one.known = 0.0;
    }
}

static void backemf_register(void) {
    int k;
    for (k = 0; k < BACKEMF_KINDS; k++) {
        mjpPlugin plugin;
        mjp_defaultPlugin(&plugin);
        plugin.name = backemf_kinds[k].plugin;
        plugin.capabilityflags = mjPLUGIN_ACTUATOR;
        plugin.nattribute = backemf_kinds[k].n_attributes;
        plugin.attributes = backemf_kinds[k].attributes;
        plugin.nstate = backemf_nstate;
        plugin.init = backemf_init;
        plugin.reset = backemf_reset;
        plugin.actuator_act_dot = backemf_begin;
        plugin.compute = backemf_compute;
        plugin.advance = backemf_advance;
        backemf_slots[k] = mjp_registerPlugin(&plugin);
    }
}

/* mjPLUGIN_LIB_INIT takes a name in some versions of MuJoCo and none in others; this is what it is here. */
#if defined(__GNUC__)
__attribute__((constructor)) static void backemf_loaded(void) { backemf_register(); }
#else
mjPLUGIN_LIB_INIT(backemf) { backemf_register(); }
#endif
"""
