"""Attributes that a version of MuJoCo compiles or refuses, class defaults included,
next to what we make of them."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from backemf.errors import BackemfError
from backemf.mujoco.arrays import Arrays, arrays
from backemf.mujoco.attributes import DcMotorAttributes, compile_dcmotor
from backemf.mujoco.dcmotor import rules

PLAIN: dict[str, Any] = {"motorconst": (0.1,), "resistance": 2.0}

CASES: list[dict[str, Any]] = [
    # the motor constant and the resistance
    PLAIN,
    {"motorconst": (0.1, 0.2), "resistance": 2.0},
    {"motorconst": (0.0, 0.2), "resistance": 2.0},
    {"motorconst": (-0.1, 0.2), "resistance": 2.0},
    {"motorconst": (0.1, -0.2), "resistance": 2.0},
    {"motorconst": (0.0,), "resistance": 2.0},
    {"motorconst": (0.1,)},
    {"resistance": 2.0},
    {},
    {"nominal": (12.0, 2.0, 30.0)},
    {"nominal": (12.0, 2.0, 30.0), "damping": (0.01,)},
    {"nominal": (12.0, 2.0, 30.0), "damping": (10.0,)},
    {"nominal": (12.0, 2.0, 30.0), "resistance": 3.0, "damping": (0.01,)},
    {"nominal": (12.0, 2.0, 30.0), "resistance": 3.0, "damping": (1.0,)},
    {"nominal": (12.0, 2.0, 30.0), "resistance": 3.0},
    {"nominal": (12.0, 2.0, 30.0), "motorconst": (0.3,)},
    {"nominal": (12.0, 2.0, 30.0), "motorconst": (0.3, 0.2)},
    {"nominal": (12.0, 2.0), "motorconst": (0.3,)},
    {"nominal": (12.0, 2.0)},
    {"nominal": (12.0, 0.0, 30.0)},
    {"nominal": (12.0, 0.0, 30.0), "resistance": 1.5},
    {"nominal": (0.0, 2.0, 30.0)},
    # inductance, saturation
    {**PLAIN, "inductance": (0.01,)},
    {**PLAIN, "inductance": (0.0, 0.005)},
    {**PLAIN, "inductance": (0.01, 0.5)},
    {**PLAIN, "saturation": (3.0, 4.0, 5.0)},
    {**PLAIN, "saturation": (0.0, 4.0)},
    {**PLAIN, "saturation": (0.0, 0.0, 7.0)},
    {"nominal": (12.0, 2.0, 30.0), "saturation": (0.0, 4.0), "damping": (0.01,)},
    # thermal triples
    {**PLAIN, "thermal": (1.0, 2.0, 0.0, 0.004, 25.0, 20.0)},
    {**PLAIN, "thermal": (1.0, 0.0, 3.0, 0.004, 25.0, 20.0)},
    {**PLAIN, "thermal": (0.0, 2.0, 3.0, 0.004, 25.0, 20.0)},
    {**PLAIN, "thermal": (1.0, 2.0, 2.0)},
    {**PLAIN, "thermal": (1.0, 2.0, 3.0)},
    {**PLAIN, "thermal": (1.0,)},
    {**PLAIN, "thermal": (0.0, 1.0)},
    {**PLAIN, "thermal": (0.0, 0.0, 1.0)},
    {**PLAIN, "thermal": (0.0, 0.0, 0.0, 0.004, 25.0, 20.0)},
    # cogging, friction, gear
    {**PLAIN, "cogging": (0.1, 6.0, 0.3)},
    {**PLAIN, "lugre": (10.0, 1.0, 0.2, 0.3, 0.1)},
    {**PLAIN, "lugre": (0.0, 1.0, 0.2, 0.3, 0.1)},
    {**PLAIN, "damping": (0.1, 0.2, 0.3), "armature": 0.01, "gear": -3.0},
]

CONTROLLERS: dict[int, list[dict[str, Any]]] = {
    1: [
        {"input": "position", "controller": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), "ctrlrange": (-1.0, 2.0)},
        {"input": "velocity", "controller": (1.0, 2.0)},
        {"input": "voltage", "controller": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)},
        {"input": "pos"},
        {"input": "none"},
    ],
    2: [
        {"input": "pos", "controller": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), "ctrlrange": (-1.0, 2.0)},
        {
            "input": "pos vel ff voltage",
            "controller": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
            "ctrlrange": (-1.0, 2.0),
        },
        {"input": "vel", "controller": (1.0, 0.0, 3.0)},
        {"input": "vel", "controller": (1.0, 2.0, 3.0)},
        {"input": "ff", "controller": (-1.0, 0.0, -3.0, 2.0)},
        {"input": "voltage", "controller": (0.0, 0.0, 0.0, 0.0, 4.0, 5.0)},
        {"input": "voltage", "controller": (1.0,)},
        {"input": "voltage", "controller": (0.0, 0.0, 0.0, 4.0)},
        {"input": "none"},
        {"input": "none", "controller": (1.0,)},
        {"input": "vel pos"},
        {"input": "pos pos"},
        {"input": "position"},
        {"input": "bogus"},
    ],
}

DEFAULT: dict[str, Any] = {
    **PLAIN,
    "inductance": (0.01,),
    "thermal": (1.0, 2.0, 0.0, 0.004, 25.0, 20.0),
    "saturation": (0.0, 4.0, 7.0),
    "cogging": (0.1, 3.0, 0.2),
    "lugre": (10.0, 1.0, 0.2, 0.3, 0.1),
    "damping": (0.1, 0.2, 0.3),
    "armature": 0.01,
    "gear": 3.0,
    "ctrlrange": (-1.0, 1.0),
    "controller": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
}
"""A class default with everything, for children to inherit from."""

CHILDREN: list[dict[str, Any]] = [
    {},
    {"resistance": 4.0},
    {"motorconst": (0.3,)},
    {"motorconst": (0.0, 0.3)},
    {"nominal": (12.0, 2.0, 30.0)},
    {"nominal": (12.0, 2.0, 30.0), "motorconst": (0.0, 0.0), "resistance": 0.0},
    {"saturation": (0.0, 8.0)},
    {"saturation": (1.0,)},
    {"saturation": (0.0,)},
    {"saturation": (0.0, 0.0, 9.0)},
    {"saturation": (2.0, 0.0, 0.0)},
    {"inductance": (0.02,)},
    {"inductance": (0.0,)},
    {"inductance": (0.0, 0.0)},
    {"thermal": (5.0,)},
    {"thermal": (0.0, 2.0, 7.0)},
    {"thermal": (0.0, 0.0, 7.0)},
    {"thermal": (0.0, 0.0, 0.0)},
    {"lugre": (20.0,)},
    {"lugre": (0.0,)},
    {"cogging": (0.0,)},
    {"controller": (9.0,)},
    {"controller": (9.0, 0.0, 0.0, 0.0, 0.0, 0.0)},
    {"damping": (0.5,)},
    {"armature": 0.0},
    {"gear": 5.0},
    {"ctrlrange": (-2.0, 2.0)},
]

REFUSED_HERE_ONLY = ({"motorconst": (0.0,), "resistance": 2.0, "input": "none"},)
"""From 4.0 on the engine takes this for friction without a winding; a dcmotor here always has one."""


def table(version: str) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """(attributes, those of the class above or None)."""
    era = rules(version).era
    default = {**DEFAULT, "input": {1: "position", 2: "pos"}[era]}
    return [
        *((case, None) for case in CASES),
        *(({**PLAIN, **control}, None) for control in CONTROLLERS[era]),
        *((child, default) for child in CHILDREN),
        ({"resistance": 2.0}, {"motorconst": (0.1,)}),
        *(((case, None) for case in REFUSED_HERE_ONLY) if era == 2 else ()),
    ]


def engine_arrays(attributes: DcMotorAttributes, default: DcMotorAttributes | None) -> Arrays | str:
    """What the installed engine compiles, or its error."""
    above = "" if default is None else f"<default>{default.xml()}</default>"
    try:
        m = mujoco.MjModel.from_xml_string(
            f"""<mujoco>{above}<worldbody><body><joint name="j"/><geom size="0.1"/></body></worldbody>
            <actuator>{attributes.xml(joint="j")}</actuator></mujoco>"""
        )
    except ValueError as error:
        return " ".join(str(error).split())
    return Arrays(
        gainprm=m.actuator_gainprm[0, :9],
        dynprm=m.actuator_dynprm[0, :9],
        biasprm=m.actuator_biasprm[0, :6],
        forcerange=m.actuator_forcerange[0],
        forcelimited=bool(m.actuator_forcelimited[0]),
        damping=float(m.actuator_damping[0]),
        dampingpoly=m.actuator_dampingpoly[0],
        armature=float(m.actuator_armature[0]),
        gear=float(m.actuator_gear[0, 0]),
        ctrlrange=m.actuator_ctrlrange.reshape(-1, 2),
        ctrllimited=np.array(m.actuator_ctrllimited, dtype=bool),
        ctrlspec=int(m.actuator_ctrlspec[0]) if hasattr(m, "actuator_ctrlspec") else 0,
    )


def disagreement(attributes: dict[str, Any], default: dict[str, Any] | None, version: str) -> str | None:
    """None where engine and we agree: equal numbers, or an error on both sides."""
    mine_of = DcMotorAttributes(**attributes)
    above = None if default is None else DcMotorAttributes(**default)
    theirs = engine_arrays(mine_of, above)
    try:
        mine: Arrays | str = arrays(compile_dcmotor(mine_of, version, above))
    except BackemfError as error:
        mine = str(error)
    if isinstance(mine, str) or isinstance(theirs, str):
        if isinstance(mine, str) and isinstance(theirs, str):
            return None
        return (
            None
            if attributes in REFUSED_HERE_ONLY
            else f"{attributes} over {default}: engine {theirs}, here {mine}"
        )
    if (
        theirs.biasprm[0] == 0
    ):  # without an amplitude the engine keeps poles and phase, which then mean nothing
        theirs.biasprm[1:3] = 0.0
    for name, a, b in zip(Arrays._fields, theirs, mine, strict=True):
        if not np.allclose(a, b, rtol=1e-15, atol=0.0):
            return f"{attributes} over {default}: {name} is {a} in the engine, {b} here"
    return None
