// Sliders of a fit: each move runs the logs again and moves their curves. While a slider moves, only the
// lines are written anew; once it rests, plotly is told, and its axes follow.

const RESTS = 160;  // ms without a move
const MOST = 3000;  // points of a line

function traces(plot) {  // which curves of a plot move
  const found = {};
  plot._fullData.forEach(function (trace, i) {
    if (trace.name === "predicted") { found[trace.yaxis === "y" ? "position" : "current"] = i; }
    if (trace.yaxis === "y2") { found.left = i; }
  });
  return found;
}

function line(xs, ys, xa, ya) {  // the path of a curve on plotly's axes
  const n = xs.length, every = Math.max(1, Math.ceil(n / MOST));
  let d = "", up = true;
  for (let k = 0; k < n; k += every) {
    const y = ya._m * ys[k] + ya._b;
    if (!Number.isFinite(y)) { up = true; continue; }
    const x = xa._m * xs[k] + xa._b;
    d += (up ? "M" : "L") + Math.round(10 * x) / 10 + "," + Math.round(10 * y) / 10;
    up = false;
  }
  return d;
}

function lines(plot, log, run) {  // at once, on the axes as they are
  if (!plot._fullLayout) { return; }
  const which = traces(plot);
  for (const name in which) {
    const trace = plot._fullData[which[name]], layout = plot._fullLayout;
    const path = plot.querySelector(".trace" + trace.uid + " path.js-line");
    const axis = layout["yaxis" + trace.yaxis.slice(1)];
    if (path && run[name]) { path.setAttribute("d", line(log.at, run[name], layout.xaxis, axis)); }
  }
}

function drawn(plot, log, run) {  // in full, with axes that fit
  if (!plot._fullLayout) { return; }
  const which = traces(plot), names = Object.keys(which).filter((name) => run[name]);
  const every = Math.max(1, Math.ceil(log.at.length / MOST));
  const thin = (a) => Array.from(every > 1 ? a.filter((v, k) => k % every === 0) : a);
  Plotly.restyle(plot, { x: names.map(() => thin(log.at)), y: names.map((name) => thin(run[name])) },
    names.map((name) => which[name]));
}

function panel(given, index) {
  const box = document.getElementById("live-" + index), unit = given.unit;
  const logs = given.logs.map(prepared), plots = logs.map((log) => document.getElementById(log.plot));
  const fitted = given.sliders.map((s) => s.value);
  const values = fitted.slice();
  const inputs = given.sliders.map((s, i) => document.getElementById("live-" + index + "-" + i));
  const told = box.querySelector(".live-error"), spoken = box.querySelector("[role=status]");
  const back = box.querySelector("[data-to=fit]"), stated = box.querySelector("[data-to=stated]");
  const said = plots.map(function (plot) {
    const place = document.createElement("output");
    place.className = "now";
    const caption = plot.closest("figure").querySelector("figcaption");
    caption.append(/[.!?]$/.test(caption.textContent) ? " " : ". ", place);
    return place;
  });
  let runs = [], first = null, waiting = 0, resting = 0, drawing = 0;

  function effective() {  // one is never smaller than another
    const v = values.slice();
    given.sliders.forEach((s, i) => { if (s.over >= 0) { v[i] = Math.max(v[i], v[s.over]); } });
    return v;
  }
  function mean(held) {
    const errors = runs.filter((r, k) => logs[k].held === held).map((r) => r.error);
    return errors.length ? errors.reduce((a, b) => a + b, 0) / errors.length : null;
  }
  function words(held) {
    const now = mean(held);
    if (now === null) { return null; }
    const before = first[held ? 1 : 0], other = Math.abs(now - before) > 1e-4 * before;
    return [(held ? "held-out logs " : "fitted logs ") + written(now, 3) + " " + unit,
      other ? " (fit: " + written(before, 3) + ")" : "", other];
  }
  function tell(v) {
    const moved = values.map((x, i) => x !== fitted[i]);
    inputs.forEach(function (input, i) {
      const s = given.sliders[i], text = written(v[i], 4) + (s.unit ? " " + s.unit : "");
      document.getElementById(input.id + "-now").textContent = text;
      input.setAttribute("aria-valuetext", text);
      input.closest(".slider").classList.toggle("moved", v[i] !== fitted[i]);
    });
    back.disabled = !moved.includes(true);
    told.textContent = "";
    [false, true].map(words).filter((w) => w).forEach(function (w, i) {
      told.append(i ? ", " : "off by: ");
      const now = document.createElement("span");
      now.textContent = w[0];
      now.classList.toggle("moved", w[2]);
      told.append(now, w[1]);
    });
    said.forEach(function (place, k) {
      const r = runs[k].error, other = moved.includes(true);
      const banded = (plots[k].data || []).some((trace) => trace.fill === "tonexty");
      plots[k].classList.toggle("other", other);
      place.textContent = other ? "With these numbers: " +
        (Number.isFinite(r) ? written(r, 3) + " " + unit : "it runs away") + "." +
        (banded ? " The band is of the fit's numbers, and comes back with them." : "") : "";
    });
  }
  function move() {  // now
    waiting = 0;
    const v = effective();
    runs = logs.map((log) => follow(log, v));
    if (!first) { first = [mean(false), mean(true)]; }
    tell(v);
    plots.forEach((plot, k) => lines(plot, logs[k], runs[k]));
  }
  function rest() {  // later, one figure at a time
    clearTimeout(drawing);
    spoken.textContent = told.textContent;
    let k = 0;
    (function next() {
      if (k < plots.length) { drawn(plots[k], logs[k], runs[k]); k++; drawing = setTimeout(next, 0); }
      else { delete box.dataset.moving; }
    })();
  }
  function changed() {
    if (!waiting) { waiting = requestAnimationFrame(move); }
    box.dataset.moving = "";
    clearTimeout(resting);
    clearTimeout(drawing);
    resting = setTimeout(rest, RESTS);
  }
  function set(to) {
    to.forEach(function (value, i) {
      if (value === null) { return; }
      values[i] = value;
      const s = given.sliders[i];
      inputs[i].value = Math.round(1000 * (value - s.least) / (s.most - s.least));
    });
    changed();
  }
  inputs.forEach(function (input, i) {
    input.addEventListener("input", function () {
      const s = given.sliders[i];
      values[i] = s.least + (s.most - s.least) * input.value / 1000;
      changed();
    });
  });
  back.addEventListener("click", () => set(fitted));
  if (stated) { stated.addEventListener("click", () => set(given.sliders.map((s) => s.stated))); }
  // Whoever draws the figures anew, for the dark or for paper, draws the fit.
  const again = () => { if (!back.disabled) { changed(); } };
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  window.addEventListener("afterprint", again);
  box.hidden = false;
  box.querySelector("details").open = window.innerWidth > 700;
  runs = logs.map((log) => follow(log, values));
  first = [mean(false), mean(true)];
  tell(values);
  box.move = function (to) { set(to); cancelAnimationFrame(waiting); move(); };  // for measurements
}

JSON.parse(document.getElementById("live").textContent).forEach(panel);
