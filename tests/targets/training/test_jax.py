"""The training file for JAX: it stands alone, moves as the engine does, begins and resets inside jit, has
derivatives in every number, draws what it says, and drives the motors of a model in MJX."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import backemf as be
from backemf.engine.compile.dialects.jax_dialect import JAX, JaxLines
from backemf.engine.compile.ir import Graph, Level, Tangents, evaluate
from backemf.engine.compile.trace import PRIMITIVES, trace
from backemf.engine.hosted_system import hosted_system
from backemf.engine.stepper import stepper
from backemf.engine.system import ActuatorSystem
from backemf.errors import BackemfError, BackemfWarning, InvalidValue
from backemf.mujoco.models import mjx_findings
from backemf.results.spread import Spread
from backemf.targets.export import export
from backemf.targets.mujoco.edited_model import EditedModel
from backemf.targets.training.jax import load_file

from ...conftest import unavailable
from ...engine.compile.test_primitives import ALL, NEWER, POINTS, A
from ...engine.compile.test_torch import CASES, RARE, actuator

H = 2e-3
LATE = be.Actuator.read("mx-106/m6").replace(**{"drive.delay": 0.0055, "drive.slew": 6.0})
ARM = """<mujoco><option timestep="0.002"/><worldbody><body pos="0 0 1">
<joint name="knee" axis="0 1 0" range="-120 120"/>
<geom type="capsule" fromto="0 0 0 .2 0 0" size=".02" mass=".3"/></body></worldbody>
<actuator><position joint="knee" kp="20" ctrlrange="-1 1"/></actuator></mujoco>"""

PENDULUM = """<mujoco><option timestep="0.0005"/><worldbody><body><joint name="knee" axis="0 1 0"/>
<inertial pos="0 0 -0.1" mass="0.4" diaginertia="1e-9 1e-9 1e-9"/></body></worldbody>
<actuator><position joint="knee" kp="5"/></actuator></mujoco>"""
TWO = ARM.replace(
    "</body></worldbody>",
    '<body pos=".2 0 0"><joint name="toe" axis="0 1 0"/><geom size=".01"/></body></body></worldbody>',
).replace("</actuator>", '<position joint="toe" kp="2"/></actuator>')


@pytest.fixture(autouse=True)
def _in_64_bits():
    with jax.enable_x64(True):
        yield


def made(part: be.Actuator = LATE, to: str = "jax", **settings):
    return load_file(export(part, to, joint="knee", replay=False, **settings).files)


def test_the_file_imports_only_jax_and_holds_every_number():
    text = export(LATE, "jax", joint="knee", notes="measured on a bench", replay=False).text
    imported = [n for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.Import, ast.ImportFrom))]
    assert [[a.name for a in n.names] for n in imported] == [["jax"], ["numpy"]]
    assert made()["PARAMETERS"] == LATE.parameters
    assert "From: measured on a bench" in text


def test_every_row_and_corner_is_as_jax_has_it():
    """One program of all rows: a word that differs shows in its own column."""
    assert JAX.primitives.keys() == PRIMITIVES
    for name in (name for name in ALL if name not in NEWER):
        graph = Graph()
        leaves = [graph.leaf("s0", Level.STATE), graph.leaf("p0", Level.PARAMETER)]
        (node,) = evaluate(trace(lambda x, a, name=name: [ALL[name](x, a)], 2), leaves, Tangents(graph))
        lines = JaxLines([node], ())
        body = "\n    ".join([*lines.lines, f"return 1.0 * {lines.name(node)}"])
        space: dict = {"jax": jax, "jnp": jnp}
        exec(f"def written(s0, p0):\n    {body}", space)

        def both(x, name=name, space=space):
            return 1.0 * ALL[name](x, A), space["written"](x, A)

        expected, found = jax.jit(jax.vmap(both))(jnp.asarray(POINTS))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("name", [*CASES, *RARE])
def test_joints_of_its_own_move_as_the_engines_do(name):
    part, n, rng = actuator(name), 12, np.random.default_rng(0)
    system, file = hosted_system(part), made(part)
    engine = stepper(ActuatorSystem(actuator=part, bench=system.bench, inputs=system.inputs), n)
    size, inertia, load, first = (
        rng.uniform(low, high, n) for low, high in ((0.1, 1), (0.002, 0.02), (0, 0.3), (-1, 1))
    )
    state, p = engine.start(position=first), file["params"]()
    memory = jax.tree.map(lambda x: jnp.tile(x, (n,) + (1,) * x.ndim), file["init"](p, H))
    targets = system.inputs[2:]

    def move(memory, q, v, J, T, asked):
        named = dict(zip(targets[1:], asked[1:], strict=True))
        return file["move"](p, memory, *asked[:1], q, v, H, inertia=J, load=T, **named)

    every, q, v = jax.jit(jax.vmap(move)), jnp.asarray(first), jnp.zeros(n)
    for k in range(120):
        asked = [
            size * np.sin(3 * k * H + i) * (0.1 if t == "torque_target" else 1.0)
            for i, t in enumerate(targets)
        ]
        if k == 0:  # the engine's start knows nothing of targets
            asked = [np.zeros(n) for _ in targets]
            state = engine.start(position=first)
        u = np.stack([inertia, load, *asked], axis=1)
        state = engine(state, u, H)
        memory, q, v = every(memory, q, v, jnp.asarray(inertia), jnp.asarray(load), jnp.asarray(asked).T)
        np.testing.assert_allclose(
            q, state[:, system.states.index("position")], atol=1e-11, err_msg=f"step {k}"
        )


def test_zeros_anywhere_are_a_new_start():
    file = made()
    p, start = file["params"](), file["init"](file["params"](), H)
    assert not any(np.any(x) for x in jax.tree.leaves(start))
    step = jax.jit(lambda memory, u, q: file["step"](p, memory, u, q, 0.0, H, inertia=0.01))
    memory, torque = step(start, 0.7, 0.2)
    for _ in range(5):
        memory, _ = step(memory, 0.9, 0.25)
    again = jax.jit(file["reset"])(memory, True)
    assert float(step(again, 0.7, 0.2)[1]) == float(torque)
    kept = file["reset"](memory, False)
    assert all(np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (kept, memory)), strict=True))


def rollout(file, p, n=200):
    """A pendulum in place of a simulator: the sum of squares of its positions."""
    armature = file["armature"](p)

    def step(carry, k):
        memory, q, v = carry
        asked = jnp.where(k > 20, 0.5, 0.0) * jnp.sin(0.05 * k)
        memory, torque = file["step"](p, memory, asked, q, v, H, inertia=0.02)
        v = v + H * (torque - jnp.sin(q)) / (0.02 + armature)
        return (memory, q + H * v, v), q

    start = (file["init"](file["params"](), H), jnp.asarray(0.3), jnp.asarray(0.0))
    return jnp.sum(jax.lax.scan(step, start, jnp.arange(n))[1] ** 2)


def test_derivatives_in_every_number_are_those_of_differences():
    file = made()
    p = file["params"]()
    value, slopes = jax.jit(lambda p: rollout(file, p)), jax.jit(jax.grad(lambda p: rollout(file, p)))(p)
    told = 0
    for path, x in p.items():
        step = 1e-6 * max(abs(float(x)), 0.1)
        apart = float(value({**p, path: x + step}) - value({**p, path: x - step})) / (2 * step)
        assert float(slopes[path]) == pytest.approx(apart, rel=2e-6, abs=1e-6), path
        told += abs(apart) > 1e-3
    assert told >= 16
    assert abs(float(slopes["drive.delay"])) > 1
    assert abs(float(slopes["drive.slew"])) > 0.01


def test_draws_have_the_fits_errors_and_stay_in_range():
    errors = {"motor.resistance": 0.2, "friction.viscous": 0.01}
    spread = Spread(errors=errors, correlation=[[1.0, 0.6], [0.6, 1.0]], held_out=0.004)
    file = made(spread=spread)
    keys = jax.random.split(jax.random.key(3), 4000)
    drawn = jax.vmap(lambda key: file["draw"](key, randomise=("parameter_error",)))(keys)
    R, B = np.asarray(drawn["motor.resistance"]), np.asarray(drawn["friction.viscous"])
    assert R.std() == pytest.approx(0.2, rel=0.05)
    assert np.corrcoef(R, B)[0, 1] == pytest.approx(0.6, abs=0.05)
    assert np.ptp(drawn["motor.torque_constant"]) == 0
    offset = jax.vmap(lambda key: file["draw"](key, randomise=("held_out",))["offset"])(keys)
    assert np.std(offset) == pytest.approx(0.004 * np.sqrt(np.pi / 2), rel=0.05)
    with pytest.raises(ValueError, match="unknown randomisation 'all'"):
        file["draw"](keys[0], randomise=("all",))
    with pytest.raises(ValueError, match="holds no numbers for 'held_out'"):
        made()["draw"](keys[0], randomise=("held_out",))


def test_a_delay_longer_than_the_line_is_said():
    file = made()
    longer = {**file["params"](), "drive.delay": jnp.asarray(0.5)}
    with pytest.raises(ValueError, match=r"drive\.delay is 0\.5 s, and a line of 4 commands"):
        file["init"](longer, H)
    memory = file["init"](file["params"](), H)
    _, torque = jax.jit(lambda p: file["step"](p, memory, 0.1, 0.0, 0.0, H, inertia=0.01))(longer)
    assert np.isnan(torque), "inside jit nothing can be raised, and nothing is cut in silence"


@pytest.fixture
def in_mjx(tmp_path):
    if importlib.util.find_spec("mujoco.mjx") is None:
        unavailable("mujoco-mjx")
    (tmp_path / "arm.xml").write_text(ARM)
    return tmp_path / "arm.xml"


def test_a_model_in_mjx_moves_as_in_mujoco(in_mjx, tmp_path):
    """The very files: the model's motors, driven by the file beside it, in MJX and in C."""
    import mujoco
    from mujoco import mjx

    edited = be.export({".*": LATE}, "jax@playground", into=in_mjx)
    place, beside = edited.write(tmp_path / "new.xml")
    space: dict = {}
    exec(beside.read_text(), space)
    model = mujoco.MjModel.from_xml_path(str(place))
    robot = space["Robot"](model)
    p = robot.params()
    step = jax.jit(lambda data, u: robot.step(p, robot.prepare(mjx.put_model(model), p), data, u, 20))
    data, one = mjx.make_data(model), mujoco.MjData(model)
    assert space["RANGE"] == {"knee": (-1.0, 1.0)}
    memory = jax.vmap(lambda p: space["init"](p, robot.dt))(p)
    host = jax.jit(jax.vmap(lambda p, s, u, q, v, J: space["step"](p, s, u, q, v, robot.dt, inertia=J)))
    for asked in (0.6, -0.4, 3.0):
        data = step(data, jnp.asarray([asked]))
        for _ in range(20):
            u = np.clip([asked], -1.0, 1.0)
            memory, torque = host(p, memory, u, one.qpos, one.qvel, robot.inertia)
            one.ctrl[:] = torque
            mujoco.mj_step(model, one)
        np.testing.assert_allclose(data.qpos, one.qpos, atol=1e-12)
    assert abs(one.qpos[0]) > 0.05
    small = mujoco.MjModel.from_xml_string(place.read_text().replace("nuserdata", "nuser_body"))
    with pytest.raises(ValueError, match='nuserdata="0"; expected'):
        space["Robot"](small)


