// Recordings of a servo or a robot: columns, bench, check, fit, report, exports.

import {fill, h, later, number, size, typeset, unit, words} from "./dom.js";
import {curve} from "./chart.js";
import {columns, toldMap} from "./columns.js";
import {exports_} from "./exports.js";
import {button, card, command, dropzone, ended, field, findings, history, inApp, proposing, quantity, select, sentence, table, trouble, watch} from "./parts.js";

const STEPS = [["recordings", "Recordings"], ["columns", "Columns"], ["bench", "Bench and start"], ["check", "Check"], ["fit", "Fit"], ["report", "Report"], ["exports", "Exports"]];
/** Of a robot, `fit` checks what it reads. */
const ROBOT_STEPS = STEPS.filter(([id]) => id !== "check").map(([id, title]) => [id, id === "bench" ? "Robot and start" : title]);

export async function screen(main, project, offered) {
  const robot = project.kind === "robot";
  const form = {use: [], map: {}, bench: {}, ...project.form};
  const keep = later(300, () => project.keep(form).catch(() => {}));
  const places = Object.fromEntries(STEPS.map(([id]) => [id, h("div")]));
  const past = h("div");
  const steps = robot ? ROBOT_STEPS : STEPS;

  const recordings = () => [...project.folders.filter((name) => !isModel(name) && project.files.some((f) => f.name.startsWith(`${name}/`) && (!f.made_by || /^logs-\d+\//.test(f.name)))), ...project.files.filter((f) => !f.made_by && !f.name.includes("/") && ends(f.name, offered.kinds.recordings)).map((f) => f.name)];
  const models = () => project.files.filter((f) => !f.made_by && ends(f.name, offered.kinds.models)).map((f) => f.name);
  const isModel = (folder) => project.files.some((f) => f.name.startsWith(`${folder}/`) && ends(f.name, offered.kinds.models));
  const fits = () => project.files.filter((f) => f.made_by && /^fit-\d+\.json$/.test(f.name)).map((f) => f.name);
  const used = () => form.use.filter((name) => recordings().includes(name));
  const told = () => toldMap(form);
  const reading = () => (robot ? {map: told()} : {map: told(), ...(form.bench.kind ? {bench: form.bench} : {}), ...(form.set ? {set: list(form.set)} : {})});
  const asked = (name) => ({command: name, logs: used(), start: form.start ?? "", ...reading(), ...(form.friction ? {friction: form.friction} : {}),
    ...(form.only && !robot ? {only: list(form.only)} : {}), ...(robot && form.robot ? {robot: form.robot} : {})});
  const changed = () => { keep(); nav(); };
  const again = () => project.reload().then(() => { fill(past, history(project, (job) => { project.reload().then(again); return job; })); nav(); });

  const looked = h("div");
  const look = later(250, async () => {
    if (!used().length) { fill(looked, h("p", {class: "quiet"}, "The columns are shown here once a recording is chosen.")); return; }
    try {
      const job = await project.run({command: "log", logs: used(), ...reading(), ...(robot && form.robot ? {robot: form.robot} : {})});
      watch(project, looked, job, (answer) => columns(answer, form, offered, robot, () => { changed(); look(); }), again);
    } catch (error) { fill(looked, trouble(error)); }
  });

  // 1. Recordings
  const listed = h("ul", {class: "files"});
  const showFiles = () => fill(listed, recordings().map((name) => {
    const file = project.files.find((f) => f.name === name);
    const box = h("input", {type: "checkbox", id: `use-${name}`, checked: form.use.includes(name), onchange: (e) => {
      form.use = e.target.checked ? [...form.use, name] : form.use.filter((n) => n !== name);
      changed();
      look();
    }});
    return h("li", {class: "check"}, box, h("label", {for: box.id}, name, file && file.given !== name ? h("span", {class: "quiet"}, ` (${file.given})`) : null),
      h("span", {class: "quiet"}, file ? size(file.bytes) : "folder"),
      file ? button("Remove", async () => { try { await project.remove(name); } catch { /* it is gone */ } form.use = form.use.filter((n) => n !== name); await project.reload(); changed(); showFiles(); look(); }, "small") : null);
  }));
  const what = robot ? "recordings and the robot's model" : "recordings";
  fill(places.recordings, dropzone(project, what, [...offered.kinds.recordings, ...offered.kinds.models, ".toml"], (added) => {
    const fresh = [...new Set(added.map((f) => f.name.split("/")[0]))].filter((name) => recordings().includes(name));
    form.use = [...new Set([...form.use, ...fresh])];
    if (robot && !form.robot) form.robot = models()[0];
    changed();
    showFiles();
    showBench();
    look();
  }), listed);
  fill(places.columns, looked);

  // 3. Bench and start
  const showBench = () => fill(places.bench, robot ? robotForm() : benchForm(), startForm());
  const set = (key) => (value) => { form[key] = value || undefined; changed(); };
  function benchForm() {
    const fields = offered.benches[form.bench.kind] ?? [];
    const inputs = (some) => some.map((f) => field(`${sentence(words(f.name)).replace(/\.$/, "")}${f.unit === "1" ? "" : ` [${unit(f.unit)}]`}`, h("input", {type: "text", inputmode: "decimal", value: form.bench[f.name] ?? "",
      required: f.needed, autocomplete: "off", oninput: (e) => { form.bench[f.name] = e.target.value.trim(); keep(); }, onchange: () => { changed(); look(); }}),
      f.needed ? "needed; another unit may be typed behind it" : f.usual === null ? "may be left out" : `${number(f.usual)} unless given`));
    const kind = select([["", "what the recording says of itself"], ...Object.keys(offered.benches).map((k) => [k, words(k).replace("-", " ")])], form.bench.kind, (value) => {
      form.bench = value ? {kind: value} : {};
      changed();
      showBench();
      if (!offered.benches[value]?.some((f) => f.needed)) look();
    });
    const rest = fields.filter((f) => !f.needed);
    return [h("h3", {}, "What the output carried"), h("div", {class: "form"}, field("Bench", kind, "a pendulum hangs at 0"), inputs(fields.filter((f) => f.needed))),
      rest.length ? h("details", {open: rest.some((f) => form.bench[f.name])}, h("summary", {}, "More of the bench"), h("div", {class: "form"}, inputs(rest))) : null];
  }
  function robotForm() {
    const model = select([["", models().length ? "choose its model" : "drop its MJCF or URDF above"], ...models()], form.robot, (value) => { set("robot")(value); look(); });
    const firmware = h("input", {type: "text", value: form.firmware ?? "", autocomplete: "off", onchange: (e) => set("firmware")(e.target.value.trim())});
    const joints = h("input", {type: "text", value: form.joints ?? "", autocomplete: "off", onchange: (e) => set("joints")(e.target.value.trim())});
    return h("div", {class: "form"}, field("Model of the robot", model, "MJCF or URDF; with meshes, drop its folder"), field("Firmware profile", firmware, "such as lerobot; may be left out"),
      field("Joints", joints, "a, b; all but grippers unless given"));
  }
  function startForm() {
    const own = project.files.filter((f) => f.name.endsWith(".toml") || (f.made_by && f.name.startsWith("fit-"))).map((f) => f.name);
    const start = proposing(form.start, [...own, ...offered.parts], set("start"), "sts3215-7.4v");
    const input = start.querySelector("input");
    const box = field("Start from", input, "a part of the catalogue, an identified set such as mx-106/m6, or a file of yours");
    box.insertBefore(start.querySelector("datalist"), null);
    const friction = select([["", "the start's own"], ...offered.frictions], form.friction, set("friction"));
    return [h("h3", {}, "What moves it"), h("div", {class: "form"}, box, field("Friction", friction, "of the model")), more()];
  }
  function more() {
    const text = (key, label, hint) => field(label, h("input", {type: "text", value: form[key] ?? "", autocomplete: "off", spellcheck: "false", onchange: (e) => { set(key)(e.target.value.trim()); if (key === "set") look(); }}), hint);
    return h("details", {}, h("summary", {}, "More"), h("div", {class: "form"},
      robot ? null : text("only", "Exactly these are free", "motor.resistance, friction.coulomb"),
      robot ? null : text("set", "What the servo was set to", "drive.proportional=16, drive.supply=7.4V"),
      text("hold_out", "Recordings to judge on", "a name, or gain=8"),
      robot ? null : field("Starts at most", h("input", {type: "number", min: "1", max: "100", value: form.starts ?? "", placeholder: "6", onchange: (e) => set("starts")(e.target.value)}), "more starts, less chance of a wrong valley")));
  }

  // 4. Check
  const checked = h("div");
  const apply = h("input", {type: "checkbox", id: "apply", checked: form.apply ?? false, onchange: (e) => set("apply")(e.target.checked)});
  const checkNow = button("Check the recordings", () => start("check", checked, {...asked("check"), ...(form.apply ? {apply: true} : {})}, verdict), "primary");
  fill(places.check, h("p", {class: "quiet"}, "Are they sound, and what can they tell? Nothing is fitted yet."), h("div", {class: "row"}, checkNow,
    h("span", {class: "check"}, apply, h("label", {for: "apply"}, "mend what is wrong with them"))), checked);

  async function start(name, place, request, shown) {
    try {
      const job = await project.run(request);
      watch(project, place, job, shown, () => { again(); showReport(); showExports(); });
      again();
    } catch (error) { fill(place, trouble(error)); }
  }

  // 5. Fit
  const fitted = h("div");
  const fitWords = (ladder) => ({...asked("fit"), ...(form.hold_out ? {hold_out: list(form.hold_out)} : {}), ...(form.starts && !robot ? {starts: form.starts} : {}), ...(form.apply && !robot ? {apply: true} : {}),
    ...(robot && form.firmware ? {firmware: form.firmware} : {}), ...(robot && form.joints ? {joints: list(form.joints)} : {}), ...(ladder ? {friction: "ladder"} : {})});
  fill(places.fit, h("div", {class: "row"}, button("Fit", () => start("fit", fitted, fitWords(false), robot ? robotFit : servoFit), "primary"),
    button("Try every friction", () => start("fit", fitted, fitWords(true), robot ? robotFit : servoFit))), h("p", {class: "quiet"}, "Several fits wait for each other; what is running can be stopped, and keeps the best so far."), fitted);

  // 6. Report, 7. exports
  const reported = h("div");
  const showReport = () => {
    const done = project.files.filter((f) => f.made_by && /^report-\d+\.html$/.test(f.name)).at(-1);
    const chosen = select(fits(), fits().at(-1), () => {});
    const withExports = h("input", {type: "checkbox", id: "with-exports"});
    fill(places.report, fits().length ? [h("div", {class: "form"}, field("Fit", chosen)), h("div", {class: "row"}, button("Write the report", () => start("report", reported, {command: "report", fit: chosen.value, ...(robot ? {logs: used(), robot: form.robot} : {}), ...(withExports.checked ? {exports: true} : {})}, () => null), "primary"),
      h("span", {class: "check"}, withExports, h("label", {for: "with-exports"}, "with every export replayed (minutes)")))] : h("p", {class: "quiet"}, "A report needs a fit."), reported,
      done ? [h("p", {class: "row"}, h("a", {class: "as-button", href: project.address(done.name), target: "_blank", rel: "noopener"}, "Open the report in a tab")),
        h("iframe", {class: "report", src: project.address(done.name), title: "The report", sandbox: "allow-scripts allow-downloads", loading: "lazy"})] : null);
  };
  const showExports = () => exports_(places.exports, project, offered, fits(), models(), again);

  const steplist = h("ol");
  const nav = () => {
    const ready = {recordings: used().length, columns: project.last("log")?.state === "done", bench: form.start, check: project.last("check")?.state === "done", fit: fits().length,
      report: project.last("report")?.state === "done", exports: project.last("export")?.state === "done"};
    fill(steplist, steps.map(([id, title]) => h("li", {}, h("a", {href: `#${id}`, class: ready[id] ? "ready" : null, onclick: (e) => { e.preventDefault(); document.getElementById(id).scrollIntoView({behavior: "smooth"}); }}, title, ready[id] ? h("span", {class: "unseen"}, ", done") : null))));
  };

  fill(main, h("h1", {class: "unseen"}, project.name), h("div", {class: "steps"}, h("nav", {"aria-label": "Steps"}, steplist),
    h("div", {}, steps.map(([id, title], k) => card(id, `${k + 1}. ${title}`, places[id])), past)));
  showFiles();
  showBench();
  showReport();
  showExports();
  nav();
  fill(past, history(project, again));
  await recall("log", looked, (answer) => columns(answer, form, offered, robot, () => { changed(); look(); }));
  await recall("check", checked, verdict);
  await recall("fit", fitted, robot ? robotFit : servoFit);
  await recall("report", reported, () => null);

  async function recall(name, place, shown) {
    const job = project.last(name);
    if (!job) { if (name === "log") look(); return; }
    if (!job.over) { watch(project, place, job, shown, () => { again(); showReport(); showExports(); }); return; }
    try { fill(place, ended(await project.job(job.id), await project.answer(job.id), shown)); } catch (error) { fill(place, trouble(error)); }
  }
}

const ends = (name, kinds) => kinds.some((kind) => name.toLowerCase().endsWith(kind));
const list = (text) => text.split(",").map((word) => word.trim()).filter(Boolean);

/** Colours of the levels that a verdict has. */
const LEVELS = {good: "good", fair: "warn", poor: "bad"};

function verdict(answer) {
  const rows = answer.parameters.map((p) => h("li", {class: p.determined ? "yes" : "no"}, h("span", {class: "sign", "aria-hidden": "true"}, p.determined ? "✓" : "✗"),
    h("span", {}, h("strong", {}, p.path), p.determined ? ` will be known to ${number(100 * p.relative_error, 2)}\u00a0%` : ` is not told by these recordings (${p.relative_error ? `${number(100 * p.relative_error, 2)}\u00a0%` : "no information"})`)));
  const list = answer.findings.map((f) => h("li", {class: "no"}, h("span", {class: "sign", "aria-hidden": "true"}, "!"), h("span", {}, h("strong", {}, words(f.code)), ` ${sentence(typeset(f.text))}`, f.remedy ? h("p", {class: "quiet"}, `What to do: ${sentence(inApp(f.remedy))}`) : null)));
  return [h("p", {class: `verdict ${LEVELS[answer.level]}`, role: "status"}, `${answer.n_logs} recording${answer.n_logs === 1 ? "" : "s"}, ${answer.n_samples} samples. Verdict: ${answer.verdict}.`),
    answer.mended?.length ? h("ul", {}, answer.mended.map((m) => h("li", {}, m))) : null, h("ul", {class: "checklist"}, rows, list)];
}

const PARAMETERS = [
  {title: "number", of: (p) => p.path},
  {title: "value", number: true, of: (p) => quantity(p)},
  {title: "95 % interval", number: true, of: (p) => (p.low === undefined ? "" : `${number(p.low)} to ${number(p.high)}`)},
  {title: "start", number: true, of: (p) => number(p.start)},
  {title: "told by", of: (p) => p.told_by ?? ""},
];

const seen = (job) => (job.progress?.curves ? h("details", {open: true}, h("summary", {}, "The last picture on the way"), h("div", {class: "curves"}, job.progress.curves.map(curve))) : null);

const judged = (answer) => (answer.verdict ? h("p", {class: `verdict ${LEVELS[answer.verdict.level]}`, role: "status"}, `${answer.verdict.text} Friction: ${answer.friction}.`) : null);

function servoFit(answer, job) {
  return [judged(answer),
    answer.mended?.length ? h("ul", {}, answer.mended.map((m) => h("li", {}, m))) : null,
    answer.ladder ? [h("h3", {}, "Every friction"), table([{title: "friction", of: (r) => r.friction}, {title: "numbers", number: true, of: (r) => r.n_parameters ?? ""}, {title: "off by [mrad]", number: true, of: (r) => ((x) => (x == null ? "" : number(1e3 * x, 3)))(r.held_out_rms ?? r.held_out_mae)}, {title: "", of: (r) => (r.chosen ? "chosen" : r.reason ?? "")}],
      answer.ladder.map((r) => ({...r, class: r.chosen ? "chosen" : null})), "Frictions that were tried")] : null,
    table(PARAMETERS, Object.values(answer.parameters), "What was fitted"), seen(job), findings(answer.findings)];
}

function robotFit(answer, job) {
  const numbers = Object.entries(answer.joints).flatMap(([joint, one]) => Object.entries(one.parameters).map(([path, p]) => ({path: `${joint}.${path}`, ...p})));
  return [judged(answer),
    table([{title: "joint", of: (r) => r[0]}, {title: "off by [mrad]", number: true, of: (r) => number(1e3 * r[1].rms, 3)}, {title: "in the air [mrad]", number: true, of: (r) => number(1e3 * r[1].rms_free, 3)}], Object.entries(answer.joints), "Joints"),
    h("details", {}, h("summary", {}, "Every number"), table(PARAMETERS.filter((c) => c.title !== "start"), numbers, "What was fitted")), seen(job), findings(answer.findings)];
}
