"""`backemf fit --robot`: every joint of a robot, from recordings of what it was told and where it went."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .terminal import answer, keep, working


def fit_robot(
    logs: list[str],
    robot: Path,
    *,
    start: str,
    friction: str | None,
    free: list[str] | None,
    hold_out: list[str] | None,
    map: list[str] | None,
    seed: int,
    share: list[str] | None,
    firmware: str | None,
    gains: Path | None,
    joints: str | None,
    ground: float | None,
    free_inertia: str | None,
    output: Path | None,
    force: bool,
    strict: bool,
    json: bool,
) -> None:
    """Read, fit, print."""
    from ...identify.fit import fit as run
    from ...logs.robot import Robot
    from .identify import best_so_far, only_paths, parse_hold_out
    from .inputs.recordings import read_logs

    keep(output, force)
    described = Robot.read(robot, ground=ground)
    recordings = read_logs(logs, map, not json, robot=described)
    options: dict[str, Any] = {
        "friction": friction,
        "also": free or [],
        "hold_out": parse_hold_out(hold_out),
        "seed": seed,
        "share": only_paths(share) or ["motor"],
        "firmware": firmware,
        "gains": gains,
        "joints": only_paths([joints] if joints else None),
        "free_inertia": share_of(free_inertia),
    }
    with working("fitting", not json) as say:
        fitted = run(start, recordings, progress=best_so_far(say), **options)
    if output is not None:
        fitted.write(output, force=force)
    answer(json, lambda: content(fitted), lambda: text(fitted), fitted.findings, strict, [output])


def share_of(text: str | None) -> float:
    """10% or 0.1 as a share; 0 where nothing was said."""
    from ...errors import InvalidValue

    if text is None:
        return 0.0
    try:
        share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        share = float("nan")
    if not 0.0 < share < 1.0:
        raise InvalidValue(f"--free-inertia is {text!r}; expected a share, as in 10%")
    return share


def content(fitted: Any) -> dict[str, Any]:
    """The keys of `--json`."""
    score = fitted.score
    held = score.held_out
    return {
        "held_out_rms": score.rms if held else None,
        "held_out_rms_free": score.rms_free if held else None,
        "training_rms": None if held else score.rms,
        "share_touched": score.share_touched,
        "friction": fitted.friction,
        "joints": {
            name: {
                "parameters": _numbers(one),
                "rms": score.joints[name],
                "rms_free": score.joints_free[name],
                "training_mae": one.training_mae,
                "held_out_mae": one.held_out_mae,
            }
            for name, one in fitted.joints.items()
        },
        "robot": {
            b.path.removeprefix("robot."): {
                "value": b.value,
                "error": b.error,
                "unit": b.unit,
                "stated": b.stated,
                "told_by": "prior" if b.error > 0.9 * b.tolerance else "data",
            }
            for b in fitted.bench
            if b.path.startswith("robot.")
        },
        "logs": dict(score.logs),
        "ground": None if fitted.robot.ground is None else fitted.robot.ground.to_dict(),
        "ladder": [r.to_dict() for r in fitted.rungs],
        "findings": [f.to_dict() for f in fitted.findings],
        "cpu_s": fitted.cpu_s,
    }


def _numbers(one: Any) -> dict[str, Any]:
    """value, error, unit of every number of a joint, its delay included."""
    rows = {
        path: {
            "value": p.value,
            "error": p.error,
            "error_if_right": p.error_if_right,
            "low": p.low,
            "high": p.high,
            "unit": p.unit,
            "told_by": p.told_by,
        }
        for path, p in one.parameters.items()
    }
    late = {b.path: {"value": b.value, "error": b.error, "unit": b.unit} for b in one.bench}
    return rows | late


def text(fitted: Any) -> str:
    """Scores, then a table of the numbers, shared ones first."""
    from ...tables import number, table

    score = fitted.score
    what = f"recording{'s' * (len(score.logs) > 1)} {'held out' if score.held_out else 'fitted'}"
    head = (
        f"{fitted.robot.name}: {len(fitted.joints)} joints, friction {fitted.friction}. All joints together,"
        f" {len(score.logs)} {what}: {1e3 * score.rms:.3g} mrad RMS, {1e3 * score.rms_free:.3g}"
        f" where nothing touches. {fitted.cpu_s:.2g} s of CPU."
    )
    rows = [
        (name, f"{1e3 * score.joints[name]:.2f}", f"{1e3 * score.joints_free[name]:.2f}")
        for name in fitted.joints
    ]
    scores = table(rows, ("joint", "RMS [mrad]", "in the air"))
    numbers = [
        (name, number(p.value), number(p.error, 2), p.unit, p.told_by)
        for name, p in fitted.parameters.items()
    ]
    numbers += [
        (
            f"{b.group}.{b.path}" if b.group else b.path,
            number(b.value),
            number(b.error, 2),
            b.unit,
            "prior" if b.error > 0.9 * b.tolerance else "data",
        )
        for b in fitted.bench
    ]
    listed = table(numbers, ("parameter", "value", "error", "unit", "told by"))
    tried = [
        (r.friction, r.n_parameters, f"{1e3 * (r.held_out_mae or 0):.2f}", "chosen" if r.chosen else "")
        for r in fitted.rungs
    ]
    ladder = table(tried, ("friction", "numbers", "together [mrad]", "")) if tried else ""
    notes = "\n".join(f"  - {f.code}: {f.text}\n    {f.remedy}" for f in fitted.findings)
    parts = (head, ladder, scores, listed, f"Findings:\n{notes}" if notes else "")
    return "\n\n".join(part for part in parts if part)
