// The first page: what do you have? And the projects so far.

import {ask} from "./api.js";
import {fill, h, say} from "./dom.js";
import {button, trouble} from "./parts.js";

const KINDS = [
  ["servo", "Recordings of a servo", "CSV, MAT, Parquet, MCAP, JSON: map the columns, check, fit, report, export."],
  ["robot", "Recordings of a robot", "A LeRobot dataset or logs of every joint, beside the robot's MJCF or URDF."],
  ["mechanism", "An FRC log", "WPILOG or SysId: kS, kV, kA, kG with intervals, and gains to paste."],
  ["model", "A simulation model", "An MJCF: every actuator in physical terms, what looks wrong, before and after."],
  ["sheet", "A datasheet", "Type its numbers and see at once what follows, and what disagrees."],
  ["size", "A task for a motor", "A table, or a load and a motion: which motor behind which gears does it, how hot, how surely."],
  ["power", "A robot on a battery", "A recording and a supply: sag, energy, what is not delivered, what gets too hot."],
  ["record", "A servo on a bus", "Record from a virtual servo, or one that is connected."],
];
const NAMES = Object.fromEntries(KINDS.map(([kind, title]) => [kind, title]));

export async function home(main) {
  const {projects} = await ask("GET", "/projects");
  const wrong = h("div");
  const begin = async (kind, title) => {
    try {
      const when = new Date().toLocaleString(undefined, {month: "short", day: "numeric", hour: "2-digit", minute: "2-digit"});
      const made = await ask("POST", "/projects", {name: `${title}, ${when}`, kind});
      location.hash = `#/p/${made.id}`;
    } catch (error) {
      fill(wrong, trouble(error));
    }
  };
  const rows = projects.map((p) => h("li", {}, h("a", {href: `#/p/${p.id}`}, p.name),
    h("span", {class: "quiet"}, ` ${NAMES[p.kind] ?? p.kind}, ${p.files} file${p.files === 1 ? "" : "s"}${p.active ? `, ${p.active} running or waiting` : ""}`),
    button("Delete", async (e) => {
      const asking = e.target;
      if (asking.dataset.sure) {
        try {
          await ask("DELETE", `/projects/${p.id}`);
          say(`${p.name} deleted`);
          await home(main);
        } catch (error) { fill(wrong, trouble(error)); }
      } else {
        asking.dataset.sure = "yes";
        asking.textContent = "Delete for good?";
      }
    }, "small quiet-button")));
  fill(main, h("div", {class: "welcome"}, h("h1", {}, "What do you have?"),
    h("p", {class: "lead"}, "From a motor's datasheet and bench logs to an actuator model you can trust. Every step here is a command of ",
      h("code", {}, "backemf"), ", and shows it.")),
    h("ul", {class: "kinds"}, KINDS.map(([kind, title, text]) => h("li", {}, h("button", {type: "button", class: "kind", onclick: () => begin(kind, title)}, h("strong", {}, title), h("span", {}, text))))),
    wrong,
    projects.length ? h("section", {class: "card"}, h("h2", {}, "Your projects"), h("ul", {class: "projects"}, rows)) : null);
}
