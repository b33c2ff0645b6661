// A page to play with: choices, sliders, plots, and an address that says what is chosen.

const SCENE = JSON.parse(document.getElementById("scene").textContent);
const SAMPLES = 801, FINEST = 1e-5, MOST_STEPS = 200000, TOLERANCE = 1e-4, RESTS = 200;
const root = document.querySelector(".play");
const byKey = (list) => Object.fromEntries(list.map((one) => [one.key, one]));
const VARIANTS = byKey(SCENE.variants), BENCHES = byKey(SCENE.benches);
const find = (name) => root.querySelector("[data-is=" + name + "]");
const state = { set: {}, n: 4, cursor: 0.06 };
let runs = [], waiting = 0, resting = 0, plots = [];

// ---- what is chosen -------------------------------------------------------------------------------------

function begin() {  // what the page shows first
  Object.assign(state, { variant: SCENE.start.variant, other: SCENE.start.other || "",
    bench: SCENE.start.bench, motion: SCENE.start.motion, set: {} });
}

function numbers(variant) {  // every number that has a slider, with its bounds
  const bench = BENCHES[state.bench], own = variant.benches[state.bench];
  const kind = variant.command;
  const size = { key: "size", label: kind.label, unit: kind.unit, value: kind.size, least: kind.least,
    most: kind.most, scale: kind.scale };
  const period = { key: "period", label: "period", unit: "s", value: SCENE.start.period || kind.period,
    least: 0.1, most: 100, log: true };
  const load = bench.numbers.map((one, i) => Object.assign({}, one, own.numbers[i],
    { key: "bench." + one.key }));
  return { motion: [size, period], bench: load, actuator: variant.sliders };
}

function value(one) { return one.key in state.set ? state.set[one.key] : one.value; }

function address() {  // what differs from the page's first look
  const said = new URLSearchParams(), variant = VARIANTS[state.variant];
  for (const name of ["variant", "other", "bench", "motion"]) {
    if (state[name] !== (SCENE.start[name] || "")) { said.set(name, state[name]); }
  }
  for (const one of Object.values(numbers(variant)).flat()) {
    if (one.key in state.set) { said.set(one.key, written(state.set[one.key], 6)); }
  }
  const text = said.toString();
  history.replaceState(null, "", text ? "#" + text : location.pathname + location.search);
}

function read() {  // an address, of which nothing is believed
  begin();
  const trouble = [];
  let said;
  try { said = new URLSearchParams(location.hash.slice(1)); } catch (error) { said = new URLSearchParams(); }
  const known = { variant: VARIANTS, other: VARIANTS, bench: BENCHES, motion: MOTIONS };
  for (const name in known) {
    if (!said.has(name)) { continue; }
    const word = said.get(name), empty = name === "other" && word === "";
    if (empty || Object.prototype.hasOwnProperty.call(known[name], word)) { state[name] = word; }
    else { trouble.push("The address names " + JSON.stringify(word.slice(0, 40)) + ", which is not here."); }
  }
  if (!VARIANTS[state.variant].benches[state.bench]) { state.bench = SCENE.start.bench; }
  for (const one of Object.values(numbers(VARIANTS[state.variant])).flat()) {
    if (!said.has(one.key)) { continue; }
    const given = Number(said.get(one.key));
    if (Number.isFinite(given)) { state.set[one.key] = Math.min(Math.max(given, one.least), one.most); }
    else { trouble.push("In the address, " + one.label + " is no number."); }
  }
  return trouble.join(" ");
}

// ---- running --------------------------------------------------------------------------------------------

function parameters(variant) {  // every number of actuator and bench, with the sliders'
  const own = variant.benches[state.bench], all = numbers(variant);
  const P = Float64Array.from(variant.P.concat(own.P));
  for (const one of all.actuator) { P[one.column] = value(one); }
  for (const one of all.bench) { P[variant.P.length + one.column] = value(one); }
  return P;
}

function line(variant) {  // the motor's torque over speed at full voltage, forwards, and backwards behind a gap
  const P = parameters(variant), still = new Float64Array(1), seen = new Float64Array(2);
  function torque(w) {
    const values = Float64Array.of(w);
    KERNELS[variant.curve.kernel](P, new Float64Array(1), { values, before: values, share: still, dt: still },
      0, 1, 1, new Float64Array(1), seen);
    return seen[0];
  }
  let low = 0, high = variant.curve.speed;
  for (let k = 0; k < 40 && torque(high) > 0; k++) { high *= 2; }
  for (let k = 0; k < 60; k++) {
    const middle = (low + high) / 2;
    if (torque(middle) > 0) { low = middle; } else { high = middle; }
  }
  const x = Array.from({ length: 12 }, (u, k) => k * low / 11), y = x.map(torque);
  return { x: x.concat([NaN], x.map((v) => -v)), y: y.concat([NaN], y.map((v) => -v)),
    label: "most at " + written(seen[1], 3) + " V" };
}

