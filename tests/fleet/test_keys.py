"""The index of keys beside a dict, and what it refuses."""

from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from calibrant._kernels.fleet.key_batch import checked_keys, shards_of
from calibrant._kernels.fleet.keys import KeyIndex
from naive import keys as naive

INTS = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 30)
TEXTS = st.text(max_size=80) | st.sampled_from(["", "a", "b", "é", "日本", "a" * 31, "a" * 64])


class Indexes(RuleBasedStateMachine):
    """An index and its twin get the same calls."""

    keys: st.SearchStrategy = INTS

    def __init__(self) -> None:
        super().__init__()
        self.index, self.twin = KeyIndex(), naive.Index()

    @rule(data=st.data(), add=st.booleans())
    def look(self, data, add):
        batch = data.draw(st.lists(self.keys, max_size=60))
        assert self.index.slots(batch, add=add).tolist() == self.twin.slots(batch, add=add)

    @rule(first=st.integers(0, 10**6), count=st.integers(0, 400))
    def add_many(self, first, count):
        batch = list(range(first, first + count))
        if self.keys is TEXTS:
            batch = [f"key {i}" for i in batch]
        assert self.index.slots(batch, add=True).tolist() == self.twin.slots(batch, add=True)

    @precondition(lambda self: len(self.index))
    @rule(data=st.data())
    def remove(self, data):
        slots = data.draw(st.lists(st.integers(0, len(self.index) - 1)))
        assert self.index.remove(slots).tolist() == self.twin.remove(slots)

    @rule(data=st.data())
    def truncate(self, data):
        count = data.draw(st.integers(0, len(self.index)))
        self.index.truncate(count)
        self.twin.truncate(count)

    @rule(table=st.booleans())
    def save(self, table):
        self.index = KeyIndex.from_arrays(self.index.arrays(table=table))

    @invariant()
    def all_found(self):
        known = self.twin.keys()
        assert self.index.keys().tolist() == known
        assert self.index.slots(known).tolist() == list(range(len(known)))
        assert len(self.index) == len(known)
        mapped = KeyIndex.from_arrays(self.index.arrays(), copy=False)
        assert mapped.slots(known).tolist() == list(range(len(known)))


class TextIndexes(Indexes):
    keys = TEXTS


Indexes.TestCase.settings = settings(max_examples=40, stateful_step_count=15, deadline=None)
TextIndexes.TestCase.settings = Indexes.TestCase.settings
TestIndexOfInts = Indexes.TestCase
TestIndexOfTexts = TextIndexes.TestCase


def test_the_hash_is_xxh64_with_seed_42():
    # Values of Spark 4's xxhash64(cast(k AS bigint)) and xxhash64(k), signed there.
    assert naive.hash_of(1) == -7001672635703045582 % 2**64
    assert naive.hash_of("Spark") == -4294468057691064905 % 2**64
    rng = np.random.default_rng(3)
    ints = [0, 1, -1, 2**63 - 1, -(2**63), *rng.integers(-(2**62), 2**62, 200).tolist()]
    texts = ["".join(map(chr, rng.integers(32, 500, size))) for size in range(150)]
    for keys in (ints, texts):
        batch = checked_keys(keys)
        assert batch.hashes().tolist() == [naive.hash_of(key) for key in keys]
        for shards in (1, 7, 64):
            assert (shards_of(batch.hashes(), shards) == naive.shards_of(keys, shards)).all()


def test_two_keys_of_one_half_of_a_hash_are_two_keys():
    """The table compares keys, not hashes: 200,000 keys share halves of their hashes."""
    keys = np.arange(200_000)
    low = checked_keys(keys).hashes() & np.uint64(2**32 - 1)
    assert len(np.unique(low)) < len(keys)
    index = KeyIndex()
    assert (index.slots(keys, add=True) == keys).all()
    assert (index.slots(keys[::-1]) == keys[::-1]).all()


@pytest.mark.parametrize(
    "keys",
    [
        np.array([3, 4, 3], dtype=np.uint16),
        np.array([3, 4, 3]).astype(object),
        (3, np.int32(4), 3),
        pd.Series([3, 4, 3]),
        pl.Series([3, 4, 3]),
        pa.array([3, 4, 3]),
        np.arange(9)[3:5].repeat(2)[[0, 2, 1]],
    ],
)
def test_integers_in_many_dresses(keys):
    assert checked_keys(keys).tolist() == [3, 4, 3]


