"""Webhooks against a real receiver: signed, brought again, once a window, and none is lost."""

import json
import sqlite3
import time

import pytest

from calibrant.service.store.records import DeliveryRow
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.webhooks import courier
from calibrant.service.webhooks.message import headers_of
from calibrant.service.webhooks.policy import Policy, Webhooks
from calibrant.service.webhooks.secrets import key_of
from service.webhooks.receiver import CAPACITY, IN_PATH, MANY, SECRET, wait_until


@pytest.fixture
def at_once(monkeypatch):
    """Let repetitions come quickly."""
    monkeypatch.setattr(courier, "FIRST", 0.01)
    monkeypatch.setattr(courier, "LONGEST", 0.05)


@pytest.fixture
def ringing(start, receiver):
    """Return a function that starts a service that rings at the receiver, with some streams."""

    def begin(*names, cooldown=3600.0, reset="window", secrets=(SECRET,)):
        policy = Policy(cooldown=cooldown, reset=reset)
        running = start(webhooks=Webhooks((receiver.url,), tuple(map(key_of, secrets)), policy))
        for name in names:
            running.stream(name, capacity=CAPACITY)
        return running

    return begin


def fill(running, first, name="s"):
    """Let nearly as many predictions wait as may."""
    rows = [{"id": f"r{k}", "score": 0.5} for k in range(first, first + MANY)]
    running.predict(rows, name).raise_for_status()


def empty(running, first, name="s"):
    """Bring their outcomes, half of each."""
    rows = [{"id": f"r{k}", "outcome": k % 2} for k in range(first, first + MANY)]
    assert running.words(rows, name) == ["applied"] * MANY


def test_an_alarm_rings_and_its_end_is_told(ringing, receiver):
    running = ringing("s")
    fill(running, 0)
    empty(running, 0)
    high, low = receiver.until(2)
    assert (high["kind"], low["kind"]) == ("pending.high", "pending.low")
    assert (high["stream"], high["waiting"], high["capacity"]) == ("s", MANY, CAPACITY)
    assert high["text"].startswith("s: 8,500 predictions are pending, of at most 10,000")
    assert high["held_back"] == 0
    stored = running.http.get("/v1/events?format=json&after=0").json()["events"]
    assert [each["at"] for each in stored[1:]] == [high["at"], low["at"]]
    first, second = receiver.messages
    assert (first.id, second.id) == (high["id"], low["id"])
    assert first.id != second.id
    assert first.headers["content-type"] == "application/json"
    assert abs(int(first.headers["webhook-timestamp"]) - time.time()) < 600
    for message in (first, second):
        assert message.is_signed()
        assert not message.is_signed("whsec_" + "A" * 32)
    first.body += b" "
    assert not first.is_signed()


def test_an_episode_rings_with_its_words(ringing, receiver):
    running = ringing()
    running.stream(tolerance=0.0, every=1000)
    for shift in (0, 1):  # the scores say 0.5, and nothing happens, then everything
        for start in range(0, 2000, 100):
            rows = [f"{shift} {k}" for k in range(start, start + 100)]
            running.predict([{"id": id_, "score": 0.5} for id_ in rows])
            running.learn([{"id": id_, "outcome": shift} for id_ in rows])
    opened = receiver.until(1)[0]
    assert (opened["kind"], opened["of"]) == ("episode.opened", "calibrated")
    assert opened["episode"]["text"] in opened["text"]
    assert "are miscalibrated" in opened["text"]
    # Episodes of the raw scores are stored, but nobody asked to hear of them.
    stored = running.http.get("/v1/events?format=json&after=0").json()["events"]
    assert "raw" in {each.get("of") for each in stored}
    assert "raw" not in {json.loads(each.body)["of"] for each in receiver.messages}


