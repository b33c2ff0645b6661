"""Attached motors in other processes and on threads: MuJoCo's callbacks belong to a process."""

from __future__ import annotations

import multiprocessing
import pickle
import threading

import mujoco
import numpy as np

import backemf as be

from .arms import pendulum
from .test_attach import CASES, LENGTH, MASS


def swung(model: mujoco.MjModel, n: int = 200) -> np.ndarray:
    data = mujoco.MjData(model)
    data.ctrl[0] = 0.4
    positions = np.empty(n)
    for k in range(n):
        mujoco.mj_step(model, data)
        positions[k] = data.qpos[0]
    return positions


def attached() -> be.Motors:
    return be.attach(pendulum(MASS, LENGTH), {"hinge": CASES["lugre"]})


def in_another(stored: bytes, answers) -> None:
    """What a worker does with a model that it was sent: before and after it attaches something itself."""
    model = pickle.loads(stored)
    before = swung(model)
    be.attach(pendulum(MASS, LENGTH), {"hinge": CASES["coulomb"]})
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    lost = float(data.qfrc_actuator[0])
    own = swung(attached().model)
    answers.put((before, lost, own, swung(model)))


def test_another_process_attaches_for_itself():
    """A model that was sent there holds still until the process attaches something, gives NaN where that is
    another structure, and with its own moves to the bit as here."""
    motors = attached()
    here = swung(motors.model)
    spawned = multiprocessing.get_context("spawn")
    answers = spawned.SimpleQueue()
    worker = spawned.Process(target=in_another, args=(pickle.dumps(motors.model), answers))
    worker.start()
    before, lost, own, after = answers.get()
    worker.join(60)
    assert worker.exitcode == 0
    assert not before.any()
    assert np.isnan(lost)
    assert here[-1] > 0.1
    assert np.array_equal(own, here)
    assert np.array_equal(after, here)


def test_threads_step_side_by_side():
    """Each thread with its own data, on one model and on models attached meanwhile: to the bit alone's."""
    motors, tracks = attached(), {}
    alone = swung(motors.model)

    def work(k: int) -> None:
        tracks[k] = swung(motors.model if k % 2 else attached().model)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tracks) == 6
    for track in tracks.values():
        assert np.array_equal(track, alone)
