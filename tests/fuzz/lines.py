"""Command lines that nobody should type: a whole one for every command,
and what is put in the place of each of its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np


class Line(NamedTuple):
    """A command line: "{in}" stands for the folder of whole files;
    `broken` is (format, mutation number) of the file "{broken}"."""

    words: tuple[str, ...]
    broken: tuple[str, int] | None = None


LONG = "n" * 300
NUMBERS = (
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "1e308",
    "-1e308",
    "1e-308",
    "1e999",
    "",
    "1,2",
    "one",
    "0x10",
    "\u0967",
    "1_000",
    "9" * 400,
)
COUNTS = ("-1", "0", "1.5", "nan", "", "many", "-9" * 40, "9" * 40)
PLACES = (
    "not there.json",
    "",
    ".",
    "..",
    "/dev/null",
    "a folder",
    "a folder/none.json",
    "old.json/x.json",
    "two\nlines.json",
    "-dash.json",
    f"{LONG}.json",
    LONG,
    "gr\u00f6\u00dfe \u202e.json",
    "~nobody-of-this-name/x.json",
    "*.json",
    "[",
    "**/*.nothing",
    "\udcff.json",
    "file:///x.json",
    "x.json.gz",
    "old.json",
    "a.hoot",
    "~",
    "locked.json",
)
OUTPUTS = (
    "old.json",
    ".",
    "a folder",
    "a folder/",
    "new/",
    "old.json/",
    "no/such/folder/",
    "",
    "no/such/folder/x",
    "old.json/x",
    "/dev/null",
    LONG,
    "-dash",
    "neu \u00e4",
    "two\nlines",
    "m" * 250,
    "\udcff",
)
WORDS = ("nonsense", "", "@", "\u00e4", "-", "None", LONG, "a\nb", "m4 ")
MAPS = (
    "position",
    "=",
    "position=",
    "=x",
    "position=x[",
    "position=x[parsec]",
    "position=x[deg],",
    "position=x,nan",
    "position=x,0",
    "time=row[ms],0",
    "time=row[ms],-5",
    "time=row,1e308",
    "none=none",
    "none=position",
    "position=a@b@c",
    'position="',
    "position=position,1e308",
    "position=position,1e-320",
    "position=time",
    "{in}/mapping.json",
    "{in}/pendulum.json",
    "not there.json",
    "",
    "supply=none",
    "position=none",
)
COLUMNS = (
    "",
    ",",
    "nan,1",
    "1",
    "0,0",
    "1,x",
    "1e308,1e308",
    "1e-308,2e-308",
    "1;2",
    "-1,-2",
    "inf,1",
    "1,2,3,4,5",
    "9" * 400,
    "1,1",
)
NAMES = (
    "",
    "a\"b<c>&'",
    "\u00e4",
    LONG,
    "a/b",
    "../out",
    "a\nb",
    "--",
    "-->",
    '"""',
    "\x01",
    ".",
    "class",
    "\udcff",
    "{x}",
    "%s",
)
BENCHES = (
    "",
    "pendulum",
    "pendulum,mass",
    "pendulum,mass=-1,length=0",
    "pendulum,mass=nan,length=1",
    "nonsense",
    "pendulum,foo=1",
    "recorded",
    "flywheel,inertia=0",
    "pendulum,mass=1e308,length=1e308",
    "pendulum,,",
    "pendulum mass=1 parsec length=1m",
    "pendulum mass=1+-kg length=1m",
    "flywheel inertia=",
    "locked",
    "elevator,mass=1",
    ",",
    "recorded,torque=1",
    "flywheel,inertia=1e-300",
)
COMMANDS = (
    "",
    "square",
    "square amplitude=1 period=0",
    "square amplitude=1 frequency=1e308",
    "square amplitude=nan period=1",
    "square amplitude=1e308 period=1 offset=1e308",
    "step size=1parsec",
    "step size=1 rad at=inf",
    "ramp rate=1e308",
    "sine amplitude=1 frequency=-1",
    "random-binary amplitude=1 hold=1e-300 seed=1",
    "random-binary amplitude=1 hold=0.1 seed=-1",
    "random-binary amplitude=1 hold=0.1 seed=1.5",
    "chirp amplitude=1 low=0 high=1e308 duration=1",
    "nonsense a=1",
    "constant value=1 value=2",
    "= = =",
    "not-there.csv",
    "{in}/table.csv",
    "{in}/pendulum.json.csv",
)
SWEPT = (
    "",
    "motor.resistance",
    "motor.resistance=",
    "motor.resistance=1,,2",
    "motor.nothing=1,2",
    "bench.mass=-1,1",
    "command.amplitude=1,nan",
    "drive=1",
    "motor.resistance=" + ",".join(["1"] * 200),
    "motor.resistance=1,2parsec",
    "command.seed=1",
)
SIZES = (
    "",
    "0x0",
    "160",
    "161x160",
    "99999x99999",
    "-1x-1",
    "x",
    "160x160x160",
    "\u0661\u0666\u0660x160",
    "1e3x1e3",
    "160 x 160",
    "9" * 5000 + "x160",
    "\u00b2x160",
)
SPANS = ("nan nan", "1 0", "-1 -1", "0 1e308", "inf inf", "0 0", "0 x", "0.1 0.1001", "-1e308 1e308")
TARGETS = (
    "mujoco@",
    "mujoco@99.9",
    "@3.12",
    "mujoco@nan",
    "mujoco@3.12.1.2",
    "MUJOCO",
    "wpilib",
    "urdf@1",
    "mujoco@-1",
    "mujoco@3.12@3.12",
    "mujoco@" + "9" * 5000,
)

