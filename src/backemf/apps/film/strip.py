"""The curves beside a film's picture: recorded and predicted position over time, a row for each joint, drawn
once, with a cursor that moves by array operations."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..report.figures.draw import PALETTE
from .recorded_run import RecordedRun

RECORDED, PREDICTED, INK, GREY = PALETTE[0], PALETTE[1], "#2b2f36", "#5b616b"
MOST_JOINTS = 6
"""Joints whose curves are drawn: those that move most."""
LEAST = 0.15
"""Share of the greatest motion that every row shows at least: a joint that rests is no mountain."""


class _Row(NamedTuple):
    """Where a row's axes stand, in pixels from the upper left, and which positions they span."""

    left: float
    right: float
    top: float
    bottom: float
    low: float
    high: float


class Strip:
    """The curves as an image of width x height pixels, and `frame` for one moment of it."""

    def __init__(self, run: RecordedRun, width: int, height: int):
        self.run, self.width, self.height = run, width, height
        spans = {joint: float(np.ptp(_finite(run.recorded[joint]))) for joint in run.joints}
        most = sorted(spans, key=lambda joint: -spans[joint])[:MOST_JOINTS]
        self.joints = [joint for joint in run.joints if joint in most]
        self.span = max(spans.values())
        rotary = run.motion == "rotary"
        self.scale, self.unit = (
            (180.0 / np.pi, "deg") if rotary else (1.0, "m") if self.span > 2.0 else (1e3, "mm")
        )
        self.past, self.rows = self._draw(1.0)
        self.future, _ = self._draw(0.28)
        self.font = self._font()

    @property
    def single(self) -> bool:
        """Whether one joint has the whole strip."""
        return len(self.run.joints) == 1

    @property
    def text(self) -> float:
        """Height of letters in pixels."""
        if self.single:
            return max(9.0, min(self.width / 33.0, self.height / 16.0, 22.0))
        return max(9.0, min(self.width / 40.0, self.height / 30.0, 18.0))

    @property
    def flat(self) -> bool:
        """Wide enough for the legend to stand beside the words."""
        return self.single and self.width > (2.0 if self.run.band is None else 2.6) * self.height

    def frame(self, moment: float) -> np.ndarray:
        """The curves at a moment: what has been in full colour, what will be pale,
        a cursor and a point on each curve."""
        from PIL import Image, ImageDraw

        run, first = self.run, self.rows[0]
        share = (moment - run.time[0]) / max(run.time[-1] - run.time[0], 1e-12)
        x = first.left + share * (first.right - first.left)
        picture = self.future.copy()
        cut = int(np.clip(round(x), 0, self.width))
        picture[:, :cut] = self.past[:, :cut]
        image = Image.fromarray(picture)
        draw = ImageDraw.Draw(image)
        ends = [(round(x), round(first.top)), (round(x), round(self.rows[-1].bottom))]
        draw.line(ends, fill=INK, width=1)
        radius = max(2.5, 0.25 * self.text)
        for positions, color, wider in ((run.recorded, RECORDED, 1.45), (run.predicted, PREDICTED, 1.0)):
            now = run.at(moment, positions)
            for joint, row in zip(self.joints, self.rows, strict=True):
                share = (self.scale * now[joint] - row.low) / (row.high - row.low)
                y = row.bottom + share * (row.top - row.bottom)
                r = wider * radius
                draw.ellipse([x - r, y - r, x + r, y + r], fill=color, outline="white", width=1)
        clock = f"{moment - run.time[0]:.2f} s"
        draw.text((first.right, 1.3 * self.text), clock, fill=INK, font=self.font, anchor="rm")
        return np.asarray(image)

    def _font(self) -> Any:
        from matplotlib import font_manager
        from PIL import ImageFont

        return ImageFont.truetype(font_manager.findfont("DejaVu Sans:bold"), max(9, round(self.text * 1.15)))

    def _draw(self, strength: float) -> tuple[np.ndarray, list[_Row]]:
        """(pixels, where each row stands) with curves as strong as told."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        dpi, n, W, H = 100.0, len(self.joints), self.width, self.height
        figure = Figure(figsize=(W / dpi, H / dpi), dpi=dpi, facecolor="white")
        canvas = FigureCanvasAgg(figure)
        head, foot = (3.9 if self.flat else 4.9 if self.single else 5.0) * self.text, 3.0 * self.text
        edge = (4.6 if self.single else 3.6) * self.text
        each, above = (H - head - foot) / n, 0.06 * (not self.single)
        axes = []
        for k, joint in enumerate(self.joints):
            bottom = foot + (n - 1 - k + above) * each
            tall = each if self.single else 0.74 * each
            place = (edge / W, bottom / H, (W - edge - 1.4 * self.text) / W, tall / H)
            axis = figure.add_axes(place)
            self._draw_row(axis, joint, strength, last=k == n - 1)
            axes.append(axis)
        self._head(figure, axes[0])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph")  # a letter that the font has not is drawn as a box
            canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[..., :3].copy()
        boxes = [(axis.get_window_extent(), axis.get_ylim()) for axis in axes]
        return pixels, [_Row(b.x0, b.x1, H - b.y1, H - b.y0, *ends) for b, ends in boxes]

    def _draw_row(self, axis: Any, joint: str, strength: float, *, last: bool) -> None:
        """One joint's curves."""
        run, text, scale = self.run, self.text * 0.72, self.scale
        time, small = run.time - run.time[0], 0.9 if self.single else 0.85
        if joint in run.asked:
            thin = {"color": "#9aa0a8", "linewidth": 1.0, "alpha": strength}
            axis.plot(time, scale * run.asked[joint], label="target", **thin)
        if run.band is not None:
            low, high = (scale * side[joint] for side in (run.band.low, run.band.high))
            pale = {"color": PREDICTED, "alpha": 0.2 * strength, "linewidth": 0}
            axis.fill_between(time, low, high, label="95 % band", **pale)
        seen = np.isfinite(run.recorded[joint])
        thick = {"color": RECORDED, "linewidth": 2.6, "alpha": 0.55 * strength, "solid_capstyle": "round"}
        name = "recording" if self.single else "recording (ghost)"
        axis.plot(time[seen], scale * run.recorded[joint][seen], label=name, **thick)
        sharp = {"color": PREDICTED, "linewidth": 1.4, "alpha": strength}
        axis.plot(time, scale * run.predicted[joint], label="model", **sharp)
        axis.set_xlim(time[0], time[-1])
        axis.tick_params(labelsize=(small - 0.05) * text, length=0, colors=GREY, labelbottom=last)
        axis.grid(color="#e6e8eb", linewidth=0.7)
        axis.set_axisbelow(True)
        for spine in axis.spines.values():
            spine.set_visible(False)
        if last:
            axis.set_xlabel("time [s]", fontsize=small * text, color=GREY)
        if self.single:
            axis.set_ylabel(f"position [{self.unit}]", fontsize=small * text, color=GREY)
            return
        low, high = axis.get_ylim()
        spare = 0.5 * max(LEAST * scale * self.span - (high - low), 0.0)
        axis.set_ylim(low - spare, high + spare)
        axis.locator_params(axis="y", nbins=3)
        off = f"off by {1e3 * run.off(run.predicted, joint):.3g} {run.unit}"
        look = {"loc": "left", "fontsize": small * text, "color": INK, "pad": 2, "parse_math": False}
        axis.set_title(f"{joint} [{self.unit}], {off}", **look)

    def _head(self, figure: Any, axis: Any) -> None:
        """Name and clock, where the model comes from, what is left, and which colour is which."""
        run, text = self.run, self.text * 0.72
        line, x0 = 1.5 * self.text / self.height, 1.2 * self.text / self.width
        y0 = 1.0 - 1.3 * self.text / self.height
        name = _shorten(run.name, int((self.width - 6.5 * self.text) / (0.66 * self.text)))
        room = self.width * (0.6 if self.flat else 0.95)
        message = f"{run.model}; RMS {1e3 * run.rms:.3g} {run.unit}"
        source = _shorten(message, int(room / (0.52 * self.text)))
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
        figure.legend([_strong(h) for h in handles], labels, ncols=4, **place, **small)


def _finite(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]


def _strong(handle: Any) -> Any:
    """A legend's line or area in full colour, whatever the curve's strength."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if not hasattr(handle, "get_xdata"):
        return Patch(facecolor=PREDICTED, alpha=0.3)
    return Line2D([], [], color=handle.get_color(), linewidth=max(2.0, handle.get_linewidth()))


def _shorten(text: str, room: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= room else text[: max(room - 1, 1)].rstrip() + "\u2026"
