"""The pictures of the documentation that are simulated for it, and those of its gallery, which the page's own
commands make: `python scripts/docs_figures.py`, or with a name, such as `gallery` or `live`, that alone."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import backemf as be
from backemf.apps.cli.main import main as command_line
from backemf.apps.report.figures import draw as render
from backemf.figure import Band, Curve, Figure, Panel
from backemf.planning import example_servo as recordings
from backemf.targets.export import export
from backemf.targets.replay import replay

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "img"
RATIO = 55.5
BENCH = be.bench.Flywheel(inertia=be.bench.cylinder(0.016, 0.00725, 0.048))
END, N = 7.1, 214
"""A 30 Hz video: the length of the recording [s], and its pictures."""


def servo(volts_per_radian: float, b: float) -> be.Actuator:
    """The SG90 article's SG90, its damping b at the rotor."""
    return be.Actuator(
        motor=be.motor.Motor(resistance=10.0, torque_constant=0.0045),
        gearbox=be.gearbox.Gearbox(ratio=RATIO),
        friction=be.friction.Viscous(viscous=b * RATIO**2),
        drive=be.drive.Position(volts_per_radian=volts_per_radian, voltage_limit=5.0),
    )


def asked(t: np.ndarray) -> np.ndarray:
    """A square wave between 0 and pi, 0.5 Hz, from 0.5 s on."""
    return np.where((t >= 0.5) & ((t - 0.5) % 2.0 < 1.0), np.pi, 0.0)


def run(volts_per_radian: float, b: float) -> tuple[np.ndarray, np.ndarray]:
    t = np.arange(0.0, END, 0.002)
    return t, be.simulate(servo(volts_per_radian, b), BENCH, asked(t + 1e-9), time=t).position


def sg90_knobs() -> Figure:
    """What each of the article's two numbers does."""
    t = np.arange(0.0, END, 0.002)
    part = (t > 0.4) & (t < 2.45)
    target = Curve(x=t[part], y=asked(t[part]), label="asked", style="thin")
    gains = [
        Curve(x=t[part], y=run(k, 1.4e-6)[1][part], label=f"k_p = {k:g} V/rad", color=j)
        for j, k in enumerate((2, 4, 20))
    ]
    drags = [
        Curve(x=t[part], y=run(20, b)[1][part], label=f"b = {b:.2g} N m s/rad", color=j)
        for j, b in enumerate((0.7e-6, 2.8e-6, 5.6e-6))
    ]
    panels = [
        Panel(
            lines=[target, *gains], y_label="angle [rad]", x_label="time [s]", title="k_p rounds the corner"
        ),
        Panel(lines=[target, *drags], y_label="angle [rad]", x_label="time [s]", title="b sets the slope"),
    ]
    return Figure(panels=panels, title="An SG90 turns half a turn and back (simulated)")


def sg90_time() -> Figure:
    """The same motion, first and last rise, against its true times and against times that are 1/214 short."""
    t, q = run(14.0, 1.8e-6)
    true = np.arange(N) * END / (N - 1)
    seen = np.interp(true, t, q)
    panels = []
    for title, low, high in (
        ("the first rise: both agree", 0.4, 1.1),
        ("the last rise: one of them is 30 ms early", 6.4, 7.1),
    ):
        part, near = (t > low) & (t < high), (true > low) & (true < high)
        lines = [
            Curve(x=t[part], y=asked(t[part]), label="asked", style="thin"),
            Curve(x=t[part], y=q[part], label="the motion", color=0),
            Curve(x=true[near], y=seen[near], label="samples, span/213 apart", style="dots", color=0),
            Curve(
                x=true[near] * (N - 1) / N,
                y=seen[near],
                label="samples, span/214 apart",
                style="dots",
                color=1,
            ),
        ]
        panels.append(Panel(lines=lines, y_label="angle [rad]", x_label="time [s]", title=title))
    return Figure(panels=panels, title="214 pictures span 213 intervals (simulated)", shared_x=False)


def live() -> Figure:
    """The demonstration's held-out recording with its drive switched off: MuJoCo's file and `be.attach`."""
    with tempfile.TemporaryDirectory() as folder:
        recordings.record(Path(folder))
        logs = be.read(folder)
        fit = be.fit(recordings.start(), logs, hold_out={"gain": 16}, delay=True)
    judged = [log for log in logs if log.name == "m0.6_l0.1_kp16_5"]
    fitted = [log for log in logs if log.name in fit.training]
    made = export(fit.actuator, "mujoco", joint="servo", logs=fitted, replay=False)
    (file,) = replay(made, judged, refine=False).cases
    whole = export(fit.actuator, "mujoco-live", joint="servo", replay=False)
    (attached,) = replay(whole, judged, refine=False).cases
    t, seen = file.time, np.asarray(file.measured)
    part = (t > 3.7) & (t < 5.2)
    motions, errors = [], []
    for name, case, color in (("MuJoCo's <dcmotor> file", file, 1), ("be.attach", attached, 0)):
        motions.append(Curve(x=t[part], y=np.degrees(case.target[part]), label=name, color=color))
        label = f"{name}: {1e3 * (case.target_log or 0.0):.2g} mrad RMS"
        errors.append(Curve(x=t, y=1e3 * (case.target - seen), label=label, color=color))
    few = np.flatnonzero(part)[::6]
    motions.append(Curve(x=t[few], y=np.degrees(seen[few]), label="recorded", style="points", color=2))
    panels = [
        Panel(
            lines=motions,
            y_label="angle [deg]",
            x_label="time [s]",
            bands=[Band(low=4.0, high=5.2)],
            legend_above=True,
        ),
        Panel(
            lines=errors,
            y_label="off by [mrad]",
            x_label="time [s]",
            bands=[Band(low=4.0, high=float(t[-1]))],
        ),
    ]
    return Figure(
        panels=panels,
        title="The drive is switched off at 4 s and the pendulum falls: a recording the fit never saw",
        shared_x=False,
    )


