"""An FMU's functions in FMI 3.0, declared in our own words; names and arguments are the standard's
(fmi-standard.org), as the headers that FMPy 0.3.32 ships have them."""

from .shared import Other, functions

KINDS = {
    "Float32": "float",
    "Int8": "signed char",
    "UInt8": "unsigned char",
    "Int16": "short",
    "UInt16": "unsigned short",
    "Int32": "int32_t",
    "UInt32": "uint32_t",
    "Int64": "int64_t",
    "UInt64": "uint64_t",
    "Boolean": "bool",
}
"""Types of variables that it has none of, in C."""
R = "const reference r[], size_t n"

FIRST = """
typedef void (*log_function)(void *environment, status s, const char *category, const char *text);

static void say(const instance *one, int s, const char *text) {
    if (one->logger != NULL) {
        ((log_function)one->logger)(one->environment, s, "logStatusError", text);
    }
}
"""

OWN = """
SHOWN const char *FMI(fmi3GetVersion)(void);
SHOWN const char *FMI(fmi3GetVersion)(void) {
    return "3.0";
}

SHOWN void *FMI(fmi3InstantiateCoSimulation)(const char *name, const char *token, const char *resources,
                                             bool visible, bool logging, bool events, bool early,
                                             const reference *needed, size_t n, void *environment,
                                             log_function logger, function update);
SHOWN void *FMI(fmi3InstantiateCoSimulation)(const char *name, const char *token, const char *resources,
                                             bool visible, bool logging, bool events, bool early,
                                             const reference *needed, size_t n, void *environment,
                                             log_function logger, function update) {
    instance *one = made(name);
    (void)resources;
    (void)visible;
    (void)logging; /* errors are always said, and nothing else is */
    (void)events;
    (void)early;
    (void)needed;
    (void)n;
    (void)update;
    if (one == NULL) {
        return NULL;
    }
    one->say = say;
    one->logger = (function)logger;
    one->environment = environment;
    if (token == NULL || strcmp(token, TOKEN) != 0) {
        (void)said(one, FAILED, "the token is another one; expected this FMU's own modelDescription.xml");
        removed(one);
        return NULL;
    }
    return one;
}

SHOWN status FMI(fmi3EnterInitializationMode)(void *c, bool has_tolerance, double tolerance, double start,
                                              bool has_stop, double stop);
SHOWN status FMI(fmi3EnterInitializationMode)(void *c, bool has_tolerance, double tolerance, double start,
                                              bool has_stop, double stop) {
    instance *one = c;
    (void)has_tolerance;
    (void)tolerance;
    (void)has_stop;
    (void)stop;
    if (one->now.phase != MADE) {
        return said(one, FAILED, "initialization was asked for twice; expected a reset before");
    }
    if (!isfinite(start)) {
        return said(one, FAILED, "the start time is no number");
    }
    one->now.time = start;
    one->now.phase = INITIALIZING;
    return FINE;
}

SHOWN status FMI(fmi3GetFloat64)(void *c, const reference r[], size_t n, double values[], size_t n_values);
SHOWN status FMI(fmi3GetFloat64)(void *c, const reference r[], size_t n, double values[], size_t n_values) {
    if (n != n_values) {
        return said(c, FAILED, "there is a number of values for another number of variables");
    }
    return got(c, r, n, values);
}

SHOWN status FMI(fmi3SetFloat64)(void *c, const reference r[], size_t n, const double values[],
                                 size_t n_values);
SHOWN status FMI(fmi3SetFloat64)(void *c, const reference r[], size_t n, const double values[],
                                 size_t n_values) {
    if (n != n_values) {
        return said(c, FAILED, "there is a number of values for another number of variables");
    }
    return put(c, r, n, values);
}

static status no_others(void *c, size_t n) {
    return n == 0 ? FINE : said(c, FAILED, "there is no variable of this type; expected Float64");
}

SHOWN status FMI(fmi3DoStep)(void *c, double from, double length, bool no_return, bool *event, bool *end,
                             bool *early, double *last);
SHOWN status FMI(fmi3DoStep)(void *c, double from, double length, bool no_return, bool *event, bool *end,
                             bool *early, double *last) {
    instance *one = c;
    const status s = stepped(one, from, length);
    (void)no_return;
    *event = false;
    *end = false;
    *early = false;
    *last = one->now.time;
    return s;
}
"""

