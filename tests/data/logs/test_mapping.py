"""One mapping scheme: what its text means, how it is saved, and what it does not let pass."""

from __future__ import annotations

import json
import math

import pytest

from backemf import store
from backemf.errors import BackemfError
from backemf.logs import mapping, names
from backemf.logs.mapping import Origin

TEXTS = [
    ("position=motor_pos[deg],-1", Origin(signal="position", channel="motor_pos", unit="deg", factor=-1.0)),
    ("position=q", Origin(signal="position", channel="q")),
    ("position = q [rad]", Origin(signal="position", channel="q", unit="rad")),
    ("position=angle (deg),-1", Origin(signal="position", channel="angle (deg)", factor=-1.0)),
    (
        "position=enc[rev],1/4096-0.5",
        Origin(signal="position", channel="enc", unit="rev", factor=1 / 4096, offset=-0.5),
    ),
    ("position=p[deg],-1+90", Origin(signal="position", channel="p", unit="deg", factor=-1.0, offset=90.0)),
    ("current=i[mA],1e-3@t_i", Origin(signal="current", channel="i", unit="mA", factor=1e-3, clock="t_i")),
    ("time=row[ms],5", Origin(signal="time", channel="row", unit="ms", factor=5.0)),
    ('position="a,b[c]"[deg]', Origin(signal="position", channel="a,b[c]", unit="deg")),
    ("torque=vir[N],35.15065188", Origin(signal="torque", channel="vir", unit="N", factor=35.15065188)),
    ("none=load", Origin(signal="none", channel="load")),
    ("velocity=none", Origin(signal="velocity", channel="none")),
    ("position=/joint_states.position", Origin(signal="position", channel="/joint_states.position")),
]


@pytest.mark.parametrize(("text", "origin"), TEXTS, ids=[t for t, _ in TEXTS])
def test_text_is_understood_and_written_back(text, origin):
    assert mapping.parse(text) == origin
    assert mapping.parse(str(origin)) == origin


BAD = [
    (
        "position",
        (
            "'position' is not a mapping; expected signal=channel[unit],factor such as"
            " 'position=motor_pos[deg],-1'"
        ),
    ),
    (
        "=q",
        "'=q' is not a mapping; expected signal=channel[unit],factor such as 'position=motor_pos[deg],-1'",
    ),
    (
        "position=",
        (
            "'position=' is not a mapping; expected signal=channel[unit],factor such as"
            " 'position=motor_pos[deg],-1'"
        ),
    ),
    ("position=q,0", "'position=q,0' multiplies by 0; expected a factor such as -1 or 0.001"),
    ("position=q,1/0", "'position=q,1/0' divides by 0"),
    ("position=q[%]", "position is in '%', which is not an angle; expected a unit such as 'deg'"),
    ("position=q[counts]", "position is in 'counts', which is not an angle; expected a unit such as 'deg'"),
    ("velocity=w[Hz]", "velocity is in 'Hz', which is not a speed; expected a unit such as 'rpm'"),
    ("current=i[mV]", "current is 'mV', which is not a current; expected a unit such as 'A'"),
    ("position=q[dge]", "position is in 'dge', which is not an angle; expected a unit such as 'deg'"),
    ("voltage=u[vlt]", "unknown unit 'vlt' in 'vlt' for voltage; expected a unit of a voltage, such as 'V'"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[t for t, _ in BAD])
def test_text_that_is_refused(text, message):
    with pytest.raises(BackemfError) as caught:
        mapping.parse(text)
    assert str(caught.value) == message


def test_an_unknown_signal_names_the_nearest():
    with pytest.raises(
        BackemfError, match="unknown signal in 'positon=q' 'positon'; did you mean 'position'"
    ):
        mapping.parse("positon=q")


def test_a_mapping_comes_in_many_forms_and_is_saved_and_reused(tmp_path):
    texts = ["time=t[ms]", "position=q[deg],-1", "none=load", "none=temp"]
    origins = mapping.mapping(texts)
    assert mapping.mapping({"time": "t[ms]", "position": "q[deg],-1", "none": ["load", "temp"]}) == origins
    path = mapping.write(texts, tmp_path / "rig.json")
    assert json.loads(path.read_text()) == {
        "backemf": store.VERSION,
        "map": {"time": "t[ms]", "position": "q[deg],-1", "none": ["load", "temp"]},
    }
    assert mapping.mapping(path) == mapping.mapping(str(path)) == origins
    assert mapping.mapping([str(path), "current=i[mA]"])[-1].unit == "mA"
    assert mapping.mapping(None) == ()
    with pytest.raises(BackemfError, match="exists"):
        mapping.write(texts, path)


def test_the_same_signal_twice_is_refused():
    with pytest.raises(BackemfError, match="position is mapped twice: position=a and position=b"):
        mapping.mapping(["position=a", "position=b"])


def test_a_file_without_a_mapping_is_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"backemf": store.VERSION, "part": "Motor"}))
    with pytest.raises(BackemfError, match="holds no mapping"):
        mapping.read(path)
    with pytest.raises(BackemfError, match="there is no file"):
        mapping.mapping(str(tmp_path / "gone.json"))
    with pytest.raises(BackemfError, match="the mapping is 3"):
        mapping.mapping(3)


