"""Bad requests: a problem that names the field and what is allowed, and nothing changes."""

import json

import pytest

JSON = {"content-type": "application/json"}

BAD_PREDICTIONS = {
    "no id": ({"score": 0.5}, "id"),
    "no score": ({"id": "a"}, "score"),
    "an empty id": ({"id": "", "score": 0.5}, "id"),
    "a long id": ({"id": "x" * 201, "score": 0.5}, "id"),
    "an id that is true": ({"id": True, "score": 0.5}, "id"),
    "an id with a fraction": ({"id": 1.5, "score": 0.5}, "id"),
    "an id with a NUL": ({"id": "a\0b", "score": 0.5}, "id"),
    "an id that is half a character": ({"id": "\ud800", "score": 0.5}, "id"),
    "a score above 1": ({"id": "a", "score": 1.0000001}, "score"),
    "a score that is text": ({"id": "a", "score": "0.5"}, "score"),
    "a score that is true": ({"id": "a", "score": True}, "score"),
    "a score that is null": ({"id": "a", "score": None}, "score"),
    "a huge score": ({"id": "a", "score": 10**400}, "score"),
    "a group that is a list": ({"id": "a", "score": 0.5, "by": []}, "by"),
    "an unknown field": ({"id": "a", "score": 0.5, "label": 1}, "label"),
    "a key": ({"id": "a", "score": 0.5, "key": "k"}, "key"),
    "a deadline without silence": ({"id": "a", "score": 0.5, "due": 5}, "due"),
    "a time that is none": ({"id": "a", "score": 0.5, "at": "yesterday"}, "at"),
    "a time far ahead": ({"id": "a", "score": 0.5, "at": "2999-01-01"}, "at"),
    "milliseconds": ({"id": "a", "score": 0.5, "at": 1_794_800_000_000}, "at"),
}
BAD_OUTCOMES = {
    "no outcome": ({"id": "a"}, "outcome"),
    "an outcome above 1": ({"id": "a", "outcome": 2}, "outcome"),
    "an outcome that is text": ({"id": "a", "outcome": "yes"}, "outcome"),
    "an outcome that is null": ({"id": "a", "outcome": None}, "outcome"),
    "a score": ({"id": "a", "outcome": 1, "score": 1}, "score"),
}
BAD_BODIES = {
    "nothing": b"",
    "cut short": b'[{"id": "a", "score": 0.',
    "NaN": b'{"id": "a", "score": NaN}',
    "a field twice": b'{"id": "a", "id": "b", "score": 0.5}',
    "nested deeply": b"[" * 100_000,
    "not UTF-8": b'{"id": "\xff\xfe", "score": 0.5}',
    "a long integer": b'{"id": ' + b"9" * 5000 + b', "score": 0.5}',
    "a number": b"5",
    "a list of numbers": b"[5]",
    "an empty list": b"[]",
}


def check_problem(answer, statuses=(400, 422)):
    assert answer.status_code in statuses, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["title"]
    assert "Traceback" not in answer.text
    return problem


@pytest.mark.parametrize("bad", BAD_PREDICTIONS.values(), ids=BAD_PREDICTIONS)
def test_a_bad_prediction_is_named_and_refuses_its_list(running, bad):
    row, field = bad
    running.stream()
    body = json.dumps([{"id": "good", "score": 0.5}, row])
    answer = running.http.post("/v1/streams/s/predictions", content=body, headers=JSON)
    problem = check_problem(answer)
    assert (problem["field"], problem.get("row", 1)) == (field, 1)
    assert problem["allowed"]
    assert running.http.get("/v1/streams/s").json()["predictions"] == 0


@pytest.mark.parametrize("bad", BAD_OUTCOMES.values(), ids=BAD_OUTCOMES)
def test_a_bad_outcome_is_named_and_refuses_its_list(running, bad):
    row, field = bad
    running.stream()
    running.predict([{"id": id_, "score": 0.5} for id_ in "ab"])
    problem = check_problem(running.learn([{"id": "b", "outcome": 1}, row]))
    assert (problem["field"], problem["row"]) == (field, 1)
    assert running.http.get("/v1/streams/s").json()["outcomes"] == 0


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
@pytest.mark.parametrize("kind", ["predictions", "outcomes"])
def test_a_body_that_cannot_be_read(running, body, kind):
    running.stream()
    check_problem(running.http.post(f"/v1/streams/s/{kind}", content=body, headers=JSON))


def test_bounds(running):
    running.stream()
    many = [{"id": n, "score": 0.5} for n in range(10_001)]
    assert check_problem(running.predict(many))["allowed"] == "1 to 10000 rows"
    large = b'{"id": "' + b"x" * (9 * 2**20) + b'"}'
    answer = running.http.post("/v1/streams/s/predictions", content=large, headers=JSON)
    check_problem(answer, (413,))
    pieces = (b" " * 2**20 for _ in range(10))  # no length is told
    answer = running.http.post("/v1/streams/s/predictions", content=pieces, headers=JSON)
    check_problem(answer, (413,))


