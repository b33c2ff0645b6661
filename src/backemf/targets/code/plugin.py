"""A MuJoCo engine plugin in C99: the whole actuator inside the simulation, for the stock viewer and every
language.

The step is the engine's own, traced; around it stands what `simulator/live/kernel.py` does, with MuJoCo's
own functions and fields. A simulation's `plugin_state` holds what actuators remember, so that resetting,
copying, storing and threads carry it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...engine.hosted_system import LEAD, LONG_DELAY, LiveSystem, live_system
from ...engine.rows import DELAY
from ...errors import InvalidValue, NotAvailable
from ...mujoco.arrays import engine_of, load_mujoco
from ...mujoco.joint_interface import JointDrive, drive_findings, drive_joint, read_joint
from ...mujoco.live import safe
from ...mujoco.live.attach import SWEEPS
from ...mujoco.live.places import FIRST, STILL
from ...mujoco.xml import Edit, compile_edited
from ...physics.actuator import Actuator
from ...physics.quantity import quantities
from ..export import Export, Request, complete, header, number, xml_comment
from ..mujoco.dcmotor_target import attributes
from ..mujoco.edited_model import EditedModel, with_states
from ..mujoco.holding import hold_lines
from ..mujoco.into import KEPT, UserModel, escape_attribute, host_edits, model_of
from ..mujoco.run import simulator as mujoco_named
from ..reference_motions import SimulationCase, reference_inertia
from ..spec import whole_rows
from ..template import fill
from . import c_language as cc
from .c import findings_of
from .c_language import array, comment, harmless, identifier, literal, quote

UNITS = "SI at the joint, also in ctrl: rad, N m, V, A; on a linear axis m and N in the same places."
OWN_STEP = True
"""It takes the engine's own steps."""
SCALE = "ctrl_scale"
"""What the drive is asked for, over ctrl; 1 where nothing is said."""
STEPPING = (SCALE, "substeps", "sweeps")
"""Attributes of a plugin besides parameters and targets."""
rows = whole_rows(
    (
        "the whole actuator",
        "the plugin backemf.knee",
        "compiled, and called by MuJoCo's engine at every step",
    ),
    ("every parameter", "config, by path", "the actuator's own numbers where nothing is said"),
    ("the drive's first target", "ctrl", "in the joint's units, within ctrlrange"),
    (
        "further targets, a switch",
        "config: `velocity_target`, ..., `disabled`",
        "the name of an actuator whose ctrl holds it; without it 0",
    ),
    ("every state, the last effort, late commands", "plugin_state", "reset, stored, copied as it is"),
    ("n N^2 motor.rotor_inertia", "joint armature", "yours to write; MuJoCo warns of another"),
    ("friction", "nothing in the joint", "its damping and frictionloss must be 0"),
    ("drive.delay", "plugin_state", "mixed where a command arrives inside a step"),
    ("what is asked for, over ctrl", "config: `ctrl_scale`", "1 where nothing is said"),
    ("parts of a step, rounds of a tree", "config: `substeps`, `sweeps`", "see How it works"),
    ("how sure a fit is", "not carried", "`be.attach` draws from it"),
)
"""Ours -> theirs, for the documentation page; of a joint named knee."""


class PluginPart(NamedTuple):
    """An actuator's part of a plugin."""

    row: str
    text: str
    system: LiveSystem


def write(actuator: Actuator, request: Request) -> Export:
    return several({request.joint: actuator}, request)


def several(actuators: Mapping[str, Actuator], request: Request) -> Export:
    """A library with a plugin for each joint; the export itself is of the first."""
    (joint, actuator), *_ = actuators.items()
    if request.integrator == "RK4":
        raise InvalidValue(
            "integrator is RK4, which asks actuators several times a step; expected Euler, implicit or"
            " implicitfast"
        )
    names = [identifier(actuator) for actuator in actuators]
    if len(set(names)) < len(names):
        raise InvalidValue(f"joints {', '.join(actuators)} are the same name in C; expected different ones")
    findings = [f for actuator in actuators.values() for f in findings_of(actuator)]
    top = header(request, UNITS, findings=findings)
    written = {one: _kind(part, one, request.timestep) for one, part in actuators.items()}
    source = f"{names[0]}_plugin.c"
    usage = ["", *_usage(written, source)]
    bare = {source: _source([*top, *usage], written)}
    for k, (one, part) in enumerate(actuators.items()):
        lines = _holds(bare, k, part, written[one].system, request)
        top += [line.replace(":", f" of {one}:", 1) for line in lines] if len(written) > 1 else lines
    files = {
        source: _source([*top, *usage], written),
        "Makefile": fill("plugin.mk", source=source),
        f"{names[0]}_plugin.xml": _example(joint, written[joint].system, top, request),
    }
    same: dict[str, Any] = {"carried": actuator, "numbers": dict(actuator.parameters)}
    return complete(request, actuator, files=files, findings=findings, **same)


