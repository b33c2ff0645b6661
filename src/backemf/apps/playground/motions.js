// Motions of a page, as be.signal writes them: a size and a period say all of each. They jump on samples.

const NEAR = 1e-9;
const MOTIONS = {
  square: { label: "there and back", of: (t, size, period) => {
    const p = t / period, share = p - Math.floor(p + NEAR);
    return share < 0.5 - NEAR ? size : 0; }, periods: 2 },
  step: { label: "one step", of: (t, size, period) => (t >= 0.1 * period - NEAR ? size : 0), periods: 1 },
  sine: { label: "sine", of: (t, size, period) => size * Math.sin(2 * Math.PI * t / period), periods: 2 },
  ramp: { label: "ramp", of: (t, size, period) => size * Math.min(t / (0.75 * period), 1), periods: 1 },
  triangle: { label: "slowly there and back", periods: 1,
    of: (t, size, period) => size * (1 - Math.abs(2 * t / period - 1)) },
  chirp: { label: "faster and faster", of: (t, size, period) => {
    const low = 0.5 / period, high = 8 / period, span = 2 * period;
    return size * Math.sin(2 * Math.PI * (low * t + (high - low) * t * t / (2 * span))); }, periods: 2 },
};
