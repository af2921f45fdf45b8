// One stream: every panel asks the API for its numbers, when there is news.

import { draw } from "./chart.js";
import { showNumber } from "./scales.js";
import { NEWS, ask, listen, oneAtATime } from "./server.js";
import { element, find, showNumbers, showShare, showSpan, showTable, showTime, showVerdict } from "./words.js";

const main = document.querySelector("main");
// What only this kind of stream has.
const { panels: own } = await import(`./${main.dataset.panels}.js`);
const base = `/v1/streams/${encodeURIComponent(main.dataset.stream)}`;

function showSummary(stream) {
  showVerdict(find("verdict"), stream);
  showNumbers(find("numbers"), {
    predictions: showNumber(stream.predictions),
    settled: showNumber(stream.settled),
    pending: showNumber(stream.waiting),
    ...(stream.keys === null ? {} : { keys: showNumber(stream.keys) }),
    ...own.figures(stream),
  });
}

function showHistory({ buckets }, episodes) {
  const x = buckets.end;
  const time = { time: true, xLabel: "time (UTC)" };
  const lines = [[buckets.evidence_raw, { name: "raw score", look: 2 }], [buckets.evidence_calibrated, { name: "calibrated", look: 1 }]]
    .filter(([y]) => y).map(([y, look]) => ({ ...look, x, y }));
  const shaded = episodes.calibrated.map((each) => [each.onset_at ?? 0, each.end_at ?? Infinity]);
  draw(find("evidence-picture"), {
    ...time, label: "Evidence of miscalibration, over time", yLabel: "evidence (1 is an alarm)", log: true,
    yRange: [1e-7, 10], threshold: { value: 1, label: "alarm" }, shaded,
    series: lines,
  });
  draw(find("waiting-picture"), {
    ...time, label: "Pending predictions, over time", yLabel: "pending",
    series: [{ look: 1, x, y: buckets.waiting }],
  });
}

function showEpisodes({ raw, calibrated }) {
  const rows = [["calibrated", calibrated], ["raw score", raw ?? []]].flatMap(([of, episodes]) =>
    episodes.map((each) => [
      of, showTime(each.onset_at), showTime(each.alarm_at), each.end === null ? "ongoing" : showTime(each.end_at),
      each.group ?? "all", own.range(each),
      each.bias, each.direction,
    ]),
  );
  const head = ["scores", "since", "alarm", "until", "group", "range", "bias", "predictions"];
  showTable(find("episodes"), head, rows.length ? rows.slice(-100).reverse() : [["no episodes", ...Array(7).fill("")]]);
}

function showPending({ waiting, capacity, expired, oldest_at: oldest, delay }, { silent_since: silent }) {
  const delays = delay.outcomes
    ? ` Outcomes arrive after ${showSpan(delay.median)} (median), nine in ten within ${showSpan(delay.p90)}.`
    : "";
  const since = oldest === null ? "" : ` The oldest was made at ${showTime(oldest)}.`;
  find("waiting-words").textContent =
    `${showNumber(waiting)} predictions are pending (at most ${showNumber(capacity)}), ${showNumber(expired)} have expired.${since}${delays}`;
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
    calibrated.count ? `The calibrated probabilities of ${keys(calibrated.count)} are miscalibrated.` : "The calibrated probabilities are not miscalibrated for any key.",
    raw?.count ? `The raw scores of ${keys(raw.count)} are miscalibrated, which the service corrects.` : "",
    "Keys with the most evidence come first; a key is listed once its evidence reaches 1.", guarantee,
  ];
  find("miscalibrated-keys-words").textContent = words.filter(Boolean).join(" ");
  const head = ["key", "scores", "predictions", "evidence", "outcomes", "since"];
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

// What a stream consists of: keys, perhaps watched, or groups and experts.
const parted = !("keyed" in main.dataset)
  ? { "/groups?limit=50": showGroups, "/experts": showExperts }
  : { "/keys?limit=50": showKeys, ...("watched" in main.dataset ? { "/miscalibrated_keys?limit=25": showMiscalibratedKeys } : {}) };
const panels = { ...own.views, ...parted };
const [parts, showParts] = [Object.keys(panels), Object.values(panels)];

const showAll = oneAtATime(async () => {
  const names = ["", "/history?points=120", "/episodes", "/pending", "/scorecard", ...parts];
  const [stream, history, episodes, pending, scorecard, ...rest] =
    await Promise.all(names.map((name) => ask(base + name)));
  showSummary(stream);
  own.showHistory(history);
  showHistory(history, episodes);
  showEpisodes(episodes);
  showPending(pending, stream);
  own.showScorecard(scorecard);
  rest.forEach((each, position) => showParts[position](each));
  main.dataset.sequence = stream.sequence; // every panel is drawn
});

listen(`${base}/events`, NEWS, find("status"), showAll);
