"""The page in a real browser: every figure drawn, nothing fetched, nothing complained of, wide,
narrow and on paper."""

from __future__ import annotations

import importlib.util
import re
import shutil

import pytest

from backemf.report import html

from ..conftest import unavailable

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def place(made, tmp_path_factory):
    return html.write(made, tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="module")
def browser():
    program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if program is None:
        unavailable(f"a browser ({', '.join(BROWSERS)})")
    if importlib.util.find_spec("playwright") is None:
        unavailable("playwright")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=program, args=[*QUIET])
        yield started
        started.close()


@pytest.fixture(scope="module", params=[(1280, 900), (390, 844)], ids=["desktop", "phone"])
def opened(request, browser, place):
    """(the page, what it complained of, what it asked for), at two widths."""
    width, height = request.param
    page = browser.new_page(viewport={"width": width, "height": height})
    complaints: list[str] = []
    asked: list[str] = []
    page.on(
        "console",
        lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(place.as_uri())
    page.wait_for_selector("html[data-drawn]", state="attached")
    yield page, complaints, asked
    page.close()


def test_nothing_is_fetched_and_nothing_is_complained_of(opened, place):
    page, complaints, asked = opened
    page.mouse.move(300, 400)
    page.mouse.wheel(0, 2000)
    page.wait_for_timeout(200)
    assert complaints == []
    assert [url for url in asked if not url.startswith("data:")] == [place.as_uri()]


def test_every_figure_is_drawn(opened, place):
    page, _, _ = opened
    n = len(re.findall(r'class="plot [a-z]+"', place.read_text(encoding="utf-8")))
    assert n >= 9
    assert int(page.evaluate("document.documentElement.dataset.drawn")) == n
    drawn = """[...document.querySelectorAll('.js-plotly-plot')].map(p => ({
        marks: p.querySelectorAll('.trace, .point, .hm image, .heatmaplayer image').length,
        width: p.getBoundingClientRect().width, ink: p.querySelector('.main-svg') !== null}))"""
    figures = page.evaluate(drawn)
    assert len(figures) == n
    assert all(f["ink"] and f["marks"] > 0 and f["width"] > 200 for f in figures), figures


def test_the_page_never_scrolls_sideways(opened):
    page, _, _ = opened
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    outside = """[...document.querySelectorAll('main > section *')].filter(e =>
        !e.closest('.scroll') && !e.closest('.plot')
        && e.getBoundingClientRect().right > window.innerWidth + 1)
        .map(e => e.tagName + ' ' + e.textContent.slice(0, 40))"""
    assert page.evaluate(outside) == []


def test_labels_of_a_figure_are_not_cut_or_tiny(opened):
    page, _, _ = opened
    cut = """[...document.querySelectorAll('.js-plotly-plot')].flatMap(p => {
        const box = p.getBoundingClientRect();
        return [...p.querySelectorAll('.xtick text, .ytick text, .xtitle, .ytitle, .y2title, .legendtext')]
            .filter(t => {
            const r = t.getBoundingClientRect();
            return r.left < box.left - 2 || r.right > box.right + 2
                || r.top < box.top - 2 || r.bottom > box.bottom + 2
                || parseFloat(getComputedStyle(t).fontSize) < 11; })
            .map(t => p.id + ': ' + t.textContent); })"""
    assert page.evaluate(cut) == []


def test_it_prints_with_whole_figures(opened):
    page, complaints, _ = opened
    paper = page.pdf(format="A4", prefer_css_page_size=True)
    pages = len(re.findall(rb"/Type\s*/Page[^s]", paper))
    assert 5 <= pages <= 16
    assert complaints == []
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    widths = page.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot .main-svg')].map(s =>"
        " parseFloat(s.getAttribute('width')))"
    )
    assert max(widths) <= 680  # the paper is 182 mm, 688 px, between its margins
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.wait_for_timeout(100)
    after = page.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot')].map(p => [p._fullLayout.height,"
        " p.getBoundingClientRect().height])"
    )
    assert all(abs(drawn - place) <= 1 for drawn, place in after), after
