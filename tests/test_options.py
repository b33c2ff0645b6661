"""One description per verb: its keywords, its words on the command line, and what does not apply."""

from __future__ import annotations

import inspect
import json
from typing import Any

import numpy as np
import pytest
import typer

import backemf as be
from backemf.apps.cli import exports, identify, sheets, simulate_command
from backemf.apps.cli.command_builder import Verb, number_of
from backemf.apps.cli.main import app
from backemf.errors import BackemfError, InvalidValue
from backemf.identify.fit_options import FitOptions
from backemf.kits.recorder import recorder
from backemf.kits.recorder.record_options import RecordOptions
from backemf.options import HIDDEN, OWN_UNIT, Options, Scope, option, options, options_of, takes
from backemf.planning.motions import usual
from backemf.planning.plan_options import PlanOptions
from backemf.targets.export_options import ExportOptions

from .cli.runner import invoked, runner
from .fuzz.lines import WHOLE

OTHER: dict[str, Any] = {
    "bool": lambda one: not one.default,
    "int": lambda one: one.default + 1,
    "float": lambda one: one.default + 0.125,
}
"""A value that is not the default, by annotation."""
VALUES: dict[str, Any] = {
    **{"free_paths": ["motor.resistance"], "bounds": {"motor.resistance": (1.0, 2.0)}, "substeps": 3},
    **{"on": "gpu", "share": ["nonsense"], "firmware": "no-such", "gains": (1.0, 2.0), "joints": ["elbow"]},
    **{"integrator": "Euler", "spread": object(), "unknown": {"knee": ["motor.inductance"]}},
    **{"joint": "elbow", "posture": {"elbow": 1.0}, "baud": 9600, "interface": "slcan"},
    **{
        "bam_name": "mx106",
        "q_offset": 0.1,
        "table": 0.0,
        "draws": "bands",
        "at_rest": "lugre",
        "coupling": {"a": {"b": 1.0}},
        "values": {"drive.supply": 7.0},
    },
}


def scoped(kind: type[Options]) -> list[str]:
    """Options that apply to some kinds alone."""
    return [one.name for one in options_of(kind) if one.applies_to is not None]


def other(kind: type[Options], name: str) -> Any:
    one = next(one for one in options_of(kind) if one.name == name)
    return VALUES[name] if name in VALUES else OTHER[one.annotation](one)


@options
class SomeOptions(Options):
    """What the tests below take."""

    size: int = option(default=1, help="How large.", least=0)
    names: tuple[str, ...] = option(default=("a",), help="Which: {choices}.", choices=("a", "b"))
    turn: float = option(
        default=0.0, help="How far.", applies_to=Scope("wheel", "wheels: take one", "wheels: --wheel")
    )


def run_some(what: str, options: SomeOptions) -> tuple[str, SomeOptions]:
    """Do something."""
    return what, options


some = takes(SomeOptions)(run_some)


@options
class PlacedOptions(Options):
    """One of these may be given by its place."""

    seed: int = option(default=0, help="Of chance.")
    kind: str = option(default="simple", help="Which.", kw_only=False)


def run_placed(what: str, options: PlacedOptions) -> tuple[str, str, int]:
    """Do something else."""
    return what, options.kind, options.seed


placed = takes(PlacedOptions)(run_placed)


def test_an_option_may_have_a_place_behind_what_a_verb_works_on():
    assert placed("x", "arm", seed=1) == ("x", "arm", 1) == placed("x", kind="arm", seed=1)
    assert str(inspect.signature(placed)).startswith("(what: 'str', kind: 'str' = 'simple', *, seed: 'int'")
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        placed("x", "arm", 1)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="multiple values for argument 'kind'"):
        placed("x", "arm", kind="arm")  # pyright: ignore[reportCallIssue]


def test_a_verb_has_the_keywords_of_its_options():
    assert str(inspect.signature(some)).startswith("(what: 'str', *, size: 'int' = 1, names:")
    assert some.__name__ == "some"
    assert "    size: How large.\n" in (some.__doc__ or "")
    what, given = some("x", size=2, names=["a"])
    assert (what, given.given_options()) == ("x", {"size": 2}), "a list of the same names is the default"
    assert some(what="x")[0] == "x"
    with pytest.raises(
        TypeError, match=r"some\(\) got an unexpected keyword argument 'sise'; did you mean siz"
    ):
        some("x", sise=2)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="its options are keywords"):
        some("x", 2)  # pyright: ignore[reportCallIssue]
    with pytest.raises(InvalidValue, match="size is -1; expected 0 or more"):
        some("x", size=-1)


def test_what_does_not_apply_is_refused_in_python_and_in_the_shell():
    given = SomeOptions(turn=0.5)
    given.check("wheel")
    with pytest.raises(
        InvalidValue, match=r"turn is 0\.5, and this is of a track; it applies to wheels: take one"
    ):
        given.check("track")
    with pytest.raises(InvalidValue, match=r"--turn is 0\.5, .* it applies to wheels: --wheel"):
        given.check(("track", "belt"), "track", in_shell=True)
    assert given.only("track") == SomeOptions()
    assert given.only("wheel") == given
    assert given.to_dict() == {"size": 1, "names": ["a"], "turn": 0.5}


