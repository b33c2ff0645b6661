"""Run an export in its real simulator, on logs or on the reference motions, and compare it with the log and
with backemf.

The bench's inertia sits on the exported joint, its load is applied step by step, and commands are held
between samples.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from ..data.log import Log
from ..engine.simulate import simulate
from ..errors import InvalidValue, NotAvailable
from ..model.actuator import Actuator
from ..simulator.arrays import dcmotors, load_mujoco, without_log
from ..simulator.dcmotor import DcMotor, Engine, Joint, initial_state, release, rules
from ..simulator.step import step
from ..tables import table
from .export import Export, given_logs
from .motions import Motion, recorded, reference_motions

RUNS = {"mujoco": "mujoco.dcmotor", "mujoco-classic": "mujoco.classic"}
"""Targets that can be run here, and their files."""
LOST = 1e6
"""Positions beyond this [rad or m] are not a motion any more."""
OPEN = 1e9
"""Resistance of a winding whose drive is disabled [ohm]."""


@dataclass(frozen=True, kw_only=True)
class Replayed:
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


@dataclass(frozen=True, kw_only=True)
class Replay:
    """An export's replay in a simulator."""

    simulator: str
    cases: tuple[Replayed, ...]
    timestep: float
    unit: str = "rad"
    """Of the differences."""

    def __str__(self) -> str:
        columns = {
            "target-log": "target_log",
            "backemf-log": "native_log",
            "target-backemf": "target_native",
            "at most": "worst_native",
            "own step error": "refinement",
            "target-its step here": "step_difference",
        }
        rows = [(c.name, *(_milli(getattr(c, name)) for name in columns.values())) for c in self.cases]
        about = f"{self.simulator}, step {1e3 * self.timestep:g} ms; differences in m{self.unit}"
        return f"{about} (RMS, then largest)\n" + table(rows, ("case", *columns))

    @property
    def worst_step_difference(self) -> float | None:
        seen = [c.step_difference for c in self.cases if c.step_difference is not None]
        return max(seen) if seen else None


def _milli(value: float | None) -> str:
    return "-" if value is None else f"{1e3 * value:.3g}"


@without_log()
def replay(export: Export, logs: Iterable[Log] | Log | None = None, *, refine: bool = True) -> Replay:
    """Replay logs, or without any the reference motions, in the installed simulator.

    The export must be for the installed MuJoCo (of its era, for `<dcmotor>`). `refine` also runs at an eighth
    of the time step.
    """
    if export.target not in RUNS:
        raise NotAvailable(f"{export.target} cannot be run here; replay runs: {', '.join(RUNS)}")
    mujoco = load_mujoco()
    if export.target == "mujoco":
        release(mujoco.__version__)
        if rules(mujoco.__version__).era != rules(export.version).era:
            raise NotAvailable(
                f"the export is for MuJoCo {export.version}, and {mujoco.__version__} is installed, which"
                " reads <dcmotor> otherwise; export for the installed version, or replay where the other one"
                " is installed"
            )
    given, made = given_logs(logs), export.actuator
    if given is None:
        cases = reference_motions(made, amplitude=export.amplitude, load=export.load)
    else:
        cases = [recorded(made, log) for log in given]
    return Replay(
        simulator=f"MuJoCo {mujoco.__version__}",
        cases=tuple(_replayed(export, c, refine) for c in cases),
        timestep=export.timestep,
        unit="m" if made.motion == "linear" else "rad",
    )


