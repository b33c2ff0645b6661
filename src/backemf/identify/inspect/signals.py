"""Signals that are wrong as a whole: turned signs, commands logged too coarsely, units that are off by a
factor; and what limits a recording and cannot be mended: its clock, encoder, supply, too little motion."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...findings import Finding, finding
from ...logs.log import LONG_GAP, Log, noise_of
from ...physics import steady
from ...physics.actuator import Actuator
from ...physics.bench import Bench
from ...physics.thermal import COPPER
from .samples import SignalTrack

FAR = 0.06
"""Share of the whole motion within one sample from which on the moment of a jump matters."""
SELDOM = 0.2
"""Share of the samples at which a command may change and still counts as one that jumps and rests."""
TARGETS = ("position_target", "velocity_target", "voltage_target", "torque_target", "current_target")


def followed_signal(log: Log) -> str | None:
    """The first signal that was asked."""
    return next((name for name in TARGETS if name in log), None)


def sign_findings(log: Log) -> Iterator[Finding]:
    """Whether the motion follows what was asked with the right sign:
    the strongest correlation within a short lag."""
    name = followed_signal(log)
    if name is None:
        return
    t, q = log.time, log["position"]
    good = np.isfinite(q) & (log["enabled"] > 0.5 if "enabled" in log else True)
    if good.sum() < 50:
        return
    answer = q if name == "position_target" else np.gradient(np.interp(t, t[good], q[good]), t)
    best = 0.0
    for lag in np.linspace(0.0, 0.15, 16):
        held = log.signals[name].hold_at(t - lag)[good]
        if np.ptp(held) == 0:
            continue
        with np.errstate(invalid="ignore", divide="ignore"):  # of a motion that rests
            c = float(np.corrcoef(held, answer[good])[0, 1])
        best = c if abs(c) > abs(best) else best
    if best <= -0.5:
        text = (
            f"the motion runs against what was asked: {name} and the answer correlate with {best:.2f}; a sign"
            " is inverted."
        )
        yield finding("wrong_sign", text, "turn the sign of the position", correlation=best)


def flag_findings(log: Log) -> Iterator[Finding]:
    """Whether the joint follows what was asked where its torque is said to be off, and not where it is on."""
    if "enabled" not in log or "position_target" not in log:
        return
    track, flag = SignalTrack.of(log), log["enabled"]
    follows = {}
    for name, chosen in (("on", flag[track.places] > 0.5), ("off", flag[track.places] <= 0.5)):
        part = SignalTrack(track.places[chosen], track.time[chosen], track.values[chosen])
        asked = log["position_target"][part.places]
        moves = len(part) > 50 and float(np.ptp(asked)) > 20.0 * track.noise
        follows[name] = _follows(asked, part) if moves else 0.0
    if follows["off"] > 0.8 and follows["on"] < 0.6:
        text = (
            f"the joint follows what was asked where its torque is said to be off (correlation"
            f" {follows['off']:.2f}), and not where it is on ({follows['on']:.2f}): the flag is inverted."
        )
        yield finding(
            "inverted_flag", text, "invert the flag", sure=0.0, off=follows["off"], on=follows["on"]
        )


def stairs(log: Log, name: str) -> np.ndarray:
    """Places at which a command takes its next value, if it comes in steps of several samples each while the
    position is read at every one; none otherwise."""
    asked = log[name]
    changes = np.flatnonzero(np.diff(asked) != 0) + 1
    if len(changes) < 20:
        return np.zeros(0, int)
    runs = np.diff(changes)
    usual = float(np.median(runs))
    ticks = np.abs(runs / usual - np.maximum(np.round(runs / usual), 1.0)) * usual <= 1.0
    steps = np.diff(asked[changes])
    smooth = np.mean(steps[1:] * steps[:-1] > 0)
    small = float(np.percentile(np.abs(steps), 90)) < 0.3 * float(np.ptp(asked))
    regular = usual >= 2 and np.mean(ticks) > 0.9 and np.mean(runs <= 1.5 * usual) > 0.6
    return changes if regular and smooth > 0.7 and small else np.zeros(0, int)


def command_findings(log: Log) -> Iterator[Finding]:
    """A command in steps of several samples: sent so, or only logged so? The model has to say."""
    name = followed_signal(log)
    if name is None:
        return
    changes = stairs(log, name)
    if len(changes):
        step, sample = float(np.median(np.diff(log.time[changes]))), float(np.median(np.diff(log.time)))
        text = (
            f"{name} changes every {1e3 * step:.3g} ms only, where a sample takes {1e3 * sample:.3g} ms:"
            " it was logged more coarsely than it was sent."
        )
        yield finding("coarse_command", text, "draw the command between its changes", sure=0.0, step=step)


def jumps(log: Log, name: str) -> np.ndarray:
    """Samples at which a command jumps, if it does nothing else: few and large changes, rest between them."""
    asked = log[name]
    size = np.abs(np.diff(asked))
    changes = np.flatnonzero(size > 0)
    rests = 0 < len(changes) < SELDOM * len(asked)
    return changes + 1 if rests and np.min(size[changes]) > 0.05 * np.ptp(asked) else np.zeros(0, int)


def jump_findings(log: Log) -> Iterator[Finding]:
    """A command that jumps, known only on the samples of a position that runs far from one to the next."""
    name = followed_signal(log)
    if name is None or name in log.commands or len(log.signals[name].time) > 1.5 * len(log):
        return
    places, track = jumps(log, name), SignalTrack.of(log)
    if not len(places) or len(track) < 20 or not track.span:
        return
    far = float(np.percentile(np.abs(track.steps), 98))
    if far < max(FAR * track.span, 5.0 * track.noise):
        return
    unit = "m" if log.motion == "linear" else "rad"
    text = (
        f"{name} jumps {len(places)} times and is known every {1e3 * track.step:.3g} ms only, in which the"
        f" position runs by up to {far:.2g} {unit}: when it jumped is open by a sample."
    )
    remedy = (
        "name the command as a function of time, with the moments at which it really jumped:"
        f" be.read(..., command=...), or --command {_words(log, name, places)!r}; or record it faster"
    )
    yield finding("coarse_jumps", text, remedy, step=track.step, jumps=float(len(places)), far=far)


def _words(log: Log, name: str, places: np.ndarray) -> str:
    """A command like the one that was sampled, as far as its samples tell."""
    asked, t = log[name], log.time
    levels = np.unique(asked)
    first = float(asked[0])
    if len(levels) != 2 or len(places) < 3:
        return f"step from={first:.5g} to={float(asked[places[0]]):.5g} at={t[places[0]]:.4g}s"
    high = float(levels[levels != first][0])
    rises = places[::2]
    period = float(t[rises[-1]] - t[rises[0]]) / (len(rises) - 1)
    falls = places[1::2]
    n = len(falls)
    share = float(np.mean(t[falls] - t[rises[:n]])) / period
    duty = "" if abs(share - 0.5) < 0.05 else f" duty={share:.2g}"
    return f"square from={first:.5g} to={high:.5g} period={period:.4g}s at={t[rises[0]]:.4g}s{duty}"


RADIANS = {
    "degrees": math.pi / 180.0,
    "encoder_counts": 2.0 * math.pi / 4096.0,
    "milliradians": 1e-3,
    "turns": 2.0 * math.pi,
}
"""What one of each is in radians; encoders of bus servos count 4096 a turn."""
WORDS = {"encoder_counts": "counts of 4096 a turn"}
BEYOND, WITHIN = 3.0, 1.2
"""Times the greatest speed: no motion is faster than the first; read in its unit, it is within the second."""
ALIKE = 1.6
"""Factor within which a servo's travel and what was asked agree, where only their units differ."""
FAR_OFF = 4.0 * math.pi
"""Travel [rad] from which on a joint may well be in degrees."""


