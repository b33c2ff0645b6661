// Pieces that screens share: forms, tables, findings, commands, jobs, and the place where files are dropped.

import {follow} from "./api.js";
import {curve} from "./chart.js";
import {fill, fresh, h, number, say, size, typeset, unit, words} from "./dom.js";

/** A sentence where the person is looking. */
export function trouble(error) {
  const remedy = error.remedy ? ` ${sentence(inApp(error.remedy))}` : "";
  return h("div", {class: "trouble", role: "alert"}, h("strong", {}, sentence(inApp(error.message ?? error.error ?? String(error)))), remedy);
}

export function sentence(text) {
  const trimmed = String(text).trim();
  const first = /^([a-z]+[_.\d]|[\w.-]+(, [\w.-]+)*( and \d+ more)?:)/.test(trimmed) ? trimmed : trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?:]$/.test(first) ? first : `${first}.`;
}

/** What a name is called above its field: any_ratio is "Any ratio". */
export const heading = (name) => sentence(words(name)).replace(/\.$/, "");

/** A button that copies a text. */
export function copying(text, place) {
  const copy = h("button", {type: "button", class: "small", onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(place ?? copy.nextElementSibling ?? copy);
      copy.textContent = "Selected";
    }
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  }}, "Copy");
  return copy;
}

/** Controls of the pages by the words of the shell. */
const CONTROLS = {
  "--apply": "“mend what is wrong with them”", "--friction ladder": "“Try every friction”", "--friction": "“Friction”", "--set": "“What the servo was set to”", "--map": "the table of columns",
  "--only": "“Exactly these are free”", "--free": "“Exactly these are free”", "--hold-out": "“Recordings to judge on”", "--starts": "“Starts at most”", "--bench": "“Bench”", "--start": "“Start from”", "--robot": "“Model of the robot”",
  "--joints": "“Joints”", "--firmware": "“Firmware profile”", "--into": "“Into”", "--plot": "the plots below", "--units": "“Unit of the gains”", "--preset": "“Logger”", "--name": "“Whose tests”",
  "backemf check": "“Check the recordings”", "backemf fit": "“Fit”", "backemf report": "“Write the report”", "backemf export": "“Export”",
};

