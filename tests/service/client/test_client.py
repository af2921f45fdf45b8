"""The clients: what they return, what they raise, and what they do while the service is away."""

import asyncio
import math
import socket
import threading
import time

import httpx
import numpy as np
import pytest

from calibrant.rounds import RoundError
from calibrant.service.api.server import listen, server_of
from calibrant.service.client import AsyncClient, Client, protocol
from calibrant.service.service import Service
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.tokens import new_token


def test_a_row_and_its_outcome(running):
    with Client(running.url) as client:
        assert client.put_stream("s", seed=3)["settings"]["seed"] == 3
        said = client.predict("s", np.float64(0.25), id=17, by="web")
        assert (said.id, said.raw, said.sequence, said.answer) == ("17", 0.25, 1, "applied")
        again = client.predict("s", 0.25, id=17)
        assert (again, again.smooth, again.answer) == (said, said.smooth, "repeated")
        with pytest.raises(RoundError, match="another score") as caught:
            client.predict("s", 0.5, id=17)
        assert caught.value.answer == "conflict"
        (other,) = client.predict_many("s", [0.5], ids=[17], at=1e9)
        assert (other, other.answer) == (said, "conflict")
        assert client.update("s", 1, id=17) == "applied"
        assert client.update("s", 1, id=17) == "repeated"
        for outcome, id_, answer in ((0, 17, "conflict"), (0, "nobody", "unknown")):
            with pytest.raises(RoundError, match="not applied") as caught:
                client.update("s", outcome, id=id_)
            assert caught.value.answer == answer
            assert client.update_many("s", [outcome], ids=[id_]) == [answer]
        assert [each["name"] for each in client.streams()] == ["s"]
        assert client.stream("s")["predictions"] == 1
        assert client.scorecard("s")["rounds"] == 1
        assert client.prediction("s", 17)["outcome"] == 1.0
        assert client.erase("s", [17, *range(18, 150)]) == [str(id_) for id_ in range(18, 150)]
        assert client.patch_stream("s", name="a.b", retention="9d")["name"] == "a.b"
        assert client.delete_stream("a.b") == {"name": "a.b", "predictions": 1}
        assert client.streams() == []


def test_many_rows_go_in_requests_of_ten_thousand(running):
    running.stream("s")
    ids = [f"row {number}" for number in range(25_000)]
    scores = np.linspace(0, 1, len(ids))
    with Client(running.url) as client:
        sent = count_requests(client)
        said = client.predict_many("s", scores, ids=ids)
        assert len(sent) == 3
        assert [each.id for each in said] == ids
        assert [each.raw for each in said] == scores.tolist()
        assert client.update_many("s", scores > 0.5, ids=ids) == ["applied"] * len(ids)
    assert running.service.owner.streams["s"].sequence == 2 * len(ids)


def test_long_rows_go_in_smaller_requests():
    rows = [{"id": "\u4e2d" * 200, "score": number} for number in range(20_000)]
    bodies = list(protocol.bodies(rows))
    assert max(map(len, bodies)) <= protocol.MOST_BYTES
    together = [row for body in bodies for row in protocol.json.loads(body)]
    assert together == rows


def count_requests(client):
    sent = []
    client._http.event_hooks = {"request": [sent.append]}
    return sent


def test_what_is_wrong_is_said(running):
    running.stream("s")
    with Client(running.url) as client:
        scores = [0.5] * 10_005
        scores[10_003] = 2.0
        with pytest.raises(protocol.RefusedError, match="score in row 3") as caught:
            client.predict_many("s", scores, ids=range(len(scores)))
        error = caught.value
        assert (error.status, error.field, error.row) == (422, "score", 10_003)
        assert error.allowed == "a number in [0, 1]; divide percentages by 100"
        assert "10,000 rows before are stored" in error.__notes__[0]
        with pytest.raises(protocol.RefusedError, match="no stream 'other'"):
            client.predict("other", 0.5, id="x")
        with pytest.raises(protocol.RefusedError, match="other settings"):
            client.put_stream("s", seed=1)
        with pytest.raises(ValueError, match="2 of score, 1 of id"):
            client.predict_many("s", [0.1, 0.2], ids=["a"])
        with pytest.raises(ValueError, match="not JSON"):
            client.predict("s", float("nan"), id="a")
    with pytest.raises(ValueError, match="http://"), Client("nowhere") as client:
        client.streams()


def test_a_token(running):
    token = new_token(running.service.store, "read", now=time.time())
    time.sleep(1.1)  # until the service reads its tokens anew
    with Client(running.url, token=token) as client:
        assert client.streams() == []
        with pytest.raises(protocol.RefusedError, match="admin"):
            client.put_stream("s")
    with Client(running.url) as client, pytest.raises(protocol.RefusedError, match="token"):
        client.streams()


def answering(*replies):
    """Return a transport that gives these replies in turn, and what it was asked."""
    asked, left = [], list(replies)

    def answer(request):
        asked.append(request)
        reply = left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    return httpx.MockTransport(answer), asked


@pytest.fixture
def pauses(monkeypatch):
    """Take every pause at once, and note it."""
    noted = []
    monkeypatch.setattr("calibrant.service.client.client.time.sleep", noted.append)
    return noted


def test_what_is_not_answered_is_sent_again(pauses):
    good = httpx.Response(200, json={"streams": []})
    busy = httpx.Response(503, headers={"retry-after": "7"}, json={"title": "t", "detail": "d"})
    transport, asked = answering(
        httpx.ConnectError("gone"), httpx.ReadTimeout("slow"), busy, httpx.Response(502), good
    )
    with Client(transport=transport) as client:
        assert client.streams() == []
    assert len(asked) == 5
    assert 0.05 <= pauses[0] <= 0.1 <= pauses[1] <= 0.2
    assert pauses[2] == 7.0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500])
