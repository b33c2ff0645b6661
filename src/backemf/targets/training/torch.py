"""The training file: one standalone Python file that imports only torch, with an actuator's step for
thousands of joints at once.

The step is the engine's own, traced and written as torch code (`engine/compile/dialects/torch.py`).
`compute` gives the
torque on joints that a simulator moves, as the mean of the step the actuator takes with the joint's inertia
(`engine/attached.py`): dry friction then sticks in any simulator. `step` moves joints of the file's own,
which is what tests compare with the engine.
`torch@isaaclab` and `torch@mjlab` add a class in that simulator's own form.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...data.spread import Spread, check_paths
from ...engine.attached import Attached, attached
from ...errors import InvalidValue, NotAvailable
from ...findings import Finding
from ...model.actuator import Actuator
from ...model.quantity import quantities
from ..clocked import Clocked
from ..export import Export, Request, complete, hash_comment, header
from .text import CLASS, COMPUTE, ISAACLAB, MJLAB, STEP

UNITS = (
    "SI at the joint: rad, rad/s, N m, kg m^2, s, V, A, degC; on a linear axis m and N in the same places."
)
MAPPING: tuple[tuple[str, str, str], ...] = (
    ("every parameter of the actuator", "PARAMETERS", "by path, with every digit"),
    ("the engine's time step", "prepare, advance", "traced, so the physics is the engine's"),
    ("every state", "Actuator.state", "by name; position and velocity are the simulator's in `compute`"),
    ("n N^2 motor.rotor_inertia", "Actuator.armature", "the simulator's joint must have it; 0 with backlash"),
    ("drive.delay", "a line of commands", "mixed where a command arrives inside a step"),
    (
        "drive.period",
        "states held_effort, until_sample, travel_...",
        "looks once a step where that is longer",
    ),
    ("drive.derivative_filter", "state lagged_setpoint", "starts at the first target"),
    (
        "a fit's errors and correlation",
        "PARAMETER_ERROR, CHOLESKY",
        "`randomise=('parameter_error',)`: one draw an environment",
    ),
    (
        "spread from unit to unit",
        "UNIT_SPREAD",
        "`randomise=('unit_spread',)`: one draw a joint; an assumption unless stated",
    ),
    (
        "a fit's held-out error",
        "HELD_OUT",
        "`randomise=('held_out',)`: a constant error of the position target, one draw a joint",
    ),
)
"""Ours -> theirs, for the documentation page."""
FLOOR = 0.05
"""Share of its value that a parameter keeps which must stay above a bound:
a winding with no resistance is no winding."""
LOOSE = 0.5
"""Relative error from which on draws pile up at the edge of the range."""
THEIRS = {
    "isaaclab": {
        "position_target": "joint_positions",
        "velocity_target": "joint_velocities",
        "torque_target": "joint_efforts",
    },
    "mjlab": {
        "position_target": "position_target",
        "velocity_target": "velocity_target",
        "torque_target": "effort_target",
    },
}
"""What the simulators call what is asked."""


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise NotAvailable("torch is not installed; install it with: pip install torch") from None
    return torch


def simulator() -> str:
    """torch and its version; the file moves joints of its own."""
    return f"torch {_torch().__version__}"


def run(files: Mapping[str, str], joint: str, case: Clocked) -> np.ndarray:
    """Positions [rad or m] at the case's moments when the file itself is executed."""
    return run_all(files, joint, [case])[0]


def run_all(files: Mapping[str, str], joint: str, cases: Sequence[Clocked]) -> list[np.ndarray]:
    """Several cases at once, each an environment; in 64 bits, so that only the file's numbers count."""
    torch, n = _torch(), len(cases)
    if not all(case.enabled.all() for case in cases):
        raise NotAvailable("a training file has no switch for its drive, and a recording was disabled")
    h, length = cases[0].timestep, max(len(case.moments) for case in cases)
    inertias = torch.tensor([[case.inertia] for case in cases], dtype=torch.float64)
    name, text = next(iter(files.items()))
    space: dict[str, Any] = {"__name__": "exported"}
    text = text.partition("\n\nfrom ")[0]  # a simulator's own class, which needs that simulator, follows
    try:
        exec(compile(text, name, "exec"), space)
        one = space["Actuator"](n, 1, inertia=inertias, dtype=torch.float64)
    except Exception as error:  # somebody's changes of a Python file may fail in any way
        raise InvalidValue(f"{name} does not run: {type(error).__name__}: {error}") from None
    sent = [
        np.stack([_padded(case.inputs[:, k], length) for case in cases]) for k in range(len(cases[0].ctrl))
    ]
    start = torch.tensor([[[case.position], [case.velocity]] for case in cases], dtype=torch.float64)
    q = one.state["position"] = start[:, 0]
    w = one.state["velocity"] = start[:, 1]
    positions = np.empty((n, length))
    for k in range(length):
        positions[:, k] = q[:, 0]
        rows = [min(k, len(case.moments) - 1) for case in cases]
        pairs = zip(cases, rows, q[:, 0].tolist(), w[:, 0].tolist(), strict=True)
        load = torch.tensor([[case.load(row, x, v)] for case, row, x, v in pairs], dtype=torch.float64)
        first, *others = (torch.from_numpy(u[:, k : k + 1]) for u in sent) if sent else (None,)
        named = dict(zip([*cases[0].ctrl][1:], others, strict=True))
        q, w = one.step(*([] if first is None else [first]), h, load=load, **named)
    return [case.check(simulator(), positions[i, : len(case.moments)].copy()) for i, case in enumerate(cases)]


