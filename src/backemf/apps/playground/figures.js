"use strict";
(function () {
  const text = document.getElementById("figures").textContent;
  const night = window.matchMedia("(prefers-color-scheme: dark)");
  // Colours of the figures in the dark; what is not here stays as it is.
  const DARK = { "#1d1d1b": "#e8e6e1", "#e3e1db": "#33363b", "#fff": "#16181b", "#c9c6be": "#4a4e55",
    "#b5b2aa": "#5b5f66", "#8d8d88": "#9a9a95", "#5a5346": "#b8b09e", "#f1eee7": "#24272b", "#444": "#bbb",
    "#1f5fa8": "#6fa8e6", "#d2622a": "#f08c55", "#3a8f5c": "#5fbf86", "#b23a55": "#e0738c",
    "#7a5aa6": "#ab90d6", "#8a7a2f": "#c9b458", "#4a9fb0": "#6fc3d4", "#f7f7f7": "#24272b",
    "#2166ac": "#4f95dc", "#b2182b": "#e2565f" };
  function coloured(value) {
    if (typeof value === "string") {
      return DARK[value] || (value.startsWith("rgba(") ? value.replace(",0.16)", ",0.36)") : value);
    }
    if (Array.isArray(value)) { return value.map(coloured); }
    if (value === null || typeof value !== "object") { return value; }
    return Object.fromEntries(Object.entries(value).map((e) => [e[0], coloured(e[1])]));
  }
  function read(dark) { const f = JSON.parse(text); return dark ? f.map(coloured) : f; }
  let figures = read(night.matches);
  const narrow = window.matchMedia("(max-width: 700px), (pointer: coarse)").matches;
  const config = { responsive: true, displaylogo: false, displayModeBar: narrow ? false : "hover",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
  const places = figures.map((f, k) => document.getElementById("plot-" + k));
  function fitted(k) {
    const f = figures[k], named = f.data.filter((t) => t.showlegend).length;
    // On a phone a finger on a figure must scroll the page, not zoom the figure.
    if (narrow) { f.layout.dragmode = false; }
    if (narrow && f.layout.showlegend && named > 3) {  // its rows must not come out of the figure
      f.layout.height += 20 * (named - 2);
      places[k].style.height = f.layout.height + "px";
    }
    if (narrow && f.data[0].type === "heatmap") {
      f.data[0].showscale = false; delete f.layout.yaxis.scaleanchor;
    }
    return f;
  }
  function draw(k) { const f = fitted(k); Plotly.newPlot(places[k], f.data, f.layout, config); }
  // One figure at a time, so that a long page can be read meanwhile; before printing, all that are left.
  let next = 0;
  function done() { document.documentElement.dataset.drawn = String(figures.length); }
  function step() { if (next < figures.length) { draw(next++); setTimeout(step, 0); } else { done(); } }
  function rest() { while (next < figures.length) { draw(next++); } done(); }
  step();
  const paper = 680, tall = 420;  // two figures of this height share a page
  function sized(p, width, height) {
    p.style.height = height + "px";
    Plotly.relayout(p, { autosize: width === null, width: width, height: height });
  }
  function dressed(dark) {  // paper is always white
    figures = read(dark);
    places.forEach(function (p, k) { const f = fitted(k); Plotly.react(p, f.data, f.layout, config); });
  }
  night.addEventListener("change", function () { rest(); dressed(night.matches); });
  function printing() { rest(); if (night.matches) { dressed(false); } places.forEach(function (p, k) {
    const curves = p.classList.contains("scatter"),
      height = figures[k].height || (figures[k].height = figures[k].layout.height);
    sized(p, p.classList.contains("heatmap") ? Math.min(paper, p.clientWidth) : paper,
      curves ? Math.min(height, tall) : height);
    Plotly.redraw(p);  // a legend that now needs fewer rows gives its space back only then
  }); }
  function again() {
    const heights = figures.map((f) => f.height);
    if (night.matches) { dressed(true); }
    places.forEach((p, k) => sized(p, null, heights[k]));
  }
  window.addEventListener("beforeprint", printing);
  window.addEventListener("afterprint", again);
})();
