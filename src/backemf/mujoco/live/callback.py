"""The functions that MuJoCo calls, installed once a process, the structures that they know, and where things
lie in the installed MuJoCo's mjModel and mjData: found by looking for their addresses, because every version
lays them out anew."""

from __future__ import annotations

import ctypes
import functools
import threading
from pathlib import Path
from typing import Any

import numpy as np

from ...engine.compile import cache, compiler
from ...engine.compile.compiler import Structure
from ...engine.hosted_system import ANEW, LONG_DELAY, LiveSystem
from ...errors import InvalidValue, NotAvailable
from ..arrays import load_mujoco
from .places import FUNCTIONS, HEADING, LAYOUT, OF_DATA, OF_MODEL, ROW

MAGIC = 0xBACEF
"""By which our actuators are known among those of a model."""
MOST = 256
"""Structures in one process; a structure is a few hundred bytes, and a robot has a few."""
_one_at_a_time = threading.Lock()


class _Table:
    """Where everything lies, at an address that stays, with room for more structures."""

    def __init__(self) -> None:
        self.long_delay = ctypes.create_string_buffer((LONG_DELAY.removesuffix("%s") + ANEW).encode())
        places = {**layout(), "magic": MAGIC, "long_delay": ctypes.addressof(self.long_delay)}
        self.n_layout = len(LAYOUT)
        self.numbers = np.zeros(self.n_layout + 1 + ROW * MOST, np.int64)
        self.numbers[: self.n_layout] = [places[name] for name in LAYOUT]
        self.known: dict[int, Any] = {}
        """By hash, the compiled functions of every structure, which must stay alive."""

    def add(self, number: int, functions: Any, system: LiveSystem) -> None:
        if number in self.known:
            return
        if len(self.known) == MOST:
            raise InvalidValue(
                f"{MOST} kinds of actuators are attached already; expected no more in one process"
            )
        at = self.n_layout + 1 + ROW * len(self.known)
        places = (system.states.index("position"), system.states.index("velocity"))
        late = len(system.actuator.drive.targets)
        sizes = (len(system.states), len(system.inputs) - 3)
        shared = functions.demand.address if "sag" in system.inputs else 0
        step, begin = functions.step.address, functions.begin.address
        self.numbers[at : at + ROW] = [number, step, *sizes, *places, late, begin, shared]
        self.known[number] = functions
        self.numbers[self.n_layout] = len(self.known)  # last: another thread may be stepping


@functools.cache
def _table() -> _Table:
    return _Table()


@functools.cache
def _functions() -> tuple[Any, Any]:
    """MuJoCo's two callbacks, as C functions that know this process's table."""
    texts = [
        Path(__file__).with_name(f"{n}.py").read_text("utf-8") for n in ("kernel", "addresses", "places")
    ]
    kernel = cache.load(cache.name_of(*texts, cache.physics_code()), lambda: texts[0])
    # two names, so two functions:
    return tuple(_bound(getattr(kernel, name).address) for name in ("advance", "effort"))  # type: ignore[return-value]


def _bound(function: int) -> Any:
    """A C function of (model, data, i) that calls another with the table's address before them."""
    from llvmlite import binding, ir

    word, whole, real = ir.IntType(64), ir.IntType(32), ir.DoubleType()
    module = ir.Module()
    outer = ir.Function(module, ir.FunctionType(real, [word, word, whole]), f"backemf_{function:x}")
    builder = ir.IRBuilder(outer.append_basic_block())
    kind = ir.FunctionType(real, [word, word, word, whole]).as_pointer()
    inner = builder.inttoptr(word(function), kind)
    builder.ret(builder.call(inner, [word(_table().numbers.ctypes.data), *outer.args]))
    parsed = binding.parse_assembly(str(module))
    machine = binding.Target.from_default_triple().create_target_machine()
    engine = binding.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    _engines.append(engine)
    signature = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
    return signature(engine.get_function_address(outer.name))


_engines: list[Any] = []
"""Machine code that must stay alive."""


