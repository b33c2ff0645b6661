"""Run an exported file in its real simulator, on logs or on the reference motions, and compare it with the
log and with backemf.

What runs is the text that the user gets: each target's own file has a `run` that loads it. The bench's
inertia sits on the exported joint, its load is applied step by step, and commands are held between samples.
A file on disk, perhaps changed by hand, is an export that can be replayed too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..bounds import bytes_of, text_of
from ..engine.simulate import simulate
from ..errors import InvalidValue, MissingValue, NotAvailable
from ..findings import Finding
from ..logs.log import Log
from ..mujoco.arrays import dcmotors, without_log
from ..mujoco.joint_interface import OF_INPUT, ModelJoint, read_joint
from ..mujoco.models import load, same_era
from ..physics.actuator import Actuator
from ..tables import table
from .export import NOT_RUN, Export, given_logs, module_of, parse_target
from .fingerprint import changes_since_export
from .reference_motions import ReferenceMotion, SimulationCase, make_case, recorded_motion, reference_motions
from .result import BROKEN, replace_text, unpack_files
from .sources import MODELS, split

FAR = 0.05
"""Share of a motion's range, RMS, beyond which a step of the engine's own does not follow it any more."""


@dataclass(frozen=True, kw_only=True)
class ReplayCase:
    """One case: differences in position [rad or m], RMS, and the positions themselves."""

    name: str
    target_log: float | None
    """Target against what was measured, RMS."""
    native_log: float | None
    """backemf against what was measured, RMS."""
    target_native: float
    """Target against backemf, RMS."""
    worst_native: float
    """The same, largest."""
    step_difference: float | None
    """Largest difference between the simulator and backemf's own copy of its step;
    None where there is no such copy."""
    refinement: float | None
    """Largest error of the simulator's own time step, from a run at an eighth of it."""
    time: np.ndarray = field(repr=False)
    target: np.ndarray = field(repr=False)
    native: np.ndarray = field(repr=False)
    measured: np.ndarray | None = field(repr=False)
    """NaN at moments that are not the recording's own."""
    asked: np.ndarray | None = field(repr=False)
    """The position that was asked for, where one was."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    """An export's replay in a simulator."""

    simulator: str
    cases: tuple[ReplayCase, ...]
    timestep: float
    unit: str = "rad"
    """Of the differences."""

    def __str__(self) -> str:
        columns = {
            "file-log": "target_log",
            "backemf-log": "native_log",
            "file-backemf": "target_native",
            "at most": "worst_native",
            "of its step": "refinement",
        }
        rows = [(c.name, *(_milli(getattr(c, name)) for name in columns.values())) for c in self.cases]
        about = (
            f"{self.simulator}, step {1e3 * self.timestep:g} ms; differences in m{self.unit}, RMS and largest"
        )
        return f"{about}\n" + table(rows, ("case", *columns))

    @property
    def rms(self) -> float:
        """Of the file against backemf, over all cases."""
        return float(np.sqrt(np.mean([c.target_native**2 for c in self.cases])))

    @property
    def worst(self) -> float:
        return max(c.worst_native for c in self.cases)

    def against_logs(self) -> tuple[float, float] | None:
        """RMS of the file and of backemf against what was measured, where something was."""
        pairs = [(c.target_log, c.native_log) for c in self.cases if c.target_log is not None]
        if not pairs:
            return None
        file, native = (
            np.sqrt(np.mean(np.square(np.array(column, float)))) for column in zip(*pairs, strict=True)
        )
        return float(file), float(native)

    def differences(self) -> str:
        """From backemf, and from the recordings where there are some, in words."""
        u, pair = f"m{self.unit}", self.against_logs()
        seen = f"{1e3 * self.rms:.3g} {u} RMS from backemf's own simulation, at most {1e3 * self.worst:.3g}"
        if pair is None:
            return seen
        return f"{seen}; {1e3 * pair[0]:.3g} {u} from the recordings, backemf itself {1e3 * pair[1]:.3g}"

    def sentence(self) -> str:
        """What was run and what came of it, for a file's header."""
        n = len(self.cases)
        cases = ", ".join(c.name for c in self.cases[:4]) + (f" and {n - 4} more" if n > 4 else "")
        return f"Run in {self.simulator} at {1e3 * self.timestep:g} ms ({cases}): {self.differences()}."


def _milli(value: float | None) -> str:
    return "-" if value is None else f"{1e3 * value:.3g}"


