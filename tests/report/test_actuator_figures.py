"""Figures of actuators: every kind of every part, why something cannot be drawn, and what is drawn where."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import backemf as be
from backemf.apps.report import html
from backemf.apps.report.figures import draw, show as plots
from backemf.apps.report.figures.pipeline import pipeline
from backemf.apps.report.figures.plotly import svg
from backemf.apps.report.figures.show import KINDS, ShownActuator, figure
from backemf.errors import InvalidValue, UnknownName
from backemf.figure import Diagram
from backemf.physics import steady

from ..model.variants import DRIVES, FRICTIONS

THERMAL = be.motor.TwoNodeThermal(
    winding_resistance=3.0, housing_resistance=12.0, winding_capacitance=4.0, housing_capacitance=40.0
)
MOTOR = be.motor.Motor(resistance=2.0, torque_constant=0.5, rotor_inertia=2e-3, thermal=THERMAL)
LUGRE = be.friction.LuGre(
    coulomb=0.05, static=0.08, stribeck_velocity=0.1, stiffness=80.0, damping=0.4, viscous=0.02
)
SERVO = be.Actuator(motor=MOTOR, friction=LUGRE, drive=be.drive.Position(volts_per_radian=30.0, supply=12.0))


def titles(*what: str, actuator: be.Actuator = SERVO) -> list[str]:
    return [panel.title for panel in figure([ShownActuator("one", actuator)], what).panels]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("n", [1, 2])
def test_every_kind_is_drawn_of_one_and_of_several(name, n, tmp_path):
    shown = [ShownActuator("<one>", SERVO), ShownActuator("two", SERVO.replace(**{"motor.resistance": 3.0}))][
        :n
    ]
    made = figure(shown, [name])
    assert draw.save(made, tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    page = html.figure_page(made, "a note")
    assert "<one>" not in page.replace(html.library(), "")
    for panel in made.panels:
        assert panel.title
        if panel.diagram is None:
            assert "[" in panel.x_label
            assert "[" in panel.y_label
            assert panel.lines
            assert all(np.isfinite(line.y).any() for line in panel.lines)


@pytest.mark.parametrize("name", FRICTIONS)
def test_every_friction_has_an_overview(name):
    friction = FRICTIONS[name]
    actuator = be.Actuator(motor=MOTOR, friction=friction, drive=be.drive.Voltage(supply=12.0))
    shown = titles(actuator=actuator)
    assert ("Hysteresis" in " ".join(shown)) == friction.bristle
    assert ("over the load" in " ".join(shown)) == friction.loaded


@pytest.mark.parametrize("name", DRIVES)
def test_every_drive_has_an_overview_and_a_pipeline(name):
    drive, _ = DRIVES[name]
    actuator = be.Actuator(motor=MOTOR, drive=drive)
    shown = " ".join(titles(actuator=actuator))
    loop = drive.loop is not None and drive.loop.proportional > 0
    assert ("Drive law" in shown) == loop
    diagram = pipeline(actuator).diagram
    assert diagram is not None
    assert any(drive.kind in block.title for block in diagram.blocks)
    measured = any("measured" in arrow.label for arrow in diagram.arrows)
    assert measured == (drive.loop is not None)


def test_an_overview_leaves_out_what_is_not_known_and_a_request_says_why():
    bare = be.Actuator(motor=be.motor.Motor(resistance=2.0, torque_constant=0.5))
    with pytest.raises(InvalidValue, match="nothing that an overview draws"):
        figure([ShownActuator("bare", bare)])
    for name, why in (
        ("torque-speed", r"bare: nothing says at which voltage.*drive\.voltage_limit=12"),
        ("friction", "it has no friction"),
        ("hysteresis", "viscous, has no bristle.*dahl, lugre"),
        ("heating", "nothing is known of its heating"),
        ("drive", r"drive\.Voltage follows no error.*--control position"),
        ("frequency", "nobody knows its rotor's inertia: give --inertia"),
    ):
        with pytest.raises(InvalidValue, match=f"{name} cannot be drawn of .*{why}"):
            figure([ShownActuator("bare", bare)], [name])
    with pytest.raises(UnknownName, match="did you mean 'friction'"):
        figure([ShownActuator("bare", bare)], ["frction"])
    assert figure([ShownActuator("bare", bare)], ["pipeline"]).panels[0].diagram is not None


def test_what_friction_holds_has_no_power():
    held = SERVO.replace(**{"friction.static": 9.0, "friction.coulomb": 9.0})
    assert not [title for title in titles(actuator=held) if title.startswith("Power")]
    with pytest.raises(InvalidValue, match="its friction holds it at 12 V"):
        figure([ShownActuator("held", held)], ["power"])


def test_what_shares_no_axes_is_refused():
    linear = be.Actuator(motor=MOTOR, gearbox=be.gearbox.Gearbox(ratio=100.0), motion="linear")
    with pytest.raises(InvalidValue, match="b is linear"):
        figure([ShownActuator("a", SERVO), ShownActuator("b", linear)])
    fast = be.Actuator(motor=MOTOR, drive=be.drive.Velocity(volt_seconds_per_radian=1.0, supply=12.0))
    with pytest.raises(InvalidValue, match="a regulates a position and b regulates a velocity"):
        figure([ShownActuator("a", SERVO), ShownActuator("b", fast)], ["drive"])
    assert figure([ShownActuator("a", SERVO), ShownActuator("b", fast)]).panels  # the rest they share


def test_the_curves_are_the_models_own():
    panel = figure([ShownActuator("one", SERVO)], ["torque-speed"]).panels[0]
    full = next(line for line in panel.lines if line.label == "12 V")
    assert full.y[0] == pytest.approx(steady.stall_torque(SERVO, 12.0))
    assert full.x[-1] == pytest.approx(60 / (2 * np.pi) * steady.no_load_speed(SERVO, 12.0))
    assert full.y[-1] == pytest.approx(0.0, abs=1e-9)
    held = figure([ShownActuator("one", SERVO, nominal_current=1.0)], ["torque-speed"]).panels[0].regions[0]
    assert np.max(held.high) == pytest.approx(0.5)  # N m: K times 1 A
    metres = be.Actuator(motor=MOTOR, drive=be.drive.Voltage(supply=12.0), motion="linear")
    panel = figure([ShownActuator("one", metres)], ["torque-speed"]).panels[0]
    assert (panel.x_label, panel.y_label) == ("speed at the output [m/s]", "force at the output [N]")
    assert panel.lines[-1].x[0] == 0.0


def test_pairs_stand_side_by_side():
    shown = titles()
    for left, right in (("Power", "Efficiency"), ("Drive law: voltage", "Drive law: torque")):
        k = next(k for k, title in enumerate(shown) if title.startswith(left))
        assert k % 2 == 0
        assert shown[k + 1].startswith(right)


def test_the_bristles_dynamics_stand_under_its_loop():
    note = figure([ShownActuator("one", SERVO, inertia=1e-3)], ["hysteresis"]).panels[0].note
    assert f"{np.sqrt(80.0 / 3e-3) / 2 / np.pi:.3g} Hz" in note
    assert "passive below sigma_1 = 0.033 N m s/rad" in note
    assert "implicitfast" in note


def test_a_pipeline_has_every_number_that_is_not_nothing():
    rich = be.Actuator(
        motor=be.motor.Motor(
            resistance=2.0,
            torque_constant=0.5,
            inductance=1e-3,
            limits=be.motor.Limits(current=3.0),
            cogging=be.motor.Cogging(amplitude=1e-4, periods=12),
            thermal=THERMAL,
        ),
        gearbox=be.gearbox.Gearbox(ratio=3.0, n_motors=2),
        friction=LUGRE,
        drive=be.drive.Servo(
            firmware_gain=0.1, proportional=8.0, supply=12.0, slew=2.0, delay=1e-3, period=5e-3, deadband=0.01
        ),
    )
    diagram = pipeline(rich).diagram
    assert diagram is not None
    lines = [line for block in diagram.blocks for line in block.lines]
    for path, value in rich.parameters.items():
        symbol = rich.traits(path)["symbol"]
        said = any(line.startswith(f"{symbol} = ") for line in lines)
        assert said == (value != 0 and path != "drive.period"), path
    assert "every 5 ms, then held" in lines
    assert "n = 2 motors" in lines
    assert inside(diagram)
    text = svg(diagram)
    root = ElementTree.fromstring(text)
    assert len(root.findall("{http://www.w3.org/2000/svg}rect")) == len(diagram.blocks)


def inside(diagram: Diagram) -> bool:
    """Whether boxes and arrows stay on the sheet, and no two boxes overlap."""
    boxes = [
        (b.x - b.width / 2, b.x + b.width / 2, b.y - b.height / 2, b.y + b.height / 2) for b in diagram.blocks
    ]
    apart = all(
        a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]
        for k, a in enumerate(boxes)
        for b in boxes[:k]
    )
    held = all(b[0] >= 0 and b[1] <= diagram.width and b[2] >= 0 and b[3] <= diagram.height for b in boxes)
    ways = all(
        0 <= x <= diagram.width and 0 <= y <= diagram.height for a in diagram.arrows for x, y in a.path
    )
    return apart and held and ways


def test_numbers_of_a_figure_as_rows():
    made = figure([ShownActuator("one", SERVO)], ["drive", "pipeline"])
    rows = list(csv.DictReader(io.StringIO(plots.table(made))))
    first = plots.plain(made)[0]["curves"][0]
    own = [row for row in rows if row["curve"] == first["name"] and row["panel"] == "Drive law: voltage"]
    assert [float(row["x"]) for row in own] == first["x"]
    assert [float(row["y"]) for row in own] == first["y"]
    assert own[0]["y_label"] == "voltage [V]"
    assert plots.plain(made)[-1]["blocks"][0]["title"] == "command u"


def test_an_actuator_plots_itself(tmp_path):
    drawn = SERVO.plot("friction", "frequency", path=tmp_path / "a.svg", inertia=1e-3)
    assert len(drawn.axes) == 3
    assert (tmp_path / "a.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert SERVO.plot().axes
