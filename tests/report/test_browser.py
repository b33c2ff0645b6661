"""The page in a real browser: every figure drawn, nothing fetched, nothing complained of, wide,
narrow and on paper."""

from __future__ import annotations

import re

import pytest

from backemf.apps.report import html

from ..browser import started


@pytest.fixture(scope="module")
def place(made, tmp_path_factory):
    return html.write(made, tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="module")
def browser():
    with started() as one:
        yield one


SEEN = [(1280, 900, "light"), (390, 844, "dark")]


@pytest.fixture(scope="module", params=SEEN, ids=["desktop", "phone"])
def opened(request, browser, place):
    """(the page, what it complained of, what it asked for), at two widths, by day and by night."""
    width, height, scheme = request.param
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
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


LUMINANCE = """c => { const [r, g, b] = c.match(/[0-9.]+/g).map(Number);
    return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255; }"""


def test_it_is_dark_where_that_is_wanted(opened):
    """Page and figures alike: text on its ground with a contrast that can be read, either way."""
    page, _, _ = opened
    colours = f"""(() => {{ const light = {LUMINANCE}, body = getComputedStyle(document.body);
        const figure = [...document.querySelectorAll('.js-plotly-plot')].map(p => [
            light(getComputedStyle(p.querySelector('.main-svg')).backgroundColor),
            light(getComputedStyle(p.querySelector('.xtick text, .ytick text')).fill)]);
        return [[light(body.backgroundColor), light(body.color)], ...figure]; }})()"""
    seen = page.evaluate(colours)
    dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    for ground, ink in seen:
        assert (ground < 0.2 and ink > 0.7) if dark else (ground > 0.9 and ink < 0.3), (ground, ink)


def test_a_change_of_light_is_followed(opened):
    page, complaints, _ = opened
    before = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    ground = "getComputedStyle(document.querySelector('.main-svg')).backgroundColor"
    first = page.evaluate(ground)
    page.emulate_media(color_scheme="light" if before else "dark")
    page.wait_for_timeout(300)
    second = page.evaluate(ground)
    page.emulate_media(color_scheme="dark" if before else "light")
    page.wait_for_timeout(300)
    assert first != second
    assert page.evaluate(ground) == first
    assert complaints == []


def test_the_tools_of_a_figure_cover_no_legend_and_no_number_is_turned(opened):
    page, _, _ = opened
    over = """[...document.querySelectorAll('.js-plotly-plot')].flatMap(p => {
        const tools = p.querySelector('.modebar'), names = p.querySelector('.legend');
        if (!tools || !names) { return []; }
        const a = tools.getBoundingClientRect(), b = names.getBoundingClientRect();
        return a.bottom > b.top + 1 && a.right > b.left && a.left < b.right && a.height && b.height
            ? [p.id + ': ' + a.bottom + ' ' + b.top] : []; })"""
    assert page.evaluate(over) == []
    turned = """[...document.querySelectorAll('.bartext')].filter(t =>
        /rotate\\((?!0[,)])/.test(t.getAttribute('transform') || '')).map(t => t.textContent)"""
    assert page.evaluate(turned) == []


def test_a_wide_table_can_be_read_without_scrolling_it(opened):
    """On a phone a row is a card: every cell is inside the screen and carries its title."""
    page, _, _ = opened
    if page.viewport_size["width"] > 600:
        return
    outside = """[...document.querySelectorAll('table.cards td:not(.none)')].filter(c => {
        const r = c.getBoundingClientRect(); return r.right > innerWidth + 1 || r.width < 20; })
        .map(c => c.textContent)"""
    assert page.evaluate(outside) == []
    titles = "getComputedStyle(document.querySelector('.cards td:nth-child(2)'), '::before').content"
    assert page.evaluate(titles) not in ("none", "")


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
