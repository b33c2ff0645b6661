"""Bind to this machine, print the address, and serve until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...errors import InvalidValue, NotAvailable
from .workspace import JobLimits

HOST = "127.0.0.1"
SILENT: dict[str, Any] = {"log_level": "critical", "access_log": False, "server_header": False}
BOUNDED: dict[str, Any] = {
    "ws": "none",
    "h11_max_incomplete_event_size": 32768,
    "limit_concurrency": 256,
    "timeout_keep_alive": 30,
    "timeout_graceful_shutdown": 3,
}
"""What one connection, and all of them, may keep busy; times in seconds."""


def serve(
    folder: Path,
    *,
    port: int,
    program: Sequence[str],
    told: Callable[[str], None],
    limits: JobLimits | None = None,
) -> None:
    """Serve a workspace on loopback alone, until Ctrl-C.

    Args:
        folder: of the workspace, made where it is not there.
        port: to serve on; 0 takes any that is free.
        program: starts a worker.
        told: hears the address, with its token, once it answers.
        limits: what a browser may ask for at most.

    Raises:
        InvalidValue: the port or the folder cannot be used.
        NotAvailable: the packages of a server are not installed.
    """
    try:
        import uvicorn

        from .app import application
    except ImportError as error:
        raise NotAvailable(f"{error.name} is not installed; pip install 'backemf[web]' brings it") from None
    from .connections import connection_class
    from .guard import Guard
    from .jobs import Queue
    from .workers import workers
    from .workspace import Workspace

    most = limits or JobLimits()
    os.umask(0o077)  # what people upload is theirs alone
    opened = _bound(port)
    own = opened.getsockname()[1]
    workspace = Workspace(folder.resolve(), most)
    token = secrets.token_urlsafe(24)

    async def run() -> None:
        queue = Queue(workspace, workers(program), most)
        hosts = [f"{name}:{own}" for name in (HOST, "localhost")]
        app = Guard(application(workspace, queue), token, hosts, f"backemf-{own}")
        server = uvicorn.Server(
            uvicorn.Config(app, http=connection_class(most.header_seconds), **SILENT, **BOUNDED)
        )
        serving = asyncio.create_task(server.serve(sockets=[opened]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.01)
        told(f"http://{HOST}:{own}/?token={token}")
        await queue.warm()
        await serving

    with contextlib.suppress(KeyboardInterrupt):  # that is how one ends it
        asyncio.run(run())


def _bound(port: int) -> socket.socket:
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((HOST, port))
    except OverflowError:
        raise InvalidValue(f"--port is {port}; expected 0 to 65535, 0 for any that is free") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidValue(f"port {port} cannot be used: {reason}; --port 0 takes any that is free") from None
    return opened
