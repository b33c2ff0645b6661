"""CSV, TSV and the like: headers, units, separators, preambles, encodings, and where a table is broken."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from backemf.errors import BackemfError
from backemf.logs.read import read
from backemf.logs.readers import delimited_text as delimited

PLAIN = "time [ms],angle (deg),current_mA\n0,0,100\n5,9,200\n10,18,300\n"


def put(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def check(log):
    assert np.allclose(log.time, [0.0, 0.005, 0.010])
    assert np.allclose(log["position"], np.radians([0, 9, 18]))
    assert np.allclose(log["current"], [0.1, 0.2, 0.3])


SHAPES = {
    "commas": PLAIN,
    "tabs": PLAIN.replace(",", "\t"),
    "bars": PLAIN.replace(",", "|"),
    "semicolons": PLAIN.replace(",", ";"),
    "blanks": "time[ms] angle (deg)  current_mA\n0 0 100\n5 9  200\n10 18 300\n",
    "decimal comma": "time [ms];angle (deg);current_mA\n0,0;0,0;100,0\n5,0;9,0;200,0\n10,0;18,0;300,0\n",
    "decimal comma and tabs": (
        "time [ms]\tangle (deg)\tcurrent_mA\n0,0\t0,0\t100,0\n5,0\t9,0\t200,0\n10,0\t18,0\t300,0\n"
    ),
    "decimal comma and blanks": (
        "time[ms] angle(deg) current_mA\n0,0 0,0 100,0\n5,0 9,0 200,0\n10,0 18,0 300,0\n"
    ),
    "quotes": '"time [ms]","angle (deg)","current_mA"\n"0","0","100"\n"5","9","200"\n"10","18","300"\n',
    "separator at the end": "time [ms],angle (deg),current_mA,\n0,0,100,\n5,9,200,\n10,18,300,\n",
    "comment as header": "# time [ms], angle (deg), current_mA\n0,0,100\n5,9,200\n10,18,300\n",
    "comments and blank lines": "# made by hand\n\n" + PLAIN.replace("5,9,200\n", "5,9,200\n\n# halfway\n"),
    "windows lines": PLAIN.replace("\n", "\r\n"),
    "excel": "sep=;\n" + PLAIN.replace(",", ";"),
    "units below": "time,angle,current\nms,deg,mA\n0,0,100\n5,9,200\n10,18,300\n",
    "units below in brackets": "Time,Angle,Current\n(ms),(deg),(mA)\n\n0,0,100\n5,9,200\n10,18,300\n",
    "preamble": "Model,MSO24\nFirmware,1.2.3\nSample Interval,5.0E-3,s\nRecord Length,3\n,,\n" + PLAIN,
    "a column of text": "time [ms],angle (deg),state,current_mA\n0,0,idle,100\n5,9,run,200\n10,18,run,300\n",
    "no end of line": PLAIN.rstrip("\n"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_that_mean_the_same(tmp_path, shape):
    check(read(put(tmp_path / "a.csv", SHAPES[shape]))[0])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(tmp_path, encoding):
    text = "time [\u00b5s];angle [\u00b0];current [mA]\n0;0;100\n5000;9;200\n10000;18;300\n"
    check(read(put(tmp_path / "a.txt", text, encoding))[0])


def test_what_was_done_is_recorded(tmp_path):
    (log,) = read(put(tmp_path / "a.csv", "made by,hand\n" + PLAIN.replace("current_mA", "foo")))
    assert log.conversions == (
        "columns separated by commas, utf-8",
        "1 lines above the header skipped",
        "channel 'foo' not used: not recognised",
        "channel 'time [ms]' read as time in ms",
        "channel 'angle (deg)' read as position in deg",
    )


def test_a_unit_that_is_not_stated_is_assumed_and_named(tmp_path):
    (log,) = read(put(tmp_path / "a.csv", "t,theta\n0,0\n1,90\n2,180\n"))
    assert [f.code for f in log.findings] == ["unit_assumed"]
    assert (
        log.findings[0].text
        == "'theta' states no unit and is taken for position in rad; its span of 180 would be 28.6 turns"
    )
    (log,) = read(put(tmp_path / "a.csv", "t,theta\n0,0\n1,90\n2,180\n"), map="position=theta[deg]")
    assert log.findings == ()
    assert log["position"][-1] == pytest.approx(math.pi)


def test_a_table_without_header_needs_a_mapping(tmp_path):
    path = put(tmp_path / "a.csv", "0,1\n1,2\n2,3\n")
    with pytest.raises(
        BackemfError,
        match=(
            r"no channel is recognised as a signal; there are: '1', '2'; the file has no header, so its"
            r" columns are numbered; say"
        ),
    ):
        read(path)
    (log,) = read(path, map=["time=1[s]", "position=2[deg]"])
    assert np.allclose(log["position"], np.radians([1, 2, 3]))
    assert "no header: columns are numbered from 1" in log.conversions


def test_a_table_without_time_takes_its_step(tmp_path):
    path = put(tmp_path / "a.csv", "angle (deg),i\n1,2\n2,3\n3,4\n")
    with pytest.raises(
        BackemfError,
        match=r"no channel is recognised as the time; there are: 'angle \(deg\)', 'i'; say which",
    ):
        read(path)
    assert np.allclose(read(path, map="time=row[ms],5")[0].time, [0, 0.005, 0.010])
    (log,) = read(put(tmp_path / "one.csv", "1.5\n2.5\n3.5\n"), map=["time=row[ms],5", "position=1[rad]"])
    assert np.array_equal(log["position"], [1.5, 2.5, 3.5])


AMBIGUOUS = [
    (
        "t,q,command\n",
        "'command' may be position_target, velocity_target, torque_target, voltage_target or current_target",
    ),
    ("t,q,v\n", r"'v' may be velocity or voltage: write velocity=v\[unit\], or none=v"),
    ("t,q,pwm\n", r"'pwm' may be voltage or voltage_target: write voltage=pwm\[unit\], or none=pwm"),
    (
        "t,pos,angle\n",
        "'pos' and 'angle' may each be position: write position=pos, and none=angle for what is not wanted",
    ),
    ("time,timestamp,q\n", "'time' and 'timestamp' may each be time"),
    (
        "t,position [counts],i\n",
        (
            r"'position \[counts\]' is in 'counts', which backemf cannot convert: write"
            r" position=position\[rev\],1/4096"
        ),
    ),
]


@pytest.mark.parametrize(("header", "message"), AMBIGUOUS, ids=[h.strip() for h, _ in AMBIGUOUS])
def test_what_is_not_clear_must_be_said(tmp_path, header, message):
    with pytest.raises(BackemfError, match=message):
        read(put(tmp_path / "a.csv", header + "0,1,2\n1,2,3\n2,3,4\n"))


def test_what_was_asked_for_can_be_said(tmp_path):
    path = put(tmp_path / "a.csv", "t,q,v,pos,u\n0,1,2,3,1\n1,2,3,4,0\n")
    (log,) = read(
        path,
        map=[
            "position=q[rev],1/4096",
            "velocity=v[rpm],-1",
            "none=pos",
            "voltage=none",
            "voltage_target=u[V],2+0.5",
        ],
    )
    assert np.allclose(log["position"], np.array([1, 2]) * 2 * math.pi / 4096)
    assert np.allclose(log["velocity"], -np.array([2, 3]) * 2 * math.pi / 60)
    assert np.allclose(log["voltage_target"], [2.5, 0.5])
    assert "position=q[rev],0.000244140625 as told" in log.conversions
    assert "channel 'pos' not used: left out as told" in log.conversions
    with pytest.raises(BackemfError, match=r"a.csv: unknown channel 'w'; valid: pos, q, t, u, v"):
        read(path, map="velocity=w")


def test_linear_axes(tmp_path):
    (log,) = read(
        put(tmp_path / "a.csv", "t [s],position [mm],velocity [mm/s],torque [N]\n0,1,2,3\n1,2,3,4\n")
    )
    assert log.motion == "linear"
    assert np.allclose(log["position"], [1e-3, 2e-3])
    with pytest.raises(
        BackemfError, match="velocity is in rpm, but position is in mm: an axis either turns or slides"
    ):
        read(put(tmp_path / "a.csv", "t [s],position [mm],velocity [rpm]\n0,1,2\n1,2,3\n"))


def test_pairs_of_columns_with_their_own_clocks(tmp_path):
    text = "t1,q,t2,i\n0,0,0.0,1\n1,1,0.4,2\n2,2,0.8,3\n,,1.2,4\n"
    (log,) = read(
        put(tmp_path / "a.csv", text),
        map=["none=t1", "time=t2[s]", "current=i[A]", "position=none", "none=q"],
    )
    assert len(log) == 4
    with pytest.raises(BackemfError, match=r"the time is not a number at line 5 \(1 of 4 samples\)"):
        read(put(tmp_path / "a.csv", text), map=["position=q[rad]@t1", "current=i[A]@t2"])


def test_empty_cells_are_samples_that_were_not_taken(tmp_path):
    (log,) = read(put(tmp_path / "a.csv", "t,angle [rad],i [A]\n0,1,\n1,,5\n2,3,nan\n3,4,6\n"))
    assert np.array_equal(log.signals["current"].time, [1, 3])
    assert np.array_equal(log.time, [0, 2, 3])
    assert np.array_equal(np.isnan(log["current"]), [True, True, False])
    assert "current: 2 of 4 samples are empty and left out" in log.conversions


def test_true_and_false(tmp_path):
    (log,) = read(put(tmp_path / "a.csv", "t,angle [rad],enabled\n0,1,True\n1,2,False\n"))
    assert np.array_equal(log["enabled"], [1, 0])
    assert [f.code for f in log.findings] == ["torque_off"]


@pytest.mark.parametrize(("unit", "scale"), [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
def test_dates_are_counted_from_the_first_sample(tmp_path, unit, scale):
    times = 1.7e9 + np.array([0.0, 0.25, 0.5])
    (log,) = read(
        put(
            tmp_path / "a.csv",
            "timestamp,angle [rad]\n" + "".join(f"{int(scale * t) if scale > 1 else t},1\n" for t in times),
        )
    )
    assert np.allclose(log.time, [0, 0.25, 0.5], atol=1e-6)
    assert f"channel 'timestamp' read as time in {unit}, as it states no unit" in log.conversions
    assert "time counted from the first sample, at 1700000000.000000 s" in log.conversions


BROKEN = [
    ("t,q\n0,1\n1,2\n2,3,4\n3,4\n", "a.csv: line 4 has 3 cells, but line 1, the header, has 2: '2,3,4'"),
    ("t,q,i\n0,1,1\n1,2\n2,3,1\n3,4,1\n", "a.csv: line 3 has 2 cells, but line 1, the header, has 3: '1,2'"),
    ("t,q\n0,1\n1,oops\n2,3\n3,4\n", "a.csv: line 3, column 'q': 'oops' is not a number"),
    (
        "t,q\n0,1\nnan,2\n2,3\n",
        "a.csv: the time is not a number at line 3 (1 of 3 samples); expected a finite time for every sample",
    ),
    (
        "# x\nt,q\n0,1\n\n# y\n1,2\n,3\n",
        "a.csv: the time is not a number at line 7 (1 of 3 samples); expected a finite time for every sample",
    ),
    (
        "t,q\n",
        "a.csv: no rows of numbers found; expected a table in text, the last line looked at (1) is 't,q'",
    ),
    (
        "once upon a time\nthere was a motor\n",
        (
            "a.csv: no rows of numbers found; expected a table in text, the last line looked at (2) is 'there"
            " was a motor'"
        ),
    ),
    ("", "a.csv: the file is empty"),
    ("t,q\n0,\n1,\n", "a.csv: nothing was recorded: "),
]


@pytest.mark.parametrize(("text", "message"), BROKEN, ids=[str(k) for k in range(len(BROKEN))])
def test_a_broken_table_says_where(tmp_path, text, message):
    with pytest.raises(BackemfError) as caught:
        read(put(tmp_path / "a.csv", text))
    assert message in str(caught.value)


def test_a_last_line_that_is_cut_off_is_left_out_and_named(tmp_path):
    (log,) = read(put(tmp_path / "a.csv", PLAIN + "15,2"))
    check(log)
    assert [f.code for f in log.findings] == ["cut_off"]


def test_blocks_join_without_a_seam(tmp_path, monkeypatch):
    rows = "".join(
        f"{0.001 * k:.3f},{math.sin(k):.9f},{k % 7}\n" if k != 33 else f"{0.001 * k:.3f},,{k % 7}\n"
        for k in range(100)
    )
    path = put(tmp_path / "a.csv", "t,angle [rad],other\n" + rows)
    (whole,) = read(path)
    monkeypatch.setattr(delimited, "BLOCK", 7)
    seen = []
    (log,) = read(path, progress=lambda name, fraction: seen.append((name, fraction)))
    assert np.array_equal(log["position"], whole["position"])
    assert len(log) == 99
    assert seen[-1] == ("a.csv", 1.0)
    assert np.all(np.diff([fraction for _, fraction in seen]) >= 0)


@pytest.mark.slow
def test_a_large_table_reads_in_bounded_memory(tmp_path):
    """200 MB of text become two signals of 2.2 million samples;
    the columns that are not used take no memory."""
    rows = "".join(
        f"{{}}{k:05d},{math.sin(k):.6f},{k % 100}.5," + ",".join("0.123456" for _ in range(7)) + "\n"
        for k in range(50_000)
    )
    path = tmp_path / "large.csv"
    with path.open("w") as file:
        file.write("time [ms],angle [rad],current [A]," + ",".join(f"x{j}" for j in range(7)) + "\n")
        k = 0
        while file.tell() < 200e6:
            k += 1
            file.write(rows.replace("{}", str(k)))
    code = f"""
