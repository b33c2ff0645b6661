// An FRC log: whose tests, which mechanism, and the gains to paste.

import {fill, h, later, number, size, unit, words} from "./dom.js";
import {button, card, dropzone, ended, field, findings, history, proposing, select, sentence, table, trouble, watch} from "./parts.js";

const GUESS = [["flywheel", /fly|shoot|roller|intake/i], ["elevator", /elev|lift|climb/i], ["arm", /arm|pivot|wrist|elbow/i], ["drivetrain", /drive|swerve|chassis/i]];
const TITLES = {simple: "simple motor", arm: "arm", elevator: "elevator", flywheel: "flywheel", drivetrain: "drivetrain"};

export async function screen(main, project, offered) {
  const form = {use: [], ...project.form};
  const keep = later(300, () => project.keep(form).catch(() => {}));
  const set = (key) => (value) => { form[key] = value || undefined; keep(); };
  const files = () => project.files.filter((f) => !f.made_by).map((f) => f.name);
  const used = () => form.use.filter((name) => files().includes(name));
  const past = h("div");
  const again = () => project.reload().then(() => fill(past, history(project, again)));
  const listed = h("ul", {class: "files"}), looked = h("div"), choice = h("div"), asked = h("div"), gains = h("div");

  const showFiles = () => fill(listed, project.files.filter((f) => !f.made_by).map((f) => {
    const box = h("input", {type: "checkbox", id: `use-${f.name}`, checked: form.use.includes(f.name), onchange: (e) => {
      form.use = e.target.checked ? [...form.use, f.name] : form.use.filter((n) => n !== f.name);
      keep();
      look();
    }});
    return h("li", {class: "check"}, box, h("label", {for: box.id}, f.name), h("span", {class: "quiet"}, size(f.bytes)));
  }));

  async function look() {
    if (!used().length) { fill(looked); fill(choice); return; }
    try {
      watch(project, looked, await project.run({command: "log", logs: used()}), tests, (job, answer) => { offer(answer); again(); });
    } catch (error) { fill(looked, trouble(error)); }
  }

  function tests(answer) {
    const good = answer.recordings.filter((r) => r.signals.length);
    return h("details", {}, h("summary", {}, `${good.length} test${good.length === 1 ? "" : "s"} in the log`), table([
      {title: "test", of: (r) => r.name},
      {title: "mechanism", of: (r) => r.mechanism ?? "–"},
      {title: "lasts [s]", number: true, of: (r) => number(r.duration, 3)},
    ], good, "Tests in the log"));
  }

  let several = [];
  function offer(answer) {
    const names = several = [...new Set((answer?.recordings ?? []).map((r) => r.mechanism).filter(Boolean))];
    if (names.length === 1) form.name = undefined;
    if (names.length > 1 && !names.includes(form.name)) form.name = undefined;
    const pick = (name) => {
      form.name = name;
      form.mechanism = GUESS.find(([, pattern]) => pattern.test(name))?.[0] ?? form.mechanism;
      keep();
      show();
      fill(gains);
    };
    const show = () => {
      fill(choice, names.length > 1 ? [h("h3", {id: "whose"}, "The log has tests of several mechanisms: which one?"),
        h("div", {class: "choice", role: "group", "aria-labelledby": "whose"}, names.map((name) => {
          const n = answer.recordings.filter((r) => r.mechanism === name).length;
          return h("button", {type: "button", "aria-pressed": String(name === form.name), onclick: () => pick(name)}, `${name} (${n} tests)`);
        }))] : null);
      fill(asked, questions());
    };
    show();
  }

  function questions() {
    const input = (key, kind, hint) => h("input", {type: kind, step: "any", min: "0", value: form[key] ?? "", autocomplete: "off", onchange: (e) => set(key)(e.target.value.trim())});
    const motor = proposing(form.motor, offered.parts, set("motor"), "neo");
    const motorBox = field("Motor", motor.querySelector("input"), "to back out inertia and friction; needs the ratio");
    motorBox.append(motor.querySelector("datalist"));
    return [h("div", {class: "form"},
      field("Mechanism", select(offered.mechanisms.map((m) => [m, TITLES[m] ?? m]), form.mechanism ?? "simple", set("mechanism"))),
      field("Unit of the gains", select([["", "the file's own"], ...offered.mechanism_units], form.units, set("units"))),
      field("Controller", select(offered.controllers, form.controller ?? "wpilib", set("controller"))),
      field("Constants to paste", select([["java", "Java"], ["c++", "C++"], ["python", "Python"]], form.constants ?? "java", set("constants")))),
    h("details", {open: Boolean(form.motor || form.max_error)}, h("summary", {}, "Feedback and physics"), h("div", {class: "form"},
      field("Position error worth the whole effort", input("max_error", "number"), "in the unit of the gains; 1 unless given"),
      field("Velocity error worth it", input("max_velocity_error", "number"), "per second; 1.5 unless given"),
      field("That effort [V]", input("max_effort", "number"), "7 unless given"),
      motorBox,
      field("Ratio", input("ratio", "number"), "rotor turns per output turn"),
      field("Motors", input("motors", "number"), "1 unless given"))),
    h("div", {class: "row"}, button("Find the gains", run, "primary"))];
  }

  async function run() {
    if (several.length > 1 && !form.name) {
      fill(gains, trouble({message: `the log has tests of ${several.join(" and of ")}`, remedy: "choose one of them above"}));
      return;
    }
    const numbers = Object.fromEntries(["max_error", "max_velocity_error", "max_effort", "ratio", "motors"].filter((k) => form[k]).map((k) => [k, Number(form[k])]));
    const words_ = Object.fromEntries(["name", "units", "motor"].filter((k) => form[k]).map((k) => [k, form[k]]));
    try {
      const request = {command: "characterize", logs: used(), mechanism: form.mechanism ?? "simple", controller: form.controller ?? "wpilib", constants: form.constants ?? "java", ...words_, ...numbers};
      watch(project, gains, await project.run(request), result, again);
    } catch (error) { fill(gains, trouble(error)); }
  }

  fill(main, h("h1", {class: "unseen"}, project.name), h("div", {},
    card("recordings", "1. The log", dropzone(project, "a WPILOG, SysId JSON or CSV", offered.kinds.recordings, (added) => {
      form.use = [...new Set([...form.use, ...added.map((f) => f.name)])];
      keep();
      showFiles();
      look();
    }), listed, looked),
    card("mechanism", "2. The mechanism", choice, asked),
    card("gains", "3. The gains", gains), past));
  showFiles();
  fill(asked, h("p", {class: "quiet"}, "Drop a log first."));
  fill(gains, h("p", {class: "quiet"}, "They are shown here."));
  fill(past, history(project, again));
  const log = project.last("log"), done = project.last("characterize");
  if (log?.over) {
    const answer = await project.answer(log.id);
    fill(looked, ended(log, answer, tests));
    offer(answer);
  } else if (used().length) look();
  if (done) {
    if (done.over) fill(gains, ended(done, await project.answer(done.id), result));
    else watch(project, gains, done, result, again);
  }
}