@pytest.mark.proof
def test_a_loss_over_a_robots_rollout_has_derivatives_in_every_number(in_mjx):
    t = np.arange(60) * 4e-3
    run = be.Rollout(in_mjx, {".*": LATE})
    asked = 0.4 * np.sin(9 * t)[:, None]
    value = jax.jit(lambda p: jnp.mean(run(asked, p, n_substeps=2) ** 2))
    slopes = jax.jit(jax.grad(value))(run.params)
    for path in ("motor.resistance", "drive.delay", "friction.load_motor", "motor.rotor_inertia"):
        x = run.params[path]
        step = 1e-6 * float(x[0])
        apart = float(value({**run.params, path: x + step}) - value({**run.params, path: x - step})) / (
            2 * step
        )
        assert float(slopes[path][0]) == pytest.approx(apart, rel=1e-5), path
    with pytest.raises(InvalidValue, match=r"expected \(n, 1\), a column for each of knee"):
        run(np.zeros((5, 2)))


def driven(edited, place):
    """The classes of the files beside an exported model, and the model."""
    import mujoco

    files, space = edited.write(place), []
    for file in files[1:]:
        space.append({})
        exec(file.read_text(), space[-1])
    return mujoco.MjModel.from_xml_path(str(files[0])), space


def alone(part, q, v, asked, inertia, n):
    """Torques of a joint that is held, by the plain file of its own actuator."""
    file, torques = made(part), []
    p = file["params"]()
    memory = file["init"](p, H)
    for _ in range(n):
        memory, torque = file["step"](p, memory, asked, q, v, H, inertia=inertia)
        torques.append(float(torque))
    return torques


