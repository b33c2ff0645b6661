"""Many candidates at once: on the processor, or on a GPU with the same costs as the compiled loops', from a
Warp kernel of the same traced step.

On a GPU numbers are 32 bits wide unless asked otherwise; what parameters alone decide is computed in 64.
Costs then agree with the processor's to about 1e-5 of themselves, except for candidates near a tie of stick
and slip.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InvalidValue, NotAvailable, SignalError, UnknownName
from ..physics.actuator import Actuator
from ..physics.bench import Bench
from .compile import cache
from .compile.compiler import Structure
from .compile.kernels import kernels, new_array
from .rows import DELAY, NO_SPLIT, STEEPEST, Batch, Observer, Resets, check_substeps
from .simulate import SimulationInputs, prepare_simulation, simulate
from .system import ActuatorSystem, System

if TYPE_CHECKING:
    from .compile.dialects.population_dialect import (
        KernelVariant,  # loads JAX, which a fit without a GPU does not need
    )

ON = ("cpu", "gpu")
"""Where candidates may run."""
PRECISIONS: dict[str, dict[str, Any]] = {
    "single": {},
    "fast": {"fast": True},
    "double": {"real": "wp.float64"},
}
"""32 bits, compensated; 32 bits with the GPU's quickest functions; 64 bits."""
DEVICE = "cuda:0"
"""What Warp calls the GPU that is used. Its "cpu" runs the same kernels on the processor, slowly: for
tests."""
BLOCK = 128
"""Threads of a block: 16 thousand candidates then spread over all of a large GPU."""
AT_ONCE = 1 << 20
"""Candidates of one launch; more are taken in turn."""
STORED = 1 << 14
"""Candidates of one launch whose outputs are kept."""
_HEAD = "import warp as wp\n\nwp.set_module_options({{'enable_backward': False, 'fast_math': {fast}}})\n"


def check_place(on: str) -> None:
    """Refuse a place that is unknown, or a GPU that is not there."""
    if on not in ON:
        raise UnknownName("place to run on", on, ON)
    if on == "gpu":
        _warp()


def _warp() -> Any:
    """Warp, with a device to run on; or an error that says what is missing."""
    if importlib.util.find_spec("warp") is None:
        raise NotAvailable(
            "on='gpu' needs Warp, which is not installed; install it with `pip install warp-lang`, or leave"
            " on='cpu'"
        )
    import warp  # pyright: ignore[reportMissingImports]  # optional

    if DEVICE != "cpu" and not warp.is_cuda_available():
        raise NotAvailable(
            "on='gpu' was asked for, but Warp finds no NVIDIA GPU here; run it where `nvidia-smi` shows one,"
            " or leave on='cpu'"
        )
    return warp


def _variant(precision: str) -> KernelVariant:
    from .compile.dialects.population_dialect import KernelVariant

    if precision not in PRECISIONS:
        raise UnknownName("precision", precision, PRECISIONS)
    return KernelVariant(**PRECISIONS[precision])


class LogPieces(NamedTuple):
    """One log as pieces of constant inputs and step length, a record each."""

    records: np.ndarray
    even: bool
    n_steps: int
    h: float
    places: np.ndarray
    """Which records are samples."""


def costs(
    system: System,
    P: np.ndarray,
    S: np.ndarray,
    logs: Batch,
    substeps: int,
    measured: np.ndarray,
    weights: np.ndarray,
    *,
    observer: Observer | None = None,
    resets: Resets | None = None,
    robust: float = np.inf,
    precision: str = "single",
) -> np.ndarray:
    """The cost of every candidate on every log.

    Args:
        system: the structure that candidates share.
        P: parameters, (n, n_logs, n_parameters).
        S: start states, (n, n_logs, n_states).
        logs: the inputs.
        substeps: steps from one sample to the next.
        measured: (n_samples, n_outputs); NaN where nothing was measured.
        weights: alike, or one row.
        observer: a correction towards a recording.
        resets: samples at which position and velocity are set.
        robust: weighted error beyond which the cost grows linearly.
        precision: a name of `PRECISIONS`.

    Returns:
        (n, n_logs).
    """
    wp, variant, found = _warp(), _variant(precision), np.empty(P.shape[:2])
    weights = np.broadcast_to(weights, measured.shape)
    for log in range(logs.n_logs):
        at = slice(logs.offsets[log], logs.offsets[log + 1])
        corrected = None if observer is None or observer.bandwidth <= 0 else observer
        seen = None if corrected is None else np.asarray(corrected.position, float).reshape(-1)[at]
        reset = None if resets is None else np.stack(np.broadcast_arrays(*map(np.asarray, resets)), 1)[at]
        pull = 0.0 if corrected is None else float(corrected.bandwidth)
        rows, own = _rows(logs, at, substeps, measured[at], weights[at], pull, seen, reset, robust, variant)
        for first in range(0, len(P), AT_ONCE):
            some = slice(first, first + AT_ONCE)
            given = P[some, log], S[some, log]
            found[some, log] = _score_candidates(wp, system, own, rows, *given, robust)
    return found if np.isfinite(robust) else 0.5 * found


