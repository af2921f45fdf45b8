// One stream: every panel asks the API for its numbers, when there is news.

import { draw } from "./chart.js";
import { showNumber } from "./scales.js";
import { NEWS, ask, listen, oneAtATime } from "./server.js";
import { element, showNumbers, showShare, showSpan, showTable, showTime, showVerdict } from "./words.js";

const main = document.querySelector("main");
const base = `/v1/streams/${encodeURIComponent(main.dataset.stream)}`;
const find = (id) => document.getElementById(id);
// Raw and calibrated look the same in every picture: the reports' colours.
const RAW = { name: "raw score", look: 2 }, CALIBRATED = { name: "calibrated", look: 1 };
const OBSERVED = { name: "observed", look: 3 };

function showSummary(stream) {
  showVerdict(find("verdict"), stream.verdict);
  showNumbers(find("numbers"), {
    predictions: showNumber(stream.predictions),
    "settled": showNumber(stream.settled),
    waiting: showNumber(stream.waiting),
    ...(stream.keys === null ? {} : { keys: showNumber(stream.keys) }),
    "mean prediction": showShare(stream.mean_prediction),
    "mean outcome": showShare(stream.mean_outcome),
    "error, raw score": showShare(stream.error.raw),
    "error, calibrated": showShare(stream.error.calibrated),
  });
}

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

function showHistory({ buckets, rows_a_bucket: rows }, episodes) {
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
  const shaded = episodes.calibrated.map((each) => [each.onset_at ?? 0, each.end_at ?? Infinity]);
  draw(find("evidence-picture"), {
    ...time, label: "Evidence of miscalibration, over time", yLabel: "evidence (1 is an alarm)", log: true,
    yRange: [1e-7, 10], threshold: { value: 1, label: "alarm" }, shaded,
    series: lines(buckets.evidence_raw, buckets.evidence_calibrated),
  });
  draw(find("waiting-picture"), {
    ...time, label: "Predictions that wait for an outcome, over time", yLabel: "waiting",
    series: [{ look: 1, x, y: buckets.waiting }],
  });
}

function showEpisodes({ raw, calibrated }) {
  const rows = [["calibrated", calibrated], ["raw score", raw ?? []]].flatMap(([of, episodes]) =>
    episodes.map((each) => [
      of, showTime(each.onset_at), showTime(each.alarm_at), each.end === null ? "ongoing" : showTime(each.end_at),
      each.group ?? "all", `${showNumber(each.low)} to ${showNumber(each.high)}`,
      each.bias, each.direction,
    ]),
  );
  const head = ["of", "since", "alarm", "until", "group", "range", "bias", "predictions"];
  showTable(find("episodes"), head, rows.length ? rows.slice(-100).reverse() : [["no episodes", ...Array(7).fill("")]]);
}

function showPending({ waiting, capacity, expired, oldest_at: oldest, delay }, { silent_since: silent }) {
  const delays = delay.outcomes
    ? ` Outcomes come after ${showSpan(delay.median)} (median), nine in ten within ${showSpan(delay.p90)}.`
    : "";
  const since = oldest === null ? "" : ` The oldest was made at ${showTime(oldest)}.`;
  find("waiting-words").textContent =
    `${showNumber(waiting)} predictions wait, of at most ${showNumber(capacity)}; ${showNumber(expired)} expired.${since}${delays}`;
  const alarm = find("silent");
  alarm.hidden = silent === null;
  alarm.textContent = silent === null ? "" : `Outcomes have stopped: none has arrived since the predictions of ${showTime(silent)} UTC.`;
}

function showGroups({ count, groups }) {
  find("groups-words").textContent = count
    ? `${showNumber(count)} groups, sorted by bias in standard errors, the largest first.`
    : "No prediction has a group (the field by).";
  const head = ["group", "outcomes", "predicted", "observed", "bias", "standard errors"];
  const rows = groups.map((each) => [
    String(each.name), each.settled, each.mean_prediction, each.mean_outcome, each.bias, each.z,
  ]);
  showTable(find("groups-table"), head, rows);
}

