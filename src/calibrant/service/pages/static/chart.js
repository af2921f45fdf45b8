// Pictures as SVG: redrawn at the width there is, coloured by classes of the style sheet.

import { linear, logarithmic, moments, powers, showMoment, showNumber, ticks } from "./scales.js";

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = { top: 10, right: 12, bottom: 38, left: 58 };
const drawn = new WeakMap();

// A picture fits its place: when that changes its width, the same numbers are drawn again.
const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const { width, draw } = drawn.get(target) ?? {};
    if (draw && target.clientWidth && target.clientWidth !== width) draw();
  }
});

/**
 * Draw lines into an element.
 *
 * `picture` has `label` (for readers who cannot see it), `series` (each with name, x, y, and
 * optionally `dots`: areas of dots on the line, or without a line if it is `loose`), `xLabel`, `yLabel`, and optionally `time`
 * (x is seconds since 1970), `log` (the y axis), `xRange`, `yRange`, `diagonal`, `threshold`
 * ({ value, label }), `shaded` (spans of x, as [from, to]) and `bands` (each with name, x, low and
 * high, the wider ones first).
 */
export function draw(element, picture) {
  const again = () => {
    const width = element.clientWidth;
    drawn.set(element, { width, draw: again });
    element.replaceChildren(makeSvg(picture, Math.max(width, 220)), legend(picture));
  };
  again();
  resized.observe(element);
}

function makeSvg(picture, width) {
  const height = picture.square ? Math.min(width, 420) : Math.min(Math.max(width * 0.42, 200), 300);
  const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", width, height });
  svg.append(node("title", {}, picture.label));
  const bands = picture.bands ?? [];
  const [x0, x1] = picture.xRange ?? extent(picture.series.flatMap((each) => each.x));
  const heights = [...picture.series.map((each) => each.y), ...bands.flatMap((each) => [each.low, each.high])];
  const [y0, y1] = picture.yRange ?? padded(extent(heights.flat()));
  const x = linear(x0, x1, MARGIN.left, width - MARGIN.right);
  const y = (picture.log ? logarithmic : linear)(y0, y1, height - MARGIN.bottom, MARGIN.top);
  svg.append(axes(picture, { x, y, x0, x1, y0, y1, width, height }));
  for (const [from, to] of picture.shaded ?? []) {
    const left = x(Math.max(from, x0)), right = x(Math.min(to, x1));
    if (right >= left) {
      const size = { x: left, y: MARGIN.top, width: Math.max(right - left, 2) };
      svg.append(node("rect", { ...size, height: y(y0) - MARGIN.top, class: "shaded" }));
    }
  }
  for (const band of bands) svg.append(areaOf(band, x, y));
  if (picture.diagonal) {
    svg.append(line([[x(x0), y(y0)], [x(x1), y(y1)]], "reference"));
  }
  if (picture.threshold) {
    const at = y(picture.threshold.value);
    svg.append(line([[x(x0), at], [x(x1), at]], "threshold"));
    svg.append(node("text", { x: x(x1) - 4, y: at - 6, class: "end" }, picture.threshold.label));
  }
  picture.series.forEach((series, position) => svg.append(lineOf(series, position, x, y)));
  return svg;
}

function areaOf(band, x, y) {
  const known = band.x.map((_, k) => k).filter((k) => band.low[k] !== null && band.high[k] !== null);
  const there = known.map((k) => [x(band.x[k]), y(band.high[k])]);
  const back = known.map((k) => [x(band.x[k]), y(band.low[k])]).reverse();
  return line([...there, ...back], "band");
}

function lineOf(series, position, x, y) {
  const group = node("g", { class: `series series-${series.look ?? position + 1}` });
  let piece = [];
  const close = () => {
    if (piece.length) group.append(line(piece, "line"));
    piece = [];
  };
  series.x.forEach((at, k) => {
    const value = series.y[k];
    if (value === null) return close(); // nothing is known here: the line is broken
    const point = [x(at), y(value)];
    if (!series.loose) piece.push(point);
    if (series.dots) {
      const r = Math.min(2 + Math.sqrt(series.dots[k]) * 10, 12);
      group.append(node("circle", { cx: fixed(point[0]), cy: fixed(point[1]), r: fixed(r) }));
    }
  });
  close();
  return group;
}

function axes(picture, { x, y, x0, x1, y0, y1, width, height }) {
  const group = node("g", { class: "axes" });
  const bottom = height - MARGIN.bottom;
  const across = Math.max(2, Math.floor(width / 110));
  const marks = picture.time ? moments(x0, x1, across) : ticks(x0, x1, across);
  for (const at of marks) {
    const words = picture.time ? showMoment(at, x1 - x0) : showNumber(tidy(at));
    group.append(line([[x(at), MARGIN.top], [x(at), bottom]], "grid"));
    group.append(node("text", { x: fixed(x(at)), y: bottom + 16, class: "middle" }, words));
  }
  for (const at of picture.log ? powers(y0, y1, 5) : ticks(y0, y1, 5)) {
    group.append(line([[MARGIN.left, y(at)], [width - MARGIN.right, y(at)]], "grid"));
    const place = { x: MARGIN.left - 6, y: fixed(y(at) + 4), class: "end" };
    group.append(node("text", place, showNumber(tidy(at))));
  }
  const middle = (MARGIN.left + width - MARGIN.right) / 2;
  group.append(node("text", { x: middle, y: height - 4, class: "middle name" }, picture.xLabel));
  const turned = `translate(12 ${(MARGIN.top + bottom) / 2}) rotate(-90)`;
  group.append(node("text", { transform: turned, class: "middle name" }, picture.yLabel));
  return group;
}

function legend(picture) {
  const list = document.createElement("ul");
  list.className = "legend";
  for (const { name } of picture.bands ?? []) {
    const item = document.createElement("li");
    const sample = node("svg", { viewBox: "0 0 28 10", width: 28, height: 10 });
    sample.setAttribute("aria-hidden", "true");
    sample.append(node("rect", { x: 1, y: 1, width: 26, height: 8, class: "band" }));
    item.append(sample, name);
    list.append(item);
  }
  picture.series.forEach((series, position) => {
    if (!series.name) return;
    const item = document.createElement("li");
    const sample = node("svg", { viewBox: "0 0 28 10", width: 28, height: 10 });
    sample.setAttribute("aria-hidden", "true");
    const group = node("g", { class: `series series-${series.look ?? position + 1}` });
    group.append(line([[1, 5], [27, 5]], "line"));
    sample.append(group);
    item.append(sample, series.name);
    list.append(item);
  });
  return list;
}

function line(points, name) {
  const d = points.map(([a, b], k) => `${k ? "L" : "M"}${fixed(a)} ${fixed(b)}`).join("");
  return node("path", { d, class: name });
}

function node(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  if (text !== undefined) made.textContent = text;
  return made;
}

function extent(values) {
  const known = values.filter((value) => value !== null);
  return known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
}

function padded([low, high]) {
  const room = (high - low) * 0.05 || Math.abs(high) * 0.05 || 0.05;
  return [low - room, high + room];
}

/** Return a number without the digits that adding steps left. */
function tidy(value) {
  return Number(value.toPrecision(10));
}

function fixed(value) {
  return Math.round(value * 10) / 10;
}