UNITS = (
    *NUMBERS,
    "3 parsec",
    "-1 N m",
    "nan V",
    "1e999 ohm",
    "1e308 rpm",
    "1e-308 V/deg",
    "0 rpm",
    "1 N m/rad",
    "2 V s/rad",
    "1e300 N m",
    "1e-300 A",
    "0 s/60deg",
    "1 1/rad",
    "3 m",
    "5 kg",
)
CONVERTED = (
    *("volts", "amperes", "torque", "firmware_gain", "radius", "viscous", "kS", "kV", "kA", "kG"),
    *("stall_torque", "stall_current", "no_load_speed", "no_load_current", "speed_constant"),
    *("back_emf_constant", "rotor_inertia", "saturation_effort", "velocity_limit", "effort_limit"),
    *("stiffness", "damping"),
)
"""Options of `convert` that take a number with its unit."""
VALUES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "files",
            "logs",
            "recording",
            "log",
            "part",
            "source",
            "sources",
            "model",
            "fit",
            "file",
            "slow",
            "fast",
            "into",
            "joints",
            "actuator",
            "sheet",
            "start",
            "motor",
            "robot",
            "gains",
            "after",
        ),
        PLACES,
    ),
    **dict.fromkeys(("output", "plot", "save_map", "data", "to_rerun", "to_mcap"), OUTPUTS),
    **dict.fromkeys(
        (
            "mass",
            "length",
            "angle",
            "arm_mass",
            "torque_constant",
            "static",
            "inertia",
            "power",
            "ambient",
            "threshold",
            "limit",
            "ground",
            "arm",
            "supply",
            "max_error",
            "max_velocity_error",
            "max_effort",
            "period",
            "delay",
        ),
        NUMBERS,
    ),
    "on": (*WORDS, "gpu", "cpu", "tpu"),
    "folder": PLACES,
    "jobs": COUNTS,
    "share": (*WORDS, "motor", "motor.resistance", "nothing"),
    "free_inertia": (*WORDS, "10%", "0.1", "0", "200%"),
    "name": (*WORDS, "arm"),
    "scale": COLUMNS,
    "words": (*NUMBERS, *WORDS, "1 V", "15 kg.cm to", "15 kg.cm to V", "3 parsnips to V"),
    **dict.fromkeys(
        (
            "ratio",
            "timestep",
            "amplitude",
            "resistance",
            "fps",
            "speed",
            "settle",
            "step",
            "decimation",
            "q_offset",
            "table",
        ),
        NUMBERS,
    ),
    **dict.fromkeys(("steps", "median", "motors", "starts", "seed"), COUNTS),
    **dict.fromkeys(
        ("current", "directions", "error", "register", "duty", "frequency", "impedance", "acceleration"),
        COLUMNS,
    ),
    **dict.fromkeys(("torque",), COLUMNS),
    **dict.fromkeys(
        ("coulomb", "viscous", "added", "after", "until", "cutoff", "angle_error", "gravity", "moved"),
        NUMBERS,
    ),
    "reading": (
        *WORDS,
        "resistance",
        "resistance current=1,2",
        "resistance current=1,2 voltage=1,2,3",
        "resistance current=1,x voltage=1,2",
        "fall mass=1 length=1 angle=1",
        "fall mass=1 length=1 angle=64deg",
        "thermal log=/dev/null",
        "nothing a=1",
        "resistance 'current=1",
        "no-load voltage=1,2,3 speed=1,2,3 current=1,2",
        "name x=1",
    ),
    "stated": (
        *WORDS,
        "motor.resistance",
        "motor.resistance=",
        "motor.resistance=x",
        "motor.resistance=-1",
        "motor.resistance=nan",
        "motor.resistance=2+-nan",
        "motor.resistance=2 +- -1",
        "motor.nothing=2",
        "motor.resistance=2.3+-0.1 multimeter",
        "=2",
    ),
    **dict.fromkeys(("joint", "note"), NAMES),
    **dict.fromkeys(
        (
            "friction",
            "method",
            "integrator",
            "mechanism",
            "control",
            "units",
            "controller",
            "loop",
            "preset",
            "constants",
            "engine",
            "firmware",
            "bam_name",
            "at_rest",
        ),
        WORDS,
    ),
    "word": (*WORDS, *NUMBERS),
    "lesson": WORDS,
    "for_": WORDS,
    "to": (*WORDS, *TARGETS),
    "map": MAPS,
    "bench": BENCHES,
    "command": COMMANDS,
    "what": ("", "nothing", "friction,,power", "hysteresis", "heating-power", "friction friction", "1"),
    "vary": SWEPT,
    "only": (
        "",
        ",",
        "motor",
        "motor.nothing",
        "motor.resistance,motor.resistance",
        "drive.delay",
        "bench.mass",
    ),
    **dict.fromkeys(("duration", "start_temperature"), NUMBERS),
    **dict.fromkeys(("start_angle", "start_speed"), (*NUMBERS, "90deg", "1 parsec", "1kg")),
    "size": SIZES,
    "between": SPANS,
    **dict.fromkeys(CONVERTED, UNITS),
    **dict.fromkeys(("of", "side", "season"), WORDS),
    "draws": (*WORDS, "bands", "numbers"),
    **dict.fromkeys(("wheel_diameter", "drum_diameter"), (*NUMBERS, "4in", "1 parsec", "1kg")),
    "episodes": (*COUNTS, "3-1", "1-", "-", "0,0", "0,,1", ",", "0-" + "9" * 40, "0-5,8"),
    "coupling": (*PLACES, "{in}/actuator.json", "{in}/table.csv"),
    "duty_limit": NUMBERS,
    **dict.fromkeys(("rate", "noise", "seconds"), NUMBERS),
    **dict.fromkeys(("bus", "protocol", "interface", "channel", "zero"), WORDS),
    **dict.fromkeys(("port", "motions"), PLACES),
    "link": ("", ".", "old.json", "a folder/", "no/such/folder/x", LONG, "a folder/x", "\udcff"),
    "ids": (*COUNTS, "1,1", "1-", "-", "3-1", "a=1,a=2", "a=", "=1", "1-999", "a=1-3", ",", "1,,2"),
    "baud": (*COUNTS, "9600", "7"),
    "fault": (*WORDS, "lose", "lose=2parsec", "wrapped=1", "stuck=-1", "late=nan", "hot=", "lose=0.5"),
    "voltage": NUMBERS,
    "load": NUMBERS,
    "with_": (
        *WORDS,
        "mx-28",
        "knee=mx-106/m1",
        "=mx-28",
        "knee=",
        "(=mx-28",
        "elbow=mx-28",
        "mx-28=",
        "a=b=c",
    ),
    "free": (
        *WORDS,
        "motor",
        "motor.",
        "motor.nothing",
        "bench.mass",
        "drive.delay",
        "motor.resistance",
        "friction.coulomb.x",
    ),
    "set": (
        *WORDS,
        "motor.resistance=",
        "=3",
        "motor.resistance=nan",
        "motor.resistance=-1",
        "motor.resistance=3 parsec",
        "motor.nothing=1",
        "drive=1",
        "motor.resistance=1e308",
        "gearbox.ratio=0",
        "gearbox.backlash=0.01",
        "a=b=c",
    ),
    "hold_out": (*WORDS, "gain=", "=8", "gain=nan", "foo=1", "[", "gain=8", "name=", "*", "length=1e308"),
}
ESPECIALLY: dict[tuple[str, str], tuple[str, ...]] = {
    ("size", "task"): ("{in}/table.csv", "not there.csv", "{in}/sheet.toml", "a folder", "\x00"),
    ("size", "move"): (
        "",
        "spin",
        "spin speed=0",
        "hold at=nan",
        "trapezoid to=1 time=0",
        "sine amplitude=1 period=-1",
    ),
    ("size", "friction_of"): ("not there.json", "{in}/sheet.toml"),
    ("size", "export"): WORDS,
    ("size", "parts"): (
        "{in}/sheet.toml",
        "{in}/table.csv",
        "not there.csv",
        "a folder",
        "neo",
        "\x00",
        LONG,
    ),
    ("size", "gear"): WORDS,
    ("size", "any_ratio"): ("0", "2", "-1", "nan", "inf", "x"),
    ("size", "max_mass"): ("0", "-1", "nan", "inf", "1 V", "1e-300"),
    ("size", "confidence"): ("0", "2", "100%", "49 %", "nan", "x"),
    ("size", "neglect"): ("heat", "heat,nonsense", "", LONG),
    ("size", "by"): ("loss", "price", "nonsense", ""),
    ("size", "show"): ("0", "-1", "1.5", "x", "1000000"),
    ("size", "verify"): ("-1", "x", "1"),
    ("power", "battery"): ("", "voc", "voc=0", "voc=nan", "voc=24V r=-1", "voc=24V r1=1", "colour=3", LONG),
    ("simulate", "battery"): ("", "voc=0", "voc=24V r=-1", "colour=3", LONG),
    ("power", "repeat"): ("0", "-1", "x"),
    ("record", "limit"): (
        "",
        "current",
        "=1",
        "current=",
        "current=nan",
        "speed=1",
        "silence=0",
        "velocity=x",
    ),
    ("plan", "limit"): ("", "current", "current=nan", "speed=1", "position-low=2rad", "current=1e-9A"),
    ("plan", "target"): (*WORDS, "friction.nothing", ",", "motor,", "."),
    ("plan", "posture"): (*WORDS, "a=1", "=1", "a=x"),
    ("plan", "joint"): WORDS,
    # a whole plan takes a second: mostly what is refused
    **{("plan", name): ("old.json", "old.json/x", "/dev/null", LONG, "") for name in ("output", "plot")},
    ("plan", "seed"): ("-1", "1.5", "many", ""),
    ("plan", "seconds"): ("nan", "inf", "-1", "0", "1", "1e308", "one", ""),
    ("plan", "rate"): ("nan", "inf", "-1", "0", "1e308", "one", ""),
    ("plan", "robot"): (*PLACES, "{in}/actuator.json"),
    ("virtual", "seconds"): ("nan", "-1", "0", "", "one", "1e999"),
    ("virtual", "register"): ("", "mode", "mode=", "mode=x", "nothing=1", "mode=-3", "goal=99999999999"),
    **{
        (f"measure {command}", name): COLUMNS
        for command, name in (
            ("resistance", "voltage"),
            ("no-load", "voltage"),
            ("no-load", "speed"),
            ("no-load-current", "speed"),
            ("back-emf", "speed"),
            ("back-emf", "voltage"),
        )
    },
    **{("measure torque-constant", name): COLUMNS for name in ("load", "voltage")},
    ("demo", "output"): (
        "old.json",
        "old.json/x",
        "/dev/null",
        LONG,
    ),  # a whole demonstration takes a minute: only what is refused
    ("web", "port"): (*COUNTS, "65536"),  # only what is refused: a server would stay
    ("web", "folder"): ("old.json", "old.json/x", "/dev/null", LONG, "", "\udcff"),
    ("conform", "steps"): (*COUNTS, "20000"),
    ("fleet run", "starts"): (*COUNTS[:-1], "20"),
    ("fleet simulate", "units"): COUNTS[:-1],
    **{("fleet run", name): (*WORDS, "moon://x", "dask:", "ray://x", "gpu") for name in ("on", "by")},
    ("fleet retry", "on"): (*WORDS, "moon://x"),
    ("fleet population", "sheet"): OUTPUTS,
    ("fit", "starts"): (*COUNTS[:-1], "20"),
}
SWITCHES = (
    "only_parts",
    "no_open",
    "same_bench",
    "yes",
    "dry_run",
    "no_current",
    "json",
    "strict",
    "force",
    "full",
    "band",
    "bands",
    "curves",
    "replay",
    "backlash",
    "exports",
    "apply",
    "in_place",
    "allow_outside",
)
NAMEPLATE = ("--voltage", "12 V", "--stall-current", "2.7 A", "--no-load-speed", "45 rpm")
RIG = ("--bench", "pendulum,mass=0.5,length=0.1")
WHOLE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "catalog": ((), ()),
    "datasheet": (("{in}/sheet.toml",), ()),
    "plan": (("{in}/actuator.json",), (*RIG, "--seconds", "2", "--rate", "50")),
    "record": ((), ("--bus", "feetech", "--port", "/dev/ttyNothing", "--motions", "usual", "-o", "logs")),
    "virtual": (("{in}/actuator.json",), (*RIG, "--seconds", "0.05")),
    "log": (("{in}/table.csv",), ()),
    "simulate": (
        ("{in}/actuator.json",),
        (*RIG, "--command", "step size=0.1", "--duration", "0.1", "--timestep", "0.01"),
    ),
    "size": (
        (),
        (
            "--bench",
            "pendulum mass=1kg length=0.2m",
            "--move",
            "hold at=90deg",
            "--bus",
            "24V",
            "--verify",
            "0",
        ),
    ),
    "power": (("{in}/model.xml", "{in}/table.csv"), ("--part", "mini-cheetah", "--battery", "voc=24V")),
    "plot": (("{in}/actuator.json",), ("--what", "friction", "-o", "curve.png")),
    "check": (("{in}/pendulum.json",), ("--start", "{in}/actuator.json")),
    "fit": (("{in}/pendulum.json",), ("--start", "{in}/actuator.json", "--starts", "1")),
    "characterize": (("{in}/sysid.json",), ()),
    "export": (("{in}/actuator.json",), ("--to", "mujoco", "--method", "formula")),
    "replay": (("{in}/actuator.json", "{in}/pendulum.json"), ("--method", "formula")),
    "explain": (("{in}/model.xml",), ()),
    "report": (("{in}/fit.json", "{in}/pendulum.json"), ("--no-exports",)),
    "playground": ((), ("--lesson", "sg90")),
    "render": (
        ("{in}/actuator.json",),
        ("--log", "{in}/pendulum.json", "-o", "film.gif", "--size", "160x160", "--fps", "5"),
    ),
    "conform": (("{in}/export.xml",), ("--steps", "5")),
    "web": ((), ("--no-open", "--port", "99999", "--folder", "old.json")),
    "demo": ((), ("-o", "old.json")),
    "fleet run": (
        ("{in}/pendulum.json",),
        ("--start", "{in}/actuator.json", "--by", "file", "--starts", "1", "--on", "here", "-o", "units/"),
    ),
    "fleet status": (("{in}/fleet",), ()),
    "fleet retry": (("old.json",), ("--on", "here")),
    "fleet population": (("{in}/fleet",), ()),
    "fleet report": (("{in}/fleet",), ("-o", "units.html")),
    "fleet simulate": ((), ("--units", "1", "-o", "line/")),
    "convert gain": (("{in}/actuator.json",), ("--torque", "2 N m/rad")),
    "convert servo": ((), ("--volts", "12 V/deg", "--stall-torque", "30 kg cm", *NAMEPLATE)),
    "convert gains": (("{in}/actuator.json",), ("--ratio", "3", "--inertia", "0.1 kg m^2")),
    "convert isaac": ((), ("--saturation-effort", "3 N m", "--velocity-limit", "6 rad/s")),
    "convert constants": ((), NAMEPLATE),
    "measure fall": ((), ("--mass", "0.33", "--length", "0.15", "--angle", "64deg")),
    "measure slip": ((), ("--mass", "0.33", "--length", "0.15", "--angle", "60deg")),
    "measure resistance": ((), ("--current", "0.6,1.2", "--voltage", "1.25,2.46")),
    "measure no-load": ((), ("--voltage", "3,6,9", "--speed", "1.7,3.47,5.2", "--resistance", "2.1")),
    "measure torque-constant": (
        (),
        ("--load", "1.94,2.35", "--voltage", "3,3.5", "--resistance", "2.1", "--static", "0.212"),
    ),
    "measure stall-torque": ((), ("--scale", "6.1,6.3", "--arm", "0.025", "--current", "0.61,0.63")),
    "convert units": (("15", "kg.cm", "to", "N.m"), ()),
    "measure firmware-gain": ((), ("--error", "0.14,0.28", "--register", "5,5", "--duty", "0.106,0.214")),
    "measure current-step": (("{in}/rise.csv",), ("--voltage", "2")),
    "measure impedance": ((), ("--frequency", "50,100,400", "--impedance", "2.02,2.1,3.2")),
    "measure back-emf": ((), ("--speed", "50,100,150", "--voltage", "2.5,5.1,7.4")),
    "measure no-load-current": (
        (),
        ("--speed", "50,100,150", "--current", "0.1,0.12,0.14", "--torque-constant", "0.05+-0.001"),
    ),
    "measure inertia": (("{in}/coast_disc.csv", "{in}/coast.csv"), ("--added", "1e-4")),
    "measure run-up": (("{in}/rise.csv",), ("--resistance", "2", "--torque-constant", "0.05")),
    "measure acceleration": ((), ("--acceleration", "1,2,3", "--torque", "0.1,0.2,0.31")),
    "measure inverse-dynamics": (("{in}/axis.csv",), ("--cutoff", "20", "--decimation", "2")),
    "measure constants": ((), ("--reading", "resistance current=0.6,1.2 voltage=1.25,2.46")),
    "measure coast-down": (("{in}/coast.csv",), ("--inertia", "2e-4")),
    "measure thermal": (("{in}/heating.csv",), ("--power", "4.5")),
    "measure backlash": (("{in}/reversal.csv",), ()),
}
"""Command -> (its arguments, its options): what works, and what every line below is made from."""
MEASURED_LOGS = ("coast-down", "run-up", "current-step", "inverse-dynamics", "thermal", "backlash")
KINDS: dict[tuple[str, str], tuple[str, ...]] = {
    **{
        key: ("pendulum", "table", "yaml", "arrays", "mat", "npz", "parquet", "mcap", "wpilog", "sysid")
        for key in (("log", "files"), ("check", "logs"))
    },
    **{(command, "start"): ("actuator", "sheet") for command in ("check", "fit")},
    **{
        (command, "source"): ("actuator", "fit", "bam", "isaac", "mjcf source")
        for command in ("export", "replay", "render", "convert gain", "convert isaac")
    },
    ("plot", "sources"): ("actuator", "fit", "mjcf source"),
    **{("measure " + name, "log"): ("table", "pendulum") for name in MEASURED_LOGS},
    **{(command, "map"): ("mapping",) for command in ("log", "fit", "characterize")},
    **{
        key: ("pendulum", "table")
        for key in (("fit", "logs"), ("export", "log"), ("replay", "logs"), ("render", "recording"))
    },
    ("characterize", "logs"): ("sysid", "wpilog", "table"),
    ("datasheet", "part"): ("sheet",),
    ("report", "fit"): ("fit",),
    ("record", "motions"): ("motions",),
    ("virtual", "source"): ("actuator", "fit"),
    ("plan", "source"): ("actuator", "fit"),
    ("plan", "after"): ("fit",),
    ("report", "logs"): ("pendulum",),
    ("report", "sheet"): ("sheet",),
    ("explain", "model"): ("mjcf explained",),
    ("conform", "model"): ("mjcf read",),
    ("export", "into"): ("mjcf edited", "urdf edited"),
}
"""Which broken files an argument is given."""


