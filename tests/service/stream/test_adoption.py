"""A state of ``calibrant recalibrate --state`` goes on as a stream, bit for bit."""

import numpy as np
import pytest
from typer.testing import CliRunner

from calibrant import EventForecaster, Fleet, Recalibrator
from calibrant.cli import app
from calibrant.service.service import Service
from calibrant.service.store.records import StoreError
from calibrant.service.store.sqlite import SqliteStore
from calibrant.service.stream.adoption import adopt
from calibrant.service.stream.verification import check_store
from service.stores import query

ROWS = 2000


def rows_of(seed, count=ROWS):
    random = np.random.default_rng(seed)
    keys = random.integers(0, 30, count)
    scores = random.random(count)
    outcomes = (random.random(count) < scores * keys / 30).astype(float)
    return scores, outcomes, [f"shop {key}" for key in keys]


def go_on(running, learner, *, keyed=False, by=False, at=None):
    """Play the same rows to a stream and to what it was made of; both must say the same."""
    scores, outcomes, names = rows_of(9, 600)
    for first in range(0, 600, 100):
        part = slice(first, first + 100)
        ids = [f"r{n}" for n in range(first, first + 100)]
        times = {} if at is None else {"at": at + 20.0 * first}
        named = "key" if keyed else "by" if by else None
        answer = running.predict(
            [
                {"id": id_, "score": score} | times | ({named: name} if named else {})
                for id_, score, name in zip(ids, scores[part], names[part], strict=True)
            ]
        )
        assert answer.status_code == 200, answer.text
        columns = (names[part], scores[part]) if keyed else (scores[part],)
        group = {"by": names[part]} if by else {}
        said = learner.predict_many(*columns, ids=ids, **group, **times)
        assert [row["probability"] for row in answer.json()] == said.tolist()
        known = [
            {"id": id_, "outcome": y} | times for id_, y in zip(ids, outcomes[part], strict=True)
        ]
        assert set(running.words(known)) == {"applied"}
        learner.update_many(outcomes[part], ids=ids, **times)


def check_all(start, path, running):
    """A restart, a replay from the adopted state and the check give the same state."""
    state = running.state()
    running.stop()
    assert check_store(SqliteStore(path), lambda _: None) == []
    assert query(path, "SELECT MIN(sequence) FROM snapshots") == [(0,)]
    query(path, "DELETE FROM snapshots WHERE sequence > 0")
    again = start()
    assert again.state() == state
    again.stop()


def test_a_recalibrator_goes_on(start, path, tmp_path):
    scores, outcomes, names = rows_of(1)
    learner = Recalibrator(seed=4, max_groups=40)
    learner.run(scores, outcomes, by=names)
    learner.save(tmp_path / "state")
    said = adopt(SqliteStore(path), "s", tmp_path / "state", 1e9)
    assert "after 2,000 predictions and 2,000 outcomes" in said
    running = start()
    found = running.http.get("/v1/streams/s").json()
    assert found["adopted"] == {"predictions": 2000, "outcomes": 2000, "given_up": 0}
    assert (found["settings"]["seed"], found["settings"]["groups"]) == (4, 40)
    go_on(running, learner, by=True)
    more = [{"id": f"g{n}", "score": 0.5, "by": f"new {n}"} for n in range(11)]
    assert running.predict(more).json()["field"] == "by"  # 30 groups were there before
    check_all(start, path, running)