def greatest_speed(log: Log, actuator: Actuator) -> float:
    """At which the back-EMF holds against the supply, and that of a fall from the top besides [rad/s];
    infinite where nothing limits it."""
    mine = {k: v for k, v in log.settings.items() if k in actuator.parameters}
    actuator = actuator.replace(**mine) if mine else actuator
    volts = actuator.drive.ceiling({})
    if volts is None:
        return math.inf
    fall = 0.0
    if log.bench is not None and log.bench.hangs:
        inertia = float(np.min(log.bench.inertia_at({}))) + steady.armature(actuator)
        fall = 2.0 * math.sqrt(abs(float(log.bench.moment())) / max(inertia, 1e-12))
    return abs(steady.ideal_speed(actuator, float(volts))) + fall


def fastest(track: SignalTrack) -> float:
    """Speed that one sample in fifty passes, over some 30 ms [rad/s]."""
    n = max(4, round(0.03 / track.step))
    if len(track) < 3 * n:
        return 0.0
    q, t = track.values, track.time
    return float(np.percentile(np.abs(q[n:] - q[:-n]) / (t[n:] - t[:-n]), 98))


def unit_findings(log: Log, actuator: Actuator) -> Iterator[Finding]:
    """At most one: the unit that the position, what was asked of it, or both, are in.

    `sure` is 1 where the numbers leave no choice; otherwise the model has to say.
    """
    if log.motion != "rotary" or "position" not in log:
        return
    track = SignalTrack.of(log)
    limit, fast = greatest_speed(log, actuator), fastest(track)
    if len(track) < 40 or track.span == 0:
        return
    by_travel = _by_travel(log, track, fast, limit)
    if by_travel is not None:
        yield by_travel
        return
    asked = [name for name in ("position", "position_target") if name in log]
    if fast > BEYOND * limit and math.isfinite(limit):
        for unit in _fitting(track, fast, limit):
            why = f"it would turn at {fast:.4g} rad/s, and the motor reaches {limit:.3g} rad/s at most"
            yield _unit_finding(unit, dict.fromkeys(asked, RADIANS[unit]), why, 1.0)
            return
    if track.span > FAR_OFF and fast <= BEYOND * limit and fast * RADIANS["degrees"] > 1e-3:
        why = f"it would go through {track.span / math.tau:.1f} turns"
        yield _unit_finding("degrees", dict.fromkeys(asked, RADIANS["degrees"]), why, 0.0)


