"""A user's XML model as bytes: its elements and where they stand,
edits that leave every other byte alone, and the edited model compiled."""

from __future__ import annotations

import contextlib
import math
import re
import struct
import xml.parsers.expat as expat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..bounds import bytes_of, check_file, inside, limits
from ..errors import InvalidValue, MissingValue, TooLarge
from ..files import beside


class Element(NamedTuple):
    """An XML element and where it stands in its file."""

    file: Path
    tag: str
    parent: str
    attributes: dict[str, str]
    start: int
    opened: int
    """End of its start tag."""
    end: int


class Edit(NamedTuple):
    """New text for a stretch of an element's file."""

    where: Element
    start: int
    end: int
    text: bytes


STAGES = (".usd", ".usda", ".usdc", ".usdz")
"""Endings of USD's files, which are no XML."""


def scan(
    path: Path, folder: Path | None = None, parent: str = "", seen: list[Path] | None = None
) -> list[Element]:
    """Every element of a file and of the files it includes, in order; what MuJoCo would read from elsewhere,
    or blow up to more than memory holds, is refused.

    Args:
        path: of the file.
        folder: from which includes are named; None: the file's own.
        parent: tag around what the file holds.
        seen: files that were read before; MuJoCo takes each once.

    Returns:
        The elements.

    Raises:
        MissingValue: there is no such file.
        InvalidValue: it is no XML in UTF-8, includes a file twice, or one from outside.
        TooLarge: it, or a file that it names, is.
    """
    folder, seen, top = path.parent if folder is None else folder, seen or [], seen is None
    content = _content(path, seen)
    elements: list[Element] = []
    stack: list[tuple[str, int, dict[str, str], int]] = []
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        stack.append((tag, len(elements), attributes, parser.CurrentByteIndex))
        above = stack[-2][0] if len(stack) > 1 else parent
        if len(stack) == 2 and stack[0][0] == "mujocoinclude":
            above = parent
        at = parser.CurrentByteIndex
        elements.append(Element(path, tag, above, attributes, at, _tag_end(content, at), -1))

    def end(tag: str) -> None:
        _, k, attributes, _ = stack.pop()
        one = elements[k]
        after = parser.CurrentByteIndex
        stop = one.opened if content[one.opened - 2 : one.opened] == b"/>" else content.index(b">", after) + 1
        elements[k] = one._replace(end=stop)
        if tag == "include" and "file" in attributes:
            included = inside(folder / attributes["file"], folder, path.name)
            elements.extend(scan(included, folder, one.parent, seen))

    def refuse(*_: Any) -> None:
        raise InvalidValue(f"{path.name} declares a DOCTYPE, which MuJoCo reads otherwise; take it out")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError) as error:
        raise InvalidValue(f"{path.name} is not XML that can be read: {error}") from None
    if top:
        _check_assets(elements, folder)
        check_counts(elements)
    return elements


def _content(path: Path, seen: list[Path]) -> bytes:
    """A file's bytes, which are read once."""
    if path.suffix.lower() in STAGES:
        raise InvalidValue(
            f"{path.name} is a stage of USD; expected MJCF or URDF, or --to usd for layers over it"
        )
    try:
        content = bytes_of(path, limits().text, "expected a model without so many numbers in it")
    except OSError:
        raise MissingValue(f"there is no file {str(path)!r}") from None
    if path.resolve() in seen:
        raise InvalidValue(f"{path.name} is included twice, or includes itself")
    seen.append(path.resolve())
    if b"\0" in content:  # UTF-16 and UTF-32: places in the file would not be places in its text
        raise InvalidValue(f"{path.name} is not in UTF-8; expected that: save it as UTF-8 and try again")
    return content


MOST_PARTS, MOST_POINTS = 10_000, 1 << 24
"""How many parts an element may stand for, and how many pixels, or points of a height field, an asset has."""
MOST_ATTRIBUTES = 100
"""Of one element: no element of MuJoCo takes half of that, and it looks each up among all."""
FOLDERS = ("meshdir", "texturedir", "assetdir")


