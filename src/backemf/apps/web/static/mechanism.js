// An FRC log: whose tests, in which unit, which mechanism; then the gains, how they fit, the loop, and what to paste.

import {follow} from "./api.js";
import {panel} from "./chart.js";
import {mapTable, toldMap} from "./columns.js";
import {fill, fresh, h, later, number, size, unit, words} from "./dom.js";
import {followed, gains as loopGains} from "./loop.js";
import {asking, button, card, command, copying, dropzone, ended, field, findings, heading, history, inApp, point, proposing, select, sentence, table, trouble, watch} from "./parts.js";

const GUESS = [["flywheel", /fly|shoot|roller|intake/i], ["elevator", /elev|lift|climb/i], ["arm", /arm|pivot|wrist|elbow/i], ["drivetrain", /drive|swerve|chassis/i]];
const TITLES = {simple: "simple motor", java: "Java", "c++": "C++", python: "Python"};
const LABELS = {units: "Unit of the gains", constants: "Constants to paste", season: "WPILib's season", preset: "Logger", between: "Only from and to [s]", name: "Whose tests"};
const FIRST = ["mechanism", "control", "units", "constants", "season"];
const GROUPS = [
  ["Feedback", ["controller", "max_error", "max_velocity_error", "max_effort", "period", "delay", "settle", "step", "loop", "limit"]],
  ["Motor and gearing", ["motor", "ratio", "wheel_diameter", "drum_diameter", "motors"]],
];
const ASIDE = ["name", "map", "curves"];
const UNITS = ["radians", "degrees", "rotations", "meters", "feet", "inches"];
const label = (name) => LABELS[name] ?? heading(name);

