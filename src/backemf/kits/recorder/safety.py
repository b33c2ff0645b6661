"""Limits that hold while something moves, and the sentences that say which was broken."""

from __future__ import annotations

from collections.abc import Mapping

from ...planning.motions import SafetyLimits
from .buses.bus import Reply, Servo


def violation(
    name: str, servo: Servo, reply: Reply, limits: SafetyLimits, offset: float, *, enabled: bool = True
) -> str:
    """Which limit a reply breaks, in words; empty where none. Motion is judged as the joint counts it."""
    seen = servo.seen(reply.values)
    if reply.alarm and enabled:
        return f"{name} reports {reply.alarm}"
    q = seen["position"] - offset
    if limits.position_low is not None and q < limits.position_low:
        return f"{name} is at {q:.3f} rad, below its limit of {limits.position_low:g}"
    if limits.position_high is not None and q > limits.position_high:
        return f"{name} is at {q:.3f} rad, above its limit of {limits.position_high:g}"
    return over(name, seen, limits, servo)


def over(name: str, seen: Mapping[str, float], limits: SafetyLimits, servo: Servo) -> str:
    """The limits that do not depend on where it is."""
    for signal, most, unit in (("velocity", limits.velocity, "rad/s"), ("current", limits.current, "A")):
        if most is not None and signal in seen and abs(seen[signal]) > most:
            return f"{name} has a {signal} of {seen[signal]:.3g} {unit}, above its limit of {most:g}"
    hottest = [t for t in (limits.temperature, servo.temperature_limit) if t]
    if hottest and seen.get("temperature", 0.0) > min(hottest):
        return f"{name} is at {seen['temperature']:.0f} degC, above its limit of {min(hottest):g}"
    low, high = servo.supply or (None, None)
    low = limits.supply_low if limits.supply_low is not None else low
    high = limits.supply_high if limits.supply_high is not None else high
    volts = seen.get("supply")
    if volts is not None and low is not None and volts < low:
        return f"the supply of {name} is {volts:.1f} V, below its limit of {low:g}"
    if volts is not None and high is not None and volts > high:
        return f"the supply of {name} is {volts:.1f} V, above its limit of {high:g}"
    return ""
