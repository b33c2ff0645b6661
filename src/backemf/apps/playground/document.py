"""The frame of every page: one file, what it may run by hash, its style, its data; nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

from .page_kernels import script


def escape(text: str) -> str:
    """Text that is only ever text, whatever is in it."""
    return html.escape(str(text), quote=True)


def policy(scripts: Sequence[str]) -> str:
    """What a page may do: run these scripts and no others, and reach nothing."""
    hashes = (hashlib.sha256(text.encode("utf-8")).digest() for text in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(h).decode('ascii')}'" for h in hashes)
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def document(
    title: str,
    note: str,
    inside: str,
    *,
    data: Mapping[str, Any],
    scripts: Sequence[str],
    version: str,
    style: str = "",
    without_script: str = "The figures need JavaScript, which this browser does not run;\nthe tables do not.",
) -> str:
    """A whole page.

    Args:
        title: Of the page.
        note: Where it came from, under the title.
        inside: HTML between header and scripts.
        data: By name, what the scripts read, as JSON.
        scripts: Texts that the page may run; no others run.
        version: Of backemf.
        style: CSS beyond the common one.
        without_script: What to say where no script runs.

    Returns:
        The text of the file.
    """
    told = "\n".join(
        f'<script type="application/json" id="{escape(key)}">{dumps(value)}</script>'
        for key, value in data.items()
    )
    run = "\n".join(f"<script>{text}</script>" for text in scripts)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{escape(policy(scripts))}">
<meta name="generator" content="backemf {escape(version)}">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>
{script("page.css")}{style}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
<p class="note">{escape(note)}</p>
</header>
{inside}
<noscript><p class="missing">{without_script}</p></noscript>
{told}
{run}
</body>
</html>
"""


def dumps(content: Any) -> str:
    """JSON that may stand inside a script element: no '<' can end it, whatever a name says; what is beyond
    all numbers is null."""
    finite = json.loads(json.dumps(content), parse_constant=lambda _: None)
    return (
        json.dumps(finite, separators=(",", ":"))
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