def outputs(
    system: System, P: np.ndarray, S: np.ndarray, log: Batch, substeps: int, *, precision: str
) -> np.ndarray:
    """What every candidate shows at every sample of one log.

    Args:
        system: the structure that candidates share.
        P: parameters, (n, n_parameters).
        S: start states, (n, n_states).
        log: the inputs.
        substeps: steps from one sample to the next.
        precision: a name of `PRECISIONS`.

    Returns:
        (n, n_samples, n_outputs).
    """
    wp, n_outputs = _warp(), len(system.outputs)
    blank = np.zeros((log.n_samples, n_outputs))
    at, variant = slice(0, log.n_samples), replace(_variant(precision), stores=True)
    rows, variant = _rows(log, at, substeps, blank, blank + 1.0, 0.0, None, None, np.inf, variant)
    found = np.empty((len(P), log.n_samples, n_outputs))
    for first in range(0, len(P), STORED):
        some = slice(first, first + STORED)
        seen = _score_candidates(wp, system, variant, rows, P[some], S[some], np.inf)
        found[some] = seen.reshape(-1, n_outputs, seen.shape[-1])[rows.places].transpose(2, 0, 1)
    return found


def _rows(
    logs: Batch,
    at: slice,
    substeps: int,
    measured: np.ndarray,
    weights: np.ndarray,
    bandwidth: float,
    seen: np.ndarray | None,
    resets: np.ndarray | None,
    robust: float,
    variant: KernelVariant,
) -> tuple[LogPieces, KernelVariant]:
    """A log as records, and what a kernel for it must do."""
    values, before, switch, dt = (x[at] for x in (logs.values, logs.before, logs.switch, logs.dt))
    n = len(dt) - 1
    split = (switch > NO_SPLIT) & (switch < 1.0 - NO_SPLIT)
    split[n] = False
    late = np.where((switch > 0.0)[:, None], before, values)
    owner = np.repeat(np.arange(n + 1), 1 + split)
    first = np.concatenate([[True], owner[1:] != owner[:-1]])
    inputs = np.where(first[:, None], late[owner], values[owner])
    # An interval in which the command switches has some steps before and some after, none across.
    m = np.where(split, max(substeps, 2), substeps)
    early = np.array([np.sum(np.arange(k) + 0.5 < s * k) for k, s in zip(m, switch, strict=True)])
    early = np.where(split, np.clip(early, 1, m - 1), early)
    steps = np.where(split[owner], np.where(first, early[owner], (m - early)[owner]), substeps)
    share = np.where(split[owner], np.where(first, switch[owner], 1.0 - switch[owner]), 1.0)
    h = share * dt[owner] / steps
    h[-1], steps[-1] = h[0], steps[0]  # nothing moves after the last sample
    even = not split.any() and bool(np.ptp(h) <= 1e-9 * h[0])
    known = np.isfinite(measured)[owner] & first[:, None]
    w = np.where(known, weights[owner], 0.0)
    uneven_weights = bool(np.ptp(w) > 0 or w.flat[0] != 1.0)
    parts = [inputs, np.where(known, measured[owner], 0.0)]
    parts += [w] if uneven_weights else []
    if seen is not None:
        parts.append(_observer_pulls(bandwidth, seen, dt)[owner] * first[:, None])
    if resets is not None:
        parts.append(np.where(resets[:, :1] > 0, resets, 0.0)[owner] * first[:, None])
    parts += [] if even else [h[:, None], steps[:, None]]
    variant = replace(
        variant,
        even=even,
        substeps=bool(np.max(steps) > 1),
        weighted=uneven_weights,
        robust=bool(np.isfinite(robust)),
        observer=seen is not None,
        resets=resets is not None,
    )
    records = np.concatenate(parts, axis=1)
    return LogPieces(records, even, int(steps[0]), float(h[0]), np.flatnonzero(first)), variant