function simulated(variant, n) {
  const own = variant.benches[state.bench], all = numbers(variant), P = parameters(variant);
  const lay = variant.layout, [size, period] = all.motion.map(value);
  const motion = MOTIONS[state.motion], span = motion.periods * period;
  const time = Float64Array.from({ length: SAMPLES }, (x, k) => k * span / (SAMPLES - 1));
  const asked = new Float64Array(SAMPLES * lay.width), target = new Float64Array(SAMPLES);
  for (let k = 0; k < SAMPLES; k++) {
    target[k] = motion.of(time[k], size, period);
    asked[lay.width * k + variant.command.column] = target[k];
  }
  const rows = rowsOf(time, asked, lay.width, lay.delay >= 0 ? P[lay.delay] : 0, lay.moved);
  const made = runOf(KERNELS[own.kernel], P, variant.S, rows, n, lay.widths, [], lay.pairs);
  const seen = { time, target };
  variant.signals.forEach(function (name, i) {
    seen[name] = Float64Array.from({ length: SAMPLES }, (x, k) => made.seen[k * variant.signals.length + i]);
  });
  return seen;
}

function span() { return MOTIONS[state.motion].periods * value(numbers(VARIANTS[state.variant]).motion[1]); }
function coarse() { return Math.max(1, Math.ceil(span() / (SAMPLES - 1) / 1e-3)); }

function refined(variant) {  // steps halved until position stays, as `simulate` does
  const most = Math.max(coarse(), Math.min(Math.ceil(span() / (SAMPLES - 1) / FINEST),
    Math.floor(MOST_STEPS / SAMPLES)));
  let n = Math.min(coarse(), most), last = simulated(variant, n), before = Infinity;
  while (n < most) {
    n = Math.min(2 * n, most);
    const fine = simulated(variant, n);
    let change = 0;
    for (let k = 0; k < SAMPLES; k++) {
      const d = Math.abs(fine.position[k] - last.position[k]);
      change = Number.isFinite(d) ? Math.max(change, d) : Infinity;
    }
    last = fine;
    if (change <= 0.25 * TOLERANCE && before <= TOLERANCE) { break; }
    before = change;
  }
  state.n = n;
  return last;
}

function chosen() {
  return [state.variant].concat(SCENE.compare && state.other ? [state.other] : []).map((key) => VARIANTS[key]);
}

// ---- drawing --------------------------------------------------------------------------------------------

const LOOKS = ["c0", "c1 dashed"];
function series(run, axis) {
  const scale = axis.scale || 1;
  return scale === 1 ? run[axis.of] : run[axis.of].map((v) => v * scale);
}

function heading(panel, variant) {
  const names = [], all = chosen();
  if (panel.target === variant.command.signal) { names.push(["thin", "asked"]); }
  if (SCENE.recording && panel.recording) { names.push(["dots", "recorded"]); }
  if (all.length > 1) { all.forEach((v, i) => names.push([LOOKS[i], v.short || v.title])); }
  else if (names.length) { names.push(["c0", panel.y.label]); }
  if (panel.curve && variant.curve) {
    names.push(["c2 dashed", line(variant).label], ["c0", "this motion"]);
  }
  return names;
}

function panels() {  // the plots that a variant has
  const variant = VARIANTS[state.variant];
  return SCENE.panels.filter((p) => [p.x.of, p.y.of].every((s) => s === "time" || variant.signals.includes(s)) &&
    (!p.only || p.only.includes(variant.command.signal)));
}

