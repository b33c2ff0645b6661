"""Trial: one test of a mechanism, input and motion each on its own clock, from logs, tables and rows;
Segment: the part of it that tells about motion."""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...codec import Noun
from ...errors import InvalidValue, MissingValue, SignalError, UnknownName
from ...logs.log import Log, several


@dataclass(frozen=True, kw_only=True)
class Trial(Noun):
    """One test: the input holds from each of its times to the next; position and velocity are samples."""

    test: str
    time: np.ndarray
    input: np.ndarray
    """Volts, or amperes of each motor."""
    velocity_time: np.ndarray
    velocity: np.ndarray
    position_time: np.ndarray
    position: np.ndarray
    """May be empty."""
    supply: np.ndarray = field(default_factory=lambda: np.empty(0))
    part: str = ""
    """Of a drivetrain: left, right or angular; left and right with " turning" where the sides ran against
    each other."""
    name: str = ""
    motion: str = ""
    """rotary or linear; empty where nobody said."""
    mechanism: str = ""
    """What was tested, where the file names it."""

    @property
    def slow(self) -> bool:
        return self.test.startswith("quasistatic")

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, kw_only=True)
class Segment(Noun):
    """What is compared with a simulation."""

    run: Trial
    time: np.ndarray
    input: np.ndarray
    velocity_time: np.ndarray
    velocity: np.ndarray
    position_time: np.ndarray
    position: np.ndarray
    rests: bool
    """Begins at rest; otherwise in motion, with an unknown first velocity."""
    onset: float
    """When the input begins to act [s]."""
    start_position: float
    noise_velocity: float
    noise_position: float
    smooth: np.ndarray
    """Velocity averaged over as many samples as it takes to see motion."""
    resolution: float = 0.0
    """Step of the position's grid, where that is coarser than its noise."""
    derived: bool = False
    """Whether velocity is nothing but differences of position."""
    breakaway: float = math.nan
    """Input of a slow test when it was seen to move."""
    clear: float = 0.0
    """Velocity from which a slow test is seen to move."""
    width: int = 1
    """Samples over which velocity is averaged for that."""
    stopped: float = math.nan
    """When it ran into something [s]."""
    stale: float = 0.0
    """Share of samples that repeat the one before."""


_STALE = 0.3
"""A run is stale where more than this share of its fast samples repeats the one before."""


def scatter_of(x: np.ndarray) -> float:
    """Scatter of single samples, from third differences (motion is smooth over four samples),
    at least that of the resolution."""
    if len(x) < 8:
        return float(np.std(x)) if len(x) else 0.0
    d = np.diff(x, 3)
    scatter = 1.4826 * float(np.median(np.abs(d))) / math.sqrt(20.0)
    return max(scatter, resolution_of(x) / math.sqrt(12.0))


def resolution_of(x: np.ndarray) -> float:
    """The step of a grid on which all values lie; 0 where there is none."""
    steps = np.abs(np.diff(x))
    steps = steps[steps > 1e-9 * float(np.max(np.abs(x), initial=0.0))]
    least = float(steps.min(initial=math.inf))
    return least if len(np.unique(np.round(steps / least, 3))) < 0.2 * len(steps) else 0.0


def is_derived(t_v: np.ndarray, v: np.ndarray, t_p: np.ndarray, p: np.ndarray) -> bool:
    """Whether velocity is position's change over a step, sample by sample:
    the last step, or the one it lies in the middle of."""
    if len(v) < 8 or len(p) not in (len(v), len(v) + 1):
        return False
    step = np.diff(t_p)
    ends, shown = (t_p[1:], v[1:]) if len(p) == len(v) else (t_p[:-1] + 0.5 * step, v)
    if not np.allclose(t_v[-len(shown) :], ends, rtol=0.0, atol=1e-9 + 1e-3 * float(np.min(step))):
        return False
    return bool(np.mean(np.abs(np.diff(p) / step - shown) <= 1e-6 * np.max(np.abs(v))) > 0.9)


