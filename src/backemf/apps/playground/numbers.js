// Numbers as people write them, and as Python packed them.

function written(value, digits) {  // as tables.number does
  if (!Number.isFinite(value)) { return "-"; }
  if (value === 0) { return "0"; }
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size >= -4 && size < 6) {
    const text = value.toFixed(Math.max(0, digits - 1 - size));
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  }
  const parts = value.toExponential(digits - 1).split("e");
  return parts[0].replace(/\.?0+$/, "") + "e" + Number(parts[1]);
}

function unpacked(given) {
  if (Array.isArray(given)) { return Float64Array.from(given); }
  if ("n" in given) { return Float64Array.from({ length: given.n }, (x, k) => given.from + k * given.step); }
  const bytes = Uint8Array.from(atob(given.f4 || given.f8), (c) => c.charCodeAt(0));
  return given.f4 ? Float64Array.from(new Float32Array(bytes.buffer)) : new Float64Array(bytes.buffer);
}

function together(columns) {  // columns as rows, one after the other
  const width = columns.length, n = width ? columns[0].length : 0, rows = new Float64Array(width * n);
  columns.forEach(function (column, i) { for (let k = 0; k < n; k++) { rows[width * k + i] = column[k]; } });
  return rows;
}
