"""The picture in the README: a real servo, fitted and judged on recordings it never saw. `python
scripts/readme_figure.py FOLDER`.

FOLDER holds the STS3032 pendulum recordings (Apache-2.0, Qua Robotics), which are not part of this project.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import backemf as be
from backemf.apps.report.figures import draw as render
from backemf.figure import Curve, Figure, Panel
from backemf.identify.predict import run

PLACE = Path(__file__).resolve().parent.parent / "docs" / "img" / "sts3032.png"
SHOWN = {
    "m0.259_l0.07_kp8_sin_sin": "two sines",
    "m0.259_l0.07_kp8_lift_and_drop": "lifted, then the torque is switched off",
}


def main() -> None:
    sheet, logs = be.Datasheet.read("sts3032"), be.read(str(Path(sys.argv[1]) / "*.json"))
    fit = be.fit(sheet.actuator(), logs, friction="m4", prior=sheet, hold_out={"gain": 8}, n_starts=2)
    panels = []
    for name, words in SHOWN.items():
        one = run(fit, next(log for log in logs if log.name == name))
        t, deg = one.log.time - one.log.time[0], 180 / np.pi
        lines = [
            Curve(x=t, y=deg * one.log["position_target"], label="asked", style="thin"),
            Curve(x=t, y=deg * one.log["position"], label="recorded", color=0),
            Curve(x=t, y=deg * one.position, label="predicted", style="dashed", color=1),
        ]
        title = f"{words}: off by {1e3 * one.error:.0f} mrad on average"
        panels.append(Panel(lines=lines, x_label="time [s]", y_label="angle [deg]", title=title))
    print(
        render.save(
            Figure(panels=panels, title="A Feetech STS3032 on a pendulum: recordings the fit never saw"),
            PLACE,
        )
    )
    print(fit)


if __name__ == "__main__":
    main()
