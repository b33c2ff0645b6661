"""Fits of recordings with published numbers, each beside what was published, on the same logs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import chi2, norm

import backemf as be
from backemf.identify.fit import bench_plant, find_optimum, make_fit
from backemf.identify.fit_options import FitOptions
from backemf.identify.frictions import with_friction
from backemf.identify.optimize import homotopy, observer_stages
from backemf.identify.parameters import FreeParameters, spread
from backemf.identify.plants.bench_plant import SCHEDULE
from backemf.identify.problem import mean_absolute_errors, problem
from backemf.identify.search import FrictionSearch, bench_search
from tests.published.mx106 import another_servo
from tests.published.sg90 import Article, servo

from . import emps as axis

NOISE_FLOOR = 0.871
"""Mean absolute error that the true parameters of the MX-106-like set leave [mrad]."""
HELD_OUT: dict[str, tuple[Any, Callable[[be.Log], bool]]] = {
    "gain 8": ({"gain": 8}, lambda log: _gain(log) == 8),
    "length 0.07": ({"length": 0.07}, lambda log: _length(log) == 0.07),
    "both": ([{"gain": 8}, {"length": 0.07}], lambda log: _gain(log) == 8 and _length(log) == 0.07),
}
"""What is held out, and the logs that it is judged on: with both, those that share neither with any fitted
log."""


def _gain(log: be.Log) -> float:
    return log.settings["drive.proportional"]


def _pendulum(log: be.Log) -> be.bench.Pendulum:
    assert isinstance(log.bench, be.bench.Pendulum)
    return log.bench


def _length(log: be.Log) -> float:
    return _pendulum(log).length


def mx106(folder: Path) -> list[dict]:
    """Single starts, and how far from each other they really begin."""
    sheet = be.Datasheet.read("mx-106")
    logs = be.read(str(folder / "mx106_pendulum" / "*.json"))
    actuator = with_friction(sheet.actuator(), "m6")
    p = bench_search(actuator, logs, prior=sheet).plant.problem()
    homotopy(p, p.first, stages=observer_stages(60.0, 0.0))  # compile
    rng, cpu, errors, begins = np.random.default_rng(0), 0.0, [], []
    for k in range(8):
        x = p.first if k == 0 else spread(p.free, 3.0, rng, p.first)
        begins.append(p.values(x))
        begun = time.process_time()
        found = homotopy(p, x, stages=SCHEDULE.legs(p.step)[0])
        cpu += time.process_time() - begun
        errors.append(1e3 * float(np.mean(list(mean_absolute_errors(p, found.x).values()))))
    spreads = {
        q.path: max(b[q.name] for b in begins) / min(b[q.name] for b in begins)
        for q in p.free.parameters
        if q.signed is None and min(b[q.name] for b in begins) > 0
    }
    stated = [q.path for q in p.free.parameters if q.stated and q.path in spreads]
    free = [s for path, s in spreads.items() if path not in stated]
    return [
        {
            "good": sum(e < 1.05 * NOISE_FLOOR for e in errors),
            "of": len(errors),
            "free_numbers": len(p.free),
            "mae_mrad": errors,
            "noise_floor_mrad": NOISE_FLOOR,
            "largest_over_smallest_start": {
                **{path: spreads[path] for path in stated},
                f"the other {len(free)}, median": float(np.median(free)),
            },
            "cpu_s": cpu,
        }
    ]


def regions(folder: Path, servos: int = 12) -> list[dict]:
    """How often the joint 95 % region of a fit from the sheet holds another servo's numbers, all of them."""
    sheet = be.Datasheet.read("mx-106")
    squared, coulomb, truth, begun = [], [], {}, time.process_time()
    for seed in range(servos):
        truth, logs = another_servo(folder, seed)
        fit = be.fit(sheet.actuator(), logs, friction="m6", prior=sheet, n_starts=2)
        squared.append(fit.distance(truth) ** 2)
        p = fit.parameters["friction.coulomb"]
        coulomb.append(p.low <= truth["friction.coulomb"] <= p.high)
    return [
        {
            "hold": sum(d < chi2.ppf(0.95, len(truth)) for d in squared),
            "coulomb_hold": sum(coulomb),
            "of": servos,
            "numbers": len(truth),
            "median_chi2": float(np.median(squared)),
            "cpu_s": time.process_time() - begun,
        }
    ]


def published_errors(logs: Sequence[be.Log]) -> dict[str, float]:
    """Errors of the published Coulomb fit [rad], with its offset of the joint, the firmware's gain of the
    servo's sister (0.166 per radian and count) times its ratio, and the nominal supply."""
    sheet = be.Datasheet.read("sts3032")
    other = sheet.identified["m1"].other
    there = [
        replace(
            log,
            bench=replace(_pendulum(log), hanging=-other["q_offset"]),
            signals={name: s for name, s in log.signals.items() if name != "supply"},
        )
        for log in logs
    ]
    drive = be.drive.Servo(
        firmware_gain=0.166 * other["error_gain_ratio"], proportional=16.0, supply=6.0, duty_limit=0.97
    )
    actuator = replace(be.Actuator.read("sts3032/m1"), drive=drive)
    p = problem(actuator, there, FreeParameters(()), outputs=("position",), substeps=8)
    return mean_absolute_errors(p, p.first)


