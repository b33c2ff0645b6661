"""The page says what the fit says: its numbers, in order, harmless whatever a name is, and not too large."""

from __future__ import annotations

import base64
import hashlib
import html as html_
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import backemf as be
from backemf.apps.report import html, sections as report_sections
from backemf.apps.report.contents import Report, bench_words, report, stored_logs
from backemf.apps.report.sections import SECTIONS, ReportSection, sections
from backemf.apps.report.verdict import Deployment, level, verdict
from backemf.figure import Drawing, Paragraph
from backemf.registry import Registry
from backemf.tables import number

from ..identify.recordings import SERVO, record
from .conftest import HOSTILE

ORDER = [
    "verdict",
    "logs",
    "parameters",
    "findings",
    "predictions",
    "friction",
    "envelope",
    "hysteresis",
    "thermal",
    "bands",
    "identifiability",
    "ladder",
    "exports",
]


class Page(HTMLParser):
    """Tags, ids, table rows and visible text of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.rows: list[list[str]] = []
        self.text: list[str] = []
        self.inside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.inside.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.text.append(data)
            if self.rows and self.rows[-1]:
                self.rows[-1][-1] += data.strip("\n")

    @property
    def visible(self) -> str:
        return " ".join("".join(self.text).split())


@pytest.fixture(scope="module")
def text(made) -> str:
    return html.page(made)


@pytest.fixture(scope="module")
def page(text) -> Page:
    return Page(text)


def figures_text(text: str) -> str:
    (figures,) = re.findall(r'<script type="application/json" id="figures">(.*?)</script>', text, re.DOTALL)
    return figures


def figures_of(text: str) -> list[dict]:
    return json.loads(figures_text(text))


def test_sections_come_in_order(page):
    ids = [attrs["id"] for tag, attrs in page.tags if tag == "section"]
    assert ids == ORDER
    links = [attrs["href"] for tag, attrs in page.tags if tag == "a"]
    assert links == [f"#{key}" for key in ORDER]


def test_the_verdict_leads_with_what_is_used_and_names_the_servo(page, fit, made: Report):
    lead, first, second = made.verdict
    place = page.visible.index(" ".join(lead.split()))
    assert place < page.visible.index(f"{first} {second}")
    cases = next(e for e in (made.exports or ()) if e.target == "mujoco").replays
    off = [c.target_log for r in cases for c in r.cases]
    assert made.used.file == pytest.approx(float(np.sqrt(np.mean(np.square(off)))))
    assert f"STS3032 (ST-3032-C001) for mujoco is off by {1e3 * made.used.file:.3g} mrad" in lead
    assert f"{1e3 * fit.held_out_mae:.3g} mrad" in first
    assert f"of {len(fit.parameters)} parameters" in second
    assert made.summary()["deployed"]["file"] == made.used.file


@pytest.mark.parametrize(
    ("file", "expected", "word"), [(1.5, "good", "Ready to use"), (30.0, "fair", "Use with")]
)
def test_a_file_that_is_far_from_its_model_is_used_with_care(fit, file, expected, word):
    good = replace(fit, findings=(), held_out={"log 2": fit.noise_floor})
    used = Deployment("mujoco", "MuJoCo 4", 3, 1e-3 * file, 1e-3)
    assert level(good, used) == expected
    attached = Deployment("mujoco-live", "MuJoCo 4", 3, 1.1e-3, 1e-3)
    lead, first, _ = verdict(good, used, attached)
    assert lead.startswith(word)
    assert first.startswith("On a log it never saw")
    assert ("(--to mujoco-live) it is off by 1.1 mrad" in lead) is (file > 2)


def test_every_parameter_stands_with_its_error_and_what_was_stated(page, fit):
    rows = {row[0]: row for row in reversed(page.rows) if row and row[0] in fit.parameters}  # the first
    assert set(rows) == set(fit.parameters)
    for path, p in fit.parameters.items():
        assert float(rows[path][1]) == pytest.approx(p.value, abs=0.1 * p.error)
        assert rows[path][2] == number(p.error, 2)
        assert rows[path][4] == p.unit
    R, sheet = fit.parameters["motor.resistance"], be.Datasheet.read("sts3032").actuator().motor.resistance
    assert rows["motor.resistance"][5].startswith(number(sheet))
    off = float(rows["motor.resistance"][6].removesuffix(" %"))
    assert off == pytest.approx(100 * (R.value / sheet - 1), abs=0.06)


def test_the_bench_stands_as_it_was_found(page, fit):
    rows = {row[0]: row for row in page.rows if row}
    mass = next(one for one in fit.bench if one.path == "bench.mass" and one.group == "0.5 kg")
    name, stated, value, _, unit, moved = rows["mass of 0.5 kg"]
    assert (name, stated, unit) == ("mass of 0.5 kg", "0.5 ± 0.005", "kg")
    assert float(value) == pytest.approx(mass.value, abs=0.1 * mass.error)
    assert float(moved) == pytest.approx(mass.pull, abs=0.06)


def test_what_is_wrong_with_the_bench_is_said_first(fit):
    codes = ("correlated", "model_error", "wrong_mass")
    findings = tuple(be.Finding(code=c, text=f"{c} is so.", remedy="mend it") for c in codes)
    assert "wrong_mass is so" in verdict(replace(fit, findings=findings))[1]


def test_logs_stand_with_their_roles_and_errors(page, fit, logs):
    rows = {
        row[0]: row
        for row in page.rows
        if row and row[0] in {log.name for log in logs} and len(row) == 6 and "pendulum" in row[4]
    }
    assert set(rows) == {log.name for log in logs}
    for name, row in rows.items():
        assert row[1].startswith("held out" if name in fit.held_out else "training")
        assert float(row[2]) == pytest.approx(1e3 * {**fit.training, **fit.held_out}[name], rel=6e-3)
    assert "mass 0.5 kg, length 0.1 m" in rows["log 1"][4]
    assert "1 of the 4 logs here is simulated" in page.visible
    assert rows[HOSTILE][1] == "training, simulated"


def test_runs_have_the_errors_that_the_fit_stored(made: Report):
    for one in made.runs:
        assert one.error == pytest.approx(one.stored, rel=1e-6)
        assert not one.another
        assert np.isfinite(one.signals["torque"]).all()


def test_ladder_findings_and_exports_are_told(page, fit, made: Report):
    assert ["stribeck", "9", "0.5", "0.6 ± 0.1", "+85.0 %", "chosen"] in page.rows
    assert "Judged on one log." in page.visible
    for f in fit.findings:
        assert " ".join(f.text.split()) in page.visible
        assert f.remedy in page.visible
    assert made.exports is not None
    replayed = {
        row[0]: row
        for row in page.rows
        if len(row) == 6 and row[1] == "log 2" and row[0].startswith("mujoco")
    }
    assert set(replayed) == {"mujoco", "mujoco-live", "mujoco-classic"}
    for e in made.exports:
        for case in (c for r in e.replays for c in r.cases if c.name == "log 2"):
            assert replayed[e.target][4] == number(1e3 * case.target_native, 3)
        assert any(e.target in row[0] for row in page.rows if len(row) == 2)


def test_a_hostile_name_is_only_text(text, page):
    assert "<script>alert" not in text
    assert "onerror=alert(1)>" not in text
    assert html_.escape(HOSTILE) in text
    assert HOSTILE in page.visible
    assert [attrs.get("type", "") for tag, attrs in page.tags if tag == "script"] == [
        *["application/json"] * 2,
        *[""] * 3,
    ]
    assert "img" not in [tag for tag, _ in page.tags]
    assert "<" not in figures_text(text)


def test_nothing_is_fetched_and_only_its_own_scripts_may_run(text, page):
    policy = next(
        attrs["content"]
        for tag, attrs in page.tags
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    for script in re.findall(r"<script>(.*?)</script>", text, re.DOTALL):
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    assert not [
        attrs
        for tag, attrs in page.tags
        if attrs.get("src") or (tag == "link" and not attrs["href"].startswith("data:"))
    ]


def test_every_axis_has_a_unit_and_every_plot_data(text):
    plots = figures_of(text)
    assert len(plots) >= 9
    for plot in plots:
        assert plot["data"]
        for name, axis in plot["layout"].items():
            if re.match(r"[xy]axis", name) and "ticktext" not in axis:
                assert re.search(r"\[.+\]", axis["title"]["text"]), axis["title"]


def test_json_says_the_same(made: Report, fit):
    told = json.loads(json.dumps(made.summary(), allow_nan=False))
    assert {
        "fit",
        "backemf",
        "date",
        "verdict",
        "parameters",
        "performance",
        "bench",
        "findings",
        "logs",
        "ladder",
        "exports",
    } <= set(told)
    assert {"value", "error", "unit", "stated", "ratio", "z"} <= set(told["parameters"]["friction.coulomb"])
    assert told["parameters"]["friction.coulomb"]["value"] == fit.parameters["friction.coulomb"].value
    assert {row["name"]: row["error"] for row in told["logs"]}["log 2"] == pytest.approx(
        fit.held_out["log 2"], rel=1e-6
    )
    assert {e["target"] for e in told["exports"]} >= {"mujoco", "mujoco-classic", "urdf"}


def test_without_logs_it_says_what_it_remembers_and_how_to_get_the_rest(fit):
    shown = Page(html.page(report(fit, exported=False))).visible
    assert "a fit stores no samples; give the recordings: backemf report FIT LOGS..." in shown
    assert "pendulum: mass 0.5 kg" in shown
    assert "No thermal model" in shown
    assert "without --no-exports they are made and replayed" in shown
    old = Page(html.page(report(replace(fit, logs=(), rungs=()), exported=False))).visible
    assert "does not say what its logs were recorded on" in old
    assert "--friction ladder" in old


def test_a_log_that_is_not_the_fits_own_is_pointed_out(fit):
    other = replace(record(7, gain=8.0), name="log 0")
    stranger = replace(record(8), name="stranger")
    lame = replace(record(9), name="lame", bench=None)
    told = report(fit, [other, stranger, lame], exported=False)
    assert [one.role for one in told.runs] == ["training", "not in the fit"]
    shown = Page(html.page(told)).visible
    assert "for a log of this name; is this the same recording?" in shown
    assert "Other logs, not part of the fit" in shown
    assert "lame has no bench" in shown


def test_ten_long_logs_stay_small_and_keep_their_peaks(fit):
    one = record(5, duration=120.0, dt=0.004)
    one.signals["position"].values[12345] += 9.0  # a spike that thinning must not lose
    long = [replace(one, name=f"long {k}") for k in range(10)]
    text = html.page(report(fit, long, exported=False))
    assert len(text.encode()) < 3e6  # what a mail takes; the library is half of it
    assert "stretches of 30001 samples" in text
    recorded = next(t for p in figures_of(text) for t in p["data"] if t.get("name") == "recorded")
    y = np.frombuffer(base64.b64decode(recorded["y"]["bdata"]), recorded["y"]["dtype"])
    assert len(y) <= 3000
    assert np.max(y) == pytest.approx(np.max(long[0]["position"]), rel=1e-5)


def test_it_is_written_whole_and_nothing_is_overwritten(fit, tmp_path):
    told = report(fit, exported=False)
    place = html.write(told, tmp_path / "r.html")
    before = place.read_bytes()
    with pytest.raises(be.BackemfError, match="exists"):
        html.write(told, place)
    assert place.read_bytes() == before
    with pytest.raises(be.BackemfError, match="no folder"):
        html.write(told, tmp_path / "none" / "r.html")
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.parametrize(
    ("times_noise", "codes", "held_out", "expected"),
    [
        (1.0, (), True, "good"),
        (1.0, (), False, "fair"),
        (3.0, (), True, "fair"),
        (1.0, ("at_bound",), True, "fair"),
        (1.0, ("wrong_mass",), True, "fair"),
        (1.0, ("mounting_angle",), True, "good"),
        (20.0, ("model_error",), True, "poor"),
    ],
)
def test_levels_of_the_verdict(fit, times_noise, codes, held_out, expected):
    findings = tuple(be.Finding(code=c, text="it is so.", remedy="mend it") for c in codes)
    error = {"log 2": times_noise * fit.noise_floor}
    changed = replace(fit, findings=findings, held_out=error if held_out else {}, training=error)
    assert level(changed) == expected
    assert [s[-1] for s in verdict(changed)] == [".", "."]
    assert sum(len(re.findall(r"\.\s", s)) for s in verdict(changed)) == 0
    if codes:
        assert "it is so: mend it." in verdict(changed)[1]


def test_logs_are_found_where_the_fit_says_or_beside_it(fit, tmp_path):
    (tmp_path / "logs").mkdir()
    for name in ("a.json", "logs/b.json", "logs/c.json"):
        (tmp_path / name).write_text("{}")
    sources = [
        str(tmp_path / "a.json"),
        "a.json",
        "elsewhere/logs/b.json",
        "/gone/with/all/logs/c.json",
        "gone.json",
        "",
    ]
    asked = replace(fit, logs=tuple(replace(fit.logs[0], source=s) for s in sources))
    assert stored_logs(asked, tmp_path) == [
        tmp_path / "a.json",
        tmp_path / "logs/b.json",
        tmp_path / "logs/c.json",
    ]


def test_benches_in_words():
    assert bench_words(be.bench.Pendulum(mass=0.3, length=0.1)) == "pendulum: mass 0.3 kg, length 0.1 m"
    assert bench_words(be.bench.FreeShaft()) == "free shaft"
    assert bench_words(None) == "not known"


def test_a_simulated_servo_can_be_drawn_with_everything(logs):
    """Thermal model, limits, a bristle and a recorded current: every section has its figure."""
    warm = be.motor.Thermal(resistance=18.0, capacitance=8.0)
    actuator = replace(
        SERVO,
        motor=replace(
            SERVO.motor,
            thermal=warm,
            limits=be.motor.Limits(current=1.6, safe_current=0.5, derating_start=60, derating_end=90),
        ),
        friction=be.friction.LuGre(
            coulomb=0.04, static=0.06, stribeck_velocity=0.3, viscous=0.03, stiffness=20.0, damping=0.1
        ),
    )
    with_current = replace(
        logs[0],
        signals={**logs[0].signals, "current": be.Signal(time=logs[0].time, values=np.zeros(len(logs[0])))},
    )
    fitted = be.fit(
        SERVO, logs[:1], free_paths=["motor.resistance", "friction.coulomb", "friction.static"], n_starts=1
    )
    told = report(replace(fitted, actuator=actuator, friction="lugre"), [with_current], exported=False)
    drawn = {s.key: [b.figure for b in s.blocks if isinstance(b, Drawing)] for s in sections(told)}
    assert [
        len(drawn[key]) for key in ("friction", "envelope", "hysteresis", "thermal", "identifiability")
    ] == [1, 1, 1, 2, 2]
    assert len(drawn["predictions"][0].panels) == 3
    assert "presliding" in html.page(told)


def test_a_path_of_another_system_is_found_beside_the_fit(fit, tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.csv").write_text("x")
    told = replace(fit.logs[0], source="C:\\Users\\ann\\logs\\a.csv")
    assert stored_logs(replace(fit, logs=(told,)), tmp_path) == [tmp_path / "logs" / "a.csv"]


def test_a_dataset_is_found_again_with_the_episodes_that_were_named(fit, tmp_path):
    """A folder, not a file; where it was, or beside the fit."""
    (tmp_path / "arm" / "meta").mkdir(parents=True)
    (tmp_path / "arm" / "meta" / "info.json").write_text("{}")
    for named in ("", "#3", "#0-2,5"):
        sources = (f"{tmp_path / 'arm'}{named}", f"/gone/arm{named}")
        logs = tuple(replace(fit.logs[0], source=source) for source in sources)
        assert stored_logs(replace(fit, logs=logs), tmp_path) == [tmp_path / f"arm{named}"]


def test_the_library_comes_with_its_licence():
    from importlib.resources import files

    from backemf.apps.report.figures.plotly import library

    assert "(cartesian - minified)" in library()[:100]
    assert "Plotly" in files("backemf.apps.report").joinpath("plotly", "LICENSE").read_text(encoding="utf-8")


def test_a_section_of_another_package_stands_behind_ours_and_an_empty_one_nowhere(made, monkeypatch):
    def own(report):
        yield Paragraph(text=f"about {report.name}")

    rows = {**SECTIONS, "mine": ReportSection("Mine", own), "nothing": ReportSection("Nothing", lambda r: [])}
    rows |= {"of-robots": ReportSection("Of robots", own, of="robot")}
    before = [section.key for section in sections(made)]
    monkeypatch.setattr(report_sections, "SECTIONS", Registry("report section", rows))
    after = sections(made)
    assert [section.key for section in after] == [*before, "mine"]
    assert (after[-1].title, after[-1].blocks) == ("Mine", (Paragraph(text="about <b>fit</b>.json"),))
