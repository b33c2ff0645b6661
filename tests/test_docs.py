"""Docs tell the truth: code and commands run and print what is shown, options exist,
links lead somewhere, generated parts are current."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import backemf
from backemf.apps.cli import main as command_line
from backemf.physics.bench import BENCHES
from backemf.physics.drive import DRIVES
from backemf.physics.friction import FRICTIONS
from backemf.planning import example_servo as bench_story

from .browser import started
from .film.benches import needs_renderer

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
GALLERY = ROOT / "docs" / "gallery.md"
SO101 = ROOT / "docs" / "how-to" / "so101.md"
"""A page whose commands need recordings that are not in the repository, and minutes."""
WALKED = [
    ROOT / "docs" / "tutorial.md",
    ROOT / "docs" / "own-recordings.md",
    ROOT / "docs" / "convert.md",
    ROOT / "docs" / "fleets.md",
    GALLERY,
    *sorted(p for p in (ROOT / "docs" / "how-to").glob("*.md") if p != SO101),
    *sorted((ROOT / "docs" / "documents").glob("*.md")),
]
"""Pages whose commands are run too, in order, in one folder."""
BLOCK = re.compile(r"^(?:<!-- not run: ([^\n]+) -->\n)?^```(\S*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of every fenced block; a shell block that says why it is not run is of the language
    "not run"."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [("not run" if why else language, text) for why, language, text in found]


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return BLOCK.sub("", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [p for p in PAGES if p not in WALKED], ids=name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space: dict = {}
    for language, block in blocks(page):
        if language == "python":
            exec(compile(block, name(page), "exec"), space)


STATED = re.compile(r"numbers within (\d+) %")
"""What a page says of how its outputs are compared."""


def tolerance(page: Path) -> float:
    """How far a printed number may be from the one that is shown, as the page states it, as a share."""
    found = STATED.findall(page.read_text(encoding="utf-8"))
    assert len(found) == 1, f"{name(page)}: say once how its outputs are compared: 'numbers within 5 %'"
    return float(found[0]) / 100.0


def same(shown: str, printed: str, within: float) -> bool:
    """Whether two words are the same: rules of any length, the same letters around numbers that are near."""
    if set(shown) == set(printed) == {"-"}:
        return len(shown) > 1 or shown == printed
    if NUMBER.split(shown) != NUMBER.split(printed):
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(abs(float(a) - float(b)) <= within * max(abs(float(a)), 1e-12) for a, b in pairs)


def shows(shown: str, printed: str, within: float = 0.05) -> bool:
    """Whether a printed line is the one that is shown, word by word however they are spaced; ... for anything
    at the end."""
    words, others = shown.removesuffix("...").split(), printed.split()
    if shown.endswith("..."):
        others = others[: len(words)]
    if words and re.search(r"\S\.\.\.$", shown):  # the last word goes on
        others[-1:] = [other[: len(words[-1])] for other in others[-1:]]
    return len(words) == len(others) and all(same(a, b, within) for a, b in zip(words, others, strict=True))


def exit_code() -> int | str:
    """Run the command line as it was called."""
    try:
        command_line.main()
    except SystemExit as ended:
        return ended.code or 0
    return 0


RECORDED = [ROOT / "docs" / "how-to" / one for one in ("record.md", "plan.md")]
"""Pages on which a virtual servo moves, by the clock."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.realtime if p in RECORDED else ()) for p in WALKED],
    ids=map(name, WALKED),
)
def test_a_reader_who_types_along_sees_what_is_shown(page, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    if page.name == "tutorial.md":
        bench_story.record(Path("out/logs"))  # as the demonstration, which has a test of its own, writes them
    space: dict = {}
    printed = ""
    shown_at_all = any(language == "text" for language, _ in blocks(page))
    within = tolerance(page) if shown_at_all else 0.0
    for language, block in blocks(page):
        if language == "python":
            capfd.readouterr()
            exec(compile(block, name(page), "exec"), space)
            printed = capfd.readouterr().out
        elif language == "toml":
            Path("servo.toml").write_text(block, encoding="utf-8")
        elif language == "sh":
            capfd.readouterr()
            for line in block.splitlines():
                words = shlex.split(line, comments=True)
                assert words[0] == "backemf", (
                    f"{name(page)}: put <!-- not run: why --> before the block of {line!r}, or write it in"
                    " Python"
                )
                if words[1] == "render":
                    needs_renderer()
                monkeypatch.setattr(sys, "argv", words)
                assert exit_code() == 0, f"{shlex.join(words)}: {capfd.readouterr().err}"
            seen = capfd.readouterr()  # a terminal shows both
            printed = seen.out + seen.err
        elif language == "text":
            lines = iter(printed.splitlines())
            for shown in block.splitlines():
                assert any(shows(shown, line, within) for line in lines), (
                    f"{name(page)} shows {shown!r}, but the command prints:\n{printed}"
                )


@pytest.mark.proof
def test_the_commands_of_the_so101_give_the_numbers_of_their_page(shared_data, tmp_path, monkeypatch, capfd):
    needs_renderer()
    monkeypatch.chdir(tmp_path)
    shutil.copytree(shared_data / "so101", "so101")
    said = []
    (block,) = (text for language, text in blocks(SO101) if language == "not run")
    for line in block.splitlines():
        words = shlex.split(line)
        words = [
            w for word in words for w in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
        ]
        monkeypatch.setattr(sys, "argv", words)
        assert exit_code() == 0, f"{line}: {capfd.readouterr().err}"
        printed = capfd.readouterr()
        said.append(printed.out + printed.err)
    page = re.sub(r"<!--.*?-->", "", prose(SO101))  # where numbers are filled in
    score = backemf.Fit.read("fit.json").score
    assert score is not None
    together = [float(x) for x in re.findall(r"\*\*([0-9.]+)\*\*", page)]
    assert together == pytest.approx([1e3 * score.rms, 1e3 * score.rms_free], rel=0.1)
    files = [float(x) for x in re.findall(r"^\| `so101_.* \| ([0-9.]+) \|$", page, re.MULTILINE)]
    driven = [float(re.findall(r"together .*?: ([0-9.]+) mrad RMS", text)[0]) for text in said[1:3]]
    assert files == pytest.approx(driven, rel=0.1)
    assert Path("pick_place.gif").is_file()


@pytest.mark.proof
def test_the_recorded_examples_of_how_sure_print_what_is_shown(shared_data, tmp_path, monkeypatch, capfd):
    """To a tenth: searches on other processors end a little elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    shutil.copytree(shared_data / "so101", "so101")
    found = blocks(ROOT / "docs" / "how-sure.md")
    for line in next(text for language, text in found if language == "not run").splitlines():
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        assert exit_code() == 0, f"{line}: {capfd.readouterr().err}"
    printed = " ".join(capfd.readouterr().out.split())
    number = r"-?\d[\d.]*"
    for shown in (line for language, text in found if language == "text" for line in text.splitlines()):
        pattern = re.escape(" ".join(re.sub(number, "#", shown).split())).replace(r"\#", f"({number})")
        if "friction.coulomb   0.14 " in shown or "95 % interval" in shown:
            continue  # of no recording
        match = re.search(pattern, printed)
        assert match, f"how-sure.md shows {shown!r}, but the commands print:\n{printed}"
        there = [float(x.rstrip(".")) for x in re.findall(number, shown)]
        assert [float(x.rstrip(".")) for x in match.groups()] == pytest.approx(there, rel=0.1), shown


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("R  4.443  0.082  ohm", "R 4.44 0.0823 ohm", True),
        ("R  4.443  ohm", "R 4.9 ohm", False),
        ("R  4.443  ohm", "R 4.44 V", False),
        ("wrote a ...", "wrote a file", True),
        ("wrote a", "wrote a file", False),
        ("-----  ---", "---  ------", True),
        ("a - b", "a -- b", False),
        ("R = 2.1 (95 %: 2 to 2.2)", "R = 2.15 (95 %: 2 to 2.2)", True),
    ],
)
def test_what_counts_as_shown(shown, printed, same):
    assert shows(shown, printed) is same


def commands() -> dict[tuple[str, ...], set[str]]:
    """Every command and group, with its options."""
    found: dict[tuple[str, ...], set[str]] = {}

    def walk(one, words):
        found[words] = {o for p in one.params for o in (*p.opts, *p.secondary_opts)} | {"--help", "-h"}
        for part, inner in getattr(one, "commands", {}).items():
            walk(inner, (*words, part))
        if hasattr(one, "default"):  # what stands in the place of a command's name is its argument
            found[words] |= found[(*words, one.default)]

    walk(typer.main.get_command(command_line.app), ())
    return found


COMMANDS = commands()


def written_commands(page: Path) -> list[str]:
    """Every `backemf ...` of a page: lines of its blocks, and code in its sentences."""
    lines = [
        line
        for language, block in blocks(page)
        if language in ("", "sh", "not run")
        for line in block.splitlines()
    ]
    inline = re.findall(r"`([^`\n]+)`", prose(page))
    return [text for text in (*lines, *inline) if text.startswith("backemf ")]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_and_options_exist(page):
    for text in written_commands(page):
        words = shlex.split(text, comments=True)[1:]
        own: tuple[str, ...] = ()
        while words[len(own) :] and (*own, words[len(own)]) in COMMANDS:
            own = (*own, words[len(own)])
        rest = words[len(own) :]
        assert own or all(w.startswith("-") or w.isupper() for w in rest), (
            f"{name(page)}: there is no command for {text!r}"
        )
        options = {w.partition("=")[0] for w in rest if re.match(r"--?[a-z]", w)}
        allowed = COMMANDS[own] if own or not any(w.isupper() for w in rest) else {"--help"}
        assert options <= allowed, f"{name(page)}: {text!r} has {', '.join(sorted(options - allowed))}"


def test_every_command_is_found_in_the_text():
    """So that the check above cannot pass by finding nothing."""
    assert sum(len(written_commands(page)) for page in PAGES) > 60


def anchors(page: Path) -> set[str]:
    """What a link may point at in a page: its headings, spelled as the site and code hosts spell them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.strip().lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_and_anchors_exist(page):
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    for target, anchor in LINK.findall(text):
        if "://" in target:
            continue
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{name(page)} links to {target}"
        if anchor:
            assert anchor in anchors(there), (
                f"{name(page)} links to {target}#{anchor}; there is: {', '.join(sorted(anchors(there)))}"
            )


def test_the_gallery_shows_what_its_commands_make():
    made = re.findall(r" -o (\S+\.png)$", GALLERY.read_text(encoding="utf-8"), re.MULTILINE)
    shown = re.findall(r"\]\(img/gallery/(\S+)\)", GALLERY.read_text(encoding="utf-8"))
    assert shown == made
    assert {p.name for p in (ROOT / "docs" / "img" / "gallery").iterdir()} == set(shown)
    assert all((ROOT / "docs" / "img" / "gallery" / name).stat().st_size < 90_000 for name in shown)


def test_the_functions_named_beside_the_equations_exist():
    from backemf.physics import actuator, bench, drive, friction, gearbox, law, motor, thermal

    rooms = {
        n: v
        for m in (actuator, bench, drive, friction, law, gearbox, motor, thermal)
        for n, v in vars(m).items()
        if isinstance(v, type)
    }
    rooms["actuator"] = actuator
    named = re.findall(r"`(\w+)\.(\w+)`", (ROOT / "docs" / "model.md").read_text(encoding="utf-8"))
    found = [
        (owner, function)
        for owner, function in named
        if function != "py" and owner not in ("thermal", "friction")
    ]
    assert len(found) > 40
    for owner, function in found:
        assert callable(getattr(rooms[owner], function)), f"{owner}.{function}"


@pytest.mark.slow
def test_a_browser_draws_the_equations_without_the_network(tmp_path):
    """The page of the model as it is built: every equation is drawn, in the font that comes with the site."""
    page = ROOT / "docs" / "model.md"
    (tmp_path / "index.md").write_text("# Pages\n\n```{toctree}\nmodel\n```\n", encoding="utf-8")
    shutil.copy(page, tmp_path)
    built = [sys.executable, "-m", "sphinx", "-q", "-c", str(ROOT / "docs"), tmp_path, tmp_path / "site"]
    done = subprocess.run(built, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "what is meant by" not in done.stderr
    asked: list[str] = []
    with started() as browser:
        shown = browser.new_page()
        shown.on("request", lambda one: asked.append(one.url))
        shown.goto((tmp_path / "site" / "model.html").as_uri())
        n, heights, fonts, text = shown.evaluate(
            "document.fonts.ready.then(() => [document.querySelectorAll('math').length,"
            " [...document.querySelectorAll('mfrac')].map(f => [...f.children].map(c =>"
            "   c.getBoundingClientRect()).map(b => [b.top, b.bottom])),"
            " [...document.fonts].map(f => f.status), document.querySelector('article').innerText])"
        )
    assert n == len(re.findall(r"\$\$.+?\$\$|\$.+?\$", prose(page), re.DOTALL)) > 100
    assert len(heights) > 10
    assert all(above[0] < above[1] <= below[0] + 1 for above, below in heights)  # in pixels
    assert fonts == ["loaded"]
    assert "$" not in text
    assert all(url.startswith("file:") for url in asked)


def test_generated_parts_are_current():
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "docs_tables.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_api_page_has_every_public_name_once():
    listed = re.findall(
        r"^\.\. auto(?:class|function):: ([\w.]+)$",
        (ROOT / "docs" / "api.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    top = [name for name in listed if "." not in name]
    assert sorted(top) == sorted(set(backemf.__all__) - {"__version__", *backemf._SPACES})
    for table in (FRICTIONS, DRIVES, BENCHES):
        for cls in table.values():
            assert listed.count(f"{cls.__module__}.{cls.__name__}") == 1


def test_make_targets_that_are_named_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {
        t
        for page in PAGES
        for _, block in blocks(page)
        for t in re.findall(r"^make (\w+)", block, re.MULTILINE)
    }
    assert named >= {"demo", "test"}
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
