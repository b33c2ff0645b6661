"""The report of a robot's fit as one HTML file, like that of a servo's."""

from __future__ import annotations

from pathlib import Path

from ...files import write_all
from .html import page_of
from .robot_contents import RobotReport
from .robot_sections import sections


def page(report: RobotReport) -> str:
    """The whole file."""
    title = f"{report.robot.name}: its actuators, identified"
    return page_of(title, _origin(report), sections(report), report.version)


def write(report: RobotReport, path: Path | str, *, force: bool = False) -> Path:
    """Write the page, whole or not at all; an existing file is kept unless `force`."""
    return write_all({Path(path): page(report)}, force=force)[0]


def _origin(report: RobotReport) -> str:
    fit = report.fit
    n, held = len(fit.training), len(fit.held_out)
    return (
        f"Written by backemf {report.version} on {report.date} from {report.name}. {len(fit.joints)} joints,"
        f" friction {fit.friction}, {len(fit.parameters)} fitted parameters, {n} recording{'s' * (n != 1)}"
        f" fitted{f', {held} held out' if held else ''}, {fit.cpu_s:.2g} s of CPU."
    )