export async function screen(main, project, offered) {
  const form = {use: [], map: {}, unitsOf: {}, constants: "java", ...project.form};
  const fields = Object.fromEntries(offered.characterize.map((f) => [f.name, f]));
  const rest = offered.characterize.map((f) => f.name).filter((n) => ![...FIRST, ...ASIDE, ...GROUPS.flatMap(([, some]) => some)].includes(n));
  const keep = later(300, () => project.keep(form).catch(() => {}));
  const uploaded = () => project.files.filter((f) => !f.made_by);
  const used = () => form.use.filter((name) => uploaded().some((f) => f.name === name));
  const past = h("div"), listed = h("ul", {class: "files"}), looked = h("div"), choice = h("div"), asked = h("div"), found = h("div");
  const again = () => project.reload().then(() => fill(past, history(project, again)));
  const opened = new Set();
  const nothing = () => fill(found, h("p", {class: "quiet"}, "They are shown here."));
  let answer = null;

  const showFiles = () => fill(listed, uploaded().map((f) => {
    const box = h("input", {type: "checkbox", id: `use-${f.name}`, checked: form.use.includes(f.name), onchange: (e) => {
      form.use = e.target.checked ? [...form.use, f.name] : form.use.filter((n) => n !== f.name);
      keep();
      look();
    }});
    return h("li", {class: "check"}, box, h("label", {for: box.id}, f.name), h("span", {class: "quiet"}, size(f.bytes)), button("Remove", async () => {
      try { await project.remove(f.name); } catch { /* it is gone */ }
      form.use = form.use.filter((n) => n !== f.name);
      await project.reload();
      keep();
      showFiles();
      look();
    }, "small"));
  }));

  async function look() {
    answer = null;
    if (!used().length) { fill(looked); fill(choice); fill(asked, h("p", {class: "quiet"}, "Drop a log first.")); return; }
    fill(looked, h("p", {class: "quiet"}, "Reading the log."));
    try {
      const job = await follow(project, await project.run({command: "log", logs: used(), map: toldMap(form)}), () => {});
      answer = await project.answer(job.id);
      if (!answer?.recordings) fill(looked, trouble({message: job.error, remedy: job.remedy}), command(job.shown));
      again();
    } catch (error) { fill(looked, trouble(error)); }
    seen();
  }

  const names = () => [...new Set((answer?.recordings ?? []).map((r) => r.mechanism).filter(Boolean))];
  const mine = () => (answer?.recordings ?? []).filter((r) => names().length < 2 || r.mechanism === form.name);
  const open = () => new Map(mine().flatMap((r) => r.channels).filter((c) => c.likely && !form.map[c.name]).map((c) => [c.name, c]));
  const key = () => form.name ?? "";

  function seen() {
    if (!answer?.recordings) { fill(choice); return; }
    if (names().length === 1) form.name = undefined;
    if (names().length > 1 && !names().includes(form.name)) form.name = undefined;
    fill(looked, tests(answer.recordings), mapping());
    showChoice();
  }

  /** Which entry is what, with its unit: one line for each that was recognised. */
  function mapping() {
    const channels = [...new Map(answer.recordings.flatMap((r) => r.channels).map((c) => [c.name, c])).values()];
    const more = h("input", {type: "text", value: form.more ?? "", autocomplete: "off", spellcheck: "false", placeholder: "current=/arm/amps[A]", onchange: (e) => { form.more = e.target.value.trim() || undefined; keep(); look(); }});
    return h("details", {open: Boolean(form.more || Object.keys(form.map).length || answer.recordings.some((r) => r.problem && !r.channels.some((c) => c.likely)))}, h("summary", {}, "Which entry is what"),
      mapTable(channels.slice(0, 40), form, offered, () => { keep(); look(); }), field("Another entry", more, "beside what was recognised: signal=entry[unit]"));
  }

  function pick(name) {
    form.name = name;
    form.mechanism = GUESS.find(([, pattern]) => pattern.test(name))?.[0] ?? form.mechanism;
    keep();
    showChoice();
    nothing();
  }

  function showChoice() {
    const whose = names().length > 1 ? [h("h3", {id: "whose"}, "The log has tests of several mechanisms: which one?"),
      h("div", {class: "choice", role: "group", "aria-labelledby": "whose"}, names().map((name) => {
        const n = answer.recordings.filter((r) => r.mechanism === name).length;
        return h("button", {type: "button", "aria-pressed": String(name === form.name), onclick: () => pick(name)}, `${name} (${n} tests)`);
      }))] : null;
    fill(choice, whose, names().length < 2 || form.name ? unitQuestion() : null);
    fill(asked, questions());
  }

  /** One question, where the log states no unit. */
  function unitQuestion() {
    const channels = [...open().values()];
    if (!channels.length) return null;
    const likely = channels[0].likely, all = mine().flatMap((r) => r.channels);
    const range = (c) => { const same = all.filter((x) => x.name === c.name); return `${number(Math.min(...same.map((x) => x.low)), 3)} to ${number(Math.max(...same.map((x) => x.high)), 3)}`; };
    return h("div", {class: "question"}, h("h3", {id: "unit-of"}, "The log states no unit: in which unit is its motion?"),
      h("ul", {}, channels.map((c) => h("li", {}, h("code", {}, c.name), ` is ${range(c)}`))),
      h("div", {class: "choice", role: "group", "aria-labelledby": "unit-of"}, UNITS.map((u) => h("button", {type: "button", "aria-pressed": String(form.unitsOf[key()] === u), onclick: () => { form.unitsOf[key()] = u; keep(); showChoice(); if (found.querySelector(".trouble")) nothing(); }},
        u === likely ? `${u} (likely, by its numbers)` : u))));
  }

  function input(f) {
    const set = (value) => { form[f.name] = value === "" || value === false || value === f.default ? undefined : value; keep(); if (f.name === "mechanism") showChoice(); };
    if (f.kind === "flag") return field(label(f.name), h("input", {type: "checkbox", checked: Boolean(form[f.name]), onchange: (e) => set(e.target.checked)}), inApp(f.help));
    if (f.kind === "choice") {
      const empty = f.default === null ? [["", f.name === "units" ? "the file's own" : "none"]] : [];
      return field(label(f.name), select([...empty, ...f.choices.map((c) => [c, TITLES[c] ?? c])], form[f.name] ?? f.default ?? "", set), inApp(f.help));
    }
    if (f.name === "motor") {
      const motor = proposing(form.motor, offered.parts, set, "neo"), box = field(label(f.name), motor.querySelector("input"), inApp(f.help));
      box.append(motor.querySelector("datalist"));
      return box;
    }
    return asking(f, label(f.name), form[f.name], set);
  }

  function questions() {
    const asking = open().size;
    const group = (title, some) => h("details", {open: opened.has(title) || some.some((n) => form[n]), ontoggle: (e) => opened[e.target.open ? "add" : "delete"](title)}, h("summary", {}, title), h("div", {class: "form"}, some.map((n) => input(fields[n]))));
    return [h("div", {class: "form"}, FIRST.filter((n) => !(asking && n === "units")).map((n) => input(fields[n]))),
      GROUPS.map(([title, some]) => group(title, some)), group("Reading and method", rest),
      h("div", {class: "row"}, button("Find the gains", run, "primary"))];
  }

  async function run() {
    fill(found);
    if (names().length > 1 && !form.name) {
      fill(found, trouble({message: `the log has tests of ${names().join(" and of ")}`, remedy: "choose one of them above"}));
      return;
    }
    const units = open().size ? form.unitsOf[key()] : form.units;
    if (open().size && !units) {
      fill(found, trouble({message: "the log states no unit of its motion", remedy: "choose it above: radians, rotations, meters"}));
      return;
    }
    const typed = Object.fromEntries(offered.characterize.filter((f) => !ASIDE.includes(f.name) && f.name !== "units" && form[f.name] !== undefined)
      .map((f) => [f.name, form[f.name]]));
    try {
      const request = {command: "characterize", logs: used(), ...typed, ...(units ? {units} : {}), ...(form.name ? {name: form.name} : {}), map: toldMap(form), curves: true};
      watch(project, found, await project.run(request), shown, again);
    } catch (error) { fill(found, trouble(error)); point(asked, error); }
  }

  /** Gains, and what is pasted, with weights that a slider has. */
  function use(weights) {
    Object.assign(form, weights);
    keep();
    showChoice();
    run();
  }
  const shown = (found) => result(found, use);

  fill(main, h("h1", {class: "unseen"}, project.name), h("div", {},
    card("recordings", "1. The log", dropzone(project, "a WPILOG, SysId JSON or CSV", offered.kinds.recordings, (added) => {
      form.use = [...new Set([...form.use, ...added.map((f) => f.name)])];
      keep();
      showFiles();
      look();
    }), listed, looked),
    card("mechanism", "2. The mechanism", choice, asked),
    card("gains", "3. The gains", found), past));
  showFiles();
  fill(asked, h("p", {class: "quiet"}, "Drop a log first."));
  nothing();
  fill(past, history(project, again));
  const done = project.last("characterize");
  if (used().length) look();
  if (done) {
    if (done.over) fill(found, ended(done, await project.answer(done.id), shown));
    else watch(project, found, done, shown, again);
  }
}