@pytest.fixture(scope="module")
def log() -> be.Log:
    t = np.linspace(0.0, 1.0, 101)
    bench = be.bench.Pendulum(mass=0.5, length=0.1)
    return be.log("swing", t, position=0.1 * np.sin(t), position_target=0.1 * np.sin(t), bench=bench)


@pytest.mark.parametrize("name", scoped(FitOptions))
def test_an_option_of_fit_is_refused_where_it_does_not_apply(name, log):
    one = next(one for one in options_of(FitOptions) if one.name == name)
    of_robots = one.applies_to.kind == "robot"
    given = {name: other(FitOptions, name)}
    if of_robots:
        with pytest.raises(
            InvalidValue, match=f"{name} is .*, and these logs are of a pendulum; it applies to"
        ):
            be.fit(be.Actuator.read("mx-106/m4"), [log], **given)
    else:
        whole = be.Log(name="run", signals={}, joints={"elbow": log})
        with pytest.raises(InvalidValue, match=f"{name} is .*, and these logs are of a robot; it applies to"):
            be.fit("sts3215-12v", [whole], **given)


def test_the_sentence_names_the_way_out(log):
    with pytest.raises(InvalidValue) as refused:
        be.fit(be.Actuator.read("mx-106/m4"), [log], free_inertia=0.1)
    assert str(refused.value) == (
        "free_inertia is 0.1, and these logs are of a pendulum; it applies to robots: read them with"
        " bench=be.Robot.read(...)"
    )
    with pytest.raises(InvalidValue, match=r"free_inertia is 9\.9; expected a share"):
        be.fit("sts3215-12v", [log], free_inertia=9.9)


@pytest.mark.parametrize("name", scoped(ExportOptions))
def test_an_option_of_export_is_refused_where_it_does_not_apply(name, tmp_path):
    model = tmp_path / "arm.xml"
    model.write_text("<mujoco/>")
    into = {} if name == "unknown" else {"into": model}
    target = "urdf" if name in ("unknown", "spread", "backlash", "at_rest") else "mujoco"
    given = {name: other(ExportOptions, name)}
    with pytest.raises(
        InvalidValue, match=f"{name} is .*, and this is an export to {target}.*; it applies to"
    ):
        be.export(be.Actuator.read("mx-106/m4"), target, **into, **given)


@pytest.mark.parametrize("name", scoped(RecordOptions))
def test_an_option_of_record_is_refused_before_anything_moves(name, tmp_path):
    one = next(one for one in options_of(RecordOptions) if one.name == name)
    bus = "damiao" if one.applies_to.kind == "serial" else "feetech"
    given = {name: other(RecordOptions, name), "motions": usual(0.3, seconds=4.0)}
    with pytest.raises(InvalidValue, match=f"{name} is .*, and this records {bus}; it applies to"):
        be.record(bus=bus, port="/dev/none", to=tmp_path, yes=True, **given)


@pytest.mark.parametrize("name", scoped(PlanOptions))
def test_an_option_of_plan_is_refused_where_it_does_not_apply(name):
    given = {name: other(PlanOptions, name)}
    with pytest.raises(
        InvalidValue, match=f"{name} is .*, and the servo carries a pendulum; it applies to rob"
    ):
        be.plan(be.Actuator.read("mx-106/m4"), be.bench.Pendulum(mass=0.3, length=0.1), **given)


def test_a_recording_s_bench_in_words_is_read_before_anything_moves(tmp_path, monkeypatch):
    def started(job: Any) -> Any:
        raise AssertionError("a process that moves servos was started")

    monkeypatch.setattr(recorder, "Guardian", started)
    with pytest.raises(be.BackemfError, match="mass is 'heavy'"):
        be.record(
            bus="feetech", port="/dev/none", to=tmp_path, bench="pendulum mass=heavy length=0.1", yes=True
        )


@pytest.mark.parametrize("kind", [FitOptions, ExportOptions, RecordOptions, PlanOptions])
def test_every_option_is_a_sentence_and_known_to_json(kind):
    for one in options_of(kind):
        assert one.help.endswith("."), one.name
    required = {one.name: "x" for one in options_of(kind) if one.required}
    told = kind(**required).to_dict()
    assert {one.name for one in options_of(kind) if one.cli != ""} <= set(told)


