"""The curves beside a robot's film, one row a joint, drawn once, with a cursor that moves."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .strip import GREY, INK, PREDICTED, RECORDED

LEAST = 0.15
"""Share of the greatest motion that every row shows at least: a joint that rests is no mountain."""


class Course(Protocol):
    """What is drawn: positions of all joints, recorded and simulated."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def time(self) -> np.ndarray: ...
    @property
    def recorded(self) -> np.ndarray: ...
    @property
    def simulated(self) -> np.ndarray: ...
    @property
    def asked(self) -> dict[str, np.ndarray]: ...
    @property
    def joints(self) -> tuple[str, ...]: ...
    @property
    def places(self) -> tuple[int, ...]: ...
    @property
    def rms(self) -> float: ...


class Curves:
    """Rows of curves as an image of width x height pixels, and `frame` for one moment of it."""

    def __init__(self, course: Course, width: int, height: int, most: int):
        self.course, self.width, self.height = course, width, height
        self.text = max(9.0, min(width / 40.0, height / 30.0, 18.0))
        pairs = list(zip(course.joints, course.places, strict=True))
        pairs.sort(key=lambda one: -float(np.ptp(course.recorded[:, one[1]])))
        kept = {name for name, _ in pairs[:most]}
        self.rows = [(n, p) for n, p in zip(course.joints, course.places, strict=True) if n in kept]
        self.past, self.left, self.right, self.boxes = self._drawn(1.0)
        self.future = self._drawn(0.28)[0]

    def frame(self, moment: float) -> np.ndarray:
        """What has been in full colour, what will be pale, and a cursor through all rows."""
        from PIL import Image, ImageDraw

        t = self.course.time
        share = (moment - t[0]) / max(float(t[-1] - t[0]), 1e-12)
        x = self.left + share * (self.right - self.left)
        picture = self.future.copy()
        cut = int(np.clip(round(x), 0, self.width))
        picture[:, :cut] = self.past[:, :cut]
        image = Image.fromarray(picture)
        draw = ImageDraw.Draw(image)
        top, bottom = self.boxes[0][0], self.boxes[-1][1]
        draw.line([(round(x), round(top)), (round(x), round(bottom))], fill=INK, width=1)
        clock = f"{moment - t[0]:.2f} s"
        draw.text((self.right, 1.3 * self.text), clock, fill=INK, font=self.font(), anchor="rm")
        return np.asarray(image)

    def font(self) -> Any:
        """Of headings, for a picture beside."""
        from matplotlib import font_manager
        from PIL import ImageFont

        return ImageFont.truetype(font_manager.findfont("DejaVu Sans:bold"), round(1.15 * self.text))

    def _drawn(self, strength: float) -> tuple[np.ndarray, float, float, list[tuple[float, float]]]:
        """(pixels, left and right end of the axes, top and bottom of each) with curves as strong as told."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D

        course, dpi, text = self.course, 100.0, self.text * 0.72
        figure = Figure(figsize=(self.width / dpi, self.height / dpi), dpi=dpi, facecolor="white")
        canvas = FigureCanvasAgg(figure)
        head, foot, edge = 5.0 * self.text, 3.0 * self.text, 3.6 * self.text
        n = len(self.rows)
        each = (self.height - head - foot) / n
        spans = [float(np.ptp(course.recorded[:, place])) for _, place in self.rows]
        least = max(LEAST * 180.0 / np.pi * max(spans), 1.0)
        time, axes = course.time - course.time[0], []
        for k, (name, place) in enumerate(self.rows):
            low = foot + (n - 1 - k) * each
            box = (edge, low + 0.06 * each, self.width - edge - 1.4 * self.text, 0.74 * each)
            W, H = self.width, self.height
            axis = figure.add_axes((box[0] / W, box[1] / H, box[2] / W, box[3] / H))
            degrees = 180.0 / np.pi
            if name in course.asked:
                thin = {"color": "#9aa0a8", "linewidth": 1.0, "alpha": strength}
                axis.plot(time, degrees * course.asked[name], **thin)
            thick = {"color": RECORDED, "linewidth": 2.4, "alpha": 0.55 * strength}
            axis.plot(time, degrees * course.recorded[:, place], **thick)
            axis.plot(
                time, degrees * course.simulated[:, place], color=PREDICTED, linewidth=1.2, alpha=strength
            )
            axis.set_xlim(time[0], time[-1])
            low, high = axis.get_ylim()
            spare = 0.5 * max(least - (high - low), 0.0)
            axis.set_ylim(low - spare, high + spare)
            axis.tick_params(labelsize=0.8 * text, length=0, colors=GREY, labelbottom=k == n - 1)
            axis.locator_params(axis="y", nbins=3)
            axis.grid(color="#e6e8eb", linewidth=0.7)
            axis.set_axisbelow(True)
            for spine in axis.spines.values():
                spine.set_visible(False)
            off = 1e3 * float(np.sqrt(np.nanmean((course.simulated - course.recorded)[:, place] ** 2)))
            label = f"{name} [deg], off by {off:.3g} mrad"
            axis.set_title(label, loc="left", fontsize=0.85 * text, color=INK, pad=2, parse_math=False)
            axes.append(axis)
        axes[-1].set_xlabel("time [s]", fontsize=0.85 * text, color=GREY, labelpad=1)
        y, x0 = 1.0 - 1.3 * self.text / self.height, edge / self.width
        line = 1.5 * self.text / self.height
        plain = {"va": "center", "parse_math": False}
        figure.text(x0, y, course.name, fontsize=1.1 * text, fontweight="bold", color=INK, **plain)
        source = f"{course.model}; RMS {1e3 * course.rms:.3g} mrad"
        figure.text(x0, y - line, source, fontsize=0.85 * text, color=GREY, **plain)
        marks = [Line2D([], [], color=c, linewidth=2.0) for c in ("#9aa0a8", RECORDED, PREDICTED)]
        figure.legend(
            marks,
            ["target", "recording (ghost)", "model"],
            ncols=3,
            loc="center left",
            bbox_to_anchor=(x0 - 0.4 * self.text / self.width, y - 1.9 * line),
            frameon=False,
            fontsize=0.85 * text,
            labelcolor=INK,
            handlelength=1.4,
            columnspacing=1.4,
            borderaxespad=0.0,
        )
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[..., :3].copy()
        boxes = [axis.get_window_extent() for axis in axes]
        tall = [(self.height - b.y1, self.height - b.y0) for b in boxes]
        return pixels, boxes[0].x0, boxes[0].x1, tall
