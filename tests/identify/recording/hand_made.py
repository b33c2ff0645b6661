"""Positions made by hand: every step of them is known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

import backemf as be
from backemf.findings import Finding
from backemf.identify.inspect.samples import SignalTrack

STEP = 0.01
"""Between two samples [s]."""


def moving(steps: Any, start: float = 0.0) -> np.ndarray:
    """Positions with these steps between them."""
    return start + np.concatenate([[0.0], np.cumsum(steps)])


def track(values: Any, step: float = STEP, **known: float) -> SignalTrack:
    """A track of values; its noise or grain may be known instead of found."""
    values = np.asarray(values, float)
    made = SignalTrack(np.arange(len(values)), step * np.arange(len(values)), values)
    made.__dict__.update(known)
    return made


def log(position: Any, step: float = STEP, name: str = "run", bench: Any = None, **signals: Any) -> be.Log:
    """A log of a position, and of whatever else there is on the same clock."""
    position = np.asarray(position, float)
    more = {n: np.asarray(v, float) for n, v in signals.items()}
    return be.log(name, step * np.arange(len(position)), position=position, bench=bench, **more)


def wavy(n: int, seed: int = 0) -> np.ndarray:
    """Factors about 1 that no two steps have in common: a motion that goes on, but so unevenly
    that no encoder is seen in it."""
    return 1.0 + 0.07 * np.random.default_rng(seed).uniform(-1, 1, n)


def codes(findings: Iterable[Finding]) -> list[str]:
    """What is said, in order; a text is a sentence, a remedy an advice."""
    findings = list(findings)
    assert all(f.text.endswith(".") and not f.remedy.endswith(".") for f in findings)
    return [f.code for f in findings]
