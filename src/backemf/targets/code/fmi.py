"""The variables of an FMU: their order is that of the arrays in its C, and each one's place its reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from ... import __version__
from ...physics.actuator import Actuator, linear_unit
from ...physics.quantity import quantities
from ..reference_motions import reference_inertia
from ..result import Request, number, xml_comment
from ..template import fill
from .c import ActuatorFrame
from .c_language import literal, quote


class Variable(NamedTuple):
    """One variable: `kind` is time, fixed, tunable (both parameters), input or output."""

    name: str
    kind: str
    unit: str
    about: str
    start: float = 0.0
    low: float = -math.inf
    open: bool = False
    """Whether it must be above `low`."""
    high: float = math.inf

    @property
    def row(self) -> str:
        """As a row of the C's table."""
        bounds = f"{int(self.open)}, {literal(self.low)}, {literal(self.high)}"
        return f"    {{{quote(self.name)}, {quote(self.unit)}, {self.kind.upper()}, {bounds}}},"


ASKED = {
    "position_target": ("rad", "position that is asked for"),
    "velocity_target": ("rad/s", "velocity that is asked for"),
    "torque_target": ("N m", "torque at the output that is asked for"),
    "voltage_target": ("V", "voltage that is asked for"),
    "current_target": ("A", "current that is asked for"),
}
SHOWN = {
    "position": ("rad", "of the joint"),
    "velocity": ("rad/s", "of the joint"),
    "effort": ("N m", "mean torque of the actuator on the joint over the last inner step, friction included"),
    "voltage": ("V", "at the winding, for the command as it arrived last"),
    "current": ("A", "in the winding"),
    "torque": ("N m", "of the motor at the output, before friction"),
    "temperature": ("degC", "of the winding"),
}


def variables(actuator: Actuator, request: Request, frame: ActuatorFrame) -> list[Variable]:
    """Time, own numbers, parameters, inputs, outputs, in this order.

    Args:
        actuator: whose parameters they are, at the joint or the motor as their paths say.
        request: whose time step is the longest inner one, and whose load sizes the inertia.
        frame: the actuator as C, with its targets and signals.

    Returns:
        The variables; each one's place is its reference.
    """

    def unit(text: str) -> str:
        return linear_unit(text) if actuator.motion == "linear" else text

    carried = reference_inertia(actuator, request)
    own = [
        Variable("time", "time", "s", "time of the simulation"),
        Variable("step", "tunable", "s", "longest inner step", request.timestep, 0.0, True),
        Variable("inertia", "tunable", unit("kg m^2"), "what the joint carries, no rotor", carried, 0.0),
        Variable("start.position", "fixed", unit("rad"), "position at the start"),
        Variable("start.velocity", "fixed", unit("rad/s"), "velocity at the start"),
    ]
    inputs = [
        Variable("load", "input", unit("N m"), "every other torque on the joint"),
        *(Variable(name, "input", unit(ASKED[name][0]), ASKED[name][1]) for name in frame.targets),
    ]
    seen = ("position", "velocity", "effort", *frame.signals)
    outputs = [Variable(name, "output", unit(SHOWN[name][0]), SHOWN[name][1]) for name in seen]
    return [*own, *_parameters(actuator), *inputs, *outputs]


def _parameters(actuator: Actuator) -> list[Variable]:
    rows = []
    for path, field, value in quantities(actuator):
        meta, (owner, _, last) = field.metadata, path.rpartition(".")
        above, least, most = meta["above"], meta["least"], meta["most"]
        low = -math.inf if above is None and least is None else float(least if above is None else above)
        about = f"{meta['symbol']}: {last.replace('_', ' ')} of the {' '.join(reversed(owner.split('.')))}"
        if path == "gearbox.n_motors":
            about = f"{meta['symbol']}: number of motors"
        unit = actuator.unit(path)
        bounds = (low, above is not None, math.inf if most is None else float(most))
        rows.append(Variable(path, "tunable", unit, about, float(value), *bounds))
    return rows


def ordered_pairs(actuator: Actuator) -> list[tuple[int, int]]:
    """Places of parameters, the second of which is never smaller."""
    paths = [*actuator.parameters]
    pairs = [(actuator.over(path), path) for path in paths]
    return [(paths.index(low), paths.index(high)) for low, high in pairs if low in paths]


