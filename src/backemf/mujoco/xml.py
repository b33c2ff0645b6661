"""A user's XML model as bytes: its elements and where they stand,
edits that leave every other byte alone, and the edited model compiled."""

from __future__ import annotations

import contextlib
import re
import xml.parsers.expat as expat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InvalidValue, MissingValue
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


def scan(
    path: Path, folder: Path | None = None, parent: str = "", seen: tuple[Path, ...] = ()
) -> list[Element]:
    """Every element of a file and of the files it includes, in order.

    Args:
        path: of the file.
        folder: from which includes are named; None: the file's own.
        parent: tag around what the file holds.
        seen: files that include it.

    Returns:
        The elements.

    Raises:
        MissingValue: there is no such file.
        InvalidValue: it is no XML in UTF-8, or includes itself.
    """
    folder = path.parent if folder is None else folder
    try:
        content = path.read_bytes()
    except OSError:
        raise MissingValue(f"there is no file {str(path)!r}") from None
    if path.resolve() in seen:
        raise InvalidValue(f"{path.name} includes itself")
    if b"\0" in content:  # UTF-16 and UTF-32: places in the file would not be places in its text
        raise InvalidValue(f"{path.name} is not in UTF-8; expected that: save it as UTF-8 and try again")
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
            elements.extend(scan(folder / attributes["file"], folder, one.parent, (*seen, path.resolve())))

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(content, True)
    except (expat.ExpatError, LookupError) as error:
        raise InvalidValue(f"{path.name} is not XML that can be read: {error}") from None
    return elements


def _tag_end(content: bytes, at: int) -> int:
    """Where a start tag ends, quotes respected."""
    quote = b""
    for k in range(at, len(content)):
        c = content[k : k + 1]
        if quote:
            quote = b"" if c == quote else quote
        elif c in (b'"', b"'"):
            quote = c
        elif c == b">":
            return k + 1
    raise InvalidValue("a tag is not closed")


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