function showKeys({ count, keys }) {
  find("keys-words").textContent = count
    ? `${showNumber(count)} keys, those that differ most clearly from the rest first. The offset is in log odds; the weight is how much a key's own outcomes count.`
    : "No predictions yet.";
  const head = ["key", "outcomes", "offset", "standard error", "offset / error", "weight"];
  const rows = keys.map((each) => [
    String(each.key), each.outcomes, each.offset, each.deviation, each.trouble, each.weight,
  ]);
  showTable(find("keys-table"), head, rows);
}

function showMiscalibratedKeys({ calibrated, raw, guarantee }) {
  const keys = (count) => (count === 1 ? "one key" : `${showNumber(count)} keys`);
  const words = [
    calibrated.count ? `The calibrated probabilities of ${keys(calibrated.count)} are miscalibrated.` : "The calibrated probabilities of no key are miscalibrated.",
    raw?.count ? `The raw scores of ${keys(raw.count)} are miscalibrated, which the service corrects.` : "",
    "Keys with the most evidence come first; a key is listed from 1 on.", guarantee,
  ];
  find("miscalibrated-keys-words").textContent = words.filter(Boolean).join(" ");
  const head = ["key", "of", "predictions", "evidence", "outcomes", "since"];
  const rows = [["calibrated", calibrated], ["raw score", raw]].flatMap(([of, side]) =>
    (side?.keys ?? []).map((each) => [
      String(each.key), of, `${each.direction} by ${showNumber(Math.abs(each.bias))}`, each.evidence,
      each.outcomes, showTime(each.since),
    ]),
  );
  showTable(find("miscalibrated-keys-table"), head, rows.length ? rows : [["no keys", ...Array(5).fill("")]]);
}

function showExperts({ experts }) {
  find("experts-list").replaceChildren(...experts.slice(0, 6).map(({ name, weight }) => {
    const bar = element("meter", "");
    bar.value = weight;
    bar.setAttribute("aria-label", `weight of ${name}`);
    return element("li", "", element("span", "", name), bar, element("span", "share", showShare(weight)));
  }));
}

function showScorecard({ raw, calibrated, smooth }) {
  const columns = [["raw score", raw], ["calibrated", calibrated], ["smooth", smooth]].filter(([, each]) => each !== null);
  const head = ["", "rounds", "mean prediction", "mean outcome", "Brier", "log loss", "ECE", "Cal2"];
  showTable(find("scorecard"), head, columns.map(([name, each]) => [
    name, each.rounds, each.mean_prediction, each.mean_outcome, each.brier, each.log_loss, each.ece, each.cal2,
  ]));
}

// What a stream consists of: keys, perhaps watched, or groups and experts.
const panels = !("keyed" in main.dataset)
  ? { "/groups?limit=50": showGroups, "/experts": showExperts }
  : { "/keys?limit=50": showKeys, ...("watched" in main.dataset ? { "/miscalibrated_keys?limit=25": showMiscalibratedKeys } : {}) };
const [parts, showParts] = [Object.keys(panels), Object.values(panels)];

const showAll = oneAtATime(async () => {
  const names = ["", "/reliability?bins=10", "/map", "/history?points=120", "/episodes", "/pending", "/scorecard", ...parts];
  const [stream, reliability, map, history, episodes, pending, scorecard, ...own] =
    await Promise.all(names.map((name) => ask(base + name)));
  showSummary(stream);
  showReliability(reliability);
  showMap(map);
  showHistory(history, episodes);
  showEpisodes(episodes);
  showPending(pending, stream);
  showScorecard(scorecard);
  own.forEach((each, position) => showParts[position](each));
  main.dataset.sequence = stream.sequence; // every panel is drawn
});

listen(`${base}/events`, NEWS, find("status"), showAll);