def _observer_pulls(bandwidth: float, seen: np.ndarray, dt: np.ndarray) -> np.ndarray:
    """(pull, push, position) at each sample; nothing at the first, and where nothing was seen."""
    passed = np.concatenate([[1.0], dt[:-1]])
    steep = np.minimum(bandwidth * passed, STEEPEST)
    pulls = np.isfinite(seen)
    pulls[0] = False
    rows = np.stack([1.4 * steep, steep * steep / passed, np.nan_to_num(seen)], axis=1)
    return np.where(pulls[:, None], rows, 0.0)


def _score_candidates(
    wp: Any,
    system: System,
    variant: KernelVariant,
    rows: LogPieces,
    P: np.ndarray,
    S: np.ndarray,
    robust: float,
) -> np.ndarray:
    """The sum over one log for each candidate, or its outputs row by row."""
    module = _module(Structure(system), variant)
    real, n = wp.float32 if variant.single else wp.float64, len(P)
    with wp.ScopedDevice(DEVICE):
        kept = wp.empty((module.WIDTH, n), dtype=real)
        held = wp.array(np.ascontiguousarray(P.T), dtype=wp.float64)
        start = wp.array(np.ascontiguousarray(S.T), dtype=wp.float64)
        records = wp.array(rows.records.astype(np.float32 if variant.single else float), dtype=module.Row)
        total = wp.empty(n, dtype=wp.float64)
        wp.launch(module.prepare, n, [held, rows.h, kept], block_dim=BLOCK)
        more: list[Any] = [robust] if variant.robust else []
        if variant.stores:
            more.append(wp.empty((len(rows.records) * len(system.outputs), n), dtype=real))
        given = [kept, start, records, len(rows.records) - 1, rows.n_steps, *more, total]
        wp.launch(module.score, n, given, block_dim=BLOCK)
        return (more[-1] if variant.stores else total).numpy()


@functools.lru_cache(maxsize=64)
def _module(structure: Structure, variant: KernelVariant) -> Any:
    """The kernels of a structure as a module; Warp reads them from their file and keeps what it compiles."""
    from .compile.dialects.population_dialect import emit
    from .compile.lower import lower

    warp = _warp()
    warp.config.log_level = warp.LOG_ERROR
    text = _HEAD.format(fast=variant.fast) + emit(lower(structure.system), variant)
    name = f"backemf_population_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    root = cache.directory() or Path(tempfile.mkdtemp(prefix="backemf"))
    path = root / "warp" / f"{name}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidValue(f"{path} cannot be read as a module; clear the kernel cache and try again")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


TOGETHER = 64
"""Candidates that the processor runs in one call where their motion is kept."""


@dataclass(frozen=True, kw_only=True)
class Many:
    """What became of every candidate."""

    time: np.ndarray
    vary: dict[str, np.ndarray]
    """The numbers of the candidates, by path."""
    signals: dict[str, np.ndarray]
    """States over time, (candidates, samples); empty where only errors were asked for."""
    error: np.ndarray | None
    """Root mean square of position less what was measured, for each candidate [rad or m]."""
    substeps: int
    on: str

    def __len__(self) -> int:
        return len(next(iter(self.vary.values())))

    @property
    def best(self) -> dict[str, float]:
        """The numbers of the candidate with the least error."""
        if self.error is None:
            raise InvalidValue("no candidate is the best: simulate_many was not given what was measured")
        k = int(np.nanargmin(self.error))
        return {path: float(values[k]) for path, values in self.vary.items()}


