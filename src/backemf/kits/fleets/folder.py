"""The folder of a fleet: what was asked, a journal that survives any interruption, and one Parquet file.

A unit's rows are one line of the journal, appended when they come. A line that was cut off by a crash is not
read, and its unit is done again. Later lines of a unit replace earlier ones.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ... import store
from ...errors import InvalidValue, NotAvailable
from ...files import replacing
from ...findings import Finding
from .request import FleetRequest
from .work import BROKEN, FAILED, FITTED, Row, findings_of

REQUEST, JOURNAL, TABLE = "fleet.json", "journal.jsonl", "units.parquet"
SYNC = 1.0
"""Seconds after which lines are forced to the disk: what a loss of power may cost."""
GROUP = 1000
"""Rows that are held in memory at once while the table is written."""
NUMBERS = ("value", "error", "low", "high", "error_if_right", "low_if_right", "high_if_right")
"""Columns of each parameter; that of `value` has the parameter's own name."""


class FleetStatus(NamedTuple):
    """How far a fleet is."""

    n_units: int
    fitted: int
    failed: int
    codes: Mapping[str, int]
    """Findings of units that failed, or were fitted without one of their recordings, by code."""
    cpu_s: float
    per_minute: float | None
    """Units per minute from the first to the last that ended."""

    @property
    def left(self) -> int:
        return max(self.n_units - self.fitted - self.failed, 0)


class FleetJournal:
    """Rows as they come, appended to a file that may end anywhere."""

    def __init__(self, folder: Path):
        self._path = folder / JOURNAL
        self._mend()
        self._file = self._path.open("ab")
        self._synced = 0.0

    def _mend(self) -> None:
        """Cut off a line that a crash left unfinished."""
        if not self._path.exists():
            return
        with self._path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            step = 1 << 16
            for begin in range(max(size - step, 0), -step, -step):
                file.seek(max(begin, 0))
                end = file.read(step).rfind(b"\n")
                if end >= 0 or begin <= 0:
                    file.truncate(max(begin, 0) + end + 1)
                    return

    def append(self, key: str, rows: list[Row]) -> None:
        """Write a unit's rows as one line, and force it to the disk now and then."""
        line = json.dumps({"key": key, "rows": store.plain(rows)}, separators=(",", ":"), allow_nan=False)
        self._file.write(line.encode("utf-8") + b"\n")
        self._file.flush()
        if time.monotonic() - self._synced > SYNC:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def close(self) -> None:
        """Force everything to the disk."""
        with contextlib.suppress(OSError):
            os.fsync(self._file.fileno())
        self._file.close()


def read_request(folder: Path | str) -> FleetRequest:
    """What was asked of the fleet in a folder."""
    return store.read(Path(folder) / REQUEST, FleetRequest)


def places(folder: Path | str) -> dict[str, int]:
    """Where in the journal the last line of each unit begins."""
    found: dict[str, int] = {}
    path = Path(folder) / JOURNAL
    if not path.exists():
        return found
    with path.open("rb") as file:
        at = 0
        for line in file:
            if line.endswith(b"\n"):
                # the key stands first, so that a long line need not be parsed to know whose it is
                key, _ = json.JSONDecoder().raw_decode(line[7:4096].decode("utf-8", "ignore"))
                found[key] = at
            at += len(line)
    return found


def rows(folder: Path | str) -> Iterator[Row]:
    """The last rows of every unit, in the order in which they ended; one unit in memory at a time."""
    kept = sorted(places(folder).values())
    path = Path(folder) / JOURNAL
    if not kept:
        return
    with path.open("rb") as file:
        for at in kept:
            file.seek(at)
            yield from json.loads(file.readline())["rows"]


def wanting(row: Row) -> bool:
    """Whether something of a unit is to be mended: it failed, or was fitted without one of its recordings."""
    return row["state"] == FAILED or any(said["code"] == BROKEN for said in row.get("findings", ()))


def keys(folder: Path | str, want: bool = False) -> set[str]:
    """Units that are done; or those of which something is to be mended."""
    if not want:
        return set(places(folder))
    found = set()
    path = Path(folder) / JOURNAL
    with path.open("rb") as file:
        for key, at in places(folder).items():
            file.seek(at)
            if any(map(wanting, json.loads(file.readline())["rows"])):
                found.add(key)
    return found


def status(folder: Path | str) -> FleetStatus:
    """How far a fleet is, from its journal."""
    counts, codes = {FITTED: 0, FAILED: 0}, {}
    cpu, first, last, n_rows, n_keys = 0.0, None, None, 0, len(places(folder))
    for row in rows(folder):
        counts[row["state"]] += 1
        n_rows += 1
        cpu += row.get("cpu_s") or 0.0
        ended = row.get("ended")
        if ended is not None:
            first, last = min(first or ended, ended), max(last or ended, ended)
        for said in _to_mend(row):
            codes[said["code"]] = codes.get(said["code"], 0) + 1
    gone = (last - first) / 60 if first is not None and last is not None else 0.0
    planned = read_request(folder).n_units + n_rows - n_keys  # a robot is a row for each joint
    rate = (n_keys - 1) / gone if gone > 0 else None
    return FleetStatus(planned, counts[FITTED], counts[FAILED], codes, cpu, rate)


