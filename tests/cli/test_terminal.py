"""Every command alike: help with an example, JSON, exit codes, plain text where it is piped,
and any console's encoding."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest
import typer

from backemf import Actuator
from backemf.apps.cli.main import FAULT, app
from backemf.apps.cli.terminal import HELP, Working, failure, for_people, print_json

from .typed import typed

CODE = "from backemf.apps.cli.main import main; main()"


def commands() -> dict[str, object]:
    """Every command by its words, such as "measure slip"."""
    by_words = {}

    def walk(group, words):
        for name, one in group.commands.items():
            if hasattr(one, "commands"):
                walk(one, [*words, name])
            else:
                by_words[" ".join([*words, name])] = one

    walk(typer.main.get_command(app), [])
    return by_words


COMMANDS = commands()


def test_without_a_command_it_shows_the_flow_and_three_commands_that_exist():
    text = typed().stdout
    assert "datasheet -> actuator -> logs -> check -> fit -> export -> replay -> report" in text
    shown = re.findall(r"^  backemf (\w+)", text, re.MULTILINE)
    assert len(shown) == 3
    assert set(shown) <= set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_an_example_that_it_understands(name):
    command = COMMANDS[name]
    # the checker knows its base class only
    (example,) = re.findall(r"Example: backemf (.*)", command.help)  # type: ignore[attr-defined]
    words = shlex.split(example)
    assert words[: len(name.split())] == name.split()
    # the checker knows its base class only
    options = {o for p in command.params for o in getattr(p, "opts", [])}  # type: ignore[attr-defined]
    given = [w for w in words if w.startswith("-") and not re.match(r"-\d", w)]
    assert set(given) <= options
    for word in words:  # a name that looks like a part's must be one
        if re.fullmatch(r"(mx|xl|st|maxon)-[\w-]+(/\w+)?", word):
            assert Actuator.read(word)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_speaks_json_and_says_what_its_options_do(name):
    # the checker knows its base class only
    by_name = {o: p for p in COMMANDS[name].params for o in getattr(p, "opts", [])}  # type: ignore
    assert "--json" in by_name
    assert all(p.help for p in by_name.values() if p.name != "help")


@pytest.mark.parametrize(
    ("word", "nearest"), [("fti", "fit"), ("exprot", "export"), ("charcterize", "characterize")]
)
def test_an_unknown_command_suggests_the_nearest(word, nearest):
    done = typed(word)
    assert done.returncode == 2
    assert f"did you mean '{nearest}'?" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("datasheet", "mx-160"),  # a name that is none
        ("log", "not there.csv"),  # a file that is not there
        ("fit", "--nonsense"),  # an option that is none
        ("export", "mx-106/m1"),  # an option that is missing
        ("measure", "slip", "--mass", "much"),  # a number that is none
        ("nonsense",),
    ],
)
def test_a_failed_command_says_why_in_json_too(words):
    plain, told = typed(*words), typed(*words, "--json")
    assert (plain.returncode, told.returncode) == (2, 2)
    assert plain.stdout == ""
    content = json.loads(told.stdout)
    assert list(content) == ["error", "remedy"]
    assert all(content.values())
    assert content["error"] in told.stderr
    assert told.stderr


def test_what_cannot_be_read_is_listed_and_is_an_error(tmp_path):
    (tmp_path / "a.csv").write_text("t [s],v\n0,1\n1,2\n")
    done = typed("log", str(tmp_path / "a.csv"), "--json")
    assert done.returncode == 2
    content = json.loads(done.stdout)
    assert content["error"].startswith("nothing can be read of")
    assert "'v' may be velocity or voltage" in content["recordings"][0]["problem"]


def test_an_unknown_part_suggests_the_nearest():
    done = typed("datasheet", "mx-160")
    assert done.returncode == 2
    assert "did you mean 'mx-106'?" in done.stderr


def test_strict_ends_with_one_where_there_are_findings():
    assert typed("datasheet", "st-3215-c047").returncode == 0
    assert typed("datasheet", "st-3215-c047", "--strict").returncode == 1
    assert (
        typed(
            "measure", "slip", "--mass", "0.33", "--length", "0.15", "--angle", "60deg", "--strict"
        ).returncode
        == 0
    )


@pytest.mark.parametrize("encoding", ["cp437", "ascii"])
def test_every_console_encoding_is_served(encoding):
    lines = (
        ["datasheet", "maxon-re-25-118743"],
        ["datasheet", "maxon-re-25-118743", "--json"],
        ["catalog"],
        [],
    )
    code = f"""
import sys
from backemf.apps.cli.main import main
for words in {lines!r}:
    sys.argv = ["backemf", *words]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, words
    print("#" * 9)
