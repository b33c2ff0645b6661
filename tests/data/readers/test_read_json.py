"""Pendulum JSON and plain JSON or YAML: every quirk is kept, undone or dropped, and named."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from backemf.errors import BackemfError
from backemf.logs.read import read
from backemf.logs.readers import json_file
from backemf.physics.bench import FreeShaft, Pendulum

from ...conftest import unavailable

FACTS = {
    "mass": 0.5,
    "length": 0.1,
    "arm_mass": 0.02,
    "kp": 8,
    "vin": 12.0,
    "motor": "x",
    "trajectory": "sine",
}


def entries(n=200, **columns):
    """Entries of a clean recording, with some columns replaced (None: left out)."""
    t = 0.005 * np.arange(n)
    whole = {
        "timestamp": t,
        "position": 0.5 * np.sin(3 * t),
        "speed": 1.5 * np.cos(3 * t),
        "load": 0.1 + 0 * t,
        "input_volts": 12.0 + 0 * t,
        "temp": 30.0 + 0 * t,
        "goal_position": 0.6 * np.sin(3 * t),
        "torque_enable": np.ones(n, bool),
    } | columns
    return [{k: v[j].item() for k, v in whole.items() if v is not None} for j in range(n)]


def write(path, rows=None, **facts):
    path.write_text(
        json.dumps(
            {
                **{k: v for k, v in (FACTS | facts).items() if v is not None},
                "entries": entries() if rows is None else rows,
            }
        )
    )
    return path


def codes(log):
    return [f.code for f in log.findings]


def test_a_clean_recording(tmp_path):
    (log,) = read(write(tmp_path / "clean.json"))
    assert log.name == "clean"
    assert log.bench == Pendulum(mass=0.5, length=0.1, arm_mass=0.02)
    assert log.settings == {"drive.proportional": 8.0, "drive.supply": 12.0}
    assert set(log.signals) == {"position", "velocity", "supply", "temperature", "position_target", "enabled"}
    assert codes(log) == []
    assert np.array_equal(log.time, 0.005 * np.arange(200))
    assert "channel 'load' not used: not recognised" in log.conversions
    assert "kp 8 is drive.proportional" in log.conversions


def test_what_is_told_comes_first(tmp_path):
    path = write(tmp_path / "a.json", mass=None)
    (log,) = read(
        path,
        bench=FreeShaft(),
        settings={"drive.supply": 11.0},
        between=(0.1, 0.5),
        map="position=position[deg],-1",
    )
    assert isinstance(log.bench, FreeShaft)
    assert log.settings == {"drive.proportional": 8.0, "drive.supply": 11.0}
    assert log.time[0] >= 0.1
    assert log.time[-1] <= 0.5
    assert codes(log) == []
    (whole,) = read(path)
    assert codes(whole) == ["bench_missing"]
    assert whole.bench is None
    assert np.allclose(log["position"], -np.radians(whole.between(0.1, 0.5)["position"]))


@pytest.mark.parametrize(("factor", "unit"), [(1, "V"), (10, "dV"), (1000, "mV")])
def test_the_supply_finds_its_unit_from_vin(tmp_path, factor, unit):
    volts = 12.0 + 0.3 * np.sin(np.arange(200))
    (log,) = read(write(tmp_path / "a.json", entries(input_volts=factor * volts)))
    assert np.allclose(log["supply"], volts)
    assert f"channel 'input_volts' read as supply in {unit}" in log.conversions
    assert codes(log) == ([] if unit == "V" else ["supply_scaled"])


@pytest.mark.parametrize("vin", [None, 3.0])
def test_a_supply_of_unknown_unit_is_left_out_and_named(tmp_path, vin):
    (log,) = read(write(tmp_path / "a.json", vin=vin))
    assert "supply" not in log
    assert "supply_unclear" in codes(log)
    (log,) = read(write(tmp_path / "a.json", vin=vin), map="supply=input_volts[V]")
    assert log["supply"][0] == 12.0


def test_missing_arm_mass_and_gain_are_named(tmp_path):
    (log,) = read(write(tmp_path / "a.json", arm_mass=None, kp=None))
    assert codes(log) == ["kp_missing", "arm_mass_missing"]
    assert log.settings == {"drive.supply": 12.0}


def test_irregular_times_are_kept_to_the_last_bit(tmp_path):
    t = np.cumsum(np.random.default_rng(1).uniform(0.004, 0.009, 200))
    (log,) = read(write(tmp_path / "a.json", entries(timestamp=t)))
    assert np.array_equal(log.time, t)
    assert any("times kept as recorded" in text for text in log.conversions)


def test_repeated_and_backward_times_are_dropped_and_named(tmp_path):
    t = 0.005 * np.arange(200)
    t[50] = t[49]
    t[100] = t[90]
    t[101] = t[91]
    (log,) = read(write(tmp_path / "a.json", entries(timestamp=t)))
    assert len(log) == 197
    assert np.all(np.diff(log.time) > 0)
    assert codes(log) == ["duplicate_times", "backward_times"]
    assert (
        "1 of 200 samples repeat a time, first at entry 50 (0.245 s); of each time the first sample is kept"
        in log.conversions
    )
    assert (
        "time runs backwards at entry 100 (0.495 s, then 0.45 s); 2 of 200 samples are dropped"
        in log.conversions
    )


def test_a_clock_that_starts_again_is_an_error(tmp_path):
    t = np.concatenate([0.005 * np.arange(100), 0.005 * np.arange(100)])
    with pytest.raises(
        BackemfError,
        match=r"runs backwards at entry 100 \(0.495 s, then 0 s\) and stays behind for 99 of 200 samples",
    ):
        read(write(tmp_path / "a.json", entries(timestamp=t)))


@pytest.mark.parametrize("start", [0.0, -math.pi])
def test_a_wrapped_counter_is_unwrapped_with_its_target(tmp_path, start):
    t = 0.005 * np.arange(600)
    true, goal = 6.0 * t - 1.0, 6.0 * t - 0.9

    def wrap(q):
        return np.mod(q - start, 2 * math.pi) + start

    (log,) = read(
        write(tmp_path / "a.json", entries(600, timestamp=t, position=wrap(true), goal_position=wrap(goal)))
    )
    assert codes(log) == ["wrapped_position"]
    assert np.ptp(log["position"] - true) < 1e-9
    assert np.ptp(log["position_target"] - goal) < 1e-9
    assert any("unwrapped, and its target with it" in text for text in log.conversions)


def test_a_target_that_wrapped_before_the_start_is_in_the_same_turn(tmp_path):
    t = 0.005 * np.arange(600)
    true, goal = 6.0 * t + 6.2, 6.0 * t + 6.3
    turn = 2 * math.pi
    (log,) = read(
        write(
            tmp_path / "a.json",
            entries(600, timestamp=t, position=np.mod(true, turn), goal_position=np.mod(goal, turn)),
        )
    )
    assert np.allclose(log["position_target"] - log["position"], 0.1)
    (log,) = read(
        write(tmp_path / "a.json", entries(600, timestamp=t, position=np.mod(true, turn), goal_position=goal))
    )
    assert np.array_equal(log["position_target"], goal)
    assert any("its target does not wrap and stays as it is" in text for text in log.conversions)


def test_a_counter_of_whole_counts_wraps_at_its_own_size(tmp_path):
    true = np.cumsum(np.full(400, 300.0))
    (log,) = read(
        write(tmp_path / "a.json", entries(400, position=np.mod(true, 65536))),
        map="position=position[rev],1/4096",
    )
    assert codes(log) == ["wrapped_position"]
    assert np.allclose(log["position"], (true) * 2 * math.pi / 4096)


@pytest.mark.parametrize("jump", [1.0, 3.0, 6.0, 6.2831853])
def test_a_true_step_is_not_unwrapped(tmp_path, jump):
    """A position that steps once and has been elsewhere before is no counter."""
    position = np.concatenate(
        [np.linspace(0, 2.0, 100), np.linspace(2.0, -1.0, 50), -1.0 - jump + np.linspace(0, 0.5, 50)]
    )
    (log,) = read(write(tmp_path / "a.json", entries(position=position)))
    assert codes(log) == []
    assert np.array_equal(log["position"], position)


def test_torque_switched_off_half_way(tmp_path):
    on = np.arange(200) < 120
    (log,) = read(write(tmp_path / "a.json", entries(torque_enable=on)))
    assert codes(log) == ["torque_off"]
    assert np.array_equal(log["enabled"], on.astype(float))
    assert "torque is off for 40 % of the samples, first at 0.6 s" in log.conversions


def test_channels_that_are_zero_throughout_were_not_recorded(tmp_path):
    (log,) = read(
        write(tmp_path / "a.json", entries(load=np.zeros(200), temp=np.zeros(200), input_volts=np.zeros(200)))
    )
    assert codes(log) == ["not_recorded"]
    assert "load, input_volts, temp: 0 throughout, so not recorded; left out" in log.conversions
    assert "temperature" not in log
    (log,) = read(write(tmp_path / "b.json", entries(temp=np.zeros(200))), map="temperature=temp[degC]")
    assert not log["temperature"].any()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"timestamp": None}, "the entries have no 'timestamp'; they have: position, speed"),
        ({"position": None}, "the entries have no 'position'; they have: timestamp, speed"),
        (
            {"goal_position": None},
            "the entries have no 'goal_position' or other command, and torque is not off throughout",
        ),
    ],
)
def test_essential_keys(tmp_path, columns, message):
    with pytest.raises(BackemfError, match=message):
        read(write(tmp_path / "a.json", entries(**columns)))


def test_a_fall_needs_no_goal(tmp_path):
    (log,) = read(write(tmp_path / "a.json", entries(goal_position=None, torque_enable=np.zeros(200, bool))))
    assert "position_target" not in log


def test_keys_that_some_entries_lack(tmp_path):
    rows = entries()
    del rows[7]["speed"], rows[9]["speed"]
    (log,) = read(write(tmp_path / "a.json", rows))
    assert codes(log) == ["missing_key"]
    assert "2 of 200 entries have no 'speed', first entry 7" in log.conversions
    assert len(log.signals["velocity"].time) == 198
    assert np.isnan(log["velocity"][[7, 9]]).all()
    del rows[11]["position"]
    with pytest.raises(
        BackemfError,
        match=r"a.json: entry 11 has no 'position' \(1 of 200 entries\); expected it in every entry",
    ):
        read(write(tmp_path / "a.json", rows))


def test_a_time_that_is_no_number(tmp_path):
    t = 0.005 * np.arange(200)
    t[33] = math.nan
    with pytest.raises(BackemfError, match=r"the time is not a number at entry 33 \(1 of 200 samples\)"):
        read(write(tmp_path / "a.json", entries(timestamp=t)))


def test_text_where_a_number_should_be(tmp_path):
    rows = entries()
    rows[5]["position"] = "lost"
    path = write(tmp_path / "a.json", rows)
    with pytest.raises(BackemfError) as caught:
        read(path)
    assert str(caught.value) == f"{path}: entry 5, 'position' is 'lost'; expected a number"


def test_facts_that_are_no_numbers(tmp_path):
    with pytest.raises(BackemfError, match="'mass' is 'heavy'; expected a number"):
        read(write(tmp_path / "a.json", mass="heavy"))
    with pytest.raises(BackemfError, match=r"a.json: bench.mass is -1 kg; expected at least 0"):
        read(write(tmp_path / "a.json", mass=-1))


def test_plain_json_by_columns_rows_and_groups(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"t": [0, 1, 2], "angle": [10, 20, 30], "note": "hello", "kp": 3}))
    (log,) = read(path, map="position=angle[deg]")
    assert np.allclose(log["position"], np.radians([10, 20, 30]))
    assert "single values, not signals: note = 'hello', kp = 3" in log.conversions
    path.write_text(json.dumps([{"time": 0.1 * k, "pos": [k, 2 * k], "mode": "run"} for k in range(5)]))
    (log,) = read(path, map=["position=pos.1[rad]", "none=pos.0"])
    assert np.array_equal(log["position"], [0, 2, 4, 6, 8])
    path.write_text(
        json.dumps(
            {
                "state": [{"t": k, "q": k} for k in range(5)],
                "input": [{"t": k / 2, "u": k} for k in range(10)],
            }
        )
    )
    (log,) = read(path, map=["position=state.q[rad]@state.t", "voltage_target=input.u[V]@input.t"])
    assert len(log.signals["voltage_target"].time) == 10
    assert np.array_equal(log["voltage_target"], [0, 2, 4, 6, 8])


def test_a_value_may_cross_the_edge_of_the_window(tmp_path, monkeypatch):
    path = write(tmp_path / "a.json")
    (whole,) = read(path)
    for chunk in (7, 64, 1000):
        monkeypatch.setattr(json_file, "_CHUNK", chunk)
        (log,) = read(path)
        assert np.array_equal(log["position"], whole["position"])


def test_utf16_json(tmp_path):
    path = write(tmp_path / "a.json")
    path.write_text(path.read_text(), encoding="utf-16")
    assert len(read(path)[0]) == 200


YAML = """
mass: 0.5
length: 0.1
kp: 8
vin: 12
entries:
  - {timestamp: 0.0, position: 1e-3, goal_position: 0.1, torque_enable: true}
  - {timestamp: 0.1, position: 0.2, goal_position: 0.1, torque_enable: false}