def _holds(
    files: Mapping[str, str | bytes], k: int, actuator: Actuator, system: LiveSystem, request: Request
) -> list[str]:
    """Lines on how still the k-th plugin holds, run by itself."""

    def compile_bench() -> Any:
        library, inertia = build_library(files), reference_inertia(actuator, request)
        words = _armature(system), request.timestep, inertia, actuator.motion
        return load_mujoco().MjModel.from_xml_string(_on_bench(library, k, *words))

    return hold_lines(compile_bench, actuator, request._replace(joint="bench"), how="run as this plugin")


def _source(top: Sequence[str], written: Mapping[str, PluginPart]) -> str:
    return fill(
        "plugin.c",
        top=comment(top),
        parts="".join(one.text for one in written.values()),
        n_kinds=len(written),
        n_parameters=max(len(one.system.parameters) for one in written.values()),
        n_inputs=max(len(one.system.inputs) for one in written.values()),
        sweeps=SWEEPS,
        first=FIRST,
        still=literal(STILL),
        lead=literal(LEAD),
        long_delay=quote(LONG_DELAY),
        rows="".join(one.row for one in written.values()),
    )


def _usage(written: Mapping[str, PluginPart], source: str) -> list[str]:
    lines = ["Build: make MUJOCO=/path/to/mujoco, and load the library: mj_loadPluginLibrary, or put it"]
    lines += ["     into the folder mujoco_plugin/ beside the stock viewer. In the model:"]
    for joint, one in written.items():
        mine = f'plugin="backemf.{identifier(joint)}"'
        lines += [
            f"     <extension><plugin {mine}/></extension>",
            f'     <joint name="{joint}" damping="0" frictionloss="0" armature="{_armature(one.system)}"/>',
            f'     <actuator><plugin joint="{joint}" {mine}/></actuator>',
        ]
    if len(written) > 1:
        lines.append(f"What was run is the plugin of {next(iter(written))} alone.")
    return [*lines, "Joints of one tree agree on their efforts where their plugins are of one library."]


def armature_of(actuator: Actuator) -> str:
    """What the joint must have."""
    return _armature(live_system(actuator))


def _armature(system: LiveSystem) -> str:
    return number(float(system.armature([*system.parameters.values()])))


def _example(joint: str, system: LiveSystem, top: Sequence[str], request: Request) -> str:
    plugin, drive = identifier(joint), system.actuator.drive
    more = [target for target in drive.targets if target != drive.followed]
    linear = system.actuator.motion == "linear"
    config = "".join(f'\n      <config key="{one}" value="{joint}_{one}"/>' for one in more)
    return fill(
        "plugin.xml",
        top=xml_comment([*top, "Load the plugin's library before this model."]),
        plugin=plugin,
        joint=joint,
        timestep=number(request.timestep),
        integrator=request.integrator,
        kind='type="slide" axis="0 0 1"' if linear else 'type="hinge" axis="0 1 0"',
        armature=_armature(system),
        config=config + ("\n    " if config else ""),
        more="".join(f'\n    <general name="{joint}_{one}" joint="{joint}" gainprm="0"/>' for one in more),
    )