def test_joints_of_which_one_alone_has_a_delay_share_a_file(in_mjx, tmp_path):
    """As a robot's fit has them: where a joint's commands count before their time stamp it has no delay."""
    from mujoco import mjx

    (tmp_path / "two.xml").write_text(TWO)
    now = LATE.replace(**{"motor.resistance": 4.0})
    now = dataclasses.replace(now, drive=dataclasses.replace(now.drive, delay=None))
    edited = be.export({"knee": now, "toe": LATE}, "jax@mjx", into=tmp_path / "two.xml")
    model, (space,) = driven(edited, tmp_path / "new.xml")
    robot = space["Robot"](model)
    p, data = robot.params(), mjx.make_data(model)
    assert p["drive.delay"].tolist() == [0.0, 0.0055]
    torques = []
    for asked in (0.1, 0.1, 0.5, 0.5, 0.5, 0.5, 0.5):
        data = robot.drive(p, data, jnp.asarray([asked, asked]))
        torques.append(np.asarray(data.ctrl))
    for k, part in enumerate((now, LATE)):
        file = made(part)
        own, memory, inertia = file["params"](), file["init"](file["params"](), H), robot.inertia[k]
        for torque, asked in zip(torques, (0.1, 0.1, 0.5, 0.5, 0.5, 0.5, 0.5), strict=True):
            memory, expected = file["step"](own, memory, asked, 0.0, 0.0, H, inertia=inertia)
            assert torque[k] == pytest.approx(float(expected), rel=1e-12)  # float64, one step

    def late(x):
        memory = jax.vmap(lambda p: space["init"](p, H))(p)
        return space["arrive"](
            {**space["params"](), "drive.delay": x}, memory["line"][0], [jnp.asarray(1.0)], H
        )

    slope = jax.grad(lambda x: late(x)[1][0])(0.0)  # of a command that was 0 before
    assert float(slope) == pytest.approx(-1.0 / H), "a delay of 0 has the slope of a small one"


