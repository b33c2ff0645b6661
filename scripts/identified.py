"""The catalogue's own identified sets: fitted from recordings, written with errors, correlation, the data
they stand on and their held-out score.

python scripts/identified.py DATA            fits every set from the folder of recordings, and writes it into
                                             its part's sheet
python scripts/identified.py DATA --only sts3032/m4

Simulated recordings (an MX-106's, whose truth is known) make no set: a catalogue is of servos that exist.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import backemf as be
from backemf.datasheets import suggest
from backemf.kits.fleets.estimates import estimates, population_model
from backemf.kits.fleets.request import Unit
from backemf.kits.fleets.work import row_of
from backemf.physics.actuator import Actuator
from backemf.statistics import Coordinate

CATALOGUE = Path(be.__file__).parent / "datasheets" / "catalog"
NOT_PART = ("drive.supply", "gearbox.contact_damping")
"""Numbers that are not the servo's own, or say nothing."""


class Made(NamedTuple):
    """A set before it is written."""

    actuator: Actuator
    errors: dict[str, float]
    correlation: np.ndarray
    source: str
    data: str
    held_out: str
    note: str = ""


def sts3032(data: Path) -> Made:
    """One servo on a pendulum bench: 64 recordings, those of one gain held out."""
    sheet = be.Datasheet.read("sts3032")
    logs = be.read(str(data / "sts3032" / "*.json"))
    fit = be.fit(sheet.actuator(), logs, prior=sheet, friction="m4", hold_out={"gain": 8})
    held = f"{1e3 * fit.held_out_mae:.2f} mrad mean absolute error" if fit.held_out_mae else "unknown"
    text = f"{len(logs)} pendulum logs of an STS3032 at 6 V, 2 masses, 2 lengths, 4 gains, 4 trajectories"
    return Made(
        fit.actuator,
        {path: p.error for path, p in fit.parameters.items()},
        fit.correlation,
        "backemf, scripts/identified.py, with the sheet as prior",
        f"{text} (Qua Robotics, Apache-2.0); the mass of the arm was not recorded and is fitted along",
        f"{held} on the {len(fit.held_out)} logs at gain 8",
    )


def so101(data: Path) -> Made:
    """The five equal servos of an arm: each joint is a unit with a friction of its own, and the set has the
    middle of them."""
    folder = data / "so101"
    robot = be.Robot.read(folder / "so101.xml")
    logs = be.read(str(folder / "*.csv"), bench=robot)
    options = {"firmware": "lerobot", "friction": "m3", "hold_out": ["figure_eight", "pick_place"]}
    fit = be.fit("sts3215-12v", logs, **options)  # its sheet, with the profile, is the prior
    rows = [row_of(Unit(name, ()), one, logs) for name, one in fit.joints.items()]
    seen = estimates(rows)
    model = population_model(seen.x, seen.V, correlated=False)
    one = next(iter(fit.joints.values()))
    values, errors = {}, {path: p.error for path, p in one.parameters.items()}
    for k, path in enumerate(seen.paths):
        if not path.startswith("friction."):  # the joints have one motor and one firmware in common
            continue
        scale = Coordinate(bool(seen.signed[k]), float(seen.knee[k]))
        values[path] = scale.outward(float(model.mean[k]))
        another = float(np.sqrt(model.S[k, k] + model.mean_covariance[k, k]))  # of one that was not recorded
        errors[path] = another * scale.slope(values[path])
    held = fit.score
    assert held is not None
    return Made(
        one.actuator.replace(**{path: v for path, v in values.items() if path in one.actuator.parameters}),
        errors,
        np.mean([joint.correlation for joint in fit.joints.values()], axis=0),
        "backemf, scripts/identified.py, with the sheet as prior: the middle of five joints of one arm; an"
        " error is that of another servo of the kind",
        f"{len(logs)} recorded motions of a real SO-101 arm (SAGE, Apache-2.0), 50 Hz, firmware P16 I0 D32;"
        " 12 V assumed",
        f"{1e3 * held.rms:.2f} mrad RMS, all joints simulated together with their own numbers, on"
        f" {' and '.join(held.logs)}",
        "resistance and firmware gain stay near the sheet and the profile: these recordings leave them open;"
        " viscous friction is that of the three joints that tell it",
    )


SETS: dict[str, Callable[[Path], Made]] = {"sts3032/m4": sts3032, "sts3215-12v/so101": so101}


def text(label: str, made: Made) -> str:
    """The tables of a set, as TOML."""
    own = {path: v for path, v in made.actuator.parameters.items() if path not in NOT_PART}
    lower = [[round(float(x), 3) for x in row[: k + 1]] for k, row in enumerate(made.correlation)]
    lines = [
        f"[identified.{label}]",
        f'source = "{made.source}; backemf {be.__version__}"',
        f'friction = "{made.actuator.friction.name}"',
        f'error = "{made.held_out}"',
        f'supply = "{made.actuator.drive.supply:g} V"',
        f'data = "{made.data}"',
        *([f'note = "{made.note}"'] if made.note else []),
        f"correlation = {lower if not np.array_equal(made.correlation, np.eye(len(lower))) else []}",
        "",
        f"[identified.{label}.parameters]",
        *(f'"{path}" = {_digits(value)}' for path, value in own.items()),
        "",
        f"[identified.{label}.errors]",
        *(f'"{path}" = {_digits(value, 3)}' for path, value in made.errors.items()),
    ]
    return "\n".join(lines) + "\n"


def _digits(value: float, digits: int = 6) -> str:
    return repr(float(f"{value:.{digits}g}"))


def written(sheet: str, label: str, tables: str) -> str:
    """A sheet's text with the set in the place of an older one, or at its end."""
    old = re.compile(rf"\n*^\[identified\.{re.escape(label)}(?:\.\w+)?\]\n(?:(?!^\[).*\n)*", re.MULTILINE)
    return f"{old.sub(chr(10), sheet).rstrip()}\n\n{tables}"


def main(given: Sequence[str] | None = None) -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("data", type=Path)
    asked.add_argument("--only", choices=[*SETS])
    options = asked.parse_args(given)
    for name, make in SETS.items():
        if options.only in (None, name):
            part, _, label = name.partition("/")
            path = CATALOGUE / f"{part}.toml"
            fresh = written(path.read_text(encoding="utf-8"), label, text(label, make(options.data)))
            sheet = be.Datasheet.parse(fresh, path.name)  # refuses what cannot be read back
            suggest.from_identified(sheet, sheet.identified[label])
            path.write_text(fresh, encoding="utf-8")
            print(f"wrote {path.name}: {name}")


if __name__ == "__main__":
    main()