/** What was found in the files, by mechanism; what cannot be read with its reason. */
function tests(recordings) {
  const needsUnit = (r) => r.channels.some((c) => c.likely);
  const good = recordings.filter((r) => r.signals.length || needsUnit(r)), bad = recordings.filter((r) => !good.includes(r));
  const state = (r) => (r.duration ? `${number(r.duration, 3)} s` : "–");
  const named = [...new Set(good.map((r) => r.mechanism ?? ""))];
  const way = "say below which entry is the voltage, the position and the velocity, and in which units; or, where one of the usual loggers wrote it, choose “Logger” under “Reading and method”";
  const why = (r) => { const [what, ...more] = (r.problem ?? "nothing in it is a test").split("; "); return {message: `${r.name ?? r.file}: ${what}`, remedy: r.channels.length && /recognised/.test(what) ? way : more.join("; ")}; };
  return [bad.slice(0, 6).map((r) => trouble(why(r))),
    bad.length > 6 ? h("p", {class: "quiet"}, `and ${bad.length - 6} more`) : null,
    good.length ? h("details", {open: true}, h("summary", {}, `${good.length} test${good.length === 1 ? "" : "s"} in the log`),
      named.map((name) => [name ? h("h3", {}, name) : null, table([
        {title: "test", of: (r) => r.name},
        {title: "lasts", of: state},
      ], good.filter((r) => (r.mechanism ?? "") === name), `Tests of ${name || "the log"}`)])) : null];
}

