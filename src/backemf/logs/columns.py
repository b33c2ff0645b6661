"""Columns of numbers into a table file: CSV, NumPy's .npz, or Parquet."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..errors import InvalidValue, NotAvailable
from ..files import replacing, write_all

SUFFIXES = (".csv", ".npz", ".parquet")


def writable(path: Path) -> None:
    """Refuse a file whose name says no format that can be written."""
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidValue(
            f"{path.name!r} ends in {path.suffix!r}; expected a table that ends in {', '.join(SUFFIXES)}"
        )


def write(columns: Mapping[str, np.ndarray], path: Path | str, *, force: bool = False) -> Path:
    """Write a table.

    Args:
        columns: of one length, by name.
        path: the file; its ending says the format (`SUFFIXES`).
        force: whether an existing file is overwritten.

    Returns:
        The file that was written.

    Raises:
        InvalidValue: the name ends in no format that can be written.
        NotAvailable: Parquet needs a package that is not installed.
    """
    path = Path(path)
    writable(path)
    if path.suffix.lower() == ".csv":
        text = io.StringIO()
        text.write(",".join(_quote(name) for name in columns) + "\n")
        np.savetxt(text, np.stack([*columns.values()], axis=1), fmt="%.10g", delimiter=",")
        return write_all({path: text.getvalue()}, force=force)[0]
    with replacing(path, force=force, suffix=path.suffix) as temporary:
        if path.suffix.lower() == ".npz":
            np.savez_compressed(temporary, allow_pickle=False, **columns)
        else:
            try:
                import pyarrow as arrow
                import pyarrow.parquet as parquet
            except ImportError:
                raise NotAvailable(
                    'writing Parquet needs the package pyarrow: pip install "backemf[logs]"'
                ) from None
            parquet.write_table(arrow.table({n: np.asarray(x) for n, x in columns.items()}), temporary)
    return path


def _quote(name: str) -> str:
    return f'"{name}"' if "," in name or '"' in name else name
