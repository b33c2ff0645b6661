"""What to record next: the commands that tell what a check found to be missing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MORE = "more.json"
"""The file of motions that the first command writes and the second plays."""


def commands(
    start: str, logs: Sequence[Any], verdict: Any, *, friction: str | None, sets: Sequence[str] | None
) -> list[str]:
    """Command lines that record what these logs do not tell; none where they tell everything, or where a
    position is not what was asked for."""
    missing = [p.path for p in verdict.parameters if not p.determined]
    early = [log for log in logs if any(f.code == "ended_early" for f in log.findings)]
    first = next((log for log in logs if log.bench is not None and "position_target" in log), None)
    if first is None or not (missing or early) or first.bench.locked or first.bench.series:
        return []
    bench = ["--bench", typed(first.bench)]
    where = _where(first)
    if not missing:  # the same command as before plays what did not end
        return [_line("record", *where, "--motions", "PLAN", *bench, "-o", _folder(early[0]))]
    words = ["plan", start, *bench]
    words += ["--target", ",".join(missing)] if len(missing) < len(verdict.parameters) else []
    words += ["--friction", friction] if friction else []
    words += [word for one in sets or () for word in ("--set", one)]
    gain = first.settings.get("drive.proportional")
    if gain is not None and not any(one.startswith("drive.proportional") for one in sets or ()):
        words += ["--set", f"drive.proportional={gain:g}"]
    words += [] if "current" in first else ["--no-current"]
    folder = _folder(first)
    return [_line(*words, "-o", MORE), _line("record", *where, "--motions", MORE, *bench, "-o", folder)]


def typed(bench: Any) -> str:
    """A bench as `--bench` takes it."""
    import dataclasses

    from ...logs.benches import bench_name

    name = bench_name(bench)
    told = []
    for f in dataclasses.fields(bench):
        value = getattr(bench, f.name)
        if "unit" in f.metadata and value is not None and value != f.default:
            unit = f.metadata["unit"].replace(" ", "*")
            told.append(f"{f.name}={value:.6g}{'' if unit == '1' else unit}")
    return " ".join([name, *told])


def _line(*words: str) -> str:
    return shlex.join(["backemf", *words])


def _folder(log: Any) -> str:
    return str(Path(log.source).parent) if log.source else "logs"


def _where(log: Any) -> list[str]:
    """The bus, port and ids that a log of `backemf record` was recorded on; names to fill in for others."""
    head: dict[str, Any] = {}
    if str(log.source).endswith(".jsonl"):
        try:
            with Path(log.source).open(encoding="utf-8", errors="replace") as file:
                read = json.loads(file.readline())
            head = read if isinstance(read, dict) else {}
        except (OSError, ValueError):
            head = {}
    joints = [one for one in head.get("joints", ()) if isinstance(one, dict) and {"name", "id"} <= one.keys()]
    ids = ",".join(
        str(one["id"]) if str(one["id"]) == one["name"] else f"{one['name']}={one['id']}" for one in joints
    )
    words = ["--bus", str(head.get("bus", "BUS")), "--port", str(head.get("port", "PORT"))]
    return words + (["--ids", ids] if ids else [])
