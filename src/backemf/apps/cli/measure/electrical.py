"""`backemf measure` of the winding and the firmware: resistance, inductance, back-EMF, duty."""

from __future__ import annotations

from typing import Annotated, Any

from ..terminal import Maps, option
from .answers import Log, Resistance, column, read, reading, recording


@reading
def resistance(
    current: Annotated[str, column("Currents", "A")], voltage: Annotated[str, column("Voltages", "V")]
) -> Any:
    """Resistance from voltage and current with the rotor locked.

    Example: backemf measure resistance --current 0.6,1.2,1.8,2.4 --voltage 1.25,2.46,3.7,5.15
    """
    from ....analysis.electrical import resistance as measure

    return measure(**read(current=current, voltage=voltage))


@reading
def current_step(
    log: Log,
    voltage: Annotated[
        float | None, option("Height of the voltage step [V]; the log's own unless given.")
    ] = None,
    resistance: Resistance = None,
    after: Annotated[float | None, option("When the voltage stepped [s]; found unless given.")] = None,
    map: Maps = None,
) -> Any:
    """Inductance from how the current rises after a voltage step, the rotor locked.

    Example: backemf measure current-step step.csv --voltage 2
    """
    from ....analysis.electrical import current_step as measure

    given = read(resistance=resistance, after=after)
    return measure(recording(log, map), voltage=voltage, **given)


@reading
def impedance(
    frequency: Annotated[str, column("Frequencies", "Hz")],
    impedance: Annotated[str, column("Impedances, volts over amperes", "ohm")],
    resistance: Resistance = None,
) -> Any:
    """Inductance from the impedance at several frequencies, the rotor locked.

    Example: backemf measure impedance --frequency 50,100,400,1000 --impedance 2.02,2.1,3.2,6.6
    """
    from ....analysis.electrical import impedance as measure

    given = read(frequency=frequency, impedance=impedance, resistance=resistance)
    return measure(**given)


@reading
def back_emf(
    speed: Annotated[str, column("Speeds at which the shaft was driven", "rad/s")],
    voltage: Annotated[str, column("Open-circuit voltages", "V")],
) -> Any:
    """Back-EMF constant from open-circuit volts while something else turns the shaft.

    Example: backemf measure back-emf --speed "500, 1000, 1500, 2000 rpm" --voltage 1.21,2.39,3.62,4.8
    """
    from ....analysis.electrical import back_emf as measure

    return measure(**read(speed=speed, voltage=voltage))


@reading
def firmware_gain(
    error: Annotated[str, column("Position errors", "rad")],
    register: Annotated[str, column("Gain registers", "1")],
    duty: Annotated[str, column("Duties, 0 to 1", "1")],
) -> Any:
    """Firmware gain H from position error, gain register and duty on an oscilloscope.

    Example: backemf measure firmware-gain --error "8, 16 deg" --register 5,5 --duty 0.106,0.214
    """
    from ....analysis.electrical import firmware_gain as measure

    return measure(**read(error=error, register=register, duty=duty))
