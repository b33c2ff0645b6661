"""How a report looks: its style sheet, and the few lines of script that draw its figures, also for print."""

from __future__ import annotations

STYLE = """
:root { --ink: #1d1d1b; --soft: #55534d; --line: #dedbd3; --paper: #fff; --link: #1f5fa8; }
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
.lead { font-size: 1.12rem; border-left: 5px solid #8a7a2f; padding: 4px 0 4px 14px; }
.lead.good { border-color: #3a8f5c; }
.lead.poor { border-color: #b23a55; }
.banner { background: #f6f1e2; border: 1px solid #e4d9b5; border-radius: 6px; padding: 8px 12px; }
.missing { color: var(--soft); background: #f5f4f0; border-radius: 6px; padding: 8px 12px; }
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
.plot.bar { max-width: 820px; }
.scroll { overflow-x: auto; margin: 10px 0; }
.scroll:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-size: .87rem; font-variant-numeric: tabular-nums;
  overflow-wrap: normal; }
caption { text-align: left; color: var(--soft); padding-bottom: 4px; }
th, td { text-align: left; vertical-align: top; padding: 5px 11px 5px 0; border-bottom: 1px solid var(--line);
  min-width: 3em; max-width: 34em; }
th { font-weight: 600; border-bottom-color: #b9b5aa; white-space: nowrap; }
th.n, td.n { text-align: right; }
td.n, td.s { white-space: nowrap; }
td.w { min-width: 14em; }
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
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const narrow = window.matchMedia("(max-width: 700px), (pointer: coarse)").matches;
  const config = { responsive: true, displaylogo: false, displayModeBar: narrow ? false : "hover",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] };
  const places = figures.map((f, k) => document.getElementById("plot-" + k));
  function draw(k) {
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
    Plotly.newPlot(places[k], f.data, f.layout, config);
  }
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
  function printing() { rest(); places.forEach(function (p, k) {
    const curves = p.classList.contains("scatter"),
      height = figures[k].height || (figures[k].height = figures[k].layout.height);
    sized(p, p.classList.contains("heatmap") ? Math.min(paper, p.clientWidth) : paper,
      curves ? Math.min(height, tall) : height);
    Plotly.redraw(p);  // a legend that now needs fewer rows gives its space back only then
  }); }
  function again() { places.forEach((p, k) => sized(p, null, figures[k].height)); }
  window.addEventListener("beforeprint", printing);
  window.addEventListener("afterprint", again);
})();
"""
