// The app: which screen is shown, and what the forms offer.

import {Project, ask} from "./api.js";
import {fill, h} from "./dom.js";
import {home} from "./home.js";
import {others} from "./others.js";
import {trouble} from "./parts.js";

const main = document.getElementById("main");
const where = document.getElementById("where");
const SCREENS = {servo: "./servo.js", robot: "./servo.js", mechanism: "./mechanism.js", model: "./model.js", sheet: "./sheet.js", record: "./record.js", size: "./task.js", power: "./task.js"};
let offered = null;

/** The project's name, which can be typed over. */
function nameField(project) {
  return h("input", {type: "text", class: "name", value: project.name, maxlength: "120", "aria-label": "Name of this project", onchange: async (e) => {
    try {
      project.name = (await ask("PUT", `/projects/${project.id}/name`, {name: e.target.value})).name;
      document.title = `${project.name} – backemf`;
    } catch { /* the old one stays */ }
    e.target.value = project.name;
  }});
}

async function show() {
  try {
    offered ??= await ask("GET", "/hello");
    document.getElementById("foot").textContent = `backemf ${offered.version}. Everything stays on this machine.`;
    const match = location.hash.match(/^#\/p\/([0-9a-f]+)$/);
    if (!match) {
      where.textContent = "";
      document.title = "backemf";
      await home(main);
      return;
    }
    const project = new Project(await ask("GET", `/projects/${match[1]}`));
    fill(where, nameField(project));
    document.title = `${project.name} – backemf`;
    const {screen} = await import(SCREENS[project.kind]);
    await screen(main, project, offered);
    const more = others(project, offered);
    if (more) main.append(more);
  } catch (error) {
    fill(main, h("section", {class: "card"}, h("h1", {}, "This cannot be shown"), trouble(error), h("p", {}, h("a", {href: "#/"}, "All projects"))));
  }
}

addEventListener("hashchange", () => {
  show().then(() => main.focus({preventScroll: true}));
  scrollTo(0, 0);
});
show();
