"""`backemf measure` of torque and friction: loads, no-load lines and no-load currents."""

from __future__ import annotations

from typing import Annotated, Any

from ..terminal import option
from .answers import Resistance, column, known, read, reading


@reading
def torque_constant(
    load: Annotated[str, column("Torques of the loads", "N m")],
    voltage: Annotated[str | None, column("Voltages that held them", "V")] = None,
    current: Annotated[str | None, column("Currents that held them", "A")] = None,
    resistance: Resistance = None,
    static: Annotated[float | None, option("Static friction [N m]: the answer is then bounds.")] = None,
    directions: Annotated[
        str | None, option("For each reading 1 if the arm last moved up, -1 if down.")
    ] = None,
) -> Any:
    """Torque constant from loads held at rest, by their current, or by voltage and resistance.

    Bounds from one direction and a static friction; a value from both directions, or from the slope.

    Example: backemf measure torque-constant --load 1.94,2.76,3.34 --current 1.37,1.8,2.21
    """
    from ....analysis.torque import torque_constant as measure

    given = read(
        load=load,
        voltage=voltage,
        current=current,
        resistance=resistance,
        static=static,
        directions=directions,
    )
    return measure(**given)


@reading
def no_load(
    voltage: Annotated[str, column("Voltages", "V")],
    speed: Annotated[str, column("No-load speeds", "rad/s")],
    current: Annotated[str | None, column("No-load currents, to get K_e by itself", "A")] = None,
    resistance: Annotated[str | None, known("Resistance, to get friction torques", "ohm")] = None,
    torque_constant: Annotated[
        str | None, known("Torque constant, to split off viscous friction", "N m/A")
    ] = None,
) -> Any:
    """Motor constant and friction from no-load speed over voltage.

    Example: backemf measure no-load --voltage 3,6,9,12 --speed 1.7,3.47,5.22,7.0 --resistance 2.1
    """
    from ....analysis.torque import no_load as measure

    given = read(
        voltage=voltage, speed=speed, current=current, resistance=resistance, torque_constant=torque_constant
    )
    return measure(**given)


@reading
def no_load_current(
    speed: Annotated[str, column("Speeds", "rad/s")],
    current: Annotated[str, column("No-load currents", "A")],
    torque_constant: Annotated[str, known("Torque constant", "N m/A")],
) -> Any:
    """Dry and viscous friction from the no-load current at several speeds.

    Example: backemf measure no-load-current --speed 50,100,200,300 --current "61,64,71,77 mA"
    --torque-constant "0.0235 +- 0.0003"
    """
    from ....analysis.torque import no_load_current as measure

    given = read(speed=speed, current=current, torque_constant=torque_constant)
    return measure(**given)
