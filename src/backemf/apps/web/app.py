"""Every address of the server: projects, their files, their commands, and the pages."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import mimetypes
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from ... import __version__
from ...errors import BackemfError, InvalidValue, MissingValue
from ...files import replacing
from . import uploads
from .choices import choices
from .command_lines import line
from .form import check_content, expect_kind
from .guard import REPORT
from .jobs import OVER, Job, Queue
from .workspace import Project, Workspace, folders, full_disk

STATIC = files("backemf.apps.web") / "static"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
SHOWN = (".html",)
"""What is opened in the browser; everything else is downloaded."""
KINDS = ("servo", "robot", "mechanism", "model", "sheet", "record", "size", "power")
"""What a project is for."""


def application(workspace: Workspace, queue: Queue) -> FastAPI:
    """The whole server, without its guard."""

    @contextlib.asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        await queue.close()
        workspace.release()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=life)
    _add_projects(app, workspace, queue)
    _add_forms(app, workspace, queue)
    _add_files(app, workspace)
    _add_jobs(app, workspace, queue)
    _add_pages(app)
    app.add_exception_handler(BackemfError, _refuse)
    app.add_exception_handler(MissingValue, functools.partial(_refuse, status=404))
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(OSError, _no_room)
    app.add_exception_handler(Exception, _fault)
    return app


def _add_projects(app: FastAPI, workspace: Workspace, queue: Queue) -> None:
    """What can be chosen, and the addresses of projects: all, a new one, one, none any more."""
    offered = {"version": __version__, "limits": vars(workspace.limits), **choices()}

    @app.get("/api/hello")
    async def hello() -> Any:
        return offered

    @app.get("/api/projects")
    async def projects() -> Any:
        rows = sorted(workspace.projects.values(), key=lambda p: p.at, reverse=True)
        return {"projects": [_row(p, queue) for p in rows]}

    @app.post("/api/projects")
    async def new(request: Request) -> Any:
        content = await body(request, workspace)
        wanted = f"a name of at most 120 letters and a kind: expected one of {', '.join(KINDS)}"
        name = expect_kind(content.get("name", ""), str, f"a project needs {wanted}")
        kind = content.get("kind", "servo")
        if len(name) > 120 or kind not in KINDS:
            raise InvalidValue(f"a project needs {wanted}")
        return _whole(workspace.new(_printable(name) or "untitled", kind), queue)

    @app.get("/api/projects/{key}")
    async def one(key: str) -> Any:
        return _whole(workspace.project(key), queue)

    @app.delete("/api/projects/{key}")
    async def delete(key: str) -> Any:
        project = workspace.project(key)
        queue.forget(project)
        workspace.delete(project)
        return {"deleted": key}


def _add_forms(app: FastAPI, workspace: Workspace, queue: Queue) -> None:
    """The addresses that keep what a project is for, and what its form says."""

    @app.put("/api/projects/{key}/kind")
    async def kind(key: str, request: Request) -> Any:
        project = workspace.project(key)
        wanted = (await body(request, workspace)).get("kind")
        if wanted not in KINDS:
            raise InvalidValue(f"the kind is {str(wanted)[:40]!r}; expected one of {', '.join(KINDS)}")
        workspace.change(project, kind=wanted)
        return _whole(project, queue)

    @app.put("/api/projects/{key}/name")
    async def rename(key: str, request: Request) -> Any:
        project = workspace.project(key)
        given = (await body(request, workspace)).get("name", "")
        name = _printable(expect_kind(given, str, "a project's name is a text; type one"))
        if not name:
            raise InvalidValue("the name is empty; type one that you will know again")
        workspace.change(project, name=name)
        return {"name": name}

    @app.put("/api/projects/{key}/form")
    async def form(key: str, request: Request) -> Any:
        project = workspace.project(key)
        workspace.change(project, form=await body(request, workspace))
        return {"kept": True}


def _add_files(app: FastAPI, workspace: Workspace) -> None:
    """The addresses of a project's files."""

    @app.put("/api/projects/{key}/files")
    async def upload(key: str, request: Request) -> Any:
        return await _upload(workspace, workspace.project(key), request)

    @app.delete("/api/projects/{key}/files/{name:path}")
    async def remove(key: str, name: str) -> Any:
        workspace.remove(workspace.project(key), name)
        return {"deleted": name}

    @app.get("/api/projects/{key}/files/{name:path}")
    async def download(key: str, name: str) -> Any:
        project = workspace.project(key)
        path = workspace.file(project, name)
        shown = path.suffix in SHOWN and project.files[name].made_by
        last = PurePosixPath(name).name
        if shown:
            return FileResponse(path, media_type="text/html", headers={"content-security-policy": REPORT})
        return FileResponse(path, media_type="application/octet-stream", filename=last)