BASE = {
    "rad": {"rad": 1},
    "m": {"m": 1},
    "s": {"s": 1},
    "kg": {"kg": 1},
    "A": {"A": 1},
    "K": {"K": 1},
    "degC": {"K": 1},
    "N": {"kg": 1, "m": 1, "s": -2},
    "J": {"kg": 1, "m": 2, "s": -2},
    "W": {"kg": 1, "m": 2, "s": -3},
    "V": {"kg": 1, "m": 2, "s": -3, "A": -1},
    "ohm": {"kg": 1, "m": 2, "s": -3, "A": -2},
    "H": {"kg": 1, "m": 2, "s": -2, "A": -2},
}
"""Exponents of the units that ours are made of."""
ZERO_CELSIUS = 273.15
"""0 degC in kelvin, by definition (BIPM, SI Brochure)."""


def exponents(unit: str) -> dict[str, int] | None:
    """Of the base units in "N m/(rad s)"; None for what is no physical unit, such as a firmware's command."""
    found: dict[str, int] = {}
    for sign, side in zip((1, -1), unit.split("/"), strict=False):
        for word in side.strip("()").split():
            name, _, power = word.partition("^")
            if name == "1":
                continue
            if name not in BASE:
                return None
            for base, n in BASE[name].items():
                found[base] = found.get(base, 0) + sign * n * int(power or 1)
    return {base: n for base, n in found.items() if n}


CAUSALITY = {
    "time": ("independent", "continuous"),
    "fixed": ("parameter", "fixed"),
    "tunable": ("parameter", "tunable"),
    "input": ("input", "continuous"),
    "output": ("output", "continuous"),
}
"""Of each kind of variable: causality and variability."""


def description(
    request: Request,
    rows: Sequence[Variable],
    *,
    identifier: str,
    token: str,
    about: str,
    sources: Sequence[str],
    top: Sequence[str],
) -> str:
    """The text of modelDescription.xml.

    Args:
        request: for which version of the standard, joint and time step.
        rows: the variables, in the order of their references.
        identifier: the beginning of the names in C, and of the binary's.
        token: ties the description to the binary.
        about: the actuator in words.
        sources: the files to compile.
        top: lines of its header.

    Returns:
        The text.
    """
    version, two = request.version, request.version == "2.0"
    head = {"fmiVersion": version, "modelName": request.joint}
    head |= {"guid" if two else "instantiationToken": token, "description": about}
    head |= {"generationTool": f"backemf {__version__}", "variableNamingConvention": "structured"}
    state = WORDS[version]["state"]
    can = {"modelIdentifier": identifier, "canHandleVariableCommunicationStepSize": "true"}
    can |= {f"canGetAndSetFMU{state}": "true", f"canSerializeFMU{state}": "true"}
    if two:
        can["canNotUseMemoryManagementFunctions"] = "true"
    files = "".join(f"      <File{_to_xml({'name': name})}/>\n" for name in sources)
    inside = f">\n    <SourceFiles>\n{files}    </SourceFiles>\n  </CoSimulation>\n" if two else "/>\n"
    experiment = {"startTime": "0", "stopTime": "1", "stepSize": number(request.timestep)}
    variables = "".join(_variable(k, row, two) for k, row in enumerate(rows))
    errors = _to_xml({"name": "logStatusError", "description": "what was wrong, and what was expected"})
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"{xml_comment(top)}<fmiModelDescription{_to_xml(head)}>\n"
        f"  <CoSimulation{_to_xml(can)}{inside}"
        f"  <UnitDefinitions>\n{_units(rows)}  </UnitDefinitions>\n"
        f"  <LogCategories>\n    <Category{errors}/>\n  </LogCategories>\n"
        f"  <DefaultExperiment{_to_xml(experiment)}/>\n"
        f"  <ModelVariables>\n{variables}  </ModelVariables>\n"
        f"  <ModelStructure>\n{_structure(rows, two)}  </ModelStructure>\n"
        "</fmiModelDescription>\n"
    )


def build_description(identifier: str, sources: Sequence[str]) -> str:
    """How the sources become a binary, for FMI 3.0."""
    files = "".join(f"      <SourceFile{_to_xml({'name': name})}/>\n" for name in sources)
    build = _to_xml({"modelIdentifier": identifier})
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<fmiBuildDescription fmiVersion="3.0">\n'
        f'  <BuildConfiguration{build}>\n    <SourceFileSet language="C99">\n{files}'
        '    </SourceFileSet>\n    <Library name="m" external="true"/>\n'
        "  </BuildConfiguration>\n</fmiBuildDescription>\n"
    )