def test_other_content_is_refused(running):
    running.stream()
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        answer = running.http.post(
            "/v1/streams/s/predictions", content=b"{}", headers={"content-type": kind}
        )
        check_problem(answer, (415,))


def test_an_encoding_that_would_not_be_undone_is_refused(running):
    running.stream()
    row, refused = b'{"id": "a", "score": 0.5}', {**JSON, "content-encoding": "gzip"}
    answer = running.http.post("/v1/streams/s/predictions", content=row, headers=refused)
    assert check_problem(answer, (415,))["field"] == "content-encoding"
    plain = {**JSON, "content-encoding": "identity"}
    running.http.post("/v1/streams/s/predictions", content=row, headers=plain).raise_for_status()


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"kind": "score"}, "kind"),
        ({"seed": -1}, "seed"),
        ({"silence": 2, "after": 5}, "silence"),
        ({"after": "3d"}, "after"),
        ({"silence": 0, "after": "soon"}, "after"),
        ({"silence": 0, "after": 5, "hold": 5}, "silence"),
        ({"tolerance": 0.6}, "tolerance"),
        ({"every": 5}, "every"),
        ({"groups": "many"}, "groups"),
        ({"capacity": 100}, "capacity"),
        ({"clock": "sun"}, "clock"),
        ({"keyed": 1}, "keyed"),
        ({"keyed": "yes"}, "keyed"),
        ({"keyed": True, "silence": 0, "after": "soon"}, "after"),
        ({"keyed": True, "after": "3d"}, "after"),
        ({"keyed": True, "watch_keys": "yes"}, "watch_keys"),
        ({"keyed": True, "watch_keys": True, "every": 5}, "every"),
        ({"keyed": True, "watch_keys": True, "tolerance": 0.7}, "tolerance"),
        ({"watch_keys": True}, "watch_keys"),
        ({"keyed": True, "silence": 0, "hold": 5}, "silence"),
        ({"color": "red"}, "color"),
        ([], None),
    ],
)
def test_bad_settings_are_named(running, settings, field):
    problem = check_problem(running.http.put("/v1/streams/s", json=settings))
    assert problem.get("field") == field
    assert running.http.get("/v1/streams").json() == {"streams": []}


@pytest.mark.parametrize("name", ["-x", "a b", "x" * 101, "ü", "..", "a%00b", "a%2Fb", "%2e%2e"])
def test_bad_names_make_no_stream(running, name):
    answer = running.http.put(f"/v1/streams/{name}", json={})
    check_problem(answer, (404, 405, 422))
    assert running.http.get("/v1/streams").json() == {"streams": []}


def test_what_is_not_there(running):
    for path in ("/v1/streams/s", "/v1/streams/s/map", "/nothing", "/v1/streams/s/events"):
        check_problem(running.http.get(path), (404,))
    check_problem(running.predict({"id": "a", "score": 0.5}), (404,))
    check_problem(running.http.delete("/v1/streams"), (405,))


def test_one_group_too_many_changes_nothing_not_even_the_time(running):
    running.stream(groups=1, silence=0, after="1h", clock="client")
    running.predict({"id": "a", "score": 0.5, "by": "x", "at": 0})
    before = running.state()
    problem = check_problem(running.predict({"id": "b", "score": 0.5, "by": "y", "at": 9e6}))
    assert problem["field"] == "by"
    assert running.state() == before
    check_problem(running.predict({"id": "b", "score": 0.5}))  # without the time that is asked for
    check_problem(running.predict({"id": "b", "score": 0.5, "at": 5, "due": 5}))
    assert running.state() == before


def test_lines_are_answered_line_by_line(running):
    running.stream()
    rows = [{"id": f"r{n}", "score": 0.5} for n in range(12_000)]
    lines = "\n".join(json.dumps(row) for row in rows).encode()
    headers = {"content-type": "application/x-ndjson"}
    answer = running.http.post("/v1/streams/s/predictions", content=lines, headers=headers)
    assert answer.status_code == 200
    got = [json.loads(line) for line in answer.text.splitlines()]
    assert [row["id"] for row in got] == [row["id"] for row in rows]
    # An invalid line refuses its batch: earlier ones are done, and the last line says why it ended.
    outcomes = [json.dumps({"id": row["id"], "outcome": 1}) for row in rows]
    outcomes[11_000] = '{"id": 5}'
    answer = running.http.post(
        "/v1/streams/s/outcomes", content="\n".join(outcomes).encode(), headers=headers
    )
    *done, problem = [json.loads(line) for line in answer.text.splitlines()]
    assert len(done) == problem["rows_done"] == 10_000
    assert (problem["status"], problem["field"]) == (422, "outcome")
    check_problem(
        running.http.post("/v1/streams/s/outcomes", content=b"x" * 5000, headers=headers), (413,)
    )
