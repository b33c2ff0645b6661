"""The FMUs of both versions: valid, reproducible, moved by FMPy as the engine moves, with states that are
restored to the bit and sentences for what is wrong."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError, InvalidValue, NotAvailable
from backemf.physics import steady
from backemf.targets.code import c_language as cc
from backemf.targets.code.fmi import exponents
from backemf.targets.code.fmu import Running, open_fmu
from backemf.targets.export import export
from backemf.targets.replay import read_export, replay
from backemf.targets.result import pack_files, unpack_files

from ...conftest import unavailable
from .variants import INERTIA, LATE, LOAD, SERVO, VARIANTS, H, N, asked, engine

VERSIONS = ("2.0", "3.0")
START = {"step": H, "inertia": INERTIA, "start.position": 0.1, "start.velocity": 0.5}


@pytest.fixture(autouse=True)
def _tools():
    if shutil.which("gcc") is None:
        unavailable("gcc")
    if importlib.util.find_spec("fmpy") is None:
        unavailable("FMPy")


def made(actuator: be.Actuator, version: str = "2.0", **settings: Any) -> bytes:
    (content,) = export(actuator, f"fmu@{version}", joint="knee", replay=False, **settings).files.values()
    assert isinstance(content, bytes)
    return content


@contextmanager
def running(content: bytes, n: int = 1) -> Iterator[Any]:
    """One instance of an FMU, or several of the same files."""
    with cc.laid_out(unpack_files(content)) as folder:
        if n == 1:
            with open_fmu(folder, "knee") as one:
                yield one
            return
        several = [Running(folder, f"knee {k}") for k in range(n)]
        yield several
        for one in several:
            one.fmu.freeInstance()


def moved(one: Running, actuator: be.Actuator, steps: range, h: float = H) -> list[list[float]]:
    """What it shows after each of these steps."""
    targets, names = asked(actuator, max(steps) + 1, h), _outputs(one)
    rows = []
    for k in steps:
        one.set({"load": LOAD, **{name: float(x[k]) for name, x in targets.items()}})
        one.step(k * h, h)
        rows.append(one.get(*names))
    return rows


def _outputs(one: Running) -> list[str]:
    return [v.name for v in one.model.modelVariables if v.causality == "output"]


@pytest.mark.parametrize(
    ("name", "version"), [*((n, "2.0") for n in [*VARIANTS][::2]), *((n, "3.0") for n in [*VARIANTS][1::4])]
)
def test_it_is_valid_and_moves_as_the_engine_does(name, version, tmp_path):
    """What differs is how sums are ordered. Signals are compared where the command stays as it was."""
    from fmpy.validation import validate_fmu

    actuator = VARIANTS[name]
    content, expected, targets = made(actuator, version), engine(actuator), asked(actuator)
    (tmp_path / "knee.fmu").write_bytes(content)
    assert validate_fmu(str(tmp_path / "knee.fmu")) == []
    with running(content) as one:
        one.begin(START)
        found = np.array(moved(one, actuator, range(N)))
        columns = dict(zip(_outputs(one), found.T, strict=True))
        assert one.get("time") == [pytest.approx(N * H)]
    # what accelerates the joint and its rotor, less the load
    J = INERTIA + (0.0 if actuator.gearbox.backlash else steady.armature(actuator))
    mean = J * np.diff(columns["velocity"]) / H - LOAD
    np.testing.assert_allclose(columns["effort"][1:], mean, rtol=0, atol=1e-9 * np.abs(mean).max())
    same = np.array(
        [k > 10 and all(x[k - 10] == x[min(k + 1, N - 1)] for x in targets.values()) for k in range(N)]
    )
    for signal in ("position", "velocity", "voltage", "current", "torque", "temperature"):
        if signal not in columns:
            assert signal == "temperature"
            continue
        ours = expected[signal][1:]
        there = np.ones(N, bool) if signal in ("position", "velocity", "temperature") else same
        close = 1e-9 * max(1.0, np.abs(ours).max())
        np.testing.assert_allclose(columns[signal][there], ours[there], rtol=0, atol=close, err_msg=signal)


@pytest.mark.parametrize("version", VERSIONS)
def test_any_communication_step_is_cut_into_equal_inner_ones(version):
    """3.1 ms at a `step` of 1 ms are four of 0.775 ms; 0.4 ms are one. With a delay too."""
    content = made(LATE, version)
    for long, h in ((3.1e-3, 0.775e-3), (0.4e-3, 0.4e-3), (2e-3, 1e-3)):
        with running(content, 2) as (coarse, fine):
            values, n = {**START, "step": 1e-3}, round(long / h)
            coarse.begin(values)
            fine.begin(values)
            for k in range(60):
                target = 0.4 * np.sin(9 * k * long)
                for one in (coarse, fine):
                    one.set({"load": LOAD, "position_target": target})
                coarse.step(k * long, long)
                for j in range(n):
                    fine.step(k * long + j * h, h)
                assert coarse.get("position", "velocity") == pytest.approx(
                    fine.get("position", "velocity"), abs=1e-12
                )


def test_a_step_that_varies_converges_to_the_motion():
    """Communication steps drawn from 0.3 to 3 ms, inner ones of at most 0.25 ms: within a tenth of a mrad, as
    a constant step of that length is."""
    rng, t, q = np.random.default_rng(0), [0.0], [0.1]
    with running(made(LATE)) as one:
        one.begin({**START, "step": 2.5e-4})
        while t[-1] < 0.5:
            length = float(rng.uniform(3e-4, 3e-3))
            one.set({"load": LOAD, "position_target": 0.3})
            one.step(t[-1], length)
            t.append(t[-1] + length)
            q.append(one.get("position")[0])
    inputs = {"position_target": 0.3, "inertia": INERTIA, "load": LOAD}
    start = {"position": 0.1, "velocity": 0.5}
    ours = be.simulate(LATE, be.bench.Recorded(), inputs, time=np.array(t), start=start, tolerance=1e-7)
    assert np.abs(np.array(q) - ours.position).max() < 1e-4


@pytest.mark.parametrize("version", VERSIONS)
def test_instances_do_not_know_of_each_other_and_a_reset_begins_anew(version):
    actuator = VARIANTS["inductance and heat"]
    with running(made(actuator, version), 2) as (one, other):
        one.begin(START)
        first = moved(one, actuator, range(60))
        other.begin({**START, "motor.resistance": 6.0})
        assert moved(other, actuator, range(60)) != first
        one.fmu.reset()
        one.begin(START)
        assert moved(one, actuator, range(60)) == first
        other.fmu.reset()  # to the numbers of the file
        other.begin(START)
        assert moved(other, actuator, range(60)) == first


@pytest.mark.parametrize("version", VERSIONS)
def test_parameters_before_and_after_initialization(version):
    """Every one by its path; what is set on the way acts from then on."""
    change = {"motor.resistance": 6.0, "friction.coulomb": 0.02, "drive.volts_per_radian": 30.0}
    other = SERVO.replace(**change)
    with running(made(SERVO, version)) as one:
        assert dict(zip(SERVO.parameters, one.get(*SERVO.parameters), strict=True)) == SERVO.parameters
        one.begin({**START, **change})
        found = [row[0] for row in moved(one, SERVO, range(N))]
        np.testing.assert_allclose(found, engine(other).position[1:], atol=1e-11)
        one.fmu.reset()
        one.begin(START)
        before = [row[0] for row in moved(one, SERVO, range(100))]
        one.set(change)
        after = [row[0] for row in moved(one, SERVO, range(100, N))]
    np.testing.assert_allclose(before, engine(SERVO).position[1:101], atol=1e-11)
    assert np.abs(np.array(after) - engine(SERVO).position[101:]).max() > 1e-3


@pytest.mark.parametrize("version", VERSIONS)
def test_a_saved_state_is_restored_to_the_bit(version):
    actuator = VARIANTS["drive delay and period"]
    save, load = ("getFMUstate", "setFMUstate") if version == "2.0" else ("getFMUState", "setFMUState")
    with running(made(actuator, version), 2) as (one, other):
        one.begin(START)
        other.begin({**START, "motor.resistance": 9.0})
        moved(one, actuator, range(70))
        state = getattr(one.fmu, save)()
        written = (one.fmu.serializeFMUstate if version == "2.0" else one.fmu.serializeFMUState)(state)
        on = moved(one, actuator, range(70, 140))
        getattr(one.fmu, load)(state)
        assert moved(one, actuator, range(70, 140)) == on
        reread = (other.fmu.deSerializeFMUstate if version == "2.0" else other.fmu.deserializeFMUState)(
            written
        )
        getattr(other.fmu, load)(reread)
        assert moved(other, actuator, range(70, 140)) == on
        for fmu, one_state in ((one.fmu, state), (other.fmu, reread)):
            (fmu.freeFMUstate if version == "2.0" else fmu.freeFMUState)(one_state)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_wrong_is_said_and_changes_nothing(version):
    from fmpy.fmi1 import FMICallException

    rows = [
        ({"position_target": float("nan")}, "position_target was set to nan; expected a finite number"),
        ({"load": float("inf")}, "load was set to inf; expected a finite number"),
        ({"motor.resistance": 0.0}, "motor.resistance is 0 ohm; expected more than 0"),
        ({"friction.viscous": -1.0}, "friction.viscous is -1 N m s/rad; expected at least 0"),
        ({"position": 1.0}, "position was set to 1; expected nothing, for it is an output and cannot be set"),
        ({"start.position": 1.0}, "start.position was set to 1; expected it to be set before the end of"),
    ]
    with running(made(SERVO, version), 2) as (one, other):
        for each in (one, other):
            each.begin(START)
            moved(each, SERVO, range(20))
        for values, text in rows:
            with pytest.raises(FMICallException, match="status 3"):
                one.set({**values, "inertia": 0.1} if "start.position" not in values else values)
            assert one.said[-1].startswith(text.replace("nan", one.said[-1].split(";")[0].split()[-1]))
        assert moved(one, SERVO, range(20, 40)) == moved(other, SERVO, range(20, 40))
        one.set({"friction.coulomb": 0.2})
        with pytest.raises(FMICallException):
            one.step(40 * H, H)
        assert one.said[-1] == (
            "friction.static is 0.055, and friction.coulomb is 0.2; expected it not to be smaller"
        )
        with pytest.raises(FMICallException):
            other.step(40 * H, 0.0)
        assert other.said[-1] == "a communication step is no time above 0"
    with running(made(SERVO, version)) as one:
        with pytest.raises(FMICallException):
            one.step(0.0, H)
        assert one.said[-1].startswith("a step was asked for outside of a simulation; expected it after")
    still = SERVO.replace(**{"motor.rotor_inertia": 0.0})
    with running(made(still, version)) as one:
        with pytest.raises(FMICallException):
            one.begin({"inertia": 0.0})
        assert one.said[-1].startswith("inertia is 0 for a joint without an armature")
    with running(made(LATE, version)) as one:
        one.begin({**START, "step": 1e-3})
        with pytest.raises(FMICallException):
            one.step(0.0, 1e-6)
        assert one.said[-1].startswith(
            "drive.delay is 0.0093 s, and a line of 1024 commands in steps of 1e-06 s"
        )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_state_or_a_description_of_another_fmu_is_refused(version):
    from fmpy.fmi1 import FMICallException

    content = made(SERVO, version)
    names = ("serializeFMUstate", "deSerializeFMUstate", "getFMUstate")
    if version == "3.0":
        names = ("serializeFMUState", "deserializeFMUState", "getFMUState")
    with running(content) as one, running(made(LATE, version)) as other:
        written = getattr(one.fmu, names[0])(getattr(one.fmu, names[2])())
        with pytest.raises(FMICallException):
            getattr(other.fmu, names[1])(written)
        assert other.said == ["the bytes are no state of this FMU; expected what it wrote itself"]
    files: dict[str, Any] = dict(unpack_files(content))
    files["modelDescription.xml"] = unpack_files(made(LATE, version))["modelDescription.xml"]
    with pytest.raises(InvalidValue, match="cannot be loaded"), running(pack_files(files)):
        pass


def test_a_wrong_sign_in_the_sources_shows(tmp_path):
    """The comparisons above can fail: the torque that the load adds is turned round in the FMU's own C."""
    sources = {k: v.decode() for k, v in unpack_files(made(SERVO)).items() if k.startswith("sources/")}
    turned = sources["sources/fmu.c"].replace(
        "now->own[INERTIA], now->input[0]", "now->own[INERTIA], -now->input[0]"
    )
    assert turned != sources["sources/fmu.c"]
    for name, text in {**sources, "sources/fmu.c": turned}.items():
        (tmp_path / Path(name).name).write_text(text)
    library = cc.build(tmp_path, ["knee.c", "fmu.c"], "knee.so").read_bytes()
    files: dict[str, Any] = {**unpack_files(made(SERVO)), "binaries/linux64/knee.so": library}
    with running(pack_files(files)) as one:
        one.begin(START)
        found = [row[0] for row in moved(one, SERVO, range(N))]
    assert np.abs(np.array(found) - engine(SERVO).position[1:]).max() > 1e-4


