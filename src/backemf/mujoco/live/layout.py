"""Where things lie in the installed MuJoCo's mjModel and mjData: found by looking for their addresses,
because
every version lays them out anew."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import NotAvailable
from ..arrays import load_mujoco
from .places import FUNCTIONS, OF_DATA, OF_MODEL

PROBE = """<mujoco><option timestep="{h}" gravity="0 0 -{g}"/><worldbody>
<body><joint name="a" type="hinge"/><geom size=".1"/>
<body pos="1 0 0"><joint name="b" type="hinge" damping="1"/><geom size=".1"/></body></body></worldbody>
<actuator><general name="a" joint="a" dyntype="user" actdim="3" user="1 2"/>
<general name="b" joint="b" dyntype="user" actdim="2" user="1 2"/></actuator></mujoco>"""
STEPS = 0.001234567, 0.0017654321
"""Time steps of two probes: numbers that stand nowhere else."""
FIRST, MOST = 256, 1 << 18
"""Words looked at: more and more until everything was found, so that nothing beyond the structure is read."""


class Layout(dict[str, int]):
    """Offsets [bytes] by name, and the widths of two arrays."""


@functools.cache
def layout() -> Layout:
    """Of the MuJoCo that is installed."""
    mujoco = load_mujoco()
    both = [_of_probe(mujoco, h) for h in STEPS]
    if both[0] != both[1]:
        raise NotAvailable(
            f"the layout of MuJoCo {mujoco.__version__}'s structures could not be found; attach works"
            f" from 3.11"
            " to 4.0: install one of these, or export to a file instead"
        )
    library = ctypes.CDLL(str(_library(mujoco)))
    functions = {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in FUNCTIONS}
    return Layout({**both[0], **functions})  # type: ignore[dict-item]  (no function is at address None)


def _library(mujoco: Any) -> Path:
    """MuJoCo's own library, which its Python package brings and has loaded."""
    folder = Path(mujoco.__file__).parent
    files = [p for pattern in ("libmujoco*", "mujoco.dll") for p in sorted(folder.glob(pattern))]
    if not files:
        raise NotAvailable(
            f"MuJoCo's library is not in {folder.name}/ of the installed package; reinstall mujoco"
        )
    return files[0]


def _of_probe(mujoco: Any, h: float) -> Layout:
    model = mujoco.MjModel.from_xml_string(PROBE.format(h=repr(h), g=repr(1e3 * h)))
    data = mujoco.MjData(model)
    places = {
        **_found(mujoco, data, {name: getattr(data, name).ctypes.data for name in OF_DATA}),
        **_found(mujoco, model, {name: getattr(model, name).ctypes.data for name in OF_MODEL}),
        **_found(mujoco, model, {"timestep": int(np.float64(h).view(np.uint64))}),
    }
    widths = {"n_dynprm": model.actuator_dynprm.shape[1], "n_trnid": model.actuator_trnid.shape[1]}
    return Layout({**places, **widths})


def _found(mujoco: Any, owner: Any, wanted: dict[str, int]) -> dict[str, int]:
    """Where these 64-bit words stand in a structure, each exactly once."""
    n, places = FIRST, dict[str, np.ndarray]()
    while n <= MOST:
        pointer = ctypes.cast(owner._address, ctypes.POINTER(ctypes.c_uint64))
        words = np.ctypeslib.as_array(pointer, shape=(n,))
        places = {name: np.flatnonzero(words == value) for name, value in wanted.items()}
        if all(len(at) for at in places.values()):
            return {name: 8 * int(at[0]) for name, at in places.items()}
        n *= 2
    missing = ", ".join(name for name, at in places.items() if not len(at))
    raise NotAvailable(
        f"{missing} could not be found in MuJoCo {mujoco.__version__}; attach works from 3.11 to 4.0: install"
        " one of these, or export to a file instead"
    )