def _check_assets(elements: Sequence[Element], folder: Path) -> None:
    """Refuse assets that are no regular files or too large, and models in a model from outside its folder."""
    compilers = [e.attributes for e in elements if e.tag == "compiler"]
    folders = {folder, *(folder / c[name] for c in compilers for name in FOLDERS if name in c)}
    for e in elements:
        if e.tag == "include":
            continue
        names = [value for key, value in e.attributes.items() if key.startswith("file")]
        for place in (one / name for name in names for one in folders):
            if check_file(place, limits().whole, "expected a smaller mesh or picture").is_file():
                _check_asset(e, place, folder)


def _check_asset(element: Element, place: Path, folder: Path) -> None:
    """One that is there: a model in the model, or a picture."""
    if element.tag == "model":
        scan(inside(place, folder, element.file.name))
    if place.suffix.lower() == ".png":
        with place.open("rb") as file:  # width and height stand at bytes 16 and 20
            width, height = struct.unpack(">II", file.read(24)[16:24].ljust(8, b"\0"))
        _refuse_many(element, width * height, MOST_POINTS, "pixels")


def check_counts(elements: Sequence[Element]) -> None:
    """Refuse what a line of XML blows up: copies of copies, grids, pictures and height fields."""
    open_: list[tuple[int, float]] = []
    for e in elements:
        open_ = [(end, n) for end, n in open_ if end < 0 or end > e.start]
        _refuse_many(e, len(e.attributes), MOST_ATTRIBUTES, "attributes")
        many = math.prod(_numbers(e, "count")) * (open_[-1][1] if open_ else 1)
        _refuse_many(e, many, MOST_PARTS, "parts")
        if e.tag == "replicate":
            open_.append((e.end, many))
        for pair in (("width", "height"), ("nrow", "ncol")):
            if e.tag in ("texture", "hfield"):
                _refuse_many(e, math.prod(_numbers(e, *pair)), MOST_POINTS, "points")
        if e.tag == "size":
            sizes = _numbers(e, *(name for name in e.attributes if name.startswith("n")))
            _refuse_many(e, max(sizes, default=0), MOST_POINTS >> 4, "numbers")


def _numbers(element: Element, *names: str) -> list[float]:
    """Numbers above 0 in attributes; none of what is no number, which MuJoCo refuses."""
    words = " ".join(element.attributes.get(name, "") for name in names).split()
    with contextlib.suppress(ValueError):
        return [max(float(word), 0.0) for word in words if float(word) != 0]
    return []


def _refuse_many(element: Element, n: float, most: int, what: str) -> None:
    if n > most:
        where = f"<{element.tag}> in {element.file.name}"
        raise TooLarge(f"{where} has {n:.3g} {what}; expected at most {most}")


def check_text(text: str) -> str:
    """A model's text that a file of ours holds, where it names no other model and counts within bounds.

    Args:
        text: MJCF.

    Returns:
        The text.

    Raises:
        BackemfError: it could not come from us.
    """
    elements = parse_elements(text.encode("utf-8", "replace"), Path("model.xml"))
    if any(e.tag in ("include", "model") for e in elements):
        raise InvalidValue("the stored model includes another one; expected a model as backemf stores it")
    _check_assets(elements, Path("/"))
    check_counts(elements)
    return text


_TAG = re.compile(rb"(?:[^>\"']|\"[^\"]*\"|'[^']*')*>")


def _tag_end(content: bytes, at: int) -> int:
    """Where a start tag ends, quotes respected."""
    match = _TAG.match(content, at)
    if match is None:
        raise InvalidValue("a tag is not closed")
    return match.end()


def with_attributes(tag: bytes, changes: dict[str, str]) -> bytes:
    """A start tag with some attributes set; the others keep their bytes."""
    for name, value in changes.items():
        given = value.encode()
        pattern = re.compile(rb"(\s" + name.encode() + rb"\s*=\s*)(\"[^\"]*\"|'[^']*')")
        if pattern.search(tag):
            tag = pattern.sub(lambda m, given=given: m[1] + b'"' + given + b'"', tag, count=1)
        else:
            close = b"/>" if tag.endswith(b"/>") else b">"
            tag = tag[: -len(close)].rstrip() + b" " + name.encode() + b'="' + given + b'"' + close
    return tag