def simulate_many(
    actuator: Actuator,
    bench: Bench,
    command: Any = None,
    *,
    vary: Mapping[str, Any],
    measured: Any = None,
    keep: Sequence[str] = ("position",),
    duration: float | None = None,
    dt: float = 0.001,
    time: Any = None,
    start: Mapping[str, float] | None = None,
    substeps: int | None = None,
    tolerance: float = 1e-4,
    on: str = "cpu",
    precision: str = "single",
) -> Many:
    """Simulate one command for many candidates.

    Args:
        actuator: what they have in common.
        bench: what its output carries.
        command: as `simulate` takes it.
        vary: path -> numbers, one for each candidate: parameters of the actuator, or `bench.mass` and the
            like.
        measured: position at the sample times [rad or m], NaN where it was not measured: then errors are
            summed on the way and no motion is kept.
        keep: states whose motion is kept otherwise.
        duration: length [s], sampled every dt; or give `time`.
        dt: between samples [s].
        time: the sample times themselves [s], increasing.
        start: states that do not start at rest, by name.
        substeps: integration steps per sample; absent: as many as the actuator itself needs.
        tolerance: of the position that these are found by [rad or m].
        on: 'cpu', in 64 bits on all processors; or 'gpu', an NVIDIA GPU through Warp.
        precision: of a GPU: 'single' (32 bits, sums compensated), 'fast' (its quickest functions),
            'double'.

    Returns:
        Errors or motions of every candidate.

    Raises:
        UnknownName: a path, a state or a place to run on does not exist.
        NotAvailable: there is no GPU.
    """
    check_place(on)
    ready = prepare_simulation(actuator, bench, command, duration=duration, dt=dt, time=time, start=start)
    P, numbers = _candidates(ready.system, vary)
    if substeps is None:
        options: dict[str, Any] = {"start": start, "tolerance": tolerance, "warn": False}
        substeps = simulate(actuator, bench, command, time=ready.times, **options).substeps
    n = check_substeps(substeps)
    S = np.broadcast_to(np.array(list(ready.start.values())), (len(P), len(ready.start)))
    signals, error = {}, None
    if measured is not None:
        error = _errors(ready, P, S, n, measured, on, precision)
    else:
        kept = _motions(ready, P, S, n, tuple(keep), on, precision)
        signals = {name: kept[:, :, i] for i, name in enumerate(keep)}
    return Many(time=ready.times, vary=numbers, signals=signals, error=error, substeps=n, on=on)


def _candidates(system: ActuatorSystem, vary: Mapping[str, Any]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(parameters, a row for each candidate; the numbers given, by path)."""
    names = system.parameters
    numbers = {path: np.atleast_1d(np.asarray(values, float)) for path, values in vary.items()}
    if not numbers:
        raise InvalidValue("vary is empty; expected paths with a number for each candidate")
    count = max(len(values) for values in numbers.values())
    for path, values in numbers.items():
        if path == DELAY or path not in names:
            raise UnknownName("parameter to vary", path, (name for name in names if name != DELAY))
        if values.ndim != 1 or len(values) not in (1, count):
            raise InvalidValue(f"vary has {values.shape} numbers for {path}; expected {count}, one each")
    P = np.tile(np.array(list(names.values())), (count, 1))
    for path, values in numbers.items():
        P[:, list(names).index(path)] = values
    return P, {path: np.broadcast_to(values, count).copy() for path, values in numbers.items()}


def _errors(
    ready: SimulationInputs, P: np.ndarray, S: np.ndarray, n: int, measured: Any, on: str, precision: str
) -> np.ndarray:
    given = np.asarray(measured, float)
    if given.shape != ready.times.shape:
        raise SignalError(f"measured has shape {given.shape}; expected {ready.times.shape}, one a sample")
    if not np.isfinite(given).any():
        raise SignalError("measured has no finite number; expected at least one")
    loops = kernels(ready.system)
    log = loops.batch(ready.rows)
    seen = np.full(log.n_samples, np.nan)
    seen[ready.samples] = given
    cost = loops.cost(P, S, log, n, seen, on=on, precision=precision)[:, 0]
    return np.sqrt(2.0 * cost / np.isfinite(given).sum())


def _motions(
    ready: SimulationInputs,
    P: np.ndarray,
    S: np.ndarray,
    n: int,
    keep: tuple[str, ...],
    on: str,
    precision: str,
) -> np.ndarray:
    """The states that are kept, (candidates, samples, states)."""
    for name in keep:
        if name not in ready.system.states:
            raise UnknownName("state", name, ready.system.states)
    size = len(P), len(ready.times), len(keep)
    found = new_array("the motion of all candidates", "give `measured`, or fewer candidates", *size)
    if on == "gpu":
        system = ActuatorSystem(
            actuator=ready.system.actuator, bench=ready.system.bench, inputs=ready.system.inputs, outputs=keep
        )
        log = kernels(system).batch(ready.rows)
        found[:] = outputs(system, P, S, log, n, precision=precision)[:, ready.samples]
        return found
    loops = kernels(ready.system)
    columns = [ready.system.states.index(name) for name in keep]
    for first in range(0, len(P), TOGETHER):
        some = slice(first, first + TOGETHER)
        logs = loops.batch([ready.rows] * len(P[some]))
        states = loops.trajectory(P[some], S[some], logs, n)
        found[some] = states.reshape(len(P[some]), -1, states.shape[1])[:, ready.samples][:, :, columns]
    return found