def segment(run: Trial) -> Segment | None:
    """The usable part of a run; None where nothing moves."""
    acting = np.flatnonzero(np.abs(run.input) > 1e-9)
    if len(acting) == 0 or len(run.velocity) < 8:
        return None
    onset, end = float(run.time[acting[0]]), float(run.time[acting[-1]])
    t_v, v, t_p, p = run.velocity_time, run.velocity, run.position_time, run.position
    top = float(np.percentile(np.abs(calm(v)[0]), 98))
    stale = _stale_share(run, top)
    if stale > _STALE:
        t_v, v, t_p, p = _fresh(t_v, v, t_p, p, top)
    noise = scatter_of(v)
    inside = (t_v <= end + 1e-9) & (t_v >= onset - 0.05)
    t_v, v = t_v[inside], v[inside]
    if len(v) < 8:
        return None
    smooth, calm_noise, width = calm(v)
    derived = is_derived(run.velocity_time, run.velocity, run.position_time, run.position)
    coarse = _least_seen(t_v, p, width) if derived and run.slow else 0.0
    clear = max(4 * calm_noise, 0.02 * max(top, 50 * coarse))
    first = moving(smooth, clear)
    if first is None or top <= 5 * calm_noise or top <= 0:
        return None
    stopped = _hard_stop(run, t_v, smooth, top, calm_noise)
    before = ~(t_v >= stopped)  # all of them where it never stops: then `stopped` is no number
    t_v, v, smooth = t_v[before], v[before], smooth[before]
    if len(v) < 8:
        return None
    rests = not run.slow and _is_still(t_v, v, onset, noise, top)
    first, breakaway = _seen_to_move(run, t_v, first, width)
    if not rests:
        t_v, v, smooth = t_v[first:], v[first:], smooth[first:]
    if len(v) < 8:
        return None
    start = float(np.interp(t_v[0], t_p, p)) if len(p) else 0.0
    t_p, p = _positions_within(t_p, p, t_v, rests)
    return Segment(
        run=run,
        time=run.time,
        input=run.input,
        velocity_time=t_v,
        velocity=v,
        position_time=t_p,
        position=p,
        rests=rests,
        onset=onset,
        start_position=start,
        noise_velocity=max(noise, 1e-9 * top),
        noise_position=scatter_of(p),
        smooth=smooth,
        resolution=resolution_of(p),
        derived=derived,
        breakaway=breakaway,
        clear=clear,
        width=width,
        stopped=stopped,
        stale=stale,
    )


def _least_seen(t: np.ndarray, p: np.ndarray, width: int) -> float:
    """Differences of a coarse position see motion only where it crosses a few of its steps while they are
    averaged."""
    return 3 * resolution_of(p) / (width * float(np.median(np.diff(t))))


