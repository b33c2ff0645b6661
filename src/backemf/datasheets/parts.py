"""The shipped catalogue of parts: names, sheets, and identified actuators."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..bounds import limits, text_of
from ..errors import InvalidValue, UnknownName
from ..findings import Finding, finding
from ..physics.actuator import Actuator
from ..physics.joint_law import JointLaw
from ..results.spread import Spread
from .datasheet import Datasheet
from .toml import DatasheetError

OTHER_SOURCES = re.compile(r"\.(json|xml|mjcf|py)(#.*)?$", re.IGNORECASE)
"""Files that an actuator may come from and that are no sheets, with the name of a joint behind a #."""
FRICTION = ("no_load_current", "coulomb_torque")
"""Entries of which one must be printed for friction to be known."""


@functools.lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """Names of every part in the catalogue."""
    files = (f.name for f in _folder().iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml")))


def _folder() -> Traversable:
    return resources.files("backemf.datasheets") / "catalog"


def sheet(name: str | Path) -> Datasheet:
    """A part of the catalogue by name, or a TOML file by path."""
    path = Path(name)
    if not is_part(str(name)):
        raise DatasheetError(
            f"{str(name)!r} is no datasheet; expected a part of the catalogue or a TOML file. What a model's"
            " actuators are in physical terms says `backemf explain MODEL.xml`"
        )
    if path.suffix == ".toml" or path.is_file():
        try:
            text = text_of(path, most=limits().short)
        except FileNotFoundError:
            raise DatasheetError(f"there is no file {str(name)!r}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise DatasheetError(f"{name}: cannot be read as text: {error}") from None
        return Datasheet.parse(text, str(name))
    return _shipped_sheet(str(name).lower())


@functools.lru_cache(maxsize=64)
def _shipped_sheet(name: str) -> Datasheet:
    if name not in names():
        raise UnknownName("part", name, names(), "`backemf catalog`")
    text = (_folder() / f"{name}.toml").read_text(encoding="utf-8")
    return Datasheet.parse(text, f"{name}.toml")


def identified_actuator(name: str) -> Actuator:
    """An actuator from identified parameters: "mx-106/m6"."""
    return part(name).actuator


def spread(name: str) -> Spread | None:
    """How far the numbers of an identified set may be off; None where nobody said, or for a part alone."""
    file, _, label = name.partition("/")
    if not label or file.lower() not in names():
        return None
    published = sheet(file).identified.get(label)
    if published is None or not published.errors:
        return None
    n = len(published.errors)
    lower = np.eye(n)
    for k, row in enumerate(published.correlation):
        lower[k, : k + 1] = row
    whole = np.tril(lower) + np.tril(lower, -1).T
    return Spread.of(identified_actuator(name), published.errors, whole)


def is_part(source: str) -> bool:
    """Whether a source is a datasheet, a part of the catalogue or one of its identified sets."""
    return not OTHER_SOURCES.search(source)


class CataloguePart(NamedTuple):
    """A part's actuator, what nobody printed or measured of it, and the paths of that."""

    actuator: Actuator
    findings: tuple[Finding, ...]
    unknown: tuple[str, ...]
    registers: Mapping[str, float] = {}
    """P, I and D of its firmware, as far as they are printed."""


def part(
    name: str | Datasheet,
    *,
    voltage: float | None = None,
    control: str | None = None,
    firmware: str | None = None,
) -> CataloguePart:
    """A part as an actuator, with what nobody knows of it.

    Args:
        name: a part of the catalogue, a TOML file, an identified set ("mx-106/m6"), or a sheet.
        voltage: the supply [V]; None: the sheet's own.
        control: the interface, such as "position"; None: the part's own.
        firmware: the profile whose settings it has, such as "lerobot"; None: as shipped.

    Returns:
        The actuator, what is assumed of it, and the paths of what is not known.

    Raises:
        UnknownName: there is no such part, identified set or profile.
        InvalidValue: an identified set with another interface than its part's.
    """
    from . import suggest

    if isinstance(name, Datasheet):
        owner, file, label = name, name.name, ""
    else:
        file, label = str(name), ""
        if not file.endswith(".toml"):
            file, _, label = file.partition("/")
        owner = sheet(file)
    if firmware is not None:
        owner = owner.with_profile(firmware)
    findings, unknown = [], []
    if not label:
        actuator = suggest.actuator(owner, voltage=voltage, control=control)
        if not any(e.kind != "assumed" for n in FRICTION for e in owner.all(n)):
            unknown.append("friction")
    else:
        if label not in owner.identified:
            raise UnknownName(f"identified set of {file}", label, owner.identified)
        if control is not None:
            raise InvalidValue(
                f"control is {control!r}; an identified set has its part's own interface: leave it out"
            )
        published = owner.identified[label]
        actuator = suggest.from_identified(owner, published, voltage)
        findings += supply_findings(str(name), actuator)
    for path, said in _assumptions(owner, actuator):
        findings.append(said)
        unknown += [path] if path else []
    registers = {
        n: owner.firmware[n].value for n in ("proportional", "integral", "derivative") if n in owner.firmware
    }
    return CataloguePart(actuator, tuple(findings), tuple(unknown), {} if label else registers)


def _assumptions(owner: Datasheet, actuator: Actuator) -> Iterator[tuple[str, Finding]]:
    """(the parameter that was assumed, if it is one; what to say of it)."""
    from .interface import has_gain

    values, prints = actuator.parameters, f"no sheet prints the gain of the {{}} loop of {owner.name}".format
    if not has_gain(owner) and "drive.volts_per_radian" in values:
        volts, kp = values["drive.volts_per_radian"], JointLaw.of(actuator).stiffness
        able = [n for n in owner.profiles if has_gain(owner.with_profile(n))]
        known = f", or one of its firmware profiles: {', '.join(able)}" if able else ""
        yield (
            "drive.volts_per_radian",
            finding(
                "assumed_gain",
                f"{prints('position')}; {volts:.3g} V/rad, which is {kp:.3g} N m/rad at the joint, is"
                " assumed.",
                f"identify it from a log, or give it: --set drive.volts_per_radian=VALUE{known}",
                volts_per_radian=volts,
                stiffness=kp,
            ),
        )
    if "velocity_gain" not in owner.firmware and actuator.drive.followed == "velocity_target":
        gain = values["drive.volt_seconds_per_radian"]
        yield (
            "drive.volt_seconds_per_radian",
            finding(
                "assumed_gain",
                f"{prints('velocity')}; {gain:.3g} V s/rad, full voltage at a tenth of the no-load speed, is"
                " assumed.",
                "identify it from a log, or give it: --set drive.volt_seconds_per_radian=VALUE",
                volt_seconds_per_radian=gain,
            ),
        )
    derivative = owner.firmware.get("derivative")
    measured = "derivative_gain" in owner.firmware or "drive.firmware_derivative_gain" in values
    loop = actuator.drive.loop
    regulates = loop is not None and loop.of == "position"  # which is what a D register serves
    if derivative is not None and derivative.value and not measured and regulates:
        text = (
            f"the firmware of {owner.name} is set to D {derivative.value:g}, and nobody measured what one"
            " count of D does: its damping is missing from the model, and the push that it may give a moving"
            " setpoint."
        )
        remedy = "record and fit with this sheet as the prior: the fit frees what one count does"
        yield "", finding("derivative_not_known", text, remedy, derivative=derivative.value)


def supply_findings(name: str, actuator: Actuator) -> Iterator[Finding]:
    """An identified set used at another supply than it was identified at.

    Args:
        name: of the set, "mx-106/m6"; there is nothing to say of other parts.
        actuator: it, with the supply that it is used at.
    """
    file, _, label = name.partition("/") if not name.endswith(".toml") else (name, "", "")
    there, here = sheet(file).identified[label].supply if label else None, actuator.drive.supply
    if there is None or here is None or abs(here / there - 1) < 0.02:
        return
    text = (
        f"{name} was identified at {there:g} V and is used at {here:g} V: its stall torque, no-load speed and"
        f" stiffness are {here / there:.2f} of what they were there."
    )
    remedy = f"give --voltage {there:g} to have it as it was identified, or identify it at your own supply"
    numbers = {"identified_at": there, "supply": here, "ratio": here / there}
    yield finding("outside_identified_supply", text, remedy, **numbers)
