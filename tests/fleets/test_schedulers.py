"""A fleet on a scheduler: a real Dask cluster of two workers, one of which is killed in the middle."""

from __future__ import annotations

import functools
import importlib.util
import threading
import time
import warnings

import pytest

from backemf.errors import InvalidValue
from backemf.kits.fleets.pool import SchedulerPool, place

from ..conftest import unavailable
from .killed import killed, slow
from .lines import fitted


@pytest.fixture(scope="module")
def cluster():
    if importlib.util.find_spec("distributed") is None or importlib.util.find_spec("joblib") is None:
        unavailable("Dask, of the extra 'schedulers',")
    from distributed import LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as made:
            yield made


def address(cluster) -> str:
    return cluster.scheduler_address.replace("tcp://", "dask://")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_fleet_on_dask_is_that_of_this_machine(cluster, line, fleet, tmp_path):
    made = fitted(line, tmp_path / "fleet", on=address(cluster))
    there, here = ({row["unit"]: row["parameters"] for row in one.rows()} for one in (made, fleet))
    assert set(there) == set(here)
    for unit in here:
        for path in here[unit]:
            assert there[unit][path]["value"] == pytest.approx(here[unit][path]["value"], rel=1e-9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_dask_loses_loses_nothing(cluster, tmp_path):
    """One of two workers is killed while units run: every unit ends."""
    runner = SchedulerPool(address(cluster), 2)
    names = [f"unit {k}" for k in range(10)]

    def kill() -> None:
        deadline = time.monotonic() + 30
        while len(list(tmp_path.iterdir())) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        next(iter(cluster.workers.values())).process.process.kill()

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        done = dict(runner.map(functools.partial(slow, str(tmp_path)), names))
    finally:
        thread.join()
        runner.close()
    assert set(done) == set(names)
    again = [name for name in names if (tmp_path / name).read_text() != "1"]
    assert len(again) <= 2  # the one in its hands, and perhaps a result that still lay there


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_unit_that_takes_its_worker_down_is_done_again(cluster, tmp_path):
    runner = SchedulerPool(address(cluster), 2)
    try:
        done = dict(runner.map(functools.partial(killed, str(tmp_path)), ["a", "b", "once", "c"]))
    finally:
        runner.close()
    assert done["once"] == 2
    # Dask keeps a result where it was made until it is fetched: one that lay there is made again
    assert all(done[name] in (1, 2) for name in "abc")


def test_words_that_are_no_scheduler():
    with pytest.raises(InvalidValue, match="--on is 'spark://x'; expected here, local, dask://HOST:PORT"):
        place("spark://x")