def _kind(actuator: Actuator, joint: str, timestep: float) -> PluginPart:
    from ...engine.compile.compiler import lowered_hosted
    from ...engine.compile.dialects import c_dialect as c_live
    from ...engine.compile.lower import lower

    system, name = live_system(actuator, switched=True), identifier(joint)
    lowered, hosted = lower(system), lowered_hosted(system)
    (armature,) = hosted.armature
    paths, states = [*system.parameters], system.states
    known = {path: (field.metadata, path) for path, field, _ in quantities(actuator)}
    targets, drive = system.inputs[3:], actuator.drive
    attributes = [*paths, *targets[1 if drive.targets else 0 :], *STEPPING]
    lows = [_low(known[path][0]) for path in paths]
    highs = [known[path][0]["most"] for path in paths]
    remarks = [f"{path} [{actuator.unit(path)}]" for path in paths]

    def place(path: str | None) -> int:
        return paths.index(path) if path in paths else -1

    def beside(path: str) -> int:
        """The parameter of the same part that this one is not smaller than."""
        over = known[path][0]["over"]
        return -1 if over is None else place(f"{path.rpartition('.')[0]}.{over}")

    words: dict[str, Any] = {
        "joint": harmless(joint),
        "name": name,
        "NAME": name.upper(),
        "plugin": quote(name),
        "n_parameters": len(paths),
        "n_states": len(states),
        "n_targets": len(targets),
        "n_late": len(drive.targets),
        "n_kept": max(c_live.kept_terms(lowered), 1),
        "n_attributes": len(attributes),
        "position": states.index("position"),
        "velocity": states.index("velocity"),
        "substeps": substeps_of(actuator, float(_armature(system)), timestep),
        "slides": int(actuator.motion == "linear"),
        "delay": place(DELAY),
        "numbers": array([*system.parameters.values()], remarks=remarks),
        "attributes": ",\n".join(f"    {quote(attribute)}" for attribute in attributes),
        "low": _list_values(literal(-math.inf if x is None else x) for x in lows),
        "high": _list_values(literal(math.inf if x is None else x) for x in highs),
        "above": _list_values(str(int(known[path][0]["above"] is not None)) for path in paths),
        "over": _list_values(str(beside(path)) for path in paths),
        "step": c_live.emit_live(name, lowered, armature, hosted.begin),
    }
    return PluginPart(fill("plugin_row.c", **words), fill("plugin_kind.c", **words), system)


def _low(meta: Any) -> float | None:
    return meta["least"] if meta["above"] is None else meta["above"]


def _list_values(words: Any) -> str:
    """The inside of an array's braces, a few a line."""
    all_of_them = [*words]
    rows = [", ".join(all_of_them[k : k + 8]) for k in range(0, len(all_of_them), 8)]
    return ",\n    ".join(rows)


@functools.lru_cache(maxsize=64)
def substeps_of(actuator: Actuator, armature: float, timestep: float) -> int:
    """As many parts of a step as a joint needs that is as heavy as its rotor."""
    return safe.substeps_for(actuator, armature or 1e-4, timestep)[0]


def simulator() -> str:
    return f"{mujoco_named()}, as a plugin built by {cc.compiler()}"


def adjustment(export: Export, other: Mapping[str, float]) -> dict[str, float]:
    """A recording's own settings: the plugin's configuration has them."""
    return dict(other)


class BuiltLibrary(NamedTuple):
    """A library that this process has loaded, under a name of its own."""

    tag: str
    names: tuple[str, ...]
    """Of its plugins, without backemf. before them and the tag behind."""


_loaded: dict[str, BuiltLibrary] = {}


def build_library(files: Mapping[str, str | bytes], *more: str) -> BuiltLibrary:
    """Compile and load the files, once a process: a library cannot be unloaded, so that each text has names
    of its own."""
    mujoco = load_mujoco()
    source, text = next(((name, x) for name, x in files.items() if name.endswith(".c")), (None, ""))
    names = re.findall(r'\{BACKEMF_NAME\("(\w+)"\)', str(text))
    if source is None or not names:
        raise InvalidValue(f"{', '.join(files)}: expected the C of `backemf export --to mujoco-plugin`")
    code = str(text).partition("*/")[2]  # what its header says changes nothing
    tag = "." + hashlib.sha256(json.dumps([code, more]).encode()).hexdigest()[:16]
    if tag in _loaded:
        return _loaded[tag]
    include, library = places(mujoco)
    with cc.laid_out({Path(source).name: text}) as folder:
        flags = (f'-DBACKEMF_TAG="{tag}"', "-isystem", str(include), *more)
        path = cc.build(folder, [Path(source).name, str(library)], f"plugin{cc.ending()}", *flags)
        mujoco.mj_loadPluginLibrary(str(path))
    _loaded[tag] = BuiltLibrary(tag, tuple(names))
    return _loaded[tag]


