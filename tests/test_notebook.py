"""Results where people look at them: a short text, a table, a picture, a frame."""

from __future__ import annotations

import ast
import base64
import builtins
import json
from pathlib import Path

import numpy as np
import pytest

import backemf as be
from backemf.errors import NotAvailable

from .conftest import needed
from .data.test_codec import FIT
from .mechanism.test_characterize import recorded
from .test_docs import shows, tolerance

SERVO = be.Actuator(
    motor=be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3),
    friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02),
    drive=be.drive.Position(volts_per_radian=30.0, supply=12.0),
)
BENCH = be.bench.Pendulum(mass=0.3, length=0.1)


def nouns() -> dict:
    run = be.simulate(SERVO, BENCH, be.signal.step(0.5), duration=0.3)
    log = be.log("swing", run.time, position=run.position, position_target=0.5 + 0 * run.time, bench=BENCH)
    return {
        "Trajectory": run,
        "Log": log,
        "Fit": FIT,
        "Characterization": be.characterize(recorded((0.3, 0.12, 0.02))),
        "Export": be.export(SERVO, "mujoco-classic", method="formula"),
        "Datasheet": be.Datasheet.read("maxon-re-25-118743"),
    }


@pytest.mark.parametrize("name", ["Trajectory", "Log", "Fit", "Characterization", "Export", "Datasheet"])
def test_a_noun_shows_itself(name, tmp_path):
    noun = nouns()[name]
    assert type(noun).__name__ == name
    assert len(repr(noun)) < 200
    assert repr(noun).startswith(f"<{name}: ")
    shown = noun._repr_html_()
    assert shown.startswith(f"<p><b>{name}</b>: ")
    assert shown.count("<tr>") == len(noun.overview().rows) + 1
    assert len(noun.overview().rows) >= 1
    drawn = noun.plot(tmp_path / "picture.png")
    assert drawn.axes
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert drawn._repr_png_().startswith(b"\x89PNG")  # a notebook shows the picture, not its name
    import matplotlib.pyplot

    matplotlib.pyplot.close("all")


def test_what_is_shown_is_escaped():
    log = be.log("<b>&", np.arange(3.0), position=np.arange(3.0))
    assert "<b>&" not in log._repr_html_()
    assert "&lt;b&gt;&amp;" in log._repr_html_()


def test_frames():
    pandas = needed("pandas")
    made = nouns()
    frame = made["Trajectory"].to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    np.testing.assert_array_equal(frame["position"], made["Trajectory"].position)
    assert frame.index.name == "time"
    assert list(made["Log"].to_pandas().columns) == ["position", "position_target"]
    assert made["Fit"].to_pandas()["value"].tolist() == [2.0]
    for name in ("Characterization", "Export", "Datasheet"):
        assert len(made[name].to_pandas()) == len(made[name].overview().rows)


def test_without_pandas_it_says_what_to_do(monkeypatch):
    imported = builtins.__import__

    def without(name, *rest, **more):
        if name == "pandas":
            raise ImportError(name)
        return imported(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(NotAvailable, match="pip install pandas"):
        FIT.to_pandas()


def test_a_characterization_is_stored_and_read_back(tmp_path):
    measured = nouns()["Characterization"]
    measured.write(tmp_path / "gains.json")
    back = be.Characterization.read(tmp_path / "gains.json")
    assert back == measured
    assert back["kV"] == pytest.approx(0.12, rel=1e-3)
    np.testing.assert_array_equal(back.shown[0].velocity, measured.shown[0].velocity)


def arm_moves(planned: be.Log) -> np.ndarray:
    """(samples, joints): where the demo's own arm goes in MuJoCo when it is asked for this."""
    from backemf.apps.demo.arm import FPS, MODEL, truth

    mujoco = needed("mujoco")
    motors = be.attach(mujoco.MjSpec.from_string(MODEL), {".*": truth()})
    goals = np.stack([joint["position_target"] for joint in planned.joints.values()], axis=1)
    data, seen = mujoco.MjData(motors.model), np.zeros_like(goals)
    for row, goal in enumerate(goals):
        seen[row], data.ctrl[:] = data.qpos, goal
        while data.time < (row + 1) / FPS - 1e-9:
            mujoco.mj_step(motors.model, data)
    return seen


NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "docs").rglob("*.ipynb"))


