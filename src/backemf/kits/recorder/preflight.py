"""What must be right before anything moves: each a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...datasheets import parts
from ...planning.motions import Motion, Motions, SafetyLimits
from ...planning.plan_options import sheet_current
from ...tables import number, table
from .buses import BusServo
from .session import over

SHORT = {
    **{"drive.proportional": "P", "drive.integral": "I", "drive.derivative": "D"},
    **{"drive.newton_metres_per_radian": "k_p", "drive.newton_metre_seconds_per_radian": "k_d"},
}
ROOM = 1.0
"""Beyond what the motions ask, a joint may swing so far unless a limit says otherwise [rad]."""


def reach(motion: Motion, joint: str) -> tuple[float, float] | None:
    """Lowest and highest position that a motion asks of a joint; None where it asks nothing."""
    _, asked = motion.sample(joint)
    return (float(np.min(asked)), float(np.max(asked))) if len(asked) else None


def watch_limits(
    limits: SafetyLimits, motions: Motions, survey: Mapping[str, Any], zero: Any
) -> SafetyLimits:
    """Limits on the position where none are given: what is asked, where the joints are, and some room.

    Args:
        limits: as they are given.
        motions: that will be played.
        survey: what the guardian said of the servos.
        zero: where the joints' zero is, as `zero_of` takes it.

    Returns:
        The limits with both positions [rad], as the joints count.
    """
    if limits.position_low is not None and limits.position_high is not None:
        return limits
    asked = [0.0] if not survey["servos"] else []
    for said in survey["servos"]:
        here = _here(said, zero)
        asked += [] if here is None else [here]
        for motion in motions.motions:
            asked += reach(motion, said["name"]) or ()
    low = limits.position_low if limits.position_low is not None else min(asked) - ROOM
    high = limits.position_high if limits.position_high is not None else max(asked) + ROOM
    return replace(limits, position_low=low, position_high=high)


def sheet_currents(
    limits: SafetyLimits, survey: Mapping[str, Any], start: str | None
) -> tuple[SafetyLimits, str]:
    """Limits on the current of each joint where none are given, by the sheets of its servo's part.

    Args:
        limits: as they are given.
        survey: what the guardian said of the servos.
        start: the part that they are; by what each says of itself and its supply unless given.

    Returns:
        The limits, and a sentence that says where they come from; empty where nothing was added.
    """
    if limits.current is not None:
        return limits, ""
    added, parts_of = dict[str, float](), dict[str, list[str]]()
    for said in survey["servos"]:
        volts = (said["seen"] or {}).get("supply")
        part = _part_of(said["model"], volts, start)
        amperes = None if part is None else sheet_current(parts.sheet(part), volts)
        if part is not None and amperes is not None and said["name"] not in limits.currents:
            added[said["name"]] = amperes
            parts_of.setdefault(f"{amperes:g} A, twice what the sheet of {part} says at stall", []).append(
                said["name"]
            )
    words = "; ".join(f"of {', '.join(names)} at {text}" for text, names in parts_of.items())
    told = f"The current ends a motion {words} (--limit current=... sets another)." if words else ""
    return replace(limits, currents={**limits.currents, **added}), told


def _part_of(model: str, volts: float | None, start: str | None) -> str | None:
    """The part of the catalogue that a servo is; of several of one model, the one of its voltage."""
    if start is not None:
        name = start.partition("/")[0]
        return name if parts.is_part(name) else None
    fitting = [name for name in parts.names() if f"{name}-".startswith(f"{model}-")]
    if volts is None and len(fitting) > 1:
        return None
    return min(fitting, key=lambda name: abs(parts.sheet(name).voltage - (volts or 0.0)), default=None)


def zero_of(zero: Any, seen: Mapping[str, float] | None) -> float:
    """Where a joint's zero is, as its servo counts [rad]: its middle, where it stands, or a number."""
    if zero == "here":
        return float(seen["position"]) if seen else 0.0
    return 0.0 if zero == "middle" else float(zero)


def _here(said: Mapping[str, Any], zero: Any) -> float | None:
    return None if said["seen"] is None else said["seen"]["position"] - zero_of(zero, said["seen"])


def postures(survey: Mapping[str, Any], zero: Any) -> dict[str, float]:
    """Where joints stand, by name [rad]; without those that do not say.

    Args:
        survey: what the guardian said of the servos.
        zero: where the joints' zero is, as `zero_of` takes it.
    """
    rows = {said["name"]: _here(said, zero) for said in survey["servos"]}
    return {name: q for name, q in rows.items() if q is not None}


