// Exports: a simulator is chosen, its file is written and run there, and can be downloaded.

import {fill, h, number} from "./dom.js";
import {button, ended, field, findings, proposing, select, sentence, trouble, watch} from "./parts.js";

export function exports_(place, project, offered, fits, models, again, proposed) {
  const source = proposing(proposed ?? fits.at(-1) ?? "", [...fits, ...offered.parts], () => {}, "fit-1.json");
  const input = source.querySelector("input");
  const box = field("What", input, "a fit of yours, or a part of the catalogue");
  box.append(source.querySelector("datalist"));
  const to = select(Object.entries(offered.targets).map(([name, what]) => [name, `${name}: ${what}`]), "mujoco", () => {});
  const joint = h("input", {type: "text", autocomplete: "off", placeholder: "joint"});
  const into = select([["", "a file of its own"], ...models], "", () => {});
  const made = h("div");
  const begin = async () => {
    try {
      const request = {command: "export", source: input.value.trim(), to: to.value, ...(joint.value.trim() ? {joint: [joint.value.trim()]} : {}), ...(into.value ? {into: into.value} : {})};
      watch(project, made, await project.run(request), (answer, job) => exported(project, answer, job), again);
    } catch (error) { fill(made, trouble(error)); }
  };
  fill(place, h("div", {class: "form"}, box, field("For", to), field("Joint", joint, "its name in the model"), models.length ? field("Into", into, "your own model, as a new file") : null),
    button("Export", begin, "primary"), made);
  const last = project.last("export");
  if (last) {
    if (last.over) project.answer(last.id).then((answer) => fill(made, ended(last, answer, (a, job) => exported(project, a, job)))).catch((error) => fill(made, trouble(error)));
    else watch(project, made, last, (answer, job) => exported(project, answer, job), again);
  }
}

export function downloads(project, names) {
  return h("ul", {class: "downloads"}, names.map((name) => h("li", {}, h("a", {href: project.address(name), download: name.split("/").at(-1)}, `Download ${name}`))));
}

function exported(project, answer, job) {
  const lost = [...(answer.dropped ?? []), ...(answer.approximated ?? [])];
  return [downloads(project, job.made),
    answer.ran ? h("p", {class: "note"}, sentence(answer.ran)) : null,
    answer.verified ? h("p", {class: "note"}, sentence(answer.verified)) : null,
    answer.changes?.length ? h("ul", {}, answer.changes.map((c) => h("li", {}, sentence(c)))) : null,
    lost.length ? [h("h3", {}, "What the file cannot carry"), h("ul", {}, lost.map((e) => h("li", {}, h("strong", {}, e.path), ` ${sentence(e.text)}`, e.error ? ` (${number(1e3 * e.error, 2)} mrad)` : "")))] : null,
    findings(answer.findings)];
}
