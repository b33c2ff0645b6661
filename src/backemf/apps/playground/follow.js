// A recorded log with other numbers: laid out once, run at every move.

function prepared(given) {
  const log = Object.assign({}, given);
  log.time = unpacked(given.time);
  log.asked = together(given.asked.map(unpacked));
  log.measured = unpacked(given.measured);
  log.P = Float64Array.from(given.P);
  log.fitted = Float64Array.from(given.P);
  const places = given.samples || Array.from(log.time, (t, k) => k);
  log.places = places;
  log.at = Float64Array.from(places, (k) => log.time[k]);
  log.known = NaN;
  return log;
}

function follow(log, values) {  // one log with these numbers: { position, current, error }
  log.P.set(log.fitted);
  log.columns.forEach(function (c, i) { if (c >= 0 && values[i] !== null) { log.P[c] = values[i]; } });
  const delay = log.delay >= 0 ? log.P[log.delay] : 0;
  if (delay !== log.known) {
    log.rows = rowsOf(log.time, log.asked, log.width, delay, log.moved);
    log.known = delay;
  }
  const run = runOf(KERNELS[log.kernel], log.P, log.S, log.rows, log.n, log.widths, log.restarts, log.pairs);
  const n = log.places.length, wide = log.widths.seen;
  const position = new Float64Array(n), left = new Float64Array(n);
  const current = wide > 1 ? new Float64Array(n) : null;
  let sum = 0, many = 0;
  for (let k = 0; k < n; k++) {
    position[k] = run.seen[wide * log.places[k]];
    if (current) { current[k] = run.seen[wide * log.places[k] + 1]; }
    left[k] = 1e3 * (position[k] - log.measured[k]);
    if (log.measured[k] === log.measured[k]) { sum += Math.abs(left[k]); many++; }
  }
  return { position, current, left, error: sum / many };
}