def places(mujoco: Any) -> tuple[Path, Path]:
    """The headers and the library of the installed MuJoCo."""
    folder = Path(mujoco.__file__).parent
    libraries = [p for pattern in ("libmujoco*", "mujoco.lib") for p in sorted(folder.glob(pattern))]
    if not (folder / "include" / "mujoco" / "mujoco.h").is_file() or not libraries:
        raise NotAvailable(
            f"the installed mujoco {mujoco.__version__} has no headers or library to build a plugin against;"
            " reinstall it with: pip install mujoco"
        )
    return folder / "include", libraries[0]


BENCH = """<mujoco><extension><plugin plugin="{plugin}"/></extension>
<option timestep="{h!r}" gravity="0 0 0" integrator="implicitfast"/><worldbody><body>
<joint name="bench" type="{kind}" armature="{armature}"/>
<inertial pos="0 0 0" mass="{mass!r}" diaginertia="{J!r} {J!r} {J!r}"/></body></worldbody><actuator>
<plugin name="drive" joint="bench" plugin="{plugin}">{config}</plugin>{more}</actuator></mujoco>"""
"""A joint with the bench's inertia, whose load comes from outside."""


def _on_bench(
    library: BuiltLibrary, k: int, armature: str, h: float, inertia: float, motion: str, **how: str
) -> str:
    """A model of a bench for a library's k-th plugin, with its configuration and further actuators."""
    J = max(inertia, 1e-9)
    return BENCH.format(
        plugin=f"backemf.{library.names[k]}{library.tag}",
        h=h,
        kind="slide" if motion == "linear" else "hinge",
        armature=armature,
        mass=J if motion == "linear" else 1.0,
        J=J,
        **{"config": "", "more": "", **how},
    )


def run(
    files: Mapping[str, str], joint: str, case: SimulationCase, adjust: Mapping[str, float] | None = None
) -> np.ndarray:
    """Positions [rad or m] at the case's moments when the files themselves are compiled, loaded and run."""
    mujoco = load_mujoco()
    library = build_library(files)
    text = next(str(x) for name, x in files.items() if name.endswith(".c"))
    armature = re.search(r' armature="([^"]*)"', text)
    targets = [*case.ctrl]
    extra = [*targets[1:], "disabled"]
    settings = {**(adjust or {}), **{one: one for one in extra}}
    bench = _on_bench(
        library,
        0,
        "0" if armature is None else armature[1],
        case.timestep,
        case.inertia,
        case.motion,
        config="".join(f'<config key="{key}" value="{value}"/>' for key, value in settings.items()),
        more="".join(f'<general name="{one}" joint="bench" gainprm="0"/>' for one in extra),
    )
    try:
        model = mujoco.MjModel.from_xml_string(bench)
    except ValueError as error:
        raise InvalidValue(f"MuJoCo does not take the plugin: {' '.join(str(error).split())}") from None
    data = mujoco.MjData(model)
    data.qpos[0], data.qvel[0] = case.position, case.velocity
    sent, positions = case.mean_inputs, np.empty(len(case.moments))
    for k in range(len(case.moments)):
        q, w = float(data.qpos[0]), float(data.qvel[0])
        positions[k] = q
        if targets:
            data.ctrl[: len(targets)] = sent[k]
        data.ctrl[-1] = not case.enabled[k]
        data.qfrc_applied[0] = case.load(k, q, w)
        mujoco.mj_step(model, data)
    return case.check(simulator(), positions)


