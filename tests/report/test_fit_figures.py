"""Figures as data: they hold the model's own numbers, and both renderers draw them."""

from __future__ import annotations

import base64
import math
from dataclasses import replace

import numpy as np
import pytest

import backemf as be
from backemf.analysis.curves import friction_size
from backemf.apps.report.figures import (
    draw as render,
    fit_figures as fit_figures,
    plotly as plotly_page,
    sheet as sheet_figures,
)
from backemf.apps.report.sections import sections
from backemf.figure import Curve, Drawing, Figure, Panel
from backemf.physics import steady

MOTOR = be.motor.Motor(resistance=4.0, torque_constant=0.9, rotor_inertia=3e-3)


def test_both_renderers_draw_every_figure_of_a_report(made, tmp_path):
    drawn = [b.figure for s in sections(made) for b in s.blocks if isinstance(b, Drawing)]
    kinds = {
        ("bars", any(p.bars for f in drawn for p in f.panels)),
        ("grid", any(p.grid for f in drawn for p in f.panels)),
    }
    assert kinds == {("bars", True), ("grid", True)}
    for k, figure in enumerate(drawn):
        if k and figure.title == "log 1":
            continue  # one log stands for all: drawing takes time
        path = render.save(figure, tmp_path / f"{k}.png")
        assert path.read_bytes().startswith(b"\x89PNG")
        n = sum(
            len(p.lines) + 2 * len(p.regions) + (p.bars is not None) + (p.grid is not None)
            for p in figure.panels
        )
        assert sum(len(plot["data"]) for plot in plotly_page.plots(figure)) == n


def test_thinning_keeps_extremes_and_order():
    x = np.linspace(0.0, 100.0, 50_001)
    y = np.sin(x) + 0.01 * np.random.default_rng(0).standard_normal(len(x))
    y[1234], y[40_000], y[20_000] = 7.0, -8.0, np.nan
    a, b = plotly_page.thin_curve(x, y, 1000)
    assert len(a) <= 1000
    assert (np.max(b), np.min(b)) == (7.0, -8.0)
    assert np.all(np.diff(a) > 0)
    assert set(a) <= set(x)
    short = plotly_page.thin_curve(x[:1000], y[:1000], 1000)
    assert np.array_equal(short[1], y[:1000])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.linspace(0, 6, 1000), "f4"),
        (1e9 + np.linspace(0, 1, 1000), "f8"),
        ([3.0, 3.0], "f4"),
        ([math.nan, 1.0], "f4"),
    ],
)
def test_numbers_survive_packing(values, kind):
    packed = plotly_page.pack_array(values)
    assert packed["dtype"] == kind
    back = np.frombuffer(base64.b64decode(packed["bdata"]), f"<{kind}")
    assert np.allclose(
        back, values, rtol=0, atol=1e-5 * max(np.ptp(np.nan_to_num(values)), 1e-9), equal_nan=True
    )


def test_text_for_plotly_is_escaped():
    figure = Figure(
        title="",
        panels=[
            Panel(
                lines=[Curve(x=[0, 1], y=[0, 1], label="<a href='x'>"), Curve(x=[0, 1], y=[1, 0], label="b")],
                x_label="<x>",
                y_label="y",
            )
        ],
    )
    text = plotly_page.dumps(plotly_page.plots(figure))
    assert "<" not in text
    assert "&lt;a href=" in text


def test_a_coulomb_loop_loses_four_times_level_times_amplitude():
    actuator = be.Actuator(motor=MOTOR, friction=be.friction.Coulomb(coulomb=0.05))
    figure = fit_figures.hysteresis(actuator, 0.3)
    assert figure is not None
    (loop,) = figure.panels[0].lines  # this friction does not see the load: one loop
    assert abs(np.trapezoid(loop.y, 1e-3 * np.asarray(loop.x))) == pytest.approx(
        4 * 0.05 * fit_figures.STROKE, rel=5e-3
    )
    assert (
        fit_figures.hysteresis(be.Actuator(motor=MOTOR, friction=be.friction.Viscous(viscous=0.1)), 0.0)
        is None
    )