@pytest.mark.parametrize(
    "words",
    [
        *("--plot fit.png", "--only motor.resistance", "--starts 3", "--on gpu", "--apply"),
        *("--bench pendulum", "--command step"),
    ],
)
def test_the_command_line_refuses_what_a_robot_has_no_use_for(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = words.partition(" ")[0]
    given = ("run.csv", "--start", "mx-106", "--robot", "arm.xml", *words.split())
    with pytest.raises(
        InvalidValue, match=f"{name} is .*, and these logs are of a robot; it applies to an act"
    ):
        runner(identify.fit)(*given)


@pytest.mark.parametrize("words", ["--share load", "--firmware lerobot", "--joints a", "--free-inertia 10%"])
def test_the_command_line_refuses_what_only_robots_have(words):
    name = words.partition(" ")[0]
    with pytest.raises(
        InvalidValue, match=f"{name} is .*, and these logs are of a bench; .* give --robot FILE"
    ):
        runner(identify.fit)("run.csv", "--start", "mx-106", *words.split())


def described(group: Any, words: tuple[str, ...] = ()) -> dict[str, Any]:
    """Every command of ours by its words, with the class of its options."""
    by_words: dict[str, Any] = {}
    for name, one in group.commands.items():
        if hasattr(one, "commands"):
            by_words |= described(one, (*words, name))
        else:
            by_words[" ".join((*words, name))] = getattr(one.callback, "options", None)
    return by_words


def test_every_command_is_described_by_a_class_of_options():
    kinds = described(typer.main.get_command(app))
    assert len(kinds) > 45
    assert [words for words, kind in kinds.items() if kind is None] == []
    for words, kind in kinds.items():
        for one in options_of(kind):
            assert one.help.endswith("."), (words, one.name)


def test_json_says_with_which_options(tmp_path):
    alone = typer.Typer(add_completion=False)
    alone.command(cls=Verb)(sheets.datasheet)
    out = json.loads(invoked(alone, "mx-106", "--voltage", "11", "--json"))
    assert out["options"]["voltage"] == 11.0
    assert set(out["options"]) == {"voltage", "plot", "control", "output", "firmware", "set"}
    alone = typer.Typer(add_completion=False)
    alone.command(cls=Verb)(exports.export)
    words = ("mx-106/m4", "--to", "mujoco", "--method", "formula", "--no-replay", "--json")
    out = json.loads(invoked(alone, *words))
    assert (out["options"]["method"], out["options"]["replay"]) == ("formula", False)


NUMBERS = [
    (words, one)
    for words, kind in described(typer.main.get_command(app)).items()
    for one in options_of(kind)
    if one.is_number and one.cli != HIDDEN
]
"""Every number of every command."""


def test_every_number_of_every_command_says_its_unit():
    assert len(NUMBERS) > 80
    for words, one in NUMBERS:
        if one.is_count:
            continue
        assert one.unit, f"{words} {one.spelled}: say its unit in option(unit=...), '1' if it has none"
        if one.unit not in ("1", OWN_UNIT):
            stated = ", or ".join(one.unit.split(" | "))
            assert f"[{stated}]" in one.help, f"{words} {one.spelled}: its help does not say [{stated}]"


def test_a_number_alone_is_si_a_unit_is_welcome_and_a_wrong_one_gets_our_words():
    for words, one in NUMBERS:
        assert number_of(one, "2") == 2
        wrong = ["two", "2 parsnips", "", "1.5.2", "nan"]
        if one.is_count:
            wrong += ["2 V", "3deg"]
        else:
            for kind in str(one.unit).split(" | "):
                assert number_of(one, f"2 {kind}".removesuffix(" 1")) == 2, (words, one.spelled)
            wrong += ["2A"] if one.unit == "V" else ["2V"] if "V" not in str(one.unit) else ["2kg"]
        for text in wrong:
            with pytest.raises(BackemfError) as refused:
                number_of(one, text)
            said = str(refused.value)
            assert one.spelled in said, said
            assert repr(text) in said, said
            assert "expected" in said, said


@pytest.mark.parametrize("words", sorted({words for words, _ in NUMBERS}))
def test_a_wrong_number_is_refused_in_our_words_whatever_the_command(words):
    command: Any = typer.main.get_command(app)
    for word in words.split():
        command = command.commands[word]
    arguments, whole = WHOLE[words]
    for one in (one for name, one in NUMBERS if name == words):
        value = ["two"] * (2 if one.annotation.startswith("tuple") else 1)
        with pytest.raises(BackemfError, match=f"{one.spelled} is 'two'; expected a"):
            command.main([*arguments, *whole, one.spelled, *value], standalone_mode=False)


def test_units_are_read_on_the_command_line():
    alone = typer.Typer(add_completion=False)
    alone.command(cls=Verb)(simulate_command.simulate)
    words = ("mx-106/m6", "--command", "step size=10deg", "--json")
    plain = json.loads(invoked(alone, *words, "--voltage", "4.8", "--duration", "0.2", "--timestep", "0.01"))
    units = json.loads(
        invoked(alone, *words, "--voltage", "4800mV", "--duration", "200 ms", "--timestep", "10ms")
    )
    assert plain["options"] == units["options"]
    assert plain == units
