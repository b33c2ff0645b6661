// A loop while its weights are moved: the linear-quadratic regulator, and a step with friction, delay and limit.
// The same equations as kits/frc/loop_gains.py, with which a test compares them.

/** A held over a period: v' = A v + B u, and its position before it. */
function held(kV, kA, T) {
  const a = -kV / kA, x = a * T;
  const first = Math.abs(x) < 1e-9 ? T : Math.expm1(x) / a;
  const second = Math.abs(x) < 1e-6 ? (T * T) / 2 : (Math.expm1(x) - x) / (a * a);
  return {A: [[1, first], [0, Math.exp(x)]], B: [second / kA, first / kA]};
}

const times = (M, N) => M.map((row) => N[0].map((_, j) => row.reduce((sum, m, k) => sum + m * N[k][j], 0)));
const turned = (M) => M[0].map((_, j) => M.map((row) => row[j]));

/** Gains that weigh errors q against an input r: the discrete Riccati equation by doubling. */
function regulator(A, B, q, r) {
  const n = A.length, unit = A.map((_, i) => A.map((__, j) => Number(i === j)));
  let Ak = A, G = B.map((x) => B.map((y) => x * y * r * r)), H = unit.map((row, i) => row.map((x) => x / (q[i] * q[i])));
  for (let k = 0; k < 60; k += 1) {
    const W = inverse(plus(unit, times(G, H)));
    const V1 = times(W, Ak), step = times(turned(Ak), times(H, V1));
    const next = plus(H, step);
    G = plus(G, times(times(Ak, times(W, G)), turned(Ak)));
    Ak = times(Ak, V1);
    H = next;
    if (Math.max(...step.flat().map(Math.abs)) < 1e-14 * Math.max(...H.flat().map(Math.abs))) break;
  }
  const SB = H.map((row) => row.reduce((sum, x, k) => sum + x * B[k], 0));
  const bottom = SB.reduce((sum, x, k) => sum + x * B[k], 1 / (r * r));
  return Array.from({length: n}, (_, j) => SB.reduce((sum, x, k) => sum + x * A[k][j], 0) / bottom);
}

const plus = (M, N) => M.map((row, i) => row.map((x, j) => x + N[i][j]));

function inverse(M) {
  if (M.length === 1) return [[1 / M[0][0]]];
  const [[a, b], [c, d]] = M, det = a * d - b * c;
  return [[d / det, -b / det], [-c / det, a / det]];
}

/** The real part of a power of a matrix that need not be whole, by its eigenvalues. */
function power(M, p) {
  if (M.length === 1) return [[M[0][0] > 0 ? M[0][0] ** p : Math.abs(M[0][0]) ** p * Math.cos(Math.PI * p)]];
  const [[a, b], [c, d]] = M, half = (a + d) / 2, gap = half * half - (a * d - b * c);
  let f, g; // M^p = f I + g (M - half I)
  if (gap > 1e-18) {
    const root = Math.sqrt(gap), up = signed(half + root, p), down = signed(half - root, p);
    f = (up + down) / 2;
    g = (up - down) / (2 * root);
  } else {
    const root = Math.sqrt(Math.max(-gap, 1e-24)), size = Math.hypot(half, root) ** p, angle = Math.atan2(root, half) * p;
    f = size * Math.cos(angle);
    g = (size * Math.sin(angle)) / root;
  }
  return [[f + g * (a - half), g * b], [g * c, f + g * (d - half)]];
}

const signed = (x, p) => (x >= 0 ? x ** p : Math.abs(x) ** p * Math.cos(Math.PI * p));

