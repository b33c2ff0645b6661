"use strict";
// Rows of a table that are chosen by words, and by a column and a number: "planetary kg<0.4".
for (const box of document.querySelectorAll("input.filter")) {
  const table = box.parentElement.nextElementSibling.querySelector("table");
  const rows = [...table.querySelectorAll("tbody tr")], note = box.parentElement.querySelector(".note");
  const numberOf = (row, title) => {
    const cell = [...row.cells].find((one) => one.dataset.of.toLowerCase().startsWith(title));
    return cell ? parseFloat(cell.textContent) : NaN;
  };
  const passes = (row, word) => {
    const asked = word.match(/^(.+?)([<>])([-0-9.e]+)$/);
    if (!asked) return row.textContent.toLowerCase().includes(word);
    const x = numberOf(row, asked[1]), limit = parseFloat(asked[3]);
    return asked[2] === "<" ? x < limit : x > limit;
  };
  const choose = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = rows.filter((row) => words.every((word) => passes(row, word)));
    for (const row of rows) row.hidden = !shown.includes(row);
    note.textContent = `${shown.length} of ${rows.length}`;
  };
  box.addEventListener("input", choose);
  choose();
}