import resource
from backemf.logs.read import read
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
seen = []
(log,) = read({str(path)!r}, progress=lambda name, fraction: seen.append(fraction))
print(len(log), len(seen), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    n, reports, more = map(int, done.stdout.split())
    assert n == k * 50_000
    assert reports > 50
    assert more / (1024 if sys.platform != "darwin" else 1024**2) < 300, "memory [MB] beyond the start"


def test_dates_as_text_are_named(tmp_path):
    path = put(tmp_path / "a.csv", "time,angle [rad],x\n2024-05-01 12:00:00,1,1\n2024-05-01 12:00:01,2,1\n")
    with pytest.raises(
        BackemfError,
        match=(
            r"no channel is recognised as the time; there are: 'angle \[rad\]', 'x'; text, not numbers:"
            r" 'time'; say which"
        ),
    ):
        read(path)


def test_a_unit_that_cannot_be_converted_does_not_matter_where_another_channel_is_told(tmp_path):
    path = put(tmp_path / "a.csv", "t,position [counts],q,i\n0,1,1,\n1,2,2,\n")
    (log,) = read(path, map=["position=q[rad]", "current=none"])
    assert (
        "channel 'position [counts]' not used: its signal is mapped to another channel, or left out"
        in log.conversions
    )
    with pytest.raises(BackemfError, match="channel 'i', mapped to current, is empty"):
        read(path, map=["position=q[rad]", "current=i[A]"])


def test_logs_of_one_name_are_told_apart(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.csv").write_text(
            "time [s],position [rad]\n" + "".join(f"{0.01 * k},{0.1 * k}\n" for k in range(20))
        )
    files = [tmp_path / "a" / "x.csv", tmp_path / "b" / "x.csv"]
    assert [log.name for log in read(*files)] == ["a/x", "b/x"]
    assert [log.name for log in read(files[0])] == ["x"]