def install() -> None:
    """Let MuJoCo call our functions; somebody else's are not replaced."""
    mujoco = load_mujoco()
    for word, function in zip(("dyn", "bias"), _functions(), strict=True):
        there = getattr(mujoco, f"get_mjcb_act_{word}")()
        if there is not None and there is not function:
            raise InvalidValue(
                f"mjcb_act_{word} is already set to {there!r}, and MuJoCo calls only one; attach first,"
                f" or remove"
                f" it with mujoco.set_mjcb_act_{word}(None)"
            )
        getattr(mujoco, f"set_mjcb_act_{word}")(function)


def register(system: LiveSystem) -> tuple[int, Any]:
    """A structure's number, by which models know it, and its functions; installs the callbacks."""
    structure = Structure(system)
    functions = compiler.step_functions(structure)
    number = int(cache.name_of(cache.physics_code(), type(system).__qualname__, system.key)[:12], 16)
    with _one_at_a_time:
        _table().add(number, functions, system)
        install()
    return number, functions


def heading(number: int, width: int, first: int, n_terms: int) -> list[float]:
    """What an actuator's `dynprm` begins with.

    Args:
        number: by which models know its structure.
        width: numbers of each actuator in `actuator_user`.
        first: where ours begin there.
        n_terms: how many of ours are terms of the structure.

    Returns:
        The numbers.
    """
    values = {"magic": MAGIC, "hash": number, "width": width, "user": first, "n_terms": n_terms}
    return [float(values[name]) for name in HEADING]


PROBE = """<mujoco><size nuserdata="1"/><option timestep="{h}" gravity="0 0 -{g}"/><worldbody>
<body><joint name="a" type="hinge"/><geom size=".1"/>
<body pos="1 0 0"><joint name="b" type="hinge" damping="1"/><geom size=".1"/></body></body></worldbody>
<actuator><general name="a" joint="a" dyntype="user" actdim="3" user="1 2"/>
<general name="b" joint="b" dyntype="user" actdim="2" user="1 2"/></actuator></mujoco>"""
STEPS = 0.001234567, 0.0017654321
"""Time steps of two probes: numbers that stand nowhere else."""
LEAST_WORDS, MOST_WORDS = 256, 1 << 18
"""Words looked at: more and more until everything was found, so that nothing beyond the structure is read."""


class MemoryLayout(dict[str, int]):
    """Offsets [bytes] by name, and the widths of two arrays."""


@functools.cache
def layout() -> MemoryLayout:
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
    return MemoryLayout({**both[0], **functions})  # type: ignore[dict-item]  (no function is at address None)


def _library(mujoco: Any) -> Path:
    """MuJoCo's own library, which its Python package brings and has loaded."""
    folder = Path(mujoco.__file__).parent
    files = [p for pattern in ("libmujoco*", "mujoco.dll") for p in sorted(folder.glob(pattern))]
    if not files:
        raise NotAvailable(
            f"MuJoCo's library is not in {folder.name}/ of the installed package; reinstall mujoco"
        )
    return files[0]


def _of_probe(mujoco: Any, h: float) -> MemoryLayout:
    model = mujoco.MjModel.from_xml_string(PROBE.format(h=repr(h), g=repr(1e3 * h)))
    data = mujoco.MjData(model)
    data.time = 10.0 * h
    places = {
        **_find_words(mujoco, data, {name: getattr(data, name).ctypes.data for name in OF_DATA}),
        **_find_words(mujoco, model, {name: getattr(model, name).ctypes.data for name in OF_MODEL}),
        **_find_words(mujoco, data, {"time": int(np.float64(data.time).view(np.uint64))}),
        **_find_words(mujoco, model, {"timestep": int(np.float64(h).view(np.uint64))}),
    }
    widths = {"n_dynprm": model.actuator_dynprm.shape[1], "n_trnid": model.actuator_trnid.shape[1]}
    return MemoryLayout({**places, **widths})


def _find_words(mujoco: Any, owner: Any, wanted: dict[str, int]) -> dict[str, int]:
    """Where these 64-bit words stand in a structure, each exactly once."""
    n, places = LEAST_WORDS, dict[str, np.ndarray]()
    while n <= MOST_WORDS:
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
