"""One simulated line, and its fleet, for all tests of this folder."""

from __future__ import annotations

import pytest

from backemf.kits.fleets import example_line as simulated

from .lines import fitted

UNITS, SAMPLES = 4, 500


@pytest.fixture(scope="session")
def line(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet") / "line"
    simulated.record(folder, UNITS, seed=1, samples=SAMPLES)
    return folder


@pytest.fixture(scope="session")
def fleet(line, tmp_path_factory):
    return fitted(line, tmp_path_factory.mktemp("fitted") / "fleet")
