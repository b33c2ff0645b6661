"""Sliders of a report: the page runs the fit's own numbers, curves and errors follow, and come back."""

from __future__ import annotations

import base64
import hashlib
import html as text_of
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.apps.playground.page_kernels import PageKernels, pack, rows_script, script
from backemf.apps.playground.panel import LivePanel, data, live, slider
from backemf.apps.report import html
from backemf.apps.report.behaviour import prediction_blocks
from backemf.apps.report.contents import JointReport
from backemf.figure import Drawing
from backemf.identify.predict import run as predicted

from ..browser import node, started


@pytest.fixture(scope="module")
def place(made, tmp_path_factory):
    return html.write(made, tmp_path_factory.mktemp("live") / "report.html")


@pytest.fixture(scope="module")
def page(place):
    """The page, wide and light, with what it asked for and complained of."""
    with started() as browser:
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.asked, opened.complaints = [], []
        opened.on("request", lambda one: opened.asked.append(one.url))
        opened.on("pageerror", lambda error: opened.complaints.append(str(error)))
        opened.on("console", lambda m: opened.complaints.append(m.text) if m.type != "log" else None)
        opened.goto(place.as_uri())
        opened.wait_for_selector("html[data-drawn]", state="attached")
        yield opened


CURVES = """() => [...document.querySelectorAll('.js-plotly-plot')].flatMap((p) => p._fullData
    .filter((t) => t.name === 'predicted' && t.yaxis === 'y').map((t) => Array.from(t.y)))"""
PATHS = """() => [...document.querySelectorAll('.js-plotly-plot')].flatMap((p) => p._fullData
    .filter((t) => t.name === 'predicted' && t.yaxis === 'y')
    .map((t) => p.querySelector('.trace' + t.uid + ' path.js-line').getAttribute('d')))"""


def settled(page, action):
    """Do something to a slider, and wait until every figure is drawn in full."""
    action()
    page.wait_for_selector("#live-0:not([data-moving])", state="attached", timeout=20000)


def errors(page) -> list[float]:
    """What stands in the panel: the error on fitted logs, then on held-out ones [mrad]."""
    shown = page.locator("#live-0 .live-error").inner_text()
    return [float(x) for x in re.findall(r"logs ([-0-9.e]+) mrad", shown)]


def test_the_page_finds_the_errors_of_the_fit(page, made):
    """To the three digits that it shows: the same model on the same logs."""
    by = {"training": [], "held out": []}
    for run in made.runs:
        by[run.role].append(1e3 * run.error)
    expected = [np.mean(by["training"]), np.mean(by["held out"])]
    np.testing.assert_allclose(errors(page), expected, rtol=6e-3)


def test_a_slider_moves_curves_and_error_and_the_fit_comes_back(page):
    first, before, paths = errors(page), page.evaluate(CURVES), page.evaluate(PATHS)
    knob = page.locator("#live-0 input").first
    back = page.locator("#live-0 [data-to=fit]")
    assert back.is_disabled()
    knob.focus()
    shown = page.locator("#live-0 .slider output").first.inner_text()
    settled(page, lambda: [page.keyboard.press("PageUp") for _ in range(4)])
    assert page.locator("#live-0 .slider output").first.inner_text() != shown
    assert knob.get_attribute("aria-valuetext") == page.locator("#live-0 .slider output").first.inner_text()
    assert all(now > 1.5 * then for now, then in zip(errors(page), first, strict=True))
    moved = page.evaluate(CURVES)
    assert len(moved) == len(before) == 4
    for now, then in zip(moved, before, strict=True):
        assert np.abs(np.array(now) - np.array(then)).max() > 2e-3
    assert "With these numbers" in page.locator("figure output.now").first.inner_text()
    assert page.evaluate(PATHS) != paths
    settled(page, back.click)
    assert errors(page) == first
    assert back.is_disabled()
    assert page.locator("figure output.now").first.inner_text() == ""
    for now, then in zip(page.evaluate(CURVES), before, strict=True):  # the first ones are single precision
        np.testing.assert_allclose(now, then, atol=2e-6)