def _by_travel(log: Log, track: SignalTrack, fast: float, limit: float) -> Finding | None:
    """The unit that explains why the position goes farther, or less far, than what was asked."""
    ratio = _travel(log, track)
    for unit in sorted(RADIANS, key=lambda u: _log_distance(ratio, RADIANS[u], track)):
        radian, sure = RADIANS[unit], unit != "turns"
        larger, smaller = _near(ratio, 1.0 / radian), _near(ratio, radian)
        if (larger or smaller) and (sure or _close(ratio)):
            # A unit finer than radians makes numbers large: the one that is larger is in it.
            odd = "position" if larger else "position_target"
            if sure and odd == "position" and fast * radian > WITHIN * limit:
                continue
            why = f"it goes {ratio:.3g} times as far as what was asked"
            return _unit_finding(unit, {odd: radian}, why, float(sure))
    return None


def _fitting(track: SignalTrack, fast: float, limit: float) -> list[str]:
    """Units in which a motion is possible: whole numbers are counts first, others degrees first."""
    order = ("encoder_counts", "degrees", "milliradians") if _whole(track) else ("degrees", "milliradians")
    return [unit for unit in order if fast * RADIANS[unit] < WITHIN * limit]


def _travel(log: Log, track: SignalTrack) -> float:
    """The position's travel over that of its target, where it follows it; 1 where that cannot be said."""
    if "position_target" not in log:
        return 1.0
    asked = log["position_target"][track.places]
    if "enabled" in log:
        driven = log["enabled"][track.places] > 0.5
        asked, track = (
            asked[driven],
            SignalTrack(track.places[driven], track.time[driven], track.values[driven]),
        )
    if len(asked) < 40:
        return 1.0
    low, high = np.percentile(asked, (1, 99))
    return track.span / float(high - low) if high > low and _follows(asked, track) > 0.8 else 1.0


