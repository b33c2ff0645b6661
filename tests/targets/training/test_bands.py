"""What environments draw of a fit's bands, in the hosts themselves: the same whole draws, and a slow error of
the stated size that is forgotten in the stated time, seen in the torque that it causes."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.results.spread import Spread
from backemf.targets.export import export
from backemf.targets.training.jax import load_file

from ...conftest import unavailable
from .hosts import module_of
from .test_torch import torch

H, SIZE, SLOW = 2e-3, 0.02, 0.15
LINEAR = be.Actuator(
    motor=be.motor.Motor(resistance=4.0, torque_constant=0.9, rotor_inertia=3e-3),
    friction=be.friction.Coulomb(coulomb=0.0, viscous=0.02),
    drive=be.drive.Position(volts_per_radian=40.0, volt_seconds_per_radian=0.2, supply=1e3),
)
"""Its torque on a joint held at 0 is as large as the error of the target, times one number."""
DRAWS = {
    "motor.resistance": tuple(np.linspace(3.0, 5.0, 24)),
    "friction.viscous": tuple(np.linspace(0.03, 0.01, 24)),
}
SPREAD = Spread(draws=DRAWS, slow=(SIZE, SLOW))
N, STEPS = 2000, 200


def file_of(to: str, folder, spread: Spread = SPREAD, joint: str = "knee") -> Any:
    text = export(LINEAR, to, joint=joint, spread=spread, draws="bands", replay=False).text
    return module_of(text, f"{joint}_{to}_{len(spread.draws)}", folder)


def torques_of_torch(module, n: int, steps: int, seed: int, joints: int = 1) -> np.ndarray:
    one = module.Actuator(n, joints, inertia=0.004, dtype=torch.float64, seed=seed)
    zero = torch.zeros(n, joints, dtype=torch.float64)
    return np.stack([one.compute(0.0, zero, zero, H, load=0.0).numpy() for _ in range(steps)])


def torques_of_warp(module, n: int, steps: int, seed: int, joints: int = 1) -> np.ndarray:
    wp: Any = importlib.import_module("warp")
    settings = {"timestep": H, "inertia": 0.004, "device": "cpu", "dtype": wp.float64, "seed": seed}
    one = module.Actuator(n, joints, **settings)
    zero = one.array(0.0)
    return np.stack([one.compute(zero, zero, zero, load=zero).numpy().copy() for _ in range(steps)])


def numbers_in_jax(space: dict, word: int, joint: int) -> dict:
    """As another host's environment draws them: JAX has keys, which give the bits instead of a seed."""
    import jax.numpy as jnp

    at = int(space["member"](jnp.uint32(word)))
    waves = space["waves"](
        space["mixed"](space["mixed"](jnp.uint32(word), jnp.uint32(space["JOINT_WORD"])), jnp.uint32(joint)),
        jnp.tan,
    )
    rates, phases = (jnp.stack(each) for each in zip(*waves, strict=True))
    p = space["params"]() | {path: jnp.asarray(rows[at]) for path, rows in space["BANDS"].items()}
    size = jnp.asarray(SIZE * (2.0 / space["WAVES"]) ** 0.5)
    return p | {"slow.rates": rates, "slow.phases": phases, "slow.size": size}


def torques_of_jax(space: dict, p: dict, steps: int) -> np.ndarray:
    import jax

    memory = jax.vmap(lambda p: space["init"](p, H))(p)
    one = jax.vmap(lambda p, m: space["step"](p, m, 0.0, 0.0, 0.0, H, inertia=0.004, load=0.0))
    _, found = jax.lax.scan(lambda m, _: one(p, m), memory, None, steps)
    return np.asarray(found)


@pytest.fixture(autouse=True)
def _quiet():
    import jax

    if importlib.util.find_spec("warp") is None:
        unavailable("warp-lang")
    warp: Any = importlib.import_module("warp")
    warp.config.log_level = warp.LOG_ERROR
    with jax.enable_x64(True):
        yield


