"""A whole recording in one process and on a clock that only the servos and the recorder move: what is written
is what was asked and what the servos did, to the count; and what ends a motion does so in time."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.codec import load
from backemf.datasheets import parts
from backemf.errors import InvalidValue
from backemf.kits.recorder import guardian, recorder, session as sessions
from backemf.kits.recorder.buses import BUSES, board, mit, register_bus
from backemf.kits.recorder.reader import entries, lines
from backemf.kits.recorder.registers import MAPS
from backemf.kits.recorder.virtual import can_bus, serial_line
from backemf.kits.recorder.virtual.firmware import Device
from backemf.kits.recorder.virtual.plants import Faults, VirtualPlant
from backemf.planning.motions import SETTLE, Motion, SafetyLimits, Track

PARTS = {
    "feetech": ("sts3215-7.4v", "feetech-sts", 777),
    "dynamixel": ("xm430-w350", "dynamixel-x", 1020),
    "dynamixel1": ("mx-106", "dynamixel-mx", 320),
    "damiao": ("dm-j4310-2ec", "", 0),
    "robstride": ("robstride-02", "", 0),
    "lines": ("sts3215-7.4v", "", 0),
}
IDS = {3: "elbow", 5: "wrist"}
LIMITS = SafetyLimits(approach=2.0, following=0.15)
WAVE = "chirp amplitude=0.2rad low=0.5Hz high=2Hz duration=1s offset=0.3rad"
MOTION = Motion(
    name="both",
    duration=1.0,
    tracks={
        "elbow": Track(command=WAVE),
        "wrist": Track(times=(0.0, 0.2), positions=(-0.3, -0.4), coast=0.6),
    },
)


class Clock(SimpleNamespace):
    """Instead of `time`: a look at it takes two microseconds, and nobody waits."""

    now = 50.0

    def monotonic(self) -> float:
        self.now += 2e-6
        return self.now

    time = monotonic

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Port:
    """A serial port in memory; some milliseconds pass where nothing comes."""

    baudrate = 1_000_000

    def __init__(self, rig: Rig):
        self.rig, self.sent, self.come = rig, bytearray(), bytearray()
        rig.line._read = lambda seconds: self._taken(self.sent)

    def _taken(self, content: bytearray, n: int = 4096) -> bytes:
        some = bytes(content[:n])
        del content[:n]
        return some

    @property
    def in_waiting(self) -> int:
        return len(self.come)

    def write(self, content: bytes) -> int:
        self.sent += bytes(content)
        return len(content)

    def read(self, n: int) -> bytes:
        self.rig.turn()
        self.rig.clock.now += 0.0 if self.come else 5e-3
        return self._taken(self.come, n)

    def reset_input_buffer(self) -> None:
        self.come.clear()

    def flush(self) -> None:
        """There is nothing to wait for."""

    close = flush


class Rig:
    """Virtual servos and a recorder's bus that is open on them."""

    def __init__(self, name: str, ids: list[int], clock: Clock, faults: tuple[str, ...] = ()):
        part, table, number = PARTS[name]
        self.name, self.clock = name, clock
        self.plant = VirtualPlant(
            parts.part(part).actuator,
            be.bench.Pendulum(mass=0.1, length=0.1),
            len(ids),
            Faults.read(faults),
            whole=not table,
        )
        self.seen: list[tuple[float, list[dict[str, float]]]] = []
        self.asked: list[tuple[float, dict[int, float]]] = []
        if table:
            self.devices = [
                Device(id, k, MAPS[table], number, self.plant, 0.0, 0) for k, id in enumerate(ids)
            ]
            for device in self.devices:
                device.listen_at(1_000_000)
            protocol = "dynamixel2" if name == "dynamixel" else name
            self.line: Any = serial_line.SerialLine(protocol, self.plant, self.devices, 1.0)
        elif name == "lines":
            self.line = serial_line.VirtualBoard(self.plant, 1.0, 0.0, 0)
        else:
            self.line = can_bus.CanLine(name, self.plant, ids, part, 1.0, "")
        self.port: Any = None
        self.bus: Any = self._on_a_wire() if name in ("damiao", "robstride") else self._on_a_terminal()
        ask = self.bus.ask
        self.bus.ask = lambda goals: (self.asked.append((clock.now, dict(goals))), ask(goals))[1]

    def _on_a_terminal(self) -> Any:
        """What is written is there at once, and the line is served whenever the bus reads."""
        bus: Any = BUSES[self.name].connect(self.line.name)
        bus.open()
        if self.name == "lines":
            bus._port.close()
            self.port = bus._port = Port(self)
        else:
            bus._port.ser.close()
            self.port = bus._port.ser = Port(self)
        return bus

    def _on_a_wire(self) -> Any:
        waiting: list[Any] = []
        bus: Any = BUSES[self.name].connect("nowhere", interface="virtual", gains=(20.0, 1.0))
        bus.open()
        heard: list[Any] = []
        self.line._bus = SimpleNamespace(
            recv=lambda seconds: heard.pop(0) if heard else None, send=waiting.append
        )

        def receive(seconds: float) -> Any:
            while heard or not waiting:
                if not heard and not seconds:
                    break
                self.clock.now += 0.0 if heard else seconds
                self.turn()
                if not heard and not waiting:
                    break
            return waiting.pop(0) if waiting else None

        bus._bus.shutdown()
        bus._bus = SimpleNamespace(send=heard.append, recv=receive, shutdown=lambda: None)
        return bus

    def patience(self) -> float:
        """How long a silence the first servo bears by itself [s]; 0: any."""
        if hasattr(self, "devices"):
            dog = self.devices[0].table.watchdog
            return dog[1] * self.devices[0].get(dog[0]) if dog else 0.0
        return self.line.motors[0].timeout if self.name != "lines" else 0.0

    def turn(self) -> None:
        self.line.turn()
        values = [self.plant.sensor_values(k) for k in range(len(self.plant.state))]
        self.seen.append((self.clock.now, values))

    def session(
        self, ids: dict[int, str], limits: SafetyLimits, stopped: Callable[[], str]
    ) -> sessions.Session:
        servos = self.bus.survey(list(ids))
        assert servos.keys() == ids.keys()
        more: dict[str, Any] = {"rate": 100.0, "say": lambda event: None, "stopped": stopped}
        return sessions.Session(
            bus=self.bus, names=ids, servos=servos, offsets=dict.fromkeys(ids, 0.1), limits=limits, **more
        )


