"""One unit in one process: its logs are read and fitted, and what came of it is a row of plain numbers and
words. Whatever goes wrong is a finding of that row."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import math
import os
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ... import __version__
from ...errors import BackemfError, BackemfWarning
from ...findings import Finding, finding
from ...identify.fit import run_fit
from ...identify.fit_options import FitOptions
from ...logs.log import Log
from ...logs.read import read
from ...logs.recording import ReadError
from ...logs.robot import Robot
from ...results.fit_result import Fit
from ...statistics import Coordinate
from .request import FleetRequest, Unit, dataset, remote

FITTED, FAILED = "fitted", "failed"
BROKEN = "broken_log"
"""The finding of a unit some of whose recordings, or all, cannot be read."""
Row = dict[str, Any]
"""What a fleet keeps of one unit: names and plain numbers, as JSON has them."""
CHUNK = 1 << 20


def fitted_unit(asked: FleetRequest, unit: Unit) -> list[Row]:
    """The rows of a unit: one, or one for each joint of a robot. Never raises for what is wrong with it."""
    started_at, cpu = time.time(), time.process_time()
    sums: dict[str, str] = {}
    try:
        with local_files(unit) as paths:
            sums = {source: checksum(path) for source, path in paths.items()}
            logs, left = recordings(asked, list(paths.values()))
            fit = identify_unit(asked, logs)
        rows = [row_of(unit, one, logs, joint) for joint, one in (fit.joints or {"": fit}).items()]
        said = [_say(unit, BROKEN, text) for text in left]
        rows = [row | {"findings": [*row["findings"], *said]} for row in rows]
    except ReadError as error:
        rows = [failure(unit, BROKEN, str(error))]
    except BackemfError as error:
        rows = [failure(unit, "unit_failed", str(error))]
    except (MemoryError, RecursionError, ArithmeticError, ValueError, LookupError, OSError) as error:
        rows = [failure(unit, "unit_failed", f"{type(error).__name__}: {error}")]
    n = len(rows)  # a robot's joints are fitted together
    spent = {"cpu_s": (time.process_time() - cpu) / n, "wall_s": (time.time() - started_at) / n}
    spent["ended"] = time.time()
    return [row | {"checksums": sums, "version": __version__} | spent for row in rows]


def failure(unit: Unit, code: str, text: str) -> Row:
    """The row of a unit that could not be fitted.

    Args:
        unit: which one.
        code: of the finding.
        text: why, in words.

    Returns:
        The row, with that finding.
    """
    said = _say(unit, code, text)
    return {"unit": unit.name, "session": unit.session, "state": FAILED, "findings": [said]}


def _say(unit: Unit, code: str, text: str) -> Row:
    remedy = "mend or remove the recording, then `backemf fleet retry FOLDER`"
    return finding(code, f"{unit.key}: {' '.join(text.split())}", remedy).to_dict()


@contextlib.contextmanager
def local_files(unit: Unit) -> Iterator[dict[str, Path]]:
    """Where a unit's logs came from, with a file of this machine for each."""
    if not unit.column and not any("://" in log for log in unit.logs):
        yield {log: Path(log) for log in unit.logs}
        return
    with tempfile.TemporaryDirectory(prefix="backemf-unit-") as folder:
        yield _rows_of_table(unit, Path(folder)) if unit.column else _fetch(unit, Path(folder))


def _fetch(unit: Unit, folder: Path) -> dict[str, Path]:
    """Copies of what is elsewhere."""
    paths = {}
    for k, log in enumerate(unit.logs):
        files, place = remote(log)
        paths[log] = folder / f"{k}" / place.rpartition("/")[2]
        paths[log].parent.mkdir()
        files.get_file(place, str(paths[log]))
    return paths


def _rows_of_table(unit: Unit, folder: Path) -> dict[str, Path]:
    """A unit's rows of a table, a file for each of its logs where a column `log` tells them apart."""
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    compute = importlib.import_module("pyarrow.compute")
    tables = dataset(unit.logs)
    kind = tables.schema.field(unit.column).type
    rows = tables.to_table(filter=compute.field(unit.column) == arrow.scalar(unit.name).cast(kind))
    rows = rows.drop_columns([unit.column])
    names = rows.column("log").unique().to_pylist() if "log" in rows.column_names else [None]
    paths = {}
    for k, name in enumerate(names):
        one = rows if name is None else rows.filter(compute.field("log") == name).drop_columns(["log"])
        path = (
            folder / f"{k if name is None else ''.join(c if c.isalnum() else '-' for c in str(name))}.parquet"
        )
        parquet.write_table(one, path)
        paths[f"{unit.logs[0]}#{unit.column}={unit.name}{'' if name is None else f',log={name}'}"] = path
    return paths


def checksum(path: Path) -> str:
    """SHA-256 of a file, or of all files of a dataset's folder."""
    total = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]:
        with file.open("rb") as stream:
            while block := stream.read(CHUNK):
                total.update(block)
    return total.hexdigest()