def _seen_to_move(run: Trial, t: np.ndarray, first: int, width: int) -> tuple[int, float]:
    """(the sample from which a run is seen to move, the input of a slow one by then): where velocities are
    averaged a slow run is sure to move only half a width later."""
    if not run.slow:
        return first, math.nan
    first = min(first + width // 2, len(t) - 8) if width > 1 else first
    return first, input_before(run, t[first])


def _fresh(
    t_v: np.ndarray, v: np.ndarray, t_p: np.ndarray, p: np.ndarray, top: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Velocities and positions without those that repeat the one before while it moves."""
    fresh_v = np.concatenate([[True], np.diff(v) != 0]) | (np.abs(v) < 0.02 * top)
    fresh_p = np.concatenate([[True], np.diff(p) != 0])[: len(p)]
    return t_v[fresh_v], v[fresh_v], t_p[fresh_p], p[fresh_p]


def _is_still(t: np.ndarray, v: np.ndarray, onset: float, noise: float, top: float) -> bool:
    """Whether nothing moves until the input acts."""
    before = v[: max(1, int(np.searchsorted(t, onset + 1e-9, side="right")))]
    return abs(float(np.mean(before))) <= min(4 * noise / math.sqrt(len(before)), 0.2 * top) + 0.02 * top


def _positions_within(
    t: np.ndarray, p: np.ndarray, t_v: np.ndarray, rests: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Positions while velocities are used; none where they are too few."""
    inside = (t >= t_v[0] - 1e-9) & (t <= t_v[-1] + 1e-9)
    t, p = t[inside], p[inside]
    if rests and len(p):  # at rest a coarse position errs alike in every sample: one of them says it all
        moves = np.flatnonzero(np.diff(p))
        begins = int(moves[0]) if len(moves) else 0
        t, p = t[begins:], p[begins:]
    return (t, p) if len(p) >= 8 else (t[:0], p[:0])


def _stale_share(run: Trial, top: float) -> float:
    """Share of samples in motion that repeat the one before:
    of position where there is one, because that always moves on."""
    v = run.velocity
    fast = np.abs(calm(v)[0][1:]) > 0.2 * top
    same = np.diff(v) == 0
    if np.array_equal(run.velocity_time, run.position_time):
        step = resolution_of(run.position)
        moves = np.abs(calm(v)[0][1:]) * np.diff(run.position_time)
        fast = fast & (moves > (step if step < 0.1 * np.ptp(run.position) else 0))
        same = np.diff(run.position) == 0
    elif len(np.unique(v)) < 0.02 * len(v) and len(v) > 200:  # few levels: coarse resolution, not repetition
        return 0.0
    return float(np.mean(same[fast])) if fast.sum() >= 10 else 0.0


def calm(v: np.ndarray) -> tuple[np.ndarray, float, int]:
    """(velocity averaged, scatter left, width): over as few samples as it takes for noise and resolution to
    fall below 1 % of the range."""
    smooth, noise, width = v, scatter_of(v), 1
    for wider in (3, 7, 15, 31, 61):
        if wider > len(v) // 8 or noise < 0.01 * float(np.max(np.abs(smooth))):
            break
        smooth, width = average_neighbours(v, wider), wider
        noise = scatter_of(smooth[::width])
    return smooth, noise, width


def average_neighbours(v: np.ndarray, width: int) -> np.ndarray:
    """Each sample with its neighbours, as many as there are."""
    ends = np.concatenate([np.full(width // 2, v[0]), v, np.full(width // 2, v[-1])])
    return np.convolve(ends, np.full(width, 1.0 / width), mode="valid")


def moving(v: np.ndarray, clear: float) -> int | None:
    """The first sample from which the mechanism keeps moving,
    clear of noise and of the creep before it breaks away."""
    steady = np.convolve(np.abs(v) > clear, np.ones(4), mode="full")[3:] >= 3
    where = np.flatnonzero(steady)
    return int(where[0]) if len(where) else None


def input_before(run: Trial, time: float) -> float:
    """The input in force just before a moment."""
    return float(run.input[np.clip(np.searchsorted(run.time, time) - 1, 0, len(run.input) - 1)])


def _hard_stop(run: Trial, t_v: np.ndarray, v: np.ndarray, top: float, noise: float) -> float:
    """When motion ended although the input went on: the start of the fall to rest;
    NaN where there was none."""
    if len(v) < 20:
        return math.nan
    width = 5
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(v, width, mode="edge"), 2 * width + 1)
    smooth = np.median(windows, axis=1)
    still = np.abs(smooth) < max(0.03 * top, 2 * noise)
    if not still[-1] or still.all():
        return math.nan
    last = int(np.flatnonzero(~still)[-1])
    if len(v) - last < 8 or np.max(np.abs(smooth[: last + 1])) < 0.3 * top:
        return math.nan
    held = np.abs(np.interp(t_v, run.time, run.input))
    before = max(1, int(np.argmax(np.abs(smooth[: last + 1]))))
    if held[-1] < 0.7 * held[min(before, len(held) - 1)]:
        return math.nan
    peak = abs(smooth[last]) if last < 30 else float(np.max(np.abs(smooth[last - 30 : last + 1])))
    falling = last
    while falling > 0 and abs(smooth[falling]) < 0.9 * peak:
        falling -= 1
    return float(t_v[max(falling - width, 1)])


def segments_of(runs: Sequence[Trial]) -> tuple[list[Segment], list[Trial]]:
    """(segments, runs that never move)."""
    pairs = [(run, segment(run)) for run in runs]
    return [s for _, s in pairs if s is not None], [run for run, s in pairs if s is None]


TESTS = ("quasistatic-forward", "quasistatic-reverse", "dynamic-forward", "dynamic-reverse")
MECHANISMS = ("simple", "flywheel", "elevator", "arm", "drivetrain")
CONTROLS = ("voltage", "current")
_SPELLINGS = {"slow": "quasistatic", "fast": "dynamic", "backward": "reverse", "backwards": "reverse"}
_LEAST_TIME = 0.1
"""A stretch with input shorter than this is no test [s]."""


def test_of(text: str) -> str | None:
    """The test that a name means, in today's spelling or in that of old files; None where it means none."""
    words = [_SPELLINGS.get(w, w) for w in re.split(r"[^a-z]+", text.lower()) if w]
    kind = next((w for w in words if w in ("quasistatic", "dynamic")), None)
    way = next((w for w in words if w in ("forward", "reverse")), None)
    return f"{kind}-{way}" if kind and way else None


test_of.__test__ = False  # type: ignore[attr-defined]  # pytest would take its name for a test's


def part_of(text: str) -> str:
    """The part of a drivetrain that a name means, as `Trial.part` has it; empty where it means none."""
    words = re.split(r"[^a-z]+", text.partition(" (")[0].lower())  # what follows names the file
    side = next((w for w in words if w in ("left", "right", "angular")), "")
    return f"{side} turning" if side in ("left", "right") and "turning" in words else side


def make_run(
    test: str,
    time: Any,
    input: Any,
    position: Any,
    velocity: Any = None,
    *,
    part: str = "",
    supply: Any = (),
    motion: str = "",
) -> Trial:
    """A run from columns on one clock; missing samples are NaN.
    Rows out of order are sorted, a repeated time is kept once."""
    name = test_of(test)
    if name is None:
        raise UnknownName("test", test, TESTS)
    t, u = np.asarray(time, float), np.asarray(input, float)
    p = np.full_like(t, np.nan) if position is None else np.asarray(position, float)
    v = np.full_like(t, np.nan) if velocity is None else np.asarray(velocity, float)
    if not (t.shape == u.shape == p.shape == v.shape) or t.ndim != 1:
        raise SignalError(
            f"{name} has {t.shape} times, {u.shape} inputs, {p.shape} positions and {v.shape} velocities;"
            " expected one row each"
        )
    t, keep = np.unique(t, return_index=True)
    u, p, v = u[keep], p[keep], v[keep]
    fine, seen, moved = np.isfinite(u), np.isfinite(v), np.isfinite(p)
    if fine.sum() < 2:
        raise SignalError(f"{name} has {int(fine.sum())} samples of its input; expected at least 2")
    run = Trial(
        test=name,
        time=t[fine],
        input=u[fine],
        velocity_time=t[seen],
        velocity=v[seen],
        position_time=t[moved],
        position=p[moved],
        supply=np.asarray(supply, float),
        part=part,
        name=name,
        motion=motion,
    )
    return with_velocity(run)


def with_velocity(run: Trial) -> Trial:
    """The run with a velocity, by differences of its position where none was recorded:
    mean velocities, between the samples."""
    if len(run.velocity):
        return run
    if len(run.position) < 3:
        raise MissingValue(f"{run.test} has neither velocity nor position; one of them is needed")
    t, p = run.position_time, run.position
    return replace(run, velocity_time=0.5 * (t[1:] + t[:-1]), velocity=np.diff(p) / np.diff(t))


def roll(run: Trial, radius: float) -> Trial:
    """A run of what turned a mechanism, as the way that it takes it.

    Args:
        run: in radians; one of a gyro stays.
        radius: of the wheel or drum [m].

    Returns:
        The run in metres.
    """
    if run.part == "angular":
        return run
    return replace(run, velocity=radius * run.velocity, position=radius * run.position, motion="linear")


def runs_from(given: Any, control: str = "voltage") -> list[Trial]:
    """The runs in whatever is given: runs, logs, or rows [t, u, position, velocity] by test."""
    if control not in CONTROLS:
        raise UnknownName("control", control, CONTROLS)
    items = [given] if isinstance(given, Mapping) else several(given)
    runs = [run for item in items for run in _runs_in(item, control)]
    if not runs:
        raise MissingValue(
            "no test was found; expected stretches in which the input ramps up slowly or steps"
        )
    return runs


@functools.singledispatch
def _runs_in(item: Any, control: str) -> Iterable[Trial]:
    raise InvalidValue(
        f"cannot characterise {type(item).__name__}; expected logs, runs, or rows [t, input,"
        " position, velocity] by test"
    )


@_runs_in.register
def _(run: Trial, control: str) -> Iterable[Trial]:
    return [with_velocity(run)]


@_runs_in.register
def _(log: Log, control: str) -> Iterable[Trial]:
    return split(log, control)


@_runs_in.register
def _(rows_by_test: Mapping, control: str) -> Iterable[Trial]:
    return [_from_table(str(test), table) for test, rows in rows_by_test.items() for table in _tables(rows)]


def _tables(rows: Any) -> Sequence[np.ndarray]:
    """A table, or several of different length, as arrays."""
    try:
        table = np.asarray(rows, float)
    except ValueError:
        return [np.asarray(one, float) for one in rows]
    return [*table] if table.ndim == 3 else [table]


def _from_table(test: str, table: np.ndarray) -> Trial:
    if table.ndim != 2 or table.shape[1] not in (3, 4):
        raise InvalidValue(f"{test} has rows of shape {table.shape}; expected [t, input, position, velocity]")
    return make_run(test, *table.T)


def split(log: Log, control: str = "voltage") -> list[Trial]:
    """The tests in a log: the whole log where its name says which, otherwise each stretch with input,
    by its shape."""
    names = (control, f"{control}_target")
    source = next((name for name in names if name in log), None)
    if source is None:
        raise MissingValue(
            f"{log.name}: {control} control needs the signal {names[0]} or {names[1]}; the log has"
            f" {', '.join(log.signals)}"
        )
    signal = log.signals[source]
    fine = np.isfinite(signal.values)
    t, u = signal.time[fine], signal.values[fine]
    test = test_of(log.name)
    if test is not None:
        return [_cut(log, test, t, u, t[0], t[-1])]
    return [
        _cut(log, _shape(t[a:b], u[a:b]), t, u, t[_before(t, u, a)], t[b - 1]) for a, b in _stretches(t, u)
    ]


def _before(t: np.ndarray, u: np.ndarray, a: int) -> int:
    """The sample a stretch begins with: a few at rest before its input acts, none of the stretch before."""
    step = float(np.median(np.diff(t)))
    first = a
    while first > 0 and a - first < 3 and u[first - 1] == 0 and t[first] - t[first - 1] < 5 * step:
        first -= 1
    return first


def _stretches(t: np.ndarray, u: np.ndarray) -> list[tuple[int, int]]:
    """Where the input acts: [from, to) of stretches without a change of sign or a pause."""
    sign = np.sign(np.where(np.abs(u) > 1e-6 * np.max(np.abs(u), initial=0.0), u, 0.0))
    edges = np.flatnonzero(np.diff(sign)) + 1
    parts = zip([0, *edges], [*edges, len(u)], strict=True)
    return [
        (int(a), int(b)) for a, b in parts if sign[a] != 0 and t[b - 1] - t[a] >= _LEAST_TIME and b - a >= 5
    ]


def _shape(t: np.ndarray, u: np.ndarray) -> str:
    middle = float(np.interp(t[0] + 0.4 * (t[-1] - t[0]), t, np.abs(u)))
    kind = "dynamic" if middle > 0.75 * np.max(np.abs(u)) else "quasistatic"
    return f"{kind}-{'forward' if np.mean(u) > 0 else 'reverse'}"


def _cut(log: Log, test: str, t: np.ndarray, u: np.ndarray, start: float, end: float) -> Trial:
    def samples(name: str) -> tuple[np.ndarray, np.ndarray]:
        if name not in log:
            return np.empty(0), np.empty(0)
        signal = log.signals[name]
        keep = (signal.time >= start) & (signal.time <= end) & np.isfinite(signal.values)
        return signal.time[keep], signal.values[keep]

    within = (t >= start) & (t <= end)
    (t_v, v), (t_p, p), (_, supply) = samples("velocity"), samples("position"), samples("supply")
    run = Trial(
        test=test,
        time=t[within],
        input=u[within],
        velocity_time=t_v,
        velocity=v,
        position_time=t_p,
        position=p,
        supply=supply,
        part=part_of(log.name),
        name=log.name,
        motion=_told_motion(log),
        mechanism=log.mechanism,
    )
    return with_velocity(run)


def _told_motion(log: Log) -> str:
    """Whether its file says that it turns or slides; empty where that is assumed."""
    if log.motion == "rotary" and (not log.source or any(f.code == "unit_assumed" for f in log.findings)):
        return ""
    return log.motion


def of_one(runs: Sequence[Trial], name: str | None) -> list[Trial]:
    """The runs of one mechanism: of the one that is named, where files hold those of several."""
    count = Counter(run.mechanism for run in runs if run.mechanism)
    if name is None and len(count) > 1:
        there = ", ".join(f"{one} ({n} runs)" for one, n in count.items())
        which = f"say which with --name {next(iter(count))} (in Python, name={next(iter(count))!r})"
        raise MissingValue(f"these recordings are of {len(count)} mechanisms: {there}; {which}")
    if name is None:
        return list(runs)
    known = {run.mechanism: run.mechanism.lower() for run in runs}
    kept = [r for r in runs if name.lower() in (known[r.mechanism], known[r.mechanism].rpartition("/")[2])]
    if not kept and not count:
        raise InvalidValue(f"name is {name!r}, but the recordings do not say which mechanism they are of")
    if not kept:
        raise UnknownName("mechanism", name, count)
    return kept


def tests_in(runs: Sequence[Trial]) -> list[str]:
    """Which of the four tests there are, in their usual order."""
    return [test for test in TESTS if any(run.test == test for run in runs)]
