"""Connections that have not yet asked for anything whole: bounded in time and number, so that whoever opens
many and says little keeps nobody out."""

from __future__ import annotations

import asyncio
from typing import Any

MOST_SILENT = 100
"""Connections without a whole request; of more the oldest ones are closed."""


def connection_class(seconds: float) -> type[Any]:
    """Uvicorn's connection, closed where a request's head takes longer than this to arrive.

    Args:
        seconds: from the opening, or from the first byte of a later request.

    Returns:
        The class, as Uvicorn's `http` takes it.
    """
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    silent: dict[Any, asyncio.TimerHandle] = {}

    class TimedConnection(H11Protocol):
        """One connection."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def _wait(self) -> None:
            """Wait for a whole head, but not for ever."""
            if self not in silent:
                silent[self] = self.loop.call_later(seconds, self.transport.abort)
            while len(silent) > MOST_SILENT:
                oldest = next(iter(silent))
                oldest.forget()
                oldest.transport.abort()

        def forget(self) -> None:
            """Wait no longer."""
            timer = silent.pop(self, None)
            if timer is not None:
                timer.cancel()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
                self._wait()
            else:
                self.forget()

        def connection_lost(self, exc: Exception | None) -> None:
            self.forget()
            super().connection_lost(exc)

    return TimedConnection
