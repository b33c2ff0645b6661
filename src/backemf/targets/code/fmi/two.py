"""An FMU's functions in FMI 2.0, declared in our own words; names and arguments are the standard's
(fmi-standard.org), as the headers that FMPy 0.3.32 ships have them."""

from .shared import Other, functions

FIRST = """
typedef void (*log_function)(void *environment, const char *name, status s, const char *category,
                             const char *text, ...);

/* What whoever imports it offers, in the standard's order. */
typedef struct {
    log_function logger;
    void *(*allocate)(size_t n, size_t size);
    void (*release)(void *memory);
    void (*finished)(void *environment, status s);
    void *environment;
} callbacks;

static void say(const instance *one, int s, const char *text) {
    if (one->logger != NULL) { /* the text is a format, and none of ours has a per cent sign in it */
        ((log_function)one->logger)(one->environment, one->name, s, "logStatusError", text);
    }
}
"""

OWN = """
SHOWN const char *FMI(fmi2GetTypesPlatform)(void);
SHOWN const char *FMI(fmi2GetTypesPlatform)(void) {
    return "default";
}

SHOWN const char *FMI(fmi2GetVersion)(void);
SHOWN const char *FMI(fmi2GetVersion)(void) {
    return "2.0";
}

SHOWN void *FMI(fmi2Instantiate)(const char *name, int type, const char *token, const char *resources,
                                 const callbacks *functions, boolean visible, boolean logging);
SHOWN void *FMI(fmi2Instantiate)(const char *name, int type, const char *token, const char *resources,
                                 const callbacks *functions, boolean visible, boolean logging) {
    instance *one = made(name);
    (void)resources;
    (void)visible;
    (void)logging; /* errors are always said, and nothing else is */
    if (one == NULL) {
        return NULL;
    }
    one->say = say;
    one->logger = functions == NULL ? NULL : (function)functions->logger;
    one->environment = functions == NULL ? NULL : functions->environment;
    if (type != 1) {
        (void)said(one, FAILED, "model exchange was asked for; expected co-simulation");
    } else if (token == NULL || strcmp(token, TOKEN) != 0) {
        (void)said(one, FAILED, "the guid is another one; expected this FMU's own modelDescription.xml");
    } else {
        return one;
    }
    removed(one);
    return NULL;
}

SHOWN status FMI(fmi2SetupExperiment)(void *c, boolean has_tolerance, double tolerance, double start,
                                      boolean has_stop, double stop);
SHOWN status FMI(fmi2SetupExperiment)(void *c, boolean has_tolerance, double tolerance, double start,
                                      boolean has_stop, double stop) {
    instance *one = c;
    (void)has_tolerance;
    (void)tolerance;
    (void)has_stop;
    (void)stop;
    if (!isfinite(start)) {
        return said(one, FAILED, "the start time is no number");
    }
    one->now.time = start;
    return FINE;
}

SHOWN status FMI(fmi2EnterInitializationMode)(void *c);
SHOWN status FMI(fmi2EnterInitializationMode)(void *c) {
    instance *one = c;
    if (one->now.phase != MADE) {
        return said(one, FAILED, "initialization was asked for twice; expected a reset before");
    }
    one->now.phase = INITIALIZING;
    return FINE;
}

SHOWN status FMI(fmi2GetReal)(void *c, const reference r[], size_t n, double values[]);
SHOWN status FMI(fmi2GetReal)(void *c, const reference r[], size_t n, double values[]) {
    return got(c, r, n, values);
}

SHOWN status FMI(fmi2SetReal)(void *c, const reference r[], size_t n, const double values[]);
SHOWN status FMI(fmi2SetReal)(void *c, const reference r[], size_t n, const double values[]) {
    return put(c, r, n, values);
}

static status no_others(void *c, size_t n) {
    return n == 0 ? FINE : said(c, FAILED, "there are no integers, booleans or strings; expected reals");
}

SHOWN status FMI(fmi2DoStep)(void *c, double from, double length, boolean no_return);
SHOWN status FMI(fmi2DoStep)(void *c, double from, double length, boolean no_return) {
    (void)no_return;
    return stepped(c, from, length);
}

SHOWN status FMI(fmi2GetRealStatus)(void *c, int kind, double *value);
SHOWN status FMI(fmi2GetRealStatus)(void *c, int kind, double *value) {
    if (kind != 2) {
        return DISCARDED;
    }
    *value = ((instance *)c)->now.time; /* the last successful one */
    return FINE;
}
"""

OTHERS: tuple[Other, ...] = (
    ("GetInteger", "const reference r[], size_t n, int values[]", "n"),
    ("GetBoolean", "const reference r[], size_t n, boolean values[]", "n"),
    ("GetString", "const reference r[], size_t n, const char *values[]", "n"),
    ("SetInteger", "const reference r[], size_t n, const int values[]", "n"),
    ("SetBoolean", "const reference r[], size_t n, const boolean values[]", "n"),
    ("SetString", "const reference r[], size_t n, const char *const values[]", "n"),
    ("SetRealInputDerivatives", "const reference r[], size_t n, const int order[], const double v[]", ""),
    ("GetRealOutputDerivatives", "const reference r[], size_t n, const int order[], double v[]", ""),
    (
        "GetDirectionalDerivative",
        "const reference z[], size_t n_z, const reference v[], size_t n_v, const double dv[], double dz[]",
        "",
    ),
    ("CancelStep", "", ""),
    ("GetStatus", "int kind, status *value", "discarded"),
    ("GetIntegerStatus", "int kind, int *value", "discarded"),
    ("GetBooleanStatus", "int kind, boolean *value", "discarded"),
    ("GetStringStatus", "int kind, const char **value", "discarded"),
)


def source() -> str:
    return functions("fmi2", FIRST, OWN, OTHERS)
