// The panels of a stream of several classes: those of an event, the named class, and a table.

import { panels as ofScores } from "./scores.js";
import { showNumber } from "./scales.js";
import { find, showShare, showTable } from "./words.js";

const MOST = 50;

function showClasses({ classes }) {
  const off = (each) => Math.abs(each.frequency - each.mean_prediction);
  const sorted = [...classes].sort((one, other) => off(other) - off(one));
  find("classes-words").textContent =
    `${showNumber(classes.length)} classes, those whose frequency differs most from their mean probability first.`;
  const head = ["class", "predicted", "observed", "difference", "named", "right when named"];
  showTable(find("classes-table"), head, sorted.slice(0, MOST).map((each) => [
    String(each.label), showShare(each.mean_prediction), showShare(each.frequency),
    showShare(each.frequency - each.mean_prediction), each.named,
    each.named ? showShare(each.right / each.named) : "–",
  ]));
}

const { "/map": map, ...views } = ofScores.views;

export const panels = { ...ofScores, views: { ...views, "/classes": showClasses } };