def recordings(asked: FleetRequest, paths: Sequence[Path]) -> tuple[list[Log], list[str]]:
    """(the logs of a unit, what is left out of them because it cannot be read); an error where none can."""
    told: dict[str, Any] = {"map": list(asked.map) or None, "settings": dict(asked.settings) or None}
    told["bench"] = asked.bench if asked.robot is None else Robot.read(asked.robot)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", BackemfWarning)
        logs = read([str(path) for path in paths], **told)
    return logs, [str(one.message) for one in said if issubclass(one.category, BackemfWarning)]


def identify_unit(asked: FleetRequest, logs: Sequence[Log]) -> Fit:
    """The fit of a unit, as it was asked for."""
    common: dict[str, Any] = {"friction": asked.friction, "also": asked.free, "seed": asked.seed}
    common |= {"hold_out": list(asked.hold_out) or None, "bands": False}
    if asked.robot is not None:  # a part's sheet, with its firmware profile, is then the prior by itself
        options = FitOptions(firmware=asked.firmware, **common)
        return run_fit(asked.start or asked.actuator, logs, options)
    options = FitOptions(prior=asked.prior, tolerances=not asked.same_bench, n_starts=asked.starts, **common)
    return run_fit(asked.actuator, logs, options, dict(asked.begin) or None)


def row_of(unit: Unit, found: Fit, logs: Sequence[Log], joint: str = "") -> Row:
    """What is kept of a fit: values, errors, both intervals, and the covariance on the scales on which the
    errors are even."""
    paths = list(found.parameters)
    x, V = in_coordinates(found)
    return {
        "unit": f"{unit.name}/{joint}" if joint else unit.name,
        "session": unit.session,
        "state": FITTED,
        "friction": found.friction,
        "parameters": {
            path: {
                "value": p.value,
                "error": p.error,
                "low": p.low,
                "high": p.high,
                "error_if_right": p.error_if_right,
                "low_if_right": p.low_if_right,
                "high_if_right": p.high_if_right,
                "unit": p.unit,
                "told_by": p.told_by,
            }
            for path, p in found.parameters.items()
        },
        "coordinates": {
            "x": x.tolist(),
            "covariance": V[np.tril_indices(len(paths))].tolist(),
            "knee": [found.parameters[path].knee for path in paths],
            "signed": [_has_sign(found, path) for path in paths],
            "above": [found.actuator.over(found.parameters[path].path) or "" for path in paths],
        },
        "training_mae": found.training_mae if found.training else None,
        "held_out_mae": found.held_out_mae,
        "noise_floor": found.noise_floor,
        "n_starts": len(found.starts),
        "findings": [f.to_dict() for f in found.findings],
        "bench": [{"path": b.path, "value": b.value, "error": b.error, "pull": b.pull} for b in found.bench],
        "logs": [
            {"name": log.name, "n_samples": len(log), "duration": float(log.time[-1] - log.time[0])}
            for log in logs
        ],
        "temperature": _temperature(logs),
        "supply": _mean(logs, "supply"),
        "recorded": _recording_time(unit),
    }


def in_coordinates(found: Fit) -> tuple[np.ndarray, np.ndarray]:
    """The estimates on a logarithm's scale where they are positive, as a search has them, and their
    covariance there."""
    paths, x = list(found.parameters), []
    values = {path: p.value for path, p in found.parameters.items()}
    over = {path: found.actuator.over(found.parameters[path].path) or "" for path in paths}
    slopes = []
    for path in paths:
        base = values.get(over[path], found.actuator.parameters.get(over[path], 0.0))
        scale = Coordinate(_has_sign(found, path), found.parameters[path].knee)
        x.append(scale.inward(values[path] - base))
        slopes.append(scale.slope(values[path] - base))
    T = np.diag(slopes)
    for k, path in enumerate(paths):
        if over[path] in values:  # it stands on another, and moves with it
            T[k, paths.index(over[path])] = slopes[paths.index(over[path])]
    inward = np.linalg.inv(T)
    return np.array(x), inward @ found.covariance @ inward.T


def _has_sign(fit: Fit, path: str) -> bool:
    return fit.actuator.traits(fit.parameters[path].path)["signed"] is not None


def _mean(logs: Sequence[Log], name: str) -> float | None:
    values = [float(np.nanmean(log[name])) for log in logs if not log.joints and name in log]
    return float(np.mean(values)) if values and math.isfinite(np.mean(values)) else None


def _temperature(logs: Sequence[Log]) -> float | None:
    """Mean of the recorded temperature [degC], where one was recorded."""
    return _mean(logs, "temperature")


def _recording_time(unit: Unit) -> float | None:
    """When it was recorded [s since 1970]: as the session says, or when its files were last written."""
    said = when(unit.session)
    if said is not None:
        return said
    ages = [os.stat(log).st_mtime for log in unit.logs if os.path.exists(log)]
    return min(ages) if ages else None


def when(session: str) -> float | None:
    """The time that a session's name says [s]: a date as ISO 8601 has it, or a plain number."""
    from datetime import UTC, datetime

    with contextlib.suppress(ValueError):
        moment = datetime.fromisoformat(session)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    with contextlib.suppress(ValueError):
        return float(session)
    return None


def findings_of(row: Row) -> list[Finding]:
    """A row's findings."""
    return [Finding(**{**f, "logs": tuple(f.get("logs", ()))}) for f in row.get("findings", ())]