def problems(
    survey: Mapping[str, Any], motions: Motions, limits: SafetyLimits, zero: Any, port: str
) -> Iterator[str]:
    """Why this should not be played.

    Args:
        survey: what the guardian said of the servos.
        motions: that shall be played.
        limits: as they are given.
        zero: where the joints' zero is, as `zero_of` takes it.
        port: the name of the port.

    Yields:
        A sentence for each reason.
    """
    if survey["noise"]:
        yield (
            f"{survey['noise']} bytes came on {port} without being asked for; expected silence: end the other"
            " program that talks on this bus"
        )
    for id in survey["missing"]:
        yield f"servo {id} does not answer on {port}; {survey['elsewhere']}"
    for said in survey["servos"]:
        name = said["name"]
        yield from said["problems"]
        if said["seen"] is None:
            yield f"servo {said['id']} answers, but does not say where it is; is the bus shared or disturbed?"
            continue
        if said["alarm"]:
            yield f"servo {said['id']} reports {said['alarm']}; switch its supply off and on, and look why"
        broken = over(name, said["seen"], limits, BusServo.of(said))
        if broken:
            yield f"{broken}; nothing is switched on"
        offset = zero_of(zero, said["seen"])
        for motion in motions.motions:
            asked = reach(motion, name)
            if asked is not None:
                yield from _beyond(motion.name, said, asked, offset, limits)


def _beyond(
    motion: str, said: Mapping[str, Any], asked: tuple[float, float], offset: float, limits: SafetyLimits
) -> Iterator[str]:
    (low, high), name, slack = asked, said["name"], said["resolution"]
    least = None if said["low"] is None else said["low"] - offset
    most = None if said["high"] is None else said["high"] - offset
    stored = "stored in the servo, which would clip the goal in silence: widen them there, or ask for less"
    if least is not None and low < least - slack:
        yield f"{motion} asks {name} for {low:.3f} rad, below {least:.3f}, the lower of the limits {stored}"
    if most is not None and high > most + slack:
        yield f"{motion} asks {name} for {high:.3f} rad, above {most:.3f}, the upper of the limits {stored}"
    if limits.position_low is not None and low < limits.position_low:
        yield f"{motion} asks {name} for {low:.3f} rad, below the given limit of {limits.position_low:g}"
    if limits.position_high is not None and high > limits.position_high:
        yield f"{motion} asks {name} for {high:.3f} rad, above the given limit of {limits.position_high:g}"


def briefing(
    survey: Mapping[str, Any],
    motions: Motions,
    limits: SafetyLimits,
    zero: Any,
    places: Mapping[str, tuple[str, bool]],
) -> str:
    """What is there, what will move, within which limits, and where it is written.

    Args:
        survey: what the guardian said of the servos.
        motions: that will be played.
        limits: that will hold.
        zero: where the joints' zero is, as `zero_of` takes it.
        places: motion -> (its log, whether that is done already).

    Returns:
        A text for the person who says whether things may move.
    """
    rows = [_servo_row(said, zero) for said in survey["servos"]]
    text = table(rows, ("joint", "id", "model", "firmware", "gains", "position", "supply", "temperature"))
    moves = []
    for motion in motions.motions:
        spans = [r for said in survey["servos"] if (r := reach(motion, said["name"])) is not None]
        low, high = min((s[0] for s in spans), default=0.0), max((s[1] for s in spans), default=0.0)
        place, done = places[motion.name]
        moves.append(
            (motion.name, f"{motion.duration:g} s", f"{low:.2f} .. {high:.2f} rad", "done" if done else place)
        )
    played = table(moves, ("motion", "lasts", "goes", "log"))
    units = {"velocity": "rad/s", "current": "A", "temperature": "degC", "silence": "s"}
    kept = [
        f"position {number(limits.position_low or 0.0)} .. {number(limits.position_high or 0.0)} rad",
        *(f"{name} {most:g} {unit}" for name, unit in units.items() if (most := getattr(limits, name))),
    ]
    dog = "armed" if survey["watchdog"] else "none: keep a hand at the supply's switch"
    return (
        f"{text}\n\n{played}\n\nThe torque goes off outside of: {', '.join(kept)}.\n"
        f"Each motion starts with a ramp of {limits.approach:g} rad/s from where the joints are, and ends"
        f" there. The servos' own bus watchdog: {dog}."
    )


def _servo_row(said: Mapping[str, Any], zero: Any) -> tuple[Any, ...]:
    """A servo as it says it is, and where it stands."""
    seen, here = said["seen"] or {}, _here(said, zero)
    gains = " ".join(f"{SHORT.get(k, k)} {v:g}" for k, v in said["settings"].items())
    position = "-" if here is None else f"{here:.3f} rad"
    about = (said["name"], said["id"], said["model"], said["firmware"], gains or "-", position)
    return (*about, _value_words(seen, "supply", "V"), _value_words(seen, "temperature", "degC"))


def _value_words(seen: Mapping[str, float], signal: str, unit: str) -> str:
    return f"{seen[signal]:.3g} {unit}" if signal in seen else "-"
