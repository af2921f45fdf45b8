// The words of the pages, and the elements that hold them.

import { showNumber } from "./scales.js";

// The class of each verdict, its sign for readers who see no colour, and its word.
const VERDICTS = {
  calibrated: ["better", "✓", "Calibrated"],
  miscalibrated: ["worse", "!", "Miscalibrated"],
  doubtful: ["unknown", "!", "Doubtful"],
  new: ["unknown", "?", "Too early to tell"],
};

/** Return the element of an id. */
export const find = (id) => document.getElementById(id);

/** Return an element with a class, and children or text. */
export function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

/** Fill the box of a stream's verdict, with the warnings below. */
export function showVerdict(box, { verdict, warnings }, ...more) {
  const [tone, sign, word] = VERDICTS[verdict.state];
  const mark = element("span", "sign", sign);
  mark.setAttribute("aria-hidden", "true");
  const line = element("p", "word", mark, element("span", "", word));
  box.className = `verdict ${tone}`;
  const words = [verdict.words, ...warnings.map((each) => each.message)];
  box.replaceChildren(...more, line, ...words.map((each) => element("p", "", each)));
}

/** Fill a list of names with numbers below them. */
export function showNumbers(list, numbers) {
  const pairs = Object.entries(numbers).map(([name, value]) =>
    element("div", "", element("dt", "", name), element("dd", "", value)),
  );
  list.replaceChildren(...pairs);
}

/** Fill a table; the first cell of a row is its heading. */
export function showTable(table, head, rows) {
  const heading = element("tr", "");
  for (const name of head) {
    const cell = element("th", "", name);
    cell.scope = "col";
    heading.append(cell);
  }
  const body = rows.map((row) => {
    const line = element("tr", "");
    row.forEach((value, position) => {
      const isNumber = typeof value === "number";
      const cell = element(position ? "td" : "th", isNumber ? "number" : "");
      cell.textContent = isNumber || value === null ? showNumber(value) : value;
      if (position) cell.dataset.label = head[position];
      else cell.scope = "row";
      line.append(cell);
    });
    return line;
  });
  table.replaceChildren(element("thead", "", heading), element("tbody", "", ...body));
}

/** Return a moment, in seconds since 1970, as date and time, UTC. */
export function showTime(seconds) {
  if (seconds === null) return "–";
  return new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");
}

/** Return a length of time in the largest unit that it fills. */
export function showSpan(seconds) {
  if (seconds === null) return "–";
  const units = [[86400, "d"], [3600, "h"], [60, "min"]];
  const [size, name] = units.find(([unit]) => seconds >= unit) ?? [1, "s"];
  return `${showNumber(Number((seconds / size).toPrecision(2)))} ${name}`;
}

/** Return a share in per cent. */
export function showShare(share) {
  return share === null ? "–" : `${(100 * share).toFixed(1)}%`;
}
