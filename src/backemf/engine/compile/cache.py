"""Compiled kernels on disk: one directory per kernel with its source, numba's machine code and a list of
checksums.

A directory is built under a private name and renamed into place when it is complete, so several processes can
build the same kernel at once and a reader never sees half of one. Whatever does not match its checksum is
built again. The name is a hash of everything the kernel depends on, so an upgrade of anything simply finds
nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import importlib.metadata
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
from collections.abc import Callable, Iterator
from pathlib import Path

from ... import physics

VARIABLE = "BACKEMF_CACHE"
"""Environment variable that names another directory for compiled kernels."""
MOST = 300
"""Kernels kept; beyond them the least recently used are removed."""
_SOURCE, _LIST = "kernel.py", "checksums.json"
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
    package = Path(__file__).parents[2]
    return [path for room in ("physics", "engine") for path in sorted((package / room).rglob("*.py"))]


def is_stale() -> bool:
    """Whether a source was changed after this process began to load them: what runs here is then not what is
    written there, and must not be kept under the name of what is."""
    return any(max(s.st_mtime, s.st_ctime) > physics.LOADED for s in (path.stat() for path in _sources()))


@functools.cache
def environment() -> tuple[str, ...]:
    """What a kernel depends on besides its structure:
    our sources, the versions of what compiles it, and the processor."""
    from llvmlite import binding

    sources = hashlib.sha256()
    for path in _sources():
        sources.update(path.name.encode() + path.read_bytes())
    versions = [
        f"{name} {importlib.metadata.version(name)}" for name in ("jax", "numba", "llvmlite", "numpy")
    ]
    processor = (
        binding.get_default_triple(),
        binding.get_host_cpu_name(),
        binding.get_host_cpu_features().flatten(),
    )
    return (sources.hexdigest(), *versions, platform.python_implementation(), sys.version, *processor)


def name_of(*parts: object) -> str:
    """A name for a kernel that depends on these parts and on the environment."""
    return hashlib.sha256(repr((parts, environment())).encode()).hexdigest()[:32]


def load(name: str | None, write: Callable[[], str]) -> types.ModuleType:
    """The compiled module of that name; if there is none, `write` gives its source.

    Without a name the source itself is one: for physics that came from outside this package, which can change
    unnoticed.
    """
    with _one_at_a_time:
        text = None
        if name is None:
            text = write()
            name = name_of(text)
        root = directory()
        if root is not None:
            kernel = _read(root / name, name)
            if kernel is not None:
                return kernel
        text = write() if text is None else text
        if root is not None:
            with contextlib.suppress(OSError):
                return _build(root, name, text)
        return _run(text, f"<backemf kernel {name}>", name, keep=False)


def clear() -> None:
    """Remove every kernel from the disk; those already loaded stay usable."""
    root = directory()
    for path in [] if root is None else _kernels(root, private=True):
        shutil.rmtree(path, ignore_errors=True)


def _kernels(root: Path, *, private: bool = False) -> list[Path]:
    """Our directories, oldest first; `private` also gives those under construction,
    or left behind by a process that died."""
    pattern = re.compile(r"\.?[0-9a-f]{32}(\.[0-9a-f]{32})?" if private else r"[0-9a-f]{32}")
    return sorted((p for p in root.iterdir() if pattern.fullmatch(p.name)), key=lambda p: p.stat().st_mtime)


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
    with contextlib.suppress(OSError):
        left_behind = [
            p
            for p in _kernels(root, private=True)
            if p.name.startswith(".") and p.stat().st_mtime < time.time() - 86400
        ]
        for path in [*_kernels(root)[:-MOST], *left_behind]:
            shutil.rmtree(path, ignore_errors=True)


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
