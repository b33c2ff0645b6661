"""The command render: a film, a line or an object about it, and refusals that say what to do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from backemf.apps.cli import report as render
from backemf.errors import BackemfError

from ..conftest import unavailable
from ..film.benches import SERVO, needs_renderer, pendulum_log
from .runner import runner

run = runner(render.render)


@pytest.fixture
def files(tmp_path):
    """An actuator and a recording that does not say what it was made on."""
    log = pendulum_log(0.02)
    rows = [
        f"{t:.4f},{q:.6f},{g:.6f}"
        for t, q, g in zip(log.time, log["position"], log["position_target"], strict=True)
    ]
    (tmp_path / "swing.csv").write_text(
        "time [s],position [rad],position_target [rad]\n" + "\n".join(rows) + "\n"
    )
    SERVO.write(tmp_path / "servo.json")
    return tmp_path


BENCH = ("--bench", "pendulum,mass=0.3,length=0.1")


def test_a_film_as_text_and_as_json(files):
    needs_renderer()
    if find_spec("imageio_ffmpeg") is None:
        unavailable("imageio-ffmpeg, of the extra 'video',")
    words = (
        files / "servo.json",
        "--log",
        files / "swing.csv",
        *BENCH,
        "--fps",
        "10",
        "--size",
        "320x180",
        "--between",
        "0.1",
        "0.4",
    )
    assert run(*words, "-o", files / "s.mp4").startswith(
        f"wrote {files / 's.mp4'}: 4 pictures, 0.4 s at 10 per second; RMS "
    )
    told = json.loads(run(*words, "-o", files / "s.gif", "--json"))
    assert set(told) == {"file", "frames", "fps", "duration", "rms", "size", "options"}
    assert (told["frames"], told["fps"], told["size"]) == (4, 10.0, [320, 180])
    with pytest.raises(BackemfError, match="exists; give another name, or --force"):
        run(*words, "-o", files / "s.gif")
    before = (files / "s.gif").stat().st_mtime_ns
    run(*words, "-o", files / "s.gif", "--force")
    assert (files / "s.gif").stat().st_mtime_ns > before


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            (),
            (
                'swing has no bench; say what the output carried, as in --bench "pendulum mass=0.5kg'
                ' length=0.1m" (in Python: be.read(..., bench=...))'
            ),
        ),
        (("--size", "big"), "--size is 'big'; expected width x height in pixels, as in 960x540"),
        (
            ("--bench", "pendulm,mass=1"),
            (
                "unknown bench 'pendulm'; did you mean 'pendulum'? Valid: elevator, flywheel, free-shaft,"
                " locked, pendulum, recorded, spring"
            ),
        ),
        (
            ("--bench", "flywheel,inertia=some"),
            "bench.inertia is 'some'; expected a number and a unit of an inertia",
        ),
        (
            ("--command", "squar from=0 to=1 period=2s"),
            (
                "unknown command 'squar'; did you mean 'square'? Valid: chirp, constant, ramp, random-binary,"
                " sine, square, step"
            ),
        ),
    ],
)
def test_refusals(files, words, text):
    with pytest.raises(BackemfError) as error:
        run(files / "servo.json", "--log", files / "swing.csv", "-o", files / "s.gif", *words)
    assert str(error.value) == text
    assert not (files / "s.gif").exists()


def test_without_the_packages_it_exits_2_and_says_what_to_install(files):
    """As on a machine without imageio-ffmpeg."""
    code = "import sys; sys.modules['imageio_ffmpeg'] = None; from backemf.apps.cli.main import main; main()"
    words = [
        "render",
        str(files / "servo.json"),
        "--log",
        str(files / "swing.csv"),
        *BENCH,
        "-o",
        str(files / "s.mp4"),
    ]
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        check=False,
    )
    assert done.returncode == 2
    assert (
        done.stderr.strip()
        == "backemf: an .mp4 needs imageio-ffmpeg, which is not installed; install it with: pip install"
        " backemf[video] (a .gif needs nothing)"
    )
