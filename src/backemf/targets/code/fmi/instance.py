"""The part of an FMU's C that is the same in every version of the standard; @...@ are filled in."""

INSTANCE = """\
@top@#include "@name@.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define SHOWN __declspec(dllexport)
#elif defined(__GNUC__)
#define SHOWN __attribute__((visibility("default")))
#else
#define SHOWN
#endif

#define TOKEN @token@

enum { FINE = 0, DISCARDED = 2, FAILED = 3 }; /* as both versions of the standard count */
enum { MADE, INITIALIZING, STEPPING, ENDED, BROKEN };
enum { TIME, FIXED, TUNABLE, INPUT, OUTPUT };
enum { STEP, INERTIA, START_POSITION, START_VELOCITY, N_OWN };
enum { N_INPUTS = @n_inputs@, N_OUTPUTS = @n_outputs@, N_VARIABLES = @n_variables@ };

/* What a variable may be: from low to high, without low itself where it is open. */
typedef struct {
    const char *name;
    const char *unit;
    int kind;
    int open;
    double low;
    double high;
} variable;

static const variable VARIABLES[N_VARIABLES] = {
@variables@
};

/* Places in the parameters of a number and of one that is never smaller. */
enum { N_ORDERED = @n_ordered@ };
static const int ORDERED[][2] = {@ordered@};

/* All that a step or a setting changes, without pointers: a copy of it is a saved state. */
typedef struct {
    @name@_actuator a;
    double own[N_OWN];
    double input[N_INPUTS];
    double output[N_OUTPUTS];
    double time;
    int phase;
    int changed;
} moment;

typedef void (*function)(void);
typedef struct instance {
    moment now;
    char *name;
    void *environment;
    function logger;
    void (*say)(const struct instance *one, int status, const char *text);
} instance;

/* Log a sentence, and give the status back. */
static int said(const instance *one, int status, const char *text) {
    if (one->say != NULL) {
        one->say(one, status, text);
    }
    return status;
}

/* Where a variable's value is: time, own numbers, parameters, inputs and outputs follow each other. */
static double *place(moment *now, size_t reference) {
    if (reference == 0) {
        return &now->time;
    }
    reference -= 1;
    if (reference < N_OWN) {
        return now->own + reference;
    }
    reference -= N_OWN;
    if (reference < @NAME@_PARAMETERS) {
        return now->a.p + reference;
    }
    reference -= @NAME@_PARAMETERS;
    return reference < N_INPUTS ? now->input + reference : now->output + (reference - N_INPUTS);
}

/* As after instantiation. */
static void started(moment *now) {
    static const double own[N_OWN] = {@own@};
    memset(now, 0, sizeof *now);
    (void)@name@_init(&now->a, own[STEP], 0.0);
    memcpy(now->own, own, sizeof own);
}

/* What parameters and the length of a step decide. */
static int prepared(instance *one, double h) {
    moment *now = &one->now;
    char text[400];
    int k;
    for (k = 0; k < N_ORDERED; k++) {
        const int low = ORDERED[k][0], high = ORDERED[k][1];
        if (now->a.p[high] < now->a.p[low]) {
            (void)snprintf(text, sizeof text, "%s is %g, and %s is %g; expected it not to be smaller",
                           VARIABLES[1 + N_OWN + high].name, now->a.p[high],
                           VARIABLES[1 + N_OWN + low].name, now->a.p[low]);
            return said(one, FAILED, text);
        }
    }
    if (!(now->own[INERTIA] + @name@_armature(now->a.p) > 0.0)) {
        return said(one, FAILED, "inertia is 0 for a joint without an armature; expected what the joint"
                                 " carries, above 0");
    }
    now->a.h = h;
    if (@name@_changed(&now->a) != @NAME@_OK) {
        (void)snprintf(text, sizeof text, "steps of %g s are too short for the delay: too many commands would"
                       " be under way; expected a longer step, or a shorter drive.delay", h);
        return said(one, FAILED, text);
    }
    now->changed = 0;
    return FINE;
}

static void shown(moment *now, const @name@_actuator *a) {
    now->output[0] = a->s[@NAME@_S_POSITION];
    now->output[1] = a->s[@NAME@_S_VELOCITY];
    now->output[2] = a->effort;
    @name@_observe(a, now->output + 3);
}

/* At rest where it starts; what it shows is what it would show if this had been asked all along. */
static int begun(instance *one) {
    moment *now = &one->now;
    @name@_actuator first;
    if (prepared(one, now->own[STEP]) != FINE) {
        return FAILED;
    }
    @name@_reset(&now->a, now->own[START_POSITION]);
    now->a.s[@NAME@_S_VELOCITY] = now->own[START_VELOCITY];
    first = now->a;
    first.u[0] = now->own[INERTIA];
    memcpy(first.u + 1, now->input, sizeof now->input);
    @name@_settle(&first@targets@);
    shown(now, &first);
    return FINE;
}

/* A communication step: as many equal steps as are needed for none to be longer than `step`. */
static int stepped(instance *one, double from, double length) {
    moment *now = &one->now;
    char text[400];
    double n, h, k;
    if (now->phase != STEPPING) {
        return said(one, FAILED, "a step was asked for outside of a simulation; expected it after"
                                 " initialization, and not after an error");
    }
    if (!(length > 0.0) || !isfinite(length) || !isfinite(from)) {
        return said(one, FAILED, "a communication step is no time above 0");
    }
    n = ceil(length / now->own[STEP] - 1e-6);
    n = n < 1.0 ? 1.0 : n;
    h = length / n;
    if (n > 1e9) {
        return said(one, FAILED, "a communication step is more than 1e9 times `step`; expected a longer one");
    }
    if (now->changed || fabs(h - now->a.h) > 1e-12 * h) {
        if (prepared(one, h) != FINE) {
            return FAILED;
        }
    }
    for (k = 0.0; k < n; k += 1.0) {
        @name@_step(&now->a, now->own[INERTIA], now->input[0]@targets@);
    }
    if (!isfinite(now->a.s[@NAME@_S_POSITION]) || !isfinite(now->a.s[@NAME@_S_VELOCITY])) {
        now->phase = BROKEN;
        (void)snprintf(text, sizeof text, "the motion diverges at %g s in steps of %g s; expected a shorter"
                       " `step`, more inertia or lower gains", from, h);
        return said(one, FAILED, text);
    }
    now->time = from + length;
    shown(now, &now->a);
    return FINE;
}

static int known(const instance *one, size_t reference) {
    char text[200];
    if (reference < N_VARIABLES) {
        return 1;
    }
    (void)snprintf(text, sizeof text, "there is no variable with the value reference %lu; expected 0 to %d",
                   (unsigned long)reference, N_VARIABLES - 1);
    (void)said(one, FAILED, text);
    return 0;
}

static int got(instance *one, const unsigned int *references, size_t n, double *values) {
    size_t k;
    if (one->now.phase == INITIALIZING && begun(one) != FINE) {
        return FAILED;
    }
    for (k = 0; k < n; k++) {
        if (!known(one, references[k])) {
            return FAILED;
        }
        values[k] = *place(&one->now, references[k]);
    }
    return FINE;
}

static int allowed(const instance *one, const variable *v, double value) {
    char text[400];
    const char *expected = NULL;
    if (v->kind == TIME || v->kind == OUTPUT) {
        expected = "nothing, for it is an output and cannot be set";
    } else if (v->kind == FIXED && one->now.phase != MADE && one->now.phase != INITIALIZING) {
        expected = "it to be set before the end of initialization";
    } else if (!isfinite(value)) {
        expected = "a finite number";
    }
    if (expected != NULL) {
        (void)snprintf(text, sizeof text, "%s was set to %g; expected %s", v->name, value, expected);
    } else if (value < v->low || (v->open && value <= v->low)) {
        (void)snprintf(text, sizeof text, "%s is %g %s; expected %s %g", v->name, value, v->unit,
                       v->open ? "more than" : "at least", v->low);
    } else if (value > v->high) {
        (void)snprintf(text, sizeof text, "%s is %g %s; expected at most %g", v->name, value, v->unit,
                       v->high);
    } else {
        return 1;
    }
    (void)said(one, FAILED, text);
    return 0;
}

/* All of the values, or none where one is not allowed. */
static int put(instance *one, const unsigned int *references, size_t n, const double *values) {
    size_t k;
    for (k = 0; k < n; k++) {
        if (!known(one, references[k]) || !allowed(one, VARIABLES + references[k], values[k])) {
            return FAILED;
        }
    }
    for (k = 0; k < n; k++) {
        *place(&one->now, references[k]) = values[k];
        one->now.changed |= VARIABLES[references[k]].kind == TUNABLE;
    }
    return FINE;
}

static void removed(instance *one) {
    if (one != NULL) {
        free(one->name);
        free(one);
    }
}

/* A new instance; without a name where there is no memory. NULL where there is none at all. */
static instance *made(const char *name) {
    instance *one = calloc(1, sizeof *one);
    const size_t n = name == NULL ? 1 : strlen(name) + 1;
    if (one == NULL) {
        return NULL;
    }
    one->name = calloc(n, 1);
    if (one->name == NULL) {
        free(one);
        return NULL;
    }
    if (name != NULL) {
        memcpy(one->name, name, n);
    }
    started(&one->now);
    return one;
}

static int saved(const instance *one, void **state) {
    if (*state == NULL) {
        *state = malloc(sizeof(moment));
    }
    if (*state == NULL) {
        return said(one, FAILED, "there is no memory left for a saved state");
    }
    memcpy(*state, &one->now, sizeof(moment));
    return FINE;
}

static int restored(instance *one, const void *state) {
    if (state == NULL) {
        return said(one, FAILED, "there is no saved state to restore; expected one of this FMU");
    }
    memcpy(&one->now, state, sizeof(moment));
    return FINE;
}

/* As bytes: the token, so that another FMU's are refused, and the moment as it is. */
enum { WRITTEN = sizeof TOKEN + sizeof(moment) };

static int written(const instance *one, const void *state, void *bytes, size_t size) {
    if (state == NULL || size < (size_t)WRITTEN) {
        return said(one, FAILED, "a state has no room to be written; expected as many bytes as it has");
    }
    memcpy(bytes, TOKEN, sizeof TOKEN);
    memcpy((char *)bytes + sizeof TOKEN, state, sizeof(moment));
    return FINE;
}

static int reread(const instance *one, const void *bytes, size_t size, void **state) {
    if (size != (size_t)WRITTEN || memcmp(bytes, TOKEN, sizeof TOKEN) != 0) {
        return said(one, FAILED, "the bytes are no state of this FMU; expected what it wrote itself");
    }
    if (*state == NULL) {
        *state = malloc(sizeof(moment));
    }
    if (*state == NULL) {
        return said(one, FAILED, "there is no memory left for a saved state");
    }
    memcpy(*state, (const char *)bytes + sizeof TOKEN, sizeof(moment));
    return FINE;
}
"""
