"""Where a release of MuJoCo solves constraints wrongly, who may meet it is told; and it is really so."""

from __future__ import annotations

import json

import numpy as np
import pytest

import backemf as be
from backemf.apps.cli.main import app
from backemf.mujoco.models import SPARSE_FAULT, solver_findings

from ..cli.runner import invoked

mujoco = pytest.importorskip("mujoco")
BODIES = 12


def pile(jacobian: str, solver: str = "Newton") -> str:
    """Bodies with three hinges each, thrown on a heap and tied together here and there."""
    rng, bodies = np.random.default_rng(0), []
    for k in range(BODIES):
        x, y = rng.uniform(-0.3, 0.3, 2)
        legs = ""
        for s in range(3):
            c, d = np.cos(2 * np.pi * s / 3), np.sin(2 * np.pi * s / 3)
            legs += (
                f'<body name="leg{k}{s}" pos="{0.12 * c} {0.12 * d} 0"><joint name="hip{k}{s}"'
                f' axis="{-d} {c} 0" frictionloss="0.05"/>'
                f'<geom type="capsule" fromto="0 0 0 {0.1 * c} {0.1 * d} 0" size=".02"'
                ' mass=".2"/></body>'
            )
        bodies.append(
            f'<body pos="{x} {y} {0.1 + 0.11 * k}"><freejoint/><geom type="box" size=".1 .1 .05" mass="1"/>'
            f"{legs}</body>"
        )
    ties = "".join(
        f'<connect body1="leg{k}0" body2="leg{k + 1}1" anchor="0 0 0"/>' for k in range(0, BODIES - 1, 3)
    )
    option = f'<option jacobian="{jacobian}" solver="{solver}" iterations="100" tolerance="1e-12"/>'
    floor = '<geom type="plane" size="5 5 .1"/>'
    world = f"<worldbody>{floor}{''.join(bodies)}</worldbody>"
    motor = '<actuator><position name="hip" joint="hip00" kp="5"/></actuator>'
    return f"<mujoco>{option}{world}<equality>{ties}</equality>{motor}</mujoco>"


def model(jacobian: str, solver: str = "Newton"):
    return mujoco.MjModel.from_xml_string(pile(jacobian, solver))


def worst_difference(steps: int = 300) -> float:
    """Of the accelerations of one state by sparse and by dense constraints, as a share of the largest."""
    sparse, dense = model("sparse"), model("dense")
    data, other, worst = mujoco.MjData(dense), mujoco.MjData(sparse), 0.0
    for _ in range(steps):
        mujoco.mj_step(dense, data)
        other.qpos, other.qvel, other.qacc_warmstart = data.qpos, data.qvel, data.qacc_warmstart
        mujoco.mj_forward(dense, data)
        mujoco.mj_forward(sparse, other)
        worst = max(worst, np.abs(other.qacc - data.qacc).max() / max(1.0, np.abs(data.qacc).max()))
    return worst


def test_the_finding_is_there_where_the_solver_is_wrong_and_nowhere_else():
    faulty = mujoco.__version__ == SPARSE_FAULT
    codes = [f.code for f in solver_findings(model("sparse"))]
    assert codes == (["sparse_solver_fault"] if faulty else [])
    assert (worst_difference() > 0.1) == faulty  # sound solvers agree to 1e-6 here
    assert solver_findings(model("dense")) == []
    assert solver_findings(model("sparse", "CG")) == []


def test_attach_and_conform_say_it(tmp_path, monkeypatch):
    monkeypatch.setattr(mujoco, "__version__", SPARSE_FAULT)
    path = tmp_path / "pile.xml"
    path.write_text(pile("sparse"), encoding="utf-8")
    motors = be.attach(path, {"hip00": "sts3215-12v"}, check=False)
    assert "sparse_solver_fault" in [f.code for f in motors.findings]
    dcmotor = '<dcmotor joint="hip00" motorconst="0.1" resistance="1"/></actuator>'
    path.write_text(pile("sparse").replace("</actuator>", dcmotor), encoding="utf-8")
    printed = invoked(app, "conform", path, "--steps", "5", "--json")
    assert [f["code"] for f in json.loads(printed)["findings"]] == ["sparse_solver_fault"]