def test_what_was_refused_is_not_sent_again(pauses, status):
    transport, asked = answering(httpx.Response(status, json={"title": "t", "detail": "d"}))
    with Client(transport=transport) as client, pytest.raises(protocol.ServiceError, match="t: d"):
        client.streams()
    assert len(asked) == 1
    assert not pauses


def test_pauses_grow_to_a_bound_and_patience_ends(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(protocol.time, "monotonic", lambda: clock[0])
    talk = protocol.answered(protocol.Request("GET", "/"), 60.0)
    pauses = []

    def never_answered():
        step = next(talk)
        while True:
            if isinstance(step, protocol.Request):
                step = talk.throw(ConnectionError("gone"))
            else:
                clock[0] += step
                pauses.append(step)
                step = talk.send(None)

    with pytest.raises(protocol.UnavailableError, match="gone"):
        never_answered()
    assert clock[0] <= 60.0
    assert max(pauses) <= protocol.LONGEST_WAIT
    assert min(pauses[6:]) >= protocol.LONGEST_WAIT / 2


class Restarted:
    """A service on one port and one store that is stopped and started again."""

    def __init__(self, path):
        self.path = path
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        self.service = Service(SqliteStore(self.path))
        self.service.start()
        self.server = server_of(self.service)
        listening = listen("127.0.0.1", self.port)
        self.thread = threading.Thread(target=self.server.run, args=([listening],))
        self.thread.start()

    def stop(self):
        self.server.should_exit = True
        self.thread.join()
        self.service.stop()


@pytest.fixture
def restarted(path):
    one = Restarted(path)
    one.start()
    yield one
    one.stop()


def test_a_service_that_is_restarted_under_the_clients(restarted):
    """Three clients go on over three restarts; every row is there once, with one answer."""
    with Client(restarted.url) as client:
        client.put_stream("s")
    said = {}

    def work(name):
        with Client(restarted.url, patience=60) as client:
            for number in range(150):
                id_ = f"{name} {number}"
                said[id_] = client.predict("s", 0.3, id=id_)
                assert client.update("s", number % 2, id=id_) in ("applied", "repeated")
                time.sleep(0.005)

    workers = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for worker in workers:
        worker.start()
    for _ in range(3):
        time.sleep(0.3)
        restarted.stop()
        restarted.start()
    for worker in workers:
        worker.join()
    assert len(said) == 450
    with Client(restarted.url) as client:
        again = client.predict_many("s", [0.3] * 450, ids=said)
        assert {each.id: each for each in again} == said
        assert {each.answer for each in again} == {"repeated"}
        seen = client.stream("s")
    assert (seen["predictions"], seen["outcomes"], seen["sequence"]) == (450, 450, 900)


def test_many_at_once_with_asyncio(running):
    async def work():
        async with AsyncClient(running.url) as client:
            await client.put_stream("s")
            said = await asyncio.gather(
                *(client.predict("s", number / 100, id=number) for number in range(100))
            )
            words = await client.update_many("s", [1] * 100, ids=range(100))
            with pytest.raises(protocol.RefusedError, match="score"):
                await client.predict("s", 7.0, id="x")
            return said, words, await client.streams(), await client.scorecard("s")

    said, words, streams, card = asyncio.run(work())
    assert [each.id for each in said] == [str(number) for number in range(100)]
    assert words == ["applied"] * 100
    assert streams[0]["predictions"] == card["rounds"] == 100


def test_asyncio_waits_for_a_service_that_begins_late(path):
    late = Restarted(path)

    async def work():
        async with AsyncClient(late.url, patience=30) as client:
            asked = asyncio.create_task(client.streams())
            await asyncio.sleep(0.3)
            assert not asked.done()
            await asyncio.to_thread(late.start)
            return await asked

    try:
        assert asyncio.run(work()) == []
    finally:
        late.stop()


def test_numbers_have_quantiles_and_a_median(running):
    with Client(running.url, patience=5) as client:
        client.put_stream("load", kind="number", levels=[0.05, 0.5, 0.95])
        one = client.predict("load", forecast=7.0, id="a")
        assert (one, one.id, one.forecast, one.answer) == (7.0, "a", 7.0, "applied")
        assert one.quantiles == {"0.05": 7.0, "0.5": 7.0, "0.95": 7.0}
        assert one.intervals["0.9"] == [7.0, 7.0]
        missing, wide = client.predict_many("load", forecasts=[math.nan, 3.0], ids=["b", "c"])
        assert missing.forecast is None
        assert wide == 3.0
        given = client.predict("load", forecast=3.0, scale=2.0, id="d")
        assert given.quantiles["0.05"] < given < given.quantiles["0.95"]
        points = [[2.0, 3.0, 4.0], [5.0, 6.0, 9.0]]
        more = {"quantiles": points, "levels": [0.1, 0.5, 0.9]}
        _, second = client.predict_many("load", forecasts=[3.0, 6.0], ids=["e", "f"], **more)
        more = {"quantiles": points[1], "levels": [0.1, 0.5, 0.9]}
        assert client.predict("load", forecast=6.0, id="g", **more).quantiles == second.quantiles
        (wide,) = client.predict_many("load", forecasts=[3.0], scales=[2.0], ids=["h"])
        assert wide.quantiles == given.quantiles
        with pytest.raises(RoundError, match="another score, forecast or key"):
            client.predict("load", forecast=8.0, id="a")
        assert client.update("load", 7.5, id="a") == "applied"