def _follows(asked: np.ndarray, track: SignalTrack) -> float:
    """How well the position follows its target, at the best of a few lags."""
    best = 0.0
    for lag in {0, *(round(s / track.step) for s in (0.02, 0.05, 0.1, 0.2))}:
        if lag < len(asked) // 2:
            with np.errstate(invalid="ignore", divide="ignore"):  # where one of them rests
                pair = np.corrcoef(asked[: len(asked) - lag], track.values[lag:])
            best = max(best, abs(float(pair[0, 1])) if np.isfinite(pair).all() else 0.0)
    return best


def _log_distance(ratio: float, radian: float, track: SignalTrack) -> float:
    """How far a travel is from that in a unit, as a logarithm; whole numbers are counts."""
    counts = radian == RADIANS["encoder_counts"] and _whole(track)
    return min(abs(math.log(ratio * radian)), abs(math.log(ratio / radian))) - (1.0 if counts else 0.0)


def _whole(track: SignalTrack) -> bool:
    return bool(np.all(track.values == np.round(track.values))) and track.span > 50


def _near(ratio: float, unit: float) -> bool:
    return unit / ALIKE < ratio < unit * ALIKE


def _close(ratio: float) -> bool:
    """Whether travels differ by 2 pi and nothing else."""
    return any(abs(ratio / unit - 1) < 0.1 for unit in (2 * math.pi, 0.5 / math.pi))


def _unit_finding(unit: str, factors: dict[str, float], why: str, sure: float) -> Finding:
    names = " and ".join(name.replace("_", " ") for name in factors)
    word = WORDS.get(unit, unit)
    text = f"{names} in {word}, not radians: {why}."
    return finding(unit, text, f"read {names} in {word}", sure=sure, **factors)


ENCODER_COUNTS = 500
"""Counts over the whole motion below which friction at low speed drowns in the encoder's steps."""


def clock_findings(log: Log) -> Iterator[Finding]:
    """Gaps in time, and steps that differ."""
    dt = np.diff(log.time)
    step, longest = float(np.median(dt)), float(np.max(dt))
    gaps = np.flatnonzero(dt > 2.5 * step)
    if len(gaps):
        lost = float(np.sum(dt[gaps] - step))
        yield finding(
            "gaps",
            f"{len(gaps)} gaps in time, the longest {longest:.3g} s against a step of {step:.3g} s;"
            f" {lost:.3g} s are missing.",
            "lower the rate or shorten the bus so that no sample is lost; a fit holds the command across"
            f" gaps, and behind one of more than {LONG_GAP:.0f} steps it starts anew from the recording",
            gaps=float(len(gaps)),
            longest=longest,
        )
    jitter = float(np.median(np.abs(dt - step)) / step)
    if jitter > 0.25:
        text = f"half of the samples are off their step of {step:.3g} s by more than {100 * jitter:.0f} %."
        remedy = (
            "keep the timestamps (they are used as they are), and record on a real-time clock where you can"
        )
        yield finding("jitter", text, remedy, jitter=jitter)


def encoder_findings(log: Log) -> Iterator[Finding]:
    """A position that comes in steps which are coarse beside its motion."""
    q = log["position"][np.isfinite(log["position"])]
    steps = np.abs(np.diff(q))
    steps = steps[steps > 1e-12]
    if not len(steps):
        return
    grain = float(np.min(steps))
    n = float(np.ptp(q)) / grain
    counts = (q - q[0]) / grain
    quantised = np.mean(np.abs(counts - np.round(counts)) < 0.02) > 0.98
    if quantised and n < ENCODER_COUNTS and grain > 2e-3:
        text = f"position comes in steps of {1e3 * grain:.3g} mrad, {n:.0f} over the whole motion."
        remedy = "use a finer encoder or larger motions; low-speed friction will be uncertain"
        yield finding("coarse_encoder", text, remedy, grain=grain, counts=n)


