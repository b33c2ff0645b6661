"""Compiled loops over logs: trajectories, exact sensitivities, normal equations, and the cost of many
candidates.

    k = kernels(system, free=("motor.resistance", "friction.coulomb"), start=("position",))
    outputs, tangents = k.sensitivities(p, s0, rows, substeps=5)

Each loop is compiled when it is first asked for and kept on disk. `rows` is one log, or a `Batch` of several;
then p and s0 may have a row for each, and results have one more axis or are stacked over the samples of all
logs.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import os
import platform
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidValue, MissingValue, NotLowered, SignalError, TooLarge, UnknownName
from ..rows import Batch, HeldInputs, Observer, Resets, batch, check_finite, check_substeps, writable
from ..system import System
from .compiler import Structure, kernel

LANES = 8
"""Candidates that one vector holds."""
LEAST_IN_LANES = 4
"""Candidates from which on half empty vectors are faster than one after the other."""
WORTH_A_THREAD = 200_000
"""Steps of work below which another thread would cost more than it saves."""
THREADS = "BACKEMF_THREADS"
"""Environment variable with the most threads a process uses: 1 where processes run side by side."""


def kernels(
    system: System, *, free: Sequence[str] = (), start: Sequence[str] = (), fallback: bool = True
) -> Kernels:
    """The loops of a system; systems of equal structure share the compiled code.

    Args:
        system: whose structure counts; its numbers come with each call.
        free: parameters, by path, that sensitivities are taken in.
        start: states whose initial values are free too; their columns follow the parameters'.
        fallback: let the reference run what cannot be compiled, with one warning; otherwise that is an
            error.

    Returns:
        The loops, each compiled when it is first asked for.

    Raises:
        UnknownName: a parameter or state is none of the system's.
        InvalidValue: one is given twice.
    """
    return Kernels(system, tuple(free), tuple(start), fallback)


@dataclasses.dataclass(frozen=True)
class Kernels:
    """The loops of one system, with the numbers that may vary."""

    system: System
    """Only its structure counts; the numbers come with each call."""
    free: tuple[str, ...] = ()
    start: tuple[str, ...] = ()
    fallback: bool = True

    def __post_init__(self) -> None:
        for kind, names, valid in (
            ("parameter", self.free, self.system.parameters),
            ("state", self.start, self.system.states),
        ):
            for name in names:
                if name not in valid:
                    raise UnknownName(kind, name, valid)
            if len(set(names)) < len(names):
                raise InvalidValue(f"free {kind}s are {', '.join(names)}; expected each once")

    def batch(self, logs: HeldInputs | Sequence[HeldInputs]) -> Batch:
        """Logs checked and put one after the other, once, to be used many times."""
        return batch(logs, len(self.system.inputs))

    def trajectory(self, p: Any, s0: Any, rows: HeldInputs | Batch, substeps: int = 1) -> np.ndarray:
        """Run and keep every state.

        Args:
            p: parameters in the order of the system's names, or a row of them for each log.
            s0: start states likewise.
            rows: one log, or a batch of several.
            substeps: steps from one sample to the next.

        Returns:
            States at every sample, (n, n_states).
        """
        case = self._case(p, s0, rows, substeps)
        states = new_array(
            "the states", "simulate fewer samples at a time", case.logs.n_samples, self._n_states
        )
        self._run("trajectory", case, states)
        return _blank(states, case)

    def sensitivities(
        self,
        p: Any,
        s0: Any,
        rows: HeldInputs | Batch,
        substeps: int = 1,
        observer: Observer | None = None,
        resets: Resets | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Run with exact derivatives of the outputs.

        Args:
            p: parameters in the order of the system's names, or a row of them for each log.
            s0: start states likewise.
            rows: one log, or a batch of several.
            substeps: steps from one sample to the next.
            observer: a correction towards a recording.
            resets: samples at which position and velocity are set.

        Returns:
            Outputs at every sample (n, n_outputs), and their derivatives (n, n_outputs, n_free +
                n_start).

        Raises:
            MissingValue: nothing is free.
        """
        self._need_columns()
        case = self._case(p, s0, rows, substeps)
        shape = case.logs.n_samples, len(self.system.outputs)
        tangents = new_array(
            "the sensitivities", "normal() sums J'J and J'r without storing them", *shape, self.n_columns
        )
        outputs = np.empty(shape)
        self._run("sensitivities", case, *self._corrections(case, observer, resets), outputs, tangents)
        return _blank(outputs, case), _blank(tangents, case)

    def normal(
        self,
        p: Any,
        s0: Any,
        rows: HeldInputs | Batch,
        substeps: int,
        measured: Any,
        weights: Any = None,
        observer: Observer | None = None,
        resets: Resets | None = None,
        robust: float = np.inf,
    ) -> tuple[np.ndarray, np.ndarray, Any]:
        """Normal equations of the weighted errors r = weight (output - measured), summed in the loop; per log
        for a batch.

        The cost is half the sum of r^2, so J'r is its gradient; beyond |r| = `robust` it grows linearly
        (Huber), and the sums are weighted accordingly.

        Args:
            p: parameters in the order of the system's names, or a row of them for each log.
            s0: start states likewise.
            rows: one log, or a batch of several.
            substeps: steps from one sample to the next.
            measured: outputs at every sample, (n, n_outputs); NaN where nothing was measured.
            weights: of the errors: one, one for each output, or alike; absent: 1.
            observer: a correction towards a recording.
            resets: samples at which position and velocity are set.
            robust: weighted error beyond which the cost grows linearly.

        Returns:
            (J'J, J'r, cost).

        Raises:
            MissingValue: nothing is free.
        """
        self._need_columns()
        case = self._case(p, s0, rows, substeps)
        n, c = len(case.P), self.n_columns
        JtJ, Jtr, cost = np.empty((n, c, c)), np.empty((n, c)), np.empty(n)
        self._run(
            "normal",
            case,
            *self._corrections(case, observer, resets),
            *self._check_measured(case, measured, weights, robust),
            JtJ,
            Jtr,
            cost,
        )
        bad = case.has_nan
        JtJ[bad], Jtr[bad], cost[bad] = np.nan, np.nan, np.nan
        return (JtJ[0], Jtr[0], float(cost[0])) if case.single else (JtJ, Jtr, cost)

    def cost(
        self,
        p: Any,
        s0: Any,
        rows: HeldInputs | Batch,
        substeps: int,
        measured: Any,
        weights: Any = None,
        observer: Observer | None = None,
        resets: Resets | None = None,
        robust: float = np.inf,
        on: str = "cpu",
        precision: str = "single",
    ) -> np.ndarray:
        """The same cost for many candidates at once. A candidate with NaN in it costs NaN.

        Args:
            p: parameters, (n_candidates, n_parameters) or (n_candidates, n_logs, n_parameters).
            s0: start states alike, or one row for all.
            rows: one log, or a batch of several.
            substeps: steps from one sample to the next.
            measured: outputs at every sample, (n, n_outputs); NaN where nothing was measured.
            weights: of the errors: one, one for each output, or alike; absent: 1.
            observer: a correction towards a recording.
            resets: samples at which position and velocity are set.
            robust: weighted error beyond which the cost grows linearly.
            on: 'cpu', or 'gpu' for an NVIDIA GPU through Warp.
            precision: of the numbers on a GPU: 'single', 'fast' or 'double'.

        Returns:
            (n_candidates,), or (n_candidates, n_logs) for a batch.
        """
        logs = rows.as_batch(len(self.system.inputs))
        P, S = self._candidates(np.asarray(p, float), np.asarray(s0, float), logs)
        n, which = len(P), np.tile(np.arange(logs.n_logs), len(P))
        flat = P.reshape(-1, self._n_parameters), S.reshape(-1, self._n_states)
        case = _Case(*flat, which, logs, check_substeps(substeps), False)
        cost = np.empty(len(case.P))
        corrections = self._corrections(case, observer, resets)
        seen = self._check_measured(case, measured, weights, robust)
        if on == "cpu":
            lanes = self._lanes(logs.delayed) if n >= LEAST_IN_LANES else None
            if lanes is None:
                self._run("cost", case, *corrections, *seen, cost)
            else:
                cost[:] = self._in_lanes(lanes, case, P, S, *corrections, *seen).reshape(-1)
        else:
            from .. import candidates

            candidates.check_place(on)
            corrected: dict[str, Any] = {"observer": observer, "resets": resets, "robust": robust}
            found = candidates.costs(
                self.system, P, S, logs, case.n, *seen[:2], **corrected, precision=precision
            )
            cost[:] = found.reshape(-1)
        cost[case.has_nan] = np.nan
        return cost.reshape(n, logs.n_logs) if rows.several else cost

    def _candidates(self, p: np.ndarray, s0: np.ndarray, logs: Batch) -> tuple[np.ndarray, np.ndarray]:
        """Parameters and start states of every candidate for every log."""
        n_p = self._n_parameters
        if p.ndim not in (2, 3) or p.shape[-1] != n_p:
            raise InvalidValue(
                f"p has shape {p.shape}; expected (candidates, {n_p}), or (candidates, {logs.n_logs} logs,"
                f" {n_p})"
            )
        instead = "give fewer candidates at a time"
        P = new_array("the parameters of all candidates", instead, len(p), logs.n_logs, n_p)
        S = np.empty((len(p), logs.n_logs, self._n_states))
        P[:], S[:] = p if p.ndim == 3 else p[:, None], s0[:, None] if s0.ndim == 2 else s0
        return P, S

    @property
    def n_columns(self) -> int:
        return len(self.free) + len(self.start)

    def _need_columns(self) -> None:
        if not self.n_columns:
            raise MissingValue(
                "no free parameters: give kernels(system, free=...) the paths that derivatives are taken in"
            )

    def _case(self, p: Any, s0: Any, rows: HeldInputs | Batch, substeps: int) -> _Case:
        logs = rows.as_batch(len(self.system.inputs))
        P = _per_log("p", p, self._n_parameters, logs.n_logs)
        S = _per_log("s0", s0, self._n_states, logs.n_logs)
        return _Case(P, S, np.arange(logs.n_logs), logs, check_substeps(substeps), not rows.several)

    def _corrections(self, case: _Case, observer: Observer | None, resets: Resets | None) -> tuple[Any, ...]:
        n = case.logs.n_samples
        bandwidth, seen = 0.0, np.empty(0)
        if observer is not None:
            bandwidth = float(observer.bandwidth)
            seen = _per_sample("observer.position", observer.position, n, 1).reshape(n)
            if not (np.isfinite(bandwidth) and bandwidth >= 0):
                raise InvalidValue(
                    f"observer.bandwidth is {bandwidth:g} rad/s; expected a finite number of at least 0"
                )
            check_finite("observer.position", seen, gaps=True)
        at, to = np.empty(0, bool), np.empty((0, 2))
        if resets is not None:
            at = np.require(resets.at, dtype=np.bool_, requirements=["C", "W"])
            columns = np.broadcast_arrays(
                at, *(np.asarray(x, float) for x in (resets.position, resets.velocity))
            )
            if at.shape != (n,):
                raise SignalError(f"resets.at has shape {at.shape}; expected {n} samples")
            to = writable(np.stack(columns[1:], axis=1))
            check_finite("a reset", to[at])
        return bandwidth, seen, at, to

    def _check_measured(self, case: _Case, measured: Any, weights: Any, robust: float) -> tuple[Any, ...]:
        n, n_outputs = case.logs.n_samples, len(self.system.outputs)
        measured = _per_sample("measured", measured, n, n_outputs)
        check_finite("measured", measured, gaps=True)
        if not robust > 0:
            raise InvalidValue(
                f"robust is {robust!r}; expected a number above 0, in units of the weighted error"
            )
        weights = np.asarray(1.0 if weights is None else weights, float)
        if weights.shape in ((), (n_outputs,)):  # one for all samples
            stride, weights = 0, writable(np.broadcast_to(weights, (1, n_outputs)))
        else:
            stride, weights = 1, _per_sample("weights", weights, n, n_outputs)
        check_finite("weights", weights)
        return measured, weights, stride, float(robust)

    # Found once: a fit calls these loops thousands of times, for a fraction of a millisecond each.

    @functools.cached_property
    def _n_parameters(self) -> int:
        return len(self.system.parameters)

    @functools.cached_property
    def _n_states(self) -> int:
        return len(self.system.states)

    @functools.cached_property
    def _functions(self) -> dict[tuple[str, bool], Callable[..., None]]:
        return {}

    def _function(self, kind: str, delayed: bool) -> Callable[..., None]:
        if (kind, delayed) not in self._functions:
            self._functions[kind, delayed] = kernel(
                kind, Structure(self.system), self.free, self.start, delayed, self.fallback
            )
        return self._functions[kind, delayed]

    def _lanes(self, delayed: bool) -> Callable[..., None] | None:
        """The loop that scores eight candidates at a time, or None where there is none."""
        if not _fuses():
            return None
        try:
            return kernel("lanes", Structure(self.system), (), (), delayed, False)
        except NotLowered:
            return None

    def _in_lanes(
        self, function: Callable[..., None], case: _Case, P: np.ndarray, S: np.ndarray, *rest: Any
    ) -> np.ndarray:
        """Costs of the candidates, (n, n_logs), in blocks whose candidates run on one log."""
        n, logs = len(P), case.logs.n_logs
        blocks = -(-n // LANES)
        at = np.minimum(np.arange(blocks * LANES), n - 1)  # the last one fills up the last block
        P, S = (
            writable(
                x[at].reshape(blocks, LANES, logs, -1).transpose(2, 0, 3, 1).reshape(logs * blocks, -1, LANES)
            )
            for x in (P, S)
        )
        many = case._replace(P=P, S=S, which=np.repeat(np.arange(logs), blocks))
        cost = np.empty((logs * blocks, LANES))
        self._run("lanes", many, *rest, cost, function=function)
        return cost.reshape(logs, -1)[:, :n].T

    def _run(self, kind: str, case: _Case, *rest: Any, function: Callable[..., None] | None = None) -> None:
        logs = case.logs
        function = function or self._function(kind, logs.delayed)
        held = (logs.values, logs.before, logs.switch, logs.dt)
        given = (case.n, case.P, case.S, case.which, logs.offsets, *held, *rest)
        steps = np.cumsum(np.diff(logs.offsets)[case.which] * case.n)
        shares = min(_processors(), int(steps[-1]) // WORTH_A_THREAD, len(case.P))
        if shares < 2:
            function(0, len(case.P), *given)
            return
        cuts = [0, *(np.searchsorted(steps, np.linspace(0, steps[-1], shares + 1)[1:-1]) + 1), len(case.P)]
        list(_threads().map(lambda at: function(*at, *given), itertools.pairwise(cuts)))


class _Case(NamedTuple):
    """What every kernel is given: a row of parameters and start states for each run,
    and the log it runs on."""

    P: np.ndarray
    S: np.ndarray
    which: np.ndarray
    logs: Batch
    n: int
    single: bool

    @property
    def has_nan(self) -> np.ndarray:
        return np.isnan(self.P.sum(axis=1) + self.S.sum(axis=1))


def _per_log(name: str, given: Any, n: int, n_logs: int) -> np.ndarray:
    array = np.asarray(given, float)
    if array.shape not in ((n,), (n_logs, n)):
        raise InvalidValue(
            f"{name} has shape {array.shape}; expected {(n,)}, or {(n_logs, n)} with a row for each log"
        )
    return writable(array.reshape(-1, n) if array.size == n_logs * n else np.broadcast_to(array, (n_logs, n)))


def _per_sample(name: str, given: Any, n: int, n_columns: int) -> np.ndarray:
    array = np.asarray(given, float)
    if array.shape != (n, n_columns) and not (n_columns == 1 and array.shape == (n,)):
        raise SignalError(
            f"{name} has shape {array.shape}; expected {(n, n_columns)}: one row for each of {n} samples, the"
            " last included"
        )
    return writable(array.reshape(n, n_columns))


def _blank(stacked: np.ndarray, case: _Case) -> np.ndarray:
    """Where a log's parameters hold a NaN its results do too."""
    if np.isnan(case.P.sum() + case.S.sum()):
        for i in np.flatnonzero(case.has_nan):
            stacked[case.logs.offsets[i] : case.logs.offsets[i + 1]] = np.nan
    return stacked


def _processors() -> int:
    """Threads to use: those of the processor, unless the environment says fewer."""
    told = os.environ.get(THREADS, "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _fuses() -> bool:
    """Whether the processor multiplies and adds at once; polynomials in lanes would be slow without."""
    from llvmlite import binding

    return platform.machine() in ("arm64", "aarch64") or binding.get_host_cpu_features().get("fma", False)


@functools.cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_processors(), thread_name_prefix="backemf")


if hasattr(os, "register_at_fork"):
    # A forked process inherits the pool, but not its threads.
    os.register_at_fork(after_in_child=_threads.cache_clear)


ASSUMED = 8e9
"""Bytes that are free, where the system does not say."""
UNASKED = 1e8
"""Bytes that are taken without asking the system, which takes longer than a short simulation."""


def new_array(what: str, instead: str, *shape: int) -> np.ndarray:
    """An uninitialised array, where there is room for it.

    Args:
        what: it holds, for the error: "the states".
        instead: what else can be done, for the error.
        shape: of the array.

    Returns:
        Of float64.

    Raises:
        TooLarge: it needs more memory than is free.
    """
    wanted = 8.0 * math.prod(shape)
    if wanted > UNASKED and wanted > 0.8 * (free := available()):
        raise TooLarge(
            f"{what} of shape {shape} need {_bytes(wanted)}, and {_bytes(free)} of memory are free; {instead}"
        )
    return np.empty(shape)


def available() -> float:
    """Bytes of memory that are free or can be freed."""
    try:
        if sys.platform.startswith("linux"):
            with open("/proc/meminfo", encoding="ascii") as file:
                return next(
                    float(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:")
                )
        if sys.platform == "win32":
            return _available_on_windows()
        return float(os.sysconf("SC_PHYS_PAGES")) * float(os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, StopIteration, AttributeError):
        return ASSUMED


def _available_on_windows() -> float:
    import ctypes

    class MemoryStatus(ctypes.Structure):
        _fields_ = [(name, ctypes.c_ulong) for name in ("length", "load")] + [
            (name, ctypes.c_ulonglong) for name in ("total", "free", *"abcde")
        ]

    status = MemoryStatus(length=ctypes.sizeof(MemoryStatus))
    # there on Windows only
    ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined]
    return float(status.free)


def _bytes(n: float) -> str:
    return f"{n / 1e9:.3g} GB" if n >= 1e9 else f"{n / 1e6:.3g} MB"