"""
    env = {**os.environ, "COLUMNS": "120", "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    *shown, rest = re.split(r"#{9}\s*", done.stdout.decode(encoding))
    assert rest == ""
    assert len(shown) == len(lines)
    assert all(text.strip() for text in shown)
    json.loads(shown[1])


def test_nothing_is_coloured_where_it_is_piped():
    for arguments in (["datasheet", "mx-106"], ["--help"], ["fit", "--help"], ["nonsense"]):
        done = typed(*arguments, FORCE_COLOR="")
        assert "\x1b" not in done.stdout + done.stderr


def test_a_reader_that_has_seen_enough_is_not_an_error():
    with subprocess.Popen(
        [sys.executable, "-c", CODE, "catalog", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_place_that_cannot_be_written_is_said():
    done = typed("export", "mx-106/m1", "--to", "urdf", "-o", "no such folder/servo.urdf")
    assert done.returncode == 2
    assert "there is no folder 'no such folder'; make it first" in done.stderr


def test_a_fault_of_our_own_is_named_as_one(monkeypatch, capsys):
    from backemf.apps.cli import main as module

    def broken(**how: bool) -> None:
        raise KeyError("x")

    monkeypatch.setattr(module, "app", broken)
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 2
    assert FAULT in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interruption_ends_cleanly():
    code = (
        "import signal, time\nfrom backemf.apps.cli import main as m\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background ignores it
        "def slow(**how):\n    print('ready', flush=True)\n"
        "    time.sleep(60)\nm.app = slow\nm.main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr.read() == b"backemf: interrupted\n"


def test_json_has_no_words_for_numbers_that_are_none(capsys):
    print_json({"a": float("nan"), "b": [float("inf"), 1.5], "c": {"d": None, "e": True}})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 1.5], "c": {"d": None, "e": True}}


def test_a_file_that_cannot_be_read_is_a_note_without_a_line_of_code(tmp_path):
    (tmp_path / "a.csv").write_text("time [s],position [rad]\n" + "".join(f"{k},{k}\n" for k in range(9)))
    (tmp_path / "b.csv").write_text("nothing")
    code = "import backemf as be, sys\nfrom backemf.apps.cli import main as m\n"
    code += "m.app = lambda **how: be.read(sys.argv[1])\nm.main()"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, check=False)
    said = done.stderr.decode()
    assert said.startswith("backemf: note: 1 of 2 files cannot be read and are left out:\n")
    assert "Warning" not in said
    assert ".py:" not in said


class Terminal:
    """A stream that says it is one."""

    def isatty(self) -> bool:
        return True


def test_what_begins_after_something_else_has_a_bar_of_its_own_and_makes_way_for_a_question():
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=io.StringIO(), force_terminal=True)) as bar:
        say = Working(bar, bar.add_task("reading", total=None))
        (task,) = bar.tasks
        say("reading", 1.0)
        assert task.finished
        say("start 1 of 6", 0.05)
        assert (task.finished, task.percentage, task.description) == (False, 5.0, "start 1 of 6")
        with say.away():
            assert not bar.live.is_started
        assert bar.live.is_started


def test_a_terminal_gets_folded_sentences_and_colours_and_a_pipe_neither(monkeypatch):
    text = "  - delay: " + 12 * "late " + "it is.\nwrote fit.json\na" + 90 * " " + "b"
    assert for_people(text) == text
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = for_people(text)
    assert "\x1b[33m\x1b[1mdelay\x1b[0m" in shown
    assert "\x1b[32mwrote fit.json\x1b[0m" in shown
    assert "\n    late" in shown
    assert shown.endswith("a" + 90 * " " + "b")  # a row of a table
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in for_people(text)


@pytest.mark.parametrize(
    ("text", "error", "remedy"),
    [
        ("unknown part 'a'; did you mean 'b'? Valid: b", "unknown part 'a'", "did you mean 'b'? Valid: b"),
        ("Missing argument 'logs'.", "Missing argument 'logs'.", HELP),
        ("none can be read:\n  a: b; c", "none can be read:\n  a: b; c", HELP),
    ],
)
def test_a_failure_says_what_is_wrong_and_what_to_do(text, error, remedy):
    assert failure(text) == {"error": error, "remedy": remedy}


STEP = (
    "--bench",
    "flywheel inertia=1e-4",
    "--command",
    "step size=1rad",
    "--vary",
    "drive.volts_per_radian=2,4",
)


@pytest.mark.parametrize(
    "words", [("catalog",), ("datasheet", "mx-106"), ("simulate", "sg90", *STEP)], ids=lambda words: words[0]
)
def test_a_table_fits_a_terminal_of_eighty_columns(words):
    """A rule of dashes tells how wide a table is: there is one, and none is wider."""
    lines = typed(*words, COLUMNS="80").stdout.splitlines()
    rules = [line for line in lines if re.fullmatch(r"-+(  -+)+", line)]
    assert rules
    assert max(map(len, rules)) <= 80