function laid() {  // headings and places of the plots
  const variant = VARIANTS[state.variant];
  find("first").replaceChildren();
  find("others").replaceChildren();
  plots = panels().map(function (panel, k) {
    const box = document.createElement("div"), title = document.createElement("h2");
    title.textContent = panel.title + " [" + panel.y.unit + "]" +
      (panel.x.of === "time" ? "" : " over " + panel.x.label + " [" + panel.x.unit + "]");
    for (const [look, text] of heading(panel, variant)) {
      const name = document.createElement("span"), line = document.createElement("i");
      name.className = "names";
      line.className = look;
      name.append(line, text);
      title.append(name);
    }
    box.append(title);
    (k ? find("others") : find("first")).append(box);
    const small = window.innerWidth <= 760;
    const plot = plotted(box, { x: panel.x, y: panel.y, height: k ? 200 : small ? 210 : 320 });
    if (panel.x.of === "time") {
      plot.picture.addEventListener("pointermove", function (event) {
        state.cursor = plot.at(event) / span();
        find("cursor").value = Math.round(1000 * state.cursor);
        draw();
      });
    }
    return { panel, plot };
  });
  if (SCENE.heat && !variant.signals.includes("temperature")) {
    const none = document.createElement("p");
    none.className = "note";
    none.textContent = "Temperature: its sheet does not say how it sheds heat.";
    find("others").append(none);
  }
}

function draw() {
  const variant = VARIANTS[state.variant], k = Math.round(state.cursor * (SAMPLES - 1));
  for (const { panel, plot } of plots) {
    const curves = [], marks = [];
    if (panel.target === variant.command.signal) {
      curves.push({ x: runs[0].time, y: series(runs[0], { of: "target", scale: panel.y.scale }), look: "thin" });
    }
    if (panel.recording && SCENE.recording) {
      curves.push({ x: SCENE.recording.time, look: "dots",
        y: SCENE.recording.position.map((v) => v * (panel.y.scale || 1)) });
    }
    runs.map((run, i) => [run, i]).reverse().forEach(function ([run, i]) {
      const x = series(run, panel.x), y = series(run, panel.y);
      curves.push({ x, y, look: LOOKS[i] });
      marks.push({ x: x[k], y: y[k], look: LOOKS[i].split(" ")[0] });
    });
    if (panel.curve && variant.curve) {  // over a motion that keeps to it, which shows between its dashes
      const most = line(variant);
      curves.push(Object.assign({ look: "c2 dashed" }, most));
      plot.picture.parentNode.querySelector("i.c2").nextSibling.textContent = most.label;
    }
    if (panel.x.of === "time") { marks.unshift({ x: runs[0].time[k] }); }
    plot.draw(curves, marks);
  }
  const seen = panels().filter((p) => p.x.of === "time" || p.curve).flatMap((p) => p.curve ? [p.x, p.y] : [p.y]);
  const said = [...new Map(seen.map((axis) => [axis.of, axis])).values()].map((axis) =>
    axis.label + " " + written(series(runs[0], axis)[k], 3) + (axis.unit ? " " + axis.unit : ""));
  find("now").textContent = "At " + written(runs[0].time[k], 3) + " s: " + said.join(", ") + ".";
  find("cursor").setAttribute("aria-valuetext", find("now").textContent);
  const bad = runs.some((run) => !Number.isFinite(run.position[SAMPLES - 1]));
  find("trouble").textContent = bad ? "The motion runs away: lower a gain, or the size of the motion." : state.said;
  if (SCENE.recording) { find("score").textContent = score(); }
}

function score() {  // how far from the recording, as fits say it
  const { time, position } = SCENE.recording, run = runs[0], step = run.time[1];
  let sum = 0, many = 0;
  for (let i = 0; i < time.length; i++) {
    const at = time[i] / step, k = Math.floor(at);
    if (k + 1 >= SAMPLES) { continue; }
    sum += Math.abs(run.position[k] + (at - k) * (run.position[k + 1] - run.position[k]) - position[i]);
    many++;
  }
  return "Off by " + written(1e3 * sum / many, 3) + " mrad on average; noise alone: " +
    written(SCENE.recording.noise, 2) + " mrad.";
}

function move() {
  waiting = 0;
  runs = chosen().map((variant) => simulated(variant, state.n));
  draw();
}
function changed() {
  root.dataset.moving = "";
  for (const told of root.querySelectorAll(".question [role=status]")) { told.textContent = ""; }
  if (!waiting) { waiting = requestAnimationFrame(move); }
  clearTimeout(resting);
  resting = setTimeout(function () {
    runs = chosen().map(refined);
    draw();
    address();
    find("spoken").textContent = SCENE.recording ? find("score").textContent : find("now").textContent;
    delete root.dataset.moving;
  }, RESTS);
}

// ---- controls -------------------------------------------------------------------------------------------

