// Curves as SVG: one set of axes, redrawn whole at every move. Colours are the style sheet's.

const SVG = "http://www.w3.org/2000/svg";
const EDGE = { left: 58, right: 10, top: 8, bottom: 40 };

function shape(kind, attributes, text) {
  const made = document.createElementNS(SVG, kind);
  for (const name in attributes) { made.setAttribute(name, attributes[name]); }
  if (text !== undefined) { made.textContent = text; }
  return made;
}

function ends(arrays) {  // the least and the greatest number
  let least = Infinity, most = -Infinity;
  for (const a of arrays) {
    for (let k = 0; k < a.length; k++) {
      if (Number.isFinite(a[k])) { least = Math.min(least, a[k]); most = Math.max(most, a[k]); }
    }
  }
  return least <= most ? [least, most] : [0, 1];
}

function ticks(least, most, many) {
  const rough = (most - least) / many, size = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * size).find((s) => s >= rough);
  const found = [];
  for (let k = Math.ceil(least / step - 1e-9); k * step <= most + 1e-9 * step; k++) { found.push(k * step); }
  return found;
}

// A plot in `host`: draw(curves, cursor). A curve is { x, y, look: "c0", "c1 dashed", "dots", ... }; x and y
// may be of any length; `least` is the smallest span of the y axis.
function plotted(host, about) {
  const picture = shape("svg", { role: "img" });
  host.append(picture);
  const kept = { x: null, y: null };
  function scale(range, from, to) {
    const m = (to - from) / (range[1] - range[0]);
    return (v) => from + m * (v - range[0]);
  }
  function padded(range, least) {
    let [a, b] = range;
    const lack = Math.max(least || 0, 1e-9 * Math.max(Math.abs(a), Math.abs(b), 1e-6)) - (b - a);
    if (lack > 0) { a -= lack / 2; b += lack / 2; }
    const more = 0.06 * (b - a);
    return [a - more, b + more];
  }
  function draw(curves, marks) {
    const width = host.clientWidth || 600, height = about.height;
    const xs = curves.map((c) => c.x), ys = curves.map((c) => c.y);
    const xr = about.x.unit === "s" ? ends(xs) : padded(ends(xs), about.x.least);
    const yr = padded(ends(ys), about.y.least);
    const x = scale(xr, EDGE.left, width - EDGE.right), y = scale(yr, height - EDGE.bottom, EDGE.top);
    Object.assign(kept, { x, xr, width });
    picture.setAttribute("viewBox", "0 0 " + width + " " + height);
    picture.setAttribute("width", width);
    picture.setAttribute("height", height);
    const parts = [];
    for (const t of ticks(xr[0], xr[1], Math.max(2, width / 110))) {
      parts.push(shape("line", { class: "grid", x1: x(t), x2: x(t), y1: EDGE.top, y2: height - EDGE.bottom }));
      parts.push(shape("text", { class: "tick", x: x(t), y: height - 24, "text-anchor": "middle" },
        written(t, 3)));
    }
    parts.push(shape("text", { class: "tick axis", x: (EDGE.left + width - EDGE.right) / 2, y: height - 6,
      "text-anchor": "middle" }, about.x.label + (about.x.unit ? " [" + about.x.unit + "]" : "")));
    for (const t of ticks(yr[0], yr[1], Math.max(2, height / 45))) {
      parts.push(shape("line", { class: "grid" + (Math.abs(t) < 1e-12 ? " zero" : ""), x1: EDGE.left,
        x2: width - EDGE.right, y1: y(t), y2: y(t) }));
      parts.push(shape("text", { class: "tick", x: EDGE.left - 6, y: y(t) + 4, "text-anchor": "end" },
        written(t, 3)));
    }
    for (const c of curves) {
      let d = "", up = true;
      for (let k = 0; k < c.x.length; k++) {
        if (!Number.isFinite(c.y[k])) { up = true; continue; }
        const px = Math.round(10 * x(c.x[k])) / 10, py = Math.round(10 * y(c.y[k])) / 10;
        if (c.look === "dots") { d += "M" + px + "," + py + "h0"; continue; }
        d += (up ? "M" : "L") + px + "," + py;
        up = false;
      }
      parts.push(shape("path", { class: "curve " + c.look, d }));
    }
    for (const m of marks || []) {
      if (m.y === undefined) {
        parts.push(shape("line", { class: "cursor", x1: x(m.x), x2: x(m.x), y1: EDGE.top,
          y2: height - EDGE.bottom }));
      } else if (Number.isFinite(m.x) && Number.isFinite(m.y)) {
        parts.push(shape("circle", { class: "spot " + m.look, cx: x(m.x), cy: y(m.y), r: 5 }));
      }
    }
    picture.replaceChildren(...parts);
    picture.setAttribute("aria-label", about.y.label + " over " + about.x.label + ": from " +
      written(ends(ys)[0], 3) + " to " + written(ends(ys)[1], 3) + " " + about.y.unit);
  }
  function at(event) {  // where on the x axis a pointer is
    const box = picture.getBoundingClientRect(), range = kept.xr;
    const share = (event.clientX - box.left - EDGE.left) / (kept.width - EDGE.left - EDGE.right);
    return range[0] + Math.min(Math.max(share, 0), 1) * (range[1] - range[0]);
  }
  return { draw, at, picture };
}