def _replayed(export: Export, case: Motion, refine: bool) -> Replayed:
    module: Any = importlib.import_module(f".{RUNS[export.target]}", __package__)
    actuator = export.actuator.replace(**case.settings) if case.settings else export.actuator
    tuned = module.retuned(export, case.settings) if case.settings else export.carried
    h = export.timestep
    target = _run(export, module, tuned, case, h)
    start = {k: v for k, v in case.start.items() if k in actuator.states}
    command, q, own, fine = dict(case.command), case.measured, None, None
    close = 1e-5 if actuator.gearbox.backlash is None else 1e-4  # teeth that hit each other allow no less
    native = simulate(
        actuator, case.bench, command, time=case.time, start=start, tolerance=close, warn=False
    ).position
    on_joint = tuned.friction.dry and not tuned.friction.bristle  # the engine's own solver has no copy here
    if export.target == "mujoco" and not on_joint and not tuned.drive.delay:
        own = float(np.max(np.abs(_our_step(export, module, tuned, case) - target)))
    if refine:
        fine = 8 / 7 * float(np.max(np.abs(_run(export, module, tuned, case, h / 8) - target)))
    return Replayed(
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
    )


def _rms(d: np.ndarray) -> float:
    return float(np.sqrt(np.nanmean(d * d)))


def _held(case: Motion, name: str, moments: np.ndarray) -> np.ndarray:
    """A command at each moment: the newest sample not later."""
    at = np.searchsorted(case.time, moments + 1e-9, side="right") - 1
    return np.asarray(case.command[name], float)[np.clip(at, 0, len(case.time) - 1)]


class Rows(NamedTuple):
    """A case on the simulator's own clock."""

    moments: np.ndarray
    ctrl: np.ndarray
    enabled: np.ndarray
    series: dict[str, np.ndarray]


def _rows(case: Motion, ctrl: Mapping[str, float], h: float) -> Rows:
    n = int(np.ceil(case.time[-1] / h - 1e-9)) + 1
    moments = h * np.arange(n)
    sent = np.zeros((n, len(ctrl)))
    for k, (name, factor) in enumerate(ctrl.items()):
        if name in case.command:
            sent[:, k] = factor * _held(case, name, moments)
    enabled = _held(case, "enabled", moments) > 0.5 if "enabled" in case.command else np.ones(n, bool)
    return Rows(moments, sent, enabled, {s: _held(case, s, moments) for s in case.bench.series})


def _inertia(case: Motion, rows: Rows) -> float:
    """Of the bench, at the beginning [kg m^2]."""
    return float(np.asarray(case.bench.inertia_at({k: v[0] for k, v in rows.series.items()})))


def _load(case: Motion, rows: Rows, k: int, q: float, w: float) -> float:
    """The bench's torque on the joint at one moment [N m]."""
    return float(np.asarray(case.bench.load(q, w, {name: v[k] for name, v in rows.series.items()})))


def _run(export: Export, module: Any, tuned: Actuator, case: Motion, h: float) -> np.ndarray:
    """Positions of the real simulator on the case's own samples."""
    mujoco = load_mujoco()
    text, ctrl = module.retext(export, tuned, h)
    spec = mujoco.MjSpec.from_string(text)
    body = spec.body(f"{export.joint}_load")
    rows = _rows(case, ctrl, h)
    J = _inertia(case, rows)
    if "inertia" in rows.series and np.ptp(rows.series["inertia"]) > 1e-9 * J:
        raise InvalidValue(f"{case.name}: the recorded inertia varies; a replay has a constant one")
    slide = export.actuator.motion == "linear"
    body.mass = max(J, 1e-9) if slide else 1.0
    body.inertia[:] = max(J, 1e-9)  # a body must have some
    spec.option.gravity[:] = 0.0
    model = spec.compile()
    data = mujoco.MjData(model)
    names = [export.joint, *([f"{export.joint}_backlash"] if export.has_play_joint else [])]
    dof = [int(model.joint(name).dofadr[0]) for name in names]
    _start(mujoco, model, data, export, case, rows)
    on = {n: getattr(model, n).copy() for n in ("actuator_gainprm", "actuator_biasprm")}
    positions, was = np.empty(len(rows.moments)), True
    for k in range(len(rows.moments)):
        q, w = float(sum(data.qpos[d] for d in dof)), float(sum(data.qvel[d] for d in dof))
        positions[k] = q
        if bool(rows.enabled[k]) != was:
            was = bool(rows.enabled[k])
            _switch(model, on, was)
        data.ctrl[:] = rows.ctrl[k]
        data.qfrc_applied[dof] = _load(case, rows, k, q, w)
        mujoco.mj_step(model, data)
    bad = (mujoco.mjtWarning.mjWARN_BADQACC, mujoco.mjtWarning.mjWARN_BADQPOS)
    lost = sum(int(data.warning[int(kind)].number) for kind in bad)
    if lost or not (np.abs(positions) < LOST).all():
        raise InvalidValue(
            f"{case.name}: the simulator diverges at a step of {1e3 * h:g} ms; export with a shorter timestep"
        )
    return np.interp(case.time, rows.moments, positions)


