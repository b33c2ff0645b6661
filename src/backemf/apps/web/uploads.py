"""Names of strangers' files, as far as they can be no path."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import PurePosixPath

from ...errors import InvalidValue
from ...kits.frc.wpilog import CONVERTERS

BINARY = (".npz", ".npy", ".mat", ".parquet", ".mcap", ".db3", ".wpilog")
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
