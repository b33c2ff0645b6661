"""What `backemf record` writes, read and written: a line of facts, a line on how it ended, then a line for
each reply, goal and switch of the torque; whole up to the last line, whenever it ended.

Every row is written as it comes, and how it ended has its place from the beginning, so that even a full disk
can be told of.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...bounds import check_file, short_lines
from ...codec import load
from ...errors import BackemfError
from ...findings import Finding, finding
from ...logs.recording import Channel, Keep, ReadError, Recording, Report, check_table, everything, silent

FORMAT = "backemf recording"
SUFFIXES = (".jsonl",)
MARK = "backemf_recording"
VERSION = 1
SAMPLE, GOAL, SWITCH, LOST = "s", "g", "e", "x"
"""How a row begins; then come its time, the joint's number, and what it says."""
SIGNALS = ("position", "velocity", "current", "torque", "temperature", "supply", "voltage")
MANY_LOST = 0.01
"""Share of lost replies from which it is worth a finding."""


def can_read(path: Path, head: bytes) -> bool:
    return head.startswith(b'{"' + MARK.encode())


def entries(path: Path, keep: Keep = everything, report: Report = silent) -> list[Recording]:
    """A recording for each joint."""
    head, end, rows = lines(path)
    report(0.5)
    try:
        bench = None if head.get("bench") is None else load(head["bench"], f"{path}, bench")
        joints = head["joints"]
        check_table(0, len(joints))
        own: dict[int, list[Any]] = {}
        for row in rows:
            own.setdefault(row[2], []).append(row)
        made = [_joint(path, head, end, joint, own.get(j, []), bench) for j, joint in enumerate(joints)]
    except BackemfError:
        raise
    except (KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise ReadError(f"not a whole recording: {type(error).__name__} {error}") from None
    there = [one for one in made if one is not None]
    if not there:
        raise ReadError(f"it ended before the first sample; {ending(end)[1]}")
    return there


def lines(path: Path) -> tuple[dict[str, Any], dict[str, Any], list[list[Any]]]:
    """(facts, how it ended, rows); a last line that is not whole is left out."""
    with check_file(path).open(encoding="utf-8", errors="replace") as file:
        rows = short_lines(file)
        first, second = next(rows, ""), next(rows, "")
        try:
            head, end = _object(first), _object(second if second.endswith("\n") else "{}")
        except ValueError as error:
            raise ReadError(f"its first two lines are damaged: {error}") from None
        if head.get(MARK) != VERSION:
            raise ReadError(f"a recording of version {head.get(MARK)!r:.20}; this release reads {VERSION}")
        return head, end, list(_rows(rows))


def _object(line: str) -> dict[str, Any]:
    """The JSON object of a line; an empty one where it is something else."""
    content = json.loads(line)
    return content if isinstance(content, dict) else {}


def _rows(lines: Iterator[str]) -> Iterator[list[Any]]:
    for number, line in enumerate(lines, 3):
        check_table(number, 16)  # lists of Python take more than numbers
        if not line.endswith("\n"):
            return
        try:
            row: list[Any] = json.loads(line)
        except ValueError:
            raise ReadError(f"line {number} is damaged: {line[:40]!r}") from None
        match row:
            case [_, _, int(), *_]:
                yield row
            case _:
                raise ReadError(f"line {number} is {line[:40]!r}; expected a row of a recording")


def ending(end: dict[str, Any]) -> tuple[bool, str]:
    """(whether it is complete, why it ended)."""
    if end.get("ended") == "complete":
        return True, "complete"
    return False, str(end.get("reason") or "the recorder was killed, and could not say why")


def _joint(
    path: Path, head: dict[str, Any], end: dict[str, Any], joint: dict[str, Any], mine: list[Any], bench: Any
) -> Recording | None:
    samples = [row for row in mine if row[0] == SAMPLE]
    if not samples:
        return None
    table = np.array([[row[1], *row[3:]] for row in samples], float)
    if table.ndim != 2 or table.shape[1] != 1 + len(joint["columns"]):
        raise ReadError(f"rows of joint {joint['name']} have {table.shape} numbers")
    _, first = np.unique(table[:, 0], return_index=True)
    table = table[first]
    time = table[:, 0]
    channels = [*_columns(joint, table), *_steps(mine)]
    n_lost = sum(row[0] == LOST for row in mine)
    single = len(head["joints"]) == 1
    return Recording.of(
        path,
        FORMAT,
        channels,
        name=path.stem if single else f"{path.stem} {joint['name']}",
        joint="" if joint["name"] == str(joint["id"]) else joint["name"],
        bench=bench,
        settings={k: float(v) for k, v in joint.get("settings", {}).items() if v},
        notes=tuple(_notes(head, joint, end, time, n_lost)),
        findings=tuple(_findings(end, time, n_lost)),
        where="sample {}".format,
    )


def _columns(joint: dict[str, Any], table: np.ndarray) -> Iterator[Channel]:
    """What a servo said, in SI, by its own clock."""
    for k, column in enumerate(joint["columns"]):
        values = column["factor"] * (table[:, 1 + k] - column["zero"]) - column.get("offset", 0.0)
        known = column["name"] in SIGNALS
        yield Channel.of(
            column["name"],
            values,
            unit=column["unit"] if known else "",
            signal=column["name"] if known else "none",
            time=table[:, 0],
        )


def _steps(rows: list[list[Any]]) -> Iterator[Channel]:
    """What it was told and when its torque was switched."""
    for kind, name, unit in ((GOAL, "position_target", "rad"), (SWITCH, "enabled", "")):
        steps = np.array([row[1:2] + row[3:4] for row in rows if row[0] == kind], float)
        if len(steps):
            _, last = np.unique(steps[::-1, 0], return_index=True)
            steps = steps[::-1][last]
            yield Channel.of(name, steps[:, 1], unit=unit, signal=name, time=steps[:, 0])


def _notes(
    head: dict[str, Any], joint: dict[str, Any], end: dict[str, Any], time: np.ndarray, n_lost: int
) -> Iterator[str]:
    servo = f"{joint['model']}, firmware {joint['firmware']}, id {joint['id']} on {head['bus']}"
    yield f"recorded from {servo}, {head['began']}"
    if len(time) > 1:
        steps = np.diff(time)
        rate, jitter = 1.0 / float(np.median(steps)), 1e3 * float(np.std(steps))
        yield f"{rate:.0f} Hz, jitter {jitter:.2f} ms, {n_lost} replies lost of {len(time) + n_lost}"
    if head.get("speed", 1.0) != 1.0:
        yield f"a virtual servo whose time ran {head['speed']:g} times as fast"
    yield f"it ended: {ending(end)[1]}"


def _findings(end: dict[str, Any], time: np.ndarray, n_lost: int) -> Iterator[Finding]:
    complete, why = ending(end)
    if not complete:
        text = f"the recording ended early, after {time[-1]:.4g} s: {why}"
        yield finding("ended_early", text, "use it as it is, or record this motion again", seconds=time[-1])
    share = n_lost / (n_lost + len(time))
    if share > MANY_LOST:
        text = f"{100 * share:.2g} % of the replies are lost ({n_lost} of {n_lost + len(time)})"
        remedy = "shorten the cables, lower the baud rate, or look for a second master on the bus"
        yield finding("lost_replies", text, remedy, lost=n_lost, share=share)


SLOT = 1024
"""Bytes that are kept for how it ended."""


class RecordingJournal:
    """One log file. Rows go to the disk one by one: what is killed loses at most the row being written."""

    def __init__(self, path: Path, head: dict[str, Any]):
        self.path = path
        whole = {MARK: VERSION, **head}
        first = (json.dumps(whole) + "\n").encode()
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            raise BackemfError(f"{path} exists; expected a new name") from None
        self._slot = len(first)
        self._write(first + _slot({"ended": None}))
        os.fsync(self._file)

    def _write(self, content: bytes) -> None:
        while content:
            content = content[os.write(self._file, content) :]

    def _row(self, kind: str, time: float, joint: int, content: str) -> None:
        self._write(f'["{kind}",{time:.6f},{joint},{content}]\n'.encode())

    def sample(self, time: float, joint: int, values: tuple[float, ...]) -> None:
        """A reply.

        Args:
            time: when it was there, since the motion began [s].
            joint: which of the head's joints.
            values: as the joint's columns have them stored.
        """
        self._row(SAMPLE, time, joint, ",".join(f"{value:.7g}" for value in values))

    def goal(self, time: float, joint: int, position: float) -> None:
        """What a joint is asked from now on.

        Args:
            time: when it was sent, since the motion began [s].
            joint: which of the head's joints.
            position: at the output, as the joint counts [rad].
        """
        self._row(GOAL, time, joint, f"{position:.7g}")

    def switch(self, time: float, joint: int, on: bool) -> None:
        """The torque of a joint, from now on.

        Args:
            time: when it was switched, since the motion began [s].
            joint: which of the head's joints.
            on: whether it is on.
        """
        self._row(SWITCH, time, joint, str(int(on)))

    def lose(self, time: float, joint: int, why: str) -> None:
        """A reply that did not come.

        Args:
            time: when that was clear, since the motion began [s].
            joint: which of the head's joints.
            why: in words.
        """
        self._row(LOST, time, joint, json.dumps(why))

    def end(self, ended: str, reason: str = "", **facts: Any) -> None:
        """Say how it ended, in its own place, and close.

        Args:
            ended: "complete" or "early".
            reason: in words, where it ended early.
            facts: what else is known at the end.
        """
        with contextlib.suppress(OSError):
            say(self._file, self._slot, {"ended": ended, "reason": reason, **facts})
        with contextlib.suppress(OSError):
            os.fsync(self._file)
        with contextlib.suppress(OSError):
            os.close(self._file)


def _slot(end: dict[str, Any]) -> bytes:
    text = json.dumps(end).encode()
    if len(text) >= SLOT:
        text = json.dumps({**end, "reason": str(end.get("reason", ""))[:300], "joints": []}).encode()
    return text[: SLOT - 1].ljust(SLOT - 1) + b"\n"


def say(file: int, place: int, end: dict[str, Any]) -> None:
    os.pwrite(file, _slot(end), place)


def close_for(path: Path, reason: str) -> None:
    """Say why a recording ended whose writer is gone."""
    with contextlib.suppress(OSError, ValueError), path.open("r+b") as file:
        first, second = file.readline(), file.readline()
        if len(second) == SLOT and json.loads(second).get("ended") is None:
            say(file.fileno(), len(first), {"ended": "early", "reason": reason})