CONFLICTS: dict[str, tuple[str, ...]] = {
    "export": (
        "{in}/actuator.json --to mujoco --to urdf -o both.xml",
        "{in}/actuator.json --to fmu",
        "{in}/actuator.json --to fmu@1.0 -o new.fmu",
        "{in}/actuator.json --to fmu --into {in}/model.xml -o new.xml",
        "{in}/actuator.json --to c --joint knee --into {in}/model.xml -o new.xml",
        "{in}/actuator.json --to mujoco --to urdf --into old.json",
        "{in}/actuator.json --to mujoco --to mujoco -o .",
        "{in}/actuator.json --to urdf --joint knee --into {in}/model.xml -o new.xml",
        "{in}/actuator.json --to mujoco --joint knee --into {in}/model.xml",
        "{in}/actuator.json --to mujoco --joint elbow --into {in}/model.xml -o new.xml",
        "{in}/actuator.json --to bam --into {in}/model.xml --force",
        "{in}/actuator.json --to mujoco --into old.json --force",
        "{in}/actuator.json --to urdf --replay",
        "{in}/actuator.json --to mujoco --joint ../out -o .",
        "{in}/actuator.json -o x.xml",
    ),
    "replay": (
        "{in}/actuator.json --to urdf",
        "{in}/actuator.json {in}/table.csv",
        "{in}/actuator.json {in}/actuator.json",
    ),
    "characterize": (
        "{in}/sysid.json --settle 1",
        "{in}/sysid.json --step 1",
        "{in}/sysid.json --motor mx-106",
        "{in}/sysid.json --motor not-there --ratio 3",
        "{in}/sysid.json --mechanism drivetrain --method sysid --control current",
        "{in}/sysid.json --settle 0 --step 0",
        "{in}/sysid.json --settle 0.5 --step 1 --loop velocity --limit 0",
        "{in}/sysid.json {in}/sysid.json {in}/table.csv",
        "{in}/sysid.json --units feet --mechanism arm",
    ),
    "fit": (
        "{in}/pendulum.json --start {in}/actuator.json --hold-out *",
        "{in}/pendulum.json",
        "--start mx-106",
        "{in}/table.csv --start mx-106",
    ),
    "render": (
        "{in}/actuator.json --log {in}/pendulum.json -o film.avi",
        "{in}/actuator.json --log {in}/pendulum.json --log {in}/table.csv -o a.gif",
        "{in}/actuator.json --log {in} -o a.gif",
        "{in}/actuator.json {in}/pendulum.json --log {in}/pendulum.json -o a.gif",
        "{in}/fit.json {in}/pendulum.json --robot {in}/model.xml -o a.gif",
        "{in}/actuator.json --log {in}/pendulum.json --between 5 6 -o a.gif",
        "{in}/fit.json --log {in}/coast.csv --bench locked -o a.gif --engine mujoco",
    ),
    "report": (
        "{in}/actuator.json",
        "{in}/fit.json {in}/coast.csv --no-exports",
        "{in}/fit.json --no-exports --sheet {in}/fit.json",
        "{in}/fit.json --no-exports --robot {in}/model.xml",
        "{in}/pendulum.json",
    ),
    "playground": ("sg90 --lesson sg90", "sg90 not-a-part", "--lesson calculus", "sg90/m6"),
    "log": (
        "{in} --save-map old.json",
        "{in}/*.csv --map position=position --map position=time",
        "--map position=x",
        "{in}/fit.json --save-map map.json",
    ),
    "datasheet": (
        "mx-106 --plot sheet.bmp",
        "mx-106 mx-106 --plot two.png",
        "mx-106 --control speed",
        "mx-106 --nonsense",
        "--voltage",
    ),
    "catalog": ("--help", "a b", "--version"),
    "convert gain": (
        "neo --register 3",
        "{in}/actuator.json --volts 1V/rad --duty 1/rad",
        "--torque-constant 1e-308N*m/A --resistance 1e308ohm --torque 1N*m/rad",
        "--torque-constant 1N*m/A --resistance 1ohm --register 1e308 --firmware-gain 1e308/rad --voltage 9",
    ),
    "convert servo": ("mx-106 --stall-torque 3N*m", "", "--register 3 --voltage 1e308"),
    "convert gains": ("neo --kV 1V*s/rad", "neo --mechanism arm --inertia 1kg*m^2", "neo --ratio nan"),
    "convert isaac": ("", "{in}/actuator.json --damping 1N*m*s/rad", "--velocity-limit 1rpm"),
    "convert constants": ("", "neo --friction 1N*m", "--stall-torque 1e-308N*m --stall-current 1e308A"),
}
"""Options that do not go together, and words too many or too few."""


