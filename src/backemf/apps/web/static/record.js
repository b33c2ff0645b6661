// Recording: a servo that is not there, or one on a real bus; and a large button that ends it.

import {ask} from "./api.js";
import {downloads} from "./exports.js";
import {fill, h, later, number, unit, words} from "./dom.js";
import {button, card, command, ended, field, findings, history, proposing, select, sentence, table, together, trouble} from "./parts.js";

export async function screen(main, project, offered) {
  const form = {source: "sts3215-7.4v", bus: "feetech", ids: "1", seconds: "20", amplitude: "0.6", bench: {kind: "pendulum", mass: "0.2 kg", length: "0.1 m"}, ...project.form};
  const keep = later(300, () => project.keep(form).catch(() => {}));
  const set = (key) => (value) => { form[key] = value || undefined; keep(); };
  const virtual = h("div"), moving = h("div"), made = h("div"), past = h("div"), asked = h("div");
  const again = () => project.reload().then(() => fill(past, history(project, again)));
  const text = (key, label, hint) => field(label, h("input", {type: "text", value: form[key] ?? "", autocomplete: "off", onchange: (e) => set(key)(e.target.value.trim())}), hint);

  function bench() {
    const fields = (offered.benches[form.bench.kind] ?? []).filter((f) => f.needed);
    return [field("Bench", select([["", "none said"], ...Object.keys(offered.benches)], form.bench.kind, (value) => { form.bench = value ? {kind: value} : {}; keep(); questions(); }), "what the output carries"),
      fields.map((f) => field(`${words(f.name).replace(/^./, (c) => c.toUpperCase())} [${unit(f.unit)}]`, h("input", {type: "text", value: form.bench[f.name] ?? "", autocomplete: "off", onchange: (e) => { form.bench[f.name] = e.target.value.trim(); keep(); }})))];
  }
  const carried = () => (form.bench.kind ? {bench: form.bench} : {});
  function questions() {
    const part = proposing(form.source, offered.parts, set("source"), "sts3215-7.4v");
    const partBox = field("Virtual servo", part.querySelector("input"), "a part of the catalogue; nothing real moves");
    partBox.append(part.querySelector("datalist"));
    fill(asked, h("div", {class: "form"}, field("Bus", select(offered.buses, form.bus, set("bus"))), bench()),
      h("div", {class: "form"}, partBox), h("div", {class: "row"}, button("Start a virtual servo", begin)), virtual);
  }

  async function begin() {
    try {
      const job = await project.run({command: "virtual", source: form.source, bus: form.bus, ...carried()});
      const link = job.words[job.words.indexOf("--link") + 1];
      fill(virtual, h("p", {class: "note"}, "Starting"));
      for (let k = 0; k < 100; k += 1) {
        await new Promise((resolve) => setTimeout(resolve, 200));
        const now = await project.job(job.id);
        const answer = await project.answer(job.id);
        if (now.over) { fill(virtual, ended(now, answer, () => null)); again(); return; }
        if (answer?.port) break;
      }
      form.port = link;
      form.running = job.id;
      keep();
      fill(virtual, h("p", {class: "note"}, `A virtual ${form.source} answers on ${link}, for a quarter of an hour.`), command(job.shown));
      port();
    } catch (error) { fill(virtual, trouble(error)); }
  }

  const ports = h("div");
  const port = () => fill(ports, h("div", {class: "form"}, text("port", "Port", "/dev/ttyUSB0, COM3, can0, or the virtual servo's"), text("ids", "Ids", "1, 1-6, or shoulder=1,elbow=2"),
    text("amplitude", "How far, either way [rad]", "another unit may be typed: 30 deg"), text("seconds", "How long together [s]", "or 1 min")));

  async function record(dry) {
    const real = !/^servo-\d+$/.test(form.port ?? "");
    const request = {command: "record", bus: form.bus, port: form.port ?? "", ids: form.ids, amplitude: form.amplitude ?? "", seconds: form.seconds ?? "", ...carried(), ...(dry ? {dry_run: true} : {})};
    if (real && !dry && !free.checked) { fill(moving, trouble({message: "a real servo will move", remedy: "see that everything is free to move, and tick the box"})); return; }
    try {
      const job = await project.run(request);
      const said = h("p", {class: "verdict warn", role: "status"}, "Starting");
      const stop = h("button", {type: "button", class: "stop huge", onclick: async () => { stop.disabled = true; stop.textContent = "Stopping"; try { await project.stop(job.id); } catch (error) { moving.append(trouble(error)); } }}, "STOP");
      fill(moving, stop, said);
      stop.focus();
      let now = job;
      while (!now.over) {
        await new Promise((resolve) => setTimeout(resolve, 250));
        now = await project.job(job.id);
        if (now.progress?.text) said.textContent = sentence(now.progress.text);
      }
      await project.reload();
      fill(moving, ended(now, await project.answer(job.id), recorded));
      if (now.made.length) fill(made, downloads(project, now.made), button("Fit these recordings", () => fit(now.made[0].split("/")[0]), "primary"));
      again();
    } catch (error) { fill(moving, trouble(error)); }
  }
  async function fit(folder) {
    await project.keep({use: [folder], map: {}, bench: {}, start: form.source});
    await ask("PUT", project.path("/kind"), {kind: "servo"});
    dispatchEvent(new HashChangeEvent("hashchange"));
  }
  const recorded = (answer) => [answer.logs?.length ? table([
    {title: "recording", of: (l) => l.name}, {title: "samples", number: true, of: (l) => l.samples}, {title: "rate [Hz]", number: true, of: (l) => number(l.rate, 3)}, {title: "jitter [ms]", number: true, of: (l) => number(1e3 * l.jitter, 2)}], answer.logs, "What was recorded") : h("p", {}, "Nothing was moved."),
  findings(together((answer.logs ?? []).flatMap((l) => l.findings.map((f) => [l.name, f]))))];
  const free = h("input", {type: "checkbox", id: "free"});

  fill(main, h("h1", {class: "unseen"}, project.name), card("servo", "1. The servo", asked),
    card("record", "2. Record", h("p", {class: "quiet"}, "The usual four motions. Torque goes off on any limit, on an error, when this program is lost, and with the button."), ports,
      h("div", {class: "row"}, button("Record", () => record(false), "primary"), button("Show what would move", () => record(true)), h("span", {class: "check"}, free, h("label", {for: "free"}, "everything is free to move"))), moving),
    card("made", "3. Recordings", made), past);
  questions();
  port();
  fill(made, h("p", {class: "quiet"}, "They are listed here."));
  const logs = project.files.filter((f) => /^logs-\d+\//.test(f.name)).map((f) => f.name);
  if (logs.length) fill(made, downloads(project, logs), button("Fit these recordings", () => fit(logs.at(-1).split("/")[0]), "primary"));
  fill(past, history(project, again));
}
