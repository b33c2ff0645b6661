"""`backemf record` and `backemf virtual`: logs from real servos, and servos that are not there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...options import Answer, CommandSpec, Terminal, option, options
from ...targets.export_options import SOURCE_HELP
from .record_options import ON_CAN, RecordOptions, VirtualOptions, named_ids

if TYPE_CHECKING:
    from ...logs.log import Log

HEAD = ("joint", "position [rad]", "error [rad]", "current [A]", "temperature [degC]")


@options
class RecordWords(RecordOptions):
    """What the command line says otherwise than Python."""

    stiffness: float = option(
        default=10.0,
        help="What a CAN motor is told as its stiffness [N m/rad].",
        unit="N m/rad",
        applies_to=ON_CAN,
    )
    damping: float = option(
        default=0.5,
        help="What a CAN motor is told as its damping [N m s/rad].",
        unit="N m s/rad",
        applies_to=ON_CAN,
    )


@options
class VirtualWords(VirtualOptions):
    """The source as a word of the command line."""

    source: str = option(help=SOURCE_HELP, cli="source")


def record(options: RecordWords, terminal: Terminal) -> Answer:
    """Play motions on real servos and record everything that they say.

    Torque goes off on any limit, error, Ctrl-C, or lost program. A motion that is done is not played again.

    Example: backemf record --bus feetech --port /dev/ttyUSB0 --bench "pendulum mass=0.3kg length=0.1m"
    """
    from .recorder import run_record, scopes

    options.check(scopes(options), options.bus, in_shell=True)

    def watch(event: dict[str, Any]) -> None:
        if event["event"] == "live":
            terminal.say(_words(event))
            title = f"{event['motion']}, {event['time']:.1f} s, {event['rate']:.0f} Hz; Ctrl-C ends it"
            terminal.table(title, HEAD, [_cells(one) for one in event["joints"]])

    def confirm(text: str) -> bool:
        return terminal.confirm("Is everything free to move?")

    asking = {"confirm": confirm if terminal.attended else None, "show": terminal.show, "watch": watch}
    try:
        logs = run_record(replace(options, gains=(options.stiffness, options.damping), **asking))
    except KeyboardInterrupt as error:
        terminal.show(str(error))
        raise
    return Answer(
        content=lambda: {"logs": [_summary(log) for log in logs], "dry_run": options.dry_run},
        text=lambda: "nothing was moved" if options.dry_run else _table(logs),
    )


def _words(event: dict[str, Any]) -> str:
    """What the servos do, in a line."""
    where = (f"{one['joint']} at {one['position']:.3f} rad" for one in event["joints"] if one.get("position"))
    return f"{event['motion']}, {event['time']:.1f} s, {event['rate']:.0f} Hz: {', '.join(where)}"


def _cells(one: dict[str, Any]) -> list[str]:
    numbers = (one.get(k) for k in ("position", "error", "current", "temperature"))
    return [one["joint"], *("-" if x is None else f"{x:.3f}" for x in numbers)]


def _summary(log: Log) -> dict[str, Any]:
    clock = _clock(log)
    named = {"name": log.name, "source": log.source, "samples": len(log)}
    return {**named, "rate": clock.rate, "jitter": clock.jitter, "findings": log.findings}


def _clock(log: Log) -> Any:
    """The times of a log; of a robot, those of its first joint."""
    one = next(iter(log.joints.values()), log)
    return one.signals[one.clock]


def _table(logs: list[Log]) -> str:
    from ...tables import table

    clocks = {log.name: _clock(log) for log in logs}
    rows = [
        (log.name, len(log), clocks[log.name].rate, 1e3 * clocks[log.name].jitter, log.source) for log in logs
    ]
    return table(rows, ("log", "samples", "rate [Hz]", "jitter [ms]", "file"))


def virtual(options: VirtualWords, terminal: Terminal) -> None:
    """Open a port behind which servos answer that are not there, with the physics of a model.

    The first line that it prints is the port's name; the makers' programs and `backemf record` find it there.

    Example: backemf virtual sts3215-12v --firmware lerobot --id 1-6 --bench "pendulum mass=0.3kg length=0.1m"
    """
    from .virtual.process import serve_options, virtual_scopes

    options.check(virtual_scopes(options), options.protocol, in_shell=True)

    def ready(device: str, ids: list[int]) -> None:
        terminal.announce({"port": device, "protocol": options.protocol, "ids": ids}, device)
        named = {id: name for name, id in named_ids(options.ids).items()}
        joints = (f"{id} ({named[id]})" if named.get(id, str(id)) != str(id) else str(id) for id in ids)
        ends = "Ctrl-C" if options.seconds is None else f"Ctrl-C, or after {options.seconds:g} s"
        terminal.show(f"{options.protocol}, ids {', '.join(joints)}; it ends with {ends}")

    serve_options(options.source, options, ready)


RECORD = CommandSpec(
    RecordWords,
    record,
    order="bus port ids robot table motions output bench start zero amplitude seconds limit rate baud"
    " interface stiffness damping yes dry_run speed",
    has_findings=False,
)
VIRTUAL = CommandSpec(
    VirtualWords,
    virtual,
    order="source protocol ids bench robot firmware voltage set fault register noise speed start_angle baud"
    " channel link seconds seed",
    has_findings=False,
)
