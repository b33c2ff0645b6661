// A task for a motor, or a robot on a battery: a form made of the command's options, and the page that it writes.

import {downloads} from "./exports.js";
import {fill, h, later} from "./dom.js";
import {input, request} from "./others.js";
import {button, card, dropzone, ended, findings, history, point, trouble, watch} from "./parts.js";

const TITLES = {size: ["1. Files, where there are any", "a table of the task, tables of parts, or a robot and its recording", "2. The task and the bus", "Judge"],
  power: ["1. The robot and its recording", "a robot's MJCF or URDF and its recording", "2. The battery, and what moves the joints", "Put on the battery"]};

export async function screen(main, project, offered) {
  const form = {...project.form}, {help, fields} = offered.pages[project.kind], [first, wanted, second, verb] = TITLES[project.kind];
  const keep = later(300, () => project.keep(form).catch(() => {}));
  const past = h("div"), asked = h("div", {class: "form"}), place = h("div");
  const again = () => project.reload().then(() => fill(past, history(project, again)));
  const ask = () => fill(asked, fields.map((f) => input(f, project, offered, form[f.name], (value) => { form[f.name] = value; keep(); })));
  const shown = (answer, job) => [findings(answer.findings), downloads(project, job.made), job.made.map((name) => h("iframe", {class: "report", src: project.address(name), title: "The answer", sandbox: "allow-scripts allow-downloads"}))];
  const run = async () => {
    try {
      watch(project, place, await project.run({command: project.kind, ...request(fields, form)}), shown, again);
    } catch (error) { fill(place, trouble(error)); point(asked, error); }
  };
  fill(main, h("h1", {class: "unseen"}, project.name), card("files", first, dropzone(project, wanted, [...offered.kinds.all, ...offered.kinds.models, ".toml", ".json"], ask)),
    card("task", second, h("p", {}, help), asked, button(verb, run, "primary")), card("answer", "3. The answer", place), past);
  ask();
  fill(place, h("p", {class: "quiet"}, "It is shown here."));
  const last = project.last(project.kind);
  if (last?.over) fill(place, ended(last, await project.answer(last.id), shown));
  fill(past, history(project, again));
}
