"""How a report looks: its style sheet, and the few lines of script that draw its figures, also for print."""

from __future__ import annotations

STYLE = """
:root { color-scheme: light dark; --ink: #1d1d1b; --soft: #55534d; --line: #dedbd3; --strong: #b9b5aa;
  --paper: #fff; --link: #1f5fa8; --banner: #f6f1e2; --edge: #e4d9b5; --quiet: #f5f4f0;
  --good: #3a8f5c; --fair: #8a7a2f; --poor: #b23a55; }
@media screen and (prefers-color-scheme: dark) {
  :root { --ink: #e8e6e1; --soft: #a9a69f; --line: #3a3d42; --strong: #5b5f66; --paper: #16181b;
    --link: #8ab8f0; --banner: #2c2819; --edge: #574d28; --quiet: #202327;
    --good: #5fbf86; --fair: #c9b458; --poor: #e0738c; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
body { margin: 0 auto; max-width: 1240px; padding: 20px 24px 60px; background: var(--paper);
  color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 6px; }
h2 { font-size: 1.3rem; margin: 40px 0 10px; padding-top: 8px; border-top: 1px solid var(--line); }
h3 { font-size: 1.08rem; margin: 26px 0 6px; }
h4 { font-size: 1rem; margin: 14px 0 2px; }
p { margin: 8px 0; max-width: 80ch; }
a { color: var(--link); }
.note, figcaption { color: var(--soft); font-size: .9rem; }
.lead { font-size: 1.12rem; border-left: 5px solid var(--fair); padding: 4px 0 4px 14px; }
.lead.good { border-color: var(--good); }
.lead.poor { border-color: var(--poor); }
.banner { background: var(--banner); border: 1px solid var(--edge); border-radius: 6px; padding: 8px 12px; }
.missing { color: var(--soft); background: var(--quiet); border-radius: 6px; padding: 8px 12px; }
nav ol { margin: 12px 0 0; padding-left: 1.5em; columns: 2; font-size: .95rem; }
nav li { break-inside: avoid; margin-bottom: 3px; }
.columns, main, section, figure, .one > div, .pair > div { min-width: 0; }
figure { margin: 16px 0 22px; }
figcaption { margin-top: 2px; max-width: 90ch; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 380px), 1fr));
  gap: 12px 20px; }
.figures .pair { grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); }
.wide { grid-column: 1 / -1; }
.plot { width: 100%; }
/* the tools of a figure stand above it, where no legend is */
.plot .modebar-container { top: -26px !important; height: 26px !important; }
.plot .modebar, .plot .modebar-group { background: transparent !important; }
.plot.bar { max-width: 820px; }
.scroll { overflow-x: auto; margin: 10px 0; }
.scroll:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums;
  overflow-wrap: normal; }
caption { text-align: left; color: var(--soft); padding-bottom: 4px; }
th, td { text-align: left; vertical-align: top; padding: 5px 11px 5px 0; border-bottom: 1px solid var(--line);
  min-width: 3em; max-width: 34em; }
th { font-weight: 600; border-bottom-color: var(--strong); }
th.n, td.n { text-align: right; }
th { vertical-align: bottom; }
th.s, th.w { white-space: nowrap; }
th.n { min-width: 5.5em; }
td.n, td.s { white-space: nowrap; }
td.w { min-width: 14em; white-space: pre-line; }
td.w:first-child { min-width: 9em; max-width: 15em; white-space: normal; }
.findings { padding-left: 1.2em; }
.findings li { margin-bottom: 12px; max-width: 90ch; }
@media (min-width: 1000px) {
  .columns { display: grid; grid-template-columns: 200px minmax(0, 1fr); gap: 36px; }
  nav { position: sticky; top: 16px; align-self: start; }
  nav ol { columns: 1; }
}
@media (max-width: 480px) {
  body { padding: 14px 14px 40px; }
  h1 { font-size: 1.35rem; }
  nav ol { columns: 1; }
  nav li { padding: 3px 0; }
}
@media screen and (max-width: 600px) {  /* a row is a card: its name, then each number under its own title */
  .cards, .cards tbody, .cards caption { display: block; }
  .cards thead { display: none; }
  .cards tr { display: grid; grid-template-columns: 1fr 1fr; gap: 2px 14px; padding: 8px 0;
    border-bottom: 1px solid var(--line); }
  .cards td { border: 0; padding: 0; text-align: left; white-space: normal; min-width: 0;
    overflow-wrap: anywhere; }
  .cards td:first-child, .cards td.w { grid-column: 1 / -1; }
  .cards td:first-child { font-weight: 600; font-size: .95rem; }
  .cards td:not(:first-child)::before { content: attr(data-of); color: var(--soft); margin-right: .5em; }
  .cards td.none { display: none; }
  td.w { min-width: 0; }
}
@media print {
  @page { size: A4; margin: 14mm; }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  nav { display: none; }
  .columns, .pair { display: block; }
  h2, h3, h4 { break-after: avoid; }
  figure, tr, .findings li, .lead { break-inside: avoid; }
  .scroll { overflow: visible; }
  table { width: 100%; font-size: 7.5pt; }
  th, td { padding: 3px 6px 3px 0; white-space: normal; overflow-wrap: break-word; max-width: none; }
  td.w { min-width: 0; }
  a { color: inherit; text-decoration: none; }
  .modebar { display: none !important; }
}
"""

SCRIPT = """
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
"""
