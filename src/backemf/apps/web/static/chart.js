// Curves as SVG: recorded against predicted, drawn again as a fit moves.

import {fresh, h, number, s, unit} from "./dom.js";

const W = 480, H = 220, LEFT = 54, RIGHT = 12, TOP = 10, BOTTOM = 38;

function ticks(low, high, n) {
  const raw = (high - low) / n || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw);
  const first = Math.ceil(low / step) * step;
  const made = [];
  for (let k = 0; first + k * step <= high + 1e-9 * step; k += 1) made.push(first + k * step);
  return made;
}

const line = (xs, ys, X, Y) => {
  let path = "", up = false;
  for (let k = 0; k < xs.length; k += 1) {
    if (!Number.isFinite(ys[k])) { up = false; continue; }
    path += `${up ? "L" : "M"}${X(xs[k]).toFixed(1)},${Y(ys[k]).toFixed(1)}`;
    up = true;
  }
  return path;
};

/** One figure: {name, unit, time, recorded, predicted}. */
export function curve(one) {
  const ys = [...one.recorded, ...one.predicted].filter(Number.isFinite);
  const t0 = one.time[0], t1 = one.time.at(-1);
  let low = Math.min(...ys), high = Math.max(...ys);
  const margin = 0.05 * (high - low || 1);
  low -= margin;
  high += margin;
  const X = (t) => LEFT + ((W - LEFT - RIGHT) * (t - t0)) / (t1 - t0 || 1);
  const Y = (y) => H - BOTTOM - ((H - TOP - BOTTOM) * (y - low)) / (high - low || 1);
  const title = fresh("curve");
  const drawn = s("svg", {viewBox: `0 0 ${W} ${H}`, class: "curve", role: "img", "aria-labelledby": title},
    s("title", {id: title}, `${one.name}: recorded and predicted position over time`),
    ticks(low, high, 4).map((y) => [
      s("line", {x1: LEFT, x2: W - RIGHT, y1: Y(y), y2: Y(y), class: "grid"}),
      s("text", {x: LEFT - 6, y: Y(y) + 4, "text-anchor": "end"}, number(y, 3)),
    ]),
    ticks(t0, t1, 5).map((t) => s("text", {x: X(t), y: H - BOTTOM + 16, "text-anchor": "middle"}, number(t, 3))),
    s("text", {x: W - RIGHT, y: H - 3, "text-anchor": "end"}, "time [s]"),
    s("text", {x: LEFT, y: H - 3}, `position [${unit(one.unit)}]`),
    s("path", {d: line(one.time, one.recorded, X, Y), class: "recorded"}),
    s("path", {d: line(one.time, one.predicted, X, Y), class: "predicted"}),
  );
  return h("figure", {class: "figure"}, h("figcaption", {}, one.name,
    h("span", {class: "key recorded"}, "recorded"), h("span", {class: "key predicted"}, "predicted")), drawn);
}
