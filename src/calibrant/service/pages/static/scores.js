// The panels of a stream of scores: reliability, the map of scores, both sorts of probabilities.

import { draw } from "./chart.js";
import { showNumber } from "./scales.js";
import { find, showShare, showTable } from "./words.js";

// Raw and calibrated look the same in every picture: the reports' colours.
const RAW = { name: "raw score", look: 2 }, CALIBRATED = { name: "calibrated", look: 1 };
const OBSERVED = { name: "observed", look: 3 };

function showReliability({ raw, calibrated }) {
  const lines = [[raw, RAW], [calibrated, CALIBRATED]].filter(([curve]) => curve !== null);
  const series = lines.map(([curve, look]) => {
    const all = curve.count.reduce((sum, count) => sum + count, 0);
    const dots = curve.count.map((count) => count / all);
    return { ...look, x: curve.mean_prediction, y: curve.mean_outcome, dots };
  });
  draw(find("reliability-picture"), {
    label: "Reliability: observed frequency by predicted probability", series, square: true, diagonal: true,
    xRange: [0, 1], yRange: [0, 1], xLabel: "predicted", yLabel: "observed",
  });
}

function showMap({ kind, score, smooth }) {
  const isProbability = kind === "probability";
  draw(find("map-picture"), {
    label: "The map from a score to a probability, now", square: true, diagonal: isProbability,
    series: [{ look: 1, x: score, y: smooth }], yRange: [0, 1],
    xRange: isProbability ? [0, 1] : undefined, xLabel: "score", yLabel: "probability now",
  });
}

function showHistory({ buckets, rows_a_bucket: rows }) {
  const x = buckets.end;
  const time = { time: true, xLabel: "time (UTC)" };
  const lines = (raw, calibrated) =>
    [[raw, RAW], [calibrated, CALIBRATED]].filter(([y]) => y !== null).map(([y, look]) => ({ ...look, x, y }));
  draw(find("means-picture"), {
    ...time, label: "Mean prediction and mean outcome, over time", yLabel: "mean",
    series: [...lines(buckets.mean_raw, buckets.mean_prediction), { ...OBSERVED, x, y: buckets.mean_outcome }],
  });
  draw(find("error-picture"), {
    ...time, label: "Calibration error, over time", yLabel: "error (ECE)",
    series: lines(buckets.error_raw, buckets.error_calibrated),
  });
  find("error-caption").textContent =
    `Expected calibration error of ${showNumber(rows)} rounds at a time, in ten bins; chance alone contributes about ${showNumber(0.5 * Math.sqrt(10 / Math.max(rows, 1)))}.`;
}

function showScorecard({ raw, calibrated, smooth }) {
  const columns = [["raw score", raw], ["calibrated", calibrated], ["smooth", smooth]].filter(([, each]) => each !== null);
  const head = ["", "rounds", "mean prediction", "mean outcome", "Brier", "log loss", "ECE", "Cal2"];
  showTable(find("scorecard"), head, columns.map(([name, each]) => [
    name, each.rounds, each.mean_prediction, each.mean_outcome, each.brier, each.log_loss, each.ece, each.cal2,
  ]));
}

/** What a summary says of the predictions. */
const figures = (stream) => ({
  "mean prediction": showShare(stream.mean_prediction),
  "mean outcome": showShare(stream.mean_outcome),
  "error, raw score": showShare(stream.error.raw),
  "error, calibrated": showShare(stream.error.calibrated),
  ...(stream.acted ? { "acted on": showShare(stream.acted.share), "act from": showShare(stream.acted.threshold) } : {}),
});

export const panels = {
  figures,
  views: { "/reliability?bins=10": showReliability, "/map": showMap },
  showHistory,
  showScorecard,
  range: (episode) => `${showNumber(episode.low)} to ${showNumber(episode.high)}`,
};
