// What kernels in JavaScript are fed, and how they are run: as rows.py lays it out.

// Rows of inputs held between samples. `asked` has `width` numbers for each of `times`; the columns that
// `moved` marks act `delay` seconds after they were asked. Row k acts from sample k to k + 1; where a command
// changes inside an interval, `before` acts during its first `share`, `values` after. `past`, if given, is
// { times, asked } of what was asked before the first sample; without it the first values held.
function rowsOf(times, asked, width, delay, moved, past) {
  const n = times.length, dt = new Float64Array(n), share = new Float64Array(n);
  for (let k = 0; k + 1 < n; k++) { dt[k] = times[k + 1] - times[k]; }
  if (!delay) { return { values: asked, before: asked, share, dt }; }
  const arrival = [], source = [], order = [];
  function add(array, place, time) {  // what is asked again is no change
    const j = order.length - 1;
    let same = j >= 0;
    for (let i = 0; same && i < width; i++) {
      same = !moved[i] || array[width * place + i] === source[j][width * order[j] + i];
    }
    if (!same) { arrival.push(time + delay); source.push(array); order.push(place); }
  }
  if (past) { for (let k = 0; k < past.times.length; k++) { add(past.asked, k, past.times[k]); } }
  for (let k = 0; k < n; k++) { add(asked, k, times[k]); }
  const values = Float64Array.from(asked), before = Float64Array.from(asked);
  function put(into, k, index) {
    const j = Math.max(index, 0);
    for (let i = 0; i < width; i++) {
      if (moved[i]) { into[width * k + i] = source[j][width * order[j] + i]; }
    }
  }
  let first = -1, last = -1;
  for (let k = 0; k + 1 < n; k++) {
    const tiny = 1e-9 * dt[k];
    while (first + 1 < arrival.length && arrival[first + 1] <= times[k] + tiny) { first++; }
    while (last + 1 < arrival.length && arrival[last + 1] < times[k + 1] - tiny) { last++; }
    const inside = last > first;
    if (inside) {
      share[k] = Math.min(Math.max((arrival[Math.max(last, 0)] - times[k]) / dt[k], 0), 1);
    }
    put(values, k, inside ? last : first);
    put(before, k, inside ? Math.max(last - 1, first) : first);
  }
  for (let i = 0; i < width; i++) {  // what holds in the last interval holds on
    values[width * (n - 1) + i] = before[width * (n - 1) + i] = values[width * (n - 2) + i];
  }
  return { values, before, share, dt };
}

// A kernel over all rows: { states, seen } at every sample. `restarts` are [sample, position, velocity] at
// which the states at the places in `pairs` ([[position, velocity], ...]) are set; the others stay.
function runOf(kernel, P, S, rows, n, widths, restarts, pairs) {
  const samples = rows.dt.length, s = Float64Array.from(S);
  const states = new Float64Array(samples * widths.states), seen = new Float64Array(samples * widths.seen);
  const stops = (restarts || []).map((r) => r[0]).concat([samples]);
  kernel(P, s, rows, 0, stops[0], n, states, seen);
  (restarts || []).forEach(function (r, i) {
    for (const pair of pairs) { s[pair[0]] = r[1]; s[pair[1]] = r[2]; }
    kernel(P, s, rows, r[0], stops[i + 1], n, states, seen);
  });
  return { states, seen };
}
