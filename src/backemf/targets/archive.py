"""Archives that are the same, byte for byte, whenever they are made of the same files."""

from __future__ import annotations

import html
import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import PurePosixPath

DATE = (1980, 1, 1, 0, 0, 0)
"""Of every file in an archive: the earliest that the format can say."""
TEXTS = (".xml", ".c", ".h", ".html")
PROGRAMS = (".so", ".dll", ".dylib")
ESCAPED = (".html",)
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)
"""What reading somebody's archive may raise."""


def packed(files: Mapping[str, str | bytes]) -> bytes:
    """A zip archive of these files, in this order."""
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, DATE)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3  # as written on POSIX
            mode = 0o755 if PurePosixPath(name).suffix in PROGRAMS else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content.encode("utf-8") if isinstance(content, str) else content)
    return into.getvalue()


def unpacked(content: bytes) -> dict[str, bytes]:
    """The files of an archive by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def restated(content: bytes, old: str, new: str) -> bytes:
    """The same archive with one text for another in the texts inside it."""
    files: dict[str, str | bytes] = {}
    for name, inside in unpacked(content).items():
        ending = PurePosixPath(name).suffix
        text = html.escape(new, quote=False) if ending in ESCAPED else new
        files[name] = inside.replace(old.encode(), text.encode(), 1) if ending in TEXTS else inside
    return packed(files)