def test_a_bristle_bends_like_a_spring_and_slips_at_its_level():
    actuator = be.Actuator(motor=MOTOR, friction=be.friction.Dahl(coulomb=0.04, stiffness=20.0))
    figure = fit_figures.hysteresis(actuator, 0.0)
    assert figure is not None
    slips, bends = figure.panels[0].lines
    assert np.max(np.abs(slips.y)) == pytest.approx(0.04, rel=0.01)
    assert np.max(np.abs(bends.y)) < 0.03
    for loop in (slips, bends):
        assert loop.y[-1] == pytest.approx(loop.y[0], abs=1e-4)  # closed


def test_the_friction_band_holds_the_curve(fit):
    figure = fit_figures.friction_band(fit, 0.2, 3.0)
    (panel,) = figure.panels
    assert len(panel.lines) == 1
    line, region = panel.lines[0], panel.regions[0]
    assert np.array_equal(line.y, friction_size(fit.actuator, np.asarray(line.x), 0.0, 0.0))
    inside = (np.asarray(region.low) <= line.y) & (line.y <= np.asarray(region.high))
    assert inside.mean() > 0.97
    assert [(b.low, b.high) for b in panel.bands] == [(-3.75, -3.0), (3.0, 3.75)]


def test_heating_times_are_those_of_the_closed_form():
    """One node without temperature effects: t = -t_T ln(1 - dT / (R_T R i^2))."""
    thermal = be.motor.Thermal(resistance=10.0, capacitance=5.0, resistance_coefficient=0.0)
    actuator = be.Actuator(motor=replace(MOTOR, thermal=thermal), drive=be.drive.Voltage(supply=12.0))
    panel = sheet_figures.time_to_limit(actuator, 85.0)
    assert panel is not None
    reached, for_ever = panel.lines
    i = np.asarray(reached.y) / 0.9
    expected = -50.0 * np.log(1.0 - 60.0 / (10.0 * 4.0 * i**2))
    assert np.asarray(reached.x) == pytest.approx(expected, rel=5e-3)
    assert for_ever.y[0] == pytest.approx(0.9 * math.sqrt(60.0 / 40.0))
    assert sheet_figures.time_to_limit(be.Actuator(motor=MOTOR), 85.0) is None


def test_the_envelope_speaks_of_metres_on_a_linear_axis():
    actuator = be.Actuator(motor=MOTOR, gearbox=be.gearbox.Gearbox(ratio=100.0), motion="linear")
    panel = sheet_figures.envelope(actuator, 12.0, points=[Curve(x=[0.05], y=[3.0], style="dots")])
    assert (panel.x_label, panel.y_label) == ("speed at the output [m/s]", "force at the output [N]")
    assert panel.lines[-1].x[0] == 0.05


def test_stall_and_no_load_are_those_of_the_closed_forms():
    actuator = be.Actuator(motor=MOTOR, friction=be.friction.Coulomb(coulomb=0.05, viscous=0.02))
    assert steady.stall_torque(actuator, 12.0) == pytest.approx(0.9 * 12 / 4 - 0.05)
    assert steady.no_load_speed(actuator, 12.0) == pytest.approx(
        (0.9 * 12 / 4 - 0.05) / (0.81 / 4 + 0.02), rel=1e-6
    )


def test_correlations_and_errors_are_the_fits(fit):
    grid = fit_figures.correlations(fit)
    bars = fit_figures.relative_errors(fit, "")
    assert grid is not None
    assert bars is not None
    cells, columns = grid.panels[0].grid, bars.panels[0].bars
    assert cells is not None
    assert columns is not None
    assert np.array_equal(cells.values, fit.correlation)
    R = fit.parameters["motor.resistance"]
    assert columns.values[0] == pytest.approx(100 * R.error / R.value)