def with_word(command: str, parameter: Any, value: str) -> tuple[str, ...]:
    """The whole line of a command with one word changed or added."""
    arguments, options = (list(part) for part in WHOLE[command])
    flag = parameter.opts[0] if parameter.param_type_name == "option" else None
    values = value.split(" ", 1) if parameter.nargs == 2 else [value]
    if parameter.name == "recording":  # in place of --log
        arguments, options = [*arguments, *values], options[2:]
    elif flag is None:
        place = len(arguments) - 1 if parameter.name == "logs" and command in ("replay", "report") else 0
        arguments[place : place + 1] = values
    else:
        spelled = [o for o in parameter.opts if o in options]
        if spelled:
            at = options.index(spelled[0])
            options[at : at + 2] = [flag, *values]
        else:
            options += [flag, *values]
    return (*command.split(), *arguments, *options)


def hostile(command: str, parameter: Any, n_broken: int) -> Iterator[Line]:
    """Every line of a command in which this one word is wrong."""
    name = parameter.name
    if name in SWITCHES:
        yield Line((*command.split(), *WHOLE[command][0], *WHOLE[command][1], parameter.opts[0]))
        return
    for value in ESPECIALLY.get((command, name), VALUES.get(name, ())):
        yield Line(with_word(command, parameter, value))
    for kind in KINDS.get((command, name), ()):
        for k in range(n_broken):
            yield Line(with_word(command, parameter, "{broken}"), (kind, k))


def mixed(line: Line, rng: np.random.Generator, switches: list[str]) -> Line:
    """The same line with some of the command's switches."""
    chosen = [s for s in switches if rng.random() < 0.3]
    return line._replace(words=(*line.words, *chosen))
