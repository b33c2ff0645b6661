"""A page to play with, as data: what can be chosen, which numbers have sliders, what is drawn."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import __version__
from ...analysis.curves import full_voltage
from ...engine.system import ActuatorSystem, Results, Row
from ...physics.actuator import Actuator, signals
from ...physics.bench import Bench
from ...physics.maths import Scalar, maximum
from ...physics.quantity import parameters
from ...physics.steady import electrical_torque, no_load_speed
from .document import document, escape
from .page_kernels import PageKernels, layout, script
from .panel import title, unit_text

DEGREES = 180.0 / math.pi
TIME = {"of": "time", "label": "time", "unit": "s"}
POSITION = {"of": "position", "label": "position", "unit": "deg", "scale": DEGREES, "least": 0.2}
SPEED = {"of": "velocity", "label": "speed", "unit": "rad/s", "least": 0.01}
CURRENT = {"of": "current", "label": "current", "unit": "A", "least": 0.01}
VOLTAGE = {"of": "voltage", "label": "voltage", "unit": "V", "least": 0.1}
TORQUE = {"of": "torque", "label": "torque", "unit": "N m", "least": 1e-4}
HEAT = {"of": "temperature", "label": "temperature", "unit": "°C", "least": 2.0}
LABELS = {
    "position_target": ("how far", "deg", DEGREES),
    "voltage_target": ("voltage", "V", 1.0),
    "torque_target": ("torque", "N m", 1.0),
}
BENCH_NUMBERS = {
    "pendulum": ("mass", "length"),
    "flywheel": ("inertia",),
    "spring": ("stiffness", "inertia"),
    "elevator": ("mass", "drum_radius"),
    "locked": (),
}
BENCH_TITLES = {
    "pendulum": "pendulum: a weight on an arm",
    "flywheel": "flywheel: inertia alone",
    "spring": "spring",
    "elevator": "winch: a weight on a drum",
    "locked": "locked: it cannot turn",
}
MOTIONS = ("square", "step", "sine", "ramp", "chirp")


@dataclass(frozen=True, kw_only=True)
class ActuatorVariant:
    """One actuator that can be chosen, on each bench, and which of its numbers have sliders."""

    key: str
    title: str
    actuator: Actuator
    benches: Mapping[str, Bench]
    size: float
    """Of the motion, in what its drive follows."""
    period: float
    free: Sequence[str]
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Where sliders end, where that is not a factor of their values."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What sliders are called, where that is not their own word."""
    group: str = ""
    short: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A page: variants, panels of plots, and what it shows first."""

    title: str
    note: str
    variants: Sequence[ActuatorVariant]
    panels: Sequence[Mapping[str, Any]]
    start: Mapping[str, Any]
    choose: Sequence[str] = ("variant", "bench", "motion")
    """What can be chosen; `other` is a second variant to compare with."""
    words: Mapping[str, str] = field(default_factory=dict)
    """What the choices are called."""
    motions: Sequence[str] = MOTIONS
    recording: Mapping[str, Any] | None = None
    heat: bool = False
    """Whether to say where there is no temperature."""
    more: bool = True
    """Whether the actuator's own sliders wait behind a heading."""
    questions: Sequence[Mapping[str, Any]] = ()
    """What to find out: `kind` names the function of questions.js that answers, from the model."""


