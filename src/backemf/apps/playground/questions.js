// Questions of a lesson: the answer is what the model of the page says, with the sliders where they stand.

function trial(set, motion) {  // a run with some numbers changed, and nothing else
  const kept = [state.set, state.motion];
  state.set = Object.assign({}, state.set, set);
  state.motion = motion || state.motion;
  try { return simulated(VARIANTS[state.variant], Math.max(state.n, coarse())); }
  finally { [state.set, state.motion] = kept; }
}

function known(key) { return Object.values(numbers(VARIANTS[state.variant])).flat().find((one) => one.key === key); }

function reaches(run, goal) {  // when a motion has come so far [s]
  const k = run.position.findIndex((q) => q >= goal);
  if (k < 1) { return Infinity; }
  const before = run.position[k - 1];
  return run.time[k - 1] + (goal - before) / (run.position[k] - before) * (run.time[k] - run.time[k - 1]);
}

function bestRatio(about, cost) {  // on a grid, and then between the neighbours of its best
  const one = known(about.key), time = (x) => cost(trial({ [about.key]: Math.exp(x) }));
  let low = Math.log(one.least), high = Math.log(one.most);
  for (let round = 0; round < 4; round++) {
    const step = (high - low) / 24, all = Array.from({ length: 25 }, (x, k) => low + k * step);
    const times = all.map(time), best = all[times.indexOf(Math.min(...times))];
    [low, high] = [Math.max(best - step, low), Math.min(best + step, high)];
  }
  return Math.exp((low + high) / 2);
}

function overshoot(run, target) { return Math.max(...run.position) - target; }

function largestGain(about) {  // for which it goes no further than that beyond its goal
  const one = known(about.key), target = value(known("size"));
  let low = one.least, high = one.most;
  if (overshoot(trial({ [about.key]: high }), target) <= about.most) { return high; }
  for (let k = 0; k < 24; k++) {
    const middle = (low + high) / 2;
    if (overshoot(trial({ [about.key]: middle }), target) <= about.most) { low = middle; } else { high = middle; }
  }
  return low;
}

function slopes(about) {  // volts per speed in the end, and per acceleration at once, from two steps
  const [more, less] = [1, 0.6].map((share) => share * known("size").most);
  const ended = [more, less].map((size) => trial({ size, period: about.long }, "step").velocity[SAMPLES - 1]);
  const begun = [more, less].map(function (size) {
    const run = trial({ size, period: about.short }, "step"), first = Math.ceil(0.1 * (SAMPLES - 1));
    return (run.velocity[first + 8] - run.velocity[first]) / (run.time[first + 8] - run.time[first]);
  });
  return { kV: (more - less) / (ended[0] - ended[1]), kA: (more - less) / (begun[0] - begun[1]) };
}

const ANSWERS = {
  fastestRatio: (about) => bestRatio(about, (run) => reaches(run, about.goal)), coolestRatio: (about) => bestRatio(about, (run) => run.temperature.slice(SAMPLES / 2).reduce((sum, T) => sum + T)),
  largestGain, kV: (about) => slopes(about).kV, kA: (about) => slopes(about).kA,
};

function question(place, about) {
  const input = place.querySelector("input"), said = place.querySelector("[role=status]");
  function tell(show) {
    const right = ANSWERS[about.kind](about), text = written(right, 3) + (about.unit ? " " + about.unit : "");
    const given = Number(input.value.trim().replace(",", "."));
    const near = input.value.trim() !== "" && Math.abs(given - right) <= about.within * Math.abs(right);
    if (show || near) { said.textContent = (near ? "Yes. " : "") + "The model says " + text + ". " + about.because; }
    else if (input.value.trim() === "" || !Number.isFinite(given)) { said.textContent = "Type a number first."; }
    else { said.textContent = "Not yet: that is too " + (given > right ? "large." : "small."); }
  }
  const [check, show] = place.querySelectorAll("button");
  check.addEventListener("click", () => tell(false));
  show.addEventListener("click", () => tell(true));
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") { tell(false); } });
}

(SCENE.questions || []).forEach((about, k) => question(find("question-" + k), about));
