"""Killed at any moment, by any means: the torque goes off, and no sample but the last is lost."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import backemf as be
from backemf.codec import plain
from backemf.kits.recorder.reader import SLOT, RecordingJournal, lines
from backemf.planning.motions import Motions

from ..conftest import needed_mounts, unavailable
from .rig import BENCH, hold, started, tapped, torque, until, virtual

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
KILLS = int(os.environ.get("BACKEMF_KILLS", "4"))
"""A fixed sample; `make proofs` asks for 200."""


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def stacks(process: subprocess.Popen[str]) -> str:
    """Where a recorder and its guardian stand; ends both."""
    for pid in (*children(process.pid), process.pid):
        os.kill(pid, signal.SIGABRT)  # faulthandler writes what each thread is doing
        time.sleep(0.5)
    return process.communicate(timeout=20)[1]


LATE = re.compile(r"servo 1 (?:does not answer|answers, but not)")
"""What a recorder says, and then ends, where the busy machine let the virtual servo answer too late."""


def recording(words: tuple[str, ...], log: Path) -> subprocess.Popen[str]:
    """A recorder that has begun its log; started again where the servo's process was too late to answer."""
    for _ in range(10):
        process = started("record", *words, "-o", str(log.parent), "--yes", stderr=subprocess.PIPE)
        try:
            until(lambda process=process: log.exists() or process.poll() is not None, "the recording")
        except AssertionError as waited:
            raise AssertionError(f"{waited}; {stacks(process)}") from None
        if log.exists():
            return process
        error = process.communicate()[1]
        assert LATE.search(error), error
    raise AssertionError(f"nothing was recorded in ten attempts; {error}")


@pytest.fixture(scope="module")
def servo():
    with virtual() as port:
        yield port


def whole(path) -> int:
    """Opens a log that ended early, and counts its samples against the lines that are in the file."""
    content = path.read_bytes()
    samples = sum(line.startswith(b'["s"') for line in content[: content.rfind(b"\n") + 1].split(b"\n"))
    _, end, rows = lines(path)
    assert sum(row[0] == "s" for row in rows) == samples
    assert end.get("ended") != "complete"
    if samples:
        (log,) = be.read(str(path))
        assert len(log) == samples
        assert [f.code for f in log.findings if f.code == "ended_early"]
    return samples


def all_but_the_last(path, passed: list[tuple[float, ...]]) -> None:
    """Compares a log with what went over the wire: every reply is in it, except the last, and except those
    that the recorder itself counted as lost."""
    _, _, rows = lines(path)
    samples = [tuple(map(float, row[3:])) for row in rows if row[0] == "s"]
    n_lost = sum(row[0] == "x" for row in rows)
    place, skipped, last = len(passed), 0, 0
    for k, sample in enumerate(reversed(samples)):
        place -= 1
        while place >= 0 and passed[place] != sample:
            place, skipped = place - 1, skipped + 1
        assert place >= 0, f"sample {len(samples) - k} of {len(samples)} was never on the wire"
        last = skipped if k == 0 else last
    assert last <= 1 + n_lost, f"{last} replies came after the last sample of the log"
    assert skipped - last <= n_lost, (
        f"{skipped - last} replies are not in the log, {n_lost} are said to be lost"
    )


def test_a_missing_sample_would_be_seen(tmp_path):
    """What the proof stands on: a log that lacks one row, in its middle or two at its end, is refused."""
    columns = [{"name": "position", "unit": "rad", "factor": 1e-3, "zero": 0.0}]
    joint = {"name": "1", "id": 1, "model": "m", "firmware": "1", "columns": columns}
    passed = [(float(k),) for k in range(8)]
    for name, kept, seen in (
        ("whole", (2, 3, 4, 5, 6, 7), True),
        ("less", (2, 3, 4, 5, 6), True),
        ("hole", (2, 3, 5, 6, 7), False),
        ("short", (2, 3, 4, 5), False),
        ("other", (2, 3, 9), False),
    ):
        journal = RecordingJournal(
            tmp_path / f"{name}.jsonl", {"bus": "feetech", "began": "now", "joints": [joint]}
        )
        for k in kept:
            journal.sample(0.01 * k, 0, (float(k),))
        if seen:
            all_but_the_last(tmp_path / f"{name}.jsonl", passed)
        else:
            with pytest.raises(AssertionError):
                all_but_the_last(tmp_path / f"{name}.jsonl", passed)


