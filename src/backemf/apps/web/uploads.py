"""Files of strangers: their names, as far as they can be no path, and how large each becomes once it is read,
found out without reading it: nobody's kilobyte becomes a gigabyte here."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ...errors import InvalidValue
from ...kits.frc.wpilog import CONVERTERS

BINARY = (".npz", ".npy", ".mat", ".parquet", ".mcap", ".wpilog")
RECORDINGS = (".csv", ".tsv", ".txt", ".json", ".jsonl", *BINARY, ".yaml", ".yml")
MODELS = (".xml", ".mjcf", ".urdf")
MESHES = (".stl", ".obj", ".msh", ".png")
OTHERS = (".toml", ".py")
RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
"""Names that are devices on Windows."""
MOST = 80
"""Letters of one name."""
DEPTH = 6
"""Folders in one another."""


def recordings() -> tuple[str, ...]:
    """What the names of recordings end in, those of other packages' readers too."""
    from ...logs.readers import READERS

    others = (suffix for name in READERS.other_names for suffix in READERS[name].SUFFIXES)
    return (*RECORDINGS, *others)


def kinds() -> tuple[str, ...]:
    """What an uploaded file's name may end in."""
    return (*recordings(), *MODELS, *MESHES, *OTHERS)


def part(given: str) -> str:
    """One name with letters, digits, '.', '_' and '-' only, that begins with a letter or digit."""
    kept = re.sub(r"[^A-Za-z0-9._-]+", "_", given).rstrip(".")
    stem, dot, ending = kept.rpartition(".")
    stem, ending = (stem, dot + ending) if dot and len(ending) <= 8 else (kept, "")
    kept = stem.lstrip("._-")[: MOST - len(ending)] + ending
    kept = kept if re.match(r"[A-Za-z0-9]", kept) else f"file{kept}"
    return f"file-{kept}" if RESERVED.match(kept) else kept


def stored_name(given: str, taken: Collection[str] = ()) -> str:
    """The name under which an upload is kept, of a kind that backemf reads and that no other file has."""
    last = given.replace("\\", "/").rpartition("/")[2]
    name = part(last)
    stem, ending = PurePosixPath(name).stem, PurePosixPath(name).suffix.lower()
    if ending in CONVERTERS:
        raise InvalidValue(
            f"{last[:60]!r} is in a maker's own format; convert it first with {CONVERTERS[ending]}"
        )
    if ending not in kinds():
        wanted = ", ".join(sorted(kinds()))
        raise InvalidValue(f"{last[:60]!r} is of a kind that is not read here; expected one of {wanted}")
    lower = {other.lower() for other in taken}
    name, k = f"{stem}{ending}", 2
    while name.lower() in lower:
        name, k = f"{stem}-{k}{ending}", k + 1
    return name


def stored_in(folder: str, path: str) -> str:
    """The same for a file of an uploaded folder: `set`, `meta/info.json` -> `set/meta/info.json`."""
    inner = [word for word in path.replace("\\", "/").split("/") if word not in ("", ".", "..")]
    if not inner or len(inner) > DEPTH:
        raise InvalidValue(f"{path[:60]!r} lies {len(inner)} folders deep; expected 1 to {DEPTH}")
    return "/".join([part(folder), *(part(word) for word in inner[:-1]), stored_name(inner[-1])])


CHUNK = 1 << 20
COMPRESSED = 15
"""MATLAB's mark of an element that is compressed."""


class UnpackedSize(NamedTuple):
    """Bytes once unpacked, and rows; 0 where a format does not say."""

    bytes: int = 0
    rows: int = 0


def refusal(words: Iterable[str], folder: Path, most: UnpackedSize) -> str:
    """Why the files that a command names are too large to be read.

    Args:
        words: of the command line, files and folders among them.
        folder: in which they lie.
        most: what one file may unpack to.

    Returns:
        A sentence with a remedy; empty where all may be read.
    """
    for path in _files(words, folder):
        measure = MEASURED.get(path.suffix.lower())
        try:
            size = UnpackedSize() if measure is None else measure(path, most)
        except Exception:  # a broken file: its reader says so, in words
            continue
        name = path.relative_to(folder).as_posix()
        if size.bytes > most.bytes:
            return f"{name} unpacks to more than {most.bytes >> 20} MB; cut the recording into shorter ones"
        if size.rows > most.rows:
            return f"{name} has more than {most.rows} rows; cut the recording into shorter ones"
    return ""


def _files(words: Iterable[str], folder: Path) -> Iterator[Path]:
    for word in words:
        path = folder / word
        if not word or word.startswith("-") or len(word) > 500:
            continue
        if path.is_file():
            yield path
        elif path.is_dir():
            yield from (p for p in sorted(path.rglob("*")) if p.is_file())


def _lines(path: Path, most: UnpackedSize) -> UnpackedSize:
    rows = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            rows += chunk.count(b"\n")
    return UnpackedSize(rows=rows)


def _zip(path: Path, most: UnpackedSize) -> UnpackedSize:
    with zipfile.ZipFile(path) as archive:
        return UnpackedSize(bytes=sum(one.file_size for one in archive.infolist()))


def _parquet(path: Path, most: UnpackedSize) -> UnpackedSize:
    from pyarrow.parquet import ParquetFile

    about = ParquetFile(path).metadata
    groups = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
    return UnpackedSize(bytes=max(groups, 8 * about.num_rows * about.num_columns), rows=about.num_rows)


def _mat(path: Path, most: UnpackedSize) -> UnpackedSize:
    """Every compressed element of a MAT file, unpacked and thrown away, until there is too much."""
    total = 0
    with path.open("rb") as file:
        header = file.read(128)
        order = ">" if header[126:128] == b"MI" else "<"
        while len(tag := file.read(8)) == 8 and total <= most.bytes:
            kind, size = struct.unpack(f"{order}II", tag)
            if kind == COMPRESSED:
                total += _inflated_size(file.read(size), most.bytes - total)
            else:
                total += size
                file.seek(size, 1)
    return UnpackedSize(bytes=total)


def _inflated_size(content: bytes, most: int) -> int:
    machine, total = zlib.decompressobj(), 0
    part = machine.decompress(content, CHUNK)
    while part and total <= most:
        total += len(part)
        part = machine.decompress(machine.unconsumed_tail, CHUNK)
    return total


MEASURED: dict[str, Callable[[Path, UnpackedSize], UnpackedSize]] = {
    ".npz": _zip,
    ".parquet": _parquet,
    ".mat": _mat,
    ".csv": _lines,
    ".tsv": _lines,
    ".txt": _lines,
    ".jsonl": _lines,
}
"""Formats in which a file can be larger than it looks."""