@without_log()
def replay(export: Export, logs: Iterable[Log] | Log | None = None, *, refine: bool = True) -> Replay:
    """Load the exported file in its simulator and drive it.

    Args:
        export: the file; a `<dcmotor>` must be for the installed MuJoCo's era.
        logs: recordings that say how; without any, the reference motions.
        refine: also run at an eighth of the time step, and through backemf's own copy of MuJoCo's step, where
            the file's step is its own.

    Returns:
        Each case beside backemf's own simulation.

    Raises:
        NotAvailable: the simulator is not here.
    """
    module = module_of(export.target)
    if getattr(module, "run", None) is None:
        why = getattr(module, "why_not_run", "it names no simulator")
        raise NotAvailable(f"{export.target} is not run here: {why}")
    simulator = module.simulator()
    if getattr(module, "check_version", None):
        module.check_version(export.version)
    given, made = given_logs(logs), export.actuator
    if given is None:
        cases = reference_motions(made, amplitude=export.amplitude, load=export.load)
    else:
        cases = [recorded_motion(made, log) for log in given]
    own_step = getattr(module, "timestep_of", None)
    h = export.timestep if own_step is None else own_step(export.files)
    clocks = [make_case(case, export.ctrl, h, made.motion) for case in cases]
    tracks = _tracks(module, export, cases, clocks)
    return Replay(
        simulator=simulator,
        cases=tuple(
            _replay_case(module, export, case, clock, track, refine and own_step is not None)
            for case, clock, track in zip(cases, clocks, tracks, strict=True)
        ),
        timestep=h,
        unit="m" if made.motion == "linear" else "rad",
    )


def _tracks(
    module: Any, export: Export, cases: Sequence[ReferenceMotion], clocks: Sequence[SimulationCase]
) -> list[np.ndarray]:
    """Positions of every case on the simulator's clock."""
    together = getattr(module, "run_all", None)
    if together is not None and not any(case.settings for case in cases):
        return together(export.files, export.joint, clocks)
    return [
        module.run(export.files, export.joint, clock, **_adjust_settings(module, export, case))
        for case, clock in zip(cases, clocks, strict=True)
    ]


def _adjust_settings(module: Any, export: Export, case: ReferenceMotion) -> dict[str, Any]:
    """The recording's own settings of the drive, as a change of what the file says."""
    own = export.actuator.parameters
    other = {k: v for k, v in case.settings.items() if not np.isclose(v, own[k], rtol=1e-9)}
    if not other:
        return {}
    if getattr(module, "adjustment", None) is None:
        words = ", ".join(f"{k} = {v:g}" for k, v in other.items())
        raise NotAvailable(
            f"{case.name} was recorded with {words}; a file for {export.target} has its own settings:"
            " export with --set for these recordings"
        )
    return {"adjust": module.adjustment(export, other)}


def _replay_case(
    module: Any, export: Export, case: ReferenceMotion, clock: SimulationCase, track: np.ndarray, refine: bool
) -> ReplayCase:
    actuator = export.actuator.replace(**case.settings) if case.settings else export.actuator
    start = {k: v for k, v in case.start.items() if k in actuator.states}
    q, own, fine = case.measured, None, None
    target = np.interp(case.time, clock.moments, track)
    close = 1e-5 if actuator.gearbox.backlash is None else 1e-4  # teeth that hit each other allow no less
    native = simulate(
        actuator, case.bench, dict(case.command), time=case.time, start=start, tolerance=close, warn=False
    ).position
    adjust = _adjust_settings(module, export, case)
    if refine and getattr(module, "our_step", None):
        copy = module.our_step(export.files, export.joint, clock, **adjust)
        own = None if copy is None else float(np.max(np.abs(copy - track)))
    if refine:
        finer = make_case(case, export.ctrl, clock.timestep / 8, clock.motion)
        fine_track = module.run(export.files, export.joint, finer, **adjust)
        fine = 8 / 7 * float(np.max(np.abs(np.interp(case.time, finer.moments, fine_track) - target)))
    return ReplayCase(
        name=case.name,
        target_log=None if q is None else _rms(target - q),
        native_log=None if q is None else _rms(native - q),
        target_native=_rms(target - native),
        worst_native=float(np.max(np.abs(target - native))),
        step_difference=own,
        refinement=fine,
        time=case.time,
        target=target,
        native=native,
        measured=q,
        asked=case.command.get("position_target"),
    )


def _rms(d: np.ndarray) -> float:
    return float(np.sqrt(np.nanmean(d * d)))