@pytest.mark.slow
@linux
@pytest.mark.parametrize("k", range(KILLS))
def test_either_process_may_be_killed_at_any_moment(servo, tmp_path, k):
    rng = random.Random(k)
    hold(60.0).write(tmp_path / "plan.json")
    log = tmp_path / "logs" / "hold.jsonl"
    with tapped(servo) as tap:
        words = ("--bus", "feetech", "--port", tap.port, "--motions", str(tmp_path / "plan.json"))
        process = recording(words, log)
        (guardian,) = children(process.pid)
        time.sleep(rng.uniform(0.0, 1.5))
        victim = guardian if k % 2 else process.pid
        before = os.path.getsize(log)
        os.kill(victim, signal.SIGKILL)
        _, error = process.communicate(timeout=60)
        until(lambda: not alive(guardian), "the guardian's end")
    assert torque(servo) == 0
    assert os.path.getsize(log) >= before, "nothing that was written is lost"
    whole(log)
    all_but_the_last(log, tap.passed)
    if victim == guardian:
        assert process.returncode == 2
        assert "the torque was switched off in its place" in error
        assert "signal 9" in lines(log)[1]["reason"]
    else:
        # where a busy machine ended it first, the torque is off for that reason
        assert lines(log)[1]["ended"] == "early"
        assert lines(log)[1]["reason"]


@pytest.mark.slow
@linux
def test_a_guardian_that_is_frozen_is_ended_and_its_place_taken(servo, tmp_path):
    hold(60.0).write(tmp_path / "plan.json")
    words = ("--bus", "feetech", "--port", servo, "--motions", str(tmp_path / "plan.json"))
    process = started("record", *words, "-o", str(tmp_path / "logs"), "--yes", stderr=subprocess.PIPE)
    log = tmp_path / "logs" / "hold.jsonl"
    until(lambda: log.exists() and b'["s"' in log.read_bytes(), "the first sample")
    (guardian,) = children(process.pid)
    os.kill(guardian, signal.SIGSTOP)
    _, error = process.communicate(timeout=60)
    assert "said nothing for 0.7 s and was ended" in error
    assert torque(servo) == 0
    assert whole(log) > 0


