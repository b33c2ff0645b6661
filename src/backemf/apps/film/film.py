"""A film of a bench: the recording as a ghost around the model that should move like it,
with their curves beside the picture."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import BackemfError, InvalidValue, MissingValue, NotAvailable, UnknownName
from ...files import may_write, replacing
from ...logs.log import Log
from ...mujoco.arrays import load_mujoco
from ...physics.actuator import Actuator
from ...results.fit import Fit
from .offscreen import Offscreen
from .scene import BODIES, Scene, scene
from .strip import Course, Strip

ENDINGS = (".mp4", ".gif")
ENGINES = ("backemf", "mujoco")
RATES = {".mp4": 30.0, ".gif": 20.0}
"""Pictures per second where none are asked for."""
LEAST, MOST = 160, 4096
"""Sides of a picture in pixels."""
MOST_FRAMES = 100_000
"""Nearly an hour of film."""


@dataclass(frozen=True, kw_only=True)
class Filmed:
    """A written film."""

    file: Path
    frames: int
    fps: float
    duration: float
    """Playing time [s]."""
    rms: float
    """Between recording and model [rad or m]."""
    size: tuple[int, int]

    def to_dict(self) -> dict[str, Any]:
        """The keys of `--json`."""
        return {**vars(self), "file": str(self.file), "size": list(self.size)}


def course(source: Fit | Actuator, log: Log, *, engine: str = "backemf", name: str = "") -> Course:
    """A log and what the model says it should have looked like:
    backemf's prediction, or its export replayed in MuJoCo."""
    if engine not in ENGINES:
        raise UnknownName("engine", engine, ENGINES)
    if "position" not in log:
        raise MissingValue(f"{log.name} has no position to draw; it has: {', '.join(log.signals)}")
    if log.bench is None:
        raise MissingValue(
            f"{log.name} has no bench; say what the output carried, as in --bench"
            ' "pendulum mass=0.5kg length=0.1m" (in Python: be.read(..., bench=...))'
        )
    if log.bench.locked:
        raise InvalidValue(
            f"{log.name} was recorded with the output locked: there is no motion to draw; expected another"
            " bench"
        )
    q = log["position"]
    if np.isfinite(q).sum() < 2 or len(log) < 2:
        raise MissingValue(f"{log.name} has fewer than two samples of position; there is nothing to draw")
    actuator = source.actuator if isinstance(source, Fit) else source
    if actuator.motion != log.motion:
        raise InvalidValue(
            f"{log.name} is {log.motion} and the actuator is {actuator.motion}; expected both alike"
        )
    follows = actuator.drive.target == "position_target" and "position_target" in log
    target = log["position_target"] if follows else None
    if target is not None and "enabled" in log:
        target = np.where(log["enabled"] > 0.5, target, np.nan)
    said = _replayed(actuator, log) if engine == "mujoco" else _predicted(source, log)
    if not np.isfinite(said).all():
        lost = log.time[int(np.argmax(~np.isfinite(said)))]
        raise InvalidValue(
            f"{log.name}: the model's motion is not finite at {lost:g} s; there is nothing to draw"
        )
    how = "MuJoCo's replay" if engine == "mujoco" else "backemf's prediction"
    return Course(
        name=log.name,
        model=f"{how} of {name}" if name else how,
        motion=log.motion,
        time=log.time,
        measured=q,
        predicted=said,
        target=target,
    )


def _predicted(source: Fit | Actuator, log: Log) -> np.ndarray:
    from ...identify.parameters import FreeParameters
    from ...identify.predict import predict
    from ...identify.problem import fitted_drive, problem

    if isinstance(source, Fit):
        return predict(source, log)
    actuator, _ = fitted_drive(source, [log])
    return problem(actuator, [log], FreeParameters(()), outputs=("position",)).predictions(np.zeros(0))[0]


def _replayed(actuator: Actuator, log: Log) -> np.ndarray:
    from ...identify.problem import fitted_drive
    from ...targets.export import export
    from ...targets.replay import replay

    actuator, _ = fitted_drive(actuator, [log])
    (case,) = replay(export(actuator, "mujoco", replay=False), log, refine=False).cases
    return np.interp(log.time - log.time[0], case.time, case.target)


class Stage:
    """The scene, the plot and their places in one picture."""

    def __init__(self, log: Log, shown: Course, size: tuple[int, int]):
        if log.bench is None:
            raise MissingValue(f"{log.name} has no bench to draw")
        self.shown, self.size = shown, size
        places = np.concatenate([shown.measured, shown.predicted])
        low, high = float(np.nanmin(places)), float(np.nanmax(places))
        self.scene: Scene = scene(log.bench, log.motion, low, high)
        mujoco = load_mujoco()
        self.model = mujoco.MjModel.from_xml_string(self.scene.xml)
        self.state = mujoco.MjData(self.model)
        width, height = size
        self.beside = not self.scene.wide and width >= 1.2 * height
        share = (min(height, 2 * round(0.275 * width)), 2 * round(0.28 * height))
        self.picture = (share[0], height) if self.beside else (width, share[1])
        plot = (width - self.picture[0], height) if self.beside else (width, height - self.picture[1])
        self.strip = Strip(shown, *plot)
        self.camera = self._camera(mujoco)

    def _camera(self, mujoco: Any) -> Any:
        """Far enough for everything to be seen, straight from the front so that angles are true,
        a little from above."""
        camera = mujoco.MjvCamera()
        half = math.tan(math.radians(0.5 * float(self.model.vis.global_.fovy)))
        width, height = self.picture
        camera.distance = 1.06 * max(self.scene.reach / half, self.scene.breadth / (half * width / height))
        camera.azimuth, camera.elevation = 90.0, -5.0
        camera.lookat[:] = (self.scene.centre[0], 0.0, self.scene.centre[1])
        return camera

    def place(self, moment: float) -> None:
        """Put model and ghost where they are at a moment: kinematics only."""
        measured, predicted = self.shown.at(moment)
        for owner, position in zip(BODIES, (predicted, measured), strict=True):
            for joint, value in self.scene.coordinates(owner, position).items():
                self.state.qpos[self.model.joint(joint).qposadr[0]] = value
        load_mujoco().mj_forward(self.model, self.state)

    def frames(self, moments: np.ndarray) -> Generator[np.ndarray, None, None]:
        """Pictures (height, width, 3) at these moments of the log."""
        with Offscreen(self.model, *self.picture) as drawing:
            for moment in moments:
                self.place(float(moment))
                pair = (drawing.draw(self.state, self.camera), self.strip.frame(float(moment)))
                yield np.concatenate(pair, axis=1 if self.beside else 0)


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
) -> Filmed:
    """Film a log and the model's motion into an .mp4 (H.264) or .gif, whole or not at all.

    `speed` 0.5 plays at half speed; `progress` is told how many of how many pictures are done. A gif counts
    in hundredths of a second: its rate is the nearest one that it can hold.
    """
    path = Path(path)
    ending = writable(path, force)
    rate = rate_of(ending, speed, fps, size)
    encode = encoder(ending)
    shown = course(source, log, engine=engine, name=name)
    moments = moments_of(shown.time, speed, rate)
    n = len(moments)
    stage = Stage(log, shown, size)
    frames = stage.frames(moments)
    with contextlib.closing(frames), replacing(path, force=force, suffix=ending) as temporary:
        encode(temporary, counted(frames, n, progress), size, rate)
    return Filmed(file=path, frames=n, fps=rate, duration=n / rate, rms=shown.rms, size=size)


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


def counted(
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