@pytest.mark.parametrize("version", VERSIONS)
def test_its_header_says_what_was_run_and_the_bytes_come_again(version):
    one, other = (export(SERVO, f"fmu@{version}", joint="knee", notes="measured") for _ in range(2))
    assert one.files == other.files
    assert one.replayed is not None
    assert one.replayed.worst < 2e-3  # of its time step
    inside = unpack_files(one.files["knee.fmu"])
    said = {name for name, content in inside.items() if one.ran.encode() in content}
    sources = {"sources/knee.c", "sources/knee.h", "sources/fmu.c"}
    assert said == {"modelDescription.xml", "documentation/index.html", *sources}
    assert ("sources/buildDescription.xml" in inside) == (version == "3.0")
    with pytest.raises(NotAvailable, match=r"knee\.fmu is no text; write it into a file: -o knee\.fmu"):
        _ = one.text


def test_it_is_written_whole_and_overwrites_nothing(tmp_path):
    one = export(SERVO, "fmu", joint="left/knee", replay=False)
    (path,) = one.write(tmp_path)
    assert path == tmp_path / "left_knee.fmu"
    with pytest.raises(BackemfError, match="exists"):
        one.write(tmp_path)
    (other,) = one.write(tmp_path / "any.fmu")
    assert other.read_bytes() == path.read_bytes()


