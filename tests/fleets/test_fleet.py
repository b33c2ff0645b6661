"""A fleet from logs to its table: every unit once, whatever happens on the way."""

from __future__ import annotations

import functools
import hashlib
import importlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import backemf as be
from backemf.errors import InvalidValue
from backemf.identify.fit import run_fit
from backemf.identify.fit_options import FitOptions
from backemf.kits.fleets import example_line as simulated, folder as kept, work
from backemf.kits.fleets.fleet import PILOTS, retry
from backemf.kits.fleets.pool import Local, place
from backemf.kits.fleets.request import Unit

from .killed import killed
from .lines import FEW, fitted

pandas = pytest.importorskip("pandas")


def test_every_unit_is_a_row_of_the_table(fleet, line):
    table = pandas.read_parquet(fleet.table)
    assert sorted(table["unit"]) == [f"unit-{k:05d}" for k in range(1, 5)]
    assert set(table["state"]) == {"fitted"}
    for path in FEW:
        assert (table[f"{path}.low"] < table[path]).all()
        assert (table[path] < table[f"{path}.high"]).all()
        assert (table[f"{path}.error_if_right"] <= table[f"{path}.error"] * (1 + 1e-9)).all()
    first = table[table["unit"] == "unit-00001"].iloc[0]
    file = first["files"][0]
    assert file["sha256"] == hashlib.sha256(Path(file["source"]).read_bytes()).hexdigest()
    assert len(first["files"]) == len(first["logs"]) == 4
    assert set(table["version"]) == {be.__version__}


def test_units_are_found_where_they_were_drawn(fleet):
    """Within four standard errors, each of four units and three numbers: once in a thousand fleets not."""
    truth = {name: servo for name, servo, _ in simulated.units(4, seed=1)}
    for row in fleet.rows():
        for path in FEW:
            p = row["parameters"][path]
            assert abs(p["value"] - truth[row["unit"]].parameters[path]) < 4 * p["error"], (row["unit"], path)


def test_a_row_is_the_fit_itself(fleet, line):
    row = next(row for row in fleet.rows() if row["unit"] == "unit-00001")
    logs = be.read(str(line / "logs" / "unit-00001"))
    alone = be.fit(be.Actuator.read(line / "start.json"), logs, friction="m4", tolerances=False)
    for path, p in alone.parameters.items():
        assert row["parameters"][path]["value"] == pytest.approx(p.value, rel=1e-12)
    x, V = work.in_coordinates(alone)
    np.testing.assert_allclose(row["coordinates"]["x"], x, rtol=1e-10)
    # the same joint error, whatever the coordinates: the distance to a point near by in the fit's own
    near = {path: p.value + 0.3 * p.error for path, p in alone.parameters.items()}
    moved = np.array([p.value for p in alone.parameters.values()])
    step = (np.array(list(near.values())) - moved) * 1e-4
    there = alone.covariance
    plain = step @ np.linalg.solve(there, step)
    changed = {path: moved[k] + step[k] for k, path in enumerate(near)}
    shifted = replace(
        alone, parameters={k: replace(p, value=changed[k]) for k, p in alone.parameters.items()}
    )
    dx = work.in_coordinates(shifted)[0] - x
    assert dx @ np.linalg.solve(V, dx) == pytest.approx(plain, rel=1e-2)


def test_what_is_done_is_not_done_again(line, fleet, tmp_path, monkeypatch):
    folder = tmp_path / "fleet"
    shutil.copytree(fleet.folder, folder)
    journal = folder / kept.JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(
        b"".join(lines[:3]) + lines[3][:100]
    )  # killed in the middle of the fourth unit's line
    seen = []
    whole = work.fitted_unit
    monkeypatch.setattr(
        "backemf.kits.fleets.fleet.fitted_unit", lambda a, u: seen.append(u.name) or whole(a, u)
    )
    again = fitted(line, folder)
    assert len(seen) == 1
    assert again.status.fitted == 4
    before, after = (pandas.read_parquet(f.table).sort_values("unit") for f in (fleet, again))
    one, other = (f["motor.resistance"].to_numpy() for f in (before, after))
    again = (before["unit"] == seen[0]).to_numpy()
    np.testing.assert_array_equal(one[~again], other[~again])
    # the fourth is fitted again, in another batch: the same optimum but for rounding, which steps add up
    np.testing.assert_allclose(one[again], other[again], rtol=1e-9)


