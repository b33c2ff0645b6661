// Elements, numbers and words: what every screen writes with.

/** An element: h("p", {class: "note"}, "text", child). Text is never read as HTML. */
export function h(tag, given = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked" || key === "disabled" || key === "selected") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  add(made, children);
  return made;
}

function add(made, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    made.append(child instanceof Node ? child : String(child));
  }
}

const SVG = "http://www.w3.org/2000/svg";

export function s(tag, given = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(given)) made.setAttribute(key, value);
  add(made, children);
  return made;
}

export function fill(place, ...children) {
  const kept = [];
  add({append: (x) => kept.push(x)}, children);
  place.replaceChildren(...kept);
  return place;
}

/** Four significant digits, as people write them. */
export function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e6 || size < 1e-4 ? value.toExponential(digits - 1) : value.toPrecision(digits);
  const plain = text.includes("e") ? text.replace(/\.?0+e/, "e").replace("e+", "e") : String(Number(text));
  return plain.replace("-", "−").replace(/e(−|-)?(\d+)/, (_, sign, power) => ` × 10${raised((sign ? "-" : "") + power)}`);
}

const UP = {"-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹"};
const raised = (text) => [...text].map((c) => UP[c] ?? c).join("");

/** kg m^2 -> kg m². */
export const unit = (text) => (text === "1" || !text ? "" : text.replace(/\^(-?\d+)/g, (_, p) => raised(p)).replace(/\*/g, " "));

/** A sentence with its numbers as books have them: 2.9e-08 kg m^2 is 2.9 × 10⁻⁸ kg m². */
export const typeset = (text) => text.replace(/\^(-?\d+)/g, (_, p) => raised(p)).replace(/ \+- /g, " ± ")
  .replace(/(\d)e([+-]?)0*(\d+)\b/g, (_, digit, sign, power) => `${digit} × 10${raised((sign === "-" ? "-" : "") + power)}`);

export const words = (path) => path.replace(/_/g, " ");

export function size(bytes) {
  return bytes < 1e3 ? `${bytes} B` : bytes < 1e6 ? `${number(bytes / 1e3, 3)} kB` : `${number(bytes / 1e6, 3)} MB`;
}

export function say(text) {
  document.getElementById("said").textContent = text;
}

let counter = 0;
export const fresh = (stem) => `${stem}-${++counter}`;

export function later(wait, run) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...given), wait);
  };
}