"""


@pytest.fixture
def yaml():
    try:
        import yaml
    except ImportError:
        unavailable("pyyaml, of the extra 'logs',")
    return yaml


@pytest.mark.usefixtures("yaml")
def test_yaml_of_the_same_shapes(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(YAML)
    (log,) = read(path)
    assert log.bench == Pendulum(mass=0.5, length=0.1)
    assert np.array_equal(log["position"], [1e-3, 0.2])
    path.write_text("t: [0, 1, 2]\nq: [1, 2, 3]\n")
    (log,) = read(path, map="position=q[deg]")
    assert np.allclose(log["position"], np.radians([1, 2, 3]))


@pytest.mark.usefixtures("yaml")
def test_hostile_yaml_does_nothing(tmp_path):
    path, trace = tmp_path / "a.yaml", tmp_path / "trace"
    path.write_text(f"t: [0, 1]\nq: !!python/object/apply:os.system ['touch {trace}']\n")
    with pytest.raises(
        BackemfError,
        match=r"a.yaml: not plain YAML at line 2, column 4: could not determine a constructor for the tag",
    ):
        read(path)
    assert not trace.exists()
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"] + [
        f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 30)
    ]
    path.write_text("\n".join(levels))
    with pytest.raises(BackemfError, match="its parts repeat each other"):
        read(path)
    path.write_text("t: [0, 1\nq: }")
    with pytest.raises(BackemfError, match="not plain YAML at line 2"):
        read(path)


def test_other_names_for_the_essential_keys_can_be_told(tmp_path):
    rows = [
        {"clock": e["timestamp"], "encoder": e["position"], "asked": e["goal_position"]} for e in entries()
    ]
    with pytest.raises(
        BackemfError,
        match=(
            r"no channel is recognised as a signal|the entries have no 'timestamp'; they have: clock,"
            r" encoder, asked"
        ),
    ):
        read(write(tmp_path / "a.json", rows))
    (log,) = read(
        write(tmp_path / "a.json", rows),
        map=["time=clock[s]", "position=encoder[rad]", "position_target=asked[rad]"],
    )
    assert log.bench == Pendulum(mass=0.5, length=0.1, arm_mass=0.02)


def test_a_step_of_a_few_counts_is_no_wrap(tmp_path):
    """250 of 4096 counts between two samples is a quick servo, not a counter of 8 bits."""
    counts = np.concatenate([np.zeros(20), 250 + np.tile([0.0, 3.0], 40), np.zeros(20)])
    (log,) = read(
        write(tmp_path / "a.json", entries(120, position=counts)), map="position=position[rev],1/4096"
    )
    assert codes(log) == []
