"""NumPy archives and arrays: vectors, columns of matrices, and the fields of structured arrays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...bounds import Unpacking, check_channels, check_file, limits
from ..recording import Keep, ReadError, Recording, Report, everything, of_arrays, silent

FORMAT = "NumPy"
SUFFIXES = (".npz", ".npy")
MAGIC = b"\x93NUMPY"


def can_read(path: Path, head: bytes) -> bool:
    return head.startswith(MAGIC) or path.suffix.lower() in SUFFIXES


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """The arrays of an archive, or the one array of a file, as one recording."""
    with check_file(path).open("rb") as file:
        head = file.read(len(MAGIC))
        if not head.startswith((MAGIC, b"PK")):
            wanted = "expected what np.savez or np.save writes"
            raise ReadError(f"not a NumPy file: it begins with {head!r}; {wanted}")
        if head == MAGIC:
            check_file(path, limits().unpacked)
        file.seek(0)
        return [of_arrays(path, FORMAT, _arrays(file, path.stem, report))]


def _arrays(file: IO[bytes], stem: str, report: Report) -> Iterator[tuple[str, Any]]:
    """Every array by name; None for what holds no numbers."""
    try:
        content = np.load(file, allow_pickle=False)
    except Exception as error:  # many kinds on damaged files
        raise _unreadable("the file", error) from None
    unpacking = Unpacking()
    if not hasattr(content, "files"):  # one array alone
        unpacking.take(8 * content.size)
        yield from _fields("" if content.dtype.names else stem, content)
        return
    with content as archive:
        check_channels(len(archive.files))
        sizes = {one.filename: one.file_size for one in archive.zip.infolist()}
        for k, name in enumerate(archive.files):
            unpacking.take(sizes.get(f"{name}.npy", sizes.get(name, 0)))
            try:
                array = archive[name]
            except Exception as error:
                raise _unreadable(f"the array {name!r}", error) from None
            if hasattr(array, "size"):
                unpacking.take(max(0, 8 * array.size - array.nbytes))  # they become floats
            yield from _fields(name, array)
            report((k + 1) / len(archive.files))


def _fields(name: str, array: Any) -> Iterator[tuple[str, Any]]:
    """An array, or each field of a structured one; dates become seconds."""
    kind = array.dtype.kind if hasattr(array, "dtype") else ""
    if kind == "V" and array.dtype.names:
        for field in array.dtype.names:
            yield from _fields(f"{name}.{field}" if name else field, array[field])
    elif kind and kind in "mM":
        yield name, np.where(np.isnat(array), np.nan, array.astype(f"{kind}8[us]").astype(np.int64) * 1e-6)
    else:
        yield name, array if kind and kind in "biuf" else None


def _unreadable(what: str, error: Exception) -> ReadError:
    if "allow_pickle" in str(error):
        why = "holds Python objects, which are not unpickled: that could run anything"
        return ReadError(f"{what} {why}; save it as numbers, np.asarray(values, float)")
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return ReadError(f"{what} is damaged: {reason}")
