"""One figure in one file: a picture, or a page that can be zoomed and read off."""

from __future__ import annotations

from pathlib import Path

from ... import __version__
from ...errors import InvalidValue
from ...figure import Figure
from ...files import may_write, write_all
from .figures import draw

PAGE = ".html"
SUFFIXES = (*(f".{ending}" for ending in draw.FORMATS), PAGE)
"""What a figure's file may end in."""


def drawable(path: Path | str, *, force: bool = False) -> Path:
    """The place of a figure; refused, before any work is done, where none can be written."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidValue(f"{path.name!r} ends in {path.suffix!r}; expected one of {', '.join(SUFFIXES)}")
    return may_write(path, force=force)


def save(figure: Figure, path: Path | str, *, note: str = "", force: bool = False) -> Path:
    """Draw a figure into a file; its suffix says whether that is a picture or a page, which has a note of
    where it came from."""
    path = drawable(path, force=force)
    if path.suffix.lower() != PAGE:
        return draw.save(figure, path, force=force)
    from .html import figure_page

    made = f"Drawn by backemf {__version__}." + (f" {note}" if note else "")
    return write_all({path: figure_page(figure, made, __version__)}, force=force)[0]
