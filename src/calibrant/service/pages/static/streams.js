// All streams, each with its verdict.

import { NEWS, ask, listen } from "./server.js";
import { element, showNumbers, showShare, showVerdict } from "./words.js";
import { showNumber } from "./scales.js";

const list = document.getElementById("streams");
const empty = document.getElementById("empty");
const boxes = new Map();

function show(stream) {
  if (!boxes.has(stream.name)) {
    const box = element("div", "verdict");
    const item = element("li", "", box);
    item.dataset.stream = stream.name;
    boxes.set(stream.name, box);
    const after = [...list.children].find((other) => other.dataset.stream > stream.name);
    list.insertBefore(item, after ?? null);
  }
  const link = element("a", "", stream.name);
  link.href = `/streams/${encodeURIComponent(stream.name)}`;
  const numbers = element("dl", "numbers");
  showNumbers(numbers, {
    predictions: showNumber(stream.predictions),
    pending: showNumber(stream.waiting),
    "error, raw score": showShare(stream.error.raw),
    "error, calibrated": showShare(stream.error.calibrated),
  });
  const box = boxes.get(stream.name);
  const hadFocus = box.contains(document.activeElement);
  showVerdict(box, stream, element("h2", "", link));
  if (stream.silent_since !== null) box.append(element("p", "silent", "Outcomes have stopped"));
  box.append(numbers);
  if (hadFocus) link.focus();
  empty.hidden = true;
}

async function showAll() {
  const { streams } = await ask("/v1/streams");
  streams.forEach(show);
  empty.hidden = streams.length > 0;
}

listen("/v1/events", NEWS, document.getElementById("status"), (kind, data) => {
  if (kind === "progress") show(data);
  else showAll();
});
