// The panels of a stream of numbers: a fan chart, coverage by level, where outcomes fell.

import { draw } from "./chart.js";
import { showNumber } from "./scales.js";
import { find, showShare, showTable } from "./words.js";

function showFan({ at, quantiles, outcome }) {
  const [low, lowHalf, median, highHalf, high] = quantiles;
  draw(find("fan-picture"), {
    label: "The last outcomes with their intervals", time: true, xLabel: "time (UTC)", yLabel: "outcome",
    bands: [{ name: "90% interval", x: at, low, high }, { name: "50% interval", x: at, low: lowHalf, high: highHalf }],
    series: [{ name: "median", look: 1, x: at, y: median }, { name: "outcome", look: 2, x: at, y: outcome, dots: outcome.map(() => 0), loose: true }],
  });
}

function showCoverage({ rounds, level, below, at_most: atMost, pit }) {
  const middle = below.map((each, k) => (each === null ? null : (each + atMost[k]) / 2));
  draw(find("coverage-picture"), {
    label: "Share of outcomes below each quantile", square: true, diagonal: true, xRange: [0, 1], yRange: [0, 1],
    series: [{ look: 1, x: level, y: middle, dots: level.map(() => 0.02), loose: true }], xLabel: "level", yLabel: "outcomes below",
  });
  const share = pit.map((count) => (rounds ? (count * pit.length) / rounds : null));
  const x = pit.flatMap((_, k) => [k / pit.length, (k + 1) / pit.length]);
  draw(find("pit-picture"), {
    label: "Where outcomes fell in their distributions", square: true, xRange: [0, 1], yRange: [0, Math.max(2, ...share)],
    series: [{ look: 1, x, y: share.flatMap((each) => [each, each]) }],
    xLabel: "probability of at most the outcome", yLabel: "outcomes, relative to even",
  });
}

function showHistory({ buckets, rows_a_bucket: rows }) {
  const x = buckets.end;
  const time = { time: true, xLabel: "time (UTC)" };
  draw(find("means-picture"), {
    ...time, label: "Mean outcome and mean interval, over time", yLabel: "mean",
    bands: [{ name: "90% interval", x, low: buckets.mean_low, high: buckets.mean_high }],
    series: [{ name: "forecast", look: 2, x, y: buckets.mean_forecast }, { name: "outcome", look: 3, x, y: buckets.mean_outcome }],
  });
  draw(find("error-picture"), {
    ...time, label: "Coverage of the 90% interval, over time", yLabel: "covered",
    threshold: { value: 0.9, label: "90%" }, yRange: [Math.min(0.75, ...buckets.covered.filter((each) => each !== null)), 1],
    series: [{ look: 1, x, y: buckets.covered }],
  });
  find("error-caption").textContent =
    `Share of outcomes inside their 90% intervals, ${showNumber(rows)} rounds at a time; chance alone moves it by about ${showNumber(0.3 / Math.sqrt(Math.max(rows, 1)))}.`;
}

function showScorecard({ rounds, infinite, pinball, error, intervals }) {
  const head = ["interval", "covered", "mean width", "interval score"];
  const rows = intervals.map((each) => [showShare(each.coverage), showShare(each.covered), each.width, each.score]);
  showTable(find("scorecard"), head, [
    ...rows, ["pinball loss", pinball, "", ""], ["coverage error, mean over levels", showShare(error), "", ""],
    ["rounds", rounds, "", ""], ["with an infinite quantile", infinite, "", ""],
  ]);
}

/** What a summary says of the predictions. */
const figures = (stream) => ({
  "mean median": showNumber(stream.mean_prediction),
  "mean outcome": showNumber(stream.mean_outcome),
  "coverage error": showShare(stream.error.calibrated),
});

export const panels = {
  figures,
  views: { "/fan": showFan, "/coverage": showCoverage },
  showHistory,
  showScorecard,
  range: (episode) => episode.question,
};