def replay_export(export: Export, logs: Iterable[Log] | Log | None = None) -> Export:
    """The export with a header that says what was run and what came of it, or why nothing was."""
    ran, findings = None, export.findings
    try:
        ran = replay(export, logs, refine=False)
        line = ran.sentence()
        findings = (*findings, *_of_its_step(export, ran))
    except NotAvailable as error:
        line = f"Not run: {error}."
    except InvalidValue as error:
        line = f"Run, and it failed: {error}."
        code, remedy = "replay_fails", "export with a shorter timestep or lower gains"
        findings = (*findings, Finding(code=code, text=str(error), remedy=remedy))
    return replace(export, files=state_result(export.files, line), ran=line, replayed=ran, findings=findings)


def _of_its_step(export: Export, ran: Replay) -> list[Finding]:
    """A target that takes the engine's own steps and still moves otherwise takes them too long."""
    off = max(c.target_native / max(float(np.ptp(c.native)), 1e-9) for c in ran.cases)
    if not getattr(module_of(export.target), "OWN_STEP", False) or off < FAR:
        return []
    text = (
        f"Steps of {1e3 * ran.timestep:g} ms are too long for this actuator: {off:.0%} of the motion RMS from"
        " backemf's own simulation, which takes shorter ones."
    )
    remedy = "export with a shorter timestep"
    return [Finding(code="step_too_long", text=text, remedy=remedy, numbers={"share": off})]


def state_result(files: Mapping[str, str | bytes], line: str) -> dict[str, str | bytes]:
    """Files whose header says what was run; nothing in it may end a comment of theirs."""
    for end, apart in (("--", "- -"), ("*/", "* /"), ("/*", "/ *")):
        while end in line:
            line = line.replace(end, apart)
    said: dict[str, str | bytes] = {}
    for name, content in files.items():
        if isinstance(content, bytes):
            said[name] = replace_text(content, NOT_RUN, line)
        else:
            said[name] = content.replace(NOT_RUN, line, 1)
    return said


def summary(run: Replay) -> dict[str, Any]:
    """As plain data: the key `replay` of `--json`; differences in rad or m."""
    series = ("time", "target", "native", "measured", "asked")
    keys = [f.name for f in fields(ReplayCase) if f.name not in series]
    return {
        "simulator": run.simulator,
        "timestep": run.timestep,
        "rms": run.rms,
        "worst": run.worst,
        "cases": [{k: getattr(c, k) for k in keys} for c in run.cases],
    }


MARKS = {
    ".py": (
        ("mujoco-live", "    return be.attach(model, "),
        ("warp", "def kernels(real):"),
        ("jax", "def prepare(p, h):"),
        ("torch", "PARAMETERS = {"),
        ("mjlab", "from mjlab"),
        ("newton", "import newton"),
    ),
    ".urdf": (("drake", "drake:"), ("urdf", "<robot")),
    ".sdf": (("sdf", "<sdf"),),
    ".c": (("mujoco-plugin", "BACKEMF_NAME("), ("c", "_actuator *a, double h, ")),
    ".fmu": (("fmu", "<fmiModelDescription"),),
    ".usda": (("usd", "def NewtonActuator "),),
}
"""By ending: which target a file is for, by a word that only such a file has."""


def is_exported(source: str) -> bool:
    """Whether a source is a file of a target rather than something to export; a joint of an Isaac Lab file,
    which is not run here, is to be exported."""
    path, name = split(source)
    if path.suffix.lower() == ".py" and name is not None:
        return False
    return path.suffix.lower() in (*MODELS, *MARKS) and path.is_file()


@without_log()
def read_export(source: str, actuator: Actuator | None = None, joint: str | None = None) -> Export:
    """A file as an export.

    Args:
        source: its path, with #JOINT where it has several.
        actuator: that it was made from, to be compared with; an MJCF says itself what its actuator is.
        joint: its name there, where the file does not say it.

    Returns:
        The export, with what was changed in the file since.

    Raises:
        BackemfError: it is for no target, or something it needs is missing.
    """
    path, name = split(source)
    if path.suffix.lower() in MODELS:
        same_era(path)
        return _mjcf(path, actuator, name, joint)
    text, files = _read(path)
    target = next((name for name, mark in MARKS[path.suffix.lower()] if mark in text), None)
    if target is None:
        if "isaaclab" in text:
            raise NotAvailable(
                f"{path.name} is for Isaac Lab, which needs Isaac Sim and is not run here; what it says can"
                f" be run elsewhere: backemf replay {path}#JOINT --to mujoco"
            )
        raise InvalidValue(
            f"{path.name} is for no target that is known here; expected a file of `backemf export`"
        )
    if actuator is None and target == "mujoco-live":
        actuator = Actuator.read(path.with_name([*files][-1]))
    if actuator is None:
        raise MissingValue(
            f"{path.name} does not say which actuator it was made from; give it: --actuator SOURCE"
        )
    _, version = parse_target(target + _version(text, target))
    return Export(
        target=target,
        version=version,
        joint=joint or _joint(text, path, target),
        files=files,
        actuator=actuator,
        carried=actuator,
        ctrl={name: 1.0 for name in actuator.drive.targets},
        findings=tuple(changes_since_export(text)),
        judged=False,
    )


