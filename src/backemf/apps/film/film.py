"""A film of a bench or a robot, into a file: the recording as a ghost around the model that should move like
it, with their curves beside the picture."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import BackemfError, InvalidValue, NotAvailable
from ...files import may_write, replacing
from ...logs.log import Log
from ...physics.actuator import Actuator
from ...results.fit_result import Fit
from .recorded_run import recorded_run
from .stage import FilmStage, RobotStage

ENDINGS = (".mp4", ".gif")
RATES = {".mp4": 30.0, ".gif": 20.0}
"""Pictures per second where none are asked for."""
LEAST, MOST = 160, 4096
"""Sides of a picture in pixels."""
MANY_FRAMES = 900
"""Pictures of a film whose rate nobody asked for; where it would have more, the rate is lower, 1 at least."""
MOST_FRAMES = 100_000
"""Nearly an hour of film."""


@dataclass(frozen=True, kw_only=True)
class Film:
    """A written film."""

    file: Path
    frames: int
    fps: float
    duration: float
    """Playing time [s]."""
    rms: float
    """Between recording and model [rad or m]."""
    size: tuple[int, int]
    coarser: bool = False
    """Whether it has fewer pictures per second than usual, because it is long."""

    def to_dict(self) -> dict[str, Any]:
        """The keys of `--json`."""
        kept = {key: value for key, value in vars(self).items() if key != "coarser" or value}
        return {**kept, "file": str(self.file), "size": list(self.size)}


def film(
    source: Fit | Actuator,
    log: Log,
    path: Path | str,
    *,
    engine: str = "backemf",
    name: str = "",
    speed: float = 1.0,
    fps: float | None = None,
    size: tuple[int, int] = (960, 540),
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Film:
    """Film a log and the model's motion into an .mp4 (H.264) or .gif, whole or not at all.

    A gif counts in hundredths of a second: its rate is the nearest one that it can hold.

    Args:
        source: a fit, of a servo or of a robot, or an actuator.
        log: the recording.
        path: of the film.
        engine: where the model's motion comes from: 'backemf', or 'mujoco' to replay its export.
        name: of the model, in words.
        speed: 1 is real time, 0.5 half of it.
        fps: pictures per second of film; without it 30, or 20 in a gif, and fewer where they would be more
            than 900.
        size: width and height [pixels], both even.
        force: overwrite the film if it exists.
        progress: is told how many of how many pictures are done.

    Returns:
        The written film.
    """
    path = Path(path)
    ending = writable(path, force)
    rate = rate_of(ending, speed, fps, size)
    encode = encoder(ending)
    run = recorded_run(source, log, engine=engine, name=name)
    seconds = float(run.time[-1] - run.time[0]) / speed
    coarser = fps is None and seconds * rate > MANY_FRAMES
    if coarser:  # in whole hundredths of a second, as a gif counts
        rate = max(1.0, 100.0 / math.ceil(100.0 * seconds / MANY_FRAMES))
    moments = moments_of(run.time, speed, rate)
    n = len(moments)
    stage = FilmStage(log, run, size) if run.robot is None else RobotStage(run.robot, run, size)
    frames = stage.frames(moments)
    with contextlib.closing(frames), replacing(path, force=force, suffix=ending) as temporary:
        encode(temporary, count_frames(frames, n, progress), size, rate)
    return Film(file=path, frames=n, fps=rate, duration=n / rate, rms=run.rms, size=size, coarser=coarser)


def moments_of(time: np.ndarray, speed: float, rate: float) -> np.ndarray:
    """When pictures are taken, on a recording's clock."""
    span = float(time[-1] - time[0])
    if not span * rate / speed < MOST_FRAMES:
        raise InvalidValue(
            f"{span:.3g} s at speed {speed:g} would be {span * rate / speed:.3g} pictures; expected fewer"
            f" than {MOST_FRAMES}: show less of it"
        )
    n = math.floor(span * rate / speed + 1e-9) + 1
    return time[0] + np.arange(n) * (speed / rate)


def writable(path: Path, force: bool) -> str:
    """The film's ending, once the file may be written."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise InvalidValue(
            f"{path.name!r} ends in {path.suffix!r}; expected a film that ends in {' or '.join(ENDINGS)}"
        )
    may_write(path, force=force)
    return ending


def rate_of(ending: str, speed: float, fps: float | None, size: tuple[int, int]) -> float:
    """Pictures per second, once everything that was asked for makes sense."""
    if not (math.isfinite(speed) and speed > 0):
        raise InvalidValue(f"speed is {speed:g}; expected a number above 0, where 1 is real time")
    rate = RATES[ending] if fps is None else float(fps)
    if not (math.isfinite(rate) and 1 <= rate <= 240):
        raise InvalidValue(f"fps is {rate:g}; expected 1 to 240 pictures per second")
    if any(side % 2 or not LEAST <= side <= MOST for side in size):
        raise InvalidValue(
            f"size is {size[0]}x{size[1]}; expected even numbers from {LEAST} to {MOST}, as in 960x540"
        )
    # Browsers slow down what is shorter than 2/100 s.
    return rate if ending == ".mp4" else 100.0 / max(2, round(100.0 / rate))


def count_frames(
    frames: Iterator[np.ndarray], n: int, progress: Callable[[int, int], None] | None
) -> Iterator[np.ndarray]:
    for k, frame in enumerate(frames):
        yield frame
        if progress is not None:
            progress(k + 1, n)


Encoder = Callable[[Path, Iterator[np.ndarray], tuple[int, int], float], None]


def encoder(ending: str) -> Encoder:
    """What writes this kind of file, found before anything is drawn."""
    if ending == ".gif":
        return _gif
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise NotAvailable(
            "an .mp4 needs imageio-ffmpeg, which is not installed; install it with: pip install"
            " backemf[video] (a .gif needs nothing)"
        ) from None
    return _mp4


def _mp4(path: Path, frames: Iterator[np.ndarray], size: tuple[int, int], rate: float) -> None:
    """H.264, yuv420p, its index in front: what browsers and slides play."""
    import subprocess

    import imageio_ffmpeg

    options = (
        f"-f rawvideo -pix_fmt rgb24 -s {size[0]}x{size[1]} -r {rate:g} -i - -an -c:v libx264"
        " -pix_fmt yuv420p -crf 18 -preset medium -movflags +faststart"
    ).split()
    # A session of its own: an interruption at the terminal is ours to handle. (imageio-ffmpeg's own writer
    # forks, which JAX warns about.)
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error", *options, str(path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as ffmpeg:
        assert ffmpeg.stdin is not None
        try:
            for frame in frames:
                ffmpeg.stdin.write(np.ascontiguousarray(frame).tobytes())
        except BrokenPipeError:
            pass  # it has said why
        except BaseException:
            ffmpeg.kill()
            raise
        said = ffmpeg.communicate()[1].decode(errors="replace")
    if ffmpeg.returncode:
        raise BackemfError(f"ffmpeg could not write the film: {' '.join(said.split())[:300]}")


def _gif(path: Path, frames: Iterator[np.ndarray], size: tuple[int, int], rate: float) -> None:
    """One palette for all pictures, so that nothing flickers; plays for ever."""
    from PIL import Image

    first = Image.fromarray(next(frames))
    palette = first.quantize(colors=255, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    rest = (Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames)
    how = {"save_all": True, "duration": round(1000.0 / rate), "loop": 0, "optimize": False, "disposal": 1}
    with path.open("wb") as file:
        palette.save(file, format="GIF", append_images=rest, **how)
