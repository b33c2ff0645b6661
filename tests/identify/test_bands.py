"""Bands: on simulated recordings whose servos differ as is known, on a new mounting, stored and refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.apps.cli import simulate_command
from backemf.apps.cli.exports import export
from backemf.apps.film.recorded_run import recorded_run
from backemf.apps.report.band_section import bands
from backemf.apps.report.contents import report
from backemf.apps.report.figures.fit_figures import measured_and_predicted
from backemf.figure import Paragraph
from backemf.findings import finding
from backemf.identify.bench_numbers import new_mounting
from backemf.identify.calibrate import LeftOut, with_variation
from backemf.identify.fit import find_optimum
from backemf.identify.search import bench_search
from backemf.identify.uncertainty import uncertainty
from backemf.results.variation import deviation_of, rank_histogram, slow_error

from ..cli.runner import runner

TRUTH = be.Actuator(
    motor=be.motor.Motor(resistance=4.0, torque_constant=0.9, rotor_inertia=3e-3),
    friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02),
    drive=be.drive.Servo(firmware_gain=0.16, proportional=16, supply=7.4),
)
FREE = ["friction.coulomb", "friction.viscous"]


def another(seed: int, mass: float = 0.4, spread: float = 0.25) -> be.Log:
    """A recording with frictions of its own: by so much they differ from one to the next."""
    random = np.random.default_rng(seed)
    factors = np.exp(spread * random.standard_normal(2))
    drawn = TRUTH.replace(**{"friction.coulomb": 0.05 * factors[0], "friction.viscous": 0.02 * factors[1]})
    bench = be.bench.Pendulum(mass=mass, length=0.1)
    asked = {"position_target": be.signal.sine(0.8, 0.4 + 0.05 * (seed % 5))}
    run = be.simulate(drawn, bench, asked, duration=3.0, dt=0.01)
    seen = run.position + 3e-4 * random.standard_normal(len(run))
    target = run["position_target"]
    return be.log(f"run {seed}", run.time, position=seen, position_target=target, bench=bench)


@pytest.fixture(scope="module")
def fit() -> be.Fit:
    logs = [another(seed) for seed in range(12)]
    return be.fit(TRUTH, logs, free_paths=FREE, n_starts=1, inspect=False)


@pytest.mark.parametrize("n", [3, 6])
def test_a_band_of_few_recordings_says_how_few(fit, n):
    """Numbers that only a prior tells are the same in all draws."""
    logs = [another(seed) for seed in range(n)]
    prior = {"motor.resistance": (4.0, 0.01)}  # far better than logs tell it
    few = be.fit(TRUTH, logs, free_paths=[*FREE, "motor.resistance"], prior=prior, n_starts=1, inspect=False)
    assert few.variation.n_left_out == n
    said = [f.text for f in few.predict(another(50)).findings if f.code == "few_recordings"]
    assert [text.partition(",")[0] for text in said] == (["the band of run 50 is by 3 recordings"] * (n < 6))
    assert few.predict(logs[0]).findings == ()
    by = [p.path for p in few.parameters.values() if p.told_by == "prior"]
    assert by == ["motor.resistance"]
    assert set(by) <= set(few.variation.held)


def test_draws_spread_as_the_servos_do(fit):
    """Half of a factor either way: 12 recordings tell a standard deviation to a fifth, shrinking and noise to
    as much again."""
    variation = fit.variation
    assert [one.path for one in variation.numbers] == [*FREE, "drive.delay"]
    drawn = np.array([variation.values(member)[:2] for member in variation.members])
    low, high = np.quantile(np.log(drawn), (0.16, 0.84), axis=0)
    assert 0.12 < 0.5 * (high - low)[0] < 0.45
    middle = np.median(np.log(drawn), axis=0)
    assert np.exp(middle) == pytest.approx([p.value for p in fit.parameters.values()], rel=0.2)


def test_new_recordings_lie_in_the_band_as_often_as_said(fit):
    inside, said, ranks = [], [], np.zeros(3)
    for seed in range(100, 124):
        log = another(seed)
        motion = fit.predict(log)
        q = motion.recorded[""]
        inside.append(np.mean((motion.low[""] <= q) & (q <= motion.high[""])))
        error = np.mean(np.abs(motion.positions[""] - q))
        said.append(motion.expected.mae / error)
        ranks += rank_histogram(motion, 3)
    # 24 servos, each of which is inside or outside nearly as a whole: 95 % +- 5
    assert 0.85 < np.mean(inside) <= 1.0
    assert 0.5 < np.median(said) < 2.0
    assert ranks.min() > 0.15 * ranks.sum()


def test_a_rig_that_does_not_exist_is_predicted_without_positions(fit):
    log = another(200, mass=0.8)
    signals = {name: s for name, s in log.signals.items() if name != "position"}
    planned = replace(log, signals=signals)
    motion = fit.predict(planned)
    assert np.isnan(motion.recorded[""][1:]).all()
    assert motion.positions[""][0] == pytest.approx(log["position_target"][0])
    empty = replace(log.signals["position"], values=np.full(len(log), np.nan))
    nothing = replace(log, signals={**signals, "position": empty})
    np.testing.assert_array_equal(fit.predict(nothing).positions[""], motion.positions[""])
    for verb in (be.fit, be.check):
        with pytest.raises(be.errors.MissingValue, match="run 200 has no value of position"):
            verb(TRUTH, [nothing])
    heavier, usual = fit.expected_error(planned), fit.expected_error(another(201))
    assert heavier.mae > 0
    assert heavier.rms >= heavier.mae > 0.2 * usual.mae
    assert (motion.low[""] < motion.positions[""]).all()
    assert motion.band.half() == pytest.approx(motion.high[""] - motion.positions[""])


def test_a_prediction_says_how_far_it_goes_beyond_what_was_fitted(fit, tmp_path):
    """Twelve arms of 0.4 kg at 0.1 m; the torque of gravity grows with the mass. Stored fits say it too."""
    again = be.Fit.read(fit.write(tmp_path / "fit.json"))
    for one in (fit, again):
        assert one.predict(another(201)).findings == ()
        (f,) = one.predict(another(201, mass=1.6)).findings
        assert f.code == "extrapolates"
        assert f.numbers["torque"] == pytest.approx(4.0, rel=0.25)  # friction's share does not grow
        assert "what is predicted goes beyond what was fitted" in f.text
    rig = ("--bench", "pendulum mass=1.6kg length=0.1m", "--command", "sine amplitude=0.8rad frequency=0.5Hz")
    said = runner(simulate_command.simulate)(tmp_path / "fit.json", *rig, "--duration", 2, "--band")
    assert "A recording would be" in said
    assert "extrapolates: what is predicted goes beyond" in said
    with pytest.raises(be.BackemfError, match="predict was given a list; expected one log"):
        fit.predict([another(3)])
    assert fit.predict(another(3)).role == "training"
    assert fit.predict(another(3)).findings == ()


def test_a_stored_fit_gives_the_same_band_and_an_old_one_says_why_it_gives_none(fit, tmp_path):
    log = another(300)
    again = be.Fit.read(fit.write(tmp_path / "fit.json"))
    np.testing.assert_allclose(again.predict(log).low[""], fit.predict(log).low[""], rtol=1e-12)
    content = json.loads((tmp_path / "fit.json").read_text())
    del content["variation"]
    (tmp_path / "old.json").write_text(json.dumps(content))
    old = be.Fit.read(tmp_path / "old.json")
    assert old.predict(log).positions[""] == pytest.approx(fit.predict(log).positions[""])
    with pytest.raises(be.BackemfError, match="before bands"):
        old.expected_error(log)


def test_one_recording_is_cut_or_refused():
    log = another(1)
    fit = be.fit(TRUTH, [log], free_paths=FREE, n_starts=1, inspect=False)
    assert fit.variation is not None
    assert re.fullmatch(r"\d+ stretches of [\d.]+ s, in \d parts", fit.variation.left_out)
    found = {f.code: f.numbers for f in fit.predict(another(9)).findings}
    assert found["few_recordings"] == {"recordings": 1}
    short = log.between(0.0, 1.0)
    fit = be.fit(TRUTH, [short], free_paths=FREE, n_starts=1, inspect=False)
    assert fit.variation is None
    assert "no_band" in {f.code for f in fit.findings}
    with pytest.raises(be.BackemfError, match="cannot be cut"):
        fit.predict(log).band  # noqa: B018


def test_one_recording_of_which_the_others_know_nothing_does_not_speak_for_all():
    """Three of four are as far off as stated; the fourth, stated a hundredfold, changes the ratio by its
    fourth root, and not by the most that anybody stated."""
    recording = np.repeat(np.arange(4), 50)
    stated = np.repeat([0.01, 0.01, 0.01, 1.0], 50)
    errors = np.repeat([0.01, -0.01, 0.01, 0.01], 50)
    left = LeftOut(errors, stated, recording)
    for power in (1, 2):
        assert left.usual(power) == pytest.approx(0.01**0.25)
        assert left._replace(recording=0 * recording).usual(power) < 0.05  # as sums over all would have it


@pytest.mark.slow
def test_a_few_recordings_of_a_real_servo_say_what_others_come_to(shared_data):
    """Eight logs of two light rigs; one left out in turn takes what it alone told with it, and draws without
    it must follow those left. Said was a fifth of what came true."""
    sheet, folder = be.Datasheet.read("sts3032"), shared_data / "sts3032"
    logs = be.read(folder / "m0.259_l0.05_kp8_*.json", folder / "m0.259_l0.07_kp16_*.json")
    options = {"friction": "m4", "prior": sheet, "n_starts": 2, "inspect": False}
    fit = be.fit(sheet.actuator(), logs, **options)
    motions = [fit.predict(log) for log in be.read(folder / "m0.3247_l0.0?_kp8_*.json")]
    said = [motion.expected.mae / motion.mean_absolute() for motion in motions]
    assert 0.7 < np.median(said) < 1.5
    assert np.mean([motion.inside() for motion in motions]) > 0.9


def test_a_fit_without_errors_has_no_band():
    """Where the end is no minimum nothing says how recordings differ."""
    search = bench_search(TRUTH, [another(seed) for seed in range(3)], free_paths=FREE, n_starts=1)
    optimum = find_optimum(search, None)
    uncertainties = uncertainty(optimum.problem, optimum.x)
    fit = optimum.plant.make_fit(optimum, optimum.plant.judge(optimum), uncertainties)
    assert with_variation(fit, optimum, uncertainties).variation is not None
    refused = with_variation(fit, optimum, replace(uncertainties, effects=None, positive=False))
    assert refused.variation is None
    assert "no_band" in {f.code for f in refused.findings}
    with pytest.raises(be.BackemfError, match="the simulation runs away"):
        refused.expected_error(another(4))


def test_a_new_mounting_hangs_as_the_fitted_ones_do(fit):
    """Mean and spread of two in closed form: sd sqrt(2) / 2 of their distance, times sqrt(1 + 1/2)."""
    from backemf.results.fit_result import BenchNumber

    how = {"path": "bench.hanging", "stated": 0.0, "tolerance": 0.035, "error": 0.001, "unit": "rad"}
    rows = tuple(
        BenchNumber(group=group, value=value, logs=(group,), **how)
        for group, value in (("mass 0.1 kg, length 0.1 m", 0.1), ("mass 0.2 kg, length 0.1 m", 0.16))
    )
    hung, log = replace(fit, bench=rows), another(5)
    mean, spread = new_mounting(rows, log) or (0.0, 0.0)
    assert mean == pytest.approx(0.13)
    assert spread == pytest.approx(0.06 / np.sqrt(2) * np.sqrt(1.5))
    motion = hung.predict(log)
    assert [f.code for f in motion.findings] == ["new_mounting"]
    assert motion.log.bench.hanging == pytest.approx(0.13)
    assert motion.band.half().mean() > fit.predict(log).band.half().mean()
    stated = replace(log, bench=replace(log.bench, hanging=0.0))
    assert new_mounting(rows, stated) is None


def test_what_joints_share_is_the_same_in_all_of_them():
    from backemf.results.variation import DrawnNumber, Variation

    rows = (
        DrawnNumber(path="motor.resistance", joints=("a", "b"), x=np.log(4.0)),
        DrawnNumber(path="friction.coulomb", joints=("a",), x=np.log(0.05)),
        DrawnNumber(path="friction.coulomb", joints=("b",), x=np.log(0.06)),
    )
    variation = Variation(
        numbers=rows,
        members=np.array([[0.1, 0.2, -0.3]]),
        floor={"a": 0.01, "b": 0.02},
        factor=2.45,
        usual=2.0,
        mean_absolute=0.8,
        root_mean_square=1.0,
        left_out="3 recordings",
        slow=0.15,
    )
    drawn = variation.actuators({"a": TRUTH, "b": TRUTH}, variation.members[0], variation.for_training)
    assert drawn["a"].motor.resistance == drawn["b"].motor.resistance == pytest.approx(4 * np.exp(0.125))
    assert drawn["b"].parameters["friction.coulomb"] == pytest.approx(0.06 * np.exp(-0.375))
    spread = be.Spread().with_bands(variation, TRUTH, "b")
    assert spread.draws["friction.coulomb"] == pytest.approx([0.06 * np.exp(-0.375)])
    assert spread.slow == pytest.approx((0.025, 0.15))


def test_the_slow_error_keeps_its_size_and_forgets_itself():
    t = np.arange(0.0, 4.0, 0.01)
    drawn = slow_error(t, 0.2, 4000, np.random.default_rng(0))
    assert drawn.std(axis=0)[[0, 100, 399]] == pytest.approx(1.0, abs=0.05)  # 4000 draws: 1 %
    assert np.mean(drawn[:, 0] * drawn[:, 20]) == pytest.approx(np.exp(-1.0), abs=0.06)


def test_environments_draw_whole_members_and_a_slow_error(fit):
    torch = pytest.importorskip("torch")
    made = be.export(fit, "torch", draws="bands", replay=False)
    space: dict = {"__name__": "exported"}
    exec(next(iter(made.files.values())), space)
    one, two = (space["Actuator"](64, 2, inertia=1e-3, seed=3) for _ in range(2))
    rows = np.array([space["BANDS"][path] for path in FREE]).T
    drawn = np.stack([one.parameters[path][:, 0].numpy() for path in FREE], axis=1)
    assert all(np.min(np.abs(rows - row).max(axis=1)) < 1e-9 for row in drawn)
    assert len(np.unique(drawn[:, 0])) > 10
    for path in FREE:
        assert torch.equal(one.parameters[path], two.parameters[path])
        assert torch.equal(one.parameters[path][:, 0], one.parameters[path][:, 1])
    before = one.slow.clone()
    one.compute(torch.zeros(64, 2), torch.zeros(64, 2), torch.zeros(64, 2), 0.01)
    assert not torch.equal(before, one.slow)
    with pytest.raises(be.BackemfError, match="nothing says how recordings differ"):
        be.export(TRUTH, "torch", draws="bands", replay=False)


def test_the_deviation_of_draws_is_numpys_quantiles_of_those_that_are_numbers():
    members = np.random.default_rng(0).standard_normal((24, 50))
    members[np.random.default_rng(1).random(members.shape) < 0.1] = np.nan
    low, high = np.nanquantile(members, (0.16, 0.84), axis=0)
    np.testing.assert_allclose(deviation_of(members), 0.5 * (high - low), rtol=1e-12)


def test_report_and_film_hold_what_was_said_against_what_came_true(fit):
    fitted, other = another(0), another(100)
    made = report(fit, [fitted, other], exported=False)
    section: dict[str, Any] = {type(block).__name__: block for block in bands(made)}
    ((name, off, expected, _, inside),) = section["Table"].rows  # the fitted one is no test
    q, motion = other["position"], fit.predict(other)
    assert name == "run 100"
    assert float(off) == pytest.approx(1e3 * np.abs(motion.positions[""] - q).mean(), rel=0.01)
    assert float(expected) == pytest.approx(1e3 * fit.expected_error(other).mae, rel=0.01)
    share = np.mean((motion.low[""] <= q) & (q <= motion.high[""]))
    assert inside == f"{100 * share:.0f} %"
    n = fit.variation.n_shrunk
    assert f"Of 24 draws {n} would have left the fitted recordings" in section["Paragraph"].text
    none = replace(made, fit=replace(fit, variation=replace(fit.variation, n_shrunk=0)))
    assert "drawn nearer" not in getattr(next(iter(bands(none))), "text", "")
    (panel,) = section["Drawing"].figure.panels
    assert np.sum(panel.lines[0].y[::2]) == pytest.approx(100)
    _, drawn = (measured_and_predicted(one, "").panels for one in made.runs)
    np.testing.assert_allclose(drawn[0].regions[0].high, motion.high[""])
    assert recorded_run(fit, fitted).band is None
    np.testing.assert_allclose(recorded_run(fit, other).band.low[""], motion.low[""])
    old = report(replace(fit, variation=None), [other], exported=False)
    (refused,) = bands(old)
    assert isinstance(refused, Paragraph)
    assert "before bands" in refused.text


def test_a_file_with_bands_is_the_same_from_the_shell_and_from_python(fit, tmp_path):
    """Numbers known loosely trouble only those who draw from errors; without bands both say why."""
    p = fit.parameters["friction.viscous"]
    loose = replace(fit, parameters={**fit.parameters, p.path: replace(p, error=p.value)})
    loose.write(tmp_path / "loose.json")
    run, how = runner(export), ("--to", "torch", "--no-replay", "--joint", "knee")
    run(tmp_path / "loose.json", *how, "--draws", "bands", "-o", tmp_path / "bands.py")
    text = (tmp_path / "bands.py").read_text()
    python = be.export(loose, "torch", draws="bands", replay=False, joint="knee").text
    assert text.partition("import")[2] == python.partition("import")[2]
    assert "pile up" not in text + python
    run(tmp_path / "loose.json", *how, "-o", tmp_path / "errors.py")
    assert "pile up" in (tmp_path / "errors.py").read_text()
    none = finding("no_band", "no band can be given: it is short.", "record 3 motions or more")
    bare = replace(fit, variation=None, findings=(none,))
    bare.write(tmp_path / "bare.json")
    ways = (
        lambda: run(tmp_path / "bare.json", *how, "--draws", "bands", "-o", tmp_path / "none.py"),
        lambda: be.export(bare, "torch", draws="bands", replay=False),
    )
    for way in ways:
        with pytest.raises(be.BackemfError, match=r"it is short\. To get a band, record 3 motions"):
            way()
