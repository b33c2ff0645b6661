"""Functions that an FMU has in every version of the standard; @...@ are filled in."""

from collections.abc import Sequence

Other = tuple[str, str, str]
"""A function that must be there and has nothing to do: name, arguments, and what it answers."""
WORDS = {
    "fmi2": {
        "FMI": "FMI2",
        "fmi": "fmi2",
        "boolean": "int",
        "state": "state",
        "Deserialize": "DeSerialize",
        "byte": "char",
    },
    "fmi3": {
        "FMI": "FMI3",
        "fmi": "fmi3",
        "boolean": "bool",
        "state": "State",
        "Deserialize": "Deserialize",
        "byte": "unsigned char",
    },
}

HEAD = """
#ifdef @FMI@_FUNCTION_PREFIX
#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#define FMI(name) JOINED(@FMI@_FUNCTION_PREFIX, name)
#else
#define FMI(name) name
#endif

typedef int status;
typedef @boolean@ boolean;
typedef unsigned int reference;
"""

SHARED = """
SHOWN void FMI(@fmi@FreeInstance)(void *c);
SHOWN void FMI(@fmi@FreeInstance)(void *c) {
    removed(c);
}

SHOWN status FMI(@fmi@SetDebugLogging)(void *c, boolean on, size_t n, const char *const categories[]);
SHOWN status FMI(@fmi@SetDebugLogging)(void *c, boolean on, size_t n, const char *const categories[]) {
    (void)c;
    (void)on;
    (void)n;
    (void)categories;
    return FINE;
}

SHOWN status FMI(@fmi@ExitInitializationMode)(void *c);
SHOWN status FMI(@fmi@ExitInitializationMode)(void *c) {
    instance *one = c;
    if (one->now.phase != INITIALIZING) {
        return said(one, FAILED, "initialization ends that was not begun");
    }
    if (begun(one) != FINE) {
        return FAILED;
    }
    one->now.phase = STEPPING;
    return FINE;
}

SHOWN status FMI(@fmi@Terminate)(void *c);
SHOWN status FMI(@fmi@Terminate)(void *c) {
    ((instance *)c)->now.phase = ENDED;
    return FINE;
}

SHOWN status FMI(@fmi@Reset)(void *c);
SHOWN status FMI(@fmi@Reset)(void *c) {
    started(&((instance *)c)->now);
    return FINE;
}

SHOWN status FMI(@fmi@GetFMU@state@)(void *c, void **state);
SHOWN status FMI(@fmi@GetFMU@state@)(void *c, void **state) {
    return saved(c, state);
}

SHOWN status FMI(@fmi@SetFMU@state@)(void *c, void *state);
SHOWN status FMI(@fmi@SetFMU@state@)(void *c, void *state) {
    return restored(c, state);
}

SHOWN status FMI(@fmi@FreeFMU@state@)(void *c, void **state);
SHOWN status FMI(@fmi@FreeFMU@state@)(void *c, void **state) {
    (void)c;
    free(*state);
    *state = NULL;
    return FINE;
}

SHOWN status FMI(@fmi@SerializedFMU@state@Size)(void *c, void *state, size_t *size);
SHOWN status FMI(@fmi@SerializedFMU@state@Size)(void *c, void *state, size_t *size) {
    (void)c;
    (void)state;
    *size = WRITTEN;
    return FINE;
}

SHOWN status FMI(@fmi@SerializeFMU@state@)(void *c, void *state, @byte@ bytes[], size_t size);
SHOWN status FMI(@fmi@SerializeFMU@state@)(void *c, void *state, @byte@ bytes[], size_t size) {
    return written(c, state, bytes, size);
}

SHOWN status FMI(@fmi@@Deserialize@FMU@state@)(void *c, const @byte@ bytes[], size_t size, void **state);
SHOWN status FMI(@fmi@@Deserialize@FMU@state@)(void *c, const @byte@ bytes[], size_t size, void **state) {
    return reread(c, bytes, size, state);
}
"""


def functions(version: str, first: str, own: str, others: Sequence[Other]) -> str:
    """The C of all functions of a version: what `first` declares, those of every version, its own,
    and those that have nothing to do."""
    text = HEAD + first + SHARED + own + "".join(_stub(version, *row) for row in others)
    for word, meant in WORDS[version].items():
        text = text.replace(f"@{word}@", meant)
    return text


def _stub(version: str, name: str, arguments: str, answer: str) -> str:
    head = f"SHOWN status FMI({version}{name})(void *c{', ' if arguments else ''}{arguments})"
    names = [one.split()[-1].strip("*").removesuffix("[]") for one in arguments.split(", ") if one]
    counted = answer == "n"
    unused = "".join(f"    (void){one};\n" for one in names if not (counted and one == "n"))
    returned = {
        "n": "no_others(c, n)",
        "discarded": "DISCARDED",
        "": f'said(c, FAILED, "{version}{name} was called; the description says that it is not offered")',
    }[answer]
    if answer == "discarded":
        unused = "    (void)c;\n" + unused
    return f"\n{head};\n{head} {{\n{unused}    return {returned};\n}}\n"
