"""One step of every variant in every language that runs live, against JAX: to 1e-12 of what each state
becomes.

States are drawn: in motion, at rest, nearly so and saturated; no error gathers.
"""

from __future__ import annotations

import ctypes
import shutil
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import backemf as be
from backemf.engine.compile.dialects import c_dialect as in_c, warp_dialect as in_warp
from backemf.engine.compile.lower import LoweredHosted, lower_hosted
from backemf.engine.hosted_system import HostedSystem, hosted_system

from ...conftest import unavailable
from ...model.variants import variants
from .test_c import built
from .test_warp import loaded, wp as wp

N, H = 120, 2e-3
INERTIA, LOAD = 0.01, 0.1
SIZES = {"position": 0.3, "velocity": 3.0, "rotor_velocity": 3.0, "setpoint": 0.3, "lagged_setpoint": 0.3}
"""How far states are from their start; others by 0.05."""
KINDS = ("friction-", "drive-", "motor-", "backlash-")


class Case(NamedTuple):
    """A variant's states and inputs, and what becomes of them."""

    system: HostedSystem
    lowered: LoweredHosted
    p: np.ndarray
    states: np.ndarray
    inputs: np.ndarray
    after: np.ndarray
    """States, then the effort."""


def case(actuator: be.Actuator) -> Case:
    """The model's own functions on NumPy's arrays: in motion, at rest, nearly so, and far into saturation."""
    system, random = hosted_system(actuator), np.random.default_rng(0)
    k, states = np.arange(N), {n: np.full(N, x) for n, x in actuator.initial_state().items()}
    for name in states:
        states[name] += random.normal(size=N) * SIZES.get(name, 0.05)
    for name in {"velocity", "rotor_velocity"} & {*states}:
        states[name] *= np.select([k % 4 == 0, k % 4 == 2], [0.0, 1e-3], 1.0)
    if "rotor_position" in states:  # teeth near each other
        states["rotor_position"] = states["position"] + 0.01 * random.normal(size=N)
    columns = [np.full(N, INERTIA), LOAD * random.normal(size=N)]
    columns += [0.3 * random.normal(size=N) * np.where(k % 7 == 0, 20.0, 1.0) for _ in actuator.drive.targets]
    p = tuple(system.parameters.values())
    with jax.enable_x64(True):  # functions with a derivative of their own are JAX's
        after = [np.broadcast_to(np.asarray(x), N) for x in system.step(p, [*states.values()], columns, H)]
    one = Case(
        system,
        lower_hosted(system),
        np.array(p),
        *(np.stack([*x], axis=1) for x in (states.values(), columns, after)),
    )
    assert np.isfinite(one.after).all()
    return one


@pytest.fixture(scope="module")
def cases() -> dict[str, Case]:
    return {name: case(v[0]) for name, v in variants().items() if name.startswith(KINDS)}


def assert_same(name: str, one: Case, found: np.ndarray) -> None:
    """The effort is J / h times a change of velocity: so much more does rounding weigh in it."""
    allowed = 1e-12 * np.max(np.abs(one.after), axis=0)
    v = one.system.states.index("velocity")
    allowed[-1] += 1e-15 * INERTIA / H * np.max(np.abs(one.states[:, v]))
    error = np.max(np.abs(found - one.after), axis=0)
    names = [*one.system.states, "effort"]
    assert np.all(error <= np.maximum(allowed, 1e-15)), (name, dict(zip(names, error, strict=True)))


@pytest.mark.slow
def test_c_takes_the_step(cases, tmp_path):
    """Every variant as functions of one file."""
    if shutil.which("gcc") is None:
        unavailable("gcc")
    names = {name: "v_" + name.replace("-", "_") for name in cases}
    text = "#include <math.h>\n" + "".join(
        in_c.declarations(names[name], one.lowered) + in_c.emit(names[name], one.lowered)
        for name, one in cases.items()
    )
    library = built(text, tmp_path)

    def pointer(x: np.ndarray) -> ctypes.c_void_p:
        return x.ctypes.data_as(ctypes.c_void_p)

    for name, one in cases.items():
        prepare, advance = (getattr(library, f"{names[name]}_{word}") for word in ("prepare", "advance"))
        advance.restype = ctypes.c_double
        kept, found = np.zeros(300), np.empty_like(one.after)
        prepare(pointer(one.p), ctypes.c_double(H), pointer(kept))
        for k in range(len(one.states)):
            s, carried = one.states[k].copy(), np.zeros(one.states.shape[1])
            found[k, -1] = advance(pointer(kept), pointer(s), pointer(carried), pointer(one.inputs[k].copy()))
            found[k, :-1] = s
        assert_same(name, one, found)


FEW = (
    "friction-m6",
    "friction-load-lugre",
    "drive-servo",
    "drive-sampled-position",
    "motor-rich",
    "backlash-m4",
)
"""Warp compiles slowly: these touch every primitive and every kind of state; see also test_warp.py."""


TAKE = """

def take(real):
    prepare, _, moved = kernels(real)
    many = wp.array2d(dtype=real)

    @wp.kernel(enable_backward=False, module="unique")
    def step(kept: many, memory: many, U: many, effort: wp.array(dtype=real)):
        c = wp.tid()
        effort[c] = moved(c, c, kept, memory, 1, 1, U[0, c], real(0.0), real(0.0), 1, U[1, c]ASKED)

    return prepare, step
"""
"""A launch of one step of a joint of its own, against a load that is known."""


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
def test_warp_takes_the_step(wp: Any, cases, name, tmp_path):
    one = cases[name]
    passed = "".join(f", U[{2 + t}, c]" for t in range(one.inputs.shape[1] - 2))
    text = in_warp.emit_live(one.lowered) + TAKE.replace("ASKED", passed)
    module = loaded(f"step_{name.replace('-', '_')}", text, tmp_path)
    (n, n_states), at = one.states.shape, in_warp.rows(one.lowered)
    assert n == N

    def array(x: np.ndarray) -> Any:
        return wp.array(np.ascontiguousarray(x), dtype=wp.float64, device="cpu")

    P, kept = array(np.repeat(one.p[:, None], n, axis=1)), array(np.zeros((at.kept, n)))
    memory = np.zeros((at.line, n))
    memory[:n_states], memory[at.place] = one.states.T, 1.0
    remembered, U, effort = array(memory), array(one.inputs.T), array(np.zeros(n))
    prepare, step = module.take(wp.float64)
    for kernel, given in ((prepare, [P, H, kept]), (step, [kept, remembered, U, effort])):
        wp.launch(kernel, dim=n, inputs=given, device="cpu")
    assert_same(name, one, np.column_stack([remembered.numpy()[:n_states].T, effort.numpy()]))
