// What the server says: answers to questions, and news as they come.

/** Return the JSON at an address. */
export async function ask(address) {
  const answer = await fetch(address, { headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  return answer.json();
}

/**
 * Call `onNews(kind, data)` for each of the events named, and keep an element's words true about
 * the connection. The browser connects again by itself, and asks for what it missed.
 */
export function listen(address, kinds, status, onNews) {
  const source = new EventSource(address);
  const say = (name, words) => {
    status.className = `status ${name}`;
    if (status.textContent !== words) status.textContent = words;
  };
  source.onopen = () => {
    say("live", "live");
    onNews("connected", null);
  };
  source.onerror = () => say("lost", "connection lost; trying again");
  for (const kind of kinds) {
    source.addEventListener(kind, (event) => onNews(kind, JSON.parse(event.data)));
  }
}

/** Return a function that runs `work` at once, then again only when the last run has ended. */
export function oneAtATime(work) {
  let isRunning = false, isWanted = false;
  return async function again() {
    isWanted = true;
    if (isRunning) return;
    isRunning = true;
    while (isWanted) {
      isWanted = false;
      try {
        await work();
      } catch (error) {
        console.warn(error.message); // the status line tells when the server is gone
      }
    }
    isRunning = false;
  };
}

/** The events that change what a page shows. */
export const NEWS = [
  "progress", "stream.created", "episode.opened", "episode.closed", "pending.high", "pending.low",
  "outcomes.silent", "outcomes.back", "key.miscalibrated", "key.calibrated",
];
