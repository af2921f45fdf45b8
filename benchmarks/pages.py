"""The live pages on three streams of a million rounds each: first paint, and the cost of an update.

First paint is Chromium's paint timing, with a new connection each time. An update consists of the
requests that a page makes when there is new data, one after the other; its cost is the processor
time of the server for them.
"""

import re
import tempfile
import time
from contextlib import closing
from pathlib import Path

import httpx
import numpy as np
from playwright.sync_api import sync_playwright

from benchmarks.load import Server
from benchmarks.tables import table
from report.browser import program

TITLE = "The live pages"
PAINT = "What a reader waits for"
UPDATE = "What an update costs the server"
IN_DOCS = {"docs/service.md": (PAINT, UPDATE)}
ROUNDS, ROWS = 10**6, 10_000
#: How far scores are off from the first round to the last, by stream.
OFF = {"steady": (0.0, 0.0), "drifting": (-0.1, 0.1), "shifting": (0.2, -0.2)}
GROUPS = [f"region {k}" for k in range(30)]
#: Seconds between two rounds, and until an outcome is known.
STEP, LATE = 10.0, 3 * 3600.0
START = 1.75e9
VISITS, UPDATES = 9, 30
SCRIPTS = Path(__file__).parents[1] / "src/calibrant/service/pages/static"


def rounds(name, first, last):
    """Return the predictions of some rounds and their outcomes."""
    chance = np.random.default_rng([len(name), first])
    happens = chance.uniform(0.02, 0.98, last - first)
    off = np.interp(np.arange(first, last), [0, ROUNDS], OFF[name])
    scores = np.clip(happens + off, 0.01, 0.99).round(4).tolist()
    outcomes = (chance.random(last - first) < happens).astype(int).tolist()
    groups = chance.integers(len(GROUPS), size=last - first).tolist()
    rows = zip(range(first, last), scores, groups, strict=True)
    predictions = [
        {"id": f"{name} {k}", "score": score, "by": GROUPS[group], "at": START + STEP * k}
        for k, score, group in rows
    ]
    known = [
        {"id": row["id"], "outcome": outcome, "at": row["at"] + LATE}
        for row, outcome in zip(predictions, outcomes, strict=True)
    ]
    return predictions, known


def fill(url, progress, total=ROUNDS):
    """Play the streams to a service; the last outcomes are not known yet."""
    late = int(LATE / STEP)
    with httpx.Client(base_url=url, timeout=120) as http:

        def post(path, rows):
            http.post(path, json=rows).raise_for_status()

        for name in OFF:
            http.put(f"/v1/streams/{name}", json={"clock": "client"}).raise_for_status()
        waiting = {name: [] for name in OFF}
        for first in range(0, total, ROWS):
            progress(f"pages: round {first:,} of {total:,}")
            for name in OFF:
                predictions, known = rounds(name, first, min(first + ROWS, total))
                post(f"/v1/streams/{name}/predictions", predictions)
                waiting[name] += known
                done = max(0, len(waiting[name]) - late)
                for start in range(0, done, ROWS):
                    post(f"/v1/streams/{name}/outcomes", waiting[name][start:done][:ROWS])
                waiting[name] = waiting[name][done:]


def visited(url, is_drawn):
    """Return when a page was first painted and when its numbers were there, in milliseconds."""
    painted, drawn = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program(), args=["--no-sandbox", "--disable-gpu"]
        )
        for _ in range(VISITS):
            page = browser.new_page()  # a profile of its own: nothing is cached
            page.goto(url)
            page.wait_for_selector(is_drawn, timeout=60_000)
            drawn.append(page.evaluate("performance.now()"))
            paints = page.evaluate("performance.getEntriesByType('paint').map(e => e.toJSON())")
            found = {each["name"]: each["startTime"] for each in paints}
            painted.append(found["first-contentful-paint"])
            page.close()
        browser.close()
    return painted, drawn


def asked_by_a_page():
    """Return what the page of a stream asks for when there is news, as its script has it."""
    script = (SCRIPTS / "stream.js").read_text()
    names = re.search(r"const names = \[(.*?)\];", script, re.DOTALL)[1]
    return re.findall(r'"(.*?)"', names)


def updated(server, paths):
    """Return how long an update takes, each request after the other, and processor time."""
    took = []
    with httpx.Client(base_url=server.url, timeout=60) as http:
        before = server.processor_seconds()
        for _ in range(UPDATES):
            begun = time.perf_counter()
            for path in paths:
                http.get(path).raise_for_status()
            took.append(1000 * (time.perf_counter() - begun))
        used = server.processor_seconds() - before
    return np.median(took), max(took), 1000 * used / UPDATES


def tables(progress, store=None, total=ROUNDS):
    """Yield the tables; a store that is filled already may be given."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(Server(str(store or f"{folder}/store.db"))) as server,
    ):
        if store is None:
            fill(server.url, progress, total)
        rows = []
        pages = {"all streams": ("/", "li[data-stream=steady] .numbers")} | {
            f"the stream {name}": (f"/streams/{name}", "main[data-sequence]") for name in OFF
        }
        for name, (path, is_drawn) in pages.items():
            progress(f"pages: {name}")
            painted, drawn = visited(server.url + path, is_drawn)
            shown = np.median(painted), max(painted), np.median(drawn)
            rows.append((name, *map(milliseconds, shown)))
        head = ("page", "first paint, median", "first paint, slowest", "all numbers drawn, median")
        yield table(PAINT, head, rows)
        progress("pages: updates")
        rows = [("all streams", *map(milliseconds, updated(server, ["/v1/streams"])))]
        for name in OFF:
            paths = [f"/v1/streams/{name}{each}" for each in asked_by_a_page()]
            rows.append((f"the stream {name}", *map(milliseconds, updated(server, paths))))
        head = ("page", "median", "slowest", "the server's processor")
        yield table(UPDATE, head, rows)


def milliseconds(value):
    return f"{value:.0f} ms"