def into_plugin(
    wanted: Mapping[str, Actuator],
    path: Path | str,
    request: Request,
    *,
    replay: bool = True,
    unknown: Mapping[str, Sequence[str]] | None = None,
) -> EditedModel:
    """Actuators by name or regular expression of their joints, as plugins of one library.

    Args:
        wanted: actuators by joint or pattern.
        path: of the model.
        request: what is asked of the export.
        replay: run the plugin on the reference motions.
        unknown: by joint or pattern, paths of what an actuator does not know.

    Returns:
        The edited files, with the plugin's source beside them.

    Raises:
        InvalidValue: a joint cannot have its actuator.
    """
    model = model_of(path)
    clock = engine_of(model.loaded.model)
    choice = model.choose({pattern: actuator.motion for pattern, actuator in wanted.items()})
    kinds, drives = dict[str, Actuator](), dict[str, JointDrive]()
    for joint, pattern in choice.deciding.items():
        before, missing = read_joint(model.loaded, joint), (unknown or {}).get(pattern, ())
        drive = drive_joint(before, wanted[pattern], missing, whole=True)
        if drive.actuator not in kinds.values():
            kinds[joint] = drive.actuator
        drives[joint] = drive
    how = {"timestep": clock.timestep, "integrator": clock.integrator, "joint": next(iter(kinds))}
    export = several(kinds, request._replace(**how))
    if replay:
        from ..replay import replay_export

        export = replay_export(export, request.logs or None)
    edits, changes = [_extension(model, [*kinds])], []
    for drive in drives.values():
        kind = next(k for k, known in kinds.items() if known == drive.actuator)
        words = armature_of(kinds[kind]), f"<plugin> backemf.{identifier(kind)}"
        mine, said = host_edits(model, drive, _element(model, drive, kind), *words)
        edits += mine
        changes += said
    files, new = with_states(
        model, edits, [*drives.values()], lambda files: _compile_tagged(model, files, export)
    )
    findings = (*export.findings, *drive_findings(drives.values()), *choice.findings())
    return EditedModel(
        files,
        tuple(changes),
        _verify_model(model, new, len(drives)),
        findings=findings,
        creep=tuple(re.findall(r"(?m)^\W*(Creep.*)$", export.text)),
        exports=(export,),
        beside={name: text for name, text in export.files.items() if not name.endswith(".xml")},
        main=model.path,
    )


def _extension(model: UserModel, kinds: Sequence[str]) -> Edit:
    """The plugins' names, at the beginning of the model."""
    root = next(e for e in model.elements if e.file == model.path)
    named = "".join(f'<plugin plugin="backemf.{identifier(kind)}"/>' for kind in kinds)
    return Edit(root, root.opened, root.opened, f"\n  <extension>{named}</extension>".encode())


def _element(model: UserModel, drive: JointDrive, kind: str) -> bytes:
    """The old one's name and range, and our plugin."""
    old, joint = drive.before, drive.joint
    given = model.actuator(old.actuator, joint)
    kept = {"name": joint} if given is None else {k: v for k, v in given.attributes.items() if k in KEPT}
    if old.ctrlrange is not None:
        kept |= {"ctrlrange": " ".join(map(number, old.ctrlrange)), "ctrllimited": "true"}
    law, config = drive.actuator.drive, {} if drive.scale == 1.0 else {SCALE: number(drive.scale)}
    if law.followed and law.followed != law.targets[0]:  # its own ctrl holds that one too
        kept.setdefault("name", joint)
        config[law.followed] = kept["name"]
    words = {**kept, "joint": joint, "plugin": f"backemf.{identifier(kind)}"}
    head = f"<plugin {attributes({k: escape_attribute(v) for k, v in words.items()})}"
    lines = "".join(f'<config key="{k}" value="{escape_attribute(v)}"/>' for k, v in config.items())
    return f"{head}>{lines}</plugin>".encode() if lines else f"{head}/>".encode()


def _compile_tagged(model: UserModel, files: Mapping[Path, bytes], export: Export) -> Any:
    """The edited model, compiled with the library itself under names that only this process knows."""
    library: Any = build_library({k: v for k, v in export.files.items() if k.endswith(".c")})
    tagged = dict(files)
    for name in library.names:
        own = f'plugin="backemf.{name}"'.encode()
        other = f'plugin="backemf.{name}{library.tag}"'.encode()
        tagged = {path: content.replace(own, other) for path, content in tagged.items()}
    return compile_edited(load_mujoco(), model.path, tagged)


def _verify_model(model: UserModel, new: Any, n: int) -> str:
    """Step the edited model once, and count its plugins."""
    mujoco = load_mujoco()
    data = mujoco.MjData(new)
    mujoco.mj_step(new, data)
    if new.nplugin != model.loaded.model.nplugin + n:
        raise InvalidValue(f"{model.path.name} has {new.nplugin} plugins after the change; expected {n} more")
    return f"compiled with MuJoCo {mujoco.__version__} and the library itself, and stepped"