@pytest.mark.slow
@linux
def test_a_program_that_is_frozen_is_noticed_by_its_guardian(servo, tmp_path):
    hold(60.0).write(tmp_path / "plan.json")
    words = ("--bus", "feetech", "--port", servo, "--motions", str(tmp_path / "plan.json"))
    process = started("record", *words, "-o", str(tmp_path / "logs"), "--yes", stderr=subprocess.PIPE)
    log = tmp_path / "logs" / "hold.jsonl"
    until(lambda: log.exists() and b'["s"' in log.read_bytes(), "the first sample")
    os.kill(process.pid, signal.SIGSTOP)
    until(lambda: lines(log)[1]["ended"] == "early", "the end of the motion")
    assert "has said nothing for" in lines(log)[1]["reason"]
    os.kill(process.pid, signal.SIGCONT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "the program that asked for this motion has said nothing" in error
    assert torque(servo) == 0


def test_a_full_disk_ends_it_and_is_said_in_the_log(servo, tmp_path):
    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    hold(60.0).write(tmp_path / "plan.json")
    words = ("--bus", "feetech", "--port", servo, "--motions", str(tmp_path / "plan.json"))
    process = started(
        "record", *words, "-o", str(tmp_path), "--yes", stderr=subprocess.PIPE, preexec_fn=bounded
    )
    _, error = process.communicate(timeout=120)
    assert process.returncode == 2
    assert torque(servo) == 0
    assert "the log cannot be written" in error
    assert "the log cannot be written" in lines(tmp_path / "hold.jsonl")[1]["reason"]
    assert whole(tmp_path / "hold.jsonl") > 50


CRAMPED = 'mount -t tmpfs -o size=32k none "$0" && "$@"; code=$?; cp "$0"/*.jsonl "$0.kept"; exit $code'


@pytest.mark.slow
@linux
def test_a_disk_without_room_ends_it_and_is_said_in_the_log(servo, tmp_path):
    """A disk of 32 kB: what a system says there is another error than that of a bound on files."""
    needed_mounts()
    small = tmp_path / "small"
    small.mkdir()
    hold(60.0).write(tmp_path / "plan.json")
    words = ("--bus", "feetech", "--port", servo, "--motions", str(tmp_path / "plan.json"))
    within = ("unshare", "-rm", "sh", "-c", CRAMPED, str(small))
    process = started("record", *words, "-o", str(small), "--yes", stderr=subprocess.PIPE, within=within)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 2
    assert torque(servo) == 0
    assert "the log cannot be written: No space left on device" in error
    log = tmp_path / "small.kept"
    assert "the log cannot be written" in lines(log)[1]["reason"]
    assert whole(log.rename(tmp_path / "kept.jsonl")) > 50


CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
#include <sys/time.h>
/* the time of day goes back and forth by an hour every 50 ms */
static long jump(void) {
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  struct timespec now; real(CLOCK_MONOTONIC, &now);
  return (now.tv_nsec / 50000000) % 2 ? -3600 : 3600;
}
int clock_gettime(clockid_t which, struct timespec *now) {
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  int code = real(which, now);
  if (which == CLOCK_REALTIME) now->tv_sec += jump();
  return code;
}
time_t time(time_t *to) {
  struct timespec now; clock_gettime(CLOCK_REALTIME, &now);
  if (to) *to = now.tv_sec;
  return now.tv_sec;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec fine; clock_gettime(CLOCK_REALTIME, &fine);
  now->tv_sec = fine.tv_sec; now->tv_usec = fine.tv_nsec / 1000;
  return 0;
}
"""


@linux
def test_a_jump_of_the_time_of_day_changes_nothing(servo, tmp_path):
    """Somebody sets the clock, or a network does: a recording, its guard and its times go on."""
    if shutil.which("gcc") is None:
        unavailable("gcc")
    (tmp_path / "clock.c").write_text(CLOCK)
    library = str(tmp_path / "clock.so")
    words = ["gcc", "-shared", "-fPIC", "-O1", "-o", library, str(tmp_path / "clock.c"), "-ldl"]
    subprocess.run(words, check=True)
    environment = {**os.environ, "LD_PRELOAD": library}
    asked = "import time; a = [(time.time(), time.sleep(0.01))[0] for _ in range(20)]; print(max(a) - min(a))"
    seen = subprocess.run([sys.executable, "-c", asked], env=environment, capture_output=True, check=True)
    assert float(seen.stdout) > 3000, "the clock jumps for whoever asks it"
    hold(2.0).write(tmp_path / "plan.json")
    words = ["--bus", "feetech", "--port", servo, "--motions", str(tmp_path / "plan.json")]
    process = started("record", *words, "-o", str(tmp_path), "--yes", stderr=subprocess.PIPE, preload=library)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    assert torque(servo) == 0
    (log,) = be.read(str(tmp_path / "hold.jsonl"))
    assert log.time[0] >= 0.0
    assert 1.5 < log.time[-1] < 2.5
    assert np.all(np.diff(log.time) > 0)


def test_a_pulled_port_ends_it_and_calls_for_help(tmp_path):
    with virtual() as port:
        hold(60.0).write(tmp_path / "plan.json")
        words = ("--bus", "feetech", "--port", port, "--motions", str(tmp_path / "plan.json"))
        process = started("record", *words, "-o", str(tmp_path), "--yes", stderr=subprocess.PIPE)
        log = tmp_path / "hold.jsonl"
        until(lambda: log.exists() and b'["s"' in log.read_bytes(), "the first sample")
    _, error = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "switch off its supply" in error
    assert whole(log) > 0


def test_what_ended_early_is_kept_and_played_again(servo, tmp_path):
    short = Motions(motions=hold(0.5).motions)
    (tmp_path / "hold.jsonl").write_bytes(
        b'{"backemf_recording": 1, "motion": {}, "joints": []}\n{"ended": null}\n'
    )
    (log,) = be.record(bus="feetech", port=servo, motions=short, to=tmp_path, bench=BENCH, yes=True)
    assert log.source.endswith("hold-2.jsonl")


def test_a_log_opens_wherever_it_was_cut(tmp_path):
    columns = [{"name": "position", "unit": "rad", "factor": 1e-3, "zero": 0.0}]
    joint = {"name": "1", "id": 1, "model": "m", "firmware": "1", "columns": columns}
    head = {"bus": "feetech", "began": "now", "joints": [joint], "bench": plain(BENCH)}
    journal = RecordingJournal(tmp_path / "a.jsonl", head)
    journal.switch(0.0, 0, True)
    journal.goal(0.0, 0, 0.25)
    for k in range(5):
        journal.sample(0.004 * (k + 1), 0, (float(10 * k),))
    content = (tmp_path / "a.jsonl").read_bytes()
    first = content.index(b'["s"')
    for n in range(first, len(content) + 1):
        (tmp_path / "cut.jsonl").write_bytes(content[:n])
        kept = sum(line.startswith(b'["s"') for line in content[:n].split(b"\n")[:-1])
        if kept <= 0:
            with pytest.raises(be.BackemfError, match="ended before the first sample"):
                be.read(str(tmp_path / "cut.jsonl"))
            continue
        (log,) = be.read(str(tmp_path / "cut.jsonl"))
        assert len(log) == kept
        assert list(log["position"]) == [0.01 * k for k in range(kept)]
    journal.end("complete")
    whole_file = (tmp_path / "a.jsonl").read_bytes()
    assert len(whole_file) == len(content), "how it ended had its place from the beginning"
    assert len(whole_file.split(b"\n")[1]) == SLOT - 1
    assert json.loads(whole_file.split(b"\n")[1])["ended"] == "complete"
