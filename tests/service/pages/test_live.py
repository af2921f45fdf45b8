"""The live pages in a real browser: what the API says, for everybody, and from nowhere else."""

import json
import re
import time
from datetime import UTC, datetime

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from calibrant.service.pages.live import static_files
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.tokens import new_token
from report.browser import program


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=program(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield opened
        opened.close()


def rows(first, last, shift=0.0):
    """Return predictions and their outcomes, a minute apart, in three groups."""
    random = np.random.default_rng(first)
    scores = random.uniform(0.05, 0.95, last - first)
    outcomes = random.random(last - first) < np.clip(scores + shift, 0.0, 1.0)
    predictions = [
        {"id": f"r{k}", "score": score, "by": f"group {k % 3}", "at": 1.7e9 + 60.0 * k}
        for k, score in zip(range(first, last), scores.tolist(), strict=True)
    ]
    known = [
        {"id": row["id"], "outcome": int(outcome), "at": row["at"] + 30.0}
        for row, outcome in zip(predictions, outcomes, strict=True)
    ]
    return predictions, known


def feed(running, first, last, shift=0.0, name="s", size=50):
    """Send rows in requests of 50, all but the last ten outcomes."""
    for start in range(first, last, size):
        predictions, known = rows(start, start + size, shift)
        running.predict(predictions, name)
        running.learn(known if start + size < last else known[:-10], name)


class Watched:
    """A page, and the last thing that the API said to it at each address."""

    def __init__(self, browser, url, **options):
        self.page = browser.new_page(**options)
        self.said, self.asked, self.wrong = {}, [], []
        self.page.on("response", self._heard)
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.goto(url)

    def _heard(self, response):
        kind = response.headers.get("content-type", "")
        if "/v1/" in response.url and kind.startswith("application/json"):
            path = re.sub(r"^.*/v1/streams(/s)?|\?.*$", "", response.url)
            self.said[path] = response

    def until(self, sequence):
        """Wait until every panel shows the state after a row."""
        self.page.wait_for_selector(f"main[data-sequence='{sequence}']", timeout=20_000)

    def answer(self, path):
        return json.loads(self.said[path].body())

    def cells(self, table):
        return [
            [cell.inner_text() for cell in row.query_selector_all("th, td")]
            for row in self.page.query_selector_all(f"#{table} tbody tr")
        ]


def test_a_page_shows_what_the_api_says_while_rows_stream_in(running, browser):
    running.stream()
    feed(running, 0, 200)
    watched = Watched(browser, f"{running.url}/streams/s")
    for first in (200, 400, 600):
        feed(running, first, first + 200)
        api = running.http.get("/v1/streams/s").json()
        watched.until(api["sequence"])
        numbers = dict(
            zip(
                watched.page.locator("#numbers dt").all_inner_texts(),
                watched.page.locator("#numbers dd").all_inner_texts(),
                strict=True,
            )
        )
        assert numbers["predictions"] == f"{api['predictions']:,}"
        assert numbers["settled"] == f"{api['settled']:,}"
        assert numbers["pending"] == f"{api['waiting']:,}"
        assert numbers["mean prediction"] == f"{100 * api['mean_prediction']:.1f}%"
        assert numbers["error, raw score"] == f"{100 * api['error']['raw']:.1f}%"
        assert api["verdict"]["words"] in watched.page.inner_text("#verdict")
        groups = running.http.get("/v1/streams/s/groups").json()["groups"]
        shown = watched.cells("groups-table")
        assert [row[0] for row in shown] == [each["name"] for each in groups]
        assert [row[1] for row in shown] == [str(each["settled"]) for each in groups]
        card = running.http.get("/v1/streams/s/scorecard").json()
        shown = {row[0]: row for row in watched.cells("scorecard")}
        for name, each in (("raw score", "raw"), ("calibrated", "calibrated")):
            assert float(shown[name][4]) == pytest.approx(card[each]["brier"], rel=0.005)
            assert float(shown[name][5]) == pytest.approx(card[each]["log_loss"], rel=0.005)
    assert not watched.wrong


def test_pictures_have_a_point_for_each_number_of_the_api(running, browser):
    running.stream()
    feed(running, 0, 600)
    watched = Watched(browser, f"{running.url}/streams/s")
    watched.until(running.http.get("/v1/streams/s").json()["sequence"])
    curves = watched.answer("/reliability")
    for look, name in ((2, "raw"), (1, "calibrated")):
        dots = watched.page.locator(f"#reliability-picture .series-{look} circle")
        assert dots.count() == len(curves[name]["count"])
        # The axes are straight: where a dot lies is linear in its number.
        x = np.array([float(dot.get_attribute("cx")) for dot in dots.all()])
        y = np.array([float(dot.get_attribute("cy")) for dot in dots.all()])
        for place, said in ((x, "mean_prediction"), (y, "mean_outcome")):
            fit = np.polynomial.Polynomial.fit(curves[name][said], place, 1)
            assert np.abs(fit(np.array(curves[name][said])) - place).max() < 0.2
        assert np.all(np.diff(x) > 0.0)
    buckets = watched.answer("/history")["buckets"]
    for picture, series in (("means", 3), ("error", 2), ("evidence", 2), ("waiting", 1)):
        paths = watched.page.locator(f"#{picture}-picture svg[role=img] .line")
        points = [path.get_attribute("d").count("L") + 1 for path in paths.all()]
        assert points == [len(buckets["end"])] * series


def test_the_page_of_a_keyed_stream_shows_its_keys(running, browser):
    running.stream(keyed=True)
    for start in range(0, 400, 50):
        predictions, known = rows(start, start + 50)
        running.predict([{"key": row.pop("by"), **row} for row in predictions])
        running.learn(known)
    watched = Watched(browser, f"{running.url}/streams/s", viewport={"width": 390, "height": 800})
    watched.until(running.http.get("/v1/streams/s").json()["sequence"])
    keys = running.http.get("/v1/streams/s/keys").json()["keys"]
    shown = watched.cells("keys-table")
    assert [row[:2] for row in shown] == [[each["key"], str(each["outcomes"])] for each in keys]
    assert len(shown) == 3
    assert "3 keys" in watched.page.inner_text("#keys-words")
    assert "keys" in watched.page.locator("#numbers dt").all_inner_texts()
    assert watched.page.locator("#groups-table").count() == 0
    found = Axe().run(watched.page).response["violations"]
    assert not [each["id"] for each in found if each["impact"] in ("serious", "critical")]
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert not watched.wrong


@pytest.mark.parametrize("width", [390, 1100], ids=["narrow", "wide"])
def test_the_page_shows_which_keys_are_off(running, browser, width):
    running.stream(keyed=True, watch_keys=True, tolerance=0.0, every=1000)

    def send(first, last, sure=False):
        step = 1 if sure else 50  # predictions of a key that wait together prove less
        for start in range(first, last, step):
            predictions, known = rows(start, start + step)
            keyed = [{"key": row.pop("by"), **row} for row in predictions]
            for row, outcome in zip(keyed, known, strict=True):
                outcome["outcome"] |= sure and row["key"] == "group 1"
            running.predict(keyed)
            running.learn(known)

    send(0, 600)
    watched = Watched(browser, f"{running.url}/streams/s", viewport={"width": width, "height": 800})
    watched.until(running.http.get("/v1/streams/s").json()["sequence"])
    assert watched.cells("miscalibrated-keys-table") == [["no keys", "", "", "", "", ""]]
    assert "are not miscalibrated for any key" in watched.page.inner_text(
        "#miscalibrated-keys-words"
    )
    send(600, 900, sure=True)
    api = running.http.get("/v1/streams/s").json()
    watched.until(api["sequence"])
    found = running.http.get("/v1/streams/s/miscalibrated_keys").json()
    assert api["miscalibrated_keys"]["calibrated"] == 1
    listed = [("calibrated", each) for each in found["calibrated"]["keys"]]
    listed += [("raw score", each) for each in found["raw"]["keys"]]
    shown = watched.cells("miscalibrated-keys-table")
    assert [row[:2] for row in shown] == [[each["key"], of] for of, each in listed]
    for row, (_, each) in zip(shown, listed, strict=True):
        assert row[2].startswith(f"{each['direction']} by 0.")
        assert float(row[2].split()[-1]) == pytest.approx(abs(each["bias"]), abs=0.001)
        assert float(row[3]) == pytest.approx(each["evidence"], abs=0.01)
        assert row[4] == str(each["outcomes"])
        assert row[5] == f"{datetime.fromtimestamp(each['since'], UTC):%Y-%m-%d %H:%M}"
    words = watched.page.inner_text("#miscalibrated-keys-words")
    assert "of one key are miscalibrated" in words
    assert found["guarantee"] in words
    verdict = watched.page.inner_text("#verdict")
    assert "One key is miscalibrated: predictions for key 'group 1'" in verdict
    found = Axe().run(watched.page).response["violations"]
    assert not [each["id"] for each in found if each["impact"] in ("serious", "critical")]
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= width
    assert not watched.wrong


def test_an_alarm_is_seen_and_said(running, browser):
    running.stream(tolerance=0.0, every=10_000)
    feed(running, 0, 200)
    watched = Watched(browser, f"{running.url}/")
    watched.page.wait_for_selector("li[data-stream=s] .verdict.better")
    page = Watched(browser, f"{running.url}/streams/s")
    for k, first in enumerate(range(200, 1200, 200)):  # few wait together: shocks are not shared
        feed(running, first, first + 200, shift=0.6 if k % 2 else -0.6, size=2)
    api = running.http.get("/v1/streams/s").json()
    assert api["verdict"]["state"] == "miscalibrated"
    page.until(api["sequence"])
    assert page.page.locator("#verdict.worse").count() == 1
    assert page.page.locator("#evidence-picture .shaded").count() >= 1
    episodes = running.http.get("/v1/streams/s/episodes").json()
    shown = page.cells("episodes")
    assert len(shown) == len(episodes["calibrated"]) + len(episodes["raw"])
    assert ["ongoing" in row for row in shown].count(True) >= 1
    watched.page.wait_for_selector("li[data-stream=s] .verdict.worse")


def test_outcomes_that_fall_silent_are_shown(running, browser):
    running.stream(clock="client")
    for k in range(12):
        at = 1.7e9 + 60.0 * k
        running.predict({"id": f"r{k}", "score": 0.5, "at": at})
        running.learn({"id": f"r{k}", "outcome": k % 2, "at": at})
    listed = Watched(browser, f"{running.url}/")
    page = Watched(browser, f"{running.url}/streams/s")
    page.until(24)
    assert not page.page.locator("#silent").is_visible()
    for hour in (1, 3):
        running.predict({"id": f"late {hour}", "score": 0.5, "at": 1.7e9 + 3600.0 * hour})
    page.until(26)
    assert "Outcomes have stopped" in page.page.inner_text("#silent")
    assert "2023-11-14 23:13 UTC" in page.page.inner_text("#silent")  # the first that is not heard
    listed.page.wait_for_selector("li[data-stream=s] .silent")
    running.learn({"id": "late 1", "outcome": 1, "at": 1.7e9 + 4 * 3600.0})
    page.until(27)
    assert not page.page.locator("#silent").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1100])
