"""Names and docstrings: class and module names that occur once, no bare participle as the name of a function,
class or module, and arguments described in whatever is used outside its file."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from .source import File, Function

SEVERAL_MODULES = ("commands", "reader", "figures")
"""Module names that every kit may have."""
_IRREGULAR = """
    again alone along apart begun bent born broken brought built bought caught chosen done drawn driven eaten
    fallen felt foreseen forgotten fought found frozen given gone grown heard held hidden hung kept known laid
    led left lent lost made meant met otherwise overwritten paid proven ran rewritten risen said sat seen sent
    shaken shown shrunken shrunk slept slid sold sought spent spoken stolen stood stuck sunk sure swept sworn
    taken taught there thought thrown told torn understood undone untold withheld woken won worn written wrote
"""
IRREGULAR = frozenset(_IRREGULAR.split())
"""Participles that no rule finds, past tenses, and adverbs that were used like them."""
REGULAR = re.compile(r"[a-z]{2,}ed")
_OTHERS = "bleed breed embed exceed feed heed hundred indeed need proceed seed shed sled speed succeed weed"
NOT_PARTICIPLES = frozenset(_OTHERS.split())
ALSO_VERBS = frozenset({"read"})
"""Verbs as names of functions, participles as names of classes."""
STAY = frozenset({"Locked", "Recorded", "signal.held"})
"""Benches that users and stored files call so, and a function of users; a function with its module."""
FEW_ARGUMENTS = 2
"""Up to so many, names may say all."""
PROPERTIES = ("property", "cached_property", "functools.cached_property", "overload", "typing.overload")


def repeated_classes(files: list[File]) -> list[str]:
    """Class names that occur more than once, with their files."""
    return _repeated(
        (node.name, file.path.as_posix())
        for file in files
        for node in ast.walk(file.tree)
        if isinstance(node, ast.ClassDef)
    )


def repeated_modules(files: list[File]) -> list[str]:
    """Module names that occur more than once; every package has an `__init__`, every kit a `commands`."""
    return _repeated(
        (file.path.stem, file.path.as_posix())
        for file in files
        if file.path.stem != "__init__"
        and not (file.path.parts[0] == "kits" and file.path.stem in SEVERAL_MODULES)
    )


def _repeated(named: Iterator[tuple[str, str]]) -> list[str]:
    places: dict[str, list[str]] = defaultdict(list)
    for name, place in named:
        places[name].append(place)
    return [f"{name}: {', '.join(at)}" for name, at in sorted(places.items()) if len(at) > 1]


def is_participle(name: str, is_class: bool = False) -> bool:
    """Whether a name is one bare participle: `found`, `_kept`, `Asked`; `found_noise` is more than that."""
    word = name.strip("_")
    if "_" in word or any(c.isupper() for c in word[1:]):
        return False
    word = word.lower()
    regular = REGULAR.fullmatch(word) is not None and word not in NOT_PARTICIPLES
    return regular or word in IRREGULAR or (is_class and word in ALSO_VERBS)


def participles(files: list[File]) -> list[str]:
    """Functions, methods, classes and modules named by a bare participle; properties may be."""
    found = []
    for file in files:
        place = file.path.as_posix()
        if is_participle(file.path.stem):
            found.append(f"{place} is a module")
        for node in ast.walk(file.tree):
            if isinstance(node, ast.ClassDef) and is_participle(node.name, is_class=True):
                name, line = node.name, f"{place}:{node.lineno} class {node.name}"
            elif isinstance(node, Function) and is_participle(node.name) and not is_property(node):
                name, line = f"{module_name(file.path)}.{node.name}", f"{place}:{node.lineno} def {node.name}"
            else:
                continue
            if name not in STAY:
                found.append(line)
    return found


def is_property(function: Function) -> bool:
    """Whether it is read like an attribute, or says only its types."""
    return any(
        ast.unparse(decorator).endswith((".setter", *PROPERTIES)) for decorator in function.decorator_list
    )


# Docstrings


class Uses:
    """Which function or method of which file is used in another one."""

    def __init__(self, files: list[File]) -> None:
        self.modules = {module_name(file.path): file for file in files}
        self.attributes: dict[str, set[Path]] = defaultdict(set)
        """Attribute -> files that name it."""
        self.imported: set[tuple[str, str]] = set()
        """(module, name) that another file imports, or names after its module."""
        for name, file in self.modules.items():
            self._look(name, file)

    def _look(self, own: str, file: File) -> None:
        aliases: dict[str, str] = {}
        for node in ast.walk(file.tree):
            if isinstance(node, ast.ImportFrom):
                module = resolve(own, file.path.stem == "__init__", node)
                self.imported |= {(module, alias.name) for alias in node.names}
                for alias in node.names:
                    aliases[alias.asname or alias.name] = f"{module}.{alias.name}".strip(".")
            elif isinstance(node, ast.Attribute):
                self.attributes[node.attr].add(file.path)
        for node in ast.walk(file.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                module = aliases.get(node.value.id, "")
                if module in self.modules:
                    self.imported.add((module, node.attr))

    def function(self, file: File, name: str) -> bool:
        """Whether a function of a file is used in another."""
        return (module_name(file.path), name) in self.imported

    def method(self, file: File, name: str) -> bool:
        """Whether an attribute of this name is used in another file: perhaps somebody else's."""
        return bool(self.attributes[name] - {file.path})


