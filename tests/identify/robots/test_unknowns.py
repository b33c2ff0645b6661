"""Masses, tilts and zeros free beside the actuators: what each does to inputs, errors and normal equations,
against the changed model and differences; and what all joints together do to the numbers."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.identify.fit_options import FitOptions
from backemf.identify.holdout import part_of
from backemf.identify.optimize import Minimum
from backemf.identify.plants import inertia, recordings, robot_result
from backemf.identify.plants.plant import Optimum
from backemf.identify.plants.robot_plant import robot_plant
from backemf.identify.uncertainty import follow_starts
from backemf.mujoco.robot.masses import change_robot

from ...robot.arms import ARM
from ...robot.simulated import TRUTH, recording

NAMED = ["robot.hand.mass", "robot.payload.mass", "robot.base.tilt_y", "robot.elbow.offset"]


@pytest.fixture(scope="module")
def at_start(tmp_path_factory) -> Any:
    """Where a search would begin, two seconds of two motions; in the first something is touched."""
    path = tmp_path_factory.mktemp("arm") / "arm.xml"
    path.write_text(ARM)
    logs = [recording(be.Robot.read(path), k, 2.0, step=5e-3) for k in (1, 2)]
    plant = robot_plant(TRUTH, logs, FitOptions(friction="coulomb"))
    one, two = plant.recordings
    one = replace(one, touched=(one.motion.time > 0.3) & (one.motion.time < 0.5))
    plant = replace(plant, recordings=[one, two])
    p = plant.problem()
    end = Minimum(x=p.first, cost=0.0, data_cost=0.0, n_evaluations=5, ended="", begin=p.begin)
    given: Any = {"plant": plant, "problem": p, "end": end, "robust": np.inf, "found": None}
    return Optimum(**given)


@pytest.fixture(scope="module")
def freed(at_start) -> Any:
    """(the problem with four numbers of the robot free, where it stands)."""
    stated = inertia.wanted_unknowns(at_start.plant.robot, 0.0, NAMED)
    return inertia._problem_around(at_start, stated, {u.name: u.stated for u in stated})


def test_inputs_are_those_of_the_changed_model(at_start, freed):
    p, x = freed[0], freed[1].copy()
    assert p.free.names[-4:] == tuple(NAMED)
    for given, log in zip(p.inputs_at(x), p.logs, strict=True):
        assert given == pytest.approx(log.inputs)
    plant, by = at_start.plant, {"hand.mass": 0.11, "payload.mass": 0.01}
    heavy = change_robot(plant.robot, by)
    found = [recordings.recording_of(heavy, one.log) for one in plant.recordings]
    found = [replace(one, touched=old.touched) for one, old in zip(found, plant.recordings, strict=True)]
    expected = replace(plant, robot=heavy, recordings=found).problem().logs
    x[-4:] += 0.01, 0.01, 0.0, 0.0
    for given, log, before in zip(p.inputs_at(x), expected, p.logs, strict=True):
        change = log.inputs - before.inputs
        assert given - before.inputs == pytest.approx(change, abs=0.03 * np.max(np.abs(change)))
        assert np.abs(change).max(axis=0)[:2].min() > 1e-5
    x[-4] = -9.0
    assert not any(given[:, 0].any() for given in p.inputs_at(x))


def test_derivatives_are_differences(freed):
    p, x = freed
    errors, J = p.sensitivities(x)
    own = np.concatenate(p.position_errors(x)) / p.sigma[0]
    seen, spans = np.isfinite(own), [slice(a, b) for a, b in itertools.pairwise(p.offsets)]
    assert errors[seen, 0] == pytest.approx(own[seen])
    for k, q in enumerate(p.free.parameters):
        step = 1e-5 if q.prior is None or not q.path.startswith("robot.") else 1e-3 * q.prior[1]
        ends = [np.concatenate(p.position_errors(x + s * step * (np.arange(len(x)) == k))) for s in (1, -1)]
        slope = ((ends[0] - ends[1]) / (2 * step * p.sigma[0]))[seen]
        paths = np.append(p.free.slopes(x)[:, k], 0.0)[p.index]
        told = np.concatenate([J[one, 0, :-2] @ by for one, by in zip(spans, paths, strict=True)])[seen]
        assert np.linalg.norm(told - slope) <= 0.03 * np.linalg.norm(slope), q.name


@pytest.mark.parametrize("robust", [0.7, np.inf])
def test_normal_equations_are_sums_over_the_samples(freed, robust):
    """Squares up to a bound, straight lines with the same slope behind it; of some logs as of all."""
    p, x = freed
    errors, J = p.sensitivities(x)
    r, J = np.nan_to_num(errors[:, 0]), np.where(np.isfinite(errors), J[:, 0], 0.0)
    weight = np.minimum(1.0, robust / np.maximum(np.abs(r), 1e-9))
    assert 0.1 < np.mean(np.abs(r) > 0.7) < 0.9
    sums = [p.in_logs(one) for one in p.blocks(x, 0.0, robust)]
    for k, (a, b) in enumerate(itertools.pairwise(p.offsets)):
        j, e, w = J[a:b], r[a:b], weight[a:b]
        for given, expected in zip(
            sums, ((j.T * w) @ j, j.T @ (w * e), np.sum(e**2 * w * (1 - w / 2))), strict=True
        ):
            assert given[k] == pytest.approx(expected, rel=1e-6, abs=1e-9)
    some, kept = part_of(p, [1, 3, 4])
    parts, wholes = some.normal_of_logs(x[kept], 0.0, robust), p.normal_of_logs(x, 0.0, robust)
    for part, whole in zip(parts, wholes, strict=True):
        assert part == pytest.approx(whole[[1, 3, 4]], rel=1e-9)


@pytest.mark.parametrize("outliers", [False, True])
def test_what_all_joints_together_do_otherwise_is_an_error_of_the_numbers(at_start, monkeypatch, outliers):
    """Errors as a shift of the numbers makes, but for one sample in sixteen where one simulation stuck: that
    shift is the error."""
    p, asked = at_start.problem, []
    shift = np.zeros(len(at_start.x))
    for name, value in (("motor.torque_constant", 2e-3), ("drive.delay[elbow]", 2e-4)):
        shift[p.free.names.index(name)] = value
    errors, J = p.bounded_sensitivities(at_start.x)
    J, belief, *_ = follow_starts(p, J, np.ones_like(errors), np.zeros_like(errors))
    by_path = p.by_stretch(shift, at_start.x)[p.first_stretches]

    def together(robot: Any, acts: Any, log: Any, **how: Any) -> np.ndarray:
        asked.append((acts, how["delays"], how["ground"], how["restarts"]))
        q = how["motion"].recorded.copy()
        for k, one in enumerate(p.logs):
            if one.recording == log.name:
                slopes = p.sigma[0] * J[p.offsets[k] : p.offsets[k + 1], 0]
                there = p.predictions(at_start.x)[k] + slopes @ by_path[k]
                there[3::16] += 0.5 * outliers
                q[:, robot.place(one.joint)] = np.interp(how["motion"].time, one.log.time, there)
        return q

    monkeypatch.setattr(robot_result, "simulate_joints", together)
    (term,) = robot_result.coupling_terms(at_start)
    A = p.gather(p.normal_of_logs(at_start.x)[0], at_start.x) + p.free.precision
    move = shift - np.linalg.solve(A, (p.free.precision + p.gather(belief, at_start.x)) @ shift)
    root = np.linalg.cholesky(A).T
    expected = np.outer(root @ move, root @ move)
    assert root @ term.covariance @ root.T == pytest.approx(expected, abs=0.01 * np.max(expected))
    assert not term.if_right
    after = int(np.flatnonzero(at_start.plant.recordings[0].touched)[-1]) + 1
    assert asked == [(at_start.actuators, at_start.delays, None, again) for again in ([after], [])]