def test_torch_warp_and_jax_draw_the_same(tmp_path):
    """Members, slow errors, two joints: the torques of the first 40 steps, to rounding."""
    ours = file_of("torch", tmp_path)
    expected = torques_of_torch(ours, 6, 40, 5, joints=2)
    np.testing.assert_allclose(torques_of_warp(file_of("warp", tmp_path), 6, 40, 5, 2), expected, rtol=1e-9)
    space = load_file(export(LINEAR, "jax", joint="knee", spread=SPREAD, draws="bands", replay=False).files)
    words = [ours.environment_word(5, e, 1) for e in range(6)]
    each = [numbers_in_jax(space, word, joint) for word in words for joint in range(2)]
    found = torques_of_jax(space, {path: np.stack([p[path] for p in each]) for path in each[0]}, 40)
    np.testing.assert_allclose(found.reshape(40, 6, 2), expected, rtol=1e-9)
    other = torques_of_torch(file_of("torch", tmp_path, joint="elbow"), 6, 40, 5, joints=2)
    assert not np.isclose(other, expected, rtol=0.05).all(axis=0).any()


@pytest.mark.parametrize("host", ["torch", "warp", "jax"])
def test_the_slow_error_has_its_size_and_is_forgotten_in_its_time(host, tmp_path):
    """Of 2000 environments: their standard deviation is told to 2 %, a correlation to 0.02."""
    slow = Spread(draws={"motor.resistance": (4.0, 4.0)}, slow=(SIZE, SLOW))
    if host == "jax":
        import jax

        made = export(LINEAR, "jax", joint="knee", spread=slow, draws="bands", replay=False)
        space = load_file(made.files)
        keys = jax.random.split(jax.random.key(1), N)
        drawn = jax.vmap(space["draw"])(keys)
        found = torques_of_jax(space, drawn, STEPS)
    else:
        torques = {"torch": torques_of_torch, "warp": torques_of_warp}[host]
        found = torques(file_of(host, tmp_path, slow), N, STEPS, 1)[:, :, 0]
    plain = Spread(draws={"motor.resistance": (4.0, 4.0)})
    one = file_of("torch", tmp_path, plain).Actuator(1, 1, inertia=0.004, dtype=torch.float64)
    zero = torch.zeros(1, 1, dtype=torch.float64)
    errors = found / float(one.compute(1.0, zero, zero, H, load=0.0))  # torque of a radian
    assert errors.std(axis=1) == pytest.approx(np.full(STEPS, SIZE), rel=0.06)
    assert abs(errors.mean()) < 0.03 * SIZE
    for late in (15, 75, 150):  # 0.2, 1 and 2 of its time
        r = np.mean(errors[:-late] * errors[late:]) / np.mean(errors**2)
        assert r == pytest.approx(np.exp(-late * H / SLOW), abs=0.03)
    kurtosis = np.mean(errors**4) / np.mean(errors**2) ** 2
    assert kurtosis == pytest.approx(3.0 - 1.5 / 8, abs=0.1)  # eight cosines: nearly normal


def test_files_of_one_robot_draw_the_same_member_in_an_environment(tmp_path):
    """Shared motors stay linked across the files of its joints; other environments have other members."""
    one, two = (file_of("torch", tmp_path, joint=joint).Actuator(500, 1, inertia=0.004, seed=7)
                for joint in ("shoulder", "elbow"))  # fmt: skip
    assert torch.equal(one.parameters["motor.resistance"], two.parameters["motor.resistance"])
    assert not torch.equal(one.rates, two.rates)
    R, d = (one.parameters[path][:, 0].numpy() for path in DRAWS)
    np.testing.assert_allclose(d, 0.03 - 0.01 * (R - 3.0), rtol=1e-6)  # whole rows
    assert len(np.unique(R)) == 24
    before = one.parameters["motor.resistance"].clone()
    one.resample([3, 4])
    moved = torch.nonzero((one.parameters["motor.resistance"] != before)[:, 0])[:, 0].tolist()
    assert moved
    assert set(moved) <= {3, 4}