def without_attribute(tag: bytes, name: str) -> bytes:
    """A start tag without an attribute; every other byte stays."""
    return re.sub(rb"\s" + name.encode() + rb"\s*=\s*(\"[^\"]*\"|'[^']*')", b"", tag, count=1)


def apply_edits(edits: Sequence[Edit]) -> dict[Path, bytes]:
    """The files that edits change, with all of them made; what goes to one place stands there in order."""
    files: dict[Path, bytes] = {}
    from_behind = sorted(reversed(edits), key=lambda e: (str(e.where.file), -e.start, e.end == e.start))
    for where, begin, end, text in from_behind:
        content = files.get(where.file, where.file.read_bytes())
        files[where.file] = content[:begin] + text + content[end:]
    return files


def relocate(
    path: Path, files: Mapping[Path, bytes], place: Path, temporary: bool = False
) -> dict[Path, bytes]:
    """A model's file under another name, and copies of the included files that changed, to include.

    Args:
        path: of the model.
        files: content of those of its files that were edited.
        place: of the result. In another folder, files that did not change are copied too.
        temporary: under names that nobody else has.

    Returns:
        Content by place, the model first.
    """
    moved: dict[Path, bytes] = {}
    elsewhere = place.parent.resolve() != path.parent.resolve()

    def copy_file(file: Path, to: Path | None) -> Path | None:
        """Where a copy of a file goes; None where nothing in it or below it changed."""
        content, changed = files.get(file, file.read_bytes()), file in files or to is not None or elsewhere
        includes = [e for e in parse_elements(content, file) if e.tag == "include" and "file" in e.attributes]
        for e in reversed(includes):
            given = Path(e.attributes["file"])
            fresh = copy_file(path.parent / given, None)
            if fresh is not None:
                name = {"file": (fresh.name if elsewhere else (given.parent / fresh.name).as_posix())}
                tag = with_attributes(content[e.start : e.opened], name)
                content, changed = content[: e.start] + tag + content[e.opened :], True
        if not changed:
            return None
        if to is None:
            to = file.with_name(f"{place.stem}_{file.name}")
            to = place.parent / to.name if elsewhere else to
        to = beside(to, to.suffix) if temporary else to
        moved[to] = content
        return to

    main = copy_file(path, place)
    assert main is not None
    return {main: moved.pop(main), **moved}


def compile_edited(
    mujoco: Any,
    path: Path,
    files: Mapping[Path, bytes],
    load: Callable[[str], Any] | None = None,
    at: Path | None = None,
) -> Any:
    """The edited model, from temporary files beside the user's: untouched includes and assets stay where they
    are.

    Args:
        mujoco: the package.
        path: of the model.
        files: content of those of its files that were edited.
        load: makes a model of a path, instead of MuJoCo.
        at: where the model is to be written, if not in its own folder.

    Returns:
        The compiled model.

    Raises:
        InvalidValue: in MuJoCo's own words, why it does not compile.
    """
    temporary = relocate(path, files, at or path, temporary=True)
    try:
        for place, content in temporary.items():
            place.write_bytes(content)
        return (load or mujoco.MjModel.from_xml_path)(str(next(iter(temporary))))
    except ValueError as error:
        where = "" if at is None else f" from {str(at.parent)!r}"
        raise InvalidValue(
            f"the edited {path.name} does not compile{where} with MuJoCo {mujoco.__version__}:"
            f" {' '.join(str(error).split())}"
        ) from None
    finally:
        for place in temporary:
            with contextlib.suppress(OSError):
                place.unlink()


def parse_elements(content: bytes, path: Path) -> list[Element]:
    """Elements of one file's content alone."""
    elements: list[Element] = []
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        at = parser.CurrentByteIndex
        elements.append(Element(path, tag, "", attributes, at, _tag_end(content, at), -1))

    parser.StartElementHandler = start
    parser.Parse(content, True)
    return elements