function result(answer, use) {
  const short = answer.gains.kV?.unit?.match(/\((\w+)\/s\)/)?.[1] ?? "rad";
  const facts = [["R² on stretches held out", answer.r2, ""], ["RMSE of velocity", answer.velocity_error, `${short}/s`], ["timescale", answer.timescale, "s"], ["delay", answer.delay, "s"], ["a turn takes it", answer.travel_per_turn, "m"]]
    .filter(([, value]) => Number.isFinite(value)).map(([name, value, u]) => h("span", {class: "chip"}, `${name} ${number(value)} ${u}`.trim()));
  const physics = answer.physics ? Object.entries(answer.physics.units).filter(([name]) => answer.physics[name] !== null && answer.physics[name] !== undefined) : [];
  const linear = answer.physics?.units?.inertia === "kg", usual = answer.physics?.plausible;
  return [table([
    {title: "gain", of: (r) => h("strong", {}, r[0])},
    {title: "value", number: true, of: (r) => number(r[1].value, 5)},
    {title: "95 % interval", number: true, of: (r) => (r[1].low === null || r[1].low === undefined ? "not determined" : `${number(r[1].low, 5)} to ${number(r[1].high, 5)}`)},
    {title: "unit", of: (r) => unit(r[1].unit)},
  ], Object.entries(answer.gains), "Gains"), h("div", {class: "chips"}, facts),
  findings(answer.findings),
  answer.constants ? [h("h3", {}, "To paste"), copying(answer.constants), h("pre", {class: "source", tabindex: "0", "aria-label": "Constants to paste"}, h("code", {}, answer.constants))] : null,
  physics.length ? [h("h3", {}, "Behind the gains"), h("ul", {}, physics.map(([name, u]) => h("li", {}, `${linear && name === "inertia" ? "mass" : words(name)} ${number(answer.physics[name])} ${unit(u)}`,
    name === "inertia" && usual ? h("span", {class: "quiet"}, ` (${number(usual[0])} to ${number(usual[1])} is plausible)`) : null)),
    Object.entries(answer.physics.predicted).map(([name, value]) => h("li", {}, `the motor alone predicts ${name} ${number(value)} ${unit(answer.gains[name].unit)}`)))] : null,
  loops(answer, short, use), frictionLine(answer, short), testPlots(answer)];
}

/** Each loop in words, and its step: where it has weights these are sliders, and gains and step follow. */
function loops(answer, short, use) {
  const list = Object.entries(answer.feedback ?? {}), of = (name) => (name.endsWith("_angular") ? "rad" : short);
  if (!list.length) return null;
  const reach = (name, f) => (f.settles ? ` A step of ${number(f.step, 3)} ${of(name)}${f.loop === "velocity" ? "/s" : ""} comes within 2 % in ${number(f.settles, 2)} s.` : "");
  const said = ([name, f]) => h("li", {}, h("strong", {}, `${words(name)} loop: `), `kP ${number(f.kP)}, kD ${number(f.kD)}. ${sentence(f.design)}`, reach(name, f), f.note ? ` ${sentence(f.note)}` : "");
  return [h("h3", {}, "Feedback"), h("ul", {}, list.map(said)), h("div", {class: "curves"}, list.filter(([, f]) => f.step).map(([name, f]) => loop(answer, name, f, of(name), use)))];
}

