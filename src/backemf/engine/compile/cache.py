"""Compiled kernels on disk: one directory per kernel with its source, numba's machine code and a list of
checksums; and an index of small files, from what a kernel is asked for by to the kernel's name.

A kernel's name is a hash of its source, of the code that turns it into instructions, of the versions of what
compiles it, and of the processor: an upgrade of anything simply finds nothing. To know the source one must
trace the physics, which the index spares: its entries hold for one structure and one state of the physics'
code, docstrings and comments aside. So an edited docstring changes nothing, and an edited law traces anew,
but compiles only what came out otherwise.

A directory is built under a private name and renamed into place when it is complete, so several processes can
build the same kernel at once and a reader never sees half of one. Whatever does not match its checksum is
built again.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import threading
import time
import types
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ... import physics

VARIABLE = "BACKEMF_CACHE"
"""Environment variable that names another directory for compiled kernels."""
MOST = 2000
"""Kernels kept, and ten times as many entries of the index; beyond them the least recently used are
removed."""
PHYSICS_ROOMS = ("physics", "engine")
"""Folders of this package whose code decides what a kernel does."""
_PACKAGE = Path(__file__).parents[2]
_SOURCE, _LIST, _ENTRY, _NAME = "kernel.py", "checksums.json", ".index", "[0-9a-f]{32}"
_one_at_a_time = threading.RLock()


def directory() -> Path | None:
    """Where kernels are kept: the user's cache directory, or a temporary one of this process,
    or None where nothing can be written."""
    return _usable(os.environ.get(VARIABLE, ""))


@functools.lru_cache(maxsize=8)
def _usable(wanted: str) -> Path | None:
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: there is no home directory
        path = Path(wanted).expanduser() if wanted else _of_user() / "backemf" / "kernels"
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        if _is_private(path):
            tempfile.TemporaryFile(dir=path).close()
            return path.absolute()
    with contextlib.suppress(OSError):
        # A private name: machine code from a directory that others can write to must never be run.
        temporary = tempfile.mkdtemp(prefix="backemf-")
        atexit.register(shutil.rmtree, temporary, ignore_errors=True)
        return Path(temporary)
    return None


def _is_private(path: Path) -> bool:
    """Whether nobody else can put machine code there: it is ours, and only we may write."""
    if not hasattr(os, "getuid"):
        return True  # Windows: the user's own folder, guarded by the system
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _of_user() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _sources() -> list[Path]:
    """The files that say what a kernel does."""
    return [path for room in PHYSICS_ROOMS for path in sorted((_PACKAGE / room).rglob("*.py"))]


def is_physics(kind: type) -> bool:
    """Whether a class is written in the rooms of the physics, so that an edit of it is noticed."""
    return kind.__module__.startswith(tuple(f"{_PACKAGE.name}.{room}." for room in PHYSICS_ROOMS))


def is_stale(paths: Iterable[Path] | None = None) -> bool:
    """Whether a source was changed after this process began to load them: what runs here is then not what is
    written there, and must not be kept under the name of what is.

    Args:
        paths: The sources to look at; all of the physics' if not given.
    """
    looked_at = _sources() if paths is None else paths
    return any(max(s.st_mtime, s.st_ctime) > physics.LOADED for s in (path.stat() for path in looked_at))


@functools.cache
def environment() -> tuple[str, ...]:
    """What machine code depends on besides its source: the versions of what writes and compiles it, and the
    processor."""
    from llvmlite import binding

    versions = [
        f"{name} {importlib.metadata.version(name)}" for name in ("jax", "numba", "llvmlite", "numpy")
    ]
    processor = (
        binding.get_default_triple(),
        binding.get_host_cpu_name(),
        binding.get_host_cpu_features().flatten(),
    )
    return (*versions, platform.python_implementation(), sys.version, *processor)


@functools.cache
def physics_code() -> str:
    """A hash of the physics' code without docstrings and comments.

    Reading the files takes a millisecond, parsing them a third of a second: the index remembers what the
    bytes parsed to.
    """
    contents = {path.relative_to(_PACKAGE).as_posix(): path.read_bytes() for path in _sources()}
    name = name_of("physics", [(path, hashlib.sha256(text).hexdigest()) for path, text in contents.items()])
    known = _recall(name)
    if known is None:
        known = name_of([(path, _code(text)) for path, text in contents.items()])
        _remember(name, known)
    return known


@functools.lru_cache(maxsize=8)
def _code(text: bytes) -> str:
    """A hash of what a source does: of its syntax tree without strings that stand alone, as docstrings do."""
    tree = _TextRemover().visit(ast.parse(text))
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


class _TextRemover(ast.NodeTransformer):
    """Removes strings that stand alone."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        match node.value:
            case ast.Constant(value=str()):
                return None
        return node


def name_of(*parts: object) -> str:
    """A name for what depends on these parts and on the environment."""
    return hashlib.sha256(repr((parts, environment())).encode()).hexdigest()[:32]