OTHERS: tuple[Other, ...] = (
    *((f"Get{kind}", f"{R}, {c} values[], size_t n_values", "n") for kind, c in KINDS.items()),
    *((f"Set{kind}", f"{R}, const {c} values[], size_t n_values", "n") for kind, c in KINDS.items()),
    ("GetString", f"{R}, const char *values[], size_t n_values", "n"),
    ("SetString", f"{R}, const char *const values[], size_t n_values", "n"),
    ("GetBinary", f"{R}, size_t sizes[], const unsigned char *values[], size_t n_values", "n"),
    ("SetBinary", f"{R}, const size_t sizes[], const unsigned char *const values[], size_t n_values", "n"),
    ("GetClock", f"{R}, bool values[]", "n"),
    ("SetClock", f"{R}, const bool values[]", "n"),
    ("GetNumberOfVariableDependencies", "reference of, size_t *n", ""),
    (
        "GetVariableDependencies",
        "reference of, size_t at_of[], reference on[], size_t at_on[], int kinds[], size_t n",
        "",
    ),
    (
        "GetDirectionalDerivative",
        "const reference z[], size_t n_z, const reference v[], size_t n_v, const double dv[], size_t n_dv,"
        " double dz[], size_t n_dz",
        "",
    ),
    (
        "GetAdjointDerivative",
        "const reference z[], size_t n_z, const reference v[], size_t n_v, const double dz[], size_t n_dz,"
        " double dv[], size_t n_dv",
        "",
    ),
    ("EnterConfigurationMode", "", ""),
    ("ExitConfigurationMode", "", ""),
    ("EnterEventMode", "", ""),
    ("EnterStepMode", "", ""),
    ("GetIntervalDecimal", f"{R}, double intervals[], int qualifiers[]", ""),
    ("GetIntervalFraction", f"{R}, uint64_t counters[], uint64_t resolutions[], int qualifiers[]", ""),
    ("GetShiftDecimal", f"{R}, double shifts[]", ""),
    ("GetShiftFraction", f"{R}, uint64_t counters[], uint64_t resolutions[]", ""),
    ("SetIntervalDecimal", f"{R}, const double intervals[]", ""),
    ("SetIntervalFraction", f"{R}, const uint64_t counters[], const uint64_t resolutions[]", ""),
    ("SetShiftDecimal", f"{R}, const double shifts[]", ""),
    ("SetShiftFraction", f"{R}, const uint64_t counters[], const uint64_t resolutions[]", ""),
    ("EvaluateDiscreteStates", "", ""),
    (
        "UpdateDiscreteStates",
        "bool *update, bool *end, bool *nominals, bool *values, bool *has_next, double *next",
        "",
    ),
    ("EnterContinuousTimeMode", "", ""),
    ("CompletedIntegratorStep", "bool no_return, bool *event, bool *end", ""),
    ("SetTime", "double time", ""),
    ("SetContinuousStates", "const double x[], size_t n", ""),
    ("GetContinuousStateDerivatives", "double dx[], size_t n", ""),
    ("GetEventIndicators", "double z[], size_t n", ""),
    ("GetContinuousStates", "double x[], size_t n", ""),
    ("GetNominalsOfContinuousStates", "double x[], size_t n", ""),
    ("GetNumberOfEventIndicators", "size_t *n", ""),
    ("GetNumberOfContinuousStates", "size_t *n", ""),
    ("GetOutputDerivatives", f"{R}, const int32_t orders[], double values[], size_t n_values", ""),
    ("ActivateModelPartition", "reference clock, double time", ""),
)
REFUSED = {"ModelExchange": "", "ScheduledExecution": ", function clock, function lock, function unlock"}
"""Other kinds of instances, and their further arguments."""


def source() -> str:
    return functions("fmi3", FIRST, OWN + "".join(map(_refused, REFUSED)), OTHERS)


def _refused(kind: str) -> str:
    more = REFUSED[kind]
    head = (
        f"SHOWN void *FMI(fmi3Instantiate{kind})(const char *name, const char *token, const char *resources,"
        f" bool visible, bool logging, void *environment, log_function logger{more})"
    )
    names = ("name", "token", "resources", "visible", "logging", "environment")
    unused = "".join(f"    (void){one};\n" for one in (*names, *more.replace(", function", "").split()))
    text = f"fmi3Instantiate{kind} was called; expected co-simulation"
    return (
        f"\n{head};\n{head} {{\n{unused}    if (logger != NULL) {{\n"
        f'        logger(environment, FAILED, "logStatusError", "{text}");\n    }}\n    return NULL;\n}}\n'
    )
