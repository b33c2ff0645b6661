"""What else would tell: the same motions with another weight or gain, tried before they are offered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..identify.check import DETERMINED
from ..identify.uncertainty import inverse
from ..physics.actuator import Actuator
from ..physics.bench import BENCH_TRAITS, Bench
from ..physics.quantity import parameters
from ..tables import number
from .limits import extremes, within
from .motions import SafetyLimits
from .outlook import Outlook, Sensing, outlook

WORTH = 0.7
"""Share of an error that another setting must leave at most, to be offered."""
LOADS, GAINS = (2.5, 0.4), (0.5, 2.0)
LONGER = 4
NOTHING = "no other weight, gain or time that was tried; a datasheet or a reading"
GAIN = ("drive.proportional", "drive.volts_per_radian")


class Setting(NamedTuple):
    """Another way to record the same motions."""

    words: str
    actuator: Actuator
    bench: Bench
    sensing: Sensing


def settings(look: Outlook) -> Iterator[Setting]:
    """Other weights, other gains, another channel."""
    actuator, bench, sensing = look.start, look.bench, look.sensing
    own = parameters(bench) if look.rig else {}
    for name in ("mass", "inertia"):
        for factor in LOADS if own.get(name) else ():
            value = float(number(factor * own[name], 2))
            words = f"the same with {name} {value:g} {BENCH_TRAITS[f'bench.{name}']['unit']}"
            yield Setting(words, actuator, replace(bench, **{name: value}), sensing)
        if own.get(name):
            break
    for path in GAIN:
        for factor in GAINS if path in actuator.parameters else ():
            value = float(number(factor * actuator.parameters[path], 2))
            words = f"the same with {path} {value:g}"
            yield Setting(words, actuator.replace(**{path: value}), bench, sensing)
    if sensing.current is None:
        yield Setting(
            "the same with the current", actuator, bench, replace(sensing, current=Sensing().current)
        )


def otherwise(
    look: Outlook,
    picked: Sequence[int],
    before: np.ndarray,
    errors: Mapping[str, float],
    untold: Sequence[str],
    limits: SafetyLimits,
) -> dict[str, str]:
    """For each number that stays untold, the other setting that tells most of it, in words with the error
    that is left of what is expected without, `errors` by path."""
    x, p = look.problem.first, look.problem
    first = told_alone(look, x, picked)
    known = before[np.ix_(look.own, look.own)]
    once = _relative(look, known + first)
    again = _relative(look, known + 2.0 * first)  # the same twice takes as long
    best: dict[str, tuple[float, str]] = {}
    for one in settings(look):
        motions = [replace(look.motions[k], name=f"{n}") for n, k in enumerate(picked)]
        other = outlook(
            one.actuator,
            one.bench,
            motions,
            sensing=one.sensing,
            prior=look.prior,
            joint=look.joint,
            settings=look.settings,
            rig=look.rig,
        )
        if [other.problem.free.names[k] for k in other.own] != [p.free.names[k] for k in look.own]:
            continue
        kept = [int(k) for k in np.flatnonzero(within(extremes(other), limits))]
        if not kept:
            continue
        both = _relative(look, known + first + told_alone(other, other.problem.first, kept))
        for path, old, new, plain in zip(errors, again, both, once, strict=True):
            left = errors[path] * new / plain
            if path in untold and new < WORTH * old and left < best.get(path, (np.inf, ""))[0]:
                best[path] = (left, f"{one.words}: {number(100 * left, 2)} %")
    longer = _relative(look, known + LONGER * first)
    for path, new, plain in zip(errors, longer, once, strict=True):
        left = errors[path] * new / plain
        if path in untold and path not in best and left <= DETERMINED:
            best[path] = (left, f"{LONGER} times as long: {number(100 * left, 2)} %")
    return {path: best[path][1] if path in best else NOTHING for path in untold}


def told_alone(look: Outlook, x: np.ndarray, picked: Sequence[int]) -> np.ndarray:
    """What motions tell of the actuator's numbers, those of the bench being as sure as their tolerances."""
    whole = look.information(x).worth[list(picked)].sum(axis=0)
    own, beside = look.own, [k for k in range(len(whole)) if k not in look.own]
    across = whole[np.ix_(own, beside)]
    held = inverse((whole + look.problem.free.precision)[np.ix_(beside, beside)])
    return whole[np.ix_(own, own)] - across @ held @ across.T


def _relative(look: Outlook, precision: np.ndarray) -> np.ndarray:
    """Relative errors of the actuator's numbers, of which this is known."""
    full = np.zeros((len(look.problem.free), len(look.problem.free)))
    full[np.ix_(look.own, look.own)] = inverse(precision)
    return look.relative(look.problem.first, full)
