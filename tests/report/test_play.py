"""Pages to play with: the engine's own numbers, sliders that move curves, addresses that say what is chosen,
nothing asked of anybody."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import backemf as be
from backemf.analysis.curves import full_voltage
from backemf.apps.playground import lessons
from backemf.apps.playground.page_kernels import script
from backemf.apps.playground.playground import everything, playground, variant
from backemf.apps.playground.scene import page as made
from backemf.physics.steady import stall_torque

from ..browser import node, started
from .test_live import allowed_scripts

PARTS = ("mx-106/m6", "ak10-9", "maxon-re-25-118743", "sg90")


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    folder = tmp_path_factory.mktemp("play")
    for name, scene in {
        "parts": playground(PARTS),
        "sg90": lessons.sg90(),
        **{name: lesson() for name, lesson in lessons.LESSONS.items() if name != "sg90"},
    }.items():
        (folder / f"{name}.html").write_text(made(scene), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def browser():
    with started() as one:
        yield one


@pytest.fixture
def look(browser, places):
    """Opens a page at an address, and in the end wants no complaint and no request but for the page."""
    asked, complaints, pages = [], [], []

    def opened(name: str, fragment: str = "", width: int = 1280, scheme: str = "light"):
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page.on("request", lambda one: asked.append(one.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda m: complaints.append(m.text) if m.type != "log" else None)
        page.goto((places / f"{name}.html").as_uri() + fragment)
        rest(page)
        pages.append(page)
        return page

    yield opened
    for page in pages:
        page.close()
    assert complaints == []
    assert {url.partition("#")[0] for url in asked if not url.startswith("data:")} <= {
        place.as_uri() for place in places.iterdir()
    }


def rest(page) -> None:
    page.wait_for_selector("html[data-ready] .play:not([data-moving])", state="attached", timeout=20000)


def curve(page, panel: int = 0) -> str:
    return page.locator(".play svg").nth(panel).locator("path.c0").last.get_attribute("d")


def now(page, moment: int) -> dict[str, float]:
    """What the page says of a moment, in thousandths of the way."""
    page.evaluate(
        "(m) => { const c = document.getElementById('cursor'); c.value = m;"
        " c.dispatchEvent(new Event('input')); }",
        moment,
    )
    said = page.locator("[data-is=now]").inner_text()
    words = re.findall(r"(time|position|speed|current|torque|temperature|voltage) ([-0-9.e]+)", said)
    return {name: float(number) for name, number in words}


def test_motions_are_the_librarys_own():
    t, size, period = np.linspace(0, 4, 801), 0.7, 2.0
    signals = {
        "square": be.signal.square(size / 2, 1 / period, offset=size / 2),
        "step": be.signal.step(size, at=0.1 * period),
        "sine": be.signal.sine(size, 1 / period),
        "ramp": be.signal.ramp(size / (0.75 * period), until=0.75 * period),
        "chirp": be.signal.chirp(size, 0.5 / period, 8 / period, 2 * period),
    }
    text = script("motions.js") + "function answer(t) { const all = {}; for (const name in MOTIONS) {"
    text += f"all[name] = t.map((x) => MOTIONS[name].of(x, {size}, {period})); }} return all; }}"
    found = node(text, t.tolist())
    for name, signal in signals.items():
        np.testing.assert_allclose(found.pop(name), signal(t), atol=1e-12, err_msg=name)
    up, down = be.signal.ramp(size / 1.0, until=1.0), be.signal.ramp(-size / 1.0, at=1.0)
    first = t <= period
    np.testing.assert_allclose(np.array(found.pop("triangle"))[first], (up(t) + down(t))[first], atol=1e-12)
    assert found == {}


@pytest.mark.parametrize(
    ("part", "bench", "motion"),
    [
        ("mx-106/m6", "pendulum", "square"),
        ("ak10-9", "spring", "sine"),
        ("maxon-re-25-118743", "flywheel", "step"),
    ],
)
def test_the_page_simulates_what_the_library_does(look, part, bench, motion):
    """To the three digits that it shows, at moments away from jumps."""
    one = variant(part)
    period, size = one.period, one.size
    signals = {
        "square": (be.signal.square(size / 2, 1 / period, offset=size / 2), 2 * period),
        "sine": (be.signal.sine(size, 1 / period), 2 * period),
        "step": (be.signal.step(size, at=0.1 * period), period),
    }
    asked, span = signals[motion]
    run = be.simulate(one.actuator, one.benches[bench], asked, time=np.linspace(0, span, 801))
    page = look("parts", f"#variant={part}&bench={bench}&motion={motion}")
    for moment in (200, 330, 700):
        k = round(moment / 1000 * 800)
        found = now(page, moment)
        expected = {"position": math.degrees(run.position[k]), "speed": run.velocity[k]}
        expected |= {"current": run.current[k], "torque": run.torque[k]}
        if "temperature" in run.signals:
            expected["temperature"] = run["temperature"][k]
        for name in found:
            size_of = max(
                abs(expected[name]), 0.02 * np.abs(run.signals[SIGNALS[name]]).max() * SCALE.get(name, 1)
            )
            assert abs(found[name] - expected[name]) <= 8e-3 * size_of, (name, moment)
        assert {"speed", "current", "torque"} <= found.keys()


SIGNALS = {"speed": "velocity", **{n: n for n in ("position", "current", "torque", "temperature")}}
SCALE = {"position": 180 / math.pi}


def test_a_slider_moves_the_curve_and_the_start_comes_back(look):
    page = look("parts")
    first = curve(page)
    knob = page.locator("input[data-key='bench.mass']")
    knob.focus()
    for _ in range(3):
        page.keyboard.press("PageUp")
    rest(page)
    moved = curve(page)
    assert moved != first
    assert knob.get_attribute("aria-valuetext").endswith(" kg")
    assert "bench.mass=" in page.url
    page.locator("[data-is=reset]").click()
    rest(page)
    assert curve(page) == first
    assert "#" not in page.url


def test_an_address_says_what_is_seen(look):
    page = look("parts")
    page.locator("[data-is=variant]").select_option("sg90")
    page.locator("[data-is=motion]").select_option("sine")
    page.locator("input[data-key='size']").focus()
    page.keyboard.press("PageUp")
    rest(page)
    again = look("parts", "#" + page.url.partition("#")[2])
    assert again.locator("[data-is=variant]").input_value() == "sg90"
    assert curve(again) == curve(page)


@pytest.mark.parametrize(
    ("fragment", "said"),
    [
        ("#variant=<img src=x onerror=alert(1)>", "which is not here"),
        ("#variant=__proto__&bench=constructor&motion=toString", "which is not here"),
        ("#size=NaN&period=-1e999&bench.mass=1e9", "is no number"),
        ("#%E0%A4%A&&&===", ""),
        ("#bench.mass=99999&bench.length=-5", ""),
    ],
)
def test_a_wrong_address_is_a_sentence(look, fragment, said):
    page = look("parts", fragment)
    assert said in page.locator("[data-is=trouble]").inner_text()
    assert page.locator(".play img").count() == 0
    assert curve(page)


@pytest.mark.parametrize("name", ["parts", *lessons.LESSONS])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_it_reads_on_every_screen(look, name, width, scheme):
    page = look(name, width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    unnamed = "[...document.querySelectorAll('input, select')].filter((e) => !e.labels.length).length"
    assert page.evaluate(unnamed) == 0
    assert page.evaluate("[...document.querySelectorAll('svg')].every((s) => s.getAttribute('aria-label'))")
    axes = page.locator("text.axis").all_text_contents()
    assert "time [s]" in axes
    assert all(re.fullmatch(r".+ \[.+\]", axis) for axis in axes)
    light = """(() => { const n = (c) => { const [r, g, b] = c.match(/[0-9.]+/g).map(Number);
        return (0.2126 * r + 0.7152 * g + 0.0722 * b) / 255; };
        return [n(getComputedStyle(document.body).backgroundColor),
            ...[...document.querySelectorAll('svg .tick')].map((t) => n(getComputedStyle(t).fill))]; })()"""
    ground, *ink = page.evaluate(light)
    assert all(abs(x - ground) > 0.4 for x in ink)


def test_the_policy_names_the_one_script(places):
    for place in places.iterdir():
        assert len(allowed_scripts(place)) == 1


def error(page) -> float:
    return float(re.search(r"Off by ([0-9.]+) mrad", page.locator("[data-is=score]").inner_text())[1])


def test_the_two_numbers_of_the_sg90_can_be_found(look):
    """At the truth only noise is left: 8 mrad, give or take what 121 samples of it do."""
    assert error(look("sg90")) > 100
    b = 1.8e-6 * lessons.RATIO**2
    assert error(look("sg90", f"#drive.volts_per_radian=14&friction.viscous={b}")) == pytest.approx(
        8, abs=1.2
    )


def test_one_gain_rounds_the_corner_and_one_drag_sets_the_slope(look):
    """Well before the goal, k_p does not matter and b does; the slope is the speed at full voltage."""
    soft, stiff = (now(look("sg90", f"#drive.volts_per_radian={k}"), 30)["speed"] for k in (4, 20))
    assert soft == stiff
    free, held = (now(look("sg90", f"#friction.viscous={b}"), 30)["speed"] for b in (0.004, 0.012))
    assert free > 1.3 * held
    late = [now(look("sg90", f"#drive.volts_per_radian={k}"), 110)["position"] for k in (4, 20)]
    assert late[0] < late[1] - 10  # degrees


def stood(key: str) -> float:
    """Share of the way up in which a law's joint stands still."""
    one = next(v for v in lessons.friction().variants if v.key == key)
    t = np.linspace(0, one.period, 801)
    asked = one.size * (1 - np.abs(2 * t / one.period - 1))
    run = be.simulate(one.actuator, one.benches["pendulum"], asked, time=t, substeps=60)
    way = (t > 2) & (t < 0.45 * one.period)
    return float(np.mean(np.abs(run.velocity[way]) < 1e-3))