def test_without_a_compiler_there_are_sources_and_a_finding(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    one = export(SERVO, "fmu", joint="knee")
    assert [f.code for f in one.findings] == ["no_binary"]
    assert not [name for name in unpack_files(one.files["knee.fmu"]) if name.startswith("binaries")]
    assert one.ran == "Not run: knee.fmu holds no binary for this machine, only sources."


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_somebody_else_builds_its_sources(version, tmp_path):
    """FMPy does, by what the description says of them."""
    from fmpy.build import build_platform_binary

    files = {k: v for k, v in unpack_files(made(SERVO, version)).items() if not k.startswith("binaries")}
    with cc.laid_out(files) as folder:
        build_platform_binary(folder, tmp_path)
        with open_fmu(folder, "knee") as one:
            one.begin(START)
            found = [row[0] for row in moved(one, SERVO, range(N))]
    np.testing.assert_allclose(found, engine(SERVO).position[1:], atol=1e-11)


def test_a_file_on_disk_is_replayed(tmp_path):
    export(SERVO, "fmu@3.0", joint="knee", replay=False).write(tmp_path / "any.fmu")
    one = read_export(str(tmp_path / "any.fmu"), SERVO)
    assert (one.target, one.version) == ("fmu", "3.0")
    assert replay(one).worst < 2e-3
    (tmp_path / "broken.fmu").write_bytes((tmp_path / "any.fmu").read_bytes()[:500])
    with pytest.raises(InvalidValue, match=r"broken\.fmu is no FMU"):
        read_export(str(tmp_path / "broken.fmu"), SERVO)


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("1", {}),
        ("rad", {"rad": 1}),
        ("N m/(rad s)", {"kg": 1, "m": 2, "s": -3, "rad": -1}),
        ("1/(N m)", {"kg": -1, "m": -2, "s": 2}),
        ("V s^2/rad", {"kg": 1, "m": 2, "s": -1, "A": -1, "rad": -1}),
        ("K/W", {"K": 1, "kg": -1, "m": -2, "s": 3}),
        ("command/s", None),
    ],
)
def test_units(unit, expected):
    assert exponents(unit) == expected
