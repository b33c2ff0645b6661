"""What each departure of the engine from its note costs,
and how far its integrators are from the accurate step."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from backemf.mujoco.attributes import DcMotorAttributes, compile_dcmotor
from backemf.mujoco.dcmotor import INTEGRATORS, DcMotor, Engine, initial_state
from backemf.mujoco.step import Rules, rules, step
from backemf.physics.quantity import substitute
from backemf.targets.mujoco.finding import accurate, scheme

from .cases import START, STEPS, TIMESTEP, Case, pendulum


class Departure(NamedTuple):
    """One line of the page: what the note says, what the engine does,
    and what that costs where it matters."""

    note: str
    engine: str
    where: str
    cost: str


def run(
    dcmotor: DcMotor, case: Case, version: str, rule: Rules | None = None, **start: float
) -> dict[str, np.ndarray]:
    """1.5 s of the conformance pendulum by our step."""
    engine, joint = (
        Engine(version=version, integrator=case.integrator, timestep=TIMESTEP, override=rule),
        pendulum(),
    )
    state, rows = initial_state(dcmotor, **{**START, **start}), []
    for u in case.ctrl()[:STEPS]:
        state = step(dcmotor, joint, engine, state, tuple(u))
        rows.append([float(v) for v in state.values()])
    return dict(zip(state, np.array(rows).T, strict=True))


def _case(
    control: str, effects: tuple[str, ...], integrator: str = "Euler", gear: float = 5.0, era: int = 2
) -> Case:
    return Case(effects=effects, control=control, integrator=integrator, gear=gear, era=era)


def _apart(a: dict[str, np.ndarray], b: dict[str, np.ndarray]) -> str:
    q, v = (float(np.max(np.abs(a[name] - b[name]))) for name in ("position", "velocity"))
    span = float(np.ptp(a["position"]))
    return f"up to {q:.2g} rad ({100 * q / span:.2g} % of the motion), {v:.2g} rad/s"


def _switched(case: Case, version: str, **changes: object) -> str:
    dcmotor = case.dcmotor(version)
    return _apart(
        run(dcmotor, case, version), run(dcmotor, case, version, rules(version)._replace(**changes))
    )  # type: ignore[arg-type]  # a named tuple's own fields


def departures() -> list[Departure]:
    """Each measured by switching it in our step, on the conformance pendulum over 1.5 s at 1 ms."""
    era_1, old, new = "3.11.0", "3.17.0", "4.0.0"
    found = []

    def add(note: str, engine: str, where: str, cost: str) -> None:
        found.append(Departure(note, engine, where, cost))

    case = _case("voltage", ("inductance",))
    add(
        "the torque is K times the present current",
        "the torque is K times the current at the end of the step",
        "all; 2 ms winding, gear 5",
        _switched(case, new, next_current=False),
    )

    case = _case("voltage", ("inductance", "thermal"))
    add(
        "the winding's time constant is L / R(T)",
        "L / R_0 at every temperature",
        "all; winding heated to "
        f"{np.max(run(case.dcmotor(new), case, new)['temperature_rise']) + 20:.0f} degC",
        _switched(case, new, fixed_time_constant=False),
    )

    case = _case("voltage", ("thermal", "saturation"), gear=1.0)
    dcmotor = case.dcmotor(new)
    hot, cool = (
        run(dcmotor, case, new, rules(new)._replace(heat_limited=limited))["temperature_rise"].max()
        for limited in (False, True)
    )
    add(
        "i_max limits the current",
        "it limits the torque; the current and its heat are not held",
        "all; 3.5 A limit, 14 V",
        f"the winding warms by {hot:.0f} K instead of {cool:.0f} K",
    )

    case = _case("voltage limited", (), gear=1.0, era=1)
    add(
        "v_max limits the voltage input too",
        "era 1 without inductance: not in the force",
        "3.7 to 3.11; 7 V limit, 14 V asked",
        _switched(case, era_1, voltage_mode_limited=True),
    )

    case = _case("voltage limited", (), gear=1.0)
    free = case.dcmotor(new)
    held = dataclasses.replace(
        free, controller=dataclasses.replace(free.controller, ctrlrange=((-7.0, 7.0),))
    )
    add(
        "v_max limits the voltage input too",
        "era 2: never",
        "3.12 on; 7 V limit, 10 V asked",
        _apart(run(free, case, new), run(held, case, new)),
    )

    case = _case("pos limits", (), "RK4", gear=1.0)
    add(
        "the integral is clipped",
        "besides, at its limit it takes no error that leads beyond",
        "all, RK4 only (the same with the others)",
        _switched(case, new, integral_gate=False),
    )

    case = _case("pos", ("lugre",), "RK4")
    add(
        "the bristle bends with the velocity of the step",
        "RK4 before 4.0: with that of its last stage",
        "3.7 to 3.17, RK4",
        _switched(case, old, bristle_velocity="start"),
    )

    case = _case("voltage", ("thermal", "lugre"), "implicitfast")
    add(
        "(not in the note)",
        "the implicit derivative uses R_0; from 3.14 on R(T)",
        "3.7 to 3.13, implicit and implicitfast",
        _switched(case, "3.13.0", derivative=2),
    )

    case = _case("voltage", ("lugre", "saturation"), "implicitfast", gear=1.0)
    add(
        "(not in the note)",
        "at the torque limit the whole derivative is dropped, bristle damping too; from 4.0 on only the"
        " electrical part",
        "3.7 to 3.17, implicit and implicitfast",
        _switched(case, old, derivative=3),
    )

    words = _case("pos", ()).attributes
    volts = dataclasses.replace(words, controller=(9.0, 0.0, 0.4), input="position", damping=(1e-3,))
    first, second = (
        compile_dcmotor(volts, era_1),
        compile_dcmotor(dataclasses.replace(volts, input="pos"), new),
    )
    case = _case("position", (), "implicitfast", era=1)
    add(
        "gains are in volts",
        "from 3.12 on in newton-metres, with back-EMF compensated",
        "3.12 on; kp = 9, kd = 0.4 under both readings",
        f"{first.motor.resistance / first.motor.torque_constant:.0f} times the stiffness; "
        + _apart(run(first, case, era_1), run(second, case, new)),
    )

    case = _case("voltage", (), gear=5.0)
    dcmotor = case.dcmotor(new)
    real = substitute(
        dcmotor, {"friction.viscous_quadratic": 2e-4 * 5.0, "friction.viscous_cubic": 1e-5 * 25.0}
    )
    add(
        "every damping term scales with N^2",
        "the same; a gearbox scales B_2 with N^3 and B_3 with N^4",
        "all; gear 5",
        _apart(run(dcmotor, case, new), run(real, case, new)),
    )

    case = _case("pos limits", (), gear=1.0)
    dcmotor = case.dcmotor(new)
    add(
        "the slewed setpoint is the previous one",
        "it starts at 0, wherever the joint is",
        "all; joint at 0.4 rad",
        _apart(run(dcmotor, case, new), run(dcmotor, case, new, setpoint=0.4)),
    )

    case = _case("voltage", ("thermal",), gear=1.0)
    triple = dataclasses.replace(case.attributes, thermal=(2.0, 0.4, 4.0, 0.0039, 25.0, 20.0))
    warm = [run(compile_dcmotor(triple, v), case, v)["temperature_rise"].max() for v in (old, new)]
    add(
        "t_T = R_T C",
        "all three given and at odds: t_T ignored; from 4.0 on C ignored",
        "R_T 2, C 0.4, t_T 4",
        f"the winding warms by {warm[0]:.0f} K (to 3.17) or {warm[1]:.0f} K (4.0)",
    )

    child = compile_dcmotor(
        DcMotorAttributes(nominal=(12.0, 2.0, 30.0)),
        new,
        DcMotorAttributes(resistance=(2.0,), motorconst=(0.1,)),
    )
    K, R = child.motor.torque_constant, child.motor.resistance
    add(
        "(not in the note)",
        "a child's nominal meets its class's motorconst and resistance",
        "all; class K = 0.1, R = 2; child 12 V, 2 N m, 30 rad/s",
        f"K = {K:.2g} instead of 0.4, stall torque {12 * K / R:.2g} instead of 2 N m",
    )
    return found


def _at_output(
    gear: float, stiffness: float, damping: float, coulomb: float, static: float, speed: float
) -> tuple[float, ...]:
    return (stiffness / gear**2, damping / gear**2, coulomb / gear, static / gear, speed * gear)


def servos() -> dict[str, tuple[DcMotor, float]]:
    """Actuators of known kinds with the inertia they carry; bristles are given at the output."""
    bus = {
        "resistance": (2.6,),
        "motorconst": (0.0047,),
        "armature": (2.4e-7,),
        "damping": (1e-7,),
        "gear": (345.0,),
        "input": "pos",
    }
    leg = {
        "resistance": (0.2,),
        "motorconst": (0.09,),
        "armature": (7e-5,),
        "damping": (5e-5,),
        "gear": (6.0,),
        "input": "pos",
    }
    gains = {"bus": (1e-3, 0.0, 4e-7), "leg": (1.0, 0.0, 0.03)}
    rows: dict[str, tuple[dict, tuple[float, ...], float]] = {
        "bus servo 345:1, smooth": (bus, (), 0.01),
        "bus servo, bristle 60 N m/rad": (bus, _at_output(345.0, 60.0, 0.5, 0.08, 0.1, 0.1), 0.01),
        "bus servo, bristle 6e3 N m/rad": (bus, _at_output(345.0, 6e3, 3.0, 0.08, 0.1, 0.1), 0.01),
        "bus servo, bristle 1e5 N m/rad": (bus, _at_output(345.0, 1e5, 10.0, 0.08, 0.1, 0.1), 0.01),
        "leg actuator 6:1, smooth": (leg, (), 0.05),
        "leg actuator, bristle 300 N m/rad": (leg, _at_output(6.0, 300.0, 0.5, 0.3, 0.4, 0.2), 0.05),
        "leg actuator, bristle 1e5 N m/rad": (leg, _at_output(6.0, 1e5, 10.0, 0.3, 0.4, 0.2), 0.05),
    }
    found = {}
    for name, (base, lugre, inertia) in rows.items():
        attributes = DcMotorAttributes(**base, lugre=lugre, controller=gains["bus" if base is bus else "leg"])
        found[name] = compile_dcmotor(attributes, "4.0.0"), inertia
    return found


TIMESTEPS = (0.0005, 0.001, 0.002, 0.005)


def schemes(version: str = "4.0.0") -> list[tuple[str, ...]]:
    """(servo, integrator, then for each time step the share of the motion by which position is off,
    or 'lost')."""
    rows = []
    for name, (dcmotor, inertia) in servos().items():
        reference = accurate(dcmotor, inertia)
        for integrator in INTEGRATORS:
            if integrator == "implicit":  # on a single joint the same as implicitfast
                continue
            label = integrator.replace("implicitfast", "implicitfast, implicit")
            seen = [
                scheme(reference, Engine(version=version, integrator=integrator, timestep=h))
                for h in TIMESTEPS
            ]
            rows.append(
                (
                    name,
                    label,
                    *("lost" if s.diverged is not None else f"{100 * s.position:.2g} %" for s in seen),
                )
            )
    return rows