def test_the_laws_do_what_the_page_says_of_them():
    assert stood("viscous") == stood("coulomb") == 0.0
    assert 0.3 < stood("stribeck") < 0.9
    assert stood("m4") > 0.3


@pytest.mark.parametrize("key", lessons.LAWS)
def test_every_law_runs(look, key):
    page = look("friction", f"#variant={key}&other=")
    assert page.locator("[data-is=trouble]").inner_text() == ""
    assert page.locator("[data-is=about]").inner_text() == lessons.LAWS[key][2]
    assert page.locator(".play svg").count() == 3


@pytest.mark.parametrize("every", [64, pytest.param(1, marks=pytest.mark.proof)])
def test_every_part_has_a_bench_of_its_size(every):
    for name in [*everything()][::every]:
        one = variant(name)
        assert one.size > 0
        assert one.actuator.drive.followed in ("position_target", "voltage_target")
        assert set(one.benches) == {"pendulum", "flywheel", "spring", "elevator", "locked"}
        stall = stall_torque(one.actuator, full_voltage(one.actuator))
        lifted = [
            one.benches["pendulum"].load(math.pi / 2, 0.0, {}),
            one.benches["elevator"].load(0.0, 0.0, {}),
        ]
        for load in lifted:  # a quarter of it, to the nearest of 1, 2 and 5
            assert 0.25 / 1.6 < abs(load) / stall < 0.25 * 1.6


