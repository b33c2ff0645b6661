"""Scripts in node and pages in the system's own Chromium, for tests of what runs there."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

from .conftest import unavailable

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextlib.contextmanager
def started() -> Iterator[Any]:
    """A browser, until the block ends."""
    program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if program is None:
        unavailable(f"a browser ({', '.join(BROWSERS)})")
    if importlib.util.find_spec("playwright") is None:
        unavailable("playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=[*QUIET])
        yield browser
        browser.close()


@contextlib.contextmanager
def opened(content: str) -> Iterator[Any]:
    """A page with this content."""
    with started() as browser:
        page = browser.new_page()
        page.set_content(content)
        yield page


def node(text: str, given: object = None):
    """What a script gives for `given`: it must define `answer(given)`."""
    program = shutil.which("node")
    if program is None:
        unavailable("node")
    wrote = f"process.stdout.write(JSON.stringify(answer({json.dumps(given)})));"
    done = subprocess.run(
        [str(program), "-"],
        input=f'"use strict";\n{text}\n{wrote}',
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)