def _to_xml(attributes: Mapping[str, str]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())


def _units(rows: Sequence[Variable]) -> str:
    lines = []
    for unit in dict.fromkeys(row.unit for row in rows if row.unit != "1"):
        base = exponents(unit)
        if base is None:
            lines.append(f"    <Unit{_to_xml({'name': unit})}/>\n")
            continue
        made = {name: str(n) for name, n in base.items()}
        made |= {"offset": number(ZERO_CELSIUS)} if unit == "degC" else {}
        lines.append(f"    <Unit{_to_xml({'name': unit})}>\n      <BaseUnit{_to_xml(made)}/>\n    </Unit>\n")
    return "".join(lines)


def _variable(reference: int, row: Variable, two: bool) -> str:
    """What a variable is, and what its value is: version 2.0 says that inside it."""
    causality, variability = CAUSALITY[row.kind]
    about = {"name": row.name, "valueReference": str(reference), "description": row.about}
    about |= {"causality": causality, "variability": variability}
    value = {"unit": row.unit} if row.unit != "1" else {}
    value |= {"min": number(row.low)} if math.isfinite(row.low) else {}
    value |= {"max": number(row.high)} if math.isfinite(row.high) else {}
    if row.kind == "output":
        about["initial"] = "calculated"
    elif row.kind != "time":
        value["start"] = number(row.start)
    if two:
        inside = f"      <Real{_to_xml(value)}/>\n"
        return f"    <ScalarVariable{_to_xml(about)}>\n{inside}    </ScalarVariable>\n"
    return f"    <Float64{_to_xml({**about, **value})}/>\n"


def _structure(rows: Sequence[Variable], two: bool) -> str:
    """The outputs; at a communication point they depend on no input, at the start on everything."""
    at = [k for k, row in enumerate(rows) if row.kind == "output"]
    if two:  # counted from 1, in the order of the variables
        lines = [f'      <Unknown index="{k + 1}" dependencies=""/>\n' for k in at]
        first = [f'      <Unknown index="{k + 1}"/>\n' for k in at]
        return (
            f"    <Outputs>\n{''.join(lines)}    </Outputs>\n"
            f"    <InitialUnknowns>\n{''.join(first)}    </InitialUnknowns>\n"
        )
    lines = [f'    <Output valueReference="{k}" dependencies=""/>\n' for k in at]
    return "".join(lines) + "".join(f'    <InitialUnknown valueReference="{k}"/>\n' for k in at)


