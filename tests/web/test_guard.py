"""Who may ask, and what the answers forbid."""

from __future__ import annotations

import asyncio
import itertools
import socket
from typing import Any

import pytest

from backemf.apps.web.guard import HEADER, HEADERS, METHODS, PAGE, Guard

PATHS = ("/", "/api/hello", "/api/projects", "/static/app.js", "/static/app.css", "/nothing")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("token", [None, "", "wrong", "\u00e4"])
def test_without_the_token_nothing_is_answered(server, path, token):
    given = None if token is None else token.encode().decode("latin-1")
    status, _, said = server.raw("GET", path, X_Backemf_Token=given)
    assert status == 403
    assert b"open the address that `backemf web` printed" in said


def test_the_token_in_the_address_becomes_a_cookie(server):
    status, headers, _ = server.raw("GET", f"/?token={server.token}", X_Backemf_Token=None)
    assert (status, headers["location"]) == (303, "/")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    value = cookie.partition(";")[0]
    assert server.raw("GET", "/", X_Backemf_Token=None, Cookie=value)[0] == 200
    assert server.raw("GET", "/", X_Backemf_Token=None, Cookie=value + "x")[0] == 403
    for path in ("/api/hello", "/static/app.js"):  # in any other address it is worth nothing
        assert server.raw("GET", f"{path}?token={server.token}", X_Backemf_Token=None)[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost", "[::1]:80", ""])
def test_only_its_own_address_is_answered(server, host):
    """A name that was made to lead here is not this server's."""
    assert server.raw("GET", "/api/hello", Host=host)[0] == 403
    assert server.raw("GET", "/api/hello", Host=f"localhost:{server.port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "file://"])
def test_other_pages_may_not_ask(server, origin):
    assert server.raw("GET", "/api/hello", Origin=origin)[0] == 403
    assert server.raw("POST", "/api/projects", {"name": "x"}, Origin=origin)[0] == 403


def passed(method: str, query: bytes, headers: dict[str, str]) -> int:
    """The status of an answer, by the guard alone, in front of an app that says yes to everything."""
    told: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        told.extend([message["status"]] if "status" in message else [])

    raw = [(name.encode(), value.encode()) for name, value in headers.items() if value]
    scope = {"type": "http", "method": method, "path": "/api/x", "query_string": query, "headers": raw}
    asyncio.run(Guard(app, "secret", ["me:1"], "jar")(scope, None, send))
    return told[0]


def test_every_mixture_of_who_asks_and_how_is_answered_by_one_rule():
    own, right = "http://me:1", "secret"
    for host, origin, token, cookie, site, method in itertools.product(
        ("me:1", "you:1"),
        ("", own, "http://you:1"),
        ("", right, "wrong"),
        ("", f"a=b; jar={right}", "jar=wrong"),
        ("", "same-origin", "none", "cross-site"),
        (*METHODS, "PATCH"),
    ):
        given = {
            "host": host,
            "origin": origin,
            HEADER.decode(): token,
            "cookie": cookie,
            "sec-fetch-site": site,
        }
        known = token == right or right in cookie
        from_here = host == "me:1" and origin in ("", own) and site != "cross-site"
        says_where = method in ("GET", "HEAD") or token == right or origin == own
        good = from_here and known and says_where
        wanted = 200 if good else 403
        if host == "me:1" and method == "PATCH":
            wanted = 405
        assert passed(method, b"", given) == wanted, (method, given)
        assert passed(method, b"token=wrong", given) == wanted


def test_a_cookie_alone_changes_nothing(server):
    """A form on another page sends the cookie, and perhaps no origin."""
    cookie = f"backemf-{server.port}={server.token}"
    given = {"X_Backemf_Token": None, "Cookie": cookie}
    own = f"http://127.0.0.1:{server.port}"
    for method in set(METHODS) - {"GET", "HEAD"}:
        status, _, said = server.raw(method, "/api/projects/0", {"name": "x"}, **given)
        assert (status, b"does not say which page" in said) == (403, True), method
    assert server.raw("POST", "/api/projects", {"name": "x"}, Origin=own, **given)[0] == 200
    for site in ("cross-site", "same-site"):
        assert server.raw("GET", "/api/hello", Sec_Fetch_Site=site, **given)[0] == 403


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_says_what_a_page_may_do(server, path):
    _, headers, _ = server.raw("GET", path)
    assert headers["content-security-policy"] == PAGE
    assert "unsafe" not in PAGE
    assert all(headers[name] == value for name, value in HEADERS.items())


def test_it_listens_on_loopback_alone(server):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as asked:
        asked.settimeout(2)
        name = socket.gethostbyname(socket.gethostname())
        if name.startswith("127.0.0.1"):
            name = "127.0.0.2"  # this machine has no other address: loopback's next, where nobody listens
        with pytest.raises(OSError, match=r"refused|timed out|requested address|unreachable"):
            asked.connect((name, server.port))


def test_static_names_are_no_paths(server):
    for path in ("/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static/.hidden", "/static/none.js"):
        assert server.raw("GET", path)[0] in (403, 404)
