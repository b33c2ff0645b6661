"""The folder in which a server keeps its work: projects, their files, and what is known of them, as JSON;
and what a browser may ask for at most."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...bounds import ReadLimits
from ...errors import InvalidValue, MissingValue
from ...files import replacing

FORMAT = 1
ID = re.compile(r"^[0-9a-f]{12}$")


def now() -> str:
    """The time, as ISO text in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def fresh() -> str:
    """A new name that nobody can guess."""
    return secrets.token_hex(6)


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What a system says where there is no room."""


def full_disk(error: BaseException) -> str:
    """What is said where a disk is full, and what to do; empty for any other error."""
    if not isinstance(error, OSError) or error.errno not in FULL:
        return ""
    return "there is no room left on the disk; delete files or projects that are done with, then do it again"


def keep(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON whole or not at all."""
    with replacing(path, force=True) as place:
        place.write_text(json.dumps(content, allow_nan=False), encoding="utf-8")


@dataclass(kw_only=True)
class File:
    """A file of a project: what it is called here, and what its owner calls it."""

    name: str
    given: str
    bytes: int
    made_by: str = ""
    """The job that wrote it; empty for an upload."""
    at: str = ""


@dataclass(kw_only=True)
class Project:
    """Files that belong together, and what was typed for them."""

    id: str
    name: str
    kind: str
    at: str
    files: dict[str, File] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)
    """What a person has typed so far: the page's own, kept for the next time."""

    def to_dict(self) -> dict[str, Any]:
        """As it is kept, and as the browser has it."""
        return {**vars(self), "files": [dict(vars(f)) for f in self.files.values()]}

    @property
    def bytes(self) -> int:
        return sum(f.bytes for f in self.files.values())


class Workspace:
    """Every project, in memory and on disk."""

    def __init__(self, root: Path, limits: JobLimits):
        self.root, self.limits = root, limits
        self.projects: dict[str, Project] = {}
        self._promised: set[tuple[str, str]] = set()
        """Names that commands which still wait will write."""
        self._arriving: dict[object, tuple[str, str, int]] = {}
        """Uploads that have begun: project, name, and bytes so far."""
        try:
            for folder in (root, root / "files", root / "state"):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in (root / "files", root / "state"):  # those of an earlier release are open to all
                folder.chmod(0o700)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InvalidValue(
                f"--folder {str(root)!r:.200}: {reason}; expected a folder to write in"
            ) from None
        self._lock = _claim(root / "state" / "lock")
        for path in sorted((root / "state").glob("*/project.json")):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                read = _read(path)
                self.projects[read.id] = read

    def release(self) -> None:
        """Let another server have this folder."""
        os.close(self._lock)

    def project(self, key: str) -> Project:
        """The project of this id."""
        if not ID.match(key) or key not in self.projects:
            raise MissingValue("there is no such project; it may have been deleted in another window")
        return self.projects[key]

    def files(self, project: Project) -> Path:
        """The folder of a project's files: what its commands see."""
        return self.root / "files" / project.id

    def state(self, project: Project) -> Path:
        """The folder of what is known of a project, which no command sees."""
        return self.root / "state" / project.id

    def new(self, name: str, kind: str) -> Project:
        """A project without files."""
        if len(self.projects) >= self.limits.projects:
            raise InvalidValue(
                f"there are {len(self.projects)} projects, which is the most; delete one that is done with"
            )
        project = Project(id=fresh(), name=name, kind=kind, at=now())
        try:
            self.files(project).mkdir()
            (self.state(project) / "jobs").mkdir(parents=True)
            self.save(project)
        except OSError:
            self.delete(project)
            raise
        self.projects[project.id] = project
        return project

    def change(self, project: Project, **fields: Any) -> None:
        """Change a project, on disk first: what cannot be kept is not changed."""
        self.save(replace(project, **fields))
        vars(project).update(fields)

    def save(self, project: Project) -> None:
        """Keep what is known of a project for the next server."""
        keep(self.state(project) / "project.json", {"format": FORMAT, **project.to_dict()})

    def delete(self, project: Project) -> None:
        """Forget a project, with every file of it."""
        self.projects.pop(project.id, None)
        shutil.rmtree(self.files(project), ignore_errors=True)
        shutil.rmtree(self.state(project), ignore_errors=True)

    def file(self, project: Project, name: str) -> Path:
        """The place of a file that the project has: names that it does not have are no paths."""
        if name not in project.files:
            raise MissingValue(f"there is no file {name[:80]!r} in this project; upload it first")
        return self.files(project) / project.files[name].name

    def room(self, project: Project, name: str, size: int) -> None:
        """Refuse a file for which there is no room.

        Args:
            project: that would have it.
            name: that it would have; another file of this name makes room.
            size: so far [bytes].

        Raises:
            InvalidValue: the file is too large, or the project too full.
        """
        most = self.limits
        if size > most.file_bytes:
            raise InvalidValue(
                f"{name!r} has more than {most.file_bytes >> 20} MB, which is the most for one file; cut the"
                " recording into shorter ones, or leave channels out"
            )
        coming = sum(
            n for key, other, n in self._arriving.values() if (key, other != name) == (project.id, True)
        )
        if project.bytes + coming + size > most.project_bytes:
            raise InvalidValue(
                f"the files of this project have over {most.project_bytes >> 20} MB together; delete some"
            )
        if len(project.files) >= most.project_files and name not in project.files:
            raise InvalidValue(f"this project has {len(project.files)} files, which is the most; delete some")

    def add(self, project: Project, name: str, given: str, made_by: str = "") -> File:
        """Take a file that was written into the project's folder into its list.

        Args:
            project: that has it.
            name: in the project's folder.
            given: what its owner calls it.
            made_by: the job that wrote it; empty for an upload.

        Returns:
            Its row of the list.
        """
        size = (self.files(project) / name).stat().st_size
        added = File(name=name, given=given, bytes=size, made_by=made_by, at=now())
        try:
            self.change(project, files={**project.files, name: added})
        except OSError:
            if name not in project.files:
                (self.files(project) / name).unlink(missing_ok=True)
            raise
        return added

    def names_in_use(self, project: Project) -> list[str]:
        """Names that a new file may not have: of files, of uploads on their way, of what commands write."""
        given = [name for key, name, _ in self._arriving.values() if key == project.id]
        promised = [name for key, name in self._promised if key == project.id]
        return [name for name in (*project.files, *folders(project), *given, *promised) if "/" not in name]

    @contextlib.contextmanager
    def arriving(self, project: Project, name: str) -> Iterator[Callable[[int], None]]:
        """While it lasts a name is that of one upload; what it gives is told how many bytes have arrived.

        Args:
            project: that will have the file.
            name: of the file.

        Yields:
            What refuses a size for which there is no room.
        """
        mine = object()

        def note_size(size: int) -> None:
            self.room(project, name, size)
            self._arriving[mine] = (project.id, name, size)

        note_size(0)
        try:
            yield note_size
        finally:
            self._arriving.pop(mine, None)

    def take_outputs(self, project: Project, place: str, job: str) -> list[str]:
        """Take what a command wrote: a file, or every file of a folder.

        Args:
            project: in whose folder it lies.
            place: of the file or folder there.
            job: that wrote it.

        Returns:
            Names of the files.
        """
        root = self.files(project)
        path = root / place
        found = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        names = [p.relative_to(root).as_posix() for p in found if not p.is_symlink()]
        for name in names:
            self.add(project, name, name, made_by=job)
        return names

    def remove(self, project: Project, name: str) -> None:
        """Delete a file of a project."""
        path = self.file(project, name)
        path.unlink(missing_ok=True)  # first: on a full disk that makes the room that is needed below
        project.files.pop(name)
        self.save(project)

    def unused_name(self, project: Project, kind: str) -> str:
        """A name that no file or folder of the project has, and nobody else is given: fit-1.json, fit-2.json
        for a kind such as fit.json."""
        stem, dot, ending = kind.partition(".")
        tops = {name.partition("/")[0].lower() for name in project.files}
        root, k = self.files(project), 1
        while True:
            name = f"{stem}-{k}{dot}{ending}"
            promised = (project.id, name) in self._promised
            if not promised and name.lower() not in tops and not (root / name).exists():
                self._promised.add((project.id, name))
                return name
            k += 1


