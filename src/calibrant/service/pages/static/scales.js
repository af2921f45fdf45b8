// Where numbers and times lie on an axis, and which of them get a label.

const STEPS = [1, 2, 5, 10];
const MINUTE = 60, HOUR = 3600, DAY = 86400;
const SPANS = [
  1, 5, 15, 30, MINUTE, 5 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR,
  DAY, 2 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 91 * DAY, 182 * DAY, 365 * DAY,
];

/** Return a function from [low, high] to [from, to]; both ends may be the same number. */
export function linear(low, high, from, to) {
  const width = high - low || 1;
  return (value) => from + ((value - low) / width) * (to - from);
}

/** As `linear`, for powers of ten; what is below `low` lies at its end. */
export function logarithmic(low, high, from, to) {
  const scale = linear(Math.log10(low), Math.log10(high), from, to);
  return (value) => scale(Math.log10(Math.max(value, low)));
}

/** Return about `count` round numbers within [low, high]. */
export function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * STEPS.find((each) => each * power >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const found = [];
  for (let k = first; k * step <= high + step * 1e-9; k += 1) {
    found.push(k * step);
  }
  return found;
}

/** Return the powers of ten within [low, high], at most `count`. */
export function powers(low, high, count) {
  const from = Math.ceil(Math.log10(low)), to = Math.floor(Math.log10(high));
  const step = Math.max(1, Math.ceil((to - from) / count));
  const found = [];
  for (let k = to; k >= from; k -= step) {
    found.push(10 ** k);
  }
  return found.reverse();
}

/** Return about `count` round moments within [low, high], in seconds since 1970, UTC. */
export function moments(low, high, count) {
  const rough = (high - low) / count;
  const step = SPANS.find((each) => each >= rough) ?? 365 * DAY * Math.ceil(rough / (365 * DAY));
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) {
    found.push(at);
  }
  return found;
}

/** Return a moment in as many words as a step of the axis needs. */
export function showMoment(seconds, span) {
  const iso = new Date(seconds * 1000).toISOString();
  if (span <= 2 * MINUTE) return iso.slice(11, 19);
  if (span <= DAY) return iso.slice(11, 16);
  if (span <= 7 * DAY) return `${iso.slice(5, 10)} ${iso.slice(11, 16)}`;
  return iso.slice(0, 10);
}

/** Return a number with the digits that count. */
export function showNumber(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  if (size >= 0.001) return String(Number(value.toPrecision(3)));
  return value.toExponential(1).replace(".0e", "e");
}