/** What a shell would be told, said of the controls that are here. */
export function inApp(text) {
  return String(text ?? "").replace(/(?:[;,.] ?|^)`?backemf [^`;]*`? (?:lists all|shows what it expects)[^;.]*/g, "").replace(/ ?\(in Python[,:] (?:[^()]|\([^()]*\))*\)/g, "").replace(/ ?\(`backemf (?!check|fit|report|export)[^`]*`\)/g, "")
    .replace(/(?:--map )?"?([\w.]+)=("[^"]+"|[\w./]+)\[([^\]]+)\](?:,-?[\d.]+)?"?/g, (_, signal, column, own) => `“${column.replace(/"/g, "")}” is ${signal.replace(/_/g, " ")} in ${own} (in the table of columns)`)
    .replace(/(--[a-z-]+ [\d.]+) --/g, "$1 and --").replace(/`?(--friction ladder|backemf (?:check|fit|report|export)|--[a-z][a-z-]*)`?/g, (whole, word) => CONTROLS[word] ?? (word.startsWith("--") ? `“${sentence(word.slice(2).replace(/-/g, " ")).replace(/\.$/, "")}”` : whole));
}

/** The command that does the same. */
export function command(shown) {
  const text = h("code", {}, shown), copy = copying(shown, text);
  return h("div", {class: "command"}, h("span", {class: "quiet"}, "In a terminal"), h("pre", {tabindex: "0", "aria-label": "The command that does the same"}, text), copy);
}

export function card(id, title, ...inside) {
  return h("section", {class: "card", id, "aria-labelledby": `${id}-title`}, h("h2", {id: `${id}-title`}, title), inside);
}

export function table(columns, rows, caption) {
  return h("div", {class: "wide", tabindex: "0", role: "region", "aria-label": caption ?? "table"}, h("table", {class: "stacked"},
    caption ? h("caption", {class: "unseen"}, caption) : null,
    h("thead", {}, h("tr", {}, columns.map((c) => h("th", {scope: "col", class: c.number ? "num" : null}, c.title)))),
    h("tbody", {}, rows.map((row) => h("tr", {class: row.class}, columns.map((c, k) => {
      const cell = c.of(row);
      return h(k === 0 ? "th" : "td", {scope: k === 0 ? "row" : null, class: c.number ? "num" : null, "data-title": c.title}, cell);
    }))))));
}

export function findings(list, none = "") {
  if (!list?.length) return none ? h("p", {class: "quiet"}, none) : null;
  return h("ul", {class: "findings"}, list.map((f) => h("li", {}, h("strong", {}, words(f.code)), h("p", {}, sentence(typeset(f.text))),
    f.remedy ? h("p", {class: "remedy"}, "What to do: ", sentence(inApp(f.remedy))) : null)));
}

/** What stands of several recordings, each [name, object of what is said]: the same of more than one stands once, with their names. */
export function together(said, words = "text") {
  const groups = new Map();
  for (const [name, one] of said) {
    const key = JSON.stringify([one.code, one[words], one.remedy]);
    groups.set(key, {...one, names: [...(groups.get(key)?.names ?? []), name]});
  }
  return [...groups.values()].map((one) => ({...one, [words]: `${one.names.slice(0, 4).join(", ")}${one.names.length > 4 ? ` and ${one.names.length - 4} more` : ""}: ${one[words]}`}));
}

/** A labelled input: the label is above, a hint below. */
export function field(label, input, hint) {
  const id = input.id || fresh("field");
  input.id = id;
  const told = hint ? h("span", {class: "hint", id: `${id}-hint`}, hint) : null;
  if (told) input.setAttribute("aria-describedby", `${id}-hint`);
  return h("div", {class: "field"}, h("label", {for: id}, label), input, told);
}

/** An option as it is typed; of a number, the unit that it has alone stands beside its name, and another may be typed. */
export function asking(f, label, value, set) {
  const own = f.unit ? ` [${unit(f.unit).replace(" | ", " or ")}]` : "", help = own ? f.help.replace(/ ?\[[^\]]*\]/, "") : f.help;
  return field(`${label}${own}`, h("input", {type: "text", inputmode: f.kind === "number" && !own ? "decimal" : null, value: value ?? "", placeholder: f.default ?? "", autocomplete: "off", spellcheck: "false",
    "data-option": f.spelled, onchange: (e) => { e.target.removeAttribute("aria-invalid"); set(e.target.value.trim()); }}), inApp(help));
}

/** Show which field a refusal is of: what it says of --period is of that field. */
export function point(place, error) {
  const at = [...place.querySelectorAll("[data-option]")].find((one) => new RegExp(`${one.dataset.option}(?![\\w-])`).test(error.message));
  if (!at) return;
  at.setAttribute("aria-invalid", "true");
  for (let over = at.closest("details"); over; over = over.parentElement.closest("details")) over.open = true;
  at.focus();
}

/** Options: [value, title] or value. */
export function select(options, value, onchange) {
  return h("select", {onchange: (e) => onchange(e.target.value)}, options.map((o) => {
    const [v, title] = Array.isArray(o) ? o : [o, o || "–"];
    return h("option", {value: v, selected: v === (value ?? "")}, title);
  }));
}

/** Text with proposals. */
export function proposing(value, options, onchange, placeholder) {
  const list = fresh("list");
  return h("span", {class: "proposing"},
    h("input", {type: "text", value: value ?? "", list, placeholder, autocomplete: "off", spellcheck: "false", onchange: (e) => onchange(e.target.value.trim()), id: fresh("field")}),
    h("datalist", {id: list}, options.map((o) => h("option", {value: o}))));
}

export function button(title, onclick, kind = "") {
  return h("button", {type: "button", class: kind, onclick}, title);
}

/** Where files are dropped, or chosen; whole folders too. */
export function dropzone(project, what, accept, done) {
  const list = h("ul", {class: "uploads"});
  const put = async (files) => {
    let all = [];
    for (const {file, name, folder} of files) {
      const row = h("li", {}, `${name}: sending, ${size(file.size)}`);
      list.append(row);
      try {
        const kept = await project.upload(file, name, folder);
        all.push(kept);
        row.remove();
      } catch (error) {
        fill(row, trouble(error));
      }
    }
    if (all.length) {
      say(`${all.length} file${all.length > 1 ? "s" : ""} uploaded`);
      await project.reload();
      if (project.files.length === all.length) await named(project, all[0].given ?? all[0].name);
      done(all);
    }
  };
  const chosen = (input) => put([...input.files].map((file) => {
    const [folder, ...rest] = (file.webkitRelativePath || "").split("/");
    return rest.length ? {file, name: rest.join("/"), folder} : {file, name: file.name};
  })).finally(() => { input.value = ""; });
  const files = h("input", {type: "file", multiple: true, accept: accept.join(","), class: "unseen", id: fresh("files"), onchange: (e) => chosen(e.target)});
  const folder = h("input", {type: "file", webkitdirectory: true, class: "unseen", id: fresh("folder"), onchange: (e) => chosen(e.target)});
  const zone = h("div", {class: "drop",
    ondragover: (e) => { e.preventDefault(); zone.classList.add("over"); },
    ondragleave: () => zone.classList.remove("over"),
    ondrop: async (e) => {
      e.preventDefault();
      zone.classList.remove("over");
      put(await dropped(e.dataTransfer));
    }},
    h("p", {}, h("strong", {}, `Drop ${what} here`), " or"),
    h("p", {class: "row"}, files, h("label", {for: files.id, class: "as-button primary"}, "Choose files"),
      folder, h("label", {for: folder.id, class: "as-button"}, "Choose a folder")));
  return h("div", {}, zone, list);
}

/** A project that nobody has named yet is called after its first file. */
async function named(project, file) {
  const title = file.split("/").at(-1).replace(/\.[a-z0-9]+$/i, ""), place = document.querySelector("input.name");
  if (!place || place.value !== project.name || !/, .*\d/.test(project.name) || !title) return;
  place.value = title;
  place.dispatchEvent(new Event("change"));
}

async function dropped(transfer) {
  const entries = [...transfer.items].map((i) => i.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({file, name: file.name}));
  const found = [];
  const walk = async (entry, folder, path) => {
    if (entry.isFile) {
      const file = await new Promise((yes, no) => entry.file(yes, no));
      found.push(folder ? {file, name: [...path, file.name].join("/"), folder} : {file, name: file.name});
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((yes, no) => reader.readEntries(yes, no));
      if (!some.length) break;
      for (const inner of some) await walk(inner, folder ?? entry.name, folder ? [...path, entry.name] : path);
    }
  };
  for (const entry of entries) await walk(entry, null, []);
  return found;
}

/** A job while it waits and runs, then what it answered: `shown(answer, job)` makes that. */
export function watch(project, place, job, shown, onover) {
  const view = running(project);
  fill(place, view.box);
  follow(project, job, view.see).then(async (over) => {
    await project.reload();
    const answer = await project.answer(over.id);
    fill(place, ended(over, answer, shown));
    say(over.state === "done" ? `${over.command} is done` : `${over.command}: ${over.error}`);
    onover?.(over, answer);
  }).catch((error) => {
    fill(place, trouble(error));
    onover?.(null, null);
  });
}

export function ended(job, answer, shown) {
  const early = job.stopped && job.state === "done" ? h("p", {class: "note"}, "Stopped by hand: this is the best that was found until then.") : null;
  const bad = job.state === "done" ? null : trouble({message: job.error || job.state, remedy: job.remedy});
  return [early, bad, answer && (job.state === "done" || answer.recordings) ? shown(answer, job) : null, command(job.shown)];
}

function running(project) {
  const what = h("p", {}, "Waiting");
  const bar = h("progress", {max: "1", "aria-label": "How far it is"});
  const curves = h("div", {class: "curves"});
  const numbers = h("div", {class: "chips"});
  let id = null;
  const stop = h("button", {type: "button", class: "stop", onclick: async () => {
    stop.disabled = true;
    stop.textContent = "Stopping";
    setTimeout(() => { stop.disabled = false; stop.textContent = "End at once"; }, 2000);
    try { await project.stop(id); } catch (error) { box.append(trouble(error)); }
  }}, "Stop");
  const box = h("div", {class: "running"}, h("div", {class: "row"}, what, stop), bar, numbers, curves);
  const see = (job) => {
    id = job.id;
    if (job.command === "fit" && stop.textContent === "Stop") stop.textContent = "Stop and keep the best";
    if (job.state === "waiting") {
      what.textContent = job.ahead ? `Waiting: ${job.ahead} before this one` : "Waiting for its turn";
      return;
    }
    const p = job.progress;
    what.textContent = `${p?.text ? sentence(p.text) : `${job.command} is running`} ${left(job, p?.share)}`;
    if (p?.share !== undefined && p.share !== null) bar.value = p.share;
    else bar.removeAttribute("value");
    if (p?.curves) fill(curves, p.curves.map(curve));
    if (p?.values) fill(numbers, Object.entries(p.values).map(([path, value]) => h("span", {class: "chip"}, `${path} ${number(value)}`)));
  };
  return {box, see};
}

/** How far a job is in words: a percentage, and the time left at the pace so far. */
function left(job, share) {
  const seconds = job.began ? (Date.now() - Date.parse(job.began)) / 1000 : 0;
  const spoken = (x) => (x < 90 ? `${Math.max(1, Math.round(x))} s` : `${Math.round(x / 60)} min`);
  if (!share) return seconds > 3 ? `${spoken(seconds)} so far.` : "";
  return `${Math.round(100 * share)} %${share > 0.02 && share < 1 && seconds > 2 ? `, about ${spoken((seconds * (1 - share)) / share)} left` : ""}.`;
}

/** value ± error, one unit. */
export function quantity(p) {
  const error = p.error !== null && p.error !== undefined ? ` ± ${number(p.error, 2)}` : "";
  return `${number(p.value)}${error} ${unit(p.unit)}`.trim();
}

/** Every command of a project: a queue that can be seen. */
export function history(project, open) {
  if (!project.jobs.length) return null;
  const rows = [...project.jobs].reverse();
  return h("details", {class: "history"}, h("summary", {}, `Commands so far (${rows.length})`),
    h("ol", {reversed: true}, rows.map((job) => h("li", {}, h("span", {class: `state ${job.state}`}, job.state), " ", h("code", {}, job.shown),
      job.error ? h("p", {class: "quiet"}, sentence(job.error)) : null,
      ["interrupted", "failed", "stopped"].includes(job.state) ? button("Start again", async () => open(await project.again(job.id)), "small") : null))));
}
