"""Who may ask: this machine, this page, with this token; and what every answer forbids the page to do."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs

PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self';"
    " font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the pages of the server may do: nothing from elsewhere, nothing inline."""
REPORT = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src"
    " 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""What a report may do, in a frame of its own: draw itself. It has no origin and can ask for nothing."""
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
NEEDED = "open the address that `backemf web` printed; it has the token in it"
HEADER = b"x-backemf-token"


class Guard:
    """ASGI middleware in front of everything, static files included."""

    def __init__(self, app: Any, token: str, hosts: Iterable[str], cookie: str):
        self.app, self.token, self.hosts, self.cookie = app, token, frozenset(hosts), cookie

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        refused = self._refusal(scope)
        if refused is not None:
            await _say(send, *refused)
        elif scope["path"] == "/" and self._has_token(scope):
            cookie = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
            await _say(send, 303, "", [(b"location", b"/"), (b"set-cookie", cookie.encode())])
        else:
            await self.app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Any) -> tuple[int, str] | None:
        """(status, why), or None where it may pass."""
        hosts = _header_values(scope, b"host")
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return 403, f"this server answers only to its own address; {NEEDED}"
        if scope["method"] not in METHODS:
            return 405, "this server knows GET, POST, PUT and DELETE"
        origins = _header_values(scope, b"origin")
        if any(origin != f"http://{hosts[0]}" for origin in origins) or self._is_of_another_site(scope):
            return 403, f"this request comes from another page; {NEEDED}"
        headed = any(self._is(value) for name, value in scope["headers"] if name == HEADER)
        if not (headed or self._has_token(scope) or self._has_cookie(scope["headers"])):
            return 403, f"this request has no valid token; {NEEDED}"
        if scope["method"] not in ("GET", "HEAD") and not headed and not origins:
            return 403, f"this request does not say which page it comes from; {NEEDED}"
        return None

    def _is_of_another_site(self, scope: Any) -> bool:
        """Whether the browser says that another site asks, and the address has no token."""
        sites = {value for name, value in scope["headers"] if name == b"sec-fetch-site"}
        return bool(sites - {b"same-origin", b"none"}) and not self._has_token(scope)

    def _is(self, value: bytes) -> bool:
        return secrets.compare_digest(value, self.token.encode())

    def _has_token(self, scope: Any) -> bool:
        """Whether the address itself has the token: only that of the first page may."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return False
        try:
            given = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=8).get("token", [])
        except ValueError:
            return False
        return any(self._is(value.encode()) for value in given)

    def _has_cookie(self, given: Any) -> bool:
        pairs = (
            pair.partition(b"=") for name, value in given if name == b"cookie" for pair in value.split(b";")
        )
        return any(
            name.strip() == self.cookie.encode() and self._is(value.strip()) for name, _, value in pairs
        )


def _header_values(scope: Any, wanted: bytes) -> list[str]:
    """Every value of one header, in small letters."""
    return [value.decode("latin-1").lower() for name, value in scope["headers"] if name == wanted]


def _with_headers(send: Any) -> Any:
    """Every answer says what the browser may do with it; a report brings a policy of its own."""

    async def send_with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message["headers"]}
            more = {"content-security-policy": PAGE, **HEADERS}
            extra = [(k.encode(), v.encode()) for k, v in more.items() if k.encode() not in there]
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return send_with_headers


async def _say(send: Any, status: int, text: str, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    error, _, remedy = text.partition("; ")
    body = json.dumps({"error": error, "remedy": remedy}).encode() if text else b""
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *more]
    started = {"type": "http.response.start", "status": status, "headers": headers}
    with_all = _with_headers(send)
    await with_all(started)
    await with_all({"type": "http.response.body", "body": body})