@pytest.fixture
def rig(monkeypatch):
    """A rig by the name of its bus, on a clock of its own; its ports are closed in the end."""
    clock, made = Clock(), []
    for module in (sessions, board, mit, register_bus, can_bus, serial_line):
        monkeypatch.setattr(module, "time", clock)
    for sdk in ("dynamixel_sdk", "scservo_sdk"):
        pytest.importorskip(sdk)
        monkeypatch.setattr(sys.modules[f"{sdk}.port_handler"], "time", clock)

    written = SimpleNamespace(
        **vars(os) | {"write": lambda master, content: made[-1].port.come.extend(content)}
    )
    monkeypatch.setattr(serial_line, "os", written)
    monkeypatch.setattr(serial_line, "line_rate", lambda master: made[-1].port.baudrate)

    def make(name: str, ids: list[int], *faults: str) -> Rig:
        made.append(Rig(name, ids, clock, faults))
        return made[-1]

    yield make
    for one in made:
        one.bus.close()
        if one.name not in ("damiao", "robstride"):
            one.line.close()


def play(
    one: Rig,
    path: Path,
    ids: dict[int, str],
    motion: Motion = MOTION,
    limits: SafetyLimits = LIMITS,
    stopped: Callable[[], str] = str,
) -> tuple[dict[str, Any], dict[str, Any], list[Any]]:
    """(what was said in the end, the log's second line, its rows)."""
    session = one.session(ids, limits, stopped)
    rows = [
        {
            **servo.to_dict(),
            "name": ids[id],
            "columns": [c._replace(offset=0.1 * (c.name == "position"))._asdict() for c in servo.columns],
        }
        for id, servo in session.servos.items()
    ]
    done = session.play(motion, path, {"joints": rows, "bus": one.name, "began": "now"})
    _, end, written = lines(path)
    return done, end, written


