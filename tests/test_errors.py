"""Bad input gets a clear error: the texts, verbatim."""

from __future__ import annotations

import math

import numpy as np
import pytest

import backemf as be

MOTOR = {"resistance": 2.0, "torque_constant": 0.5, "rotor_inertia": 1e-3}
STRIBECK = {"coulomb": 0.1, "static": 0.2, "stribeck_velocity": 0.1}
FINE = be.Actuator(motor=be.motor.Motor(**MOTOR))


def sim(actuator=FINE, bench=None, command=1.0, **more):
    return be.simulate(actuator, bench or be.bench.FreeShaft(), command, **({"duration": 0.1} | more))


CASES = [
    (
        lambda: be.motor.Motor(**MOTOR | {"resistance": -2.0}),
        "motor.resistance is -2 ohm; expected more than 0",
    ),
    (lambda: be.motor.Motor(**MOTOR | {"resistance": 0}), "motor.resistance is 0 ohm; expected more than 0"),
    (
        lambda: be.motor.Motor(**MOTOR | {"resistance": math.nan}),
        "motor.resistance is nan ohm; expected a finite number",
    ),
    (
        lambda: be.motor.Motor(**MOTOR | {"resistance": "2 ohm"}),
        "motor.resistance is '2 ohm'; expected a number in ohm",
    ),
    (lambda: be.motor.Motor(resistance=2.0), "Motor needs torque_constant (in N m/A)"),
    (
        lambda: be.motor.Motor(**MOTOR, inductence=1e-3),
        (
            "unknown field of Motor 'inductence'; did you mean 'inductance'? Valid: back_emf_constant,"
            " cogging, inductance, iron_loss, limits, resistance, rotor_inertia, saturation_current, thermal,"
            " torque_constant"
        ),
    ),
    (
        lambda: be.friction.Stribeck(**STRIBECK | {"static": 0.05}),
        (
            "friction.static is 0.05 N m, below friction.coulomb, 0.1 N m; friction at rest cannot be less"
            " than in motion: expected static >= coulomb"
        ),
    ),
    (
        lambda: be.friction.LuGre(**STRIBECK | {"coulomb": 0.0}, stiffness=100.0),
        (
            "friction.coulomb is 0 N m with a bristle stiffness; expected more than 0: a bristle needs a"
            " torque at which it slips"
        ),
    ),
    (
        lambda: be.gearbox.Gearbox(ratio=0),
        (
            "gearbox.ratio is 0; expected rotor turns per output turn, such as 1 for none or 100 for a 100:1"
            " reduction"
        ),
    ),
    (
        lambda: be.gearbox.Gearbox(n_motors=1.5),
        "gearbox.n_motors is 1.5; expected a whole number of at least 1",
    ),
    (lambda: be.gearbox.Gearbox(efficiency=1.2), "gearbox.efficiency is 1.2; expected at most 1"),
    (
        lambda: be.gearbox.Gearbox(backlash=0.01),
        (
            "gearbox.backlash needs gearbox.contact_stiffness, the stiffness of the teeth in contact (N m/rad"
            " at the output)"
        ),
    ),
    (
        lambda: be.motor.Limits(peak_current=5.0),
        "a peak-current rule needs continuous_current, peak_current and peak_time together",
    ),
    (
        lambda: be.motor.Motor(
            **MOTOR,
            limits=be.motor.Limits(current=3.0, safe_current=1.0, derating_start=60.0, derating_end=90.0),
        ),
        "thermal derating needs motor.thermal: without it nothing knows how warm the winding is",
    ),
    (
        lambda: be.drive.Servo(firmware_gain=0.158, proportional=32),
        "drive.Servo needs drive.supply: its firmware computes a duty, and a duty of 1 is the supply voltage",
    ),
    (lambda: be.drive.Voltage(disabled="coast"), "drive.disabled is 'coast'; expected 'open' or 'brake'"),
    (
        lambda: be.Actuator(motor=be.motor.Motor(**MOTOR), motion="sliding"),
        "motion is 'sliding'; expected 'rotary' or 'linear'",
    ),
    (
        lambda: FINE.replace(**{"motor.resistence": 1.0}),
        (
            "unknown parameter 'motor.resistence'; did you mean 'motor.resistance'? Valid: friction.viscous,"
            " gearbox.contact_damping, gearbox.ratio, motor.resistance, motor.rotor_inertia,"
            " motor.torque_constant"
        ),
    ),
    (lambda: sim(command=math.nan), "voltage_target is nan at sample 0 (0 s); expected finite numbers"),
    (
        lambda: sim(command=np.array([1.0, math.inf]), time=[0.0, 0.1]),
        "voltage_target is inf at sample 1 (0.1 s); expected finite numbers",
    ),
    (
        lambda: sim(command="fast"),
        (
            "voltage_target is 'fast'; expected a number, as many numbers as there are samples, or a function"
            " of time"
        ),
    ),
    (
        lambda: sim(actuator=be.Actuator(motor=be.motor.Motor(**MOTOR), drive=be.drive.Off())),
        "drive.Off follows no command; leave it out, or give a mapping with 'enabled' or 'supply'",
    ),
    (
        lambda: be.motor.Cogging.percent(3.0, of=0.5, poles=8.5, slots=9),
        "poles is 8.5 and slots is 9; expected whole numbers of at least 1",
    ),
    (
        lambda: be.log("a", [0.0, 1.0], position=[0.0, 1.0], motion="sideways"),
        "a: motion is 'sideways'; expected 'rotary' or 'linear'",
    ),
    (lambda: sim(dt=0.0), "dt is 0.0 s; expected a number above 0"),
    (lambda: sim(dt=-0.001), "dt is -0.001 s; expected a number above 0"),
    (lambda: sim(duration=None), "simulate needs a duration in seconds (or the sample times as time=...)"),
    (
        lambda: sim(command=np.ones(5), time=np.arange(4) * 0.1),
        "voltage_target has 5 samples, but time has 4; expected as many",
    ),
    (lambda: sim(time=[0.0, 0.1, 0.1]), "time does not increase at sample 2: 0.1 s, then 0.1 s"),
    (
        lambda: sim(command={"voltage_targt": 1.0}),
        (
            "unknown input 'voltage_targt'; did you mean 'voltage_target'? Valid: enabled, supply,"
            " voltage_target"
        ),
    ),
    (
        lambda: sim(command={"enabled": 1.0}),
        "the command has no 'voltage_target'; drive.Voltage on bench.FreeShaft needs: voltage_target",
    ),
    (
        lambda: sim(command={"voltage_target": 1.0, "supply": 0.0}),
        "supply is 0 at sample 0 (0 s); expected more than 0",
    ),
    (lambda: sim(substeps=0), "substeps is 0; expected a whole number of at least 1"),
    (lambda: sim(tolerance=0.0), "tolerance is 0.0; expected a number above 0 (rad or m)"),
    (
        lambda: sim(start={"velocty": 1.0}),
        "unknown state 'velocty'; did you mean 'velocity'? Valid: position, velocity",
    ),
    (lambda: sim(start={"velocity": math.nan}), "start has velocity = nan; expected a finite number"),
    (
        lambda: sim(actuator=be.Actuator(motor=be.motor.Motor(resistance=1.0, torque_constant=1.0))),
        "bench.FreeShaft has no inertia and motor.rotor_inertia is 0; one of them must be above 0",
    ),
    (lambda: sim().bristle, None),
    (
        lambda: sim()["bristle"],
        "unknown signal 'bristle'; valid: current, position, time, torque, velocity, voltage, voltage_target",
    ),
]


@pytest.mark.parametrize(("bad", "text"), CASES, ids=[str(k) for k in range(len(CASES))])
def test_text(bad, text):
    if text is None:
        with pytest.raises(
            AttributeError, match="no signal 'bristle'; there are: position, velocity, voltage"
        ):
            bad()
        return
    with pytest.raises(be.BackemfError) as caught:
        bad()
    assert str(caught.value) == text


def test_parts_are_frozen_and_compare_by_value():
    with pytest.raises(AttributeError):
        # the checker knows its base class only
        FINE.motor.resistance = 3.0  # type: ignore[attr-defined]  # what must be refused
    assert FINE.replace(**{"motor.resistance": 3.0}).motor.resistance == 3.0
    assert FINE.motor.resistance == 2.0
    assert be.motor.Motor(**MOTOR) == FINE.motor