def test_everybody_can_read_it(running, browser, scheme, width):
    running.stream()
    running.stream("other")
    feed(running, 0, 400)
    for path in ("/", "/streams/s", "/streams/other", "/docs"):
        watched = Watched(
            browser, running.url + path, color_scheme=scheme,
            viewport={"width": width, "height": 800},
        )  # fmt: skip
        watched.page.wait_for_timeout(500)
        if path == "/streams/s":
            watched.until(running.http.get("/v1/streams/s").json()["sequence"])
        found = Axe().run(watched.page).response["violations"]
        serious = [
            f"{each['id']}: {each['nodes'][0]['html']}"
            for each in found
            if each["impact"] in ("serious", "critical")
        ]
        assert not serious, (path, serious)
        # Nothing is wider than the screen.
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= width, path
        # The keyboard reaches the links.
        watched.page.keyboard.press("Tab")
        assert watched.page.evaluate("document.activeElement.tagName") == "A", path
        assert all(url.startswith(running.url) for url in watched.asked)
        assert not watched.wrong
        watched.page.close()


def test_the_browser_is_forbidden_to_go_elsewhere(running, browser):
    running.stream()
    watched = Watched(browser, f"{running.url}/streams/s")
    policy = running.http.get("/streams/s").headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    blocked = watched.page.evaluate(
        "fetch('http://192.0.2.1/').then(() => 'went', (error) => error.name)"
    )
    assert blocked == "TypeError"
    tried = watched.page.evaluate(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.bad = 1';"
        "document.head.append(s); return window.bad ?? 'blocked'; })()"
    )
    assert tried == "blocked"