def test_a_band_is_of_the_fit_and_not_of_what_sliders_say(page):
    """Hidden while a slider is elsewhere, and the caption says why."""
    band = page.locator(".js-plotly-plot:has(.fills path.js-fill) .fills").first
    caption = page.locator("figure:has(.fills path.js-fill) output.now").first
    assert band.is_visible()
    page.locator("#live-0 input").first.focus()
    settled(page, lambda: page.keyboard.press("PageUp"))
    assert not band.is_visible()
    assert "The band is of the fit's numbers" in caption.inner_text()
    settled(page, page.locator("#live-0 [data-to=fit]").click)
    assert band.is_visible()


def test_lines_follow_at_once_and_not_only_when_a_slider_rests(page):
    paths = page.evaluate(PATHS)
    page.evaluate(
        "() => { const i = document.querySelector('#live-0 input'); i.value = 900;"
        " i.dispatchEvent(new Event('input')); }"
    )
    page.wait_for_timeout(60)  # a few frames; figures are drawn in full 160 ms later
    assert all(now != then for now, then in zip(page.evaluate(PATHS), paths, strict=True))
    settled(page, page.locator("#live-0 [data-to=fit]").click)


def test_what_the_datasheet_says_is_one_click(page):
    settled(page, page.locator("#live-0 [data-to=stated]").click)
    assert errors(page)[0] > 5.0  # the sheet of another servo is far off
    settled(page, page.locator("#live-0 [data-to=fit]").click)


def test_the_dark_keeps_what_was_moved(page):
    knob = page.locator("#live-0 input").first
    knob.focus()
    settled(page, lambda: page.keyboard.press("PageUp"))
    moved = page.evaluate(CURVES)
    page.emulate_media(color_scheme="dark")
    settled(page, lambda: page.wait_for_timeout(400))
    np.testing.assert_allclose(page.evaluate(CURVES)[0], moved[0])
    page.emulate_media(color_scheme="light")
    settled(page, page.locator("#live-0 [data-to=fit]").click)


def test_every_slider_has_a_name_and_says_what_is_known(page, made):
    names = page.evaluate(
        "[...document.querySelectorAll('#live-0 input')].map((i) => [i.labels[0].textContent,"
        " document.getElementById(i.getAttribute('aria-describedby')).textContent])"
    )
    assert len(names) == len(made.fit.parameters)
    assert all(label and said.startswith("fit ") and "95 % interval" in said for label, said in names)
    by = dict(names)
    assert "rung coulomb 0.05" in by["coulomb"]
    assert "rung coulomb 4.4" in by["resistance"]


def test_nothing_is_asked_for_and_nothing_is_complained_of(page, place):
    assert [url for url in page.asked if not url.startswith("data:")] == [place.as_uri()]
    assert page.complaints == []


def allowed_scripts(place) -> list[str]:
    """The scripts of a page, each of which its policy names, and no other."""
    text = place.read_text(encoding="utf-8")
    policy = text_of.unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1])
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert "eval" not in policy
    assert "script-src 'sha256-" in policy
    for word in ("eval(", "new Function", "fetch(", "XMLHttpRequest", "import("):
        assert word not in scripts[-1]
    return scripts


def test_the_policy_names_every_script_and_no_other(place):
    assert len(allowed_scripts(place)) == 3


def test_a_slider_reaches_beyond_the_interval_and_to_what_was_said(fit):
    path = "friction.coulomb"
    one = slider(fit, path, fit.parameters[path], 0.055, "the datasheet")
    assert one.least < one.low < one.value < one.high < one.most
    assert one.least <= 0.5 * one.value
    assert [(t.sign, t.at) for t in one.ticks] == [("s", 0.055), ("1", 0.05)]
    far = slider(fit, path, fit.parameters[path], 5.5, "the datasheet")
    assert [t.sign for t in far.ticks] == ["1"]  # a hundred times too large: not on this slider
    assert slider(fit, "friction.static", fit.parameters["friction.static"], None, "").over == path


