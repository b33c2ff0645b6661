"""What a browser sees of a fit, and how one is stopped."""

from __future__ import annotations

import math
import signal
import time

import numpy as np
import pytest

import backemf as be
from backemf.apps.cli.terminal import HELP
from backemf.apps.web.worker import LOGS, POINTS, JobProgress
from backemf.identify.optimize import watcher

from ..browser import node
from ..conftest import ROOT


@pytest.fixture(scope="module")
def logs():
    """Recordings that the model cannot follow to their noise: a search that takes several starts."""
    servo = be.Datasheet.read("sts3215-7.4v").actuator()
    arm = be.bench.Pendulum(mass=0.2, length=0.1)
    run = be.simulate(servo, arm, be.signal.square(0.5, 0.5), duration=4.0, dt=0.005)
    rough = run.position + 0.02 * np.sin(40.0 * run.position)
    asked = {"position_target": run["position_target"], "bench": arm}
    return servo, [be.log("rough", run.time, position=rough, **asked)]


def fitted(logs, stop_after: int) -> tuple[be.Fit, list[dict]]:
    servo, recorded = logs
    notes: list[dict] = []
    seen = JobProgress(lambda said: notes.append(dict(said)))
    count = [0]

    def step(*given):
        count[0] += 1
        if count[0] == stop_after:
            seen.stop()
        seen.step(*given)

    token = watcher.set(step)
    try:
        paths = ["motor.resistance", "friction.coulomb", "friction.viscous"]
        return be.fit(servo, recorded, free_paths=paths, n_starts=6, tolerances=False, offset=False), notes
    finally:
        watcher.reset(token)


def test_a_stop_keeps_the_best_and_says_so(logs):
    fit, notes = fitted(logs, stop_after=3)
    assert "interrupted" in [f.code for f in fit.findings]
    assert set(fit.parameters) == {"motor.resistance", "friction.coulomb", "friction.viscous"}
    whole, more = fitted(logs, stop_after=-1)
    assert "interrupted" not in [f.code for f in whole.findings]
    assert whole.training_mae <= fit.training_mae * 1.01  # the whole search is no worse than its beginning
    (one,) = (more or notes)[-1]["curves"][:LOGS]
    assert len(one["time"]) <= 2 * POINTS
    assert one["unit"] == "rad"


@pytest.mark.parametrize("share", [0.05, 0.4, 0.8, 1.0])
def test_wherever_it_is_a_fit_that_is_stopped_ends_within_two_seconds(logs, share):
    """Also while other starts are tried, while it settles, and while its errors are worked out."""
    servo, recorded = logs
    said: list[dict] = []
    steps, at = [0], [math.inf]

    def run(last: int) -> be.Fit:
        seen, steps[0] = JobProgress(lambda told: said.append(dict(told))), 0

        def step(*given):
            steps[0] += 1
            if steps[0] == last:
                at[0] = time.process_time()
                seen.stop()
            seen.step(*given)

        token = watcher.set(step)
        try:
            return be.fit(servo, recorded, friction="stribeck", n_starts=4)
        finally:
            watcher.reset(token)

    whole = run(-1)
    stopped = run(max(2, int(share * steps[0])))
    assert time.process_time() - at[0] < 2.0
    assert "interrupted" in [f.code for f in stopped.findings]
    assert set(stopped.parameters) == set(whole.parameters)
    assert all(p.error > 0 for p in stopped.parameters.values())


def test_the_share_of_a_search_stays_while_its_steps_are_drawn():
    notes: list[dict] = []
    seen = JobProgress(lambda said: notes.append(dict(said)))
    seen.words("r5.csv", 1.0)
    seen.step(None, None, 0.0)
    seen.words("start 2 of 6, best 3 mrad", 0.6)
    seen.step(None, None, 0.0)
    assert notes[-1]["share"] == 0.6
    assert notes[-1]["text"].startswith("start 2 of 6")