@pytest.mark.parametrize("monitor", [False, True], ids=["plain", "watched"])
def test_a_fleet_goes_on(start, path, tmp_path, monitor):
    scores, outcomes, names = rows_of(1)
    learner = Fleet(seed=4, kind="logit", monitor=monitor and {"every": 1000, "tolerance": 0.01})
    learner.run(names, scores, outcomes)
    learner.save(tmp_path / "state")
    adopt(SqliteStore(path), "s", tmp_path / "state", 1e9)
    running = start()
    found = running.http.get("/v1/streams/s").json()
    assert (found["settings"]["keyed"], found["settings"]["kind"], found["keys"]) == (
        True, "logit", 30,
    )  # fmt: skip
    if monitor:  # which keys were off before is known, and not since when
        off = running.http.get("/v1/streams/s/miscalibrated_keys").json()["raw"]
        was = learner.monitors.raw.miscalibrated_keys()
        assert off["count"] == len(was) > 3
        assert [(each["key"], each["since"]) for each in off["keys"]] == [
            (each.key, None) for each in was
        ]
    else:
        assert found["miscalibrated_keys"] is None
    go_on(running, learner, keyed=True)
    check_all(start, path, running)


@pytest.mark.parametrize("keyed", [False, True], ids=["recalibrator", "fleet"])
@pytest.mark.parametrize("wait", [{"silence": 0, "after": "1h"}, {"hold": "10min"}], ids=str)
def test_a_state_with_deadlines_goes_on_without_what_waited(start, path, tmp_path, keyed, wait):
    learner = Fleet(**wait) if keyed else Recalibrator(**wait)
    ids = [f"r{n}" for n in range(50)]  # the stream will use them again
    scores = np.linspace(0.1, 0.9, 50)
    columns = (["shop 7"] * 50, scores) if keyed else (scores,)
    learner.predict_many(*columns, ids=ids, at=1.7e9)
    learner.update(1, id="r3", at=1.7e9 + 60)
    learner.save(tmp_path / "state")
    with pytest.raises(ValueError, match=r"50 predictions are pending.*--drop-pending"):
        adopt(SqliteStore(path), "s", tmp_path / "state", 1e9)
    adopt(SqliteStore(path), "s", tmp_path / "state", 1e9, give_up=True)
    assert learner.forget_ids() == 50
    running = start()
    found = running.http.get("/v1/streams/s").json()
    assert found["adopted"]["given_up"] == 50
    assert {name: found["settings"][name] for name in wait} == wait
    # From earlier than what the state has seen, to after the first deadlines.
    go_on(running, learner, keyed=keyed, at=1.7e9 - 100)
    check_all(start, path, running)


def test_from_a_file_to_a_stream_by_the_command(start, path, tmp_path):
    """CSV, calibrant recalibrate --state, calibrant serve --adopt, and on with the next rows."""
    scores, outcomes, names = rows_of(1)
    lines = [f"{name},{s},{y:.0f}" for name, s, y in zip(names, scores, outcomes, strict=True)]
    (tmp_path / "history.csv").write_text("\n".join(["shop,score,sold", *lines]) + "\n")
    run = CliRunner().invoke
    options = ["--score", "score", "--outcome", "sold", "--key", "shop"]
    state = tmp_path / "shops.state"
    done = run(app, ["recalibrate", str(tmp_path / "history.csv"), *options, "--state", str(state)])
    assert done.exit_code == 0, done.output
    learner = Fleet.load(state)
    assert learner.learned == ROWS
    command = ["serve", "--adopt", f"s={state}", "--store", str(path)]
    done = run(app, command)
    assert done.exit_code == 0, done.output
    assert "30 keys" in done.output
    again = run(app, command)
    assert again.exit_code == 2
    assert "has a stream 's' already" in " ".join(again.output.split())
    running = start()
    in_use = run(app, ["serve", "--adopt", f"t={state}", "--store", str(path)])
    assert in_use.exit_code == 2
    assert "in use by another" in " ".join(in_use.output.split())
    go_on(running, learner, keyed=True)
    check_all(start, path, running)


def saved_event(path):
    forecaster = EventForecaster()
    forecaster.run([0, 1, 1])
    forecaster.save(path)


def saved_small(path):
    Recalibrator(capacity=500).save(path)


def saved_shards(path):
    Fleet(shards=4).save(path)