def test_the_signature_is_that_of_standard_webhooks():
    """Their own example: https://docs.svix.com/receiving/verifying-payloads/how-manual."""
    key = key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'
    headers = headers_of("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, (key,))
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_two_secrets_sign_while_one_takes_the_others_place(ringing, receiver):
    other = "whsec_" + "Ab0+" * 10
    running = ringing("s", secrets=(SECRET, other))
    fill(running, 0)
    receiver.until(1)
    assert receiver.messages[0].is_signed(SECRET)
    assert receiver.messages[0].is_signed(other)


@pytest.mark.usefixtures("at_once")
def test_a_receiver_that_fails_is_asked_again_until_it_recovers(ringing, receiver):
    def hang_up(handler):
        handler.connection.close()

    def say_nonsense(handler):
        handler.wfile.write(b"this is no answer\r\n\r\n")

    receiver.answers += [503, 404, hang_up, say_nonsense, 302, 307]
    running = ringing("s")
    fill(running, 0)
    empty(running, 0)
    high, low = receiver.until(2)
    assert [high["kind"], low["kind"]] == ["pending.high", "pending.low"]
    ids = [each.id for each in receiver.attempts]
    assert ids == [high["id"]] * 7 + [low["id"]]  # one after the other, always by the same name
    assert len({each.body for each in receiver.attempts[:7]}) == 1
    assert {each.path for each in receiver.attempts} == {f"/{IN_PATH}"}  # nobody is followed
    wait_until(lambda: running.service.courier.receivers[0].delivered == 2)


@pytest.mark.usefixtures("at_once")
def test_a_receiver_that_says_nothing_is_left(ringing, receiver, monkeypatch):
    monkeypatch.setattr(courier, "PATIENCE", 0.2)

    def drip(handler):  # a byte at a time, so that something always comes
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
        try:
            while True:
                handler.wfile.write(b"a")
                handler.wfile.flush()
                time.sleep(0.02)
        except OSError:
            pass  # it was left

    receiver.answers.append(drip)
    running = ringing("s")
    fill(running, 0)
    receiver.until(1)
    assert len(receiver.attempts) == 2


def test_a_long_answer_is_not_read(ringing, receiver):
    sent = []

    def flood(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n")
        try:
            while True:
                handler.wfile.write(b"x" * 65536)
                sent.append(65536)
        except OSError:
            sent.append("left")

    receiver.answers.append(flood)
    running = ringing("s")
    fill(running, 0)
    wait_until(lambda: "left" in sent)
    assert sum(sent[:-1]) < 50_000_000
    wait_until(lambda: running.service.courier.receivers[0].delivered == 1)


@pytest.mark.usefixtures("at_once")
def test_old_events_are_given_up(ringing, receiver, monkeypatch):
    monkeypatch.setattr(courier, "GIVE_UP", -1.0)
    receiver.answers.append(500)
    running = ringing("s")
    fill(running, 0)
    empty(running, 0)
    assert [each["kind"] for each in receiver.until(1)] == ["pending.low"]


def test_one_alarm_a_window(ringing, receiver):
    running = ringing("s")
    for first in (0, MANY, 2 * MANY):
        fill(running, first)
        empty(running, first)
    fill(running, 3 * MANY)
    assert [each["kind"] for each in receiver.until(2)] == ["pending.high", "pending.low"]
    # The window is over, and the last alarm lasts: it is told then.
    running.service.clock._start += 3600.0
    running.service.courier.wake(["s"])
    rung = receiver.until(3)[2]
    assert (rung["kind"], rung["held_back"]) == ("pending.high", 2)
    stored = running.http.get("/v1/events?format=json&after=0").json()["events"]
    assert stored[-1]["kind"] == "pending.high"
    assert rung["at"] == stored[-1]["at"]
    empty(running, 3 * MANY)
    assert receiver.until(4)[3]["kind"] == "pending.low"


def test_what_was_held_back_rings_after_a_restart(ringing, receiver):
    running = ringing("s")
    fill(running, 0)
    empty(running, 0)
    fill(running, MANY)
    receiver.until(2)
    name = running.service.courier.receivers[0]._name
    held = lambda: [row.alarms for row in running.service.store.deliveries(name) if row.stream]  # noqa: E731
    wait_until(lambda: held() and json.loads(held()[0])["pending"]["held"] is not None)
    running.stop()
    again = ringing()
    assert len(receiver.messages) == 2
    again.service.clock._start += 3600.0
    again.service.courier.wake(["s"])
    assert receiver.until(3)[2]["kind"] == "pending.high"
    empty(again, MANY)  # that it was told is remembered, as before
    assert receiver.until(4)[3]["kind"] == "pending.low"


def test_the_end_of_an_alarm_may_end_its_window(ringing, receiver):
    running = ringing("s", reset="end")
    for first in (0, MANY):
        fill(running, first)
        empty(running, first)
    kinds = [each["kind"] for each in receiver.until(4)]
    assert kinds == ["pending.high", "pending.low"] * 2


def test_streams_have_windows_of_their_own(ringing, receiver):
    running = ringing("a", "b")
    for name in ("a", "b"):
        fill(running, 0, name=name)
    assert sorted(each["stream"] for each in receiver.until(2)) == ["a", "b"]


def test_a_new_receiver_hears_what_happens_from_now_on(start, ringing, receiver):
    before = start()
    before.stream(capacity=CAPACITY)
    fill(before, 0)
    before.stop()
    running = ringing()
    empty(running, 0)
    fill(running, MANY)
    # The end of an alarm that it was not told of is not told either.
    assert [each["kind"] for each in receiver.until(1)] == ["pending.high"]


def test_where_a_webhook_began_is_said_once(path):
    """Two processes that name a new address at the same time agree on what it is to hear."""
    store = SqliteStore(path)
    store.open()
    for stream, position in (("", 5), ("s", 6), ("", 9), ("s", 10)):
        store.keep_delivery(DeliveryRow("w", stream, position, "{}"))
    assert {row.stream: row.position for row in store.deliveries("w")} == {"": 5, "s": 10}
    assert store.deliveries("other") == []
    store.close()


@pytest.mark.usefixtures("at_once")
def test_a_full_disk_does_not_stop_the_courier(ringing, receiver, monkeypatch):
    running = ringing("s")
    keep, tries = running.service.store.keep_delivery, []

    def failing(row):
        tries.append(row)
        if len(tries) == 1:
            raise sqlite3.OperationalError("database or disk is full")
        keep(row)

    monkeypatch.setattr(running.service.store, "keep_delivery", failing)
    fill(running, 0)
    receiver.until(1)
    empty(running, 0)
    assert [each["kind"] for each in receiver.until(2)] == ["pending.high", "pending.low"]