def test_logs_too_long_to_follow_are_said(made):
    run = made.runs[0]
    posed = run.posed
    slow = replace(posed, substeps=10_000)
    short, long = run, replace(run, posed=slow, log=replace(run.log, name="the long one"))
    panel = live(made.fit, [short, long], {}, "")
    assert [one.log.name for one in panel.runs] == [short.log.name]
    assert "the long one" in panel.note
    assert live(made.fit, [long], {}, "") is None


@pytest.fixture(scope="module")
def joint():
    """A joint as a robot's recordings have it, with a load that changes, a late command and uneven samples;
    and a fit of it."""
    servo = be.Actuator(
        motor=be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3),
        friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02),
        drive=be.drive.Position(volts_per_radian=20.0, supply=12.0, delay=0.0123),
    )
    rng = np.random.default_rng(0)
    t = np.cumsum(0.01 * rng.uniform(0.8, 1.2, 400))
    series = {"position_target": 0.5 * np.sign(np.sin(3 * t)), "inertia": 6e-3 + 2e-3 * np.sin(t)}
    series["load"] = 0.3 * np.cos(2 * t)
    run = be.simulate(servo, be.bench.Recorded(), series, time=t)
    seen = run.position + 5e-4 * rng.standard_normal(len(t))
    log = be.log("run/elbow", t, position=seen, current=run.current, **series, bench=be.bench.Recorded())
    free = ["friction.coulomb", "friction.viscous", "drive.delay"]
    start = servo.replace(**{"friction.coulomb": 0.06, "drive.delay": 0.01})
    return be.fit(start, [log], free_paths=free, n_starts=1, tolerances=False), log


def test_a_joint_is_run_by_itself_and_that_is_said(joint):
    """In node: with the fit's numbers what the fit predicts, and with others what the engine makes of them,
    a delay among them."""
    fit, log = joint
    runs = (predicted(fit, log),)
    elbow = JointReport(name="elbow", fit=fit, runs=runs, usual_load=0.0, fastest=None, parameters=())
    panel, drawing = prediction_blocks(elbow, "stated")
    assert isinstance(panel, LivePanel)
    assert isinstance(drawing, Drawing)
    assert "a robot's joint is run by itself" in panel.note
    assert "by itself, off by" in drawing.text
    kernels = PageKernels()
    told = data(panel, ["plot-0"], kernels)
    parts = [rows_script(), kernels.script(), script("numbers.js"), script("follow.js")]
    ask = """function answer(g) { const log = prepared(g.log); return g.values.map((v) => {
        const r = follow(log, v); return { position: Array.from(r.position), current: Array.from(r.current),
        error: r.error }; }); }"""
    fitted = [s["value"] for s in told["sliders"]]
    other = {"friction.coulomb": 0.2, "friction.viscous": 0.05, "drive.delay": 0.0311}
    values = [fitted, [other[s.path] for s in panel.sliders]]
    found = node("\n".join(parts) + ask, {"log": told["logs"][0], "values": values})
    for numbers, seen in zip((None, other), found, strict=True):
        changed = fit if numbers is None else replace(fit, actuator=fit.actuator.replace(**numbers))
        one = predicted(changed, log)
        one.posed.begin = runs[0].posed.begin  # other numbers read another start; the page keeps the fit's
        (position,) = one.posed.predictions(one.posed.first)
        np.testing.assert_allclose(seen["position"], position, atol=1e-9)
        np.testing.assert_allclose(seen["error"], 1e3 * np.abs(position - log["position"]).mean(), rtol=1e-5)
        assert np.abs(np.array(seen["current"]) - one.signals["current"]).mean() < 0.1


def test_numbers_are_packed_whole():
    even = pack(np.arange(100) * 5e-3)
    assert even == {"from": 0.0, "step": pytest.approx(5e-3), "n": 100}
    assert pack(np.full(100, 7.4))["step"] == 0.0
    rough = np.random.default_rng(0).standard_normal(50)
    back = np.frombuffer(base64.b64decode(pack(rough)["f8"]), "<f8")
    np.testing.assert_array_equal(back, rough)
    assert json.dumps(pack(rough, short=True))