def _read(path: Path) -> Project:
    content = json.loads(path.read_text(encoding="utf-8"))
    there = path.parent.parent.parent / "files" / path.parent.name
    files = {f["name"]: File(**f) for f in content["files"] if (there / f["name"]).is_file()}
    words = {key: str(content[key]) for key in ("id", "name", "kind", "at")}
    if not ID.match(words["id"]) or words["id"] != path.parent.name:
        raise ValueError("not a project's")
    return Project(**words, files=files, form=dict(content["form"]))


def _claim(path: Path) -> int:
    """An open file that only one server holds."""
    opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(opened)
    except OSError:
        os.close(opened)
        raise InvalidValue(
            f"another `backemf web` works in {str(path.parent.parent)!r}; end it, or give another --folder"
        ) from None
    return opened


def _lock(opened: int) -> None:
    try:
        import fcntl
    except ImportError:
        import msvcrt

        msvcrt.locking(opened, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # Windows only
    else:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)


def folders(project: Project) -> Iterator[str]:
    """Folders of a project: a dataset, a model with its meshes, what was recorded."""
    yield from dict.fromkeys(name.partition("/")[0] for name in project.files if "/" in name)


@dataclass(frozen=True, kw_only=True)
class JobLimits:
    """Bounds on uploads, commands and what they may use."""

    file_bytes: int = 200 << 20
    """Of one uploaded file."""
    unpacked_bytes: int = ReadLimits.unpacked
    """Of what a compressed file holds."""
    rows: int = ReadLimits.rows
    """Of a recording."""
    project_bytes: int = 1 << 30
    project_files: int = 500
    projects: int = 500
    body_bytes: int = 1 << 20
    """Of any request that is no upload."""
    upload_seconds: float = 300.0
    body_seconds: float = 20.0
    header_seconds: float = 10.0
    """For the head of a request to arrive."""
    waiting: int = 200
    """Commands that wait or run, of all projects."""
    waiting_each: int = 30
    """Of one project."""
    memory: int = 3 << 30
    """Address space that one command may take, beyond that of the program."""
    quick_seconds: float = 120.0
    """CPU time of a command that is no fit."""
    long_seconds: float = 1800.0
    """CPU time of a fit or a report."""
    written_bytes: int = 512 << 20
    """Of one file that a command writes."""
    answer_bytes: int = 64 << 20
    """Of what a command prints."""


def wall(cpu: float) -> float:
    """Time on the clock after which a command is ended, where its CPU time may be so long: a busy machine
    gives a command a part of its time."""
    return 60.0 + 4.0 * cpu
