"""Where fits run: processes of this machine, one executor each, so that one that dies takes nothing with it;
or Dask, through joblib."""

from __future__ import annotations

import contextlib
import importlib
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...errors import InvalidValue, NotAvailable

PLACES = ("here", "local", "dask://HOST:PORT")
"""This process; processes of this machine; a scheduler."""
ATTEMPTS = 2
"""How often a unit may take its worker down before it is given up."""
ONE_THREAD = {
    name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BACKEMF_THREADS")
}
"""A worker is one core's: fits are what runs side by side."""
Work = Callable[[Any], Any]
Done = tuple[Any, Any]
"""(unit, what came of it, or None where it took its worker down twice)."""


def processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Here:
    """In this very process: nothing to start, and a debugger sees everything."""

    def map(self, work: Work, units: Iterable[Any]) -> Iterator[Done]:
        """Units with what came of each, in their order."""
        for unit in units:
            yield unit, work(unit)

    def close(self) -> None:
        """Nothing to end."""


class Local:
    """Processes of this machine. Each has an executor of its own (joblib's loky): where one is killed, only
    the unit in its hands is done again."""

    def __init__(self, jobs: int):
        _joblib()
        self._loky = importlib.import_module("joblib.externals.loky")
        self._jobs, self._free = jobs, queue.SimpleQueue()
        for _ in range(jobs):
            self._free.put(None)
        self._all: set[Any] = set()

    def map(self, work: Work, units: Iterable[Any]) -> Iterator[Done]:
        """Units with what came of each, as they end; an error of the work is raised here."""
        todo, lock, stop = iter(units), threading.Lock(), threading.Event()
        done: queue.SimpleQueue[tuple[Done | None, BaseException | None]] = queue.SimpleQueue()
        room = threading.Semaphore(4 * self._jobs)  # results that may wait: a slow disk holds workers back

        def slot() -> None:
            executor = self._free.get()
            try:
                while not stop.is_set():
                    with lock:
                        unit = next(todo, None)
                    if unit is None:
                        break
                    executor, result = self._try_unit(executor, work, unit)
                    room.acquire()
                    done.put(((unit, result), None))
            except BaseException as error:  # whatever it is, the caller sees it
                done.put((None, error))
            finally:
                self._free.put(executor)
                done.put((None, None))

        threads = [threading.Thread(target=slot, daemon=True) for _ in range(self._jobs)]
        for thread in threads:
            thread.start()
        left = len(threads)
        try:
            while left:
                answer, error = done.get()
                if error is not None:
                    raise error
                if answer is None:
                    left -= 1
                else:
                    room.release()
                    yield answer
        finally:
            stop.set()
            for _ in range(self._jobs):
                room.release()

    def _try_unit(self, executor: Any, work: Work, unit: Any) -> tuple[Any, Any]:
        """(an executor that lives, what came of the unit): another worker is started where one died."""
        for _ in range(ATTEMPTS):
            executor = executor or self._start()
            try:
                return executor, executor.submit(work, unit).result()
            except self._loky.process_executor.BrokenProcessPool:
                self._end(executor)
                executor = None
        return executor, None

    def _start(self) -> Any:
        executor = self._loky.ProcessPoolExecutor(max_workers=1, env=ONE_THREAD)
        self._all.add(executor)
        return executor

    def _end(self, executor: Any) -> None:
        self._all.discard(executor)
        with contextlib.suppress(OSError):
            executor.shutdown(wait=False, kill_workers=True)

    def close(self) -> None:
        """End every worker."""
        for executor in list(self._all):
            self._end(executor)


class SchedulerPool:
    """A cluster of Dask, behind joblib's backend for it. It runs lost units again by itself; where it
    gives one up, those that were on their way are run one by one, so that only the guilty one fails."""

    def __init__(self, on: str, jobs: int | None):
        self._joblib = _joblib()
        self._client = _connect(on)
        self._jobs = jobs or max(1, sum(self._client.nthreads().values()))

    def map(self, work: Work, units: Iterable[Any]) -> Iterator[Done]:
        """Units with what came of each, as they end."""
        under_way: dict[int, Any] = {}
        todo = enumerate(units)

        def send_units() -> Iterator[Any]:
            for k, unit in todo:
                under_way[k] = unit
                yield self._joblib.delayed(_run_numbered)(work, k, unit)

        more = True
        while more:
            more = False
            try:
                for k, result in self._parallel(send_units()):
                    yield under_way.pop(k), result
            except Exception as error:
                if not under_way:
                    raise
                yield from self._one_by_one(work, list(under_way.values()), error)
                under_way.clear()
                more = True

    def _one_by_one(self, work: Work, units: list[Any], error: Exception) -> Iterator[Done]:
        for unit in units:
            result = None
            for _ in range(ATTEMPTS):
                with contextlib.suppress(Exception):
                    result = next(iter(self._parallel([self._joblib.delayed(_run_numbered)(work, 0, unit)])))[
                        1
                    ]
                    break
            yield unit, result

    def _parallel(self, calls: Iterable[Any]) -> Any:
        options: dict[str, Any] = {"pre_dispatch": 4 * self._jobs, "batch_size": 1}
        with self._joblib.parallel_config(backend="dask", n_jobs=self._jobs):
            return self._joblib.Parallel(return_as="generator_unordered", **options)(calls)

    def close(self) -> None:
        """End the connection."""
        self._client.close()


def _run_numbered(work: Work, k: int, unit: Any) -> tuple[int, Any]:
    return k, work(unit)


def _connect(on: str) -> Any:
    """A connection to the scheduler at dask://HOST:PORT."""
    try:
        distributed = importlib.import_module("distributed")
    except ImportError:
        raise NotAvailable('dask:// needs Dask: pip install "backemf[schedulers]"') from None
    return distributed.Client(f"tcp://{on.removeprefix('dask://')}")


def _joblib() -> Any:
    try:
        return importlib.import_module("joblib")
    except ImportError:
        raise NotAvailable('a fleet needs joblib, or --on here: pip install "backemf[fleet]"') from None


def place(on: str, jobs: int | None = None) -> Here | Local | SchedulerPool:
    """Where fits run, in words."""
    if jobs is not None and jobs < 1:
        raise InvalidValue(f"jobs is {jobs}; expected 1 or more")
    if on == "here":
        return Here()
    if on == "local":
        return Local(jobs or processors())
    if on.startswith("dask://"):
        return SchedulerPool(on, jobs)
    raise InvalidValue(f"--on is {on!r}; expected {', '.join(PLACES)}")