def _padded(values: np.ndarray, length: int) -> np.ndarray:
    return np.concatenate([values, np.full(length - len(values), values[-1])])


def write(actuator: Actuator, request: Request) -> Export:
    from ...engine.compile.dialects.torch import emit
    from ...engine.compile.lower import lower_attached

    system = attached(actuator)
    spread = Spread() if request.spread is None else request.spread
    check_paths(actuator, list(spread.errors))
    lowered = lower_attached(system)
    findings = _findings(actuator, spread)
    top = header(request, UNITS, findings=findings)
    usage = (
        "Use: actuator = Actuator(n_envs, n_joints, inertia=...); torque ="
        f" actuator.compute({', '.join([*system.inputs[2:3], 'position', 'velocity', 'dt'])})"
    )
    summed = [name for name, sums in zip(system.states, lowered.summed, strict=True) if sums]
    body = (
        _numbers(actuator, spread, system, summed)
        + emit(lowered)
        + _class(actuator, system, spread)
        + _flavour(actuator, request, system)
    )
    files = {f"{request.joint}_torch.py": hash_comment([*top, usage]) + "\nimport torch\n" + body}
    same: dict[str, Any] = {"carried": actuator, "numbers": dict(actuator.parameters)}
    return complete(request, actuator, files=files, findings=findings, **same)


def _findings(actuator: Actuator, spread: Spread) -> list[Finding]:
    findings, values = [], actuator.parameters
    if actuator.motor.rotor_inertia == 0:
        text = "motor.rotor_inertia is 0, so the joint's own inertia is all there is."
        remedy = "give motor.rotor_inertia, or an inertia above 0 for every joint"
        findings.append(Finding(code="no_rotor_inertia", text=text, remedy=remedy))
    shares = {path: error / abs(values[path]) for path, error in spread.errors.items() if values[path]}
    loose = {path: share for path, share in shares.items() if share > LOOSE}
    if loose:
        text = (
            f"{', '.join(f'{path} to {share:.0%}' for path, share in loose.items())}: so loosely known that"
            " draws pile up at the edge of the range."
        )
        remedy = "record what tells them, give the fit a prior, or leave them out of the errors"
        findings.append(Finding(code="loosely_known", text=text, remedy=remedy, numbers=loose))
    return findings


def _numbers(actuator: Actuator, spread: Spread, system: Attached, summed: Iterable[str]) -> str:
    """The tables at the top of the file, each with where it came from."""
    known = {path: (f.metadata, value) for path, f, value in quantities(actuator)}
    ranges = {path: _range(meta, value) for path, (meta, value) in known.items()}
    errors = {path: error for path, error in spread.errors.items() if error > 0}
    kept = Spread(errors=errors, correlation=_rows(spread, errors))
    thermal, by_position = actuator.motor.thermal, _follows_position(actuator)
    begin = ("rotor_position", "setpoint") if by_position else ("rotor_position",)
    follows = tuple(name for name in begin if name in system.states)
    limits = tuple(path if path in known else None for path in ("drive.command_low", "drive.command_high"))
    asked = {"lagged_setpoint": limits} if "lagged_setpoint" in system.states else {}
    if "setpoint" in follows:  # which follows what is asked at its own pace
        follows, asked = (*follows, *asked), {}
    held = spread.held_out * math.sqrt(0.5 * math.pi) if spread.held_out and by_position else None
    origin = "the fit's standard errors" if errors else "none was given"
    assumed = "an assumption of backemf, not a measurement: give your own"
    stated = assumed if spread.units is None else "stated with the export"
    lines = [
        "",
        "# The actuator's numbers, by path.",
        *_table("PARAMETERS", actuator.parameters, {path: actuator.unit(path) for path in known}),
        f"# What each may be when drawn; what must be above 0 keeps at least {FLOOR:.0%} of its value.",
        *_table("RANGES", ranges),
        (
            f"# Standard errors, in each parameter's unit: {origin}. CHOLESKY times independent draws is"
            " their correlation."
        ),
        *_table("PARAMETER_ERROR", errors),
        "CHOLESKY = [" + "".join(f"\n    {row!r}," for row in kept.cholesky()) + ("\n]" if errors else "]"),
        (
            f"# Relative spread from unit to unit, the standard deviation of the logarithm: {stated}. A row"
            " moves together."
        ),
        *_table("UNIT_SPREAD", spread.units_of(actuator)),
        (
            "# Standard deviation of a constant error of the position target [rad or m]: the fit's mean"
            " absolute held-out error"
        ),
        f"# times sqrt(pi / 2){'' if held else '; none was given'}.",
        f"HELD_OUT = {held!r}",
        f"ORDERED = {_ordered(actuator)!r}",
        (
            "# States, those that are sums of small changes, what they start from, and which start where the"
            " joint is, or at the first target within these limits."
        ),
        f"STATES = {system.states!r}",
        f"SUMMED = {_set(summed)}",
        f"START = { {} if thermal is None else dict.fromkeys(thermal.nodes, 'motor.thermal.ambient')!r}",
        f"FOLLOWS = {follows!r}",
        f"ASKED = {asked!r}",
        f"DELAY = {'drive.delay' if actuator.drive.delay is not None else None!r}",
    ]
    return "\n".join(lines) + "\n"


