"""Persistent clients: they send rows, repeat requests without a response, and keep every answer.

They repeat their own rows and those of others, contradict them, and send outcomes late. The verdict
compares the answers they received with the store.
"""

import random
import threading
import time
from collections import namedtuple

import httpx

#: The streams: outcomes that may come at any time, also by key, and silence that is an answer after
#: a while, also by key and with keys that are watched.
STREAMS = {
    "plain": {"seed": 1},
    "keyed": {"seed": 3, "keyed": True},
    "silent": {"seed": 2, "silence": 0, "after": "1h", "clock": "client"},
    "watched": {
        "seed": 4,
        "keyed": True,
        "watch_keys": True,
        "every": 100,
        "tolerance": 0.0,
        "silence": 0,
        "after": "1h",
        "clock": "client",
    },
}
#: How much faster the told clock runs: the deadlines of an hour pass in six seconds.
FASTER = 600.0
ROWS = (1, 1, 10, 60)

Said = namedtuple("Said", "stream id score probability smooth sequence answer")
Told = namedtuple("Told", "stream id outcome answer is_known is_contested")


class World:
    """What all clients share: which predictions were answered, and which have had an outcome."""

    def __init__(self):
        self.began = time.monotonic()
        self.lock = threading.Lock()
        self.ends = threading.Event()
        self.sent = set()  # (stream, id), answered or not
        self.answered = {}  # (stream, id) -> score, in order
        self.waiting = []  # answered, without an outcome so far
        self.done = []  # with one
        self.answers = 0
        # Of each stream: when the last answered request was sent, and when it was answered.
        self.latest = dict.fromkeys(STREAMS, (self.began, self.began))

    def now(self):
        return 1e9 + FASTER * (time.monotonic() - self.began)


class Client(threading.Thread):
    """One client; `urls` are the servers, of which it asks any."""

    def __init__(self, number, world, urls, seed):
        super().__init__(daemon=True)
        self.number, self.world, self.urls = number, world, urls
        self.chance = random.Random(f"{seed} {number}")
        self.said, self.told = [], []
        self.unanswered = self.refused = self.made = 0
        self.strange = []
        self.http = httpx.Client(timeout=20)

    def run(self):
        while not self.world.ends.is_set():
            stream = self.chance.choice(list(STREAMS))
            kind = self.chance.choice(("predictions", "outcomes"))
            body = self.predictions(stream) if kind == "predictions" else self.outcomes(stream)
            if body:
                self.insist(stream, kind, body)
        self.http.close()

    def insist(self, stream, kind, body):
        """Send rows until they are answered; now and then, give up: nobody knows then."""
        while not self.world.ends.is_set():
            known = {row["id"]: (stream, row["id"]) in self.world.answered for row in body}
            sent_at = time.monotonic()
            rows = self.send(stream, kind, body)
            if rows is not None:
                self.keep(stream, kind, body, rows, known)
                now = time.monotonic()
                self.world.latest[stream] = max(self.world.latest[stream], (sent_at, now))
                return
            if self.chance.random() < 0.02:
                return
            time.sleep(0.05)

    def send(self, stream, kind, body):
        """Return the answers; None if there were none."""
        url = self.chance.choice(self.urls)
        try:
            answer = self.http.post(f"{url}/v1/streams/{stream}/{kind}", json=body)
        except httpx.HTTPError:
            self.unanswered += 1
            return None
        if answer.status_code == 503:
            self.refused += 1
            return None
        if answer.status_code != 200:
            self.strange.append(f"{answer.status_code} {answer.text[:300]}")
            return None
        return answer.json()

    def predictions(self, stream):
        body = []
        for _ in range(self.chance.choice(ROWS)):
            id_, score = f"{self.number}-{self.made}", round(self.chance.random(), 3)
            if self.chance.random() < 0.1 and self.world.answered:
                with self.world.lock:
                    other, id_ = self.chance.choice(self.world.waiting or [(stream, id_)])
                if other != stream:
                    continue
                if self.chance.random() < 0.7:
                    score = self.world.answered.get((stream, id_), score)
            else:
                self.made += 1
            self.world.sent.add((stream, id_))
            row = {"id": id_, "score": score}
            if stream == "plain" and self.chance.random() < 0.3:
                row["by"] = self.chance.choice("abc")
            if STREAMS[stream].get("keyed"):
                row["key"] = key_of(id_)
            body.append(row)
        return self.with_times(stream, body)

    def outcomes(self, stream):
        """Outcomes of any that wait, of some that had one already, and of some never heard of."""
        ids = []
        with self.world.lock:
            waiting, done = self.world.waiting, self.world.done
            for _ in range(self.chance.choice(ROWS)):
                draw = self.chance.random()
                if draw < 0.1 and done:
                    ids.append(self.chance.choice(done))
                elif draw < 0.12:
                    ids.append((stream, f"nobody-{self.chance.randrange(10**9)}"))
                elif waiting:
                    at = self.chance.randrange(len(waiting))
                    waiting[at], waiting[-1] = waiting[-1], waiting[at]
                    ids.append(waiting.pop())
                    done.append(ids[-1])
        body = [
            {"id": id_, "outcome": outcome_of(id_) ^ (self.chance.random() < 0.05)}
            for own, id_ in ids if own == stream
        ]  # fmt: skip
        if body and self.chance.random() < 0.05:  # two outcomes of one id, in one list
            body.append(body[0] | {"outcome": 1 - body[0]["outcome"]})
        return self.with_times(stream, body)

    def with_times(self, stream, body):
        if STREAMS[stream].get("clock") == "client":
            for row in body:
                row["at"] = self.world.now()
        return body

    def keep(self, stream, kind, body, rows, known):
        world = self.world
        if len(rows) != len(body) or any(
            a["id"] != b["id"] for a, b in zip(rows, body, strict=True)
        ):
            self.strange.append(f"{len(body)} rows were answered by {rows!r:.300}")
            return
        if kind == "predictions":
            for sent, row in zip(body, rows, strict=True):
                own = [row[name] for name in Said._fields[3:]]
                self.said.append(Said(stream, row["id"], sent["score"], *own))
        else:
            told = {(row["id"], row["outcome"]) for row in body}
            for sent, row in zip(body, rows, strict=True):
                contested = (row["id"], 1 - sent["outcome"]) in told
                answer = row["answer"]
                self.told.append(
                    Told(stream, row["id"], sent["outcome"], answer, known[row["id"]], contested)
                )
        with world.lock:
            for sent, row in zip(body, rows, strict=True):
                if kind == "predictions" and (stream, row["id"]) not in world.answered:
                    world.answered[stream, row["id"]] = sent["score"]
                    world.waiting.append((stream, row["id"]))
            world.answers += len(rows)


def key_of(id_):
    """Return the key of an id, the same each time; some keys have many."""
    return f"key {int(500 * random.Random(id_).random() ** 6)}"


def outcome_of(id_):
    """Return the outcome of an id, the same each time."""
    return int(random.Random(id_).random() < 0.3)