def test_a_step_that_is_asked_again_is_the_same(tmp_path):
    one = file_of("torch", tmp_path).Actuator(4, 1, inertia=0.004, dtype=torch.float64)
    zero = torch.zeros(4, 1, dtype=torch.float64)
    one.compute(0.0, zero, zero, H, load=0.0)
    saved = one.save()
    first = one.compute(0.0, zero, zero, H, load=0.0)
    one.restore(saved)
    assert torch.equal(one.compute(0.0, zero, zero, H, load=0.0), first)


@pytest.mark.slow
def test_joints_in_mjx_have_their_own_rows_of_one_draw(tmp_path):
    """Both joints' motor in one draw is the same member; frictions are each joint's own."""
    if importlib.util.find_spec("mujoco.mjx") is None:
        unavailable("mujoco-mjx")
    import jax
    import mujoco

    arm = """<mujoco><worldbody><body><joint name="a" axis="0 1 0"/><geom size=".05" mass="1"/>
    <body pos=".2 0 0"><joint name="b" axis="0 1 0"/><geom size=".05" mass="1"/></body></body></worldbody>
    <actuator><position joint="a"/><position joint="b"/></actuator></mujoco>"""
    (tmp_path / "arm.xml").write_text(arm)
    frictions = {"a": np.linspace(0.03, 0.01, 24), "b": np.linspace(0.3, 0.1, 24)}
    each = {
        joint: Spread(draws={**DRAWS, "friction.viscous": tuple(rows)}, slow=(SIZE, SLOW))
        for joint, rows in frictions.items()
    }
    whole = Spread(draws=each["a"].draws, slow=(SIZE, SLOW), joints=each)
    parts = {"a": LINEAR, "b": LINEAR.replace(**{"friction.viscous": 0.2})}
    how = {"spread": whole, "draws": "bands", "replay": False}
    edited: Any = be.export(parts, "jax@mjx", into=tmp_path / "arm.xml", **how)
    space = load_file(edited.beside, whole=True)
    for path, content in edited.files.items():
        (tmp_path / path.name).write_bytes(content)
    robot = space["Robot"](mujoco.MjModel.from_xml_path(str(tmp_path / "arm.xml")))
    drawn = [robot.params(jax.random.key(k)) for k in range(3)]
    R, d = (np.array([one[path] for one in drawn]) for path in DRAWS)
    np.testing.assert_array_equal(R[:, 0], R[:, 1])
    np.testing.assert_allclose(d[:, 1], 10 * d[:, 0], rtol=1e-6)
    np.testing.assert_allclose(d[:, 0], 0.03 - 0.01 * (R[:, 0] - 3.0), rtol=1e-6)
    assert all(not np.isclose(*one["slow.phases"]).any() for one in drawn)


@pytest.mark.parametrize("to", ["torch", "warp", "jax"])
def test_a_file_that_draws_is_checked_with_its_own_numbers(to):
    """What is drawn is no error of the file: its header says the same as without."""
    drawing, plain = (export(LINEAR, to, spread=SPREAD, draws=draws) for draws in ("bands", None))
    assert drawing.ran == plain.ran
    assert {f.code for f in drawing.findings} == {f.code for f in plain.findings}


def test_hosts_of_warp_draw_what_was_asked_for_and_a_misspelt_word_is_refused():
    for version in ("newton", "mujoco-warp"):
        text = export(LINEAR, f"warp@{version}", spread=SPREAD, draws="bands", replay=False).text
        assert "randomise=()" not in text
        assert 'randomise=("bands",)' in text
    with pytest.raises(be.BackemfError, match="unknown draws 'band'; did you mean 'bands'"):
        export(LINEAR, "torch", spread=SPREAD, draws="band")