def panel(title: str, x: Mapping[str, Any], y: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """One of the figures of a playground.

    Args:
        title: Above it.
        x: Its axis: a signal with label, unit and scale.
        y: Likewise.
        more: What else the script knows of a figure: `only`, `target`, `curve`.

    Returns:
        The figure as the script reads it.
    """
    return {"title": title, "x": x, "y": y, **more}


def knob(path: str, value: float, traits: Mapping[str, Any], unit: str, **more: Any) -> dict[str, Any]:
    """A slider around a number: a factor of ten either way, or from 0 where it may vanish."""
    low = traits["above"] is not None
    ends = (value / 10.0, value * 10.0) if low else (0.0, 4.0 * value or 1.0)
    if traits["most"] is not None:
        ends = ends[0], min(ends[1], traits["most"])
    known = {"key": path, "path": path, "label": title(path), "unit": unit_text(unit)}
    return {**known, "value": value, "least": ends[0], "most": ends[1], "log": low, **more}


def data(scene: Scene, kernels: PageKernels) -> dict[str, Any]:
    """What the script reads."""
    used = [key for key in BENCH_NUMBERS if any(key in v.benches for v in scene.variants)]
    benches = []
    for key in used:
        example = next(v.benches[key] for v in scene.variants if key in v.benches)
        known, names = parameters(example), BENCH_NUMBERS[key]
        benches.append(
            {
                "key": key,
                "title": BENCH_TITLES[key],
                "numbers": [
                    {"key": n, "label": n.replace("_", " "), "column": [*known].index(n)} for n in names
                ],
            }
        )
    return {
        "variants": [_variant(v, kernels) for v in scene.variants],
        "benches": benches,
        "motions": list(scene.motions),
        "panels": list(scene.panels),
        "start": dict(scene.start),
        "compare": "other" in scene.choose,
        "recording": scene.recording,
        "heat": scene.heat,
        "questions": list(scene.questions),
    }


def _variant(variant: ActuatorVariant, kernels: PageKernels) -> dict[str, Any]:
    actuator, follows = variant.actuator, variant.actuator.drive.followed
    names = list(parameters(actuator))
    start = actuator.initial_state()
    outputs = ("position", "velocity", *signals(actuator, start, {follows: 0.0}))
    systems = {
        key: ActuatorSystem(actuator=actuator, bench=bench, inputs=(follows,), outputs=outputs)
        for key, bench in variant.benches.items()
    }
    places = {key: _on_bench(key, system, kernels) for key, system in systems.items()}
    label, unit, scale = LABELS[follows]
    command = {"signal": follows, "column": 0, "label": label, "unit": unit, "scale": scale}
    command |= {"size": variant.size, "least": 0.0, "most": 2.0 * variant.size, "period": variant.period}
    return {
        "key": variant.key,
        "title": variant.title,
        "short": variant.short,
        "group": variant.group,
        "note": variant.note,
        "P": list(parameters(actuator).values()),
        "S": list(start.values()),
        "layout": layout(next(iter(systems.values()))),  # the same on every bench
        "signals": list(outputs),
        "command": command,
        "benches": places,
        "sliders": [
            knob(p, actuator.parameters[p], actuator.traits(p), actuator.unit(p), column=names.index(p))
            | _between(variant.ranges.get(p))
            | ({"label": variant.labels[p]} if p in variant.labels else {})
            for p in variant.free
            if actuator.parameters.get(p)
        ],
        "curve": _curve(actuator, next(iter(variant.benches.values())), kernels),
    }


def _on_bench(key: str, system: ActuatorSystem, kernels: PageKernels) -> dict[str, Any]:
    """A bench's numbers and their sliders, and the kernel that runs the actuator on it."""
    known = parameters(system.bench)
    traits = {n: system.actuator.traits(f"bench.{n}") for n in BENCH_NUMBERS[key]}
    knobs = [knob(n, known[n], t, t["unit"]) for n, t in traits.items()]
    wanted = ("value", "least", "most", "log", "unit")
    return {
        "kernel": kernels.place(system),
        "P": list(known.values()),
        "numbers": [{name: k[name] for name in wanted} for k in knobs],
    }


def _between(ends: tuple[float, float] | None) -> dict[str, Any]:
    """Where a slider ends; one over two decades or more goes by factors."""
    if ends is None:
        return {}
    return {"least": ends[0], "most": ends[1], "log": ends[1] >= 100.0 * ends[0] > 0}


@dataclass(frozen=True, kw_only=True)
class TorqueSpeedLine(ActuatorSystem):
    """The most that a motor gives at a speed, which is its one input: torque before losses, and full voltage.

    Its parameters are those of the actuator on its bench, so that a page's sliders move it."""

    inputs: tuple[str, ...] = ("velocity",)
    outputs: tuple[str, ...] = ("torque", "voltage")

    @property
    def states(self) -> tuple[str, ...]:
        return ("velocity",)

    @property
    def key(self) -> tuple:
        return "torque-speed", *super().key

    def step(self, p: Row, s: Row, u: Row, h: Scalar) -> Results:
        """Nothing moves."""
        return (s[0],)

    def observe(self, p: Row, s: Row, u: Row) -> Results:
        """(torque at the output [N m], full voltage [V]) at the speed u[0] of the output [rad/s]."""
        actuator, _ = self.with_parameters(p)
        v = _most_voltage(actuator)
        return electrical_torque(actuator, actuator.gearbox.forwards * v, u[0]), v


def _most_voltage(actuator: Actuator) -> Any:
    """The most voltage that a drive applies [V]: as `full_voltage`, where it may be traced."""
    held, drive = actuator.drive.ceiling({}), actuator.drive
    if held is not None:
        return held
    ends = [abs(u) for u in (drive.command_low, drive.command_high) if u is not None]
    return functools.reduce(maximum, ends)


def _curve(actuator: Actuator, bench: Bench, kernels: PageKernels) -> dict[str, Any] | None:
    """The kernel of the motor's torque over speed at full voltage, and a speed to begin with."""
    v = full_voltage(actuator)
    if v is None:
        return None
    line = TorqueSpeedLine(actuator=actuator, bench=bench)
    return {"kernel": kernels.place(line), "speed": float(no_load_speed(actuator, v))}


def page(scene: Scene) -> str:
    """The whole file."""
    kernels = PageKernels()
    content = data(scene, kernels)
    return document(
        scene.title,
        scene.note,
        _markup(scene),
        data={"scene": content},
        scripts=[kernels.page_script("numbers.js", "motions.js", "plot.js", "play.js", "questions.js")],
        version=__version__,
        style=script("live.css") + script("play.css"),
        without_script="This page simulates with JavaScript, which this browser does not run.",
    )


def _markup(scene: Scene) -> str:
    usual = {"variant": "Part", "other": "Compared with", "bench": "Bench", "motion": "Motion"}
    words = {**usual, **scene.words}
    selects = "".join(
        f'<label for="choose-{name}">{escape(words[name])}</label>'
        f'<select id="choose-{name}" data-is="{name}"></select>'
        for name in scene.choose
    )
    inside = '<div data-is="knobs-actuator"></div>'
    own = (
        f"<details><summary>Numbers of the actuator</summary>{inside}</details>"
        if scene.more
        else f"<fieldset><legend>Numbers of the actuator</legend>{inside}</fieldset>"
    )
    groups = "".join(
        f'<fieldset><legend>{legend}</legend><div data-is="knobs-{name}"></div></fieldset>'
        for name, legend in (("motion", "Motion"), ("bench", "Bench"))
        if name != "motion" or scene.recording is None  # a recording moves as it did
    )
    knobs = own + groups if not scene.more else groups + own
    questions = "".join(
        f'<div class="question" data-is="question-{k}"><p>{escape(one["text"])}</p>'
        f"<label>Your answer{escape(' [' + one['unit'] + ']' if one['unit'] else '')}"
        ' <input type="text" inputmode="decimal" autocomplete="off"></label>'
        ' <button type="button">Check</button> <button type="button">Show</button><p role="status"></p></div>'
        for k, one in enumerate(scene.questions)
    )
    score = '<p class="score" data-is="score"></p>' if scene.recording else ""
    return f"""<main class="play">
<div class="choices">{selects}<p class="note" data-is="about"></p>
<div class="buttons"><button type="button" data-is="reset">Start values</button>
<button type="button" data-is="share">Copy link</button></div>
<p class="note" data-is="shared" role="status"></p></div>
<div class="first"><div data-is="first"></div>{score}
<p class="trouble" data-is="trouble" role="alert"></p></div>
<div class="knobs">{knobs}</div>
<div class="after">{questions}<div class="others" data-is="others"></div>
<div class="slider"><label for="cursor">Moment</label><output for="cursor"></output>
<div class="track"><input type="range" id="cursor" data-is="cursor" min="0" max="1000" value="60"></div>
</div>
<p class="note now" data-is="now"></p><p class="unseen" role="status" data-is="spoken"></p></div>
</main>"""