@pytest.mark.parametrize("name", PARTS)
def test_what_is_written_is_what_was_asked_and_what_the_servos_did(rig, tmp_path, name):
    ids = IDS if name != "lines" else {3: "elbow"}
    one = rig(name, list(ids))
    before = [bytes(d.memory[: d.table.ram]) for d in getattr(one, "devices", ())]
    dogs = set()
    done, end, rows = play(one, tmp_path / "both.jsonl", ids, stopped=lambda: dogs.add(one.patience()) or "")
    wanted = {"dynamixel": 0.2, "damiao": 0.2, "robstride": 0.2}.get(name, 0.0)
    assert [*dogs] == pytest.approx([wanted]), "they stop by themselves after as long a silence"
    assert one.patience() == 0.0
    assert {**end, "joints": done["joints"]} == done
    assert (done["ended"], done["reason"]) == ("complete", "")
    assert [bytes(d.memory[: d.table.ram]) for d in getattr(one, "devices", ())] == before, "as they were"
    assert not any(d.is_awake for d in getattr(one, "devices", ()))
    began = _began(one, rows)
    for k, recording in enumerate(entries(tmp_path / "both.jsonl")):
        id, joint = [*ids.items()][k]
        channel = {c.name: c for c in recording.channels}
        track = MOTION.tracks[joint]
        goals, at = np.asarray(channel["position_target"].values), channel["position_target"].time
        np.testing.assert_allclose(goals, track.at(np.maximum(at - 1e-3, 0.0)), atol=0.02)
        assert goals[0] == pytest.approx(track.at(np.zeros(1))[0], abs=2e-3)
        assert [one.bus.reached_goal(id, q + 0.1) - 0.1 for q in goals] == pytest.approx(goals, abs=1e-5)
        assert np.max(at) < (0.6 if track.coast else 1.0)
        enabled = channel["enabled"]
        assert [*np.asarray(enabled.values)] == ([1.0, 0.0] if track.coast else [1.0])
        assert enabled.time[-1] == pytest.approx(0.6 if track.coast else 0.0, abs=0.015)
        t = channel["position"].time
        ends = np.searchsorted([s for s, _ in one.seen], began + t + 3e-6, side="right")
        for signal in channel.keys() & one.seen[0][1][k].keys():
            said = channel[signal].values + 0.1 * (signal == "position")
            off = [
                min(abs(v[k][signal] - x) for s, v in one.seen[max(end - 12, 0) : end] if s > stamp - 8e-3)
                for x, end, stamp in zip(said, ends, began + t, strict=True)
            ]
            assert np.mean(off) < CLOSE.get(signal, 0.03), signal
        facts, steps = done["joints"][k], np.diff(t)
        assert (facts["samples"], facts["lost"]) == (len(t), 0)
        assert facts["rate"] == pytest.approx(1.0 / np.median(steps), abs=0.01)
        assert facts["rate"] == pytest.approx(100.0, rel=0.05)
        assert facts["jitter"] == pytest.approx(np.std(steps), abs=2e-6)
        assert f"jitter {1e3 * np.std(steps):.2f} ms, 0 replies lost of {len(t)}" in " ".join(recording.notes)
    _check_ways(one, began, ids)


CLOSE = {"position": 2e-3, "velocity": 0.03, "supply": 0.06, "temperature": 0.6}
"""How far a reply may be from what was true in the milliseconds before: by its counts."""


def _check_ways(one: Rig, began: float, ids: dict[int, str]) -> None:
    """There and back the joint that goes farthest has the speed of approach at most, and rests at the end."""
    far = {id: abs(float(MOTION.tracks[joint].at(np.zeros(1))[0]) + 0.1) for id, joint in ids.items()}
    id = max(far, key=lambda id: far[id])
    for way in (
        [(t, goals[id]) for t, goals in one.asked if t < began],
        [(t, goals[id]) for t, goals in one.asked if t > began + MOTION.duration],
    ):
        t, q = np.array(way).T
        moving = np.flatnonzero(np.abs(np.diff(q)) > 1e-4)
        lasted = LIMITS.way_time(np.ptp(q))
        assert t[moving[-1] + 1] - t[moving[0]] == pytest.approx(lasted, abs=0.025)
        assert np.max(np.abs(np.diff(q)[moving] / np.diff(t)[moving])) == pytest.approx(2.0, rel=0.05)
        assert t[-1] - t[moving[-1] + 1] == pytest.approx(SETTLE, abs=0.03)
    assert q[-1] == pytest.approx(one.asked[0][1][id], abs=2e-3), "back where it was"


