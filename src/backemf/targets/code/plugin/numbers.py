"""The C of a plugin: where an instance's numbers come from, and how long they live."""

NUMBERS = r"""
/* One of a tree's actuators while a step is taken. Its memory in `plugin_state` is `act`, then as many
   numbers that will follow it after this step, and last whether those are known. */
typedef struct {
    const backemf_kind *kind;
    mjtNum *act, *next, *known;
    double p[BACKEMF_PARAMETERS], u[BACKEMF_INPUTS], *kept;
    int channels[BACKEMF_INPUTS]; /* actuators whose ctrl holds each target; -1: nobody's, and it is 0 */
    int actuator, dof, qpos, begun, substeps, sweeps, size;
} backemf_member;

#if mjVERSION_HEADER >= 4000000
static int backemf_actuators(const mjModel *m) { return (int)m->nactuator; }
static int backemf_ctrl_at(const mjModel *m, int i) { return m->actuator_ctrladr[i]; }
static int backemf_force_at(const mjModel *m, int i) { return m->actuator_outadr[i]; }
#else
static int backemf_actuators(const mjModel *m) { return (int)m->nu; }
static int backemf_ctrl_at(const mjModel *m, int i) { (void)m; return i; }
static int backemf_force_at(const mjModel *m, int i) { (void)m; return i; }
#endif

static const backemf_kind *backemf_kind_of(const mjModel *m, int instance) {
    int k;
    for (k = 0; instance >= 0 && k < BACKEMF_KINDS; k++) {
        if (m->plugin[instance] == backemf_slots[k]) {
            return &backemf_kinds[k];
        }
    }
    return NULL;
}

static int backemf_mine(const mjModel *m, int instance) {
    int i, n = 0;
    for (i = 0; i < backemf_actuators(m); i++) {
        n += m->actuator_plugin[i] == instance;
    }
    return n;
}

/* An actuator of a disabled group is not on its joint, and starts anew when it is again. */
static int backemf_off(const mjModel *m, int i) {
    const int group = m->actuator_group[i];
    return group >= 0 && group <= 30 && (m->opt.disableactuator & (1 << group)) != 0;
}

/* A number of the configuration, or another one where it says nothing. */
static double backemf_number(const backemf_kind *kind, const char *key, const char *text, double otherwise) {
    char *end;
    const double value = text[0] == '\0' ? otherwise : strtod(text, &end);
    if (text[0] == '\0') {
        return otherwise;
    }
    while (*end == ' ' || *end == '\t' || *end == '\n') {
        end++;
    }
    if (end == text || *end != '\0' || mju_isBad(value)) {
        mju_error("plugin %s: %s is '%s'; expected a number", kind->plugin, key, text);
    }
    return value;
}

static int backemf_count(const backemf_kind *kind, const char *key, const char *text, int otherwise) {
    const double value = backemf_number(kind, key, text, otherwise);
    if (!(value >= 1.0 && value <= 10000.0 && floor(value) == value)) {
        mju_error("plugin %s: %s is '%s'; expected a whole number above 0", kind->plugin, key, text);
    }
    return (int)value;
}

/* Commands of the past that a delay needs, with room for twice as long a one. */
static int backemf_line(const mjModel *m, int instance, const backemf_kind *kind) {
    const char *key = kind->delay < 0 ? NULL : kind->attributes[kind->delay];
    const char *text = key == NULL ? NULL : mj_getPluginConfig(m, instance, key);
    double delay;
    if (key == NULL) {
        return 1;
    }
    delay = backemf_number(kind, key, text == NULL ? "" : text, kind->numbers[kind->delay]);
    return 2 * (int)ceil(mju_clip(delay, 0.0, 1e4 * m->opt.timestep) / m->opt.timestep + 0.5) + 1;
}

static int backemf_nstate(const mjModel *m, int instance) {
    const backemf_kind *kind = backemf_kind_of(m, instance);
    const int size = kind->n_states + 1 + kind->n_targets * backemf_line(m, instance, kind);
    return (2 * size + 1) * backemf_mine(m, instance);
}

/* Every number of an instance. MuJoCo keeps its attributes one behind the other. */
static void backemf_read(const mjModel *m, int instance, backemf_member *one) {
    const backemf_kind *kind = one->kind;
    const char *text = m->plugin_attr + m->plugin_attradr[instance];
    const int n = kind->n_parameters, first = kind->n_late > 0; /* the first target is in its own ctrl */
    int k;
    for (k = 0; k < kind->n_attributes; k++) {
        const char *key = kind->attributes[k];
        if (k < n) {
            one->p[k] = backemf_number(kind, key, text, kind->numbers[k]);
        } else if (k < n + kind->n_targets - first) {
            one->channels[k - n + first] = text[0] == '\0' ? -1 : mj_name2id(m, mjOBJ_ACTUATOR, text);
        } else if (k == kind->n_attributes - 2) {
            one->substeps = backemf_count(kind, key, text, kind->substeps);
        } else {
            one->sweeps = backemf_count(kind, key, text, BACKEMF_SWEEPS);
        }
        text += strlen(text) + 1;
    }
    if (first) {
        one->channels[0] = one->actuator;
    }
}

/* Once for every simulation: whether the configuration can be. */
static void backemf_possible(const mjModel *m, int instance, const backemf_member *one) {
    const backemf_kind *kind = one->kind;
    const char *text = m->plugin_attr + m->plugin_attradr[instance];
    int k;
    for (k = 0; k < kind->n_attributes; k++) {
        const char *key = kind->attributes[k], *same = mj_getPluginConfig(m, instance, key);
        const int target = k - kind->n_parameters;
        if (same == NULL || strcmp(same, text) != 0) {
            mju_error("plugin %s: this MuJoCo keeps attributes elsewhere; export for it anew", kind->plugin);
        }
        if (target >= 0 && k < kind->n_attributes - 2 && text[0] != '\0' &&
            mj_name2id(m, mjOBJ_ACTUATOR, text) < 0) {
            mju_error("plugin %s: %s is '%s'; expected the name of an actuator, whose ctrl holds it",
                      kind->plugin, key, text);
        }
        text += strlen(text) + 1;
    }
    for (k = 0; k < kind->n_parameters; k++) {
        const double value = one->p[k], low = kind->low[k], high = kind->high[k];
        const char *key = kind->attributes[k];
        if (value < low || (kind->above[k] && value == low)) {
            mju_error("plugin %s: %s is %g; expected a number %s %g", kind->plugin, key, value,
                      kind->above[k] ? "above" : "not below", low);
        }
        if (value > high) {
            mju_error("plugin %s: %s is %g; expected a number not above %g", kind->plugin, key, value, high);
        }
        if (kind->over[k] >= 0 && value < one->p[kind->over[k]]) {
            mju_error("plugin %s: %s is %g; expected at least %s, which is %g", kind->plugin, key, value,
                      kind->attributes[kind->over[k]], one->p[kind->over[k]]);
        }
    }
}

/* Once for every simulation: whether its joints are as the actuator needs them. */
static void backemf_fitting(const mjModel *m, int instance, const backemf_member *one) {
    const backemf_kind *kind = one->kind;
    const double armature = kind->armature(one->p);
    int i;
    if (m->opt.integrator == mjINT_RK4) {
        mju_error("plugin %s: the integrator is RK4, which asks actuators several times a step; expected"
                  " Euler, implicit or implicitfast", kind->plugin);
    }
    for (i = 0; i < backemf_actuators(m); i++) {
        const int joint = m->actuator_trnid[2 * i];
        const mjtNum *gear = m->actuator_gear + 6 * backemf_force_at(m, i);
        const char *name;
        int dof;
        if (m->actuator_plugin[i] != instance) {
            continue;
        }
        if (m->actuator_trntype[i] != mjTRN_JOINT || gear[0] != 1.0 ||
            m->jnt_type[joint] != (kind->slides ? mjJNT_SLIDE : mjJNT_HINGE)) {
            mju_error("plugin %s, actuator %d: expected joint=\"...\" with a %s, and gear 1", kind->plugin,
                      i, kind->slides ? "slide" : "hinge");
        }
        dof = m->jnt_dofadr[joint];
        name = mj_id2name(m, mjOBJ_JOINT, joint);
        name = name == NULL ? "" : name;
        if (m->dof_damping[dof] != 0.0 || m->dof_frictionloss[dof] != 0.0) {
            mju_warning("plugin %s: joint '%s' has damping %g and frictionloss %g besides its actuator's;"
                        " expected 0 and 0", kind->plugin, name, m->dof_damping[dof],
                        m->dof_frictionloss[dof]);
        }
        if (fabs(m->dof_armature[dof] - armature) > 1e-6 * armature + 1e-15) {
            mju_warning("plugin %s: joint '%s' has armature %g; expected the rotor's, %.9g", kind->plugin,
                        name, m->dof_armature[dof], armature);
        }
    }
}

static int backemf_init(const mjModel *m, mjData *d, int instance) {
    backemf_member one;
    one.kind = backemf_kind_of(m, instance);
    one.actuator = -1;
    (void)d; /* whose stack is not ready yet */
    backemf_read(m, instance, &one);
    backemf_possible(m, instance, &one);
    backemf_fitting(m, instance, &one);
    return 0;
}

static void backemf_reset(const mjModel *m, mjtNum *state, void *data, int instance) {
    int k;
    (void)data;
    for (k = 0; k < m->plugin_statenum[instance]; k++) {
        state[k] = 0.0;
    }
}
"""
