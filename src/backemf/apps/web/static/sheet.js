// A datasheet typed into a form: what follows from it, and what disagrees, while one types.

import {exports_} from "./exports.js";
import {fill, h, later, number, unit, words} from "./dom.js";
import {card, command, field, findings, history, proposing, select, sentence, table, trouble} from "./parts.js";
import {follow} from "./api.js";

const FIRST = ["nominal_voltage", "stall_torque", "stall_current", "no_load_speed", "no_load_current", "resistance", "torque_constant", "gear_ratio"];
const HINTS = {nominal_voltage: "7.4 V", stall_torque: "19.5 kg cm", stall_current: "2.5 A", no_load_speed: "0.222 s/60deg, or 45 rpm", no_load_current: "150 mA", resistance: "2.1 ohm", torque_constant: "8 kg cm/A", gear_ratio: "345", rotor_inertia: "10 g cm^2"};
const NAME = "sheet.toml";

export async function screen(main, project, offered) {
  const form = {name: "my servo", maker: "", kind: "servo", side: "output", entries: {}, shown: FIRST, ...project.form};
  const places = {}, numbers = h("div", {class: "form"}), result = h("div"), made = h("div"), past = h("div");
  let turn = 0;

  const toml = () => [
    ...["name", "maker", "kind", "side"].map((key) => `${key} = ${JSON.stringify(form[key] || "unknown")}`),
    `voltage = ${JSON.stringify(form.entries.nominal_voltage || "12 V")}`, `source = "typed into a form"`, "", "[entries]",
    ...Object.entries(form.entries).filter(([, text]) => text.trim()).map(([name, text]) => `${name} = ${JSON.stringify(text.trim())}`), ""].join("\n");

  const typed = later(350, async () => {
    const mine = ++turn;
    project.keep(form).catch(() => {});
    Object.values(places).forEach((place) => fill(place));
    if (!Object.values(form.entries).some((text) => text.trim())) { fill(result, h("p", {class: "quiet"}, "Type what the sheet prints, each number with its unit.")); return; }
    try {
      await project.write(NAME, toml());
      const job = await follow(project, await project.run({command: "datasheet", part: NAME}), () => {});
      const answer = await project.answer(job.id);
      if (mine !== turn) return;
      if (job.state === "done") fill(result, solved(answer), command(job.shown));
      else wrong({message: job.error, remedy: job.remedy});
      await project.reload();
      exports_(made, project, offered, [NAME], [], () => {}, NAME);
      fill(past, history(project, () => {}));
    } catch (error) {
      if (mine === turn) wrong(error);
    }
  });
  const wrong = (error) => {
    const about = `${error.message} ${error.remedy ?? ""}`;
    const named = Object.keys(places).find((name) => form.entries[name]?.trim() && (about.includes(name) || about.includes(`'${form.entries[name].trim()}'`)));
    const place = named ? places[named] : null;
    const bare = {message: error.message.replace(/^sheet\.toml(, line \d+)?: /, ""), remedy: error.remedy};
    if (place) { fill(place, trouble(bare)); fill(result, h("p", {class: "quiet"}, `The ${words(named)} cannot be used as it is: see above.`)); }
    else fill(result, trouble(bare));
  };

  const showNumbers = () => fill(numbers, form.shown.map((name) => {
    places[name] = h("div", {"aria-live": "polite"});
    const box = field(`${words(name).replace(/^./, (c) => c.toUpperCase())}`, h("input", {type: "text", value: form.entries[name] ?? "", placeholder: HINTS[name] ?? "", autocomplete: "off", spellcheck: "false",
      oninput: (e) => { form.entries[name] = e.target.value; typed(); }}), offered.entries[name]?.what);
    box.append(places[name]);
    return box;
  }));
  const text = (key, label) => field(label, h("input", {type: "text", value: form[key], autocomplete: "off", oninput: (e) => { form[key] = e.target.value; typed(); }}));
  const choose = (key, label, options, hint) => field(label, select(options, form[key], (value) => { form[key] = value; typed(); }), hint);
  const more = select([["", "another number"], ...Object.keys(offered.entries).map((n) => [n, words(n)])], "", (value) => {
    if (value && !form.shown.includes(value)) { form.shown = [...form.shown, value]; showNumbers(); }
    more.value = "";
  });
  const part = proposing("", offered.parts, async (value) => {
    if (!value) return;
    try {
      const job = await follow(project, await project.run({command: "datasheet", part: value}), () => {});
      const answer = await project.answer(job.id);
      if (job.state !== "done") { fill(result, trouble({message: job.error, remedy: job.remedy}), command(job.shown)); return; }
      form.name = answer.name;
      form.maker = answer.maker;
      form.kind = answer.kind;
      fill(result, solved(answer), command(job.shown));
      exports_(made, project, offered, [value], [], () => {}, value);
    } catch (error) { fill(result, trouble(error)); }
  }, "mx-106");
  const partBox = field("Or look at a part of the catalogue", part.querySelector("input"), "its numbers are shown as the sheet prints them");
  partBox.append(part.querySelector("datalist"));

  fill(main, h("h1", {class: "unseen"}, project.name),
    card("sheet", "1. What the sheet prints", h("div", {class: "form"}, text("name", "Name"), text("maker", "Maker"), choose("kind", "Kind", ["motor", "gearmotor", "servo", "actuator"]), choose("side", "Torques and speeds are at the", ["output", "rotor"], "of a motor without gears it is the same")),
      numbers, h("div", {class: "form"}, field("Add", more), partBox)),
    card("follows", "2. What follows, and what disagrees", result), card("exports", "3. Exports", made), past);
  showNumbers();
  fill(result, h("p", {class: "quiet"}, "Type what the sheet prints, each number with its unit."));
  fill(made, h("p", {class: "quiet"}, "An export needs a sheet."));
  if (Object.keys(form.entries).length) typed();
}

