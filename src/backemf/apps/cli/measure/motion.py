"""`backemf measure` from recordings: inertia and friction from motion, heating, backlash."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..inputs.benches import Bench
from ..terminal import Maps, option
from .answers import Log, TorqueConstant, column, known, read, reading, recording


@reading
def coast_down(
    log: Annotated[str, typer.Argument(help="A recording of position or velocity.")],
    inertia: Annotated[str | None, known("Inertia, to get friction", "kg m^2")] = None,
    coulomb: Annotated[str | None, known("Dry friction, to get the inertia", "N m")] = None,
    map: Maps = None,
) -> Any:
    """Dry and viscous friction from a coast-down; or the inertia, if the dry friction is known.

    Example: backemf measure coast-down coast.csv --inertia 2e-4
    """
    from ....analysis.transients import coast_down as measure

    given = read(inertia=inertia, coulomb=coulomb)
    return measure(recording(log, map), **given)


@reading
def inertia(
    slow: Annotated[str, typer.Argument(help="A coast-down with the inertia added.")],
    fast: Annotated[str, typer.Argument(help="A coast-down without it.")],
    added: Annotated[str, known("Inertia that was added", "kg m^2")],
    map: Maps = None,
) -> Any:
    """Inertia from two coast-downs, one of them with a known inertia added.

    Example: backemf measure inertia with-disc.csv without.csv --added 3e-3
    """
    from ....analysis.transients import inertia as measure

    logs = (recording(slow, map), recording(fast, map))
    return measure(*logs, **read(added=added))


@reading
def run_up(
    log: Log,
    resistance: Annotated[str, known("Resistance", "ohm")],
    torque_constant: Annotated[str, known("Torque constant", "N m/A")],
    viscous: Annotated[str | None, known("Viscous friction", "N m s/rad")] = None,
    after: Annotated[float | None, option("When the voltage stepped [s]; found unless given.")] = None,
    map: Maps = None,
) -> Any:
    """Inertia from the time constant with which the speed rises after a voltage step.

    Example: backemf measure run-up step.csv --resistance 2.1 --torque-constant 0.0235
    """
    from ....analysis.transients import run_up as measure

    given = read(resistance=resistance, torque_constant=torque_constant, viscous=viscous, after=after)
    return measure(recording(log, map), **given)


@reading
def acceleration(
    acceleration: Annotated[str, column("Accelerations", "rad/s^2")],
    torque: Annotated[str | None, column("Torques", "N m")] = None,
    current: Annotated[str | None, column("Currents", "A")] = None,
    torque_constant: TorqueConstant = None,
) -> Any:
    """Inertia from torque (or current and torque constant) over acceleration.

    Example: backemf measure acceleration --acceleration 40,90,140 --current 1,2,3 --torque-constant 0.0235
    """
    from ....analysis.transients import acceleration as measure

    given = read(acceleration=acceleration, torque=torque, current=current, torque_constant=torque_constant)
    return measure(**given)


@reading
def inverse_dynamics(
    log: Annotated[str, typer.Argument(help="A recording of position and torque.")],
    cutoff: Annotated[float, option("Cut-off of the low pass on position [Hz].")] = 50.0,
    decimation: Annotated[int, option("Samples of which one is kept, behind a low pass.")] = 10,
    bench: Bench = None,
    map: Maps = None,
) -> Any:
    """Inertia, viscous and dry friction from position and force by linear regression.

    Example: backemf measure inverse-dynamics axis.csv --cutoff 50
    """
    from ....analysis.transients import inverse_dynamics as measure

    return measure(recording(log, map, bench), cutoff=cutoff, decimation=decimation)


@reading
def thermal(
    log: Annotated[str, typer.Argument(help="A recording of temperature.")],
    power: Annotated[
        float | None, option("Heating power [W]; the log's voltage times current unless given.")
    ] = None,
    ambient: Annotated[
        float | None, option("Ambient temperature [degC]; where the log starts unless given.")
    ] = None,
    until: Annotated[float | None, option("When the power went off [s], and cooling began.")] = None,
    map: Maps = None,
) -> Any:
    """Thermal resistance and capacitance from heating, and cooling, at a known power.

    Example: backemf measure thermal heating.csv --power 4.5 --until 600
    """
    from ....analysis.transients import thermal as measure

    return measure(recording(log, map), power=power, ambient=ambient, until=until)


@reading
def backlash(
    log: Annotated[
        str, typer.Argument(help="A slow reversal: drive side as position_target, output as position.")
    ],
    map: Maps = None,
) -> Any:
    """Backlash from slow reversals.

    Example: backemf measure backlash reversal.csv
    """
    from ....analysis.transients import backlash as measure

    return measure(recording(log, map))