@pytest.mark.parametrize(
    "keys",
    [
        np.array(["ü", "b", ""]),
        np.array(["ü", "b", ""], dtype=object),
        np.array(["ü", "b", ""], dtype=np.dtypes.StringDType()),
        pd.Series(["ü", "b", ""]),
        pl.Series(["ü", "b", ""]),
        pa.array(["x", "ü", "b", ""])[1:],
        pa.array(["ü", "b", ""], type=pa.large_string()),
        pa.chunked_array([["ü"], ["b", ""]]),
        pa.array(["ü", "b", ""]).dictionary_encode(),
    ],
)
def test_texts_in_many_dresses(keys):
    batch = checked_keys(keys)
    assert batch.tolist() == ["ü", "b", ""]
    assert batch.take(np.array([2, 0])).tolist() == ["", "ü"]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ([1, 2, "a"], "'a' .* position 2, after integers"),
        (["a", 2], "2 .* position 1, after strings"),
        ([1, True], "True .* position 1"),
        ([True], "position 0"),
        ([1, 2.0], "2.0 .* position 1"),
        (np.array([1.0]), "position 0"),
        (np.array([True]), "position 0"),
        (np.array([b"x"]), "position 0"),
        (np.array(["2020"], dtype="datetime64[Y]"), "position 0"),
        (["a", None], "None .* position 1"),
        ([1, float("nan")], "nan .* position 1"),
        ([b"x"], "position 0"),
        (["a", "\ud800"], "position 1: a lone surrogate"),
        ([2**63], "fit 64 bits .* position 0"),
        (np.array([1, 2**63], dtype=np.uint64), "fit 64 bits .* position 1"),
        (pa.array(["a", None]), "missing one at position 1"),
        (pa.array([1, None]), "missing one at position 1"),
        (pd.Series(["a", None]), "position 1"),
        (np.ma.array([1, 2], mask=[False, True]), "position 1"),
        ("abc", "one per row"),
        (7, "one per row"),
        ({1, 2}, "one per row"),
        (np.zeros((2, 2), dtype=int), "one-dimensional"),
    ],
)
def test_a_wrong_key_is_named(keys, words):
    index = KeyIndex()
    with pytest.raises(ValueError, match=words):
        index.slots(keys, add=True)
    assert len(index) == 0
    assert index.kind is None


def test_an_index_keeps_to_one_kind():
    index = KeyIndex()
    index.slots([1, 2], add=True)
    for add in (False, True):
        with pytest.raises(ValueError, match="known so far are int, got str"):
            index.slots(["1"], add=add)
    assert index.keys().tolist() == [1, 2]
    index.truncate(0)
    assert index.slots(["1"], add=True).tolist() == [0]
    assert index.kind == "str"


def test_without_memory_nothing_is_added(monkeypatch):
    index = KeyIndex()
    index.slots(range(10), add=True)

    for name in ("zeros", "empty"):
        fails_later = FailsAfter(getattr(np, name), 3)
        with monkeypatch.context() as patched:
            patched.setattr(np, name, fails_later)
            with pytest.raises(MemoryError):
                index.slots(range(5, 10_000), add=True)
        assert index.keys().tolist() == list(range(10))
        assert index.slots(range(12)).tolist() == [*range(10), -1, -1]
    index.slots(range(5, 10_000), add=True)
    assert len(index) == 10_000


class FailsAfter:
    """A function that has no memory from its n-th call on."""

    def __init__(self, function, calls: int):
        self.function, self.calls = function, calls

    def __call__(self, *args, **named):
        self.calls -= 1
        if self.calls < 0:
            raise MemoryError
        return self.function(*args, **named)


def test_a_mapped_index_can_only_be_looked_into():
    index = KeyIndex()
    index.slots(["a", "b"], add=True)
    mapped = KeyIndex.from_arrays(index.arrays(), copy=False)
    assert mapped.slots(["b", "c"]).tolist() == [1, -1]
    for change in (
        lambda: mapped.slots(["c"], add=True),
        lambda: mapped.remove([0]),
        lambda: mapped.truncate(1),
    ):
        with pytest.raises(ValueError, match="read-only"):
            change()
    assert mapped.keys().tolist() == ["a", "b"]


def changed(arrays, name, at, value):
    array = arrays[name].copy()
    array[at] = value
    return {**arrays, name: array}


def test_saved_arrays_that_make_no_sense_are_refused():
    index = KeyIndex()
    index.slots(["é", "b", "cc"], add=True)
    good = index.arrays()
    used = int(np.flatnonzero(good["table"])[0])
    empty = int(np.flatnonzero(good["table"] == 0)[0])
    for copy, bad, words in [
        (True, {"starts": good["starts"]}, "must hold"),
        (True, changed(good, "starts", 1, 9), "rise from 0"),
        (True, changed(good, "starts", 0, 1), "rise from 0"),
        (True, changed(good, "starts", 1, 1), "inside a letter"),
        (True, changed(good, "arena", 0, 0xFF), "utf-8"),
        (True, {**good, "starts": good["starts"].astype(np.int32)}, "flat array of int64"),
        (True, {**good, "starts": np.zeros(1, np.int64), "arena": np.zeros(0, np.uint8)}, "none"),
        (False, changed(good, "starts", 3, 10**9), "rise from 0"),
        (False, changed(good, "table", used, 5), "of 3 keys"),
        (False, changed(good, "table", used, 0), "of 3 keys"),
        (False, changed(good, "table", empty, 1), "of 3 keys"),
        (False, changed(good, "table", used, 1 << 32), "a slot in each"),
        (False, {**good, "table": good["table"][:3]}, "of 3 keys"),
        (False, {**good, "table": np.ones(4, dtype=np.int64)}, "flat array of uint64"),
        (False, {k: v for k, v in good.items() if k != "table"}, "with its table"),
    ]:
        with pytest.raises(ValueError, match=words):
            KeyIndex.from_arrays(bad, copy=copy)
    with pytest.raises(ValueError, match="distinct"):
        KeyIndex.from_arrays({"keys": np.array([4, 5, 4])})


def test_threads_may_look_together():
    index = KeyIndex()
    keys = np.arange(300_000)
    index.slots(keys, add=True)
    wrong: list[int] = []

    def look() -> None:
        for _ in range(5):
            if not (index.slots(keys) == keys).all():
                wrong.append(1)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert index.slots(np.array([-5]), add=True).tolist() == [len(keys)]