def _add_jobs(app: FastAPI, workspace: Workspace, queue: Queue) -> None:
    """The addresses of a project's commands: ask, look, answer, stop, run again."""

    @app.post("/api/projects/{key}/jobs")
    async def ask(key: str, request: Request) -> Any:
        project = workspace.project(key)
        return _job(queue.add(project, line(await body(request, workspace), project, workspace)), queue)

    @app.get("/api/projects/{key}/jobs/{job}")
    async def job(key: str, job: str) -> Any:
        return _job(queue.job(workspace.project(key), job), queue)

    @app.get("/api/projects/{key}/jobs/{job}/answer")
    async def answer(key: str, job: str) -> Any:
        found = await asyncio.to_thread(queue.answer, queue.job(workspace.project(key), job))
        return JSONResponse(found)

    @app.post("/api/projects/{key}/jobs/{job}/stop")
    async def stop(key: str, job: str) -> Any:
        stopped = queue.job(workspace.project(key), job)
        queue.stop(stopped)
        return _job(stopped, queue)

    @app.post("/api/projects/{key}/jobs/{job}/again")
    async def run_again(key: str, job: str) -> Any:
        project = workspace.project(key)
        old = queue.job(project, job)
        return _job(queue.add(project, line(old.asked, project, workspace)), queue)


def _add_pages(app: FastAPI) -> None:
    """The addresses of the pages and of what they load."""

    @app.get("/static/{name}")
    async def static(name: str) -> Any:
        return _static(name)

    @app.get("/")
    async def first() -> Any:
        return _static("index.html")


async def body(request: Request, workspace: Workspace) -> dict[str, Any]:
    """The JSON object of a request, bounded in size, time and depth."""
    most, got = workspace.limits.body_bytes, b""
    try:
        async with asyncio.timeout(workspace.limits.body_seconds):
            async for chunk in request.stream():
                got += chunk
                if len(got) > most:
                    raise InvalidValue(f"the request has more than {most} bytes; send less at once")
        content = json.loads(got)
    except BackemfError:
        raise
    except TimeoutError:
        raise InvalidValue("the request took too long to arrive; send it again") from None
    except (ValueError, RecursionError):
        raise InvalidValue("the request is no JSON; reload the page") from None
    wanted = 'expected one such as {"command": "check"}'
    return expect_kind(check_content(content), dict, f"the request is no object; {wanted}")


async def _upload(workspace: Workspace, project: Project, request: Request) -> Any:
    """A file as it comes, into the project's folder, whole or not at all."""
    query = request.query_params
    given, folder = query.get("name", ""), query.get("folder", "")
    if not 0 < len(given) <= 1000:
        raise MissingValue("the upload has no name; expected ?name=run1.csv")
    replace = query.get("replace") == "1" and not folder
    tops = [] if replace else workspace.names_in_use(project)
    name = uploads.stored_in(folder, given) if folder else uploads.stored_name(given, tops)
    size, clock = 0, workspace.limits.upload_seconds
    with workspace.arriving(project, name) as note_size:
        note_size(int(request.headers.get("content-length") or 0))
        files = workspace.files(project)
        place = files / name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            place = files
        if place.is_dir():
            raise InvalidValue(f"{name!r} is a file's name for a folder, or the other way round; rename one")
        try:
            with replacing(place, force=True) as beside:
                async with asyncio.timeout(clock):
                    with beside.open("wb") as file:
                        async for chunk in request.stream():
                            size += len(chunk)
                            note_size(size)
                            file.write(chunk)
        except TimeoutError:
            raise InvalidValue(
                f"{given[:60]!r} took more than {clock:g} s to arrive; send it again"
            ) from None
        workspace.project(project.id)  # it may have been deleted meanwhile
        return vars(workspace.add(project, name, _printable(given)))


def _printable(text: str) -> str:
    """Text of a stranger's for people to read: no control letters, and not too long."""
    return "".join(c for c in text if c.isprintable())[:120].strip()


def _row(project: Project, queue: Queue) -> dict[str, Any]:
    active = sum(job.state not in OVER for job in queue.of(project))
    known = {"id": project.id, "name": project.name, "kind": project.kind, "at": project.at}
    return {**known, "files": len(project.files), "active": active}


def _whole(project: Project, queue: Queue) -> dict[str, Any]:
    jobs = [_job(job, queue, brief=True) for job in queue.of(project)]
    return {**project.to_dict(), "folders": list(folders(project)), "jobs": jobs}


def _job(job: Job, queue: Queue, brief: bool = False) -> dict[str, Any]:
    content = {**vars(job), "ahead": queue.ahead(job), "over": job.state in OVER}
    return content if brief else {**content, "progress": queue.progress(job)}


def _static(name: str) -> Response:
    place = STATIC / name
    if "/" in name or "\\" in name or name.startswith(".") or not place.is_file():
        raise HTTPException(404)
    ending = Path(name).suffix
    kind = TYPES.get(ending) or mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Response(place.read_bytes(), media_type=kind)


async def _refuse(_request: Request, error: Exception, status: int = 400) -> Response:
    what, _, remedy = str(error).partition("; ")
    return JSONResponse({"error": what, "remedy": remedy}, status)


async def _unknown(_: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    return JSONResponse({"error": "there is nothing at this address", "remedy": "reload the page"}, status)


async def _no_room(request: Request, error: Exception) -> Response:
    error_words = full_disk(error)
    if not error_words:
        return await _fault(request, error)
    what, _, remedy = error_words.partition("; ")
    return JSONResponse({"error": what, "remedy": remedy}, 507)


async def _fault(_: Request, error: Exception) -> Response:
    said = f"this is a fault of backemf's own: {type(error).__name__}"
    return JSONResponse({"error": said, "remedy": "please report what you did"}, 500)