def swung(mass: float, seed: int) -> be.Log:
    """Four seconds of a servo whose friction grows with the load, lifting this mass."""
    servo = be.Actuator(
        motor=be.motor.Motor(resistance=4.0, torque_constant=0.9, rotor_inertia=3e-3),
        friction=be.friction.M3(coulomb=0.05, viscous=0.02, load=0.15),
        drive=be.drive.Servo(firmware_gain=0.16, proportional=16, supply=7.4),
    )
    bench = be.bench.Pendulum(mass=mass, length=0.1)
    target = {"position_target": be.signal.sine(0.8, 0.5)}
    run = be.simulate(servo, bench, target, duration=4.0, dt=0.005)
    seen = run.position + 5e-4 * np.random.default_rng(seed).standard_normal(len(run))
    asked = {"position": seen, "position_target": run["position_target"]}
    return be.log(f"{mass:g} kg", run.time, **asked, bench=bench)


def how_sure() -> Figure:
    """One number from five recordings, each alone and all together, with both of its intervals; the model
    knows no friction that grows with the load, and the recordings carry five loads."""
    logs = [swung(mass, seed) for seed, mass in enumerate((0.1, 0.3, 0.5, 0.7, 0.9))]
    start = be.Actuator(
        motor=be.motor.Motor(resistance=4.0, torque_constant=0.9, rotor_inertia=3e-3),
        friction=be.friction.Coulomb(coulomb=0.06, viscous=0.02),
        drive=be.drive.Servo(firmware_gain=0.16, proportional=16, supply=7.4),
    )
    path = "friction.coulomb"
    options = {"free_paths": [path, "friction.viscous"], "n_starts": 1, "tolerances": False, "offset": False}
    found = [be.fit(start, some, **options).parameters[path] for some in ([[log] for log in logs] + [logs])]
    names = [f"{log.name} alone" for log in logs] + ["all: if the model is right", "all: as they disagree"]
    rows = [(p, p.low_if_right, p.high_if_right) for p in found] + [
        (found[-1], found[-1].low, found[-1].high)
    ]
    lines = []
    for k, (p, low, high) in enumerate(rows):
        color = 0 if k < len(logs) else k - len(logs) + 1
        lines.append(Curve(x=np.array([low, high]), y=np.array([k, k]), color=color))
        lines.append(Curve(x=np.array([p.value]), y=np.array([k]), style="points", color=color))
    panel = Panel(
        lines=lines, names=names, x_label="dry friction found [N m], with its 95 % interval", y_label=""
    )
    return Figure(title="Five recordings, one number, two intervals (simulated)", panels=[panel])


def gallery() -> None:
    """Run what docs/gallery.md says, and keep its pictures, with a palette of their own colours."""
    page = (IMAGES.parent / "gallery.md").read_text(encoding="utf-8")
    kept, space = IMAGES / "gallery", {}
    kept.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for language, block in re.findall(r"^```(python|sh)\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
            if language == "python":
                exec(compile(block, "gallery.md", "exec"), space)
            for line in block.splitlines() if language == "sh" else ():
                sys.argv = shlex.split(line)
                quiet = contextlib.redirect_stdout(io.StringIO())
                with contextlib.suppress(SystemExit), quiet:
                    command_line()
        for made in sorted(Path(folder).glob("*.png")):
            with Image.open(made) as picture:
                picture.convert("RGB").quantize(64).save(kept / made.name, optimize=True)
            print(f"wrote docs/img/gallery/{made.name} ({(kept / made.name).stat().st_size // 1000} kB)")


PICTURES = {"sg90-knobs": sg90_knobs, "sg90-time": sg90_time, "live": live, "how-sure": how_sure}


def main() -> None:
    asked = sys.argv[1:] or ["gallery", *PICTURES]
    for name in asked:
        if name == "gallery":
            gallery()
        else:
            path = render.save(PICTURES[name](), IMAGES / f"{name}.png")
            print(f"wrote {path.relative_to(IMAGES.parent.parent)}")


if __name__ == "__main__":
    main()