def _start(mujoco: Any, model: Any, data: Any, export: Export, case: Motion, rows: Rows) -> None:
    q0, w0 = case.start["position"], case.start["velocity"]
    joint = model.joint(export.joint)
    data.qpos[joint.qposadr[0]], data.qvel[joint.dofadr[0]] = q0, w0
    if dcmotors(model) and model.actuator_dynprm[0, 7] > 0 and export.actuator.drive.error_of == "position":
        data.act[0] = q0 * model.actuator_gear[0, 0]  # the slewed setpoint starts where the joint is
    if hasattr(model, "actuator_delay") and np.any(model.actuator_delay > 0):
        n = int(model.actuator_history[0, 0])
        before = -float(model.opt.timestep) * np.arange(n, 0, -1)
        for i in range(rows.ctrl.shape[1]):
            mujoco.mj_initCtrlHistory(model, data, i, before, np.full(n, rows.ctrl[0, i]))
    mujoco.mj_forward(model, data)


def _switch(model: Any, on: Mapping[str, np.ndarray], enabled: bool) -> None:
    """Open the winding, or close it again; cogging and friction stay."""
    for name, values in on.items():
        getattr(model, name)[:] = values
    if enabled:
        return
    if dcmotors(model):
        model.actuator_gainprm[:, 0] = OPEN
        model.actuator_gainprm[:, 4:7] = 0.0
    else:
        model.actuator_gainprm[:] = 0.0
        model.actuator_biasprm[:] = 0.0


def opened(dcmotor: DcMotor) -> DcMotor:
    """The dcmotor with its winding open."""
    control = dcmotor.controller
    loop = replace(control, kp=0.0, kd=0.0, ki=control.ki if control.ki is None else 1e-300)
    return replace(dcmotor, motor=replace(dcmotor.motor, resistance=OPEN), controller=loop)


def _our_step(export: Export, module: Any, tuned: Actuator, case: Motion) -> np.ndarray:
    """The same through `simulator/step.py`, step by step."""
    mujoco = load_mujoco()
    made = module.parts(tuned, export.version, export.timestep)
    engine = Engine(version=mujoco.__version__, integrator=export.integrator, timestep=export.timestep)
    rows = _rows(case, made.ctrl, export.timestep)
    J, start = _inertia(case, rows), {k: case.start[k] for k in ("position", "velocity")}
    state: Mapping[str, Any] = initial_state(made.dcmotor, **start)
    if "setpoint" in state and export.actuator.drive.error_of == "position":
        state = {**state, "setpoint": start["position"] * made.dcmotor.gear}
    positions = np.empty(len(rows.moments))
    for k in range(len(rows.moments)):
        positions[k] = state["position"]
        load = _load(case, rows, k, state["position"], state["velocity"])
        now = made.dcmotor if rows.enabled[k] else opened(made.dcmotor)
        state = step(now, Joint(inertia=max(J, 1e-9), load=load), engine, state, tuple(rows.ctrl[k]))
    return np.interp(case.time, rows.moments, positions)


def summary(run: Replay) -> dict[str, Any]:
    """As plain data: the key `replay` of `--json`; differences in rad or m."""
    series = ("time", "target", "native", "measured")
    keys = [f.name for f in fields(Replayed) if f.name not in series]
    return {
        "simulator": run.simulator,
        "timestep": run.timestep,
        "cases": [{k: getattr(c, k) for k in keys} for c in run.cases],
    }
