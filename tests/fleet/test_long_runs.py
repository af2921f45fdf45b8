"""Runs of more rows than are played at a time: the same, and undone if they cannot be finished."""

import numpy as np
import pytest

from calibrant import Fleet
from calibrant.fleet import fleet as module
from calibrant.fleet.shard import Shard
from fleet.worlds import keyed
from interrupting import interrupt_call


def state(fleet):
    """Return everything of a fleet but the tables of its index, which have room for more."""
    return [
        {name: array.tobytes() for name, array in fleet.shard_arrays(number).items()
         if not name.endswith("_index_table")}
        for number in range(fleet.shards)
    ]  # fmt: skip


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 128)


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("names", [False, True])
def test_chunks_do_not_show(shards, names, monkeypatch):
    keys, scores, outcomes = keyed(1000, 300, seed=1)
    keys = [f"key {key}" for key in keys] if names else keys
    parents, times = np.arange(1000) % 7, np.arange(1000.0)
    long = Fleet(3, "logit", shards=shards)
    predicted = long.run(keys, scores, outcomes, at=times, parents=parents)
    monkeypatch.setattr(module, "CHUNK", 10_000)
    short = Fleet(3, "logit", shards=shards)
    assert (predicted == short.run(keys, scores, outcomes, at=times, parents=parents)).all()
    assert long.to_bytes() == short.to_bytes()


@pytest.mark.parametrize("shards", [1, 3])
def test_a_run_that_is_interrupted_never_was(shards, monkeypatch):
    keys, scores, outcomes = keyed(1000, 300, seed=1)
    fleet = Fleet(3, "logit", shards=shards)
    fleet.run(keys[:200], scores[:200], outcomes[:200])
    before = state(fleet)
    interrupt_call(monkeypatch, Shard, "run", 4)
    with pytest.raises(KeyboardInterrupt):
        fleet.run(keys, scores, outcomes)
    assert state(fleet) == before


@pytest.mark.parametrize(
    ("row", "message"),
    [(("key", 0.5), "at position"), ((1, np.inf), "finite number")],
)
def test_a_bad_row_in_a_later_chunk_changes_nothing(row, message):
    keys, scores, outcomes = keyed(1000, 300, seed=1)
    fleet = Fleet(3, "logit")
    before = state(fleet)
    with pytest.raises(ValueError, match=message):
        fleet.run([*keys[:-1].tolist(), row[0]], [*scores[:-1], row[1]], outcomes)
    assert state(fleet) == before
    with pytest.raises(ValueError, match="same length"):
        fleet.run(keys[:-1], scores, outcomes)