def test_files_exported_one_after_the_other_share_a_model(in_mjx, tmp_path):
    from mujoco import mjx

    (tmp_path / "two.xml").write_text(TWO.replace("<option", '<size nuserdata="3"/><option', 1))
    other = be.Actuator.read("mx-106/m1")
    with pytest.raises(InvalidValue, match=r"each into the model of the one before, and call `drive` of"):
        be.export({"knee": LATE, "toe": other}, "jax@mjx", into=tmp_path / "two.xml")
    one = be.export({"knee": LATE}, "jax@mjx", into=tmp_path / "two.xml")
    _, (knee,) = driven(one, tmp_path / "one.xml")
    both = be.export({"toe": other}, "jax@mjx", into=tmp_path / "one.xml")
    model, (toe,) = driven(both, tmp_path / "both.xml")
    assert (tmp_path / "both.xml").read_text().count("nuserdata") == 1
    robots = [space["Robot"](model) for space in (knee, toe)]
    assert [space["FIRST"] for space in (knee, toe)] == [3, 3 + robots[0].size]
    assert model.nuserdata == 3 + sum(robot.size for robot in robots)
    data = mjx.make_data(model)
    data = data.replace(userdata=data.userdata.at[:3].set(7.0))
    for _ in range(6):
        for robot in robots:
            data = robot.drive(robot.params(), data, jnp.asarray([0.4]))
    assert data.userdata[:3].tolist() == [7.0, 7.0, 7.0], "the user's own"
    for k, (robot, part) in enumerate(zip(robots, (LATE, other), strict=True)):
        torque = alone(part, 0.0, 0.0, 0.4, robot.inertia[0], 6)[-1]
        assert float(data.ctrl[k]) == pytest.approx(torque, rel=1e-12)