RAMP = Motion(name="up", duration=1.5, tracks={"elbow": Track(times=(0.0, 0.5), positions=(0.3, 1.0))})


def cut(one: Rig) -> None:
    one.devices[0]._cut()


def fault(**words: Any) -> Callable[[Rig], None]:
    def happens(one: Rig) -> None:
        one.line.faults = one.plant.faults = Faults(**words)
        for device in one.devices:
            device.faults = one.plant.faults

    return happens


@pytest.mark.parametrize(
    ("happens", "reason", "least", "most"),
    [
        (fault(silent=0.0), "has not answered for 0.2", 0.1, 0.4),
        (fault(stuck=0.0), r"elbow is asked for 1.000 rad and stands at 0\.\d+: is it blocked", 0.4, 0.7),
        (cut, "the torque of elbow went off by itself", 0.0, 0.25),
        (fault(hot=64.0), "", 1.0, 3.0),
        (fault(hot=66.0), "elbow is at 66 degC, above its limit of 65", 0.0, 0.03),
        (None, "enough", -0.01, 0.03),
    ],
)
def test_what_goes_wrong_ends_it_in_time_and_is_said(rig, tmp_path, happens, reason, least, most):
    one, at = rig("feetech", list(IDS)), [math.inf]

    def stopped() -> str:
        if math.isinf(at[0]) and one.asked and one.asked[-1][1].get(3, 0.0) > 0.6:
            at[0] = one.clock.now
            if happens is None:
                return "enough"
            happens(one)
        return ""

    done, end, _ = play(one, tmp_path / "both.jsonl", IDS, RAMP, stopped=stopped)
    assert (done["ended"], end["reason"]) == ("early" if reason else "complete", done["reason"])
    assert re.search(reason, done["reason"])
    assert least <= one.asked[-1][0] - at[0] <= most
    assert not any(device.is_awake for device in one.devices) or "answered" in reason
    found = [f.code for f in entries(tmp_path / "both.jsonl")[0].findings]
    assert ("ended_early" in found) == bool(reason)


def _began(one: Rig, rows: list[Any]) -> float:
    """When the motion did, by the first goal of it that was sent."""
    sent = [row for row in rows if row[0] == "g" and row[1] > 0]
    goals = [(t, id, g) for t, said in one.asked for id, g in said.items()]
    place = list(IDS)[sent[0][2]]
    at = next(
        t for t, id, g in goals if id == place and abs(one.bus.reached_goal(id, g) - 0.1 - sent[0][3]) < 1e-6
    )
    return at - sent[0][1]


@pytest.mark.parametrize("name", [name for name in PARTS if name != "lines"])
def test_who_answers_is_found_wherever_it_listens(rig, name):
    last = 15 if name == "damiao" else 32
    one = rig(name, [3, last])
    assert one.bus.scan() == [3, last]
    # what was sent on the first search is not taken for what motors say on the second
    assert one.bus.elsewhere([7]).endswith(f"these ids answer: 3, {last}")
    assert one.bus.survey([3, 7]).keys() == {3}
    assert one.bus.talk() == 0
    if name not in ("damiao", "robstride"):
        began, table = one.clock.now, one.devices[0].table
        (reply,) = one.bus.sample([3])
        around = 11 if name == "dynamixel" else 6  # bytes of a packet beside what it holds, ten bits each
        wire = 1e-5 * (table.block[1] + around) + 2e-6 * one.devices[0].get("return_delay")
        assert reply.time - began == pytest.approx(wire, rel=0.3)
        for device in one.devices:
            device.listen_at(115_200)
        assert one.bus.scan() == []
        assert one.bus.elsewhere([7]) == "at 115200 baud these ids answer: 3, 32; give --baud 115200"
        assert one.port.baudrate == 1_000_000
        one.port.come.extend(b"12345")
        one.bus._clear = lambda: None
        assert one.bus.talk() == 5, "of somebody else"
        del one.bus._clear
    one.line.faults = one.plant.faults = Faults(silent=0.0)
    first = int(name in ("damiao", "robstride"))
    assert one.bus.elsewhere([3]).startswith(f"nobody answers, from id {first} to {last}")