function loop(answer, name, f, short, use) {
  const o = answer.options ?? {}, moving = f.loop === "velocity", effort = answer.control === "voltage" ? "V" : "A", end = name.endsWith("_angular") ? "_angular" : "";
  const value = (n) => Math.max(answer.gains[n + end].value, 0), per = moving ? `${short}/s` : short, free = name === f.loop;
  const gains = {kS: value("kS"), kV: value("kV"), kA: value("kA"), kG: (end ? null : answer.gains.kG?.value) ?? 0};
  const weights = {max_error: o.max_error ?? 1, max_velocity_error: o.max_velocity_error ?? 1.5, max_effort: o.max_effort ?? 7};
  const counting = f.volts_per_error ? f.kP / f.volts_per_error : 1, counted = f.volts_per_rate ? f.kD / f.volts_per_rate : counting;
  const place = h("div"), text = h("p", {"aria-live": "polite"});
  const draw = () => {
    const K = free ? loopGains(f.loop, gains, weights, f) : [f.volts_per_error, f.volts_per_rate];
    const top = (answer.limit - Math.abs(gains.kG) - gains.kS) / Math.max(gains.kV, gains.kA, 1e-9);
    const target = !free ? f.step : moving ? 0.5 * top : Math.min(0.5 * answer.limit / Math.max(K[0], 1e-9), weights.max_error);
    const run = followed(f.loop, K, gains, {...f, limit: answer.limit, target});
    const ends = Number.isFinite(run.settles) ? `settles in ${number(run.settles, 2)} s` : run.held ? `friction holds it ${number(run.off, 2)} ${per} off` : `it has not settled after ${number(run.time.at(-1), 2)} s`;
    fill(text, h("strong", {}, `kP ${number(counting * K[0])}${moving ? "" : `, kD ${number(counted * K[1])}`}`), `: a step of ${number(target, 3)} ${per}: ${ends}`);
    const thin = Math.max(1, Math.floor(run.time.length / 300)), every = (list) => list.filter((_, k) => k % thin === 0);
    const time = every(run.time);
    fill(place, panel({name: `${words(name)} step`, x: "time [s]", y: `${f.loop} [${per}]`, series: [{label: "target", x: [time[0], time.at(-1)], y: [target, target], kind: "thin"}, {label: "simulated", x: time, y: every(run.value), kind: "recorded"}]}),
      panel({name: `its input, at most ${number(answer.limit)} ${effort}`, x: "time [s]", y: `input [${effort}]`, series: [{x: time, y: every(run.input), kind: "predicted"}]}));
  };
  const one = ([key, title, u]) => {
    const id = fresh("weight"), shown = h("output", {for: id}, `${number(weights[key], 3)} ${u}`), middle = weights[key];
    const input = h("input", {id, type: "range", min: "-2", max: "2", step: "0.02", value: "0", oninput: (e) => { weights[key] = Number((middle * 10 ** Number(e.target.value)).toPrecision(3)); shown.textContent = `${number(weights[key], 3)} ${u}`; draw(); }});
    return h("div", {class: "field slider"}, h("label", {for: id}, title), input, shown);
  };
  const sliders = [...(moving ? [] : [["max_error", "Position error worth the effort", short]]), ["max_velocity_error", "Velocity error worth the effort", `${short}/s`], ["max_effort", "Effort", effort]];
  draw();
  return h("div", {class: "loop"}, h("h4", {}, `${heading(name)} loop`), free ? sliders.map(one) : null, text,
    free ? button("Use these weights", () => use(Object.fromEntries(sliders.map(([key]) => [key, String(weights[key])]))), "small") : null, place);
}

/** What kS and kV take of the input in slow tests, against velocity, as SysId draws it. */
function frictionLine(answer, short) {
  const slow = (answer.curves ?? []).filter((c) => c.line), kS = answer.gains.kS?.value, kV = answer.gains.kV?.value;
  if (!slow.length || kS === null || kV === null) return null;
  const all = slow.flatMap((c) => c.line.velocity), low = Math.min(...all, 0), high = Math.max(...all, 0);
  const effort = answer.control === "voltage" ? "V" : "A";
  const half = (a, b) => ({x: [a, b], y: [kS * Math.sign(a || b) + kV * a, kS * Math.sign(b || a) + kV * b], kind: "predicted"});
  return [h("h3", {}, "kS and kV"), h("div", {class: "curves"}, panel({name: "slow tests: input less that of acceleration and weight", x: `velocity [${short}/s]`, y: `input [${effort}]`, series: [
    {label: "measured", x: all, y: slow.flatMap((c) => c.line.effort), kind: "recorded", dots: true}, {label: "kS sgn(v) + kV v", ...half(low, 0)}, half(0, high)].filter((one) => one.x[0] !== one.x[1] || one.dots)}))];
}

function testPlots(answer) {
  if (!answer.curves?.length) return null;
  const one = (name, title, signal) => panel({name: title, title: `${title}, ${name}`, x: "time [s]", y: `${title} [${unit(signal.unit)}]`, series: [
    {label: "measured", x: signal.time, y: signal.measured, kind: "recorded", dots: title === "residual"},
    ...(signal.predicted ? [{label: "predicted", x: signal.time, y: signal.predicted, kind: "predicted"}] : [])]});
  return [h("h3", {}, "The tests, and the fit over them"), answer.curves.map((c, k) => h("details", {open: k === 0}, h("summary", {}, c.name),
    h("div", {class: "curves"}, Object.entries(c.signals).map(([name, signal]) => one(c.name, name, signal)))))];
}
