"""The clauses that the contracts of forecasters and of recalibrators share."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from calibrant._checks import describe
from calibrant.testing.inputs import NOT_SEEDS
from calibrant.testing.subject import Call, Rounds, Subject, refusal, require, require_same

#: Streams of two lengths, and where they are cut: the short one also after each of its rounds.
CUTS: tuple[tuple[int, tuple[Sequence[int], ...]], ...] = (
    (700, ([0, 700], [0, 0, 1, 2, 130, 699, 700])),
    (48, (range(49), *([0, split, 48] for split in range(49)))),
)
SAVED_AFTER = (0, 1, 2, 7, 63, 256, 511, 599, 600)
LASTING = ("steady", "switching", "alternating")  # kinds of the long streams
PLACES = 2000  # at most this many bytes of a saved state are altered, one at a time


def check_bounds(subject: Subject) -> None:
    """A prediction is in [0, 1], or a row of such that sums to one; quantiles do not cross."""
    if not subject.calls.says_probabilities:
        for kind, rounds in subject.streams(400, 3):
            predicted = rounds.play(subject.make())
            require(predicted.ndim == 2, f"predict() gives no quantiles on {kind}")
            require(not np.isnan(predicted).any(), f"predict() gives NaN on {kind}")
            require(
                (np.diff(predicted) >= 0).all(), f"predict() gives quantiles that cross on {kind}"
            )
        return
    for kind, rounds in subject.streams(400, 3):
        player, predictions = subject.make(), []
        for t in range(len(rounds)):
            prediction = rounds.predict(player, t)
            rounds.update(player, t)
            shape = np.shape(rounds.columns[0][t])  # of a score; without scores, of an outcome
            if np.shape(prediction) != shape or not (shape or type(prediction) is float):
                raise AssertionError(f"predict() gives {describe(prediction)} on {kind}")
            predictions.append(prediction)
        predicted = np.array(predictions)
        outside = predicted[~((predicted >= 0) & (predicted <= 1))]
        require(not len(outside), f"predict() gives {outside[:1]} on {kind}")
        if predicted.ndim == 2:
            sums = predicted.sum(axis=1)
            wrong = sums[np.abs(sums - 1) > 1e-9]
            require(not len(wrong), f"predict() gives a row that sums to {wrong[:1]} on {kind}")


def check_run_equals_steps(subject: Subject) -> None:
    """`run`, in one piece or several, is bit for bit what single rounds give."""
    for number, (size, ways) in enumerate(CUTS):
        for turn, (kind, rounds) in enumerate(subject.streams(size, number)):
            stepping = subject.make(seed=number)
            expected = rounds.play(stepping)
            state = subject.learned_state(stepping)
            # Kinds of streams take turns with the ways: each way is tried on some of them.
            for cuts in ways if len(ways) < 5 else ways[turn % 4 :: 4]:
                pieces = subject.make(seed=number)
                predictions = np.concatenate([rounds.run(pieces, *cut) for cut in pairwise(cuts)])
                where = f"on {kind}, cut at {cuts}"
                require_same([predictions, expected], f"run() differs {where}")
                same = subject.learned_state(pieces) == state
                require(same, f"run() ends in another state {where}")


def check_seeding(subject: Subject) -> None:
    """The draws depend on the seed and the rounds alone, whatever else draws meanwhile."""
    rounds = subject.stream(400, 9, "switching")
    expected = rounds.run(subject.make(seed=3))
    other, predictions = subject.make(seed=3), []
    for t in range(len(rounds)):
        np.random.default_rng().random()
        rounds.predict(subject.make(seed=4), t)
        predictions.append(rounds.predict(other, t))
        rounds.update(other, t)
    require_same([predictions, expected], "the same seed gives other predictions")
    if "seed" in subject.settings:
        require(len(rounds.run(subject.make(seed=2**64 - 1))) == 400, "the largest seed fails")
        for bad in NOT_SEEDS:
            with refusal(f"seed={bad!r}"):
                subject.make(seed=bad)


def check_saving(subject: Subject) -> None:
    """What is saved continues exactly, with pending rounds; a copy continues independently."""
    if not subject.can_be_saved:
        return
    for turn, (kind, rounds) in enumerate(subject.streams(600, 5)):
        for cut in SAVED_AFTER[turn % 3 :: 3]:  # kinds of streams take turns
            for is_open in (False, True):
                saved = subject.make()
                waiting = rounds.play_first(saved, cut)
                if is_open:
                    rounds.predict(saved, 0)
                blob = saved.to_bytes()
                require(isinstance(blob, bytes), "to_bytes() does not return bytes")
                restored = type(saved).from_bytes(blob)
                both = [saved, restored]
                when = f"after {cut} rounds of {kind}"
                require(type(restored) is type(saved), f"another class {when}")
                require(repr(restored) == repr(saved), f"other arguments {when}")
                states = [subject.state_of(each) for each in both]
                require(states[0] == states[1], f"another state {when}")
                for each in both:
                    if is_open:
                        rounds.update(each, 0)
                    for t in waiting:
                        rounds.update(each, t, id=t)
                rest = [rounds.run(each, cut, min(cut + 150, 600)) for each in both]
                require_same(rest, f"other predictions {when}")
                states = [subject.state_of(each) for each in both]
                require(states[0] == states[1], f"another end {when}")
    player, rounds = subject.make(), subject.stream(100, 6)
    rounds.play_first(player, 100)
    for how, twin in (
        ("copy", copy.copy(player)), ("deepcopy", copy.deepcopy(player)),
        ("pickle", pickle.loads(pickle.dumps(player))),
    ):  # fmt: skip
        same = subject.state_of(twin) == subject.state_of(player)
        require(same and repr(twin) == repr(player), f"{how}: the twin is not the same")
        rounds.predict(twin, 0)
        rounds.update(twin, 0)
        require(player.rounds == 100, f"{how}: the twin shares state")
        require(twin.rounds == 101, f"{how}: the twin does not play")


def check_damaged_bytes(subject: Subject) -> None:
    """Truncated, altered, lengthened or foreign bytes are refused."""
    if not subject.can_be_saved:
        return
    player = subject.make()
    subject.stream(50, 7).play_first(player, 50)
    cls, blob = type(player), player.to_bytes()
    for at in range(0, len(blob), 1 + len(blob) // PLACES):
        with refusal(f"{at} of {len(blob)} bytes"):
            cls.from_bytes(blob[:at])
        altered = bytearray(blob)
        altered[at] ^= 1 << (at % 8)
        with refusal(f"byte {at} altered"):
            cls.from_bytes(bytes(altered))
    for what, foreign in (
        ("a longer blob", blob + b"\0"), ("a pickle", pickle.dumps(1)), ("a string", "calibrnt")
    ):  # fmt: skip
        with refusal(what):
            cls.from_bytes(foreign)


def check_bounded_memory(subject: Subject) -> None:
    """What is kept does not grow with the rounds: 16 times as many, at most 4 times as much."""
    if not subject.can_be_saved:
        return
    for kind in (kind for kind in subject.inputs.kinds if kind in LASTING):
        running, naming = subject.make(), subject.make(capacity=10)
        sizes: dict[str, list[int]] = {"run()": [], "ids": []}
        for rounds, by_id in ((5_000, 200), (75_000, 3_000)):
            stream = subject.stream(rounds, 10, kind)
            stream.run(running)
            sizes["run()"].append(len(running.to_bytes()))
            if "capacity" in subject.settings:
                stream.play_late(naming, naming.rounds, naming.rounds + by_id)
                naming.expire(older_than=0)
                sizes["ids"].append(len(naming.to_bytes()))
        for how, (early, late) in ((how, pair) for how, pair in sizes.items() if pair):
            message = f"saved bytes grow from {early} to {late} with {how} on {kind}"
            require(late <= 4 * early, message)


def check_bad_outcomes(subject: Subject) -> None:
    """An invalid outcome raises ValueError, and nothing changes."""
    ids: list[dict[str, Any]] = [{}, {"id": "waits"}] if subject.has_ids else [{}]
    bad = subject.inputs.bad_outcomes
    subject.require_refused(("update", (each,), id_) for id_ in ids for each in bad)


def check_bad_batches(subject: Subject) -> None:
    """A batch with one invalid value, or of another shape or length, is refused whole."""
    rounds = subject.stream(2, 15)
    more = subject.inputs.lists(0, 2)
    columns = [column.tolist() for column in rounds.columns]
    tables = (subject.inputs.bad_scores, subject.inputs.bad_outcomes)[-len(columns) :]
    calls: list[Call] = []
    if subject.has_ids:  # where a missing outcome is one that is not known
        tables = (*tables[:-1], tuple(each for each in tables[-1] if not is_missing(each)))
    for at, (column, table) in enumerate(zip(columns, tables, strict=True)):
        bad = [*([column[0], each] for each in table), column[0], [column]]
        bad += subject.inputs.not_series
        if len(columns) > 1:
            bad.append(column[:1])
        calls += [("run", (*columns[:at], each, *columns[at + 1 :]), more) for each in bad]
    for name, values in more.items():
        calls.append(("run", tuple(columns), {**more, name: values[:1]}))
    subject.require_refused(calls)


def is_missing(outcome: Any) -> bool:
    """Return whether an outcome says that it is not known: None or NaN."""
    return outcome is None or (isinstance(outcome, float) and math.isnan(outcome))


def check_input_as_people_have_it(subject: Subject) -> None:
    """Lists, strided and read-only arrays, numbers of any type mean the same; none mean nothing."""
    rounds = subject.stream(100, 15)
    expected = rounds.run(subject.make())
    frozen = [column.copy() for column in rounds.columns]
    for column in frozen:
        column.flags.writeable = False
    forms: list[tuple[str, list[Any]]] = [
        ("lists", [column.tolist() for column in frozen]),
        ("read-only arrays", frozen),
        ("strided arrays", [np.repeat(column, 2, axis=0)[::2] for column in frozen]),
    ]
    has_labels = rounds.outcomes.dtype.kind != "f"
    for dtype in () if has_labels else (bool, "i1", "u1", "i8", "f2", "f4", ">f8"):
        outcomes = rounds.outcomes.astype(dtype)
        forms.append((f"outcomes of dtype {outcomes.dtype}", [*frozen[:-1], outcomes]))
    for what, columns in forms:
        lists = subject.inputs.lists(0, 100)
        predictions = subject.calls.run(subject.make(), *columns, **lists)
        require_same([predictions, expected], f"{what} give other predictions")
    for scalar in (int,) if has_labels else (float, int, bool, np.float32):
        outcomes = np.array([scalar(each) for each in rounds.outcomes], dtype=object)
        played = Rounds((*frozen[:-1], outcomes), subject.inputs).play(subject.make())
        what = f"outcomes of type {scalar.__name__}"
        require_same([played, expected], f"{what} give other predictions")
    empty = subject.make()
    require(len(rounds.run(empty, 0, 0)) == 0, "an empty batch does not give an empty array")
    require(empty.rounds == 0, "an empty batch counts rounds")


SHARED = (
    check_bounds,
    check_run_equals_steps,
    check_seeding,
    check_saving,
    check_bounded_memory,
    check_damaged_bytes,
    check_bad_outcomes,
    check_bad_batches,
    check_input_as_people_have_it,
)