class Beside:
    """A guardian in this process, with a bus that is open already."""

    path, help_needed, played = None, "", 0

    def __init__(self, bus: Any, job: dict[str, Any]):
        self.said: list[dict[str, Any]] = []
        self.session = guardian._survey(bus, job, SimpleNamespace(tell=self.said.append, stop_reason=str))

    def __enter__(self) -> Beside:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing runs on."""

    def hear(self, within: float | None = None) -> dict[str, Any]:
        return self.said.pop(0)

    def send(self, order: dict[str, Any]) -> None:
        if order["do"] == "limits":
            self.session.limits = load(order["limits"], "the limits", SafetyLimits)
            return
        Beside.played += 1
        motion = load(order["motion"], "the motion", Motion)
        done = self.session.play(motion, Path(order["path"]), order["head"])
        self.said.append({"event": "done", "motion": motion.name, **done})


@pytest.mark.parametrize("zero", ["here", 0.25])
def test_a_folder_of_logs_is_what_was_asked_for_and_is_not_recorded_twice(rig, monkeypatch, tmp_path, zero):
    one = rig("feetech", list(IDS))
    for k in range(2):
        one.plant.state[k, 0] = 0.2
    monkeypatch.setattr(recorder, "Guardian", lambda job: Beside(one.bus, job))
    monkeypatch.setattr(Beside, "played", 0)
    off = {"middle": 0.0, "here": one.bus.reached_goal(3, 0.2) if one.bus.survey([3]) else 0.0}.get(
        zero, zero
    )
    motions = be.Motions(motions=(replace(MOTION, duration=0.2), replace(RAMP, duration=0.4)))
    shown: list[str] = []
    bench = be.bench.Pendulum(mass=0.1, length=0.1)
    given: dict[str, Any] = {
        "bus": "feetech",
        "port": "p",
        "motions": motions,
        "to": tmp_path / "logs",
        "bench": bench,
    }
    given |= {
        "ids": {n: id for id, n in IDS.items()},
        "limits": LIMITS,
        "zero": zero,
        "rate": 100.0,
        "show": shown.append,
    }
    assert be.record(**given, dry_run=True) == []
    with pytest.raises(InvalidValue, match="nothing was moved"):
        be.record(**given, confirm=lambda text: False)
    assert Beside.played == 0
    one.plant.state[:, 0] = 0.2  # a hand holds it meanwhile
    logs = be.record(**given, confirm=lambda text: "both" in text)
    assert Beside.played == 2
    assert sorted(p.name for p in (tmp_path / "logs").iterdir()) == ["both.jsonl", "up.jsonl"]
    begin = {"both elbow": 0.3, "both wrist": -0.3, "up elbow": 0.3}
    assert [log.name for log in logs] == [*begin, "up wrist"]
    for log in logs:
        assert log.bench == bench
        if log.name in begin:
            assert log["position_target"][0] == pytest.approx(begin[log.name], abs=2e-3)
    assert len(be.record(**given, yes=True)) == len(logs)
    assert Beside.played == 2, "complete logs are there"
    other = be.Motions(motions=(replace(MOTION, duration=0.3),))
    with pytest.raises(InvalidValue, match="a complete log of another motion"):
        be.record(**{**given, "motions": other}, yes=True)
    head, end, _ = lines(tmp_path / "logs" / "up.jsonl")
    assert (head["bus"], head["port"], head["speed"]) == ("feetech", "p", 1.0)
    assert [(j["name"], j["id"], j["number"]) for j in head["joints"]] == [
        ("elbow", 3, 777),
        ("wrist", 5, 777),
    ]
    assert [c["offset"] for c in head["joints"][0]["columns"]] == pytest.approx(
        [off, 0, 0, 0, 0, 0, 0], abs=2e-3
    )
    assert end["ended"] == "complete"
    seen = [v for t, v in one.seen if t > one.asked[-1][0] - 2.0]
    high = max(v[0]["position"] for v in seen)
    assert high == pytest.approx(0.86 + off, abs=0.12), "the joint counts from its zero"
    assert "0.30 .. 0.86 rad" in shown[-1]
