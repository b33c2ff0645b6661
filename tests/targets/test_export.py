"""The Export noun: which target, written whole or not at all, and readable errors."""

from __future__ import annotations

import pytest

import backemf as be
from backemf.errors import BackemfError, InvalidValue, UnknownName
from backemf.files import write_all
from backemf.targets.export import TARGETS, export, parse_target
from backemf.targets.result import unpack_files

SERVO = be.Actuator(
    motor=be.motor.Motor(resistance=3.0, torque_constant=2.0, rotor_inertia=0.02),
    drive=be.drive.Position(volts_per_radian=50.0, supply=12.0),
)


def test_names_and_versions():
    assert parse_target("mujoco@3.12") == ("mujoco", "3.12")
    assert parse_target("mujoco@3.12.0") == ("mujoco", "3.12.0")
    assert parse_target("isaaclab@3.0.1") == ("isaaclab", "3.0")
    assert parse_target("bam") == ("bam", "any")


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("mujco", "unknown target 'mujco'; did you mean 'mujoco'?"),
        ("mujoco@3.6", "unknown MuJoCo version '3.6'; did you mean '3."),
        ("mujoco@3.99", "unknown MuJoCo version '3.99'"),
        ("isaaclab@1.4", "unknown version of isaaclab '1.4'"),
    ],
)
def test_unknown_targets_and_versions_are_named_with_the_nearest(to, said):
    with pytest.raises(UnknownName) as error:
        export(SERVO, to)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"method": "guess"}, "unknown method"),
        ({"integrator": "euler"}, "unknown integrator"),
        ({"timestep": 0.0}, "timestep is 0.0"),
        ({"load": 1.0}, "load is 1.0"),
        ({"joint": 'a"b'}, "joint is"),
    ],
)
def test_bad_settings(given, said):
    with pytest.raises(BackemfError, match=said):
        export(SERVO, "mujoco", **given)
    with pytest.raises(InvalidValue, match="expected an Actuator"):
        export("mx-106", "mujoco")  # type: ignore[arg-type]  # the mistake on purpose


def test_nothing_is_overwritten_without_force(tmp_path):
    made = export(SERVO, "mujoco", joint="knee")
    path = tmp_path / "knee.xml"
    assert made.write(path) == [path]
    path.write_text("mine")
    with pytest.raises(BackemfError, match="exists; give another name"):
        made.write(path)
    assert path.read_text() == "mine"
    made.write(path, force=True)
    assert path.read_text() == made.text
    assert made.write(tmp_path / ".", force=True) == [path]
    with pytest.raises(BackemfError, match="there is no folder"):
        made.write(tmp_path / "missing" / "knee.xml")


def test_several_files_are_written_or_none(tmp_path):
    (tmp_path / "b").write_text("mine")
    with pytest.raises(BackemfError, match="exists"):
        write_all({tmp_path / "a": "1", tmp_path / "b": "2"})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b"]


@pytest.mark.parametrize("to", TARGETS)
def test_every_header_says_who_when_units_and_source(to):
    made = export(SERVO, to, joint="knee", notes=["measured on a bench", "two -- hyphens"])
    assert next(iter(made.files)).startswith("knee")
    if to == "bam":  # JSON has no comments: the account stays with the Export
        assert made.notes[0] == "measured on a bench"
        return
    content = next(iter(made.files.values()))
    text = content if isinstance(content, str) else unpack_files(content)["modelDescription.xml"].decode()
    for words in (f"Written by backemf {be.__version__} on 20", "Units: SI", "From: measured on a bench"):
        assert words in text


CLOCKED = be.Actuator(
    motor=be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3),
    friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02),
    drive=be.drive.Position(volts_per_radian=60.0, volt_seconds_per_radian=1.0, supply=12.0, period=0.01),
)
WHOLE = ("mujoco-live", "mujoco-plugin", "torch", "jax", "warp", "c", "fmu")
"""The engine's own step: nothing is lost."""
KEEPS_THE_LAW = ("bam", "urdf", "sdf")
"""Parameters without a law, or a joint whose controller is the user's."""


@pytest.mark.parametrize("to", [*(t for t in TARGETS if t not in KEEPS_THE_LAW), "isaaclab@bam"])
def test_a_period_that_a_target_has_not_is_a_loss_with_its_cost(to):
    made = export(CLOCKED, to, joint="knee", method="formula", replay=False)
    if to in WHOLE:
        assert made.carried == CLOCKED
        assert not made.dropped
        return
    (lost,) = (effect for effect in made.dropped if effect.path == "drive.period")
    assert lost.error is not None
    assert 1e-3 < lost.error < 1e-2  # 4.8 mrad: a hundredth of a second of a loop that has 30 rad/s
    assert made.carried.drive.period is None
    assert "drive.period: the law looks at every step" in made.text


PUSHED = be.Actuator(
    motor=be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3),
    friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02),
    drive=be.drive.Servo(
        firmware_gain=0.16,
        proportional=16.0,
        derivative=32.0,
        firmware_derivative_gain=1e-3,
        derivative_filter=0.01,
        supply=12.0,
    ),
)


@pytest.mark.parametrize("to", [*TARGETS, "isaaclab@bam"])
def test_the_push_of_a_moving_setpoint_is_carried_or_a_loss_with_its_cost(to):
    made = export(PUSHED, to, joint="knee", method="formula", replay=False)
    if to in WHOLE:
        assert made.carried == PUSHED
        assert not made.dropped
        return
    (lost,) = (effect for effect in made.dropped if effect.path == "drive.derivative_filter")
    assert lost.error is not None
    # 20 mrad: D's lead of 12 ms, at the 0.7 to 2 rad/s that sines and steps move with
    assert 0.01 < lost.error < 0.04
    assert made.carried.drive.without_push == {}
    assert "the push of a moving setpoint is lost" in "".join(made.files.values())


@pytest.mark.parametrize("to", [*(t for t in TARGETS if t not in WHOLE), "isaaclab@bam"])
def test_a_d_of_no_effect_is_no_loss(to):
    silent = PUSHED.replace(**{"drive.firmware_derivative_gain": 0.0})
    made = export(silent, to, joint="knee", method="formula", replay=False)
    assert not any("derivative" in effect.path for effect in (*made.dropped, *made.approximated))
