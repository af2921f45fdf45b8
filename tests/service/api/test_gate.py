"""Who may do what: closed by default, tokens with scopes, and no secret anywhere."""

import time

import pytest

from calibrant.service.api.server import check_host
from calibrant.service.tokens import hash_of, new_token, rotate_token

PATHS = ("/v1/streams", "/metrics", "/docs", "/openapi.json", "/v1/events", "/", "/x")


def bearer(token):
    return {"authorization": f"Bearer {token}"}


@pytest.fixture
def closed(running, monkeypatch):
    """Return a service with two streams and a token of every sort."""
    monkeypatch.setattr("calibrant.service.tokens.FRESH", 0.0)
    running.stream("one")
    running.stream("two")
    store, now = running.service.store, time.time()
    running.tokens = {
        (scope, stream): new_token(store, scope, stream=stream, now=now)
        for scope in ("read", "write", "admin")
        for stream in ("*", "one")
    }
    return running


def test_without_a_token_nothing_but_probes_answers(closed):
    for path in PATHS:
        answer = closed.http.get(path)
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"].startswith("Bearer")
    assert closed.predict({"id": "a", "score": 0.5}, "one").status_code == 401
    assert closed.http.put("/v1/streams/three", json={}).status_code == 401
    assert closed.http.get("/healthz").json() == {"status": "ok"}
    assert closed.http.get("/readyz").json() == {"status": "ready"}
    admin = bearer(closed.tokens["admin", "*"])
    told = closed.http.get("/readyz", headers=admin).json()
    assert told == {"status": "ready", "streams": 2, "closed": 0}


@pytest.mark.parametrize(
    ("scope", "reads", "writes", "makes"),
    [("read", 200, 403, 403), ("write", 200, 200, 403), ("admin", 200, 200, 200)],
)
def test_a_scope_allows_what_it_says_and_what_is_below(closed, scope, reads, writes, makes):
    headers = bearer(closed.tokens[scope, "*"])
    for name in ("one", "two"):
        path = f"/v1/streams/{name}"
        row = {"id": scope, "score": 0.5}
        assert closed.http.get(path, headers=headers).status_code == reads
        answer = closed.http.post(f"{path}/predictions", json=row, headers=headers)
        assert answer.status_code == writes
        assert closed.http.put(path, json={}, headers=headers).status_code == makes


def test_a_token_of_one_stream_reaches_no_other(closed):
    headers = bearer(closed.tokens["admin", "one"])
    get = closed.http.get
    assert get("/v1/streams/one/history", headers=headers).status_code == 200
    assert get("/v1/streams/two/history", headers=headers).status_code == 403
    assert closed.http.put("/v1/streams/three", json={}, headers=headers).status_code == 403
    row = {"id": "a", "score": 0.5}
    other = closed.http.post("/v1/streams/two/predictions", json=row, headers=headers)
    assert other.status_code == 403
    shown = get("/v1/streams", headers=headers).json()["streams"]
    assert [stream["name"] for stream in shown] == ["one"]
    events = get("/v1/events?format=json&after=0", headers=headers).json()["events"]
    assert {event["stream"] for event in events} == {"one"}
    assert get("/metrics", headers=headers).status_code == 403  # it shows all streams


def test_wrong_expired_and_revoked_tokens(closed):
    store, now = closed.service.store, time.time()
    good = closed.tokens["read", "*"]
    _, name, secret = good.split("_", 2)
    old = new_token(store, "read", lasts="1s", now=now - 10)
    wrong = (good[:-1], good + "x", f"cal_{name}_", f"cal__{secret}", f"x_{name}_{secret}",
             secret, "cal_" + "x" * 5000, old)  # fmt: skip
    for token in wrong:
        answer = closed.http.get("/v1/streams", headers=bearer(token))
        assert answer.status_code == 401, token
    assert closed.http.get("/v1/streams", headers=bearer(good)).status_code == 200
    assert store.end_token(name, now)
    assert closed.http.get("/v1/streams", headers=bearer(good)).status_code == 401
    assert not store.end_token("nobody", now)


def test_a_rotated_token_ends_after_its_grace(closed):
    store, now = closed.service.store, time.time()
    old = closed.tokens["write", "one"]
    new = rotate_token(store, old.split("_")[1], grace="1h", now=now)
    for token in (old, new):
        answer = closed.http.get("/v1/streams/one", headers=bearer(token))
        assert answer.status_code == 200
    kept = {each.name: each for each in store.tokens()}
    assert kept[old.split("_")[1]].expires == pytest.approx(now + 3600)
    found = kept[new.split("_")[1]]
    assert (found.scope, found.stream, found.expires) == ("write", "one", None)


def test_a_browser_may_send_a_token_as_a_password_to_read(closed):
    password = ("anybody", closed.tokens["write", "*"])
    assert closed.http.get("/v1/streams", auth=password).status_code == 200
    row = {"id": "a", "score": 0.5}
    answer = closed.http.post("/v1/streams/one/predictions", json=row, auth=password)
    assert answer.status_code == 401


def test_the_store_has_no_secret(closed, path):
    closed.stop()
    kept = path.read_bytes()
    for token in closed.tokens.values():
        secret = token.split("_", 2)[2]
        assert len(secret) == 43
        assert secret.encode() not in kept
        assert hash_of(secret).encode() in kept


def test_without_any_token_only_this_machine_is_served(running):
    for host in ("localhost:8042", "127.0.0.1", "[::1]:8042"):
        assert running.http.get("/v1/streams", headers={"host": host}).status_code == 200
    # A page elsewhere whose name was made to point here.
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", ""):
        assert running.http.get("/v1/streams", headers={"host": host}).status_code == 403
    forwarded = {"x-forwarded-for": "127.0.0.1", "host": "evil.example"}
    assert running.http.get("/v1/streams", headers=forwarded).status_code == 403


def test_it_does_not_listen_to_others_without_a_token(running):
    check_host(running.service, "127.0.0.1")
    for host in ("0.0.0.0", "::", "192.168.1.5", "example.org"):
        with pytest.raises(ValueError, match="calibrant token new"):
            check_host(running.service, host)


def test_answers_carry_headers_that_keep_browsers_honest(running):
    for path in ("/healthz", "/nothing", "/docs"):
        headers = running.http.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
