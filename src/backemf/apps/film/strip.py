"""The plot beside a film's picture: measured and predicted position over time, drawn once,
with a cursor that moves by array operations."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..report.figures.draw import PALETTE

RECORDED, PREDICTED, INK, GREY = PALETTE[0], PALETTE[1], "#2b2f36", "#5b616b"


@dataclass(frozen=True, kw_only=True)
class Course:
    """What a film shows: one recording and the model's motion on its samples."""

    name: str
    """Of the log."""
    model: str
    """Where the model's motion comes from, in words."""
    motion: str
    time: np.ndarray
    measured: np.ndarray
    """NaN where nothing was measured."""
    predicted: np.ndarray
    target: np.ndarray | None = None

    @property
    def rms(self) -> float:
        """Of what is left between recording and model [rad or m]."""
        return float(np.sqrt(np.nanmean((self.predicted - self.measured) ** 2)))

    def at(self, moment: float) -> tuple[float, float]:
        """(recorded, predicted) at a moment; between samples along a straight line."""
        seen = np.isfinite(self.measured)
        recorded = np.interp(moment, self.time[seen], self.measured[seen])
        return float(recorded), float(np.interp(moment, self.time, self.predicted))


class Strip:
    """The plot as an image of width x height pixels, and `frame` for one moment of it."""

    def __init__(self, course: Course, width: int, height: int):
        self.course, self.width, self.height = course, width, height
        span = float(np.nanmax(course.measured) - np.nanmin(course.measured))
        rotary = course.motion == "rotary"
        self.scale, unit = (180.0 / np.pi, "deg") if rotary else (1.0, "m") if span > 2.0 else (1e3, "mm")
        self.small = f"{1e3 * course.rms:.3g} {'mrad' if rotary else 'mm'}"
        self.past, self.columns = self._drawn(1.0, unit)
        self.future, _ = self._drawn(0.28, unit)
        self.font = self._font()

    def frame(self, moment: float) -> np.ndarray:
        """The plot at a moment: what has been in full colour, what will be pale,
        a cursor and a point on each curve."""
        from PIL import Image, ImageDraw

        course, (left, right, top, bottom, low, high) = self.course, self.columns
        share = (moment - course.time[0]) / max(course.time[-1] - course.time[0], 1e-12)
        x = left + share * (right - left)
        picture = self.future.copy()
        cut = int(np.clip(round(x), 0, self.width))
        picture[:, :cut] = self.past[:, :cut]
        image = Image.fromarray(picture)
        draw = ImageDraw.Draw(image)
        draw.line([(round(x), round(top)), (round(x), round(bottom))], fill=INK, width=1)
        radius = max(2.5, 0.25 * self.text)
        for value, color, wider in zip(course.at(moment), (RECORDED, PREDICTED), (1.45, 1.0), strict=True):
            y = bottom + (self.scale * value - low) / (high - low) * (top - bottom)
            r = wider * radius
            draw.ellipse([x - r, y - r, x + r, y + r], fill=color, outline="white", width=1)
        clock = f"{moment - course.time[0]:.2f} s"
        draw.text((right, 1.3 * self.text), clock, fill=INK, font=self.font, anchor="rm")
        return np.asarray(image)

    def _font(self) -> Any:
        from matplotlib import font_manager
        from PIL import ImageFont

        return ImageFont.truetype(font_manager.findfont("DejaVu Sans:bold"), max(9, round(self.text * 1.15)))

    @property
    def text(self) -> float:
        """Height of letters in pixels."""
        return max(9.0, min(self.width / 33.0, self.height / 16.0, 22.0))

    def _drawn(
        self, strength: float, unit: str
    ) -> tuple[np.ndarray, tuple[float, float, float, float, float, float]]:
        """(pixels, the axes in pixels and their limits) with curves as strong as told."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        course, dpi, text = self.course, 100.0, self.text * 72.0 / 100.0
        figure = Figure(figsize=(self.width / dpi, self.height / dpi), dpi=dpi, facecolor="white")
        canvas = FigureCanvasAgg(figure)
        head, foot = ((3.9 if self.flat else 4.9) * self.text / self.height, 3.0 * self.text / self.height)
        edge = 4.6 * self.text / self.width
        axis = figure.add_axes((edge, foot, 1.0 - edge - 1.4 * self.text / self.width, 1.0 - head - foot))
        time = course.time - course.time[0]
        if course.target is not None:
            thin = {"color": "#9aa0a8", "linewidth": 1.0, "alpha": strength}
            axis.plot(time, self.scale * course.target, label="target", **thin)
        seen = np.isfinite(course.measured)
        thick = {"color": RECORDED, "linewidth": 2.6, "alpha": 0.55 * strength, "solid_capstyle": "round"}
        axis.plot(time[seen], self.scale * course.measured[seen], label="recording", **thick)
        sharp = {"color": PREDICTED, "linewidth": 1.4, "alpha": strength}
        axis.plot(time, self.scale * course.predicted, label="model", **sharp)
        axis.set_xlim(time[0], time[-1])
        axis.tick_params(labelsize=0.85 * text, length=0, colors=GREY)
        axis.grid(color="#e6e8eb", linewidth=0.7)
        axis.set_axisbelow(True)
        for spine in axis.spines.values():
            spine.set_visible(False)
        axis.set_xlabel("time [s]", fontsize=0.9 * text, color=GREY)
        axis.set_ylabel(f"position [{unit}]", fontsize=0.9 * text, color=GREY)
        self._head(figure, axis, text)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph")  # a letter that the font has not is drawn as a box
            canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[..., :3].copy()
        low, high = axis.get_ylim()
        box = axis.get_window_extent()
        return pixels, (box.x0, box.x1, self.height - box.y1, self.height - box.y0, low, high)

    @property
    def flat(self) -> bool:
        """Wide enough for the legend to stand beside the words."""
        return self.width > 2.0 * self.height

    def _head(self, figure: Any, axis: Any, text: float) -> None:
        """Name and clock, where the model comes from, what is left, and which colour is which."""
        line, x0 = 1.5 * self.text / self.height, 1.2 * self.text / self.width
        y0 = 1.0 - 1.3 * self.text / self.height
        name = _shortened(self.course.name, int((self.width - 6.5 * self.text) / (0.66 * self.text)))
        room = self.width * (0.6 if self.flat else 0.95)
        source = _shortened(f"{self.course.model}; RMS {self.small}", int(room / (0.52 * self.text)))
        plain = {"va": "center", "parse_math": False}
        figure.text(x0, y0, name, fontsize=1.1 * text, fontweight="bold", color=INK, **plain)
        figure.text(x0, y0 - line, source, fontsize=0.9 * text, color=GREY, **plain)
        handles, labels = axis.get_legend_handles_labels()
        right, left = axis.get_position().x1, x0 - 0.4 * self.text / self.width
        place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (left, y0 - 2.0 * line)}
        if self.flat:
            place = {"loc": "center right", "bbox_to_anchor": (right, y0 - line)}
        small = {
            "frameon": False,
            "fontsize": 0.9 * text,
            "labelcolor": INK,
            "handlelength": 1.4,
            "columnspacing": 1.4,
            "borderaxespad": 0.0,
        }
        figure.legend([_strong(h) for h in handles], labels, ncols=3, **place, **small)


def _strong(handle: Any) -> Any:
    """A legend's line in full colour, whatever the curve's strength."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=handle.get_color(), linewidth=max(2.0, handle.get_linewidth()))


def _shortened(text: str, room: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= room else text[: max(room - 1, 1)].rstrip() + "\u2026"