def motion_findings(log: Log) -> Iterator[Finding]:
    """A position that hardly moves."""
    q = log["position"]
    span = float(np.nanmax(q) - np.nanmin(q))
    if span < 20 * max(noise_of(q), 1e-9):
        text = f"position moves by {1e3 * span:.3g} mrad, hardly more than its noise."
        yield finding("no_motion", text, "command a larger motion", span=span)


def turns(log: Log) -> list[int]:
    """Samples at which the motion changes direction, small wiggles not counted."""
    q = log["position"]
    least = max(10 * noise_of(q), 0.01 * float(np.nanmax(q) - np.nanmin(q)))
    places, edge, direction = list[int](), 0, 0
    for k, value in enumerate(q):
        if direction == 0 and abs(value - q[edge]) > least:
            direction, edge = (1 if value > q[edge] else -1), k
        elif direction * (value - q[edge]) > 0:
            edge = k
        elif direction and direction * (q[edge] - value) > least:
            places.append(edge)
            direction, edge = -direction, k
    return places


def reversals(log: Log) -> int:
    """How often the motion changes direction."""
    return len(turns(log))


def supply_findings(log: Log) -> Iterator[Finding]:
    """A recorded supply that sags."""
    if "supply" not in log:
        return
    low, typical = float(np.percentile(log["supply"], 1)), float(np.median(log["supply"]))
    if low < 0.85 * typical:
        text = f"the supply sags from {typical:.3g} to {low:.3g} V."
        remedy = "nothing to mend: the recorded supply is used; a stiffer one separates R better"
        yield finding("supply_sag", text, remedy, low=low, typical=typical)


def temperature_findings(log: Log) -> Iterator[Finding]:
    """A motor that warms up while it is recorded."""
    if "temperature" not in log:
        return
    drift = float(np.nanmax(log["temperature"]) - np.nanmin(log["temperature"]))
    if drift > 15:
        text = (
            f"the motor warms by {drift:.3g} K during the log: resistance changes by about"
            f" {100 * COPPER * drift:.0f} %."
        )
        remedy = "give the actuator a thermal part, or shorten the log"
        yield finding("temperature_drift", text, remedy, drift=drift)


def coverage(logs: Sequence[Log]) -> Iterator[Finding]:
    """Whether the logs together show reversals, and more than one load."""
    moving = [log for log in logs if "position" in log]
    if moving and sum(reversals(log) for log in moving) == 0:
        text = "the motion never changes direction: friction cannot be told from a constant load."
        yield finding("no_reversal", text, "add a log that moves back and forth")
    arms = [log.bench for log in moving if log.bench is not None and log.bench.hangs]
    moments = {round(float(bench.moment()), 4) for bench in arms}
    if len(moments) == 1 and len(arms) == len(moving):
        moment = moments.pop()
        text = (
            f"all logs carry the same load ({moment:.3g} N m): friction that grows with load cannot be told"
            " from friction that does not."
        )
        yield finding("one_load", text, "record with another mass or arm", moment=moment)


SLOW, STEADY, ENOUGH = 0.12, 0.5, 1.0
"""A slow motion keeps below this speed [rad/s], in stretches of so many seconds, so many in all."""
TURNS = 0.1
"""Changes of direction a second from which on friction is told apart from what else pushes."""
LOADED, FULL = 0.4, 0.9
"""Shares of an arm's greatest weight above which it carries a load, and nearly all of it."""
JUMP = 0.05
"""A goal that moves so far within a sample jumps [rad]."""