def test_elliptic_cones_become_pyramidal_and_it_is_said(in_mjx, tmp_path):
    """MJX does not run them where contacts are disabled, and has no derivatives where they are possible."""
    option = '<option timestep="0.002" cone="elliptic"><flag contact="disable"/></option>'
    in_mjx.write_text(ARM.replace('<option timestep="0.002"/>', option))
    edited = be.export({".*": LATE}, "jax@mjx", into=in_mjx)
    assert isinstance(edited, EditedModel)
    assert "option: cone elliptic became pyramidal" in edited.changes
    assert "mjx_cone" in [f.code for f in edited.findings]
    assert np.all(np.isfinite(be.rollout(in_mjx, {".*": LATE}, np.full((2, 1), 0.1))))


@pytest.mark.proof
def test_three_numbers_of_a_real_arm_by_gradient_are_those_of_a_fit(in_mjx, shared_data, monkeypatch):
    """The example of the page, as it stands there, on the recording that it names."""
    docs = Path(__file__).resolve().parents[3] / "docs" / "targets" / "jax.md"
    text = docs.read_text(encoding="utf-8").partition("### Three numbers of a real arm")[2]
    code = (
        text.partition("```py\n")[2]
        .partition("```")[0]
        .replace('jax.config.update("jax_enable_x64", True)', "")
    )
    (in_mjx.parent / "so101").symlink_to(shared_data / "so101")
    monkeypatch.chdir(in_mjx.parent)
    page: dict[str, Any] = {}
    exec(code, page)
    off, found, fit, servo = (page[name] for name in ("off", "found", "fit", "servo"))
    first, least = (5.0 * float(off(x)[0]) ** 0.5 for x in (np.zeros(3), found.x))
    assert first > 4.5 > 3.0 > least  # mrad RMS; a count of the servo is 1.5
    for k, path in enumerate(page["paths"]):
        value, its = servo.parameters[path] * np.exp(found.x[k]), fit.parameters[path]
        assert its.low < value < its.high, path
        assert value == pytest.approx(its.value, rel=0.06), path  # MJX's step of 2 ms is of first order
        step = 1e-5 * np.eye(3)[k]
        apart = (float(off(step)[0]) - float(off(-step)[0])) / 2e-5
        assert float(off(np.zeros(3))[1][k]) == pytest.approx(apart, rel=1e-4), path