def load(structure: str | None, write: Callable[[], str]) -> types.ModuleType:
    """The compiled module that `write` gives the source of.

    Args:
        structure: Whatever decides that source, as a name: where the index knows it, nothing is written.
            None for physics that came from outside this package, which can change unnoticed.
        write: Gives the source.
    """
    with _one_at_a_time:
        root, known = directory(), None if structure is None else _recall(structure)
        if root is not None and known is not None:
            kernel = _read(root / known, known)
            if kernel is not None:
                return kernel
        text = write()
        compilers = _compilers(text)
        name = name_of(text, [_code(path.read_bytes()) for path in compilers])
        if root is None or is_stale(compilers):
            return _run(text, f"<backemf kernel {name}>", name, keep=False)
        kernel = _read(root / name, name)
        if kernel is None:
            try:
                kernel = _build(root, name, text)
            except OSError:
                return _run(text, f"<backemf kernel {name}>", name, keep=False)
        if structure is not None and not is_stale():
            _remember(structure, name)
        return kernel


def _compilers(text: str) -> list[Path]:
    """The files of ours that a source's instructions come from: those it imports, and `machine.py`, on which
    they build."""
    imported = re.findall(rf"^from ({_PACKAGE.name}\.[\w.]+) import", text, re.MULTILINE)
    origins = [spec.origin for spec in map(importlib.util.find_spec, imported) if spec and spec.origin]
    return sorted({Path(__file__).with_name("machine.py"), *map(Path, origins)})


def _recall(name: str) -> str | None:
    """What the index says of a name, if anything."""
    root = directory()
    if root is None:
        return None
    path, known = root / f"{name}{_ENTRY}", ""
    with contextlib.suppress(OSError, UnicodeError):
        known = path.read_text(encoding="utf-8")
        os.utime(path)
    return known if re.fullmatch(_NAME, known) else None


def _remember(name: str, known: str) -> None:
    """Write an entry of the index, whole or not at all; without it the next process is slower, no more."""
    root = directory()
    if root is None:
        return
    private = root / f".{name}.{uuid.uuid4().hex}"
    with contextlib.suppress(OSError):
        try:
            private.write_text(known, encoding="utf-8")
            private.replace(root / f"{name}{_ENTRY}")
        finally:
            private.unlink(missing_ok=True)


def clear() -> None:
    """Remove every kernel from the disk; those already loaded stay usable."""
    root = directory()
    for path in [] if root is None else _ours(root, rf"\.?{_NAME}(\.{_NAME}|{_ENTRY})?"):
        _remove(path)


def _ours(root: Path, pattern: str) -> list[Path]:
    """What is ours in a directory and is named like that."""
    return [path for path in root.iterdir() if re.fullmatch(pattern, path.name)]


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    with contextlib.suppress(OSError):
        path.unlink()


def _read(path: Path, name: str) -> types.ModuleType | None:
    """The kernel in a directory, or None if it is not there or not as it was left;
    what is broken is removed."""
    try:
        expected = json.loads((path / _LIST).read_text("utf-8"))
        if expected == _checksums(path):
            module = _run((path / _SOURCE).read_text("utf-8"), str(path / _SOURCE), name, keep=True)
            os.utime(path)
            return module
    except FileNotFoundError:
        if not path.exists():
            return None
    except Exception:  # a damaged file can fail in any way; the kernel is then built again
        pass
    shutil.rmtree(path, ignore_errors=True)
    return None


def _build(root: Path, name: str, text: str) -> types.ModuleType:
    private = root / f".{name}.{uuid.uuid4().hex}"
    private.mkdir()
    try:
        (private / _SOURCE).write_text(text, "utf-8", newline="\n")
        module = _run(text, str(private / _SOURCE), name, keep=True)
        (private / _LIST).write_text(json.dumps(_checksums(private)), "utf-8")
        with contextlib.suppress(OSError):  # another process was faster: its kernel is as good
            private.rename(root / name)
        _prune(root)
        return module
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _prune(root: Path) -> None:
    """Remove what was used least recently, and what a process that died left behind."""
    with contextlib.suppress(OSError):
        for pattern, most in ((_NAME, MOST), (_NAME + _ENTRY, 10 * MOST)):
            paths = _ours(root, pattern)
            if len(paths) > most:
                for path in sorted(paths, key=lambda p: p.stat().st_mtime)[:-most]:
                    _remove(path)
        for path in _ours(root, rf"\.{_NAME}\.{_NAME}"):
            if path.stat().st_mtime < time.time() - 86400:
                _remove(path)


def _checksums(path: Path) -> dict[str, str]:
    files = sorted(p for p in path.rglob("*") if p.is_file() and p.name != _LIST)
    return {p.relative_to(path).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def _run(text: str, file: str, name: str, *, keep: bool) -> types.ModuleType:
    """Execute a source as a module; with `keep`, numba reads and writes its machine code beside the file."""
    module = types.ModuleType(f"backemf_kernel_{name}")
    module.__dict__.update(__file__=file, CACHE=keep)
    sys.modules[module.__name__] = module  # numba finds a loaded function's globals there
    with _beside_the_source() if keep else contextlib.nullcontext():
        exec(compile(text, file, "exec"), module.__dict__)
    return module


@contextlib.contextmanager
def _beside_the_source() -> Iterator[None]:
    """numba's own settings may send its files elsewhere; ours belong together."""
    from numba import config

    names = [name for name in ("CACHE_DIR", "CACHE_LOCATOR_CLASSES") if hasattr(config, name)]
    before = {name: getattr(config, name) for name in names}
    for name in names:
        setattr(config, name, "")
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(config, name, value)
