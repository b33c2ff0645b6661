// Curves as SVG: recorded against predicted, drawn again as a fit moves or a slider does.

import {fresh, h, number, s, unit} from "./dom.js";

const W = 480, H = 220, LEFT = 58, RIGHT = 12, TOP = 22, BOTTOM = 36;

function ticks(low, high, n) {
  const raw = (high - low) / n || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw);
  const first = Math.ceil(low / step) * step;
  const made = [];
  for (let k = 0; first + k * step <= high + 1e-9 * step; k += 1) made.push(Math.abs(first + k * step) < 1e-9 * step ? 0 : first + k * step);
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

const dots = (xs, ys, X, Y) => xs.map((x, k) => (Number.isFinite(ys[k]) ? `M${X(x).toFixed(1)},${Y(ys[k]).toFixed(1)}h0` : "")).join("");

const ends = (values) => {
  let low = Infinity, high = -Infinity;
  for (const y of values) if (Number.isFinite(y)) { low = Math.min(low, y); high = Math.max(high, y); }
  const margin = 0.05 * (high - low || Math.abs(high) || 1);
  return [low - margin, high + margin];
};

/** One figure: {name, title, x, y: axis labels, series: [{label, x, y, kind: "recorded" | "predicted" | "thin", dots}]}. */
export function panel({name, title, x, y, series}) {
  const some = series.filter((one) => one.x.length);
  const all = some.flatMap((one) => one.x), t0 = Math.min(...all), t1 = Math.max(...all);
  const [low, high] = ends(some.flatMap((one) => one.y));
  const X = (t) => LEFT + ((W - LEFT - RIGHT) * (t - t0)) / (t1 - t0 || 1);
  const Y = (v) => H - BOTTOM - ((H - TOP - BOTTOM) * (v - low)) / (high - low || 1);
  const id = fresh("curve");
  const drawn = s("svg", {viewBox: `0 0 ${W} ${H}`, class: "curve", role: "img", "aria-labelledby": id},
    s("title", {id}, title ?? name),
    ticks(low, high, 4).map((v) => [
      s("line", {x1: LEFT, x2: W - RIGHT, y1: Y(v), y2: Y(v), class: "grid"}),
      s("text", {x: LEFT - 6, y: Y(v) + 4, "text-anchor": "end"}, number(v, 3)),
    ]),
    ticks(t0, t1, 5).map((t) => s("text", {x: X(t), y: H - BOTTOM + 16, "text-anchor": "middle"}, number(t, 3))),
    s("text", {x: W - RIGHT, y: H - 3, "text-anchor": "end"}, x),
    s("text", {x: 4, y: 13}, y),
    some.map((one) => s("path", {d: (one.dots ? dots : line)(one.x, one.y, X, Y), class: `${one.kind}${one.dots ? " dots" : ""}`})),
  );
  return h("figure", {class: "figure"}, h("figcaption", {}, name, some.filter((one) => one.label).map((one) => h("span", {class: `key ${one.kind}`}, one.label))), drawn);
}

/** Recorded against predicted position: {name, unit, time, recorded, predicted}. */
export function curve(one) {
  return panel({name: one.name, title: `${one.name}: recorded and predicted position over time`, x: "time [s]", y: `position [${unit(one.unit)}]`, series: [
    {label: "recorded", x: one.time, y: one.recorded, kind: "recorded"},
    {label: "predicted", x: one.time, y: one.predicted, kind: "predicted"},
  ]});
}
