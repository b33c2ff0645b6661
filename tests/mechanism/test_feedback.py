"""Feedback and feedforward: the check values, limits, and a step that does what was designed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from backemf.errors import InvalidValue, UnknownName
from backemf.kits.frc.loop_gains import (
    PRESETS,
    feedforward,
    feedforward_step,
    position_gains,
    settle,
    simulate_step,
    step_response,
    velocity_gains,
)

from ..browser import node
from ..conftest import ROOT

kV, kA = 3.060, 0.327


def test_check_values_of_the_regulator():
    assert velocity_gains(kV, kA).kP == pytest.approx(2.10943, abs=1e-4)
    gains = position_gains(kV, kA)
    assert (gains.kP, gains.kD) == (pytest.approx(6.40639, abs=1e-4), pytest.approx(2.47675, abs=1e-4))
    late = position_gains(kV, kA, delay=0.010)
    assert (late.kP, late.kD) == (pytest.approx(5.91708, abs=1e-4), pytest.approx(2.12056, abs=1e-4))


@pytest.mark.parametrize("name", PRESETS)
def test_presets_count_in_their_own_units(name):
    p = PRESETS[name]
    v, x = velocity_gains(kV, kA, preset=name), position_gains(kV, kA, preset=name)
    assert v.kP == pytest.approx(v.volts_per_error * p.output / p.time)
    assert x.kD == pytest.approx(x.volts_per_rate * p.output / (1 if p.normalized else p.period))
    assert velocity_gains(kV, kA, preset=p, encoder_factor=4.0).kP == pytest.approx(v.kP / 4)


def test_without_inertia_velocity_needs_no_gain_and_position_is_an_integrator():
    assert velocity_gains(kV, 0.0).kP == 0.0
    gains = position_gains(kV, 1e-8)
    assert gains.kD == 0.0
    assert gains.kP > 0


def test_unknown_preset_and_bad_tolerance():
    with pytest.raises(UnknownName, match="did you mean 'ctre-v6'"):
        velocity_gains(kV, kA, preset="ctre-v7")
    with pytest.raises(InvalidValue, match="max_effort is 0"):
        velocity_gains(kV, kA, max_effort=0)


@pytest.mark.parametrize(
    ("loop", "time", "step"), [("position", 0.5, 0.3), ("velocity", 0.2, 1.0), ("position", 1.0, 0.2)]
)
def test_settling_design_settles_in_time_without_saturating(loop, time, step):
    design = settle(kV, kA, time=time, step=step, loop=loop, period=0.005)
    for kS in (0.0, 0.3, 1.0):  # friction is pushed against until it is there
        gains = step_response(
            settle(kV, kA, time=time, step=step, loop=loop, period=0.005, kS=kS),
            kS=kS,
            kV=kV,
            kA=kA,
            step=step,
        )
        assert gains.settling_time < 1.15 * time
        assert gains.overshoot < 0.02
        assert gains.saturated == 0
    assert design.step == step


def test_settling_design_counts_as_its_controller_does():
    plain, talon = (
        settle(kV, kA, time=0.5, step=0.3),
        settle(kV, kA, time=0.5, step=0.3, preset="ctre-v5", period=0.02, delay=0.0),
    )
    assert talon.kP == pytest.approx(plain.kP * 1023 / 12)
    assert talon.kD == pytest.approx(plain.kD * 1023 / 12 / 0.02)
    assert talon.volts_per_error == plain.volts_per_error


def test_settling_design_says_what_stops_it():
    design = settle(kV, kA, time=0.05, step=5.0)
    assert design.note == "the limit of the input does not allow 0.05 s"
    assert step_response(design, kS=0.0, kV=kV, kA=kA, step=5.0, duration=6).saturated == 0
    late = settle(kV, kA, time=0.05, step=0.01, delay=0.1)
    assert late.note == "the delay does not allow 0.05 s"


def test_step_response_shows_friction_delay_and_limit():
    gains = position_gains(kV, kA)
    free = step_response(gains, kS=0.0, kV=kV, kA=kA, step=1.0, duration=8)
    stuck = step_response(gains, kS=1.0, kV=kV, kA=kA, step=1.0, duration=20)
    assert abs(free.position[-1] - 1) < 1e-3
    assert (
        0.05 < 1 - stuck.position[-1] <= 1.0 / gains.volts_per_error + 1e-3
    )  # comes to rest where friction holds it
    late = step_response(
        replace(gains, delay=0.3, volts_per_error=8 * gains.volts_per_error),
        kS=0.0,
        kV=kV,
        kA=kA,
        step=1.0,
        duration=4,
    )
    assert late.settling_time == math.inf  # a delay it was not designed for makes it swing
    assert step_response(gains, kS=0.0, kV=kV, kA=kA, step=10.0, limit=5.0).saturated > 0.1


def test_feedforward_continuous():
    assert feedforward(2.0, 1.0, kS=0.5, kV=kV, kA=kA) == pytest.approx(0.5 + 2 * kV + kA)
    assert feedforward(-2.0, kS=0.5, kV=kV, kG=0.3, angle=math.pi / 3) == pytest.approx(-0.5 - 2 * kV + 0.15)
    assert feedforward(0.0, kS=0.5) == 0.0


def test_feedforward_for_one_period_reaches_the_next_velocity():
    from backemf.kits.frc.mechanism import Mechanism, step

    for case in ((kV, kA), (0.0, 0.4), (1e-9, 0.4), (2.0, 0.001)):
        u = feedforward_step(1.0, 1.3, kS=0.7, kV=case[0], kA=case[1], kG=0.2, period=0.02)
        _, v = step(
            Mechanism(
                friction=0.7, effort_per_velocity=case[0], effort_per_acceleration=case[1], gravity=0.2
            ),
            0.0,
            1.0,
            u,
            0.02,
        )
        assert v == pytest.approx(1.3, abs=1e-9)
        raised = {"kS": 0.7, "kV": case[0], "kA": case[1], "kG": 0.4, "angle": math.pi / 3}
        assert feedforward_step(1.0, 1.3, period=0.02, **raised) == pytest.approx(u)
        assert feedforward_step(-1.0, -1.3, period=0.02, **raised) == pytest.approx(0.4 - u)  # mirrored
    assert feedforward_step(1.0, -2.0, kS=0.7, kV=kV, kA=0.0) == pytest.approx(-0.7 - 2 * kV)
    assert feedforward_step(0.0, 0.0, kS=0.7, kV=kV, kA=0.0, kG=0.4, angle=2.0) == 0.4 * math.cos(2.0)
    assert feedforward_step(1.0, 1.3, kV=0.0, kA=0.4, period=0.02) == pytest.approx(0.3 * 0.4 / 0.02)


LOOP = """
const answer = (g) => g.followed ? g.followed.map((one) => followed(...one)) : [gains('velocity', ...g.loop),
  gains('position', ...g.loop), step('position', g.K, ...g.step), step('velocity', g.K, ...g.step)];