def failures(folder: Path | str) -> Iterator[Finding]:
    """What is said of the units that failed, or were fitted without one of their recordings."""
    for row in rows(folder):
        yield from findings_of({"findings": _to_mend(row)})


def _to_mend(row: Row) -> list[Row]:
    """Findings of a row that wait for somebody to mend a recording."""
    return [said for said in row.get("findings", ()) if row["state"] == FAILED or said["code"] == BROKEN]


def write_table(folder: Path | str) -> Path:
    """The journal as one Parquet file: a row for each unit, a column for each number."""
    arrow = _arrow()
    parquet = importlib.import_module("pyarrow.parquet")
    paths: dict[str, str] = {}
    for row in rows(folder):
        paths.update({path: p["unit"] for path, p in row.get("parameters", {}).items()})
    schema = _schema(arrow, paths, read_request(folder))
    every = rows(folder)
    with (
        replacing(Path(folder) / TABLE, force=True) as temporary,
        temporary.open("wb") as stream,  # not its name, which may be no text
        parquet.ParquetWriter(stream, schema, compression="zstd") as writer,
    ):
        while some := list(itertools.islice(every, GROUP)):
            writer.write_table(arrow.Table.from_pylist([flat(row, paths) for row in some], schema=schema))
    return Path(folder) / TABLE


def _arrow() -> Any:
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise NotAvailable('the table of a fleet needs pyarrow: pip install "backemf[fleet]"') from None


PLAIN = {
    **dict.fromkeys(("unit", "session", "state", "friction", "version"), "string"),
    **dict.fromkeys(("training_mae", "held_out_mae", "noise_floor", "temperature", "supply"), "float64"),
    **dict.fromkeys(("recorded", "ended", "cpu_s", "wall_s"), "float64"),
    "n_starts": "int32",
}
"""Columns that a row has as they are."""


def _schema(arrow: Any, paths: Mapping[str, str], asked: FleetRequest) -> Any:
    kinds = {"string": arrow.string(), "float64": arrow.float64(), "int32": arrow.int32()}
    fields = [arrow.field(name, kinds[kind]) for name, kind in PLAIN.items()]
    for path, unit in paths.items():
        told = {"unit": unit}
        fields += [arrow.field(_column(path, n), arrow.float64(), metadata=told) for n in NUMBERS]
        fields.append(arrow.field(f"{path}.told_by", arrow.string()))
    words = arrow.struct([(n, arrow.string()) for n in ("code", "text", "remedy", "numbers")])
    file = arrow.struct([("source", arrow.string()), ("sha256", arrow.string())])
    log = arrow.struct(
        [("name", arrow.string()), ("n_samples", arrow.int64()), ("duration", arrow.float64())]
    )
    side = arrow.struct(
        [("path", arrow.string()), *((n, arrow.float64()) for n in ("value", "error", "pull"))]
    )
    lists = {"findings": words, "files": file, "logs": log, "bench": side}
    fields += [arrow.field(name, arrow.list_(kind)) for name, kind in lists.items()]
    fields += [
        arrow.field("coordinates.path", arrow.list_(arrow.string())),
        arrow.field("coordinates.x", arrow.list_(arrow.float64())),
        arrow.field("coordinates.covariance", arrow.list_(arrow.float64())),
    ]
    request = json.dumps(store.content(asked))
    return arrow.schema(fields, metadata={"backemf": request})


def _column(path: str, number: str) -> str:
    return path if number == "value" else f"{path}.{number}"


def flat(row: Row, paths: Mapping[str, str]) -> dict[str, Any]:
    """A row as the table has it."""
    made = {name: row.get(name) for name in PLAIN}
    known = row.get("parameters", {})
    for path in paths:
        one = known.get(path, {})
        made |= {_column(path, n): one.get(n) for n in NUMBERS} | {f"{path}.told_by": one.get("told_by")}
    made["findings"] = [f | {"numbers": json.dumps(f.get("numbers", {}))} for f in row.get("findings", ())]
    made["files"] = [{"source": k, "sha256": v} for k, v in row.get("checksums", {}).items()]
    made |= {"logs": row.get("logs"), "bench": row.get("bench")}
    there = row.get("coordinates", {})
    made |= {"coordinates.path": list(known) or None, "coordinates.x": there.get("x")}
    return made | {"coordinates.covariance": there.get("covariance")}


def check_folder(folder: Path) -> None:
    """Refuse a folder that holds something else."""
    if folder.exists() and not folder.is_dir():
        raise InvalidValue(f"{str(folder)!r} is a file; expected a folder for the fleet, new or its own")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / REQUEST).exists():
        raise InvalidValue(f"{str(folder)!r} holds other files; expected a new folder, or a fleet's own")
