"""`backemf plan`: which motions to record, and what to expect of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from .inputs.benches import Bench
from .inputs.sources import ActuatorFrom, Firmware, Sets, Voltage
from .terminal import Force, Json, Strict, answer, drawable, inside, keep, making, option, place, working


def plan(
    source: ActuatorFrom,
    bench: Bench = None,
    output: Annotated[
        Path | None, place("Write the motions here (JSON), for backemf record --motions.")
    ] = None,
    target: Annotated[
        list[str] | None,
        option("What is looked for: friction, motor, friction.static, ...; everything unless given."),
    ] = None,
    after: Annotated[
        Path | None, option("A fit of earlier logs (JSON): what it knows is not looked for again.")
    ] = None,
    robot: Annotated[Path | None, option("The servo moves a joint of this MJCF or URDF.")] = None,
    joint: Annotated[str, option("Which joint of the robot.")] = "",
    posture: Annotated[
        str, option("Where the robot's other joints stand [rad]: shoulder_lift=-0.5,elbow_flex=1.")
    ] = "",
    friction: Annotated[
        str | None,
        option("The friction model that is planned for; m4 where the source knows of Coulomb friction only."),
    ] = None,
    seconds: Annotated[float, option("How long the motions last together [s].")] = 20.0,
    limit: Annotated[
        list[str] | None,
        option(
            "Not beyond this: position-low=-1rad, position-high, velocity=3rad/s, current=1A, temperature."
            " May be repeated."
        ),
    ] = None,
    rate: Annotated[float, option("Samples a second of the recording to come [Hz].")] = 250.0,
    no_current: Annotated[bool, option("The servo does not report its current.", "--no-current")] = False,
    firmware: Firmware = None,
    voltage: Voltage = None,
    set: Sets = None,
    seed: Annotated[int, option("Seed of the draws over which the choice is good.")] = 0,
    plot: Annotated[
        Path | None, place("Draw the motions and the errors to expect (.png, .svg, .pdf, .html).", "--plot")
    ] = None,
    force: Force = False,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Design the motions whose logs will tell most of a servo, and say what errors to expect.

    Example: backemf plan sts3215-12v --bench "pendulum mass=0.3kg length=0.1m" -o plan.json
    """
    from ...datasheets import parts
    from ...errors import InvalidValue, MissingValue
    from ...planning.motions import SafetyLimits
    from ...planning.outlook import Sensing
    from ...planning.plan import plan as run
    from ...results.fit import Fit
    from .inputs.recordings import fit_of
    from .inputs.sources import chosen
    from .record import limits_of

    output = inside(output, "plan.json")
    keep(output, force)
    drawable(plot, force)
    if seed < 0:
        raise InvalidValue(f"--seed is {seed}; expected 0 or more")
    if (bench is None) == (robot is None):
        wanted = 'expected --bench "pendulum mass=0.3kg length=0.1m", or --robot FILE --joint NAME'
        told = "both --bench and --robot are given" if bench else "nothing says what the servo carries"
        raise MissingValue(f"{told}; {wanted}")
    if robot is None and (joint or posture):
        raise InvalidValue("--joint and --posture belong to a robot; expected --robot FILE with them")
    given: dict[str, Any] = {"voltage": voltage, "firmware": firmware}
    registers = _registers(chosen(source, joint or None, **given).actuator, set)
    sets = [words for words in set or () if words.partition("=")[0].strip() not in registers]
    actuator = chosen(source, joint or None, sets=sets, **given).actuator
    sheet = parts.sheet(source) if source.endswith(".toml") or source.lower() in parts.names() else None
    earlier = fit_of(source) if after is None else Fit.read(after)
    limits = limits_of(limit, SafetyLimits())
    with working("planning", not json):
        made = run(
            actuator,
            _carried(bench, robot),
            joint=joint,
            posture=_posture(posture),
            seconds=seconds,
            target=",".join(target or ()),
            prior=None if earlier else sheet,
            after=earlier,
            friction=friction,
            limits=limits,
            sensing=Sensing(rate=rate, current=None if no_current else Sensing().current),
            settings=registers,
            seed=seed,
        )
    if output is not None:
        with making(output):
            made.write(output, force=force)
    if plot is not None:
        from ..report.figures import draw
        from ..report.figures.runs import planned

        draw.save(planned(made), plot, note=f"Planned for {source}.", force=force)

    def content() -> dict[str, Any]:
        motions = [{"name": one.name, "duration": one.duration} for one in made.motions.motions]
        rows = [
            {
                **{"path": p.path, "value": p.value, "error": p.error, "unit": p.unit},
                **{"known": p.before, "expected": p.relative_error},
                **{"determined": p.determined, "remedy": p.remedy},
            }
            for p in made.parameters
        ]
        told = {"motions": motions, "seconds": made.seconds, "parameters": rows}
        return {**told, "findings": made.findings, "file": output}

    def text() -> str:
        carried = f' --bench "{bench}"' if bench else ""
        ids = f" --ids {','.join(f'{name}=ID' for name in _joints(made))}" if joint else ""
        motions = output or "plan.json"
        play = f"backemf record --bus BUS --port PORT{ids} --motions {motions}{carried}"
        return f"{made}\n\nTo record it:\n  {play}"

    answer(json, content, text, made.findings, strict, [output, plot])


def _registers(actuator: Any, sets: list[str] | None) -> dict[str, float]:
    """What `--set` says of a servo's register that the source's drive does not have: its logs will say so,
    and a fit finds out what a count of it does."""
    from .inputs.sources import values_of

    path = "drive.proportional"
    mine = [words for words in sets or () if words.partition("=")[0].strip() == path]
    loop = actuator.drive.loop
    known = path in actuator.parameters or loop is None or (loop.of, loop.effort) != ("position", "V")
    return {} if known else values_of(actuator, mine)


def _joints(made: Any) -> list[str]:
    return list(made.motions.motions[0].tracks)


def _carried(bench: str | None, robot: Path | None) -> Any:
    """The bench in words, or the robot's file."""
    if bench is not None:
        from .inputs.benches import bench_of

        return bench_of(bench)
    from ...logs.robot import Robot

    assert robot is not None
    return Robot.read(robot)


def _posture(words: str) -> dict[str, float]:
    """ "a=0.5,b=-1" -> {"a": 0.5, "b": -1.0}."""
    from ...errors import InvalidValue
    from ...signal.words import si

    stood = {}
    for word in filter(None, (part.strip() for part in words.split(","))):
        name, equals, angle = (part.strip() for part in word.partition("="))
        if not equals or not name:
            raise InvalidValue(f"--posture is {words!r:.60}; expected JOINT=ANGLE, such as elbow_flex=0.5")
        stood[name] = si(angle, "rad", f"--posture {name}")
    return stood
