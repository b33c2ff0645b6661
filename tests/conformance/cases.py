"""The fixed parameter table of the conformance tests, and its pairwise and full combinations.

Runs with nothing but NumPy and MuJoCo, so that old versions of MuJoCo can be tested in bare environments.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from backemf.mujoco.attributes import DcMotorAttributes, compile_dcmotor
from backemf.mujoco.dcmotor import INTEGRATORS, DcMotor, DcMotorJoint, rules

TIMESTEP = 0.001
STEPS = 1500
GEARS = (1.0, 5.0, -1.0)

# The joint: a pendulum that hangs at 0. Chosen so that 12 V lift it at every gear and it turns over now and
# then.
MASS, DISTANCE, OWN_INERTIA, GRAVITY = 0.3, 0.15, 0.002, 9.81
START = {"position": 0.4, "velocity": -3.0}

MOTOR: dict[str, tuple[float, ...]] = {
    "resistance": (2.0,),
    "motorconst": (0.075, 0.085),
    "armature": (2e-4,),
    "damping": (1e-3, 2e-4, 1e-5),
}
"""What every case has."""

EFFECTS: dict[str, dict[str, tuple[float, ...]]] = {
    "inductance": {"inductance": (0.004,)},
    "thermal": {"thermal": (2.0, 0.4, 0.0, 0.0039, 25.0, 20.0)},
    "cogging": {"cogging": (0.02, 6.0, 0.3)},
    "lugre": {"lugre": (8.0, 0.02, 0.04, 0.06, 0.5)},
    "saturation": {"saturation": (0.0, 3.5, 0.0)},
    "rate": {"saturation": (0.0, 0.0, 400.0)},
}
"""What a case may have besides."""

Controls = dict[str, tuple[str, tuple[float, ...], tuple[float, ...]]]

CONTROLS: dict[int, Controls] = {
    # name: (input, controller kp ki kd slewmax Imax Vmax, ctrlrange)
    1: {
        "voltage": ("voltage", (), ()),
        "voltage limited": ("voltage", (0.0, 0.0, 0.0, 0.0, 0.0, 7.0), ()),
        "voltage slewed": ("voltage", (0.0, 0.0, 0.0, 60.0, 0.0, 9.0), (-10.0, 10.0)),
        "voltage with idle integral": ("voltage", (1.0, 2.0, 3.0), ()),
        "position": ("position", (9.0, 0.0, 0.4), ()),
        "position integral": ("position", (9.0, 12.0, 0.4), ()),
        "position limits": ("position", (12.0, 15.0, 0.3, 4.0, 0.15, 8.0), (-1.2, 1.2)),
        "position slewed": ("position", (12.0, 0.0, 0.3, 6.0), ()),
        "velocity": ("velocity", (0.6,), ()),
        "velocity integral": ("velocity", (0.5, 3.0), ()),
        "velocity limits": ("velocity", (0.5, 4.0, 0.0, 30.0, 0.6, 8.0), (-5.0, 5.0)),
        "velocity unslewed limited": ("velocity", (0.9, 0.0, 0.0, 0.0, 0.0, 6.0), ()),
        "velocity slewed": ("velocity", (0.6, 0.0, 0.0, 25.0, 0.0, 9.0), ()),
    },
    2: {
        "voltage": ("voltage", (), ()),
        "voltage limited": ("voltage", (0.0, 0.0, 0.0, 0.0, 0.0, 7.0), (-10.0, 10.0)),
        "pos": ("pos", (0.4, 0.0, 0.02), ()),
        "pos integral": ("pos", (0.4, 0.6, 0.02), ()),
        "pos limits": ("pos", (0.5, 0.6, 0.015, 4.0, 0.15, 8.0), (-1.2, 1.2)),
        "vel": ("vel", (0.05, 0.0, 0.03), ()),
        "vel slewed": ("vel", (0.0, 0.0, 0.03, 30.0, 0.0, 8.0), ()),
        "ff": ("ff", (0.0, 0.0, 0.004), ()),
        "ff voltage": ("ff voltage", (0.0, 0.0, 0.002, 3.0, 0.0, 5.0), ()),
        "pos vel": ("pos vel", (0.4, 0.0, 0.02, 0.0, 0.0, 9.0), ()),
        "vel voltage": ("vel voltage", (0.02, 0.0, 0.025, 0.0, 0.0, 4.0), ()),
        "pos vel ff voltage": ("pos vel ff voltage", (0.5, 0.8, 0.02, 5.0, 0.12, 7.0), (-2.5, 2.5)),
        "none": ("none", (), ()),
    },
}

SIGNALS = {
    # amplitude, hertz, and a jump at 0.6 s of this size; voltages go beyond every limit above
    "pos": (0.9, 1.1, 0.8),
    "vel": (5.0, 1.7, -4.0),
    "ff": (0.25, 1.3, 0.15),
    "voltage": (9.0, 0.9, 5.0),
}
SIGNALS["position"], SIGNALS["velocity"] = SIGNALS["pos"], SIGNALS["vel"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One combination."""

    effects: tuple[str, ...]
    control: str
    integrator: str
    gear: float
    era: int

    @property
    def name(self) -> str:
        return (
            f"{self.control} | {'+'.join(self.effects) or 'plain'} | {self.integrator} | gear {self.gear:g}"
        )

    @property
    def attributes(self) -> DcMotorAttributes:
        found = dict(MOTOR)
        for effect in self.effects:
            for key, values in EFFECTS[effect].items():
                found[key] = tuple(
                    a + b for a, b in zip(found.get(key, (0.0,) * len(values)), values, strict=True)
                )
        text, gains, ctrlrange = CONTROLS[self.era][self.control]
        return DcMotorAttributes(
            **found, gear=(self.gear,), input=text, controller=gains, ctrlrange=ctrlrange
        )

    def dcmotor(self, version: str) -> DcMotor:
        return compile_dcmotor(self.attributes, version)

    def xml(self) -> str:
        return f"""<mujoco>
  <option timestep="{TIMESTEP}" integrator="{self.integrator}" gravity="0 0 -{GRAVITY}"/>
  <worldbody><body>
    <joint name="joint" type="hinge" axis="0 1 0"/>
    <inertial pos="0 0 -{DISTANCE}" mass="{MASS}" diaginertia="{OWN_INERTIA} {OWN_INERTIA} 1e-4"/>
  </body></worldbody>
  <actuator>{self.attributes.xml(joint="joint")}</actuator>
</mujoco>"""

    def ctrl(self) -> np.ndarray:
        """Inputs by step: sines with a jump, one column for each input."""
        words = CONTROLS[self.era][self.control][0].split()
        t = TIMESTEP * np.arange(STEPS)
        columns = [
            a * np.sin(2 * np.pi * f * t + 0.4) + jump * (t > 0.6)
            for a, f, jump in (SIGNALS[w] for w in words if w != "none")
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((STEPS, 0))


def pendulum() -> DcMotorJoint:
    return DcMotorJoint(
        inertia=OWN_INERTIA + MASS * DISTANCE**2, load=lambda q, v: -MASS * GRAVITY * DISTANCE * np.sin(q)
    )


def _case(row: tuple, gear: float, era: int) -> Case:
    *switches, control, integrator = row
    return Case(
        effects=tuple(e for e, on in zip(EFFECTS, switches, strict=True) if on),
        control=control,
        integrator=integrator,
        gear=gear,
        era=era,
    )


def factors(era: int) -> list[tuple]:
    return [*((False, True) for _ in EFFECTS), tuple(CONTROLS[era]), INTEGRATORS]


def full(version: str) -> Iterator[Case]:
    """Every combination."""
    era = rules(version).era
    for row in itertools.product(*factors(era)):
        for gear in GEARS:
            yield _case(row, gear, era)


def pairwise(version: str) -> list[Case]:
    """Every pair of settings at least once, each combination at every gear."""
    era = rules(version).era
    return [_case(row, gear, era) for row in all_pairs(factors(era)) for gear in GEARS]


def all_pairs(values: list[tuple]) -> list[tuple]:
    """Rows that hold every pair of values of every two factors:
    the greedy choice among seeded random rows."""
    random = np.random.default_rng(0)
    index = range(len(values))
    left = {
        (i, a, j, b)
        for i, j in itertools.combinations(index, 2)
        for a in range(len(values[i]))
        for b in range(len(values[j]))
    }
    rows = []
    while left:
        i, a, j, b = min(left)
        best: tuple[int, tuple[int, ...]] = (0, ())
        for _ in range(60):
            row = [int(random.integers(len(v))) for v in values]
            row[i], row[j] = a, b
            covered = sum((p, row[p], q, row[q]) in left for p, q in itertools.combinations(index, 2))
            best = max(best, (covered, tuple(row)))
        left -= {(p, best[1][p], q, best[1][q]) for p, q in itertools.combinations(index, 2)}
        rows.append(tuple(values[k][choice] for k, choice in enumerate(best[1])))
    return rows