def test_a_unit_is_fitted_without_its_broken_log_and_says_so(line, tmp_path):
    logs = tmp_path / "logs"
    for name in ("unit-00001", "unit-00002"):
        shutil.copytree(line / "logs" / name, logs / name)
    whole = (logs / "unit-00002" / "rig1.json").read_text()
    (logs / "unit-00002" / "rig1.json").write_text(whole[: len(whole) // 2])
    made = fitted(line, tmp_path / "fleet", str(logs))
    assert (made.status.fitted, made.status.failed, made.status.codes) == (2, 0, {"broken_log": 1})
    rows = {row["unit"]: row for row in made.rows()}
    assert {name: len(row["logs"]) for name, row in rows.items()} == {"unit-00001": 4, "unit-00002": 3}
    (said,) = kept.failures(made.folder)
    assert said.code == "broken_log"
    assert "unit-00002" in said.text
    assert "rig1.json" in said.text
    assert "retry" in said.remedy
    (logs / "unit-00002" / "rig1.json").write_text(whole)
    mended = retry(made.folder, on="here")
    assert (mended.status.fitted, mended.status.failed, mended.status.left) == (2, 0, 0)
    assert (mended.status.codes, {len(row["logs"]) for row in mended.rows()}) == ({}, {4})


def test_a_unit_without_a_log_that_can_be_read_fails_alone(line, tmp_path):
    logs = tmp_path / "logs"
    for name in ("unit-00001", "unit-00002"):
        shutil.copytree(line / "logs" / name, logs / name)
    for path in (logs / "unit-00002").iterdir():
        path.write_bytes(path.read_bytes()[:100])
    made = fitted(line, tmp_path / "fleet", str(logs))
    assert (made.status.fitted, made.status.failed, made.status.codes) == (1, 1, {"broken_log": 1})


def test_a_folder_of_something_else_is_refused(line, fleet, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InvalidValue, match="holds other files"):
        fitted(line, tmp_path)
    with pytest.raises(InvalidValue, match="is of another request"):
        fitted(line, fleet.folder, seed=3)
    with pytest.raises(InvalidValue, match="expected by='joint' with a robot"):
        fitted(line, tmp_path / "new", by="joint")


def test_a_killed_worker_repeats_its_own_unit_alone(tmp_path):
    pytest.importorskip("joblib")
    names = [*(f"sound {k}" for k in range(6)), "once", "always", *(f"more {k}" for k in range(4))]
    runner = Local(2)
    try:
        done = dict(runner.map(functools.partial(killed, str(tmp_path)), names))
    finally:
        runner.close()
    assert done["once"] == 2
    assert done["always"] is None
    assert {done[name] for name in names if not name.startswith(("once", "always"))} == {1}
    assert (tmp_path / "always").read_text() == "2"


def test_a_unit_that_kills_its_workers_fails_with_a_finding(line, tmp_path, monkeypatch):
    class Killing:
        def map(self, work, units):
            return ((unit, None if unit.name == "unit-00003" else work(unit)) for unit in units)

        def close(self):
            pass

    monkeypatch.setattr("backemf.kits.fleets.fleet.place", lambda on, jobs: Killing())
    made = fitted(line, tmp_path / "fleet")
    assert (made.status.fitted, made.status.failed) == (3, 1)
    assert [f.code for f in kept.failures(made.folder)] == ["worker_killed"]


def test_places():
    for on, text in (("moon", "--on is 'moon'; expected here, local"), ("here", "jobs is 0; expected 1")):
        with pytest.raises(InvalidValue, match=text):
            place(on, 0 if on == "here" else None)


def test_a_table_of_many_units(line, tmp_path):
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    columns: dict[str, list] = {}
    for name in ("unit-00001", "unit-00002"):
        entries = json.loads((line / "logs" / name / "rig0.json").read_text())["entries"]
        for entry in entries:
            row = {"serial": name, "log": "rig0", "time": entry["timestamp"], "position": entry["position"]}
            for key, value in (row | {"position_target": entry["goal_position"]}).items():
                columns.setdefault(key, []).append(value)
    parquet.write_table(arrow.table(columns), tmp_path / "all.parquet")
    unit = Unit("unit-00002", (str(tmp_path / "all.parquet"),), column="serial")
    with work.local_files(unit) as paths:
        (path,) = paths.values()
        (log,) = be.read(path, bench="pendulum mass=0.3kg length=0.1m", settings={"drive.proportional": 32})
    assert list(paths) == [f"{tmp_path}/all.parquet#serial=unit-00002,log=rig0"]
    (own,) = be.read(str(line / "logs" / "unit-00002" / "rig0.json"))
    np.testing.assert_array_equal(log["position"], own["position"])
    assert log.name == "rig0"


def test_logs_behind_a_url(line, tmp_path):
    files = importlib.import_module("fsspec").filesystem("memory")
    for path in (line / "logs" / "unit-00001").iterdir():
        files.pipe_file(f"/line/unit-00001/{path.name}", path.read_bytes())
    try:
        made = fitted(line, tmp_path / "fleet", "memory://line")
    finally:
        files.rm("/line", recursive=True)
    (row,) = made.rows()
    assert row["state"] == "fitted", row["findings"]
    assert all(source.startswith("memory://") for source in row["checksums"])
    other = next(r for r in kept.rows(made.folder))
    assert other["parameters"]["motor.resistance"]["value"] == row["parameters"]["motor.resistance"]["value"]


def test_memory_is_that_of_one_unit(tmp_path):
    """The journal is read a unit at a time: two hundred units take hardly more than ten."""
    import tracemalloc

    folder = tmp_path / "fleet"
    folder.mkdir()
    journal, peaks = kept.FleetJournal(folder), []
    row = {"unit": "x", "state": "fitted", "session": "", "ballast": list(range(500))}
    for n in (10, 190):
        for k in range(n):
            journal.append(f"{n}-{k}", [row])
        tracemalloc.start()
        assert sum(1 for _ in kept.rows(folder)) in (10, 200)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    journal.close()
    assert peaks[1] < peaks[0] + 200 * 500  # a name and a place for each unit, not its 500 numbers


def test_later_lines_replace_earlier_ones(tmp_path):
    journal = kept.FleetJournal(tmp_path)
    for value in (1, 2):
        journal.append("a", [{"unit": "a", "value": value}])
        journal.append('b\u00e4 "quoted"', [{"unit": "b", "value": 10 * value}])
    journal.close()
    assert [row["value"] for row in kept.rows(tmp_path)] == [2, 20]
    assert set(kept.places(tmp_path)) == {"a", 'b\u00e4 "quoted"'}


def test_the_pilots_are_those_that_come_first():
    assert PILOTS >= 4  # the middle of fewer is a chance


def test_from_others_of_its_make_a_fit_ends_where_it_would_anyway(line, fleet):
    """The first unit's numbers as a start of the second's fit: the same optimum, and sooner."""
    rows = {row["unit"]: row["parameters"] for row in fleet.rows()}
    begin = {path: p["value"] for path, p in rows["unit-00001"].items()}
    logs, start = be.read(str(line / "logs" / "unit-00002")), be.Actuator.read(line / "start.json")
    options = FitOptions(friction="m4", tolerances=False)
    usual, near = (run_fit(start, logs, options, b) for b in (None, begin))
    for path, p in usual.parameters.items():
        # descents end where a step is worth less than a millionth of the cost: a small part of an error
        assert abs(near.parameters[path].value - p.value) < 0.1 * p.error, path
        assert near.parameters[path].error == pytest.approx(p.error, rel=0.05)
    assert len(near.starts) == 1
    assert near.starts[0].n_evaluations < usual.starts[0].n_evaluations
