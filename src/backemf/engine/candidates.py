"""Many candidates at once on a GPU: the same costs as the compiled loops', from a Warp kernel of the same
traced step.

Numbers are 32 bits wide unless asked otherwise; what parameters alone decide is computed in 64. Costs then
agree with the processor's to about 1e-5 of themselves, except for candidates near a tie of stick and slip.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InvalidValue, NotAvailable, UnknownName
from .compile import cache
from .compile.compiler import Structure
from .rows import NO_SPLIT, STEEPEST, Batch, Observer, Resets
from .system import System

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
    import warp

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
    """The cost of every candidate on every log, (n, n_logs): P is (n, n_logs, n_parameters), S alike with
    states, measured (n_samples, n_outputs), weights that or one row."""
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
    system: System, P: np.ndarray, S: np.ndarray, log: Batch, substeps: int, *, precision: str = "single"
) -> np.ndarray:
    """What every candidate shows at every sample of one log, (n, n_samples, n_outputs): P is
    (n, n_parameters), S (n, n_states)."""
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