function result(answer) {
  const loops = Object.values(answer.feedback ?? {}).map((f) => h("li", {}, h("strong", {}, `${f.loop} loop: `), `kP ${number(f.kP)}, kD ${number(f.kD)}. ${sentence(f.design)}`, f.note ? ` ${sentence(f.note)}` : ""));
  const physics = answer.physics ? Object.entries(answer.physics.units).filter(([name]) => answer.physics[name] !== null && answer.physics[name] !== undefined) : [];
  return [table([
    {title: "gain", of: (r) => h("strong", {}, r[0])},
    {title: "value", number: true, of: (r) => number(r[1].value, 5)},
    {title: "95 % interval", number: true, of: (r) => (r[1].low === null || r[1].low === undefined ? "not determined" : `${number(r[1].low, 5)} to ${number(r[1].high, 5)}`)},
    {title: "unit", of: (r) => unit(r[1].unit)},
  ], Object.entries(answer.gains), "Gains"),
  loops.length ? [h("h3", {}, "Feedback"), h("ul", {}, loops)] : null,
  physics.length ? [h("h3", {}, "Behind the gains"), h("ul", {}, physics.map(([name, u]) => h("li", {}, `${words(name)} ${number(answer.physics[name])} ${unit(u)}`)))] : null,
  findings(answer.findings),
  answer.constants ? [h("h3", {}, "To paste"), h("pre", {class: "source", tabindex: "0", "aria-label": "Constants to paste"}, h("code", {}, answer.constants))] : null];
}
