// Commands without a page of their own, those of other packages among them: a form for each, made of what the
// command says of itself.

import {fill, h} from "./dom.js";
import {asking, button, card, field, heading, inApp, proposing, select, trouble, watch} from "./parts.js";

function input(one, project, offered, set) {
  if (one.kind === "text" || one.kind === "number") return asking(one, heading(one.name), "", (text) => set(text ? (one.name === "bench" ? benchOf : String)(text) : undefined));
  return field(heading(one.name), choice(one, project, offered, set), inApp(one.help));
}

function choice(one, project, offered, set) {
  const files = project.files.map((f) => f.name);
  if (one.kind === "flag") return h("input", {type: "checkbox", onchange: (e) => set(e.target.checked)});
  if (one.kind === "files") return select(["", ...files], "", (value) => set(value ? [value] : undefined));
  if (one.kind === "source") return proposing("", [...files, ...offered.parts], (value) => set(value || undefined), "a part, or a file").querySelector("input");
  return select(["", ...one.choices], "", (value) => set(value || undefined));
}

/** "pendulum mass=1kg length=0.2m" as the form of a bench has it. */
function benchOf(text) {
  const [kind, ...words] = text.split(/[\s,]+/);
  return {kind, ...Object.fromEntries(words.map((word) => word.split("=", 2)))};
}

/** A card for every command without a page, other packages' too; null where there are none. */
export function others(project, offered) {
  const cards = Object.entries(offered.commands).map(([name, one]) => {
    const form = {}, place = h("div");
    const fields = one.fields.map((f) => input(f, project, offered, (value) => { form[f.name] = value; }));
    const run = async () => {
      try {
        watch(project, place, await project.run({command: name, ...form}), (answer) => h("pre", {class: "source", tabindex: "0", "aria-label": `What ${name} answers`}, JSON.stringify(answer, null, 1)), () => {});
      } catch (error) { fill(place, trouble(error)); }
    };
    return card(`command-${name}`, name, h("p", {}, one.help), h("div", {class: "form"}, fields), button("Run", run), place);
  });
  return cards.length ? h("div", {}, cards) : null;
}
