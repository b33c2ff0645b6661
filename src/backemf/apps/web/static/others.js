// Commands without a page of their own, those of other packages among them: a form for each, made of what the
// command says of itself.

import {fill, h} from "./dom.js";
import {asking, button, card, field, heading, inApp, proposing, select, trouble, watch} from "./parts.js";

/** What a form asks for, as it was typed so far, and told as it changes. */
export function input(one, project, offered, typed, set) {
  const files = project.files.map((f) => f.name), now = typed ?? "", put = (value) => set(value || undefined);
  if (["text", "number", "list"].includes(one.kind)) return asking(one, heading(one.name), now, put);
  return field(heading(one.name), choice(one, files, offered, now, put), inApp(one.help));
}

function choice(one, files, offered, now, put) {
  if (one.kind === "flag") return h("input", {type: "checkbox", checked: now === true, onchange: (e) => put(e.target.checked)});
  if (one.kind === "source") return proposing(now, [...files, ...offered.parts], put, "a part, or a file").querySelector("input");
  return select(["", ...(["file", "files"].includes(one.kind) ? files : one.choices)], now, put);
}

/** What was typed as the server takes it. */
export function request(fields, typed) {
  const read = {files: (text) => [text], list: (text) => text.split(/[\s,]+/)};
  const kept = fields.filter((f) => typed[f.name]);
  return Object.fromEntries(kept.map((f) => [f.name, f.name === "bench" ? benchOf(typed.bench) : (read[f.kind] ?? ((x) => x))(typed[f.name])]));
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
    const fields = one.fields.map((f) => input(f, project, offered, "", (value) => { form[f.name] = value; }));
    const run = async () => {
      try {
        watch(project, place, await project.run({command: name, ...request(one.fields, form)}), (answer) => h("pre", {class: "source", tabindex: "0", "aria-label": `What ${name} answers`}, JSON.stringify(answer, null, 1)), () => {});
      } catch (error) { fill(place, trouble(error)); }
    };
    return card(`command-${name}`, name, h("p", {}, one.help), h("div", {class: "form"}, fields), button("Run", run), place);
  });
  return cards.length ? h("div", {}, cards) : null;
}