def slow_seconds(time: np.ndarray, position: np.ndarray, loaded: np.ndarray | None = None) -> float:
    """How long a motion is slow, and does not stand, in stretches that are long enough [s].

    Args:
        time: of its samples [s].
        position: that is asked for, or taken [rad].
        loaded: whether gravity loads it there; None: everywhere.

    Returns:
        Seconds.
    """
    step, n = 0.02, 10
    even = np.arange(time[0], time[-1], step)
    moved = np.interp(even, time, position)
    speed = np.abs(moved[n:] - moved[:-n]) / (n * step)
    slow = (speed > SLOW / 12) & (speed < SLOW)
    if loaded is not None:
        slow &= np.interp(even[n:] - 0.5 * n * step, time, loaded) > 0.5
    edges = np.flatnonzero(np.diff(slow.astype(int), prepend=0, append=0))
    lengths = step * (edges[1::2] - edges[::2])
    return float(lengths[lengths >= STEADY].sum())


class _JointMotion(NamedTuple):
    slow: float
    """Slowly, under load [s]."""
    turns: float
    """Changes of direction a second, but at the greatest load."""
    jumps: bool


def _motion_of(logs: Sequence[Log]) -> _JointMotion | None:
    """How a joint moves in recordings that ask it for positions; None where it is asked for nothing."""
    some = [log for log in logs if {"position", "position_target"} <= {*log.signals}]
    if all(np.ptp(x["position_target"]) < JUMP for x in some) or any(x.motion != "rotary" for x in some):
        return None
    slow = turned = 0.0
    for log in some:
        loaded, full = (is_loaded(log.bench, log["position"], share) for share in (LOADED, FULL))
        slow += slow_seconds(log.time, log["position_target"], loaded)
        turned += sum(full is None or not full[k] for k in turns(log))
    jumps = any(np.abs(np.diff(log["position_target"])).max() > JUMP for log in some)
    return _JointMotion(slow, turned / sum(float(np.ptp(log.time)) for log in some), jumps)


def motions_lacking(joints: Mapping[str, Sequence[Log]]) -> Iterator[Finding]:
    """Whether recordings that ask for positions have what tells friction at rest and at low speed.

    Args:
        joints: the logs of each joint; "" is a bench's.
    """
    moving = {name: made for name, logs in joints.items() if (made := _motion_of(logs)) is not None}
    hasty = {name: made for name, made in moving.items() if made.slow < ENOUGH}
    if hasty:
        text = (
            f"{_whose(hasty)}no motion keeps below {SLOW:g} rad/s under a load for {ENOUGH:g} s: what"
            " friction does there is left to the law. An STS3032 that was fitted without its slow logs"
            " missed them by 9.2 instead of 6.6 mrad, and the others as before."
        )
        remedy = "add ramps of 0.02 to 0.1 rad/s under load, both ways: backemf plan has some"
        yield finding("no_slow_motion", text, remedy, most=max(one.slow for one in hasty.values()), loss=0.4)
    one_way = {name: made for name, made in moving.items() if made.turns < TURNS}
    if one_way:
        jumps = any(made.jumps for made in one_way.values())
        text = (
            f"{_whose(one_way)}the motion hardly ever turns round below its greatest load"
            f"{'' if jumps else ', and never stops and jumps'}: friction is not told apart from what else"
            " holds it back. An arm that was fitted to such recordings missed others by 13.4 instead of 6.9"
            " mrad, a servo on a pendulum by 39 instead of 9."
        )
        remedy = "add sines and steps back and forth around where the load is small: backemf plan has some"
        yield finding("no_reversals", text, remedy, most=max(x.turns for x in one_way.values()), loss=1.0)


def is_loaded(bench: Bench | None, position: np.ndarray, share: float = LOADED) -> np.ndarray | None:
    """Whether an arm loads a joint by more than a share of its weight.

    Args:
        bench: of the recording; only one that hangs loads.
        position: where [rad].
        share: of the greatest load.

    Returns:
        A word for each position; None where it is not known.
    """
    if bench is None or not bench.hangs:
        return None
    return np.abs(np.sin(position - (getattr(bench, "hanging", None) or 0.0))) > share


def _whose(names: Iterable[str]) -> str:
    return f"{', '.join(names)}: " if any(names) else ""