def _follows_position(actuator: Actuator) -> bool:
    return actuator.drive.error_of == "position"


def _range(meta: Any, value: float) -> tuple[float, float]:
    above, least = meta["above"], meta["least"]
    low, most = least if above is None else above + FLOOR * (value - above), meta["most"]
    return -math.inf if low is None else float(low), math.inf if most is None else float(most)


def _rows(spread: Spread, errors: dict[str, float]) -> list[list[float]] | None:
    """The correlation of the errors that are not 0."""
    if spread.correlation is None:
        return None
    at = [i for i, path in enumerate(spread.errors) if path in errors]
    return [[float(spread.correlation[i][j]) for j in at] for i in at]


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_literal, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _table(name: str, rows: dict[Any, Any], remarks: dict[Any, str] | None = None) -> list[str]:
    if not rows:
        return [f"{name} = {{}}"]
    after = {k: f"  # {remarks[k]}" if remarks else "" for k in rows}
    lines = [f"    {_literal(k)}: {_literal(v)},{after[k]}" for k, v in rows.items()]
    return [f"{name} = {{", *lines, "}"]


def _set(names: Iterable[str]) -> str:
    rows = [f"    {_literal(name)}," for name in names]
    return "\n".join(["frozenset((", *rows, "))"]) if rows else "frozenset()"


def _class(actuator: Actuator, system: Attached, spread: Spread) -> str:
    """The class, with the drive's own targets as arguments: the first by place, the others by name."""
    targets = system.inputs[2:]
    first, others = [*targets[:1]], [f"{name}=0.0" for name in targets[1:]]
    asked = ", ".join([*first, "position", "velocity", "dt", "*", *others, "inertia=None", "load=None"])
    compute = COMPUTE.format(asked=asked)
    step = STEP.format(asked=", ".join([*first, "dt", "*", *others, "load=0.0"]))
    shifted = bool(spread.held_out) and _follows_position(actuator)
    given = ", ".join(
        f"self.tensor({name})" + (" + self.offset" if shifted and name == "position_target" else "")
        for name in targets
    )
    what = f"a {actuator.drive.kind} with {actuator.friction.kind} friction"
    return "\n" + CLASS.format(what=what, compute=compute, step=step, given=given)


def _ordered(actuator: Actuator) -> tuple[tuple[str | None, str], ...]:
    """(lower, higher): pairs that a draw must not swap."""
    known = actuator.parameters
    return tuple((actuator.over(path), path) for path in known if actuator.over(path) in known)


def _flavour(actuator: Actuator, request: Request, system: Attached) -> str:
    if request.version == "plain":
        return ""
    targets, theirs = system.inputs[2:], THEIRS[request.version]
    if not targets or any(name not in theirs for name in targets):
        raise InvalidValue(
            f"{request.version} asks for positions, velocities and efforts; {actuator.drive.kind}"
            f" follows {', '.join(targets) or 'nothing'}: export with torch@plain, and call `compute`"
            " yourself"
        )
    owner = "control_action" if request.version == "isaaclab" else "cmd"
    given = "".join(f"{name}={owner}.{theirs[name]}, " for name in targets)
    words = "".join(c if c.isalnum() else " " for c in request.joint).split()
    name = "".join(word.capitalize() for word in words) or "Joint"
    armature = float(system.armature(list(system.parameters.values())))
    text = {"isaaclab": ISAACLAB, "mjlab": MJLAB}[request.version]
    return text.format(name=name, armature=armature, timestep=request.timestep, **{request.version: given})
