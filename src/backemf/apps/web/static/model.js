// A simulation model: every actuator in physical terms, what looks wrong, and the model with better numbers.

import {downloads} from "./exports.js";
import {fill, h, later, number, size, unit, words} from "./dom.js";
import {button, card, dropzone, ended, field, findings, history, proposing, select, sentence, table, trouble, watch} from "./parts.js";

export async function screen(main, project, offered) {
  const form = {...project.form};
  const keep = later(300, () => project.keep(form).catch(() => {}));
  const models = () => project.files.filter((f) => !f.made_by && offered.kinds.models.some((k) => f.name.toLowerCase().endsWith(k))).map((f) => f.name);
  const past = h("div"), chosen = h("div"), before = h("div"), after = h("div");
  const again = () => project.reload().then(() => fill(past, history(project, again)));
  const none = (place, text) => fill(place, h("p", {class: "quiet"}, text));

  async function explain(place, model, more) {
    try {
      const part = form.with ? {with: form.with} : {};
      watch(project, place, await project.run({command: "explain", model, ...part}), more, again);
    } catch (error) { fill(place, trouble(error)); }
  }
  const first = () => { if (form.model) explain(before, form.model, (answer) => shown(answer, mend)); };

  function choose() {
    const part = proposing(form.with, offered.parts, (value) => { form.with = value || undefined; keep(); first(); }, "sts3215-7.4v/m1");
    const box = field("What really drives the joints", part.querySelector("input"), "a part, or an identified set such as sts3215-7.4v/m1; may be left out");
    box.append(part.querySelector("datalist"));
    fill(chosen, models().length ? h("div", {class: "form"}, field("Model", select(models(), form.model, (value) => { form.model = value; keep(); first(); })), box) : null);
  }

  async function mend(actuator) {
    try {
      const request = {command: "export", source: form.with, to: "mujoco-classic", method: "formula", joint: [actuator.joint], into: form.model};
      const job = await project.run(request);
      watch(project, after, job, (answer, done) => written(answer, done), (done) => {
        again();
        const made = done?.made?.find((name) => name.endsWith(".xml"));
        if (made) {
          const place = h("div");
          after.append(h("h3", {}, "After"), place);
          explain(place, made, (answer) => shown(answer, null));
        }
      });
      document.getElementById("after").scrollIntoView({behavior: "smooth"});
    } catch (error) { fill(after, trouble(error)); }
  }
  const written = (answer, job) => [downloads(project, job.made), answer.changes?.length ? h("ul", {}, answer.changes.map((c) => h("li", {}, sentence(c)))) : null,
    answer.verified ? h("p", {class: "note"}, sentence(answer.verified)) : null, findings(answer.findings)];

  fill(main, h("h1", {class: "unseen"}, project.name),
    card("model", "1. The model", dropzone(project, "an MJCF, or its folder with meshes,", [...offered.kinds.models, ".stl", ".obj"], () => {
      form.model = models().includes(form.model) ? form.model : models()[0];
      form.model = models().at(-1);
      keep();
      choose();
      first();
    }), chosen),
    card("before", "2. What it says", before), card("after", "3. With better numbers", after), past);
  choose();
  none(before, "Every actuator of the model is explained here.");
  none(after, "Name what drives the joints above, and an actuator can be written with that part's numbers.");
  fill(past, history(project, again));
  const last = project.jobs.filter((j) => j.command === "explain" && j.asked.model === form.model).at(-1);
  if (last?.over) fill(before, ended(last, await project.answer(last.id), (answer) => shown(answer, mend)));
  else if (form.model) first();
}

const ROWS = [
  ["stall_torque", "stall torque", "N m"], ["no_load_speed", "no-load speed", "rad/s"], ["stiffness", "stiffness", "N m/rad"], ["damping", "damping", "N m s/rad"],
  ["armature", "armature", "kg m^2"], ["friction", "friction", "N m"], ["natural_frequency", "natural frequency", "Hz"], ["damping_ratio", "damping ratio", "1"],
];

function shown(answer, mend) {
  return answer.actuators.map((a) => h("section", {}, h("h3", {}, `${a.actuator || a.joint} (${a.kind}${a.joint ? `, joint ${a.joint}` : ""})`),
    a.compared?.length ? table([
      {title: "what", of: (r) => words(r.attribute)},
      {title: "in the model", number: true, of: (r) => number(r.model)},
      {title: `of ${a.part}`, number: true, of: (r) => number(r.part)},
      {title: "unit", of: (r) => unit(r.unit)},
      {title: "model / part", number: true, of: (r) => (r.factor ? number(r.factor, 3) : "–")},
      {title: "should be", of: (r) => (r.should_be ? h("code", {}, r.should_be) : "")},
    ], a.compared, `${a.actuator} compared`) : table([
      {title: "what", of: (r) => r[1]},
      {title: "in the model", number: true, of: (r) => number(a[r[0]])},
      {title: "unit", of: (r) => unit(r[2])},
    ], ROWS.filter(([key]) => a[key] !== null && a[key] !== undefined), `${a.actuator} in physical terms`),
    findings(a.findings, "Nothing looks wrong."),
    mend && a.part && a.joint ? button(`Write ${a.actuator || a.joint} as ${a.part} is`, () => mend(a), "primary") : null));
}