@pytest.mark.parametrize("last", [5, 60, 300, 600])
def test_a_ladder_that_is_stopped_keeps_what_it_has_and_ends_within_two_seconds(last):
    """In its first rung, while that is carried on to other logs, and later; half a minute of recordings."""
    servo, steps, at = be.Datasheet.read("sts3215-7.4v").actuator(), [0], math.inf
    arm, logs, rng = be.bench.Pendulum(mass=0.2, length=0.1), [], np.random.default_rng(0)
    for k in range(4):
        run = be.simulate(servo, arm, be.signal.square(0.3 + 0.1 * k, 0.4), duration=8.0, dt=0.005)
        noisy = run.position + 5e-4 * rng.standard_normal(len(run))
        asked = {"position_target": run["position_target"], "bench": arm}
        logs.append(be.log(f"run {k}", run.time, position=noisy, **asked))
    seen = JobProgress(lambda told: None)

    def step(*given):
        nonlocal at
        steps[0] += 1
        if steps[0] == last:
            at = time.process_time()
            seen.stop()
        seen.step(*given)

    token = watcher.set(step)
    try:
        fit = be.fit(servo, logs, friction="ladder")
    finally:
        watcher.reset(token)
    assert time.process_time() - at < 2.0
    assert [f.code for f in fit.findings].count("interrupted") == 1
    assert all(p.error > 0 for p in fit.parameters.values())
    assert len(fit.logs) == len(logs)


def test_before_anything_is_found_and_asked_twice_it_ends_at_once():
    seen = JobProgress(lambda said: None)
    with pytest.raises(KeyboardInterrupt):
        seen.stop()
    seen.step(None, None, 0.0)
    seen.stop()
    with pytest.raises(KeyboardInterrupt):
        seen.stop()
    if hasattr(signal, "getitimer"):  # nothing rings later, in what comes next
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0


def test_a_fit_that_looks_nowhere_is_stopped_all_the_same():
    seen = JobProgress(lambda said: None)
    seen.step(None, None, 0.0)
    seen.stop()
    with pytest.raises(KeyboardInterrupt):
        time.sleep(60.0)


PARTS = ROOT / "src/backemf/apps/web/static/parts.js"
REMEDIES = {
    "say it: position_target=goal[deg], or [rad] if that is right": (
        "say it: “goal” is position target in deg (in the table of columns), or [rad] if that is right"
    ),
    "measure it with an oscilloscope (`backemf measure firmware-gain`): it acts alike": (
        "measure it with an oscilloscope: it acts alike"
    ),
    'say what the output carried, as in --bench "pendulum" (in Python: be.read(..., bench=...))': (
        'say what the output carried, as in “Bench” "pendulum"'
    ),
    "`backemf check` says what to record (in Python, be.check(...)): try --apply": (
        "“Check the recordings” says what to record: try “mend what is wrong with them”"
    ),
    HELP: "",
    "the nearest are: mx-106, mx-64; `backemf catalog` lists all": "the nearest are: mx-106, mx-64",
    "did you mean --free? The nearest are: --only; `backemf fit --help` lists all": (
        "did you mean “Exactly these are free”? The nearest are: “Exactly these are free”"
    ),
}


def test_a_remedy_names_the_control_to_press():
    text = PARTS.read_text(encoding="utf-8")
    own = text[text.index("export function sentence") : text.index("/** A button that copies")]
    own += text[text.index("/** Controls of the pages") : text.index("/** The command that does the same")]
    script = own.replace("export ", "") + "function answer(given) { return given.map(inApp); }\n"
    assert node(script, list(REMEDIES)) == list(REMEDIES.values())


def test_what_is_said_of_several_recordings_stands_once():
    text = PARTS.read_text(encoding="utf-8")
    own = text[text.index("export function together") : text.index("/** A labelled input")]
    script = own.replace("export ", "") + "function answer(given) { return together(given); }\n"
    low, late = {"code": "low", "text": "it is low", "remedy": "raise it"}, {"code": "late", "text": "late"}
    grouped = node(script, [["a", low], ["b", late], ["c", low]])
    assert [f["text"] for f in grouped] == ["a, c: it is low", "b: late"]
    (many,) = node(script, [[str(k), low] for k in range(6)])
    assert many["text"] == "0, 1, 2, 3 and 2 more: it is low"


def test_numbers_of_a_finding_are_set_as_books_have_them():
    text = (PARTS.parent / "dom.js").read_text(encoding="utf-8")
    own = text[text.index("const UP") : text.index("export const words")].replace("export ", "")
    said = "hardly tell it: 5.68e-10 kg m^2 (stated: 0.166 +- 1e+06), sts3215-7.4v and m1e stay"
    want = "hardly tell it: 5.68 x 10⁻¹⁰ kg m² (stated: 0.166 ± 1 x 10⁶), sts3215-7.4v and m1e stay"
    script = own + "function answer(given) { return typeset(given); }\n"
    assert node(script, said).replace("\u00d7", "x") == want
