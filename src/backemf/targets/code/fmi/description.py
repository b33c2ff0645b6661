"""modelDescription.xml and buildDescription.xml of an FMU, in either version of the standard."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import quoteattr

from ...result import number
from .variables import ZERO_CELSIUS, Variable, exponents

CAUSALITY = {
    "time": ("independent", "continuous"),
    "fixed": ("parameter", "fixed"),
    "tunable": ("parameter", "tunable"),
    "input": ("input", "continuous"),
    "output": ("output", "continuous"),
}
"""Of each kind of variable: causality and variability."""


def description(
    version: str,
    rows: Sequence[Variable],
    *,
    model: str,
    identifier: str,
    token: str,
    tool: str,
    about: str,
    sources: Sequence[str],
    comment: str,
    step: float,
) -> str:
    """The text of modelDescription.xml."""
    two = version == "2.0"
    head = {"fmiVersion": version, "modelName": model, "guid" if two else "instantiationToken": token}
    head |= {"description": about, "generationTool": tool, "variableNamingConvention": "structured"}
    saved = (
        "canGetAndSetFMUstate canSerializeFMUstate" if two else "canGetAndSetFMUState canSerializeFMUState"
    )
    can = {"modelIdentifier": identifier, "canHandleVariableCommunicationStepSize": "true"}
    can |= dict.fromkeys(saved.split(), "true")
    if two:
        can["canNotUseMemoryManagementFunctions"] = "true"
    files = "".join(f"      <File{_written({'name': name})}/>\n" for name in sources)
    inside = f">\n    <SourceFiles>\n{files}    </SourceFiles>\n  </CoSimulation>\n" if two else "/>\n"
    experiment = {"startTime": "0", "stopTime": "1", "stepSize": number(step)}
    variables = "".join((_two if two else _three)(k, row) for k, row in enumerate(rows))
    errors = _written({"name": "logStatusError", "description": "what was wrong, and what was expected"})
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"{comment}<fmiModelDescription{_written(head)}>\n"
        f"  <CoSimulation{_written(can)}{inside}"
        f"  <UnitDefinitions>\n{_units(rows)}  </UnitDefinitions>\n"
        f"  <LogCategories>\n    <Category{errors}/>\n  </LogCategories>\n"
        f"  <DefaultExperiment{_written(experiment)}/>\n"
        f"  <ModelVariables>\n{variables}  </ModelVariables>\n"
        f"  <ModelStructure>\n{_structure(rows, two)}  </ModelStructure>\n"
        "</fmiModelDescription>\n"
    )


def build_description(identifier: str, sources: Sequence[str]) -> str:
    """How the sources become a binary, for FMI 3.0."""
    files = "".join(f"      <SourceFile{_written({'name': name})}/>\n" for name in sources)
    build = _written({"modelIdentifier": identifier})
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<fmiBuildDescription fmiVersion="3.0">\n'
        f'  <BuildConfiguration{build}>\n    <SourceFileSet language="C99">\n{files}'
        '    </SourceFileSet>\n    <Library name="m" external="true"/>\n'
        "  </BuildConfiguration>\n</fmiBuildDescription>\n"
    )


def _written(attributes: Mapping[str, str]) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in attributes.items())


def _units(rows: Sequence[Variable]) -> str:
    lines = []
    for unit in dict.fromkeys(row.unit for row in rows if row.unit != "1"):
        base = exponents(unit)
        if base is None:
            lines.append(f"    <Unit{_written({'name': unit})}/>\n")
            continue
        made = {name: str(n) for name, n in base.items()}
        made |= {"offset": number(ZERO_CELSIUS)} if unit == "degC" else {}
        lines.append(
            f"    <Unit{_written({'name': unit})}>\n      <BaseUnit{_written(made)}/>\n    </Unit>\n"
        )
    return "".join(lines)


def _traits(row: Variable) -> tuple[dict[str, str], dict[str, str]]:
    """(what a variable is, what its value is)."""
    causality, variability = CAUSALITY[row.kind]
    about = {"description": row.about, "causality": causality, "variability": variability}
    value = {"unit": row.unit} if row.unit != "1" else {}
    value |= {"min": number(row.low)} if math.isfinite(row.low) else {}
    value |= {"max": number(row.high)} if math.isfinite(row.high) else {}
    if row.kind == "output":
        about["initial"] = "calculated"
    elif row.kind != "time":
        value["start"] = number(row.start)
    return about, value


def _two(reference: int, row: Variable) -> str:
    about, value = _traits(row)
    variable = {"name": row.name, "valueReference": str(reference), **about}
    return (
        f"    <ScalarVariable{_written(variable)}>\n      <Real{_written(value)}/>\n    </ScalarVariable>\n"
    )


def _three(reference: int, row: Variable) -> str:
    about, value = _traits(row)
    variable = {"name": row.name, "valueReference": str(reference), **about, **value}
    return f"    <Float64{_written(variable)}/>\n"


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