def test_a_page_finds_the_service_again(start, browser):
    first = start()
    first.stream()
    feed(first, 0, 200)
    watched = Watched(browser, f"{first.url}/streams/s")
    watched.page.wait_for_selector("#status.live")
    first.stop()
    watched.page.wait_for_selector("#status.lost")
    second = start(port=first.port)
    watched.page.wait_for_selector("#status.live")
    feed(second, 200, 400)
    watched.until(second.http.get("/v1/streams/s").json()["sequence"])
    assert watched.page.locator("#numbers dd").first.inner_text() == "400"


def test_a_browser_shows_the_token_as_a_password(start, path, browser):
    first = start()
    first.stream()
    first.stream("other")
    first.stop()
    store = SqliteStore(path)
    store.open()
    token = new_token(store, "read", stream="s", now=time.time())
    store.close()
    running = start()
    assert running.http.get("/").status_code == 401
    assert "Basic" in running.http.get("/").headers["www-authenticate"]
    page = browser.new_page(http_credentials={"username": "", "password": token})
    page.goto(f"{running.url}/")
    page.wait_for_selector("li[data-stream=s]")
    assert page.locator("li[data-stream=other]").count() == 0
    page.goto(f"{running.url}/streams/s")
    page.wait_for_selector("#status.live")
    # Other sites can make a browser write, but not with this.
    answer = running.http.post(
        "/v1/streams/s/predictions", json={"id": "a", "score": 0.5}, auth=("", token)
    )
    assert answer.status_code == 401


def test_an_unknown_stream_and_an_unknown_file_are_not_found(running):
    for path in ("/streams/nothing", "/static/nothing.js", "/static/..%2fpages.py"):
        assert running.http.get(path).status_code == 404
    assert running.http.get("/streams/%00").status_code == 422
    for name in static_files():
        assert running.http.get(f"/static/{name}").status_code == 200