"""


def page_script():
    script = (ROOT / "src/backemf/apps/web/static/loop.js").read_text(encoding="utf-8")
    return script.replace("export function", "function") + LOOP


def test_the_pages_settling_times_are_those_of_the_library():
    """Of a step that settles, of one that friction holds off, of one that takes long, of a velocity's, and of
    one that is pushed against friction: each is followed alike, and says the same."""
    mechanism = {"kS": 0.2, "kV": 3.06, "kA": 0.327, "kG": 0.4}
    made = settle(3.06, 0.327, time=0.5, step=0.3, kS=0.2)
    weighed = [(0.1, 0.3), (1.0, 0.3), (4.0, 3.0)]
    loops = [replace(position_gains(3.06, 0.327, max_position_error=e), step=s) for e, s in weighed]
    loops += [replace(velocity_gains(3.06, 0.327), step=1.2), made]
    rows = [
        [
            f.loop,
            [f.volts_per_error, f.volts_per_rate],
            mechanism,
            {"target": f.step, "limit": 12.0, **vars(f)},
        ]
        for f in loops
    ]
    told = []
    for feedback, there in zip(loops, node(page_script(), {"followed": rows}), strict=True):
        here = simulate_step(feedback, mechanism, 12.0)
        assert there["time"][-1] == pytest.approx(here.time[-1])
        assert (there["settles"] or math.inf) == pytest.approx(here.settling_time, abs=1e-9)
        settles = math.isfinite(here.settling_time)
        told.append("settles" if settles else "held" if there["held"] else "slow")
    assert told == ["settles", "held", "slow", "settles", "settles"]


@pytest.mark.parametrize(
    ("kV", "kA", "period", "delay"),
    [(3.06, 0.327, 0.02, 0.0), (0.12, 0.03, 0.001, 0.0815), (1.2, 0.1, 0.02, 0.01), (0.0, 0.05, 0.02, 0.0)],
)
def test_the_pages_sliders_give_the_same_loop(kV, kA, period, delay):
    """The regulator and its step as the app's page computes them, in node, against the library's."""
    weights = {"max_error": 0.3, "max_velocity_error": 2.0, "max_effort": 7.0}
    clock = {"period": period, "delay": delay}
    how = {**clock, "limit": 12.0, "target": 0.5, "duration": 1.0}
    mechanism = {"kS": 0.2, "kV": kV, "kA": kA, "kG": 0.4}
    K = [20.0, 1.5]
    given = {"loop": [{"kV": kV, "kA": kA}, weights, clock], "K": K, "step": [mechanism, how]}
    velocity, position, *steps = node(page_script(), given)
    told = {"max_effort": 7.0, **clock}
    wanted = velocity_gains(kV, kA, max_error=2.0, **told)
    assert velocity[0] == pytest.approx(wanted.volts_per_error, rel=1e-6)
    wanted = position_gains(kV, kA, max_position_error=0.3, max_velocity_error=2.0, **told)
    assert position == pytest.approx([wanted.volts_per_error, wanted.volts_per_rate], rel=1e-6)
    for loop, made in zip(("position", "velocity"), steps, strict=True):
        same = replace(wanted, loop=loop, volts_per_error=K[0], volts_per_rate=K[1])
        run = step_response(same, **mechanism, step=0.5, limit=12.0, duration=1.0)
        here = run.velocity if loop == "velocity" else run.position
        # both follow the motion exactly between inputs; loops that swing up magnify their rounding
        np.testing.assert_allclose(made["value"], here, atol=1e-6 * np.max(np.abs(here)))
        np.testing.assert_allclose(made["time"], run.time, rtol=1e-9, atol=1e-12)