def line(page) -> np.ndarray:
    """The torque-speed line that a page draws forwards, as (speed [rad/s], torque [N m]) by its ticks."""
    picture = page.locator(".play svg").last
    d = picture.locator("path.c2").get_attribute("d")
    points = np.array([[float(x) for x in p.split(",")] for p in re.split("[ML]", d)[1:]])[:12]
    texts = picture.locator("text.tick:not(.axis)").evaluate_all(
        "(all) => all.map((t) => [t.textContent, t.getAttribute('text-anchor'), +t.getAttribute('x'),"
        " +t.getAttribute('y')])"
    )
    along = [(float(t), x) for t, anchor, x, _ in texts if anchor == "middle"]
    up = [(float(t), y - 4) for t, anchor, _, y in texts if anchor == "end"]
    read = [
        np.poly1d(np.polyfit([place for _, place in marks], [value for value, _ in marks], 1))
        for marks in (along, up)
    ]
    return np.stack([read[0](points[:, 0]), read[1](points[:, 1])], axis=1)


def test_the_torque_speed_line_follows_the_sliders(look):
    """Of a motor at 12 V behind gears: N K V / R at rest, and V / (N K) without torque."""
    for N, R in ((10.0, 2.0), (40.0, 2.0), (10.0, 4.0)):
        drawn = line(look("ratio", f"#gearbox.ratio={N}&motor.resistance={R}"))
        still, fast = drawn[0], drawn[-1]
        assert still[1] == pytest.approx(N * 0.02 * 12.0 / R, rel=0.01)  # a pixel of a hundred
        assert fast[0] == pytest.approx(12.0 / (N * 0.02), rel=0.01)
        assert abs(fast[1]) < 0.01 * still[1]
    assert "most at 12 V" in look("ratio").locator(".play h2").last.inner_text()
    dear = look("parts", "#variant=maxon-re-25-118743&motor.resistance=5")
    assert line(dear)[0, 1] > 0


def ask(page, text: str, k: int = 0, button: int = 0) -> str:
    place = page.locator(".question").nth(k)
    place.locator("input").fill(text)
    place.locator("button").nth(button).click()
    return place.locator("[role=status]").inner_text()


