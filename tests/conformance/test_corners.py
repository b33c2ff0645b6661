"""The engine's corner cases, each shown in the engine and each visible when our rule for it
is turned round."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

pytest.importorskip("mujoco")

import mujoco

from backemf.errors import InvalidValue
from backemf.mujoco.arrays import engine_of as live_engine, from_model
from backemf.mujoco.attributes import DcMotorAttributes
from backemf.mujoco.step import Engine, Rules, advance, moment, rules, step

from .cases import Case, pendulum
from .lockstep import FREE_RUN, ONE_STEP, compare, engine_of, engine_run, one_step

VERSION = mujoco.__version__
pytestmark = pytest.mark.skipif(
    rules(VERSION).derivative != 3,
    reason="written for MuJoCo 4.0; scripts/conformance.py looks at the others",
)
EVERYTHING = ("inductance", "thermal", "cogging", "lugre", "saturation", "rate")


def case(
    control: str = "pos limits",
    effects: tuple[str, ...] = EVERYTHING,
    integrator: str = "Euler",
    gear: float = 5.0,
) -> Case:
    return Case(effects=effects, control=control, integrator=integrator, gear=gear, era=2)


def worst(of: Case, seen: dict[str, np.ndarray], rule: Rules) -> float:
    """One-step difference when stepping by other rules."""
    n = len(seen["position"]) - 1
    engine = dataclasses.replace(engine_of(of), override=rule)
    after = step(
        of.dcmotor(VERSION), pendulum(), engine, {k: v[:-1] for k, v in seen.items()}, tuple(of.ctrl()[:n].T)
    )
    return max(float(np.max(np.abs(after[k] - seen[k][1:])) / np.max(np.abs(seen[k]))) for k in seen)


@pytest.mark.parametrize(
    ("turned", "of"),
    [
        ({"next_current": False}, case()),
        ({"fixed_time_constant": False}, case()),
        ({"heat_limited": True}, case("voltage", ("thermal", "saturation"))),
        ({"integral_gate": False}, case(integrator="RK4", gear=1.0)),
        ({"bristle_velocity": "last stage"}, case(integrator="RK4")),
        ({"derivative": 1}, case("voltage", ("thermal", "cogging", "lugre"), "implicitfast")),
        ({"derivative": 2}, case("voltage", ("saturation", "lugre"), "implicitfast")),
        ({"derivative": 2}, case("pos limits", (), "implicit")),
        ({"derivative": 2}, case("voltage", ("inductance", "rate"), "implicitfast")),
    ],
    ids=lambda x: str(x) if isinstance(x, dict) else x.control,
)
def test_each_rule_is_seen_by_the_comparison(turned, of):
    seen = engine_run(of)
    assert one_step(of, seen) <= 1e-15
    assert worst(of, seen, rules(VERSION)._replace(**turned)) > 1e-9


def live(of: Case) -> tuple[mujoco.MjModel, mujoco.MjData]:
    model = mujoco.MjModel.from_xml_string(of.xml())
    return model, mujoco.MjData(model)


def test_the_force_is_that_of_the_next_current():
    of = case("voltage", ("inductance",), gear=1.0)
    model, data = live(of)
    data.ctrl[:] = 10.0
    mujoco.mj_step(model, data)
    K = of.dcmotor(VERSION).motor.torque_constant
    assert data.act[0] > 0
    assert data.actuator_force[0] == pytest.approx(
        K * data.act[0], rel=1e-14
    )  # from rest, the present current would give 0


def test_heating_is_not_held_by_the_torque_limit():
    of = case("voltage", ("thermal", "saturation"), gear=1.0)
    model, data = live(of)
    data.ctrl[:] = 40.0
    data.qvel[:] = 0.0
    mujoco.mj_step(model, data)
    motor = of.dcmotor(VERSION).motor
    R, i = motor.resistance_at(motor.thermal.ambient), 40.0 / motor.resistance_at(motor.thermal.ambient)
    assert data.actuator_force[0] == pytest.approx(motor.limits.torque)
    # the checker knows its base class only
    assert data.act[0] == pytest.approx(1e-3 * R * i * i / motor.thermal.capacitance, rel=1e-12)  # type: ignore


def test_the_raw_voltage_is_never_limited():
    of = case("voltage limited", (), gear=1.0)
    dcmotor, state = of.dcmotor(VERSION), {"position": 0.0, "velocity": 0.0}
    assert dcmotor.controller.voltage_limit == 7.0
    at = moment(dcmotor, engine_of(of), state, (9.0,))
    assert at.force == pytest.approx(dcmotor.motor.torque_constant * 9.0 / dcmotor.motor.resistance)


def test_era_1_ignores_its_voltage_limit_in_the_force_but_not_in_the_heat():
    of = dataclasses.replace(case("voltage limited", ("thermal",), gear=1.0), era=1)
    dcmotor, engine = of.dcmotor("3.11.0"), Engine(version="3.11.0", timestep=1e-3)
    at = moment(dcmotor, engine, {"position": 0.0, "velocity": 0.0, "temperature_rise": 0.0}, (9.0,))
    R = dcmotor.motor.resistance_at(dcmotor.motor.thermal.ambient)
    assert at.force == pytest.approx(dcmotor.motor.torque_constant * 9.0 / R)
    # the checker knows its base class only
    assert at.rates["temperature_rise"] == pytest.approx(7.0**2 / R / dcmotor.motor.thermal.capacitance)  # type: ignore


def test_an_era_1_controller_does_not_run_on_an_era_2_engine():
    of = dataclasses.replace(case("position", (), gear=1.0), era=1)
    with pytest.raises(
        InvalidValue,
        match=r"the inputs 'position' are of era 1, MuJoCo 4\.0\.0 of era 2; convert the gains first",
    ):
        moment(of.dcmotor("3.11.0"), Engine(version="4.0.0"), {"position": 0.0, "velocity": 0.0}, (1.0,))


def test_the_slewed_setpoint_starts_at_zero_wherever_the_joint_is():
    of = case("pos limits", (), gear=1.0)
    model, data = live(of)
    data.qpos[:] = 1.0
    data.ctrl[:] = 1.0
    mujoco.mj_step(model, data)
    assert data.act[0] == pytest.approx(4.0 * 1e-3)


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
def test_jax_traces_the_same_step(integrator):
    jax = pytest.importorskip("jax")
    of = case("pos vel ff voltage", integrator=integrator)
    dcmotor, engine = of.dcmotor(VERSION), engine_of(of)
    joint = dataclasses.replace(pendulum(), load=lambda q, v: -0.4 * q)
    state = {
        "position": 0.3,
        "velocity": -1.2,
        "setpoint": 0.2,
        "integral": 0.05,
        "temperature_rise": 12.0,
        "bristle": 1e-3,
        "current": 0.7,
    }
    ctrl = (0.9, 1.0, 0.1, -2.0)
    with jax.enable_x64(True):
        traced = jax.jit(lambda s, u: step(dcmotor, joint, engine, s, u))(state, ctrl)
        slope = jax.grad(lambda q: step(dcmotor, joint, engine, {**state, "position": q}, ctrl)["velocity"])(
            0.3
        )
    plain = step(dcmotor, joint, engine, state, ctrl)
    assert {k: float(v) for k, v in traced.items()} == pytest.approx(plain, rel=1e-13)
    nudged = step(dcmotor, joint, engine, {**state, "position": 0.3 + 1e-6}, ctrl)["velocity"]
    assert float(slope) == pytest.approx((nudged - plain["velocity"]) / 1e-6, rel=1e-3)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stiff(Case):
    """A bristle so stiff that the motion is chaotic."""

    @property
    def attributes(self) -> DcMotorAttributes:
        return dataclasses.replace(super().attributes, lugre=(20000.0, 0.0, 0.04, 0.08, 0.05))


def test_a_chaotic_run_parts_no_further_than_the_engine_from_itself():
    (found,) = compare([Stiff(effects=("lugre",), control="pos", integrator="Euler", gear=5.0, era=2)])
    assert found.one_step <= ONE_STEP
    assert found.free_run > FREE_RUN
    assert (
        found.amplification > 1e6
    )  # a nudge of 1e-12 rad moves the engine's own trajectory by more than 1e-6
    assert found.agrees


SLOW = """<mujoco><option timestep="0.001" integrator="{integrator}"/>
  <worldbody><body><joint name="j" axis="0 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
  </worldbody><actuator><dcmotor joint="j" gear="-2" motorconst="0.1" resistance="1"
  lugre="3 0.1 0.5 0.8 0.1"/></actuator></mujoco>"""


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "implicit", "RK4"])
@pytest.mark.parametrize("z", [0.0, 1e-9])
def test_a_slow_bristle_is_rounded_as_the_engine_rounds_it(integrator, z):
    model = mujoco.MjModel.from_xml_string(SLOW.format(integrator=integrator))
    data, n, rng = mujoco.MjData(model), 400, np.random.default_rng(0)
    v = 10.0 ** rng.uniform(-18, 0, n) * rng.choice([-1.0, 1.0], n)
    theirs = np.empty(n)
    for k, speed in enumerate(v):
        mujoco.mj_resetData(model, data)
        data.qvel[0], data.act[0] = speed, z
        mujoco.mj_step(model, data)
        theirs[k] = data.act[0]
    dcmotor, engine = from_model(model, 0), live_engine(model)
    state = {"position": np.zeros(n), "velocity": v, "bristle": np.full(n, z)}
    rates = moment(dcmotor, engine, state, (np.zeros(n),)).rates
    mine = advance(dcmotor, engine, state, rates, dcmotor.gear * v)["bristle"]
    # of each bristle's own size: a few roundings of 1.1e-16, more where its two terms cancel
    assert np.max(np.abs(mine - theirs) / np.maximum(np.abs(theirs), 1e-300)) <= 1e-14
    one = {name: float(values[7]) for name, values in state.items()}
    alone = advance(dcmotor, engine, one, moment(dcmotor, engine, one, (0.0,)).rates, dcmotor.gear * v[7])
    assert alone["bristle"] == pytest.approx(theirs[7], rel=1e-14)
    w = dcmotor.gear * v
    exact, _ = dcmotor.lugre.bend(
        state["bristle"], w, dcmotor.lugre.level(dcmotor.lugre.stribeck(w), 0, 0, 1), 1e-3
    )
    # what all digits give is far away: the engine loses them
    assert np.max(np.abs(exact - theirs) / np.maximum(np.abs(theirs), 1e-9)) > 1e-9