@pytest.mark.proof
def test_three_numbers_found_by_gradient_through_mjx_are_those_of_a_fit(in_mjx):
    """A pendulum recorded with 2 mrad of noise; half a millisecond, for MJX's own step is of first order."""
    from scipy.optimize import minimize

    in_mjx.write_text(PENDULUM)
    truth = be.Actuator(
        motor=be.motor.Motor(resistance=4.0, torque_constant=0.9, rotor_inertia=3e-3),
        friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02),
        drive=be.drive.Servo(firmware_gain=0.16, proportional=16, supply=7.4),
    )
    paths, bench = (
        ["friction.coulomb", "friction.viscous", "motor.rotor_inertia"],
        be.bench.Pendulum(mass=0.4, length=0.1),
    )
    sweep = be.signal.chirp(0.8, 0.5, 3.0, duration=2.0)
    made = be.simulate(truth, bench, {"position_target": sweep}, duration=2.0, dt=0.01)
    seen = made.position + 2e-3 * np.random.default_rng(0).standard_normal(len(made))
    log = be.log("sweep", made.time, position=seen, position_target=made["position_target"], bench=bench)
    start = truth.replace(**{path: 1.3 * truth.parameters[path] for path in paths})
    fit = be.fit(start, [log], free_paths=paths, n_starts=1, inspect=False)
    run, asked = be.Rollout(in_mjx, start), jnp.asarray(made["position_target"])[:, None]

    @jax.jit
    @jax.value_and_grad
    def off(x):
        p = {**run.params, **{path: run.params[path] * jnp.exp(x[k]) for k, path in enumerate(paths)}}
        return jnp.mean((run(asked, p, start=seen[:1], n_substeps=20)[:, 0] - seen) ** 2) / 2e-3**2

    found = minimize(lambda x: jax.tree.map(np.asarray, off(x)), np.zeros(3), jac=True, method="BFGS")
    assert off(np.zeros(3))[0] > 100 > 2 > found.fun
    for path, x in zip(paths, found.x, strict=True):
        value, its = start.parameters[path] * np.exp(x), fit.parameters[path]
        assert its.low < value < its.high, path
    again = be.Rollout(in_mjx, fit)  # a fit as such
    value = jax.value_and_grad(
        lambda p: jnp.mean((again(asked[:5], p, start=seen[:1])[:, 0] - seen[:5]) ** 2)
    )
    slopes = value(again.params)[1]
    assert slopes.keys() == again.params.keys()
    assert all(bool(jnp.all(jnp.isfinite(slope))) for slope in slopes.values())


def test_a_rollout_takes_one_actuator_and_refuses_what_does_not_fit(in_mjx):
    run = be.Rollout(in_mjx, LATE)
    asked, p, fitting = np.full((2, 1), 0.1), run.params, r"expected \(1,\), one for each of knee"
    path = "motor.resistance"
    for error, commands, given, how in (
        (r"n, 1\), a column for each of knee", np.zeros((5, 2)), p, {}),
        (r"shape \(0, 1\); expected \(n, 1\)", np.zeros((0, 1)), p, {}),
        (r"unknown number .*'motor\.resistence'; did you mean 'motor\.resistance'", asked,
         {**p, "motor.resistence": p[path]}, {}),
        (r"params have no drive\.supply; expected all", asked,
         {k: v for k, v in p.items() if k != "drive.supply"}, {}),
        (rf"motor\.resistance has the shape \(\); {fitting}", asked, {**p, path: 2.0}, {}),
        (r"delay is -0\.01", asked, {**p, "drive.delay": -0.01 + 0.0 * p["drive.delay"]}, {}),
        (r"n_substeps is 0; expected a whole number", asked, p, {"n_substeps": 0}),
        (r"n_substeps is 2\.5; expected a whole number", asked, p, {"n_substeps": 2.5}),
        (rf"start has the shape \(2,\); {fitting}", asked, p, {"start": [0.0, 0.0]}),
    ):  # fmt: skip
        with pytest.raises(BackemfError, match=error):
            run(commands, given, **how)
    with pytest.raises(ValueError, match=rf"the command has the shape \(2,\); {fitting}"):
        run._robot.drive(p, run._data, jnp.asarray([0.1, 0.2]))