def module_name(path: Path) -> str:
    """The dotted name of a file below the source: '' for the package itself."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def resolve(own: str, is_package: bool, node: ast.ImportFrom) -> str:
    """The module of an import, below the source, or as it is written where it is somebody else's."""
    if not node.level:
        return (node.module or "").removeprefix("backemf").lstrip(".")
    parts = own.split(".") if own else []
    parts = parts[: len(parts) - node.level + is_package]
    return ".".join([*parts, *([node.module] if node.module else [])])


class Docstrings:
    """What the docstrings of functions used outside their file leave open."""

    def __init__(self, files: list[File]) -> None:
        self.files, self.uses = files, Uses(files)

    @cached_property
    def classes(self) -> Mapping[str, ast.ClassDef]:
        return {n.name: n for file in self.files for n in ast.walk(file.tree) if isinstance(n, ast.ClassDef)}

    def open(self) -> list[str]:
        """One line for each function, with what is missing."""
        lines = []
        for file in self.files:
            for owner, function in public_functions(file):
                is_used = (self.uses.method if owner else self.uses.function)(file, function.name)
                lacks = missing(function) if is_used else ""
                if lacks and not (owner and self.inherits(owner, function.name)):
                    place = f"{owner.name}.{function.name}" if owner else function.name
                    lines.append(f"{file.path.as_posix()}:{function.lineno} {place}: {lacks}")
        return lines

    def inherits(self, owner: ast.ClassDef, name: str) -> bool:
        """Whether a class it is made from describes the method already."""
        for base in owner.bases:
            above = self.classes.get(ast.unparse(base).split("[")[0].split(".")[-1])
            if above is None or above is owner:
                continue
            methods = [f for f in above.body if isinstance(f, Function) and f.name == name]
            if any(not missing(f) for f in methods) or self.inherits(above, name):
                return True
        return False


def public_functions(file: File) -> Iterator[tuple[ast.ClassDef | None, Function]]:
    """Functions of a module and methods of its classes, with their class; private ones and properties left
    out."""
    classes = (node for node in file.tree.body if isinstance(node, ast.ClassDef))
    for owner in (None, *(node for node in classes if not node.name.startswith("_"))):
        for node in (owner or file.tree).body:
            if isinstance(node, Function) and not node.name.startswith("_") and not is_property(node):
                yield owner, node


def missing(function: Function) -> str:
    """What a docstring lacks: itself, arguments, what comes back; '' where it is complete. Two arguments may
    speak for themselves, and a command's say what they are beside their types."""
    text = ast.get_docstring(function)
    if not text:
        return "no docstring"
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
    names = [a.arg for a in every if a.arg not in ("self", "cls") and not a.arg.startswith("_")]
    helped = {a.arg for a in every if a.annotation and ast.unparse(a.annotation).startswith("Annotated[")}
    if len(names) <= FEW_ARGUMENTS:
        return ""
    section = re.search(r"^Args:\n((?:[ \t]+.*\n?|\n)*)", text, re.MULTILINE)
    described = re.findall(r"^\s+\**(\w+)(?: \(.*?\))?:", section[1], re.MULTILINE) if section else []
    lacks = [name for name in names if name not in {*described, *helped}]
    if lacks:
        return f"no word on {', '.join(lacks)}"
    returns = function.returns is not None and ast.unparse(function.returns) not in ("None", "NoReturn")
    return "no Returns" if returns and not re.search(r"^(Returns|Yields):", text, re.MULTILINE) else ""
