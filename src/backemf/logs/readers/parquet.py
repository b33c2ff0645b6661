"""Parquet tables: numeric, boolean and time columns, and columns of short vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...bounds import Unpacking, check_channels, check_file
from ...errors import NotAvailable, TooLarge
from ..recording import Channel, Keep, ReadError, Recording, Report, check_table, everything, silent

FORMAT = "Parquet"
SUFFIXES = (".parquet",)
BROKEN = (ValueError, LookupError, TypeError, OSError, RuntimeError, MemoryError)
"""What pyarrow raises on damaged files; its own kinds are kinds of these."""


def can_read(path: Path, head: bytes) -> bool:
    return head.startswith(b"PAR1")


def pyarrow() -> Any:
    """The packages that read Parquet, loaded when needed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise NotAvailable('reading Parquet needs the package pyarrow: pip install "backemf[logs]"') from None
    return pyarrow


def open_file(path: Path) -> Any:
    """An open Parquet file; what is broken about it, in words."""
    pa = pyarrow()
    check_file(path)
    try:
        return pa.parquet.ParquetFile(path)
    except BROKEN as error:
        raise ReadError(f"not a Parquet file that can be read: {reason(error)}") from None


def check_size(file: Any, columns: Sequence[str]) -> None:
    """Refuse columns of an open file that unpack to more than a recording may."""
    about, tops, most = file.metadata, set(columns), 0
    check_table(about.num_rows, 0 if not columns else len(tops))
    for k in range(about.num_row_groups):
        group = about.row_group(k)
        chunks = (group.column(j) for j in range(group.num_columns))
        most += sum(c.total_uncompressed_size for c in chunks if c.path_in_schema.split(".")[0] in tops)
    Unpacking().take(most)


def reason(error: BaseException) -> str:
    """What pyarrow says is wrong, in one line."""
    return " ".join(str(error).split())[:200]


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """The one recording in a table, read in batches."""
    pa = pyarrow()
    with open_file(path) as file:
        check_channels(len(file.schema_arrow))
        kinds = {f.name: kind for f in file.schema_arrow if (kind := kind_of(pa, f.type))}
        left = [f.name for f in file.schema_arrow if f.name not in kinds]
        titles = _titles(file, kinds)
        wanted = set(keep([title for title, _, _ in titles]))
        kept = list(dict.fromkeys(column for title, column, _ in titles if title.name in wanted))
        total = file.metadata.num_rows
        check_size(file, kept)
        joined = _join_batches(pa, file, {column: kinds[column] for column in kept}, report)
    if not titles or not total:
        raise ReadError(f"no rows of numbers; found: {', '.join([*kinds, *left]) or 'nothing'}")

    def channel(title: Channel, column: str, j: int | None) -> Channel:
        if title.name not in wanted:
            return replace(title, n=total)
        values = joined[column] if j is None else joined[column][:, j]
        return Channel.of(title.name, values, unit=title.unit)

    channels = [channel(*title) for title in titles]
    notes = (f"no numbers, not used: {', '.join(left)}",) if left else ()
    return [Recording.of(path, FORMAT, channels, notes=notes)]


def _join_batches(pa: Any, file: Any, kinds: dict[str, str], report: Report) -> dict[str, np.ndarray]:
    """The columns of these kinds, batch by batch."""
    unpacking = Unpacking()
    blocks: dict[str, list[np.ndarray]] = {column: [] for column in kinds}
    done, total = 0, file.metadata.num_rows
    try:
        for batch in file.iter_batches(columns=list(blocks)):
            for name, parts in blocks.items():
                parts.append(values_of(pa, batch.column(name), kinds[name], name))
                unpacking.take(parts[-1].nbytes)
            done += batch.num_rows
            report(done / max(1, total))
    except TooLarge:
        raise
    except BROKEN as error:
        raise ReadError(f"row {done} or later cannot be read: {reason(error)}") from None
    if blocks and done != total:
        raise ReadError(f"{done} rows were found where {total} are announced")
    return {name: np.concatenate(parts) if parts else np.empty(0) for name, parts in blocks.items()}


def _titles(file: Any, kinds: dict[str, str]) -> list[tuple[Channel, str, int | None]]:
    """Channels without values, each with its column and, in a column of vectors, its element;
    the first row tells how many."""
    vectors = [name for name, kind in kinds.items() if kind == "vector"]
    if vectors and file.num_row_groups:
        group = file.metadata.row_group(0)
        most = max(group.column(j).num_values for j in range(group.num_columns))
        check_channels(most // max(1, group.num_rows))
    try:
        first = next(file.iter_batches(batch_size=1, columns=vectors), None) if vectors else None
    except BROKEN as error:
        raise ReadError(f"the first row cannot be read: {reason(error)}") from None
    titles: list[tuple[Channel, str, int | None]] = []
    for name, kind in kinds.items():
        if kind != "vector":
            titles.append((Channel(name=name, unit="s" if kind == "date" else ""), name, None))
        elif first is not None and first.num_rows:
            width = len(first.column(name)[0].values or ())
            check_channels(len(titles) + width)
            titles += [(Channel(name=f"{name}.{j}"), name, j) for j in range(width)]
    return titles


def kind_of(pa: Any, kind: Any) -> str:
    """What a column of an Arrow type holds: "number", "date", "vector", or nothing that can be used."""
    t = pa.types
    if t.is_integer(kind) or t.is_floating(kind) or t.is_boolean(kind):
        return "number"
    if t.is_timestamp(kind) or t.is_duration(kind):
        return "date"
    vector = t.is_list(kind) or t.is_fixed_size_list(kind) or t.is_large_list(kind)
    return "vector" if vector and kind_of(pa, kind.value_type) == "number" else ""


def values_of(pa: Any, column: Any, kind: str, name: str) -> np.ndarray:
    """A column as floats.

    Args:
        pa: the package pyarrow.
        column: of Arrow.
        kind: what it holds (`kind_of`).
        name: what errors call it.

    Returns:
        One row a sample; dates in seconds; empty cells as NaN.

    Raises:
        ReadError: vectors of different lengths.
    """
    if kind == "vector":
        lengths = {*column.value_lengths().drop_null().unique().to_pylist()}
        if len(lengths) > 1 or column.null_count:
            wanted = "expected as many numbers in every row"
            raise ReadError(f"column {name!r} holds lists of different lengths; {wanted}")
        flat = column.flatten().to_numpy(zero_copy_only=False).astype(float)
        return flat.reshape(len(column), max(lengths, default=0))
    if kind == "date":
        per_second = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[column.type.unit]
        return column.cast(pa.int64()).to_numpy(zero_copy_only=False).astype(float) / per_second
    return column.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(float)