def test_a_rollout_says_what_mjx_leaves_out(in_mjx):
    in_mjx.write_text(ARM.replace('axis="0 1 0"', 'axis="0 1 0" stiffness="1" springyield="0.01"', 1))
    with pytest.warns(
        BackemfWarning, match=r"without the yield of springs \(they pull back like any other\)"
    ):
        run = be.Rollout(in_mjx, LATE)
    assert "mjx_ignores" in [f.code for f in run.findings]


def touches(model, joints, at):
    """Contacts of a model whose joints stand there, as MuJoCo finds them."""
    import mujoco

    data = mujoco.MjData(model)
    for joint, q in zip(joints, at, strict=True):
        data.joint(joint).qpos[0] = q
    mujoco.mj_forward(model, data)
    return sum(contact.dist < 0.0 for contact in data.contact)


def test_a_joint_that_friction_holds_has_slopes_through_mjxs_solver(in_mjx):
    """Upright, so that no weight is left over: its velocity falls to 1e-60 rad/s, whose squares are 0; and
    with a range, so that MJX's solver runs, although nothing is near its end."""
    upright = ARM.replace('axis="0 1 0"', 'axis="0 0 1"', 1)
    in_mjx.write_text(upright)
    run = be.Rollout(in_mjx, LATE)
    asked = np.r_[np.linspace(0.0, 0.3, 60), np.full(180, 0.3)][:, None]
    value = jax.jit(lambda p: jnp.mean((run(asked, p) - 0.2) ** 2))
    slopes = jax.jit(jax.grad(value))(run.params)
    assert all(bool(jnp.all(jnp.isfinite(slope))) for slope in slopes.values())
    for path in ("motor.torque_constant", "drive.delay"):
        x, step = run.params[path], 1e-5 * run.params[path]
        apart = value({**run.params, path: x + step}) - value({**run.params, path: x - step})
        assert float(slopes[path][0]) == pytest.approx(float(apart / (2 * step[0])), rel=1e-5), path
    assert "mjx_in_32_bits" not in [f.code for f in run.findings]
    with jax.enable_x64(False):
        with pytest.warns(BackemfWarning, match="in 32 bits, where its slopes may be NaN"):
            be.Rollout(in_mjx, LATE)
        in_mjx.write_text(upright.replace('range="-120 120"', ""))
        be.Rollout(in_mjx, LATE)  # no solver, and no warning


def test_an_armature_that_the_actuator_does_not_know_stays_in_mjx(in_mjx):
    """As of a servo whose rotor nobody has measured: without it a light joint would be thrown about."""
    import mujoco

    in_mjx.write_text(ARM.replace('axis="0 1 0"', 'axis="0 1 0" armature="0.03"', 1))
    unknown = LATE.replace(**{"motor.rotor_inertia": 0.0})
    run = be.Rollout(in_mjx, unknown)
    prepared = run._robot.prepare(run._model, run.params)
    assert float(prepared.dof_armature[0]) == 0.03
    asked = np.full((60, 1), 0.5)
    motors = be.attach(in_mjx, {"knee": unknown})
    data = mujoco.MjData(motors.model)
    positions = []
    for u in asked[:, 0]:
        positions.append(data.qpos[0])
        data.ctrl[0] = u
        mujoco.mj_step(motors.model, data)
    moved = np.asarray(run(asked, start=[0.0]))[:, 0]
    assert positions[-1] > 0.05
    np.testing.assert_allclose(moved, positions, atol=5e-3)  # both of first order in the step
    known = be.Rollout(
        in_mjx, unknown.replace(**{"motor.rotor_inertia": LATE.parameters["motor.rotor_inertia"]})
    )
    rotor = known._robot.prepare(known._model, known.params).dof_armature[0]
    assert float(rotor) == pytest.approx(LATE.parameters["motor.rotor_inertia"] * LATE.gearbox.ratio**2)


