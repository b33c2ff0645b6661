// Commands of other packages: a form for each, made of what the command says of itself.

import {fill, h} from "./dom.js";
import {button, card, field, proposing, select, trouble, watch} from "./parts.js";

function input(one, project, offered, set) {
  const files = project.files.map((f) => f.name);
  if (one.kind === "flag") return h("input", {type: "checkbox", onchange: (e) => set(e.target.checked)});
  if (one.kind === "files") return select(["", ...files], "", (value) => set(value ? [value] : undefined));
  if (one.kind === "source") return proposing("", [...files, ...offered.parts], (value) => set(value || undefined), "a part, or a file").querySelector("input");
  return h("input", {type: "text", onchange: (e) => set(e.target.value.trim() || undefined)});
}

/** A card for every command that other packages add; null where there are none. */
export function others(project, offered) {
  const cards = Object.entries(offered.commands).map(([name, one]) => {
    const form = {}, place = h("div");
    const fields = one.fields.map((f) => field(f.name, input(f, project, offered, (value) => { form[f.name] = value; }), f.help));
    const run = async () => {
      try {
        watch(project, place, await project.run({command: name, ...form}), (answer) => h("pre", {}, JSON.stringify(answer, null, 1)), () => {});
      } catch (error) { fill(place, trouble(error)); }
    };
    return card(`command-${name}`, name, h("p", {}, one.help), h("div", {class: "form"}, fields), button("Run", run), place);
  });
  return cards.length ? h("div", {}, cards) : null;
}
