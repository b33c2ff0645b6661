"""The numbers of a file as it was exported, in its own header: a replay says which were changed since."""

from __future__ import annotations

import difflib
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ..findings import Finding
from .result import NOT_RUN, Export

MARK = "Numbers as exported: "
MOST = 150
"""Numbers that a header lists; of more, it keeps how many there are and their checksum."""
SHOWN = 6
"""Changes that a sentence names."""
_COMMENTS = re.compile(r"<!--.*?-->|/\*.*?\*/|^\s*(?:#|//)[^\n]*$", re.DOTALL | re.MULTILINE)
_WORDS = re.compile(
    r"(?P<word>[A-Za-z_]\w*)|(?P<number>(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))"
)


class LabelledNumber(NamedTuple):
    """A number in a text, and the word before it."""

    label: str
    value: float

    def __str__(self) -> str:
        return f"{self.label} {self.value!r}"


def body_numbers(text: str) -> list[LabelledNumber]:
    """Every number of a text outside its comments, in order.

    Args:
        text: of XML, JSON, Python or C.
    """
    numbers, label = [], ""
    for match in _WORDS.finditer(_COMMENTS.sub("", text)):
        if match["word"]:
            label = match["word"]
        else:
            numbers.append(LabelledNumber(label, float(match["number"])))
    return numbers


def _checksum(numbers: list[LabelledNumber]) -> str:
    return f"{zlib.crc32(', '.join(map(str, numbers)).encode()):08x}"


def sign_numbers(export: Export) -> Export:
    """The export with its main file's numbers in that file's header, where it is a text that has one."""
    name, content = next(iter(export.files.items()))
    if isinstance(content, bytes) or NOT_RUN not in content:
        return export
    at = content.index(NOT_RUN)
    start = content.rfind("\n", 0, at) + 1
    numbers = body_numbers(content)
    words = ", ".join(map(str, numbers))
    if len(numbers) > MOST:
        words = f"{len(numbers)}, checksum {_checksum(numbers)}"
    line = f"{content[start:at]}{MARK}{words}\n"
    return replace(export, files={**export.files, name: content[:start] + line + content[start:]})


def changes_since_export(text: str) -> Iterator[Finding]:
    """What was changed in a file since it was exported; nothing where its header does not tell.

    Args:
        text: the whole file as it is now.
    """
    _, mark, rest = text.partition(MARK)
    if not mark:
        return
    words, now = rest.partition("\n")[0].strip(), body_numbers(text)
    if "checksum " in words:
        same = words.endswith(_checksum(now))
        changes = [] if same else [f"the {len(now)} numbers of its code are others than it was written with"]
    else:
        rows = (row.rpartition(" ") for row in words.split(", ") if row)
        changes = list(_changes([LabelledNumber(label, float(value)) for label, _, value in rows], now))
    if changes:
        more = f"; and {len(changes) - SHOWN} more" if len(changes) > SHOWN else ""
        yield Finding(
            code="file_changed",
            text=f"the file is not as it was exported: {'; '.join(changes[:SHOWN])}{more}. What is run is the"
            " changed file, whether it comes out better or worse.",
            remedy="export it again; or keep the change, and know that it is yours",
            numbers={"changes": len(changes)},
        )


def _changes(before: list[LabelledNumber], after: list[LabelledNumber]) -> Iterator[str]:
    """Numbers that are others, gone or new, in words."""
    labels = [[number.label for number in numbers] for numbers in (before, after)]
    for kind, a, b, c, d in difflib.SequenceMatcher(None, *labels, autojunk=False).get_opcodes():
        if kind == "equal":
            for old, new in zip(before[a:b], after[c:d], strict=True):
                if old.value != new.value:
                    share = f" ({100 * (new.value / old.value - 1):+.3g} %)" if old.value else ""
                    yield f"{old.label} {old.value:g} -> {new.value:g}{share}"
        else:
            yield from (f"{number} is gone" for number in before[a:b])
            yield from (f"{number} is new" for number in after[c:d])