@pytest.mark.proof
def test_a_real_arms_rollout_has_derivatives_with_its_contacts(in_mjx, shared_data):
    """The SO-101 as it is published: elliptic cones, many geoms; one joint's commands come late."""
    part = be.Actuator.read("sts3215-12v").replace(**{"friction.viscous": 0.4, "friction.coulomb": 0.1})
    late = part.replace(**{"drive.delay": 0.0075})
    wanted = {"shoulder_.*|elbow_.*|wrist_.*": part, "shoulder_pan": late}
    run = be.Rollout(shared_data / "so101" / "so101.xml", wanted)
    folds = np.zeros(5)
    folds[[run.joints.index(joint) for joint in ("elbow_flex", "wrist_flex")]] = 1.6
    asked = np.linspace(0.63, 0.75, 20)[:, None] * folds + np.linspace(0.0, 0.1, 20)[:, None]
    value = jax.jit(lambda p: jnp.mean((run(asked, p, n_substeps=2) - 0.1) ** 2))
    moved = np.asarray(jax.jit(lambda p: run(asked, p, n_substeps=2))(run.params))
    assert touches(run.model, run.joints, moved[-1]) > touches(run.model, run.joints, moved[0]) == 0
    slopes = jax.jit(jax.grad(value))(run.params)
    assert all(bool(jnp.all(jnp.isfinite(x))) for x in slopes.values())
    for path, joint in (
        ("motor.torque_constant", "elbow_flex"),
        ("friction.coulomb", "shoulder_pan"),
        ("drive.delay", "shoulder_pan"),
    ):
        x, k = run.params[path], run.joints.index(joint)
        step = jnp.zeros(5).at[k].set(1e-6 * float(x[k]))
        apart = float(value({**run.params, path: x + step}) - value({**run.params, path: x - step}))
        assert float(slopes[path][k]) == pytest.approx(apart / (2 * float(step[k])), rel=1e-3), path


def test_what_mjx_leaves_out_is_a_finding(tmp_path):
    import mujoco

    late = ARM.replace('kp="20"', 'kp="20" delay="0.006" nsample="4"')
    (found,) = mjx_findings(mujoco.MjModel.from_xml_string(late))
    assert found.code == "mjx_ignores"
    assert "the delay of an actuator" in found.text
    assert mjx_findings(mujoco.MjModel.from_xml_string(ARM)) == []
    (tmp_path / "late.xml").write_text(late)
    assert "take out delay of actuator 0;" in found.remedy
    own = ARM.replace('axis="0 1 0"', 'axis="0 1 0" stiffness="1 0.5" springyield="0.01"', 1)
    (tmp_path / "own.xml").write_text(own)
    left = be.export({".*": LATE}, "jax@mjx", into=tmp_path / "own.xml").findings
    (remedy,) = (f.remedy for f in left if f.code == "mjx_ignores")
    assert remedy.startswith(
        "take out all but the first number of stiffness of joint knee, stiffness and springyield of"
    )
    (row,) = be.explain(tmp_path / "late.xml")
    assert "mjx_ignores" in [f.code for f in row.findings]
    motor = export(LATE, "mujoco", joint="knee", replay=False).text
    codes = [f.code for f in mjx_findings(mujoco.MjModel.from_xml_string(motor))]
    assert "mjx_refuses" in codes


def test_what_cannot_go_into_a_model_is_refused(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    with pytest.raises(InvalidValue, match="jax@plain has no model to go into"):
        be.export({".*": LATE}, "jax", into=tmp_path / "arm.xml")
    (tmp_path / "two.xml").write_text(TWO)
    other = be.Actuator.read("mx-106/m1")
    with pytest.raises(InvalidValue, match=r"toe has other parts than knee|knee has other parts than toe"):
        be.export({"knee": LATE, "toe": other}, "jax@mjx", into=tmp_path / "two.xml")
