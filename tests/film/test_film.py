"""Films: everything at its place in the scene and in the pictures,
and files that decode to what was asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.apps.film import film
from backemf.apps.film.bench_scene import scene
from backemf.apps.film.recorded_run import RecordedRun, recorded_run
from backemf.apps.film.stage import FilmStage
from backemf.apps.film.strip import Strip
from backemf.errors import BackemfError, InvalidValue, MissingValue, UnknownName

from ..conftest import needed, unavailable
from .benches import SERVO, needs_renderer, pendulum_log


def place_of(bench, motion, position, owner="model", low=-1.0, high=1.0):
    """World coordinates of the end of the model, or of the ghost, at a position."""
    mujoco = needed("mujoco")
    made = scene(bench, motion, low, high)
    model = mujoco.MjModel.from_xml_string(made.xml)
    state = mujoco.MjData(model)
    for joint, value in made.coordinates(owner, position).items():
        state.qpos[model.joint(joint).qposadr[0]] = value
    mujoco.mj_forward(model, state)
    return state.geom(f"{owner}_end").xpos


@pytest.mark.parametrize("owner", ["model", "ghost"])
@pytest.mark.parametrize(
    ("bench", "motion", "position", "x", "z"),
    [
        (be.bench.Pendulum(mass=1.0, length=0.2), "rotary", 0.0, 0.0, -0.2),
        (be.bench.Pendulum(mass=1.0, length=0.2), "rotary", np.pi / 2, 0.2, 0.0),
        (be.bench.Pendulum(mass=1.0, length=0.2, hanging=0.3), "rotary", 0.3, 0.0, -0.2),
        (be.bench.Pendulum(mass=1.0, length=0.2, hanging=0.3), "rotary", 0.3 + np.pi, 0.0, 0.2),
        (be.bench.Elevator(mass=1.0), "linear", 0.7, 0.0, 0.7),
        (be.bench.Elevator(mass=1.0, incline=np.pi / 6), "linear", 1.0, np.sqrt(0.75), 0.5),
        (be.bench.Elevator(mass=1.0, drum_radius=0.05, counterweight=0.2), "rotary", -1.0, 0.0, -0.05),
        (be.bench.FreeShaft(), "linear", 0.4, 0.4, 0.0),
    ],
)
def test_bodies_are_where_the_position_says(bench, motion, position, x, z, owner):
    place = place_of(bench, motion, position, owner)
    assert place[[0, 2]] == pytest.approx([x, z], abs=1e-9)


@pytest.mark.parametrize(
    "bench",
    [
        be.bench.FreeShaft(),
        be.bench.Flywheel(inertia=1e-3),
        be.bench.Spring(inertia=1e-3, stiffness=1.0),
        be.bench.Recorded(),
    ],
)
def test_a_hand_turns_where_there_is_no_arm(bench):
    down, side = place_of(bench, "rotary", 0.0), place_of(bench, "rotary", np.pi / 2)
    assert side[0] == pytest.approx(-down[2])
    assert side[2] == pytest.approx(0.0, abs=1e-9)


def test_a_larger_flywheel_is_drawn_larger():
    small, large = (place_of(be.bench.Flywheel(inertia=j), "rotary", 0.0)[2] for j in (1e-4, 32e-4))
    assert large == pytest.approx(2 * small)


def test_the_course_is_the_prediction():
    log = pendulum_log(offset=0.1)
    moved = log["position"].copy()
    moved[1] = np.nan
    shown = recorded_run(SERVO, log)
    assert shown.recorded[""] is log["position"]
    assert shown.predicted[""][-1] == pytest.approx(log["position"][-1] - 0.1, abs=5e-3), (
        "started 0.1 rad on, it still ends at the target"
    )
    assert recorded_run(SERVO, pendulum_log()).rms < 1e-3
    gap = replace(shown, recorded={"": moved})
    assert gap.at(0.01, gap.recorded)[""] == pytest.approx(0.5 * (moved[0] + moved[2]))
    assert gap.rms == pytest.approx(np.sqrt(np.nanmean((moved - shown.predicted[""]) ** 2)))


@pytest.mark.parametrize("name", [r"$\\frac{$ and $", "größe 測定\nof two lines", "x" * 500])
def test_any_name_can_stand_above_a_plot(name):
    log = pendulum_log()
    shown = RecordedRun(
        name=name,
        model=name,
        motion="rotary",
        time=log.time,
        recorded={"": np.zeros(len(log))},
        predicted={"": np.zeros(len(log))},
    )
    early, late = (Strip(shown, 400, 300).frame(t) for t in (0.1, 0.4))
    assert early.shape == (300, 400, 3)
    assert np.any(early != late)


def test_pictures_show_both_bodies_at_their_places():
    needs_renderer()
    log = pendulum_log(bench=be.bench.Pendulum(mass=0.3, length=0.1))
    n = len(log)
    shown = RecordedRun(
        name="two",
        model="",
        motion="rotary",
        time=log.time,
        recorded={"": np.linspace(0, 1.2, n)},
        predicted={"": np.linspace(0, -1.2, n)},
    )
    stage = FilmStage(log, shown, (480, 270))
    first, last = (frame.astype(int) for frame in stage.frames(log.time[[0, -1]]))
    assert first.shape == (270, 480, 3)
    width, height = stage.picture
    half = np.tan(np.radians(0.5 * stage.model.vis.global_.fovy)) * stage.camera.distance
    for owner, angle, strongest in (("model", -1.2, 0), ("ghost", 1.2, 2)):
        x = round(0.5 * width + 0.1 * np.sin(angle) / half * 0.5 * height)
        y = round(0.5 * height + 0.1 * np.cos(angle) / half * 0.5 * height)
        pixel = last[y, x]
        assert np.argmax(pixel) == strongest, f"{owner} is not at ({x}, {y}): {pixel}"
        assert pixel.max() - pixel.min() > 60
        before = first[y, x]
        assert before.max() - before.min() < 30, "nothing is there yet"
    assert np.any(first[:, width:] != last[:, width:]), "the cursor moves"


def test_a_film_decodes_to_what_was_asked_for(tmp_path):
    needs_renderer()
    try:
        import imageio_ffmpeg
    except ImportError:
        unavailable("imageio-ffmpeg, of the extra 'video',")
        return
    done = []
    made = film.film(
        SERVO,
        pendulum_log(0.05),
        tmp_path / "a b.mp4",
        fps=10,
        speed=0.5,
        size=(320, 180),
        progress=lambda k, n: done.append((k, n)),
    )
    assert made.to_dict() == {
        "file": str(tmp_path / "a b.mp4"),
        "frames": 11,
        "fps": 10.0,
        "duration": pytest.approx(1.1),
        "rms": made.rms,
        "size": [320, 180],
    }
    assert done == [(k, 11) for k in range(1, 12)]
    words = [
        imageio_ffmpeg.get_ffmpeg_exe(),
        "-i",
        str(made.file),
        "-f",
        "rawvideo",
        "-pix_fmt",
        "rgb24",
        "pipe:",
    ]
    decoded = subprocess.run(words, capture_output=True, check=True)
    said = decoded.stderr.decode()
    assert all(word in said for word in ("Video: h264", "yuv420p", "320x180", "10 fps")), said
    pictures = np.frombuffer(decoded.stdout, np.uint8).reshape(11, 180, 320, 3)
    assert np.mean(pictures[0] != pictures[-1]) > 0.01
    assert [p.name for p in tmp_path.iterdir()] == ["a b.mp4"]


def test_a_gif_keeps_real_time(tmp_path):
    needs_renderer()
    from PIL import Image

    made = film.film(SERVO, pendulum_log(), tmp_path / "s.gif", fps=15, size=(320, 240))
    assert made.fps == pytest.approx(100 / 7)
    with Image.open(tmp_path / "s.gif") as read:
        # the checker knows its base class only
        assert (read.size, read.n_frames, read.info["duration"], read.info["loop"]) == (  # type: ignore
            (320, 240),
            made.frames,
            70,
            0,
        )


@pytest.mark.parametrize(("ending", "fps", "n", "rate"), [
    (".gif", None, 26, 25 / 3), (".mp4", None, 26, 25 / 3), (".gif", 20.0, 61, 20.0),
])  # fmt: skip
def test_a_long_recording_has_fewer_pictures_unless_more_are_asked_for(
    tmp_path, monkeypatch, ending, fps, n, rate
):
    """Half a second, six times slower, where 25 pictures are many: one each 12 hundredths of a second."""
    monkeypatch.setattr(film, "MANY_FRAMES", 25)
    needs_renderer()
    made = film.film(SERVO, pendulum_log(), tmp_path / f"a{ending}", speed=1 / 6, fps=fps, size=(160, 160))
    assert (made.frames, made.fps, made.coarser) == (n, pytest.approx(rate), fps is None)


def test_nothing_is_left_behind_when_it_is_interrupted(tmp_path):
    needs_renderer()

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    for ending in ("mp4", "gif"):
        with pytest.raises(KeyboardInterrupt):
            film.film(SERVO, pendulum_log(), tmp_path / f"s.{ending}", size=(160, 160), progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_motion_may_come_from_mujoco():
    needed("mujoco")
    shown = recorded_run(SERVO, pendulum_log(), engine="mujoco", name="a servo")
    assert shown.model == "MuJoCo's replay of a servo"
    assert 0 < shown.rms < 5e-3


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        ({"position": None}, MissingValue, "swing has no position to draw; it has: position_target"),
        (
            {"bench": None},
            MissingValue,
            (
                'swing has no bench; say what the output carried, as in --bench "pendulum mass=0.5kg'
                ' length=0.1m" (in Python: be.read(..., bench=...))'
            ),
        ),
        (
            {"bench": be.bench.Locked()},
            InvalidValue,
            "swing was recorded with the output locked: there is no motion to draw; expected another bench",
        ),
        (
            {"position": np.full(51, np.nan)},
            MissingValue,
            "swing has fewer than two samples of position; there is nothing to draw",
        ),
        (
            {"motion": "linear"},
            InvalidValue,
            "swing is linear and the actuator is rotary; expected both alike",
        ),
    ],
)
def test_what_cannot_be_drawn_is_said(changes, kind, text):
    with pytest.raises(kind) as error:
        recorded_run(SERVO, pendulum_log(**changes))
    assert str(error.value) == text


@pytest.mark.parametrize(
    ("name", "options", "kind", "text"),
    [
        (
            "film.avi",
            {},
            InvalidValue,
            "'film.avi' ends in '.avi'; expected a film that ends in .mp4 or .gif",
        ),
        ("film", {}, InvalidValue, "'film' ends in ''; expected a film that ends in .mp4 or .gif"),
        (
            "f.gif",
            {"speed": 0.0},
            InvalidValue,
            "speed is 0; expected a number above 0, where 1 is real time",
        ),
        ("f.gif", {"fps": 1000}, InvalidValue, "fps is 1000; expected 1 to 240 pictures per second"),
        (
            "f.gif",
            {"size": (961, 540)},
            InvalidValue,
            "size is 961x540; expected even numbers from 160 to 4096, as in 960x540",
        ),
        (
            "f.gif",
            {"engine": "mujco"},
            UnknownName,
            "unknown engine 'mujco'; did you mean 'mujoco'? Valid: backemf, mujoco",
        ),
    ],
)
def test_wrong_requests_are_refused_before_anything_is_drawn(tmp_path, name, options, kind, text):
    with pytest.raises(kind) as error:
        film.film(SERVO, pendulum_log(), tmp_path / name, **options)
    assert str(error.value) == text
    assert list(tmp_path.iterdir()) == []


def test_an_existing_film_is_kept(tmp_path):
    (tmp_path / "f.mp4").write_text("mine")
    with pytest.raises(BackemfError, match=r"f\.mp4 exists; give another name, or --force to overwrite it"):
        film.film(SERVO, pendulum_log(), tmp_path / "f.mp4")
    assert (tmp_path / "f.mp4").read_text() == "mine"


def test_without_a_library_to_draw_with_it_says_what_to_install():
    needed("mujoco")
    code = (
        "from backemf.apps.film.offscreen import context\ntry:\n    context(64, 64)\n"
        "except Exception as e:\n    print(type(e).__name__, e)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "MUJOCO_GL": "off"},
        check=True,
    ).stdout
    assert (
        said.strip() == "NotAvailable nothing here can draw MuJoCo's pictures (MUJOCO_GL is 'off'); "
        "install EGL (libegl1) or OSMesa (libosmesa6), or set MUJOCO_GL to egl, osmesa or glfw"
    )


def test_a_library_that_fails_is_forgotten_before_the_next_is_tried():
    needed("mujoco")
    code = (
        "import os, sys, mujoco\nfrom backemf.apps.film.offscreen import context\n"
        "try:\n    context(64, 64).free()\n    print('drawn')\nexcept Exception as e:\n    print(e)\n"
        "print('mujoco.egl' in sys.modules, os.environ.get('PYOPENGL_PLATFORM'))"
    )
    plain = {
        k: v
        for k, v in os.environ.items()
        if k not in ("MUJOCO_GL", "DISPLAY", "WAYLAND_DISPLAY", "PYOPENGL_PLATFORM")
    }
    said = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**plain, "MUJOCO_EGL_DEVICE_ID": "999"},
        check=True,
    ).stdout
    drawn, last = said.strip().splitlines()
    assert drawn == "drawn" or ("egl: " in drawn and "osmesa: " in drawn)
    assert last == ("False osmesa" if drawn == "drawn" else "False None")