function knob(one, index) {
  const box = document.createElement("div"), id = "knob-" + index, scale = one.scale || 1;
  box.className = "slider";
  const label = document.createElement("label"), now = document.createElement("output");
  const track = document.createElement("div"), input = document.createElement("input");
  const tick = document.createElement("i");
  label.htmlFor = input.id = id;
  label.textContent = one.label;
  if (one.path) { label.title = one.path; }
  now.setAttribute("for", id);
  track.className = "track";
  tick.className = "tick fit";
  const log = one.log && one.least > 0;
  const share = (v) => log ? Math.log(v / one.least) / Math.log(one.most / one.least)
    : (v - one.least) / (one.most - one.least);
  const back = (x) => log ? one.least * Math.pow(one.most / one.least, x) : one.least + x * (one.most - one.least);
  tick.style.left = "calc(9px + (100% - 18px) * " + share(one.value).toFixed(4) + ")";
  Object.assign(input, { type: "range", min: "0", max: "1000", step: "1" });
  input.dataset.key = one.key;
  function tell() {
    const text = written(value(one) * scale, 3) + (one.unit ? " " + one.unit : "");
    now.textContent = text;
    input.setAttribute("aria-valuetext", text);
    box.classList.toggle("moved", one.key in state.set);
  }
  input.value = Math.round(1000 * share(value(one)));
  input.addEventListener("input", function () {
    const near = Math.abs(input.value - 1000 * share(one.value)) < 1;
    if (near) { delete state.set[one.key]; } else { state.set[one.key] = back(input.value / 1000); }
    tell();
    changed();
  });
  tell();
  track.append(tick, input);
  box.append(label, now, track);
  return box;
}

function controls() {
  const all = numbers(VARIANTS[state.variant]);
  let index = 0;
  for (const name in all) {
    const place = find("knobs-" + name);
    if (place) {
      place.replaceChildren(...all[name].map((one) => knob(one, index++)));
      place.closest("fieldset, details").hidden = !all[name].length;
    }
  }
  for (const name of ["variant", "other", "bench", "motion"]) { if (find(name)) { find(name).value = state[name]; } }
  if (find("about")) { find("about").textContent = VARIANTS[state.variant].note; }
}

function options(select, list, grouped) {
  const groups = new Map();
  for (const one of list) {
    const option = document.createElement("option");
    option.value = one.key;
    option.textContent = one.title;
    if (!grouped || !one.group) { select.append(option); continue; }
    if (!groups.has(one.group)) {
      const group = document.createElement("optgroup");
      group.label = one.group;
      groups.set(one.group, group);
      select.append(group);
    }
    groups.get(one.group).append(option);
  }
}

function fresh() { controls(); laid(); changed(); move(); }

function choose(name) {
  const select = find(name);
  if (!select) { return; }
  select.addEventListener("change", function () {
    const before = VARIANTS[state.variant];
    state[name] = select.value;
    state.said = "";
    const now = VARIANTS[state.variant];
    if (name === "variant") {  // what was set of the motion stays where both are asked alike
      const same = before.command.signal === now.command.signal && SCENE.compare;
      const there = new Set(now.sliders.map((one) => one.key));
      for (const key in state.set) {
        if (!(same && (key === "size" || key === "period" || key.startsWith("bench.") || there.has(key)))) {
          delete state.set[key];
        }
      }
    }
    if (name === "bench") {
      for (const key in state.set) { if (key.startsWith("bench.")) { delete state.set[key]; } }
    }
    fresh();
  });
}

if (find("variant")) { options(find("variant"), SCENE.variants, true); }
if (find("other")) { options(find("other"), [{ key: "", title: "nothing" }].concat(SCENE.variants), false); }
if (find("bench")) { options(find("bench"), SCENE.benches, false); }
if (find("motion")) {
  options(find("motion"), SCENE.motions.map((key) => ({ key, title: MOTIONS[key].label })), false);
}
["variant", "other", "bench", "motion"].forEach(choose);
find("reset").addEventListener("click", function () { state.set = {}; state.said = ""; fresh(); });
find("share").addEventListener("click", async function () {
  address();
  try { await navigator.clipboard.writeText(location.href); find("shared").textContent = "The address is copied."; }
  catch (error) { find("shared").textContent = "Copy the address of this page: it says what you see."; }
});
find("cursor").addEventListener("input", function () { state.cursor = find("cursor").value / 1000; draw(); });
window.addEventListener("hashchange", function () { state.said = read(); fresh(); });
let wide = window.innerWidth;
window.addEventListener("resize", function () {
  if (window.innerWidth !== wide) { wide = window.innerWidth; laid(); draw(); }
});
state.said = read();
fresh();
document.documentElement.dataset.ready = "";
