"""MATLAB files of versions 5 to 7: vectors, columns of matrices, and the fields of structs.

Read here and not with scipy, whose reader can bring the whole program down on a damaged file.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...bounds import Unpacking, bytes_of
from ...errors import TooLarge
from ..recording import WIDEST, Keep, ReadError, Recording, Report, everything, of_arrays, silent

FORMAT = "MAT"
SUFFIXES = (".mat",)
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""How numbers are stored, by the type in an element's tag."""
MATRIX, COMPRESSED = 14, 15
CELL, STRUCT, NUMERIC = 1, 2, range(6, 16)
_Element = tuple[int, memoryview]
_DAMAGED = (ValueError, IndexError, StopIteration, struct.error, zlib.error, MemoryError, OverflowError)


def can_read(path: Path, head: bytes) -> bool:
    return (
        head.startswith((b"MATLAB 5.0 MAT-file", b"MATLAB 7.3 MAT-file")) or path.suffix.lower() in SUFFIXES
    )


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """The variables of a MAT file as one recording; single numbers are noted."""
    return [of_arrays(path, FORMAT, _flat(_variables(bytes_of(path), report)))]


def _flat(content: dict[str, Any], depth: int = 0) -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        if isinstance(value, dict):
            if depth < 4:
                yield from ((f"{name}.{inner}", v) for inner, v in _flat(value, depth + 1))
        else:
            yield name, value


def _variables(content: bytes, report: Report) -> dict[str, Any]:
    """Every variable by name: an array, a dictionary for a struct, None for what is neither."""
    if content.startswith((b"MATLAB 7.3", b"\x89HDF")):
        raise ReadError("a MAT file of version 7.3; save it with -v7: save('log.mat', '-v7', ...)")
    order = {b"IM": "<", b"MI": ">"}.get(content[126:128], "")
    if not order:
        raise ReadError("not a MAT file of version 5 to 7: bytes 126 and 127 are neither 'IM' nor 'MI'")
    variables: dict[str, Any] = {}
    unpacking = Unpacking()
    at = 128
    while at < len(content):
        here = at
        try:
            (kind, payload), at = _element(memoryview(content), at, order)
            if kind == COMPRESSED:
                text = zlib.decompressobj().decompress(payload, unpacking.left + 1)
                unpacking.take(len(text))
                (kind, payload), _ = _element(memoryview(text), 0, order)
            if kind == MATRIX:
                name, value = _matrix(payload, order, unpacking)
                if name:
                    variables[name] = value
        except TooLarge:
            raise
        except _DAMAGED as error:
            place = f"the variable that begins at byte {here} of {len(content)}"
            raise ReadError(f"{place} is damaged: {str(error) or 'it ends too early'}") from None
        report(min(1.0, at / len(content)))
    return variables


def _element(content: memoryview, at: int, order: str) -> tuple[_Element, int]:
    """The element that begins at a byte, and the byte behind it."""
    kind, size = struct.unpack_from(f"{order}II", content, at)
    if kind >> 16:  # up to four bytes are kept in the tag itself
        size, kind = kind >> 16, kind & 0xFFFF
        if size > 4:
            raise ValueError(f"a small element has {size} bytes")
        return (kind, content[at + 4 : at + 4 + size]), at + 8
    if at + 8 + size > len(content):
        raise ValueError(f"it wants {size} bytes where {max(0, len(content) - at - 8)} are left")
    end = at + 8 + size
    return (kind, content[at + 8 : end]), end if kind == COMPRESSED else end + -size % 8


def _elements(content: memoryview, order: str) -> Iterator[_Element]:
    at = 0
    while at < len(content):
        element, at = _element(content, at, order)
        yield element


def _numbers(element: _Element, order: str) -> np.ndarray:
    kind, payload = element
    if kind not in NUMBERS:
        raise ValueError(f"numbers are stored as type {kind}, which is none")
    return np.frombuffer(payload, np.dtype(order + NUMBERS[kind]))


def _matrix(content: memoryview, order: str, unpacking: Unpacking, depth: int = 0) -> tuple[str, Any]:
    """(name, value) of one variable, field or cell."""
    if len(content) == 0 or depth > 8:
        return "", None
    parts = _elements(content, order)

    def inner() -> Any:
        return _matrix(next(parts)[1], order, unpacking, depth + 1)[1]

    flags = int(_numbers(next(parts), order)[0])
    shape = tuple(map(int, _numbers(next(parts), order)))
    name = bytes(next(parts)[1]).rstrip(b"\0").decode("utf-8", "replace")
    if len(shape) < 2 or min(shape) < 0:
        raise ValueError(f"its size is {shape}")
    kind, complex_numbers, count = flags & 0xFF, flags & 0x800, math.prod(shape)
    if kind in NUMERIC and not complex_numbers:
        numbers = _numbers(next(parts), order)
        unpacking.take(8 * len(numbers))  # they become floats
        return name, _array(name, numbers, shape)
    if kind == STRUCT and 0 < count <= WIDEST:
        fields = _fields(name, int(_numbers(next(parts), order)[0]), bytes(next(parts)[1]))
        each = [{field: inner() for field in fields} for _ in range(count)]
        return name, each[0] if count == 1 else dict(zip(map(str, range(count)), each, strict=True))
    if kind == CELL and 0 < count <= WIDEST:
        return name, {str(k): inner() for k in range(count)}
    return name, None


def _array(name: str, values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    if len(values) != math.prod(shape):
        size = " x ".join(map(str, shape))
        raise ValueError(f"{name!r} has {len(values)} numbers, but its size is {size}")
    return values.astype(float).reshape(shape, order="F")


def _fields(name: str, length: int, text: bytes) -> list[str]:
    """Names of a struct's fields, each padded to a length."""
    if length < 1:
        raise ValueError(f"{name!r} has names of fields of length {length}")
    padded = (text[k : k + length] for k in range(0, len(text), length))
    return [word.split(b"\0")[0].decode("utf-8", "replace") for word in padded]