/** [volts per error, volts per rate] of a loop. */
export function gains(kind, {kV, kA}, {max_error: error, max_velocity_error: velocityError, max_effort: effort}, {period, delay}) {
  if (!(kA > 1e-7)) {
    if (kind === "velocity") return [0, 0];
    const K = regulator([[1]], [period], [error], effort);
    return [kV * K[0], 0];
  }
  const {A, B} = held(kV, kA, period);
  const slow = kind === "velocity";
  const [Ad, Bd, q] = slow ? [[[A[1][1]]], [B[1]], [velocityError]] : [A, B, [error, velocityError]];
  let K = regulator(Ad, Bd, q, effort);
  if (delay > 0) {
    const left = power(Ad.map((row, i) => row.map((x, j) => x - Bd[i] * K[j])), delay / period);
    K = K.map((_, j) => K.reduce((sum, k, i) => sum + k * left[i][j], 0));
  }
  return slow ? [K[0], 0] : K;
}

/** A step: {time, value, input, settles}; friction holds what stands still. */
export function step(kind, K, {kS, kV, kA, kG}, {period, delay, limit, target, duration, against_friction: push = 0}) {
  const fine = Math.max(1, Math.ceil(period / 0.001)), h = period / fine, n = Math.max(2, Math.ceil(duration / period)) * fine;
  const late = Math.round(delay / h), p = [0], v = [0], u = [0];
  let effort = 0;
  for (let k = 0; k < n; k += 1) {
    if (k % fine === 0) {
      const seen = Math.max(0, k - late), off = target - p[seen];
      effort = kind === "velocity" ? kS * Math.sign(target) + kV * target + kG + K[0] * (target - v[seen]) : kG + K[0] * off - K[1] * v[seen] + (Math.abs(off) > 0.01 * Math.abs(target) ? push * Math.sign(off) : 0);
      effort = Math.min(Math.max(effort, -limit), limit);
    }
    const [moved, speed] = coast(v[k], effort - kG, kS, kV, kA, h);
    p.push(p[k] + moved);
    v.push(speed);
    u.push(effort);
  }
  const value = kind === "velocity" ? v : p;
  let last = value.findLastIndex((x) => Math.abs(x / target - 1) > 0.02);
  return {time: value.map((_, k) => k * h), value, input: u, settles: last === n ? Infinity : (last + 1) * h};
}

/** A step, followed until it has settled, friction holds it off, or 8 s are over: also {off, held}. */
export function followed(kind, K, gains, how) {
  const moving = kind === "velocity", first = moving ? Math.min(Math.max((8 * gains.kA) / Math.max(gains.kV, 1e-9), 0.3), 5) : 1;
  for (let duration = first; ; duration *= 2) {
    const run = step(kind, K, gains, {...how, duration}), late = run.value.slice(-Math.floor(run.value.length / 10));
    const off = Math.abs(how.target - run.value.at(-1)), creeps = Math.max(...late) - Math.min(...late) < 0.01 * Math.abs(how.target);
    const held = !moving && creeps && off * K[0] <= 1.02 * gains.kS;
    if (moving || duration >= 8 || run.settles <= 0.7 * duration || held) return {...run, off, held};
  }
}

/** [way, velocity] after h seconds, through a standstill on the way too. */
function coast(v, net, kS, kV, kA, h) {
  if (v === 0 && Math.abs(net) <= kS) return [0, 0];
  const way = v === 0 ? Math.sign(net) : Math.sign(v), a = (net - way * kS) / kA, rate = kV / kA;
  const [moved, next] = glide(v, a, rate, h);
  if (v === 0 || next * way >= 0) return [moved, next];
  const y = (-rate * v) / a, until = (-v / a) * (Math.abs(y) < 1e-9 ? 1 : Math.log1p(y) / y), [first] = glide(v, a, rate, until);
  if (Math.abs(net) <= kS) return [first, 0];
  const [second, left] = glide(0, (net - Math.sign(net) * kS) / kA, rate, h - until);
  return [first + second, left];
}

function glide(v, a, rate, h) {
  const first = rate * h < 1e-9 ? h : -Math.expm1(-rate * h) / rate;
  const second = rate * h < 1e-4 ? (h * h) / 2 - (rate * h * h * h) / 6 : (h - first) / rate;
  const slope = a - rate * v;
  return [v * h + slope * second, v + slope * first];
}