def sayings(cell: dict) -> str:
    """What a stored or executed cell printed."""
    return "".join("".join(out["text"]) for out in cell["outputs"] if out["output_type"] == "stream")


def kinds(cell: dict) -> set[str]:
    """In which forms a stored or executed cell shows its result."""
    return {kind for out in cell["outputs"] for kind in out.get("data", {})}


def assert_printed(page: Path, stored: dict, printed: str) -> None:
    shown = sayings(stored).strip().splitlines()
    lines = printed.strip().splitlines()
    alike = len(shown) == len(lines) and all(
        shows(a, b, tolerance(page)) for a, b in zip(shown, lines, strict=True)
    )
    assert alike, f"{page.name}, cell {stored['id']} shows\n{sayings(stored)}\nand prints\n{printed}"


@pytest.mark.slow
@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.name)
def test_a_notebook_of_the_documentation_runs_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    """Cell by cell, the last expression of a cell shown as a notebook shows it, beside what is stored."""
    content = json.loads(page.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    space: dict = {}
    every = ""
    for cell in (cell for cell in content["cells"] if cell["cell_type"] == "code"):
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, page.name, "exec"), space)
        forms = set()
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), page.name, "eval"), space)
            if shown is not None:
                drawn = hasattr(shown, "savefig")
                forms = {"text/plain", "image/png" if drawn else "text/html"}
                assert drawn or shown._repr_html_()
        assert kinds(cell) == forms
        printed = capsys.readouterr().out
        assert_printed(page, cell, printed)
        every += printed
    assert any("image/png" in kinds(c) for c in content["cells"] if c["cell_type"] == "code")
    if page.name == "frc.ipynb":
        assert "these recordings are of 2 mechanisms: arm (4 runs), flywheel (4 runs)" in every
        assert "createSingleJointedArmSystem" in every
        assert "kV is not determined by these tests (dynamic-forward, dynamic-reverse)." in every
        assert space["behind"].inertia == pytest.approx(1.44, rel=0.01)  # 4 kg at 0.6 m
    if page.name == "lerobot.ipynb":
        assert "arm_dataset is in degrees" in every
        assert space["fit"].score.rms < 1e-3  # an encoder's step is 1.5 mrad
        for joint in space["fit"].joints.values():
            assert joint.parameters["friction.coulomb"].value == pytest.approx(0.11, rel=0.05)
        np.testing.assert_allclose(space["data"].qpos, 0.5, atol=0.1)  # friction and gravity hold them off
    if page.name == "bands.ipynb":
        truth = arm_moves(space["planned"])  # MuJoCo with the motors that made the data set
        motion = space["motion"]
        assert motion.inside({joint: q for joint, q in zip(motion.joints, truth.T, strict=True)}) > 0.9


@pytest.mark.proof
@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda page: page.name)
def test_a_notebook_shows_in_a_kernel_what_is_stored(page, tmp_path):
    """In a real kernel, where figures must be pictures. The executed notebook is left in the test's folder:
    copy it over the page where a change was meant."""
    nbformat, nbconvert = needed("nbformat"), needed("nbconvert.preprocessors")
    ran = nbformat.read(page, as_version=4)
    where = {"metadata": {"path": str(tmp_path)}}
    nbconvert.ExecutePreprocessor(timeout=600, record_timing=False).preprocess(ran, where)
    ran.metadata["language_info"] = {"name": "python"}
    nbformat.write(ran, tmp_path / page.name)
    stored = json.loads(page.read_text(encoding="utf-8"))
    for cell, new in zip(stored["cells"], ran.cells, strict=True):
        if cell["cell_type"] == "code":
            assert kinds(cell) == kinds(new), cell["id"]
            assert_printed(page, cell, sayings(new))
            for out in new.outputs:
                picture = base64.b64decode(out.get("data", {}).get("image/png", ""))
                assert not picture or picture.startswith(b"\x89PNG")


def test_notebooks_are_valid_where_that_can_be_told():
    nbformat = needed("nbformat")
    assert NOTEBOOKS
    for page in NOTEBOOKS:
        nbformat.validate(nbformat.read(page, as_version=4))
