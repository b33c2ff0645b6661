"""The documentation's site: Markdown pages, furo, and the API from docstrings;
nothing is fetched from anywhere."""

from __future__ import annotations

import json
import re
import textwrap
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.util import logging

import backemf

project = "backemf"
author = "backemf"
copyright = "the backemf authors, Apache-2.0"
version = release = backemf.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown", ".ipynb": "notebook"}
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
default_role = "code"
highlight_language = "none"
smartquotes = False  # -- is an option here, not a dash

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"backemf {release}"
html_show_sourcelink = False
html_copy_source = False
FONT = find_spec("ziamath").submodule_search_locations[0] + "/fonts/STIXTwoMath-Regular.ttf"  # type: ignore
html_static_path = ["_static", FONT]  # the same equations on every machine, whatever fonts it has
html_css_files = ["site.css"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_numpy_docstring = False
napoleon_use_rtype = False
autodoc_inherit_docstrings = False  # a method that only fills in its base class's is listed there
add_module_names = False
toc_object_entries_show_parents = "hide"


FIELD = re.compile(r":[a-z]+(?: [^:]+)?:(?: |$)")
"""How an argument, a result or an error begins."""


def as_plain(text: str) -> str:
    """Text without markup but for code."""
    return re.sub(r"`+([^`]+)`+|([*|_\\])", lambda m: f"``{m[1]}``" if m[1] else f"\\{m[2]}", text)


def as_text(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with code in backticks: nothing in them is markup but the lists of arguments,
    results and errors, and what is set out in columns stays so."""
    paragraphs = [p for p in re.split(r"\n\s*\n", "\n".join(lines)) if p.strip()]
    plain: list[str] = []
    for p in paragraphs:
        if FIELD.match(p):
            plain += [
                (m[0] if (m := FIELD.match(x)) else "") + as_plain(x[m.end() if m else 0 :])
                for x in p.splitlines()
            ] + [""]
        elif re.search(r"^ +\S", p, re.MULTILINE) or re.search(r"^\S+ {2,}\S", p, re.MULTILINE):
            plain += ["::", "", *("    " + line for line in textwrap.dedent(p).splitlines()), ""]
        else:
            plain += [*as_plain(p).splitlines(), ""]
    lines[:] = plain


def short(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """A default that is made anew each time is an ellipsis."""
    return None if signature is None else (signature.replace("<factory>", "..."), returns)


class NotebookParser(MystParser):
    """A notebook as a page: its cells with the outputs that are stored in it."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: Any) -> None:
        """Args:
        inputstring: the notebook's file.
        document: the page to fill.
        """
        parts = []
        for cell in json.loads(inputstring)["cells"]:
            text, code = "".join(cell["source"]), cell["cell_type"] == "code"
            parts.append(f"```python\n{text}\n```" if code else text)
            parts += map(as_markdown, cell.get("outputs", []))
        super().parse("\n\n".join(parts), document)


def as_markdown(output: dict[str, Any]) -> str:
    """One output of a cell: a picture, a table, or text."""
    data = {kind: "".join(content) for kind, content in output.get("data", {}).items()}
    if "image/png" in data:
        return f'<img src="data:image/png;base64,{data["image/png"].strip()}" alt="a figure">'
    if "text/html" in data:
        return f'<div class="shown">{data["text/html"]}</div>'
    return f"```text\n{''.join(output['text'])}\n```"


def equation(page: Any, node: Any) -> None:
    """An equation as MathML, which browsers draw by themselves: no script, and nothing is fetched."""
    from latex2mathml.converter import convert

    inline = isinstance(node, nodes.math)
    made = convert(node.astext(), display="inline" if inline else "block")
    made = made.replace("3D;</mo><mo>", '3D;</mo><mo form="prefix">')  # behind =, a minus is a sign
    if "\\" in made:
        logging.getLogger(__name__).warning("what is meant by %s?", node.astext(), location=node)
    page.body.append(made if inline else f'<div class="equation">{made}</div>')
    raise nodes.SkipNode


def played(app: Any, error: Exception | None) -> None:
    """The pages that simulate, made anew with every build: what a reader plays with is this version."""
    from backemf.apps.playground.lessons import site

    if error is None and app.builder.format == "html":
        site(Path(app.outdir) / "_static" / "play")


def setup(app: Any) -> None:
    app.add_source_parser(NotebookParser)
    app.add_html_math_renderer("mathml", (equation, None), (equation, None))
    app.connect("build-finished", played)
    app.connect("autodoc-process-signature", short)
    app.connect("autodoc-process-docstring", as_text)
