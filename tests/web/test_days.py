"""The three days of a person's own recordings, walked by clicking in a real browser: nothing is fetched from
elsewhere, nothing is complained of, and what is wrong is a sentence on the page."""

from __future__ import annotations

import json
import math
import re
from typing import Any
from urllib.parse import urlparse

import pytest

from ..browser import started
from ..conftest import needed
from ..fuzz.seeds import MJCF

LONG = 180_000
"""Milliseconds that a step may take where the machine is busy."""


@pytest.fixture(scope="module")
def browser():
    with started() as one:
        yield one


@pytest.fixture
def page(browser, server):
    """The first page; at the end, what it complained of and where it asked must be nothing and here."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
    opened = context.new_page()
    opened.set_default_timeout(LONG)
    complaints: list[str] = []
    asked: list[str] = []
    opened.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(server.address)
    opened.get_by_role("heading", name="What do you have?").wait_for()
    assert "token" not in opened.url
    yield opened
    readable(opened)
    context.close()
    assert [words for words in complaints if "status of 40" not in words] == []
    hosts = {urlparse(url).netloc for url in asked if not url.startswith(("data:", "blob:"))}
    assert hosts == {f"127.0.0.1:{server.port}"}


CONTRAST = """() => {
  const rgb = c => c.match(/[0-9.]+/g).map(Number);
  const one = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => { const [r, g, b] = rgb(c).map(v => one(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    const parts = rgb(c); if (parts.length < 4 || parts[3] > 0) return c; } return 'rgb(255, 255, 255)'; };
  return [...document.querySelectorAll('body *')].filter(e => e.getClientRects().length
      && !e.closest('.unseen, svg, noscript, option, iframe')
      && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && !e.disabled)
    .map(e => { const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
      return [(a + 0.05) / (b + 0.05), e.tagName + ' ' + e.className + ': ' + e.textContent.slice(0, 40)]; })
    .filter(([ratio]) => ratio < 4.5); }"""
NAMELESS = """() => [...document.querySelectorAll('input, select, textarea, button, a, iframe')].filter(e =>
    !(e.labels?.length || e.getAttribute('aria-label') || e.title || e.textContent.trim()))
    .map(e => e.outerHTML.slice(0, 120))"""
SIDEWAYS = "() => document.documentElement.scrollWidth - window.innerWidth"


def readable(page) -> None:
    """By day and by night text stands out from its ground (4.5 to 1, AA), everything has a name, and from a
    phone to a wall nothing runs out of the page."""
    assert page.evaluate(NAMELESS) == []
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.wait_for_timeout(250)
        assert page.evaluate(CONTRAST) == [], scheme
    for width, height in ((390, 844), (768, 1024), (3840, 2160)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate(SIDEWAYS) <= 0, width


def shown(page, place: str, what: str) -> None:
    """Wait until something is there, or say which sentence is there instead."""
    from playwright.sync_api import TimeoutError as TooLate

    try:
        page.wait_for_selector(f"{place} {what}")
    except TooLate:
        said = page.query_selector(f"{place} .trouble")
        pytest.fail(said.inner_text() if said else f"no {what} in {place}")


def upload(page, *files: tuple[str, bytes]) -> None:
    """Choose files, as the system's own window would."""
    given = [{"name": n, "mimeType": "application/octet-stream", "buffer": content} for n, content in files]
    page.set_input_files("input[type=file][multiple]", given)


def typed(page, label: str, text: str) -> None:
    place = page.get_by_label(label, exact=True)
    place.fill(text)
    place.press("Tab")


def test_a_servo_on_a_bench(page, recording):
    """Day one: a plain CSV becomes a report and a model."""
    page.get_by_role("button", name="Recordings of a servo").click()
    upload(page, ("my run.csv", recording))
    page.get_by_text("No channel is recognised as the time").wait_for()
    for column, signal, unit in (
        ("ms", "time", "ms"),
        ("angle", "position", "deg"),
        ("goal", "position_target", "deg"),
    ):
        with page.expect_response(lambda r: r.request.method == "POST" and r.url.endswith("/jobs")):
            page.get_by_label(f"{column} is").select_option(signal)
        typed(page, f"unit of {column}", unit)
        page.wait_for_function(
            "([c, u]) => document.querySelector(`[aria-label='unit of ${c}']`)?.value === u",
            arg=[column, unit],
        )
    page.get_by_text("Read: 1 recording, 4 s").wait_for()
    page.get_by_label("Bench", exact=True).select_option("pendulum")
    typed(page, "Mass [kg]", "0.2")
    typed(page, "Length [m]", "10 cm")
    page.get_by_role("button", name="Check the recordings").click()
    page.get_by_text("Nothing to start from is chosen").wait_for()
    typed(page, "Start from", "sts3215-7.4v")
    page.get_by_text("More", exact=True).click()
    typed(page, "Exactly these are free", "motor.resistance, friction.coulomb")
    page.get_by_role("button", name="Check the recordings").click()
    shown(page, "#check", ".verdict.good")
    assert page.locator("#check .checklist .yes").count() == 2
    page.get_by_role("button", name="Fit", exact=True).click()
    shown(page, "#fit", "table")
    assert "backemf fit my_run.csv" in page.locator("#fit .command code").inner_text()
    page.get_by_role("button", name="Write the report").click()
    shown(page, "#report", "iframe")
    report = page.frame_locator("iframe.report")
    report.get_by_role("heading", name="Verdict").wait_for()
    page.get_by_label("For", exact=True).select_option("mujoco-classic")
    page.get_by_role("button", name="Export").click()
    shown(page, "#exports", ".downloads a")
    with page.expect_download() as saved:
        page.locator("#exports .downloads a").first.click()
    assert "<mujoco" in saved.value.path().read_text(encoding="utf-8")
    page.reload()  # everything is still there
    shown(page, "#fit", "table")
    assert page.get_by_label("Mass [kg]", exact=True).input_value() == "0.2"


def test_two_mechanisms_in_one_log(page, tmp_path):
    """Day two: the log asks which mechanism, and gives gains to paste."""
    from backemf.kits.frc.demo_robot import write_robot_log

    write_robot_log(tmp_path / "robot.wpilog")
    page.get_by_role("button", name="An FRC log").click()
    upload(page, ("robot.wpilog", (tmp_path / "robot.wpilog").read_bytes()))
    page.get_by_text("The log has tests of several mechanisms: which one?").wait_for()
    page.get_by_role("button", name="Find the gains").click()
    page.locator("#gains").get_by_text("The log has tests of arm and of flywheel").wait_for()
    page.get_by_role("button", name="flywheel (4 tests)").click()
    assert page.get_by_label("Mechanism", exact=True).input_value() == "flywheel"
    page.get_by_label("Constants to paste").select_option("java")
    page.get_by_role("button", name="Find the gains").click()
    shown(page, "#gains", "table")
    assert "kV" in page.locator("#gains pre.source").inner_text()
    assert "--name flywheel" in page.locator("#gains .command code").inner_text()


def test_a_student_with_two_mechanisms_and_no_units(page, tmp_path):
    """The walk of a student, without a shell: a log of two mechanisms that states no unit becomes constants,
    which WPILib itself executes: they hold and move each mechanism as its physics says."""
    from backemf.kits.frc.demo_robot import mechanisms, write_robot_log

    from ..mechanism.test_robot_log import without_units

    needed("wpimath.controller")
    bare = without_units(write_robot_log(tmp_path / "robot.wpilog"), tmp_path / "bare.wpilog")
    page.get_by_role("button", name="An FRC log").click()
    upload(page, ("match 12.wpilog", bare.read_bytes()))
    page.get_by_text("The log has tests of several mechanisms: which one?").wait_for()
    assert page.get_by_label("Name of this project").input_value() == "match 12"
    for name, size in (("arm", 1.0), ("flywheel", 2 * math.pi)):
        page.get_by_role("button", name=f"{name} (4 tests)").click()
        page.get_by_role("button", name="Find the gains").click()
        page.locator("#gains").get_by_text("The log states no unit of its motion").wait_for()
        page.get_by_role("button", name="rotations (likely, by its numbers)").click()
        page.get_by_label("Constants to paste", exact=True).first.select_option("python")
        page.get_by_role("button", name="Find the gains").click()
        shown(page, "#gains", "table")
        space: dict = {}
        exec(page.locator("#gains pre.source").inner_text(), space)
        made, truth = space["kFeedforward"], mechanisms()[name]
        m, G = truth.actuator.motor, truth.actuator.gearbox.ratio
        friction: Any = truth.actuator.friction
        for v, angle in ((1.0, 0.3), (-0.5, -0.4), (2.0, 0.9)):
            weight = 4.0 * 9.80665 * 0.6 * math.cos(angle) if name == "arm" else 0.0
            torque = friction.coulomb * math.copysign(1.0, v) + friction.viscous * v + weight
            back = m.back_emf_constant or m.torque_constant
            volts = m.resistance * torque / (G * m.torque_constant) + back * G * v
            given = (angle + space["kOffset"], v) if name == "arm" else (v / size,)
            assert made.calculate(*given) == pytest.approx(volts, abs=0.01)  # noise of the recordings
        assert page.locator("#gains figure").count() >= 4 * 4 + 4  # every test, its loops, and kS with kV
        before = page.locator("#gains .loop p").first.inner_text()
        page.locator("#gains .loop input[type=range]").first.evaluate(
            "e => { e.value = '-1'; e.dispatchEvent(new Event('input')); }"
        )
        assert page.locator("#gains .loop p").first.inner_text() != before
    page.get_by_role("button", name="Remove").click()
    page.get_by_text("Drop a log first").wait_for()


def typed_option(page, option, text):
    """Type into the field of an option, wherever it is folded away."""
    field = page.locator(f"[data-option='{option}']")
    field.evaluate("e => { for (let d = e; d; d = d.parentElement?.closest('details')) d.open = true; }")
    field.fill(text)
    field.press("Tab")


def test_a_lift_in_rotations_its_drum_and_the_weights_of_a_slider(page, tmp_path):
    """An elevator that is logged in rotations asks for its drum, and is pasted in metres; a loop that settles
    is drawn, and what a slider says is what is pasted once it is used."""
    from ..mechanism.test_robot_log import linear_log

    linear_log(tmp_path / "lift.wpilog", "Rotation")
    page.get_by_role("button", name="An FRC log").click()
    upload(page, ("lift.wpilog", (tmp_path / "lift.wpilog").read_bytes()))
    page.get_by_label("Mechanism", exact=True).select_option("elevator")
    page.get_by_label("Constants to paste", exact=True).first.select_option("c++")
    find = page.get_by_role("button", name="Find the gains")
    find.click()
    page.locator("#gains").get_by_text("needs the diameter of what its motor turns").wait_for()
    for option, text in (("--drum-diameter", "50 mm"), ("--settle", "500 ms"), ("--step", "20 cm")):
        typed_option(page, option, text)
    find.click()
    shown(page, "#gains", "table")
    page.locator("#gains pre.source").get_by_text("kFeedforward takes meters").wait_for()
    assert page.locator("#gains .loop h4").all_inner_texts() == [
        "Velocity loop",
        "Position loop",
        "Settling loop",
    ]
    settling = page.locator("#gains .loop").nth(2)
    assert settling.locator("input[type=range]").count() == 0
    said = page.locator("#gains li", has_text="settling loop").inner_text()
    (takes,) = re.findall(r"A step of 0.2 m comes within 2 % in ([\d.]+ s)", said)
    assert f"a step of 0.2 m: settles in {takes}" in settling.locator("p").inner_text()
    position = page.locator("#gains .loop").nth(1)
    position.locator("input[type=range]").first.evaluate(
        "e => { e.value = '-1'; e.dispatchEvent(new Event('input')); }"
    )
    kP = float(re.findall(r"kP ([\d.]+)", position.locator("p").inner_text())[0])
    before = page.locator("#gains pre.source").inner_text()
    position.get_by_role("button", name="Use these weights").click()
    page.wait_for_function(
        "old => (document.querySelector('#gains pre.source')?.innerText ?? old) !== old", arg=before
    )
    pasted = page.locator("#gains pre.source").inner_text()
    assert float(re.findall(r"kPPosition = ([\d.]+)", pasted)[0]) == pytest.approx(kP, rel=1e-3)
    assert page.locator("[data-option='--max-error']").input_value() == "0.1"
    assert page.locator("#gains .loop").nth(1).locator("output").first.inner_text() == "0.1 m"


def test_a_model_is_explained_and_mended(page):
    """Day three: a model with made-up numbers, compared with its part, before and after."""
    needed("mujoco")
    page.get_by_role("button", name="A simulation model").click()
    upload(page, ("arm.xml", MJCF.encode()))
    shown(page, "#before", "table")
    typed(page, "What really drives the joints", "sts3215-7.4v/m1")
    page.get_by_role("button", name="Write knee as sts3215-7.4v/m1 is").click()
    page.locator("#after").get_by_text("Nothing looks wrong").wait_for()
    assert "frictionloss" in page.locator("#after table").inner_text()
    with page.expect_download() as saved:
        page.locator("#after .downloads a").click()
    assert 'frictionloss="0.05239' in saved.value.path().read_text(encoding="utf-8")


def test_a_robot_and_its_joints(page, shared_data):
    """Day three as well: an arm's recording beside its model, every joint with its columns."""
    needed("mujoco")
    arm = shared_data / "so101"
    rows = (arm / "fast_transitions.csv").read_bytes().splitlines(keepends=True)
    page.get_by_role("button", name="Recordings of a robot").click()
    upload(page, ("so101.xml", (arm / "so101.xml").read_bytes()), ("fast.csv", b"".join(rows[:900])))
    shown(page, "#columns", "table")
    assert "elbow_flex.position" in page.locator("#columns").inner_text()
    assert page.get_by_label("Model of the robot").input_value() == "so101.xml"


def test_a_sheet_is_reconciled_while_one_types(page):
    page.get_by_role("button", name="A datasheet").click()
    for label, text in (
        ("Nominal voltage", "7.4 V"),
        ("Stall torque", "19.5 kgcn"),
        ("Stall current", "2.5 A"),
    ):
        page.get_by_label(label, exact=True).fill(text)
    said = page.locator("#sheet .trouble")
    said.wait_for()
    assert "unknown unit 'kgcn'" in said.inner_text().lower()
    page.get_by_label("Stall torque", exact=True).fill("19.5 kg cm")
    page.get_by_label("No load speed", exact=True).fill("45 rpm")
    shown(page, "#follows", "table")
    assert page.locator("#sheet .trouble").count() == 0
    assert "backemf datasheet sheet.toml" in page.locator("#follows .command code").inner_text()


def test_a_task_is_asked_for_in_words_and_answered_with_a_page(page):
    """Names as people read them, with the unit that a number has alone, and the app's words for options."""
    page.get_by_role("button", name="A task for a motor").click()
    page.locator("#task").wait_for()
    labels = page.locator("#task label").all_inner_texts()
    assert {"Bench", "Any ratio", "Max mass [kg]", "Ambient [degC]", "Parts"} <= set(labels)
    assert not [label for label in labels if "_" in label]
    assert not page.locator("#task [placeholder*='<']").count()
    hints = " ".join(page.locator("#task .hint").all_inner_texts())
    assert "[kg]" not in hints
    assert "--" not in hints
    for label, text in (
        ("Bench", "pendulum mass=1kg length=0.2m"),
        ("Move", "trapezoid to=90deg time=0.5s"),
        ("Bus", "24 V"),
    ):
        page.locator("#task").get_by_label(label, exact=False).first.fill(text)
        page.keyboard.press("Tab")
    page.locator("#task").get_by_role("button", name="Judge").click()
    shown(page, "#answer", "iframe")
    typed = page.locator("#answer .command code").inner_text()
    for words in (
        "--bench 'pendulum mass=1kg length=0.2m'",
        "--move 'trapezoid to=90deg time=0.5s'",
        "--bus '24 V'",
    ):
        assert words in typed


def test_files_are_dropped_and_keys_are_enough(page, recording):
    """A file that is dropped is read as one that is chosen; every step can be reached with the tabulator."""
    page.get_by_role("button", name="Recordings of a servo").focus()
    page.keyboard.press("Enter")
    page.locator(".drop").wait_for()
    page.evaluate(
        """text => { const held = new DataTransfer(); held.items.add(new File([text], 'run.csv'));
        held.items.add(new File(['x'], 'evil.exe'));
        const event = new DragEvent('drop', {dataTransfer: held, bubbles: true});
        document.querySelector('.drop').dispatchEvent(event); }""",
        recording.decode(),
    )
    page.get_by_text("is of a kind that is not read here").wait_for()
    page.get_by_label("ms is").wait_for()
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.textContent.trim() || document.activeElement.id"))
    assert {"Check the recordings", "Fit", "Export"} <= reached


@pytest.mark.realtime
def test_a_virtual_servo_is_recorded_and_stopped(page):
    """A servo that is not there moves, the large button ends it, and what was recorded can be fitted."""
    needed("scservo_sdk")
    page.get_by_role("button", name="A servo on a bus").click()
    page.get_by_role("button", name="Start a virtual servo").click()
    page.get_by_text("answers on servo-1").wait_for()
    page.get_by_role("button", name="Record", exact=True).click()
    page.locator("#record").get_by_text("Hz: 1 at").wait_for()
    page.get_by_role("button", name="STOP").click()
    page.locator("#record").get_by_text("It was stopped").wait_for()
    typed(page, "How long together [s]", "6")
    page.get_by_role("button", name="Record", exact=True).click()
    shown(page, "#record", "table")
    assert page.locator("#record tbody tr").count() == 4
    page.get_by_role("button", name="Fit these recordings").click()
    shown(page, "#columns", "table")
    assert page.get_by_label("position is", exact=True).input_value() == "position"


def test_a_token_that_is_gone_is_said(browser, server):
    context = browser.new_context()
    page = context.new_page()
    answer = page.goto(f"http://127.0.0.1:{server.port}/")
    assert answer.status == 403
    assert "open the address" in json.loads(page.locator("body").inner_text())["remedy"]
    context.close()
