// Which column is what: chosen by clicking, said to be guessed or told, and shown in SI below.

import {fresh, h, number, unit, words} from "./dom.js";
import {findings, sentence, table, together, trouble} from "./parts.js";

const quoted = (channel) => (/[[\],@"']/.test(channel) ? (channel.includes('"') ? `'${channel}'` : `"${channel}"`) : channel);
const mapped = (channel, m) => `${m.signal}=${quoted(channel)}${m.unit ? `[${m.unit}]` : ""}${m.sign === -1 ? ",-1" : ""}`;

/** What a form says of columns, as `--map` takes it. */
export const toldMap = (form) => Object.entries(form.map).flatMap(([channel, m]) => (m.signal ? [mapped(channel, m)] : m.touched ? [`none=${quoted(channel)}`] : []))
  .concat(form.rows_ms ? [String(form.rows_ms).replace(/^\s*([\d.]+)\s*([a-zµ]*)\s*$/, (_, n, u) => `time=row[${u || "ms"}],${n}`)] : []).concat(form.more ? form.more.split(/\s*;\s*/) : []);

/** The answer of `backemf log` as a form. */
export function columns(answer, form, offered, robot, changed) {
  const seen = new Map();
  for (const recording of answer.recordings) for (const c of recording.channels) if (!seen.has(c.name)) seen.set(c.name, c);
  const channels = [...seen.values()];
  const problems = answer.recordings.filter((r) => r.problem);
  const told = new Set(Object.values(form.map).map((m) => m.signal));
  const timed = channels.some((c) => c.read_as === "time") || told.has("time");
  return [
    together(problems.map((r) => [r.name ?? r.file, {message: r.problem.split("; ")[0], remedy: "say which column is what below"}]), "message").slice(0, 4).map(trouble),
    robot ? joints(answer) : null,
    robot && answer.recordings.some((r) => r.joints?.length) ? null : mapTable(channels, form, offered, changed),
    !robot && channels.length && !timed && (problems.length || form.rows_ms) ? rows(form, changed) : null,
    signals(answer),
    findings(together(answer.recordings.flatMap((r) => r.findings.map((f) => [r.name ?? r.file, f])))),
  ];
}

export function mapTable(channels, form, offered, changed) {
  const of = (c) => form.map[c.name] ?? {};
  const set = (c, more) => {
    form.map[c.name] = {signal: c.read_as ?? "", unit: "", ...of(c), ...more, touched: true};
    changed();
  };
  const reads = (c) => {
    const now = form.map[c.name] ? of(c).signal : c.read_as ?? "";
    return h("select", {"aria-label": `${c.name} is`, onchange: (e) => set(c, {signal: e.target.value, unit: ""})},
      h("option", {value: "", selected: !now}, "not used"), offered.signals.map((x) => h("option", {value: x.name, selected: x.name === now}, words(x.name))));
  };
  const units = (c) => {
    const signal = form.map[c.name] ? of(c).signal : c.read_as;
    if (!signal || signal === "enabled") return "";
    const id = fresh("units");
    return h("span", {}, h("input", {class: "unit", list: id, value: of(c).unit || c.unit || "", placeholder: "SI", "aria-label": `unit of ${c.name}`, autocomplete: "off", spellcheck: "false", onchange: (e) => set(c, {signal, unit: e.target.value.trim()})}),
      h("datalist", {id}, (offered.units[signal] ?? []).map((u) => h("option", {value: u}))));
  };
  const turned = (c) => {
    const signal = form.map[c.name] ? of(c).signal : c.read_as;
    if (!signal || ["time", "enabled", "temperature", "supply"].includes(signal)) return "";
    return h("input", {type: "checkbox", "aria-label": `${c.name} counts the other way`, checked: of(c).sign === -1, onchange: (e) => set(c, {signal, unit: of(c).unit || c.unit || "", sign: e.target.checked ? -1 : 1})});
  };
  return table([
    {title: "column", of: (c) => h("strong", {}, c.name)},
    {title: "lowest", number: true, of: (c) => number(c.low)},
    {title: "highest", number: true, of: (c) => number(c.high)},
    {title: "is", of: reads},
    {title: "in", of: units},
    {title: "turned round", of: turned},
    {title: "by", of: (c) => ({name: "guessed from its name", told: "told", format: "the file says so"})[c.by] ?? ""},
  ], channels, "Columns of the recordings");
}

function rows(form, changed) {
  const id = fresh("rows");
  return h("div", {class: "form"}, h("div", {class: "field"}, h("label", {for: id}, "No column is the time: one row every [ms]"),
    h("input", {id, type: "text", inputmode: "decimal", placeholder: "20, or 0.02 s", value: form.rows_ms ?? "", onchange: (e) => { form.rows_ms = e.target.value || undefined; changed(); }})));
}

function signals(answer) {
  const good = answer.recordings.filter((r) => r.signals.length);
  if (!good.length) return null;
  const all = good.flatMap((r) => r.signals.map((x) => ({...x, of: r.name})));
  return h("details", {open: all.length <= 6}, h("summary", {}, `Read: ${good.length} recording${good.length === 1 ? "" : "s"}, ${good.map((r) => `${number(r.duration, 3)} s`).slice(0, 5).join(", ")}`),
    table([
      ...(good.length > 1 ? [{title: "recording", of: (x) => x.of}] : []),
      {title: "signal", of: (x) => words(x.name)},
      {title: "unit", of: (x) => unit(x.unit)},
      {title: "samples", number: true, of: (x) => x.samples},
      {title: "rate [Hz]", number: true, of: (x) => number(x.rate, 3)},
      {title: "lowest", number: true, of: (x) => number(x.low)},
      {title: "highest", number: true, of: (x) => number(x.high)},
    ], all.slice(0, 60), "Signals in SI units"),
    good[0].conversions.length ? h("details", {}, h("summary", {}, "What was done"), h("ul", {}, [...new Set(good.flatMap((r) => r.conversions))].slice(0, 30).map((c) => h("li", {}, sentence(c))))) : null);
}

function joints(answer) {
  const one = answer.recordings.find((r) => r.joints?.length);
  if (!one) return null;
  const named = (row, signal) => row.channels.filter((c) => c.read_as === signal).map((c) => `${c.name}${c.unit ? ` [${c.unit}]` : ""}`).join(", ") || "–";
  return [h("h3", {}, "Joints and their columns"), table([
    {title: "joint", of: (r) => h("strong", {}, r.joint)},
    {title: "position", of: (r) => (r.channels.length ? named(r, "position") : "no column")},
    {title: "its target", of: (r) => named(r, "position_target")},
    {title: "moved [rad]", number: true, of: (r) => (r.low === null ? "–" : `${number(r.low, 3)} to ${number(r.high, 3)}`)},
    {title: "range [rad]", number: true, of: (r) => (r.range ? r.range.map((x) => number(x, 3)).join(" to ") : "–")},
  ], one.joints, "Joints and their columns"), one.of_no_joint?.length ? h("p", {class: "quiet"}, `Of no joint: ${one.of_no_joint.join(", ")}`) : null];
}
