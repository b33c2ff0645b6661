"""WPILOG and SysId's JSON: written, read, split into runs; broken files say where."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from backemf.errors import BackemfError
from backemf.kits.frc import sysid_json, wpilog
from backemf.logs.recording import ReadError
from backemf.logs.to_log import to_log

from ...conftest import unavailable


def sysid_log(path, *, shuffle=False, strip=False):
    """Two runs of one test and one of another, positions in rotations."""
    t = np.arange(0, 1, 0.02)
    logged = {"sysid-test-state-arm": ("string", "", [])}
    for name, unit in (
        ("voltage-pivot-arm", "Volt"),
        ("position-pivot-arm", "Rotation"),
        ("velocity-pivot-arm", "Rotation per Second"),
    ):
        logged[name] = ("double", unit, [])
    for k, test in enumerate(("quasistatic-forward", "quasistatic-forward", "dynamic-reverse")):
        start = 10.0 * (k + 1)
        logged["sysid-test-state-arm"][2].extend([(start, test), (start + 1.0, "none")])
        for name, values in (("voltage", t), ("position", t**2), ("velocity", np.floor(10 * t) / 5)):
            rows = [(start + x, float(v)) for x, v in zip(t, values, strict=True)]
            if strip:
                rows = [row for i, row in enumerate(rows) if i == 0 or row[1] != rows[i - 1][1]]
            logged[f"{name}-pivot-arm"][2].extend(rows[::-1] if shuffle else rows)
    return wpilog.write_wpilog(path, logged, extra="made for a test")


@pytest.mark.parametrize("shuffle", [False, True])
def test_states_split_a_log_into_runs_whatever_the_order_of_records(tmp_path, shuffle):
    path = sysid_log(tmp_path / "arm.wpilog", shuffle=shuffle)
    assert wpilog.can_read(path, path.read_bytes()[:64])
    runs = wpilog.entries(path)
    assert [r.name.split()[0] for r in runs] == [
        "quasistatic-forward",
        "quasistatic-forward",
        "dynamic-reverse",
    ]
    log = to_log(runs[1])
    assert set(log.signals) == {"voltage", "position", "velocity"}
    assert log["position"][-1] == pytest.approx(2 * np.pi * 0.98**2)
    assert log.time[0] == pytest.approx(20.0)


def test_a_log_whose_repeats_were_stripped_keeps_each_signal_on_its_own_clock(tmp_path):
    log = to_log(wpilog.entries(sysid_log(tmp_path / "arm.wpilog", strip=True))[0])
    assert len(log.signals["velocity"].time) == 10
    assert len(log.signals["position"].time) == 50


def test_every_type_comes_back(tmp_path):
    logged = {
        "flag": ("boolean", "", [(1.0, True), (2.0, False)]),
        "count": ("int64", "", [(1.0, -(2**40)), (300.0, 7)]),
        "small": ("float", "", [(1.0, 0.5)]),
        "pair": ("double[]", '{"unit": "m"}', [(1.0, [1.0, 2.0]), (2.0, [3.0, 4.0])]),
        "word": ("string", "", [(1.0, "grün")]),
    }
    path = wpilog.write_wpilog(tmp_path / "a.wpilog", logged)
    series = {e.name: e for e in wpilog.read_entries(path)}
    assert series["count"].values == [-(2.0**40), 7.0]
    assert series["word"].values == ["grün"]
    assert series["pair"].values[1] == (3.0, 4.0)
    names = {c.name: c for c in wpilog.entries(path)[0].channels}
    assert names["pair.1"].high == 4.0
    assert names["pair.0"].unit == "m"
    with pytest.raises(BackemfError, match="exists"):
        wpilog.write_wpilog(path, logged)


def test_ids_may_be_used_again_and_metadata_set_later(tmp_path):
    def start(number, name, type_):
        return wpilog._record(
            0,
            0,
            b"\x00"
            + struct.pack("<I", number)
            + b"".join(struct.pack("<I", len(x)) + x for x in (name, type_, b"")),
        )

    body = start(1, b"a", b"double") + wpilog._record(1, 10, struct.pack("<d", 1.0))
    body += wpilog._record(0, 0, b"\x02" + struct.pack("<II", 1, 4) + b"Volt") + wpilog._record(
        0, 0, b"\x01" + struct.pack("<I", 1)
    )
    body += (
        start(1, b"b", b"int64") + wpilog._record(1, 20, struct.pack("<q", 2)) + wpilog._record(9, 20, b"?")
    )
    path = tmp_path / "ids.wpilog"
    path.write_bytes(
        b"WPILOG" + struct.pack("<HI", 0x0100, 0) + body + b"\x7f\x01"
    )  # and a record that was cut off
    a, b = wpilog.read_entries(path)
    assert (a.name, a.metadata, a.values, b.name, b.values) == ("a", "Volt", [1.0], "b", [2.0])


@pytest.mark.parametrize(
    ("metadata", "unit"),
    [
        ("Volt", "V"),
        ("Rotation per Second", "rev/s"),
        ("Meter", "m"),
        ("Foot per Second", "ft/s"),
        ('{"unit":"rad/s"}', "rad/s"),
        ("", ""),
        ("{x", ""),
        ("furlong", ""),
    ],
)
def test_units_of_metadata(metadata, unit):
    assert wpilog.unit_of(metadata) == unit


def test_makers_formats_name_their_converter_and_broken_files_say_why(tmp_path):
    for suffix, words in ((".hoot", "owlet"), (".revlog", "@rev-robotics/revlog-converter")):
        path = tmp_path / f"a{suffix}"
        path.write_bytes(b"\x00\x01")
        assert wpilog.can_read(path, b"\x00\x01")
        with pytest.raises(ReadError, match=words):
            wpilog.entries(path)
    bad = tmp_path / "bad.wpilog"
    bad.write_bytes(b"WPILOG" + struct.pack("<HI", 0x0200, 0))
    with pytest.raises(ReadError, match=r"version 2\.0"):
        wpilog.entries(bad)
    sized = tmp_path / "size.wpilog"
    wpilog.write_wpilog(sized, {"x": ("double", "", [])})
    sized.write_bytes(sized.read_bytes() + wpilog._record(1, 5, b"abc"))
    with pytest.raises(ReadError, match="3 bytes"):
        wpilog.entries(sized)


def theirs(path):
    """name -> (type, metadata, [(time, value), ...]) as robotpy-wpiutil reads a log."""
    try:
        from wpiutil.log import DataLogReader  # pyright: ignore[reportMissingImports]  # a peer
    except ImportError:
        unavailable("robotpy-wpiutil")
        raise
    getters = {
        "boolean": "getBoolean",
        "int64": "getInteger",
        "float": "getFloat",
        "double": "getDouble",
        "string": "getString",
        "json": "getString",
    }
    getters |= {
        f"{name}[]": f"{getters[name]}Array" for name in ("boolean", "int64", "float", "double", "string")
    } | {"raw": "getRaw"}
    reader = DataLogReader(str(path))
    assert reader.isValid()
    open_, begun = {}, {}
    for record in reader:
        if record.isStart():
            started = record.getStartData()
            open_[started.entry] = begun.setdefault((started.name, started.type), [started.metadata, []])
            open_[started.entry].append(started.type)
        elif record.isFinish():
            open_.pop(record.getFinishEntry())
        elif record.isSetMetadata():
            told = record.getSetMetadataData()
            open_[told.entry][0] = told.metadata
        elif record.getEntry() in open_:
            kind = open_[record.getEntry()][2]
            value = getattr(record, getters[kind])()
            value = bytes(value) if kind == "raw" else tuple(value) if kind.endswith("[]") else value
            open_[record.getEntry()][1].append((record.getTimestamp(), value))
    return {key: (metadata, records) for key, (metadata, records, *_) in begun.items()}


def assert_read_alike(path):
    mine, other = wpilog.read_entries(path), theirs(path)
    assert {(e.name, e.type) for e in mine} == set(other)
    for entry in mine:
        metadata, records = other[entry.name, entry.type]
        assert entry.metadata == metadata
        assert [round(t * 1e6) for t in entry.times] == [t for t, _ in records]
        assert list(entry.values) == [value for _, value in records]


def test_wpiutil_reads_the_same(tmp_path):
    rng = np.random.default_rng(0)
    logged = {
        "flag": ("boolean", "", [(1.0, True), (2.0, False)]),
        "count": ("int64", "", [(3.0, -(2**40)), (0.5, 7), (300.0, 0)]),  # out of order
        "small": ("float", "", [(1.0, 0.5)]),
        "number": (
            "double",
            '{"unit": "m"}',
            [(float(t), float(v)) for t, v in zip(rng.permutation(50), rng.normal(size=50), strict=True)],
        ),
        "flags": ("boolean[]", "", [(1.0, (True, False, True)), (2.0, ())]),
        "counts": ("int64[]", "", [(1.0, (1, -2))]),
        "smalls": ("float[]", "", [(1.0, (0.25, -1.0))]),
        "pair": ("double[]", "", [(1.0, (1.0, 2.0))]),
        "word": ("string", "", [(1.0, "grün"), (2.0, "")]),
        "words": ("string[]", "", [(1.0, ("a", "ß", ""))]),
        "note": ("json", "", [(1.0, "{}")]),
        "bytes": ("raw", "", [(1.0, b"\x00\xff")]),
        **{f"many/{i}": ("double", "", [(float(i), 1.0)]) for i in range(300)},  # ids of two bytes
    }
    assert_read_alike(wpilog.write_wpilog(tmp_path / "all.wpilog", logged, extra="made for a test"))
    assert_read_alike(sysid_log(tmp_path / "shuffled.wpilog", shuffle=True))


def test_wpiutil_reads_the_same_where_ids_are_used_again(tmp_path):
    def start(number, name, type_, metadata=b""):
        return wpilog._record(
            0,
            0,
            b"\x00"
            + struct.pack("<I", number)
            + b"".join(struct.pack("<I", len(x)) + x for x in (name, type_, metadata)),
        )

    body = (
        start(1, b"a", b"double", b"Volt")
        + start(2, b"c", b"int64")
        + wpilog._record(1, 50, struct.pack("<d", 1.0))
    )
    body += wpilog._record(0, 60, b"\x02" + struct.pack("<II", 1, 4) + b"Amps") + wpilog._record(
        1, 10, struct.pack("<d", 2.0)
    )
    body += (
        wpilog._record(0, 70, b"\x01" + struct.pack("<I", 1))
        + start(1, b"b", b"int64")
        + wpilog._record(1, 80, struct.pack("<q", -3))
    )
    body += (
        wpilog._record(2, 90, struct.pack("<q", 4))
        + wpilog._record(0, 95, b"\x01" + struct.pack("<I", 1))
        + start(1, b"a", b"double", b"Volt")
    )
    body += wpilog._record(1, 2**33, struct.pack("<d", 5.0))
    path = tmp_path / "ids.wpilog"
    path.write_bytes(b"WPILOG" + struct.pack("<HI", 0x0100, 0) + body)
    a = next(e for e in wpilog.read_entries(path) if e.name == "a")
    assert a.values == [1.0, 2.0, 5.0]
    assert a.in_order()[1] == [2.0, 1.0, 5.0]
    mine = {
        (e.name, e.type): [(round(t * 1e6), v) for t, v in zip(e.times, e.values, strict=True)]
        for e in wpilog.read_entries(path)
    }
    assert mine == {key: records for key, (_, records) in theirs(path).items()}


def test_sysid_json_simple_and_drivetrain(tmp_path):
    t = np.arange(0, 1, 0.02)
    simple = {
        "slow-forward": np.stack([t, t, t**2, 2 * t], axis=1).tolist(),
        "units": "Feet",
        "unitsPerRotation": 2.0,
        "sysid": True,
        "test": "Elevator",
    }
    path = tmp_path / "s.json"
    path.write_text(json.dumps(simple))
    assert sysid_json.can_read(path, path.read_bytes()[:4096])
    (log,) = [to_log(r) for r in sysid_json.entries(path)]
    assert log.motion == "linear"
    assert log["velocity"][-1] == pytest.approx(0.98 * 2 * 2 * 0.3048)
    turn = np.stack([t, -t, t, -t, t, -t, t, t, t], axis=1).tolist()
    path.write_text(json.dumps({"fast-forward": turn, "units": "Meters", "unitsPerRotation": 0.5}))
    assert [r.name.split(" (")[0] for r in sysid_json.entries(path)] == [
        "dynamic-forward left turning",
        "dynamic-forward right turning",
        "dynamic-forward angular",
    ]
    for content, words in (
        ({"units": "Cubits", "fast-forward": turn}, "Cubits"),
        ({"fast-forward": [[1, 2]]}, "expected 4, or 9"),
        ({"slow-forward": [[0.0] * 10], "test": "Drivetrain"}, "as frc-characterization wrote .* as a CSV"),
        ({"sysid": 1}, "no rows"),
    ):
        path.write_text(json.dumps(content))
        with pytest.raises(ReadError, match=words):
            sysid_json.entries(path)


def test_sysid_json_has_its_columns_as_they_are_written(tmp_path):
    """Volts as they are, motion by the size of a turn, the gyro in radians; half of right less left turns."""
    t, path = np.arange(0, 1, 0.02), tmp_path / "drive.json"
    table = {"slow-backward": (1, -3, 5, 1, 2, 3, 4, 6, 7), "fast-forward": (1, 3, 5, 1, 2, 3, 4, 6, 7)}
    rows = {test: np.outer(t, columns).tolist() for test, columns in table.items()}
    path.write_text(json.dumps(rows | {"units": "Feet", "unitsPerRotation": -0.5}))
    for r in sysid_json.entries(path):
        columns = {
            "quasistatic-reverse left turning (drive)": (-3, -0.5, -1.5),
            "quasistatic-reverse right turning (drive)": (5, -1, -2),
            "quasistatic-reverse angular (drive)": (4, 6, 7),
            "dynamic-forward left (drive)": (3, -0.5, -1.5),
            "dynamic-forward right (drive)": (5, -1, -2),
        }[r.name]
        way = "rad" if "angular" in r.name else "ft"
        assert [c.unit for c in r.channels] == ["s", "V", way, f"{way}/s"]
        np.testing.assert_allclose([c.values for c in r.channels[1:]], np.outer(columns, t))
    assert sysid_json.travel_per_turn(path) == 0.5 * 0.3048