def saved_clock(path):
    learner = Recalibrator(silence=0, after=30)
    learner.predict(0.5, id="a", at=5.0)
    learner.advance(50)
    learner.save(path)


def saved_clock_of_keys(path):
    learner = Fleet(silence=0, after=30)
    learner.predict("a", 0.5, id="a", at=5.0)
    learner.advance(50)
    learner.save(path)


def saved_integers(path):
    learner = Recalibrator()
    learner.run([0.5, 0.6], [1, 0], by=[1, 2])
    learner.save(path)


def saved_cut(path):
    saved_small(path)
    path.write_bytes(path.read_bytes()[:-5])


@pytest.mark.parametrize(
    ("save", "words"),
    [
        (saved_event, "hold a EventForecaster, not a Recalibrator"),
        (saved_small, "capacity: got 500"),
        (saved_shards, "has 4 shards"),
        (saved_clock, "a clock of its own"),
        (saved_clock_of_keys, "a clock of its own"),
        (saved_integers, "group 1 is not text"),
        (saved_cut, "cut short"),
        (lambda path: path.write_text("id,score\n"), "signature is missing"),
        (lambda _: None, "cannot be read"),
    ],
)  # fmt: skip
def test_what_makes_no_stream_is_refused(path, tmp_path, save, words):
    save(tmp_path / "state")
    with pytest.raises(ValueError, match=words):
        adopt(SqliteStore(path), "s", tmp_path / "state", 1e9)
    assert not path.exists()


def test_bad_names_are_refused(path, tmp_path):
    Recalibrator().save(tmp_path / "state")
    with pytest.raises(ValueError, match="is no name of a stream"):
        adopt(SqliteStore(path), "a/b", tmp_path / "state", 1e9)
    done = CliRunner().invoke(app, ["serve", "--adopt", "nothing", "--store", str(path)])
    assert done.exit_code == 2
    assert "NAME=FILE" in done.output


def test_without_the_state_it_was_made_of_a_stream_does_not_start(start, path, tmp_path):
    scores, outcomes, _ = rows_of(1)
    learner = Recalibrator()
    learner.run(scores, outcomes)
    learner.save(tmp_path / "state")
    adopt(SqliteStore(path), "s", tmp_path / "state", 1e9)
    start().stop()
    query(path, "UPDATE snapshots SET blob = x'00'")
    with pytest.raises(StoreError, match="adopted from is missing or damaged"):
        Service(SqliteStore(path)).start()
    found = check_store(SqliteStore(path), lambda _: None)
    assert "is missing" in found[-1]


def test_a_fleet_in_pieces_goes_on_in_a_database(start, databases, tmp_path, monkeypatch):
    """Adopted, played on, snapshots in pieces, a restart and the check: all on PostgreSQL."""
    from calibrant.service.store.postgres import PostgresStore  # noqa: PLC0415
    from calibrant.service.stream import snapshots  # noqa: PLC0415

    monkeypatch.setattr(snapshots, "PIECE", 5000)
    monkeypatch.setattr(snapshots, "LARGE", 1)
    monkeypatch.setattr(snapshots, "SNAPSHOT_ROWS", 0)
    address = databases()
    scores, outcomes, names = rows_of(1)
    learner = Fleet(seed=4)
    learner.run(names, scores, outcomes)
    learner.save(tmp_path / "state")
    adopt(PostgresStore(address), "s", tmp_path / "state", 1e9)
    running = start(PostgresStore(address))
    with pytest.raises(StoreError, match="in use by another"):
        adopt(PostgresStore(address), "t", tmp_path / "state", 1e9)
    go_on(running, learner, keyed=True)
    state = running.state()
    running.stop()
    store = PostgresStore(address)
    sequences = [each.sequence for each in store.snapshots(1)]
    assert len(sequences) == 3
    assert sequences[-1] == 0
    assert check_store(store, lambda _: None) == []
    store.close()
    assert start(PostgresStore(address)).state() == state