def soonest(actuator: be.Actuator, bench: be.bench.Flywheel) -> float:
    """The ratio at which half a turn takes least, by the library, over a fine grid."""
    t = np.linspace(0, 0.8, 801)
    ratios = np.geomspace(4, 60, 81)
    times = []
    for N in ratios:
        run = be.simulate(
            actuator.replace(**{"gearbox.ratio": N}), bench, be.signal.step(12.0, at=0.08), time=t
        )
        times.append(np.interp(math.pi, run.position, t))
    return float(ratios[np.argmin(times)])


def test_the_answers_are_those_of_the_library(look):
    scene = lessons.ratio()
    one = scene.variants[0]
    for J in (2e-3, 8e-3):
        best = soonest(one.actuator, be.bench.Flywheel(inertia=J))
        page = look("ratio", f"#bench.inertia={J}")
        assert ask(page, f"{best:.3g}").startswith("Yes. The model says"), (J, best)
        assert "too large" in ask(page, f"{2 * best:.3g}")
        assert "too small" in ask(page, f"{best / 2:.3g}")
        said = float(re.search(r"says (\d+(?:\.\d+)?)", ask(page, "", button=1))[1])
        assert said == pytest.approx(best, rel=0.05)  # steps of the grid are 3.4 %
    page = look("ratio")
    assert ask(page, "") == "Type a number first."


def test_an_answer_goes_when_what_it_is_of_moves(look):
    page = look("windup")
    assert "The model says" in ask(page, "", button=1)
    said = page.locator(".question [role=status]")
    page.locator("input[data-key='drive.volts_per_radian']").evaluate(
        "(e) => { e.value = 1000; e.dispatchEvent(new Event('input')); }"
    )
    assert said.inner_text() == ""
    assert "The model says" in ask(page, "", button=1)
    page.locator("[data-is=variant]").select_option(index=1)
    assert said.inner_text() == ""


def test_the_limit_is_drawn_over_the_motion_that_keeps_to_it(look):
    """At the start of the lesson they are one line: the last is seen, and the other between its dashes."""
    curves = look("ratio").locator(".play svg").last.locator("path.curve")
    assert curves.evaluate_all("(all) => all.map((c) => c.getAttribute('class'))") == [
        "curve c0",
        "curve c2 dashed",
    ]


def test_the_coolest_gears_are_the_closed_forms(look):
    """Least mean square of N J a + T / N, with the friction of the output in T: N^2 = rms(T) / rms(J a)."""
    for J_load in (0.02, 0.03):
        W, A = math.pi, math.pi / 3  # a period of 2 s
        a2, w2, w1 = 0.5 * (A * W * W) ** 2, 0.5 * (A * W) ** 2, 2.0 / math.pi * A * W
        T2 = J_load**2 * a2 + 0.002**2 + 2 * 0.002 * 1e-4 * w1 + 1e-4**2 * w2
        best = math.sqrt(math.sqrt(T2) / (2e-6 * math.sqrt(a2)))
        said = ask(look("heat", f"#bench.inertia={J_load}"), "", button=1)
        assert float(re.search(r"says (\d+(?:\.\d+)?)", said)[1]) == pytest.approx(
            best, rel=0.03
        )  # led, not forced


def test_volts_per_speed_and_per_acceleration_are_the_closed_forms(look):
    """kV = N K + R b / (N K), kA = R J / (N K), at the output and with the rotor in J."""
    N, K, R, b, J = 20.0, 0.02, 2.0, 1e-4, 5e-3 + 20.0**2 * 2e-6
    page = look("feedforward")
    kV, kA = N * K + R * b / (N * K), R * J / (N * K)
    assert f"The model says {kV:.3g} V s/rad" in ask(page, f"{kV:.4g}")
    assert f"The model says {kA:.2g} V s\u00b2/rad" in ask(page, f"{kA:.4g}", 1)
    assert "too large" in ask(page, f"{1.2 * kA:.4g}", 1)


def test_an_integral_that_stops_at_the_limit_may_be_larger(look):
    """And both answers hold in the library: just within three degrees, and beyond with a tenth more."""
    found = {}
    for one in lessons.windup().variants:
        said = ask(look("windup", f"#variant={one.key}"), "", button=1)
        found[one.key] = k = float(re.search(r"says (\d+(?:\.\d+)?)", said)[1])
        t = np.linspace(0, 4.0, 801)
        for share, within in ((0.95, True), (1.1, False)):
            actuator = one.actuator.replace(**{"drive.volts_per_radian_second": share * k})
            run = be.simulate(actuator, one.benches["pendulum"], be.signal.step(one.size, at=0.4), time=t)
            beyond = math.degrees(float(run.position.max()) - one.size)
            assert (beyond <= 3.0) is within, (one.key, share, beyond)
    assert found["stops"] > 1.2 * found["winds"]