def _read(path: Path) -> tuple[str, dict[str, str | bytes]]:
    """The text that says what a file is, and the file with those that belong to it."""
    try:
        if path.suffix.lower() == ".fmu":
            content = bytes_of(path)
            told = unpack_files(content).get("modelDescription.xml", b"")
            return told.decode("utf-8"), {path.name: content}
        text, beside = text_of(path), path.with_suffix(".h")
        stored = re.search(r'Path\(__file__\)\.with_name\("([^"/]+)"\)|subLayers = \[@\./([^@/]+)@\]', text)
        if path.suffix.lower() in (".py", ".usda") and stored:
            beside = path.with_name(stored[1] or stored[2])
        elif path.suffix.lower() == ".usda" and "def NewtonActuator " in text:
            raise InvalidValue(
                f"{path.name} lies over a stage of its own, which is no bench; expected the two layers of"
                " `backemf export SOURCE --to usd -o NAME.usda`"
            )
        elif path.suffix.lower() != ".c" or MARKS[".c"][0][1] in text:
            return text, {path.name: text}
        if not beside.is_file():
            what = "header" if beside.suffix == ".h" else "file"
            raise MissingValue(f"{path.name} needs its {what} {beside.name} beside it")
        return text, {path.name: text, beside.name: text_of(beside)}
    except BROKEN as error:
        raise InvalidValue(f"{path.name} is no FMU: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"{path.name} cannot be read as text: {error}") from None


def _version(text: str, target: str) -> str:
    """@ and the version, where a file of a target says which it is for."""
    if target == "c":
        return "@float" if "double h, float position" in text else "@double"
    return "@3.0" if target == "fmu" and 'fmiVersion="3.' in text else ""


def _joint(text: str, path: Path, target: str) -> str:
    """The joint's name: in an XML description the only one, in code that attaches it the one said there, in
    other code not needed."""
    if target == "mujoco-live":
        said = re.search(r"be\.attach\(model, \{(['\"])(.+?)\1: ACTUATOR\}", text)
        return said[2] if said else "joint"
    if target in ("mjlab", "newton", "torch", "warp", "jax", "mujoco-plugin", "c", "fmu", "usd"):
        words = text.partition("target_names_expr=(")[2]
        return words.split('"')[1] if words else "joint"
    from ..mujoco.xml import scan

    names = [e.attributes["name"] for e in scan(path) if e.tag == "joint" and "name" in e.attributes]
    several = [name for name in dict.fromkeys(names)]
    if len(several) != 1:
        raise MissingValue(
            f"{path.name} has {len(several)} joints ({', '.join(several)}); say which: --joint NAME"
        )
    return several[0]


def _mjcf(path: Path, actuator: Actuator | None, name: str | None, joint: str | None) -> Export:
    from .mujoco.mjcf_source import read

    loaded, source = load(path), read(path, name, joint)
    if joint is not None and source.joint != joint:
        raise InvalidValue(f"{path.name} has no actuator on the joint {joint!r}; expected one to replay")
    made, old = source.actuator if actuator is None else actuator, read_joint(loaded, source.joint)
    by_motor = old.actuator in dcmotors(loaded.model)
    target, version = parse_target("mujoco" if by_motor else "mujoco-classic")
    text = text_of(path)
    return Export(
        target=target,
        version=version,
        joint=source.joint,
        files={path.name: text},
        findings=tuple(changes_since_export(text)),
        actuator=made,
        carried=source.actuator,
        ctrl=_ctrl(path, old, made, by_motor),
        notes=source.notes,
        judged=False,
    )


def _ctrl(path: Path, old: ModelJoint, actuator: Actuator, by_motor: bool) -> dict[str, float]:
    """Factor from the drive's targets to the file's inputs, in their order."""
    from .mujoco.dcmotor_target import read

    if by_motor:
        return {name: 1.0 / factor for name, factor in read(path, old.actuator).targets.items()}
    if old.inputs:
        return {OF_INPUT[word]: 1.0 / old.gear if word == "ff" else old.gear for word in old.inputs}
    moves = old.follows in ("position_target", "velocity_target")
    return {actuator.drive.followed: old.gear if moves else 1.0}
