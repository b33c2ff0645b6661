"""A delay that is longer than a host remembers commands is refused by every host, with one sentence."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest

import backemf as be
from backemf.engine.hosted_system import LONG_DELAY, check_delay, longest_delay
from backemf.errors import InvalidValue
from backemf.targets.code import c_language as cc
from backemf.targets.export import export
from backemf.targets.training import warp

from ..simulator.live.arms import arm
from .code.plugged import plugged
from .code.variants import LATE

H, SHORT = 2e-3, 1e-5
"""Steps of the export, and steps in which its delay takes far more commands."""
SENTENCE = re.compile(
    re.escape(LONG_DELAY).replace("%g", r"([\d.e+-]+)").replace("%d", r"(\d+)").replace("%s", r"(\w[\w .-]+)")
)


def text(target: str) -> Any:
    return export(LATE, target, joint="knee", timestep=H, replay=False).files


def in_c() -> None:
    made = export(LATE, "c", joint="knee", timestep=H, replay=False)
    files = {
        name: str(text).replace(" 0.0093, /* drive.delay", " 1.0, /* drive.delay")
        for name, text in made.files.items()
    }
    assert files != made.files
    be.replay(dataclasses.replace(made, files=files), refine=False)


def in_fmu(version: str) -> None:
    pytest.importorskip("fmpy")
    from backemf.targets.code.fmu import open_fmu
    from backemf.targets.result import unpack_files

    with (
        cc.laid_out(unpack_files(next(iter(text(f"fmu@{version}").values())))) as folder,
        open_fmu(folder, "k") as one,
    ):
        try:
            one.begin({"inertia": 0.01, "step": H})
            one.step(0.0, 1e-6)
        except Exception:  # FMPy says no more than that it failed; the FMU itself has said why
            raise InvalidValue(one.said[-1]) from None


def in_torch() -> None:
    pytest.importorskip("torch")
    space: dict[str, Any] = {"__name__": "exported"}
    exec(next(iter(text("torch").values())), space)
    knee = space["Actuator"](1, 1, inertia=0.01)
    knee.compute(0.1, 0.0, 0.0, H)
    knee.compute(0.1, 0.0, 0.0, SHORT)


def in_warp() -> None:
    pytest.importorskip("warp")
    with warp.load_module(text("warp")) as module:
        knee = module.Actuator(1, 1, timestep=H, inertia=0.01, device="cpu")
        knee.parameters["drive.delay"] = np.array(1.0)
        knee.prepare()


def in_mujoco(model: mujoco.MjModel, when: str) -> None:
    data = mujoco.MjData(model) if when == "running" else None
    model.opt.timestep = SHORT
    mujoco.mj_step(model, mujoco.MjData(model) if data is None else data)


def attached() -> mujoco.MjModel:
    return be.attach(arm(), {".*": LATE}).model


def plugin() -> mujoco.MjModel:
    return plugged(arm(), dict.fromkeys(("a", "b", "c"), LATE))


HOSTS: dict[str, Callable[[], None]] = {
    "c": in_c,
    "fmu 2.0": lambda: in_fmu("2.0"),
    "fmu 3.0": lambda: in_fmu("3.0"),
    "torch": in_torch,
    "warp": in_warp,
    "attach": lambda: in_mujoco(attached(), "running"),
    "plugin, before": lambda: in_mujoco(plugin(), "before"),
    "plugin, running": lambda: in_mujoco(plugin(), "running"),
}


@pytest.mark.parametrize("host", HOSTS)
def test_every_host_refuses_with_one_sentence(host):
    with pytest.raises((InvalidValue, ValueError, mujoco.FatalError)) as refused:
        HOSTS[host]()
    said = SENTENCE.search(" ".join(str(refused.value).split()))
    assert said is not None, refused.value
    delay, line, h, longest = (float(x) for x in said.groups()[:4])
    assert delay > longest
    assert longest == pytest.approx(line * h, rel=1.0 / line + 0.2)


def test_the_longest_delay_is_taken_and_a_longer_one_is_not():
    assert longest_delay(11, 1e-3) == pytest.approx(0.01)
    check_delay(0.01, 11, 1e-3, "a longer line")
    with pytest.raises(InvalidValue, match=r"11 commands in steps of 0\.001 s holds 0\.01 s at most"):
        check_delay(0.0101, 11, 1e-3, "a longer line")
    with pytest.raises(InvalidValue, match=r"holds 0\.0095 s at most"):
        check_delay(0.01, 11, 1e-3, "a longer line", lead=0.5)


def test_a_longer_line_of_torch_changes_nothing():
    """Room for draws is room for nothing else: the command arrives as before."""
    pytest.importorskip("torch")
    space: dict[str, Any] = {"__name__": "exported"}
    exec(next(iter(text("torch").values())), space)
    efforts = []
    for more in (0, 7):
        space["slots"] = lambda dt, more=more: more
        knee = space["Actuator"](1, 1, inertia=0.01)
        efforts.append([float(knee.compute(0.1 * (k % 3), 0.0, 0.0, H)) for k in range(20)])
        assert len(knee.line) == max(more, 6)
    assert efforts[0] == efforts[1]