function solved(answer) {
  const verdict = (e) => (e.within_rounding === null ? "–" : e.within_rounding ? "agrees" : e.value ? `${number(100 * (e.predicted / e.value - 1), 2)} % off` : "disagrees");
  const rows = (given) => Object.entries(given).map(([name, c]) => ({name, ...c}));
  const columns = [{title: "quantity", of: (c) => words(c.name)}, {title: "value", number: true, of: (c) => number(c.value)}, {title: "error", number: true, of: (c) => number(c.error, 2)}, {title: "unit", of: (c) => unit(c.unit)}];
  const off = answer.printed.filter((e) => e.within_rounding === false).length;
  return [h("p", {class: `verdict ${off ? "warn" : "good"}`, role: "status"}, off ? `${off} of ${answer.printed.length} printed numbers disagree with the others by more than their rounding.` : "The printed numbers agree with each other."),
    table([
      {title: "entry", of: (e) => words(e.name)},
      {title: "printed", of: (e) => e.text},
      {title: "in SI", number: true, of: (e) => number(e.value)},
      {title: "follows", number: true, of: (e) => number(e.predicted)},
      {title: "unit", of: (e) => unit(e.unit)},
      {title: "", of: verdict},
    ], answer.printed, "Printed numbers"),
    findings(answer.findings),
    h("h3", {}, `What follows at ${number(answer.voltage)} V`), table(columns, rows(answer.derived), "What follows"),
    h("details", {}, h("summary", {}, "Constants of the motor"), table(columns, rows(answer.constants), "Constants")),
    answer.assumed?.length ? h("details", {}, h("summary", {}, "Assumed"), h("ul", {}, answer.assumed.map((a) => h("li", {}, sentence(a))))) : null,
    answer.quirks?.length ? h("details", {}, h("summary", {}, "Known quirks"), h("ul", {}, answer.quirks.map((a) => h("li", {}, sentence(a))))) : null];
}