Other = tuple[str, str, str]
"""Functions that must be there and have nothing to do: names, arguments, and what they answer."""
WORDS = {
    "2.0": {"boolean": "int", "state": "state", "Deserialize": "DeSerialize", "byte": "char"},
    "3.0": {"boolean": "bool", "state": "State", "Deserialize": "Deserialize", "byte": "unsigned char"},
}
"""What the versions spell otherwise in functions that both have."""
KINDS = {"Float32": "float", "Int8": "signed char", "UInt8": "unsigned char", "Int16": "short"}
KINDS |= {"UInt16": "unsigned short", "Int32": "int32_t", "UInt32": "uint32_t", "Int64": "int64_t"}
KINDS |= {"UInt64": "uint64_t", "Boolean": "bool"}
"""Types of variables that it has none of, in C."""
R = "const reference r[], size_t n"
Z = "const reference z[], size_t n_z, const reference v[], size_t n_v"
OTHERS: dict[str, tuple[Other, ...]] = {
    "2.0": (
        ("GetInteger", f"{R}, int values[]", "n"),
        ("GetBoolean", f"{R}, boolean values[]", "n"),
        ("GetString", f"{R}, const char *values[]", "n"),
        ("SetInteger", f"{R}, const int values[]", "n"),
        ("SetBoolean", f"{R}, const boolean values[]", "n"),
        ("SetString", f"{R}, const char *const values[]", "n"),
        ("SetRealInputDerivatives", f"{R}, const int order[], const double v[]", ""),
        ("GetRealOutputDerivatives", f"{R}, const int order[], double v[]", ""),
        ("GetDirectionalDerivative", f"{Z}, const double dv[], double dz[]", ""),
        ("CancelStep", "", ""),
        ("GetStatus", "int kind, status *value", "discarded"),
        ("GetIntegerStatus", "int kind, int *value", "discarded"),
        ("GetBooleanStatus", "int kind, boolean *value", "discarded"),
        ("GetStringStatus", "int kind, const char **value", "discarded"),
    ),
    "3.0": (
        *((f"Get{kind}", f"{R}, {c} values[], size_t n_values", "n") for kind, c in KINDS.items()),
        *((f"Set{kind}", f"{R}, const {c} values[], size_t n_values", "n") for kind, c in KINDS.items()),
        ("GetString", f"{R}, const char *values[], size_t n_values", "n"),
        ("SetString", f"{R}, const char *const values[], size_t n_values", "n"),
        ("GetBinary", f"{R}, size_t sizes[], const unsigned char *values[], size_t n_values", "n"),
        (
            "SetBinary",
            f"{R}, const size_t sizes[], const unsigned char *const values[], size_t n_values",
            "n",
        ),
        ("GetClock", f"{R}, bool values[]", "n"),
        ("SetClock", f"{R}, const bool values[]", "n"),
        ("GetNumberOfVariableDependencies", "reference of, size_t *n", ""),
        (
            "GetVariableDependencies",
            "reference of, size_t at_of[], reference on[], size_t at_on[], int kinds[], size_t n",
            "",
        ),
        ("GetDirectionalDerivative", f"{Z}, const double dv[], size_t n_dv, double dz[], size_t n_dz", ""),
        ("GetAdjointDerivative", f"{Z}, const double dz[], size_t n_dz, double dv[], size_t n_dv", ""),
        ("EnterConfigurationMode ExitConfigurationMode EnterEventMode EnterStepMode", "", ""),
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
        ("GetContinuousStates GetNominalsOfContinuousStates", "double x[], size_t n", ""),
        ("GetNumberOfEventIndicators GetNumberOfContinuousStates", "size_t *n", ""),
        ("GetOutputDerivatives", f"{R}, const int32_t orders[], double values[], size_t n_values", ""),
        ("ActivateModelPartition", "reference clock, double time", ""),
    ),
}
"""Of each version; names and arguments are the standard's (fmi-standard.org), as the headers that FMPy 0.3.32
ships have them."""
REFUSED = {"ModelExchange": "", "ScheduledExecution": ", function clock, function lock, function unlock"}
"""Other kinds of instances, and their further arguments."""


def functions(version: str, **words: object) -> str:
    """The C of an FMU's functions: those of every version, its own, and those that have nothing to do.

    Args:
        version: Of the standard, "2.0" or "3.0".
        **words: What the templates `fmi.c` and `fmi2.c` or `fmi3.c` have places for.

    Returns:
        The text of fmu.c.
    """
    fmi = f"fmi{version[0]}"
    rows = [(name, *row) for names, *row in OTHERS[version] for name in names.split()]
    others = "".join(_stub(fmi, *row) for row in rows)
    if version == "3.0":
        others = "".join(map(_refusing_function, REFUSED)) + others
    return fill("fmi.c", fmi=fmi, FMI=fmi.upper(), **WORDS[version], **words) + fill(
        f"{fmi}.c", others=others
    )


def _refusing_function(kind: str) -> str:
    more = REFUSED[kind]
    head = (
        f"OFFER(void *, fmi3Instantiate{kind}, (const char *name, const char *token, const char *resources,"
        f" bool visible, bool logging, void *environment, log_function logger{more}))"
    )
    names = ("name", "token", "resources", "visible", "logging", "environment")
    unused = "".join(f"    (void){one};\n" for one in (*names, *more.replace(", function", "").split()))
    text = f"fmi3Instantiate{kind} was called; expected co-simulation"
    return (
        f"\n{head} {{\n{unused}    if (logger != NULL) {{\n"
        f'        logger(environment, FAILED, "logStatusError", "{text}");\n    }}\n    return NULL;\n}}\n'
    )


def _stub(version: str, name: str, arguments: str, answer: str) -> str:
    head = f"OFFER(status, {version}{name}, (void *c{', ' if arguments else ''}{arguments}))"
    names = [one.split()[-1].strip("*").removesuffix("[]") for one in arguments.split(", ") if one]
    counted = answer == "n"
    unused = "".join(f"    (void){name};\n" for name in names if not (counted and name == "n"))
    returned = {
        "n": "no_others(c, n)",
        "discarded": "DISCARDED",
        "": f'said(c, FAILED, "{version}{name} was called; the description says that it is not offered")',
    }[answer]
    if answer == "discarded":
        unused = "    (void)c;\n" + unused
    return f"\n{head} {{\n{unused}    return {returned};\n}}\n"
