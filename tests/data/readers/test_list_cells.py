"""Cells that hold lists, as Python, pandas and NumPy write them: every element is a joint's channel."""

from __future__ import annotations

import json

import numpy as np
import pytest

import backemf as be
from backemf.errors import BackemfError
from backemf.logs.robot import Joint, Robot

ROBOT = Robot(name="arm", joints=tuple(Joint(name=name) for name in ("pan", "lift", "roll", "tip")), model="")
T = 0.02 * np.arange(40)
Q = np.round(0.4 * np.sin(2.0 * T[:, None] + np.arange(4)), 7)
U = np.round(Q + 0.05 * np.cos(3.0 * T)[:, None] + 1e-3 * np.arange(4), 7)
Q[3, 2], U[5] = -1e-7, 0.0  # an exponent, and numbers that have no digits behind the point
HEAD = "time,dof_pos,dof_pos_target"


def plain(row: np.ndarray) -> str:
    return ", ".join(repr(float(x)) for x in row)


def typed(row: np.ndarray) -> str:
    return ", ".join(f"np.float64({float(x)!r})" for x in row)


def printed(row: np.ndarray) -> str:
    """As pandas writes a cell with an array in it: over several lines."""
    return np.array2string(row, precision=9, max_line_width=24)


STYLES = {
    "quoted": (HEAD, lambda t, q, u: f'{t},"[{plain(q)}]","[{plain(u)}]"'),
    "bare": (HEAD, lambda t, q, u: f"{t},[{plain(q)}],[{plain(u)}]"),
    "arrays": (HEAD, lambda t, q, u: f'{t},"{printed(q)}","{printed(u)}"'),
    "NumPy's floats": (HEAD, lambda t, q, u: f'{t},"[{typed(q)}]","array([{plain(u)}])"'),
    "without brackets": (HEAD, lambda t, q, u: f'{t},"{plain(q)}","{plain(u)}"'),
    "semicolons": (HEAD.replace(",", ";"), lambda t, q, u: f"{t};[{plain(q)}];[{plain(u)}]"),
    "decimal comma": (HEAD.replace(",", ";"), lambda t, q, u: f"{t:.2f};[{plain(q)}];[{plain(u)}]"),
    "tabs": (HEAD.replace(",", "\t"), lambda t, q, u: f"{t}\t[{plain(q)}]\t[{plain(u)}]"),
    "blanks": (HEAD.replace(",", " "), lambda t, q, u: f"{t} [{plain(q)}] [{plain(u)}]"),
    "units": ("time [s],position [rad],target [rad]", lambda t, q, u: f'{t},"[{plain(q)}]","[{plain(u)}]"'),
    "units below": ("time,q,q_target\ns,rad,rad", lambda t, q, u: f'{t},"[{plain(q)}]","[{plain(u)}]"'),
}


def check(log: be.Log) -> None:
    for j, name in enumerate(ROBOT.names):
        np.testing.assert_array_equal(log[f"{name}.position"], Q[:, j])
        np.testing.assert_array_equal(log[f"{name}.position_target"], U[:, j])


@pytest.mark.parametrize("style", STYLES)
def test_lists_in_cells_are_the_joints_in_their_order(tmp_path, style):
    head, write = STYLES[style]
    rows = [write(float(t), q, u) for t, q, u in zip(T, Q, U, strict=True)]
    if style == "decimal comma":
        rows = [row.replace(".", ",", 1) for row in rows]
    (tmp_path / "run.csv").write_text("\n".join([head, *rows]) + "\n")
    (log,) = be.read(tmp_path / "run.csv", bench=ROBOT)
    np.testing.assert_allclose(log.time, T, atol=1e-12)
    check(log)


def test_a_list_of_names_beside_says_whose_the_elements_are(tmp_path):
    order = [2, 0, 3, 1]
    names = [ROBOT.names[j] for j in order]
    rows = [
        f'{t},"{names}","[{plain(q[order])}]","[{plain(u[order])}]"' for t, q, u in zip(T, Q, U, strict=True)
    ]
    (tmp_path / "run.csv").write_text("\n".join(["time,name,position,goal_position", *rows]))
    check(be.read(tmp_path / "run.csv", bench=ROBOT)[0])


@pytest.mark.parametrize("spelled", ["enc.{}", "enc_{}", "enc[{}]", "enc{}"])
@pytest.mark.parametrize("first", [0, 1])
def test_one_mapping_is_for_every_joint(tmp_path, spelled, first):
    """Columns of a matrix in any order, under a name that says nothing."""
    heads = [spelled.format(first + j) for j in range(4)]
    heads += [head.replace("enc", "wish") for head in heads]
    rows = [[t, *q, *u] for t, q, u in zip(T, Q, U, strict=True)]
    order = [0, 4, 3, 2, 1, 5, 6, 7, 8]
    lines = [[["time", *heads][k] for k in order], *([repr(float(row[k])) for k in order] for row in rows)]
    (tmp_path / "run.csv").write_text("\n".join(",".join(line) for line in lines))
    check(be.read(tmp_path / "run.csv", bench=ROBOT, map=["position=enc", "position_target=wish"])[0])


def test_json_and_parquet_hold_lists_too(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"time": T.tolist(), "enc": Q.tolist(), "wish": U.tolist()}
    entries = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    (tmp_path / "a.json").write_text(json.dumps(entries))
    (tmp_path / "b.json").write_text(json.dumps(columns))
    parquet.write_table(pa.table(columns), tmp_path / "c.parquet")
    for name in ("a.json", "b.json", "c.parquet"):
        check(be.read(tmp_path / name, bench=ROBOT, map=["position=enc", "position_target=wish"])[0])


def test_an_element_is_a_channel_of_a_bench(tmp_path):
    (tmp_path / "run.csv").write_text(
        "t,q\n" + "\n".join(f'{t},"[{plain(q)}]"' for t, q in zip(T, Q, strict=True))
    )
    (log,) = be.read(tmp_path / "run.csv", map="position=q.1")
    np.testing.assert_array_equal(log["position"], Q[:, 1])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            '0.8,"[1.0, 2.0, 3.0]","[1.0, 2.0, 3.0, 4.0]"',
            "line 42: a list of 3 numbers in column 2, where the first has 4",
        ),
        ('0.8,"[1.0, x, 3.0, 4.0]","[1.0, 2.0, 3.0, 4.0]"', "line 42"),
    ],
)
def test_a_list_that_does_not_fit_is_named(tmp_path, row, said):
    head, write = STYLES["quoted"]
    rows = [write(float(t), q, u) for t, q, u in zip(T, Q, U, strict=True)]
    (tmp_path / "run.csv").write_text("\n".join([head, *rows, row]))
    with pytest.raises(BackemfError, match=said):
        be.read(tmp_path / "run.csv", bench=ROBOT)


def test_a_vector_of_another_length_says_so(tmp_path):
    rows = [f'{t},"[{plain(q[:3])}]"' for t, q in zip(T, Q, strict=True)]
    (tmp_path / "run.csv").write_text("\n".join(["time,dof_pos", *rows]))
    with pytest.raises(BackemfError, match="dof_pos has 3 elements, and arm has 4 joints"):
        be.read(tmp_path / "run.csv", bench=ROBOT)
    told = [f"{name}.position=dof_pos.{j}" for j, name in enumerate(("tip", "pan", "lift"))]
    (log,) = be.read(tmp_path / "run.csv", bench=ROBOT, map=told)
    np.testing.assert_array_equal(log["tip.position"], Q[:, 0])
    assert [f.code for f in log.findings if f.code == "joints_not_recorded"]