HEADERS = [
    ("time [ms]", "time", "ms"),
    ("t_s", "time", "s"),
    ("Time (s)", "time", "s"),
    ("timestamp_ns", "time", "ns"),
    ("angle (deg)", "position", "deg"),
    ("Motor Position [\u00b0]", "position", "\u00b0"),
    ("JointAngle", "position", ""),
    ("current_position", "position", ""),
    ("q_des", "position_target", ""),
    ("goal_position", "position_target", ""),
    ("command [rad]", "position_target", "rad"),
    ("setpoint / rpm", "velocity_target", "rpm"),
    ("ref (V)", "voltage_target", "V"),
    ("cmd_vel", "velocity_target", ""),
    ("speed_rpm", "velocity", "rpm"),
    ("velocity_rad_s", "velocity", "rad/s"),
    ("\u03c9 (rad/s)", "velocity", "rad/s"),
    ("speed [m/s]", "velocity", "m/s"),
    ("I_mA", "current", "mA"),
    ("current_target", "current_target", ""),
    ("v [V]", "voltage", "V"),
    ("pwm [V]", "voltage", "V"),
    ("tau (N\u00b7m)", "torque", "N\u00b7m"),
    ("temp (\u00b0C)", "temperature", "\u00b0C"),
    ("vbat", "supply", ""),
    ("torque_enable", "enabled", ""),
]


@pytest.mark.parametrize(("header", "signal", "unit"), HEADERS, ids=[h[0] for h in HEADERS])
def test_names_that_are_recognised(header, signal, unit):
    guess = names.recognise(header)
    assert (guess.signals, guess.unit) == ((signal,), unit)


@pytest.mark.parametrize("header", ["x", "load", "qm", "Drehzahl", "q1", "CH1", "1", "motor"])
def test_names_that_are_not_recognised(header):
    assert names.recognise(header).signals == ()


@pytest.mark.parametrize("header", ["command", "target", "T", "v", "u", "u [V]", "pwm", "duty"])
def test_names_that_may_be_several_things(header):
    assert len(names.recognise(header).signals) > 1


@pytest.mark.parametrize(
    "header", ["position [counts]", "position [%]", "position [V]", "speed [Hz]", "temp [F]"]
)
def test_units_that_do_not_fit(header):
    assert names.recognise(header).misfit


def test_units_of_speed_written_as_a_frequency_of_turns():
    assert names.to_si("1/min", "velocity", "velocity")[0] == pytest.approx(2 * math.pi / 60)
    assert names.to_si("RPM", "velocity", "velocity")[0] == pytest.approx(2 * math.pi / 60)
    assert names.to_si("mm", "position", "position") == (pytest.approx(1e-3), "linear")
