"""The source as text and trees: lines, files, functions that are long or complex, and `isinstance`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
PHYSICS = ("physics", "model")
"""Folders in which the kinds of parts are told apart: `isinstance` is not counted there."""
LONGEST, MOST_COMPLEX = 60, 15
"""Lines from `def` to the end, docstring included; paths through a function."""
_MARK = re.compile(r"#\s*(long|complex):\s*(.*)")


@dataclass(frozen=True)
class File:
    """One file of Python: its path below the source, its text and its tree."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def functions(self) -> Iterator[Function]:
        return (node for node in ast.walk(self.tree) if isinstance(node, Function))


def read_files(source: Path) -> list[File]:
    """Every file of Python below a folder, in the order of their paths."""
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(source.rglob("*.py"))}
    return [File(path.relative_to(source), text, ast.parse(text)) for path, text in texts.items()]


def count_lines(files: list[File], source: Path) -> int:
    """Lines of Python and of templates (`*.in`)."""
    templates = (path.read_text(encoding="utf-8") for path in source.rglob("*.in"))
    return sum(text.count("\n") for text in (*(file.text for file in files), *templates))


def length(function: Function) -> int:
    """Lines from `def` to the end of the body, docstring included, decorators not."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def complexity(function: Function) -> int:
    """The cyclomatic number: 1, and 1 for every branch, loop, handler, `finally`, `and`, `or`, and for
    every `for` and `if` of a comprehension. Functions inside it are counted by themselves."""
    total, nodes = 1, list[ast.AST](function.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, Function):
            continue
        if isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            total += 1 + len(node.ifs)
        elif isinstance(node, ast.Try | ast.TryStar):
            total += bool(node.finalbody)
        else:
            total += isinstance(
                node,
                ast.If | ast.IfExp | ast.For | ast.AsyncFor | ast.While | ast.ExceptHandler | ast.match_case,
            )
        nodes += ast.iter_child_nodes(node)
    return total


def isinstance_calls(files: list[File]) -> int:
    """Calls of `isinstance` outside physics."""
    return sum(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        for file in files
        if file.path.parts[0] not in PHYSICS
        for node in ast.walk(file.tree)
    )


@dataclass(frozen=True)
class Sizes:
    """Functions beyond a limit, each as 'file:line name (count)'."""

    long: list[str]
    complex: list[str]
    exceptions: list[str]
    """Those that say beside them why they may be: `# long: reason` or `# complex: reason` in their head."""
    unfounded: list[str]
    """Marks without a reason, and marks of functions that need none."""


def function_sizes(files: list[File]) -> Sizes:
    """Functions over 60 lines, functions of complexity above 15, and those that are excused."""
    sizes = Sizes([], [], [], [])
    for file in files:
        lines = file.text.splitlines()
        for function in file.functions:
            head = "\n".join(lines[function.lineno - 1 : function.body[0].lineno - 1] or lines[:0])
            marks = dict(_MARK.findall(head))
            place = f"{file.path.as_posix()}:{function.lineno} {function.name}"
            counts = {"long": (length(function), LONGEST), "complex": (complexity(function), MOST_COMPLEX)}
            over = {kind: count for kind, (count, most) in counts.items() if count > most}
            for kind, count in over.items():
                if kind not in marks:
                    getattr(sizes, kind).append(f"{place} ({count})")
            sizes.unfounded.extend(
                f"{place} (# {kind}: {reason})"
                for kind, reason in marks.items()
                if kind not in over or len(reason.split()) < 3
            )
            if marks:
                sizes.exceptions.append(f"{place}: {'; '.join(marks.values())}")
    return sizes


def longest_door(files: list[File]) -> int:
    """Lines of the function behind `be.fit`: who opens it should see it on one screen."""
    doors = ("fit", "run_fit")
    return max(
        length(function)
        for file in files
        if file.path.parts[0] == "identify" and len(file.path.parts) == 2
        for function in file.tree.body
        if isinstance(function, Function) and function.name in doors
    )