def sts3032(folder: Path, frictions: Sequence[str] = ("m4", "m6")) -> list[dict]:
    """Real logs, some held out: our error on them and that of the published fit, which has seen them."""
    sheet, logs = be.Datasheet.read("sts3032"), be.read(str(folder / "sts3032" / "*.json"))
    theirs = published_errors(logs)
    rows: list[dict] = [{"logs": "all 64", "published_mrad": 32.3, "published_replayed_mrad": _mrad(theirs)}]
    for name, (held, judged) in HELD_OUT.items():
        names = [log.name for log in logs if judged(log)]
        options = FitOptions(prior=sheet, hold_out=held, n_starts=2)
        search = FrictionSearch(bench_plant(sheet.actuator(), logs, options), options)
        for friction in frictions:  # a rung starts from those below it, which are searched once
            begin = time.process_time()
            found = make_fit(find_optimum(search, friction))
            rows.append(
                {
                    "held_out": name,
                    "friction": friction,
                    "held_out_mrad": _mrad({n: found.held_out[n] for n in names}),
                    "published_on_the_same_logs_mrad": _mrad({n: theirs[n] for n in names}),
                    "fitted_mrad": 1e3 * found.training_mae,
                    "median_error_over_error_if_right": _wider(found),
                    "read_from_held_out": len(found.read_from_held_out),
                    "cpu_s": time.process_time() - begin,
                }
            )
    return rows


def _mrad(errors: dict[str, float]) -> float:
    return 1e3 * float(np.mean(list(errors.values())))


def _wider(fit: be.Fit) -> float:
    ratios = [p.error / p.error_if_right for p in fit.parameters.values() if p.error_if_right]
    return float(np.median(ratios))


def rigs(folder: Path, friction: str = "m4") -> list[dict]:
    """The same servo fitted to parts of its recordings that share nothing: whether they agree within their
    errors, and how wide these are beside what the parts' scatter needs."""
    logs = be.read(str(folder / "sts3032" / "*.json"))
    by_rig: dict[tuple, list[be.Log]] = {}
    for log in logs:
        by_rig.setdefault((_pendulum(log).mass, _length(log)), []).append(log)
    alone = [fit_part(some, friction) for some in by_rig.values()]
    two = [[*a, *b] for a, b in itertools.combinations(by_rig.values(), 2)]
    halves = [fit_part(some, friction) for some in two]
    thirds = [fit_part(logs[k::3], friction) for k in range(3)]
    return [
        agreement("four rigs, each alone", friction, itertools.combinations(alone, 2)),
        agreement("two rigs and the two others", friction, zip(halves[:3], halves[:2:-1], strict=True)),
        agreement("every third log", friction, itertools.combinations(thirds, 2)),
    ]


def fit_part(logs: Sequence[be.Log], friction: str) -> be.Fit:
    """An STS3032 fitted to some of its recordings, as its sheet begins it."""
    sheet = be.Datasheet.read("sts3032")
    return be.fit(sheet.actuator(), logs, friction=friction, prior=sheet, n_starts=2, bands=False)


def agreement(parts: str, friction: str, pairs: Iterable[tuple[be.Fit, be.Fit]]) -> dict:
    """How fits of separate recordings agree, number by number.

    Args:
        parts: what they were fitted to, in words.
        friction: their model.
        pairs: of fits that share no recording.
    """
    z: dict[str, list[float]] = {}
    z_if_right, fits = [], {}
    for a, b in pairs:
        fits |= {id(a): a, id(b): b}
        for path, p in a.parameters.items():
            q = b.parameters[path]
            z.setdefault(path, []).append(abs(p.value - q.value) / np.hypot(p.error, q.error))
            z_if_right.append(abs(p.value - q.value) / np.hypot(p.error_if_right or 0, q.error_if_right or 0))
    every = np.concatenate([*z.values()])
    return {
        "fitted_to": parts,
        "friction": friction,
        "comparisons": len(every),
        "within_two_errors": int(np.sum(every <= 2)),
        "within_two_errors_if_right": int(np.sum(np.array(z_if_right) <= 2)),
        "rms_z": float(np.sqrt(np.mean(every**2))),
        "median_width_over_needed": float(norm.ppf(0.75) / np.median(every)),
        "median_error_over_error_if_right": float(np.median([_wider(f) for f in fits.values()])),
        "beyond": {path: [round(v, 1) for v in one] for path, one in z.items() if max(one) > 2},
        "cpu_s": sum(f.cpu_s for f in fits.values()),
    }


def sg90(folder: Path) -> list[dict]:
    """Fitted to the first half of the article's video, scored on the second: the root of the sum of
    squares."""
    article, half = Article(folder), 107
    start = servo(15.0, 1.409168e-6)
    start = replace(
        start, friction=be.friction.Coulomb(coulomb=0.002, viscous=start.friction.viscous)
    ).replace(**{"motor.rotor_inertia": 1e-13})
    free = ["drive.volts_per_radian", "friction.viscous", "friction.coulomb"]
    tried = []
    for early in 1e-3 * np.arange(0.0, 21.0, 4.0):
        log = article.log(half, early)
        fit = be.fit(start, [log], free_paths=free, n_starts=1, tolerances=False)  # the moment is as given
        off = article.errors(fit.actuator, early)
        tried.append((float(np.linalg.norm(off[:half])), float(np.linalg.norm(off[half:])), float(early)))
    _, judged, early = min(tried)
    return [
        {
            "second_half": judged,
            "second_half_at_the_published_moment": tried[0][1],
            "published_two_parameters": 0.484,
            "command_earlier_by_s": early,
        }
    ]


def emps(folder: Path) -> list[dict]:
    """The rows of benchmarks/emps.py."""
    return [{"numbers": name, **numbers} for name, numbers in axis.rows(folder).items()]
