"""The contract of a round, rule by rule, for every class that it concerns."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from calibrant import Fleet, MulticlassRecalibrator, Recalibrator
from calibrant.monitor import SideBySide
from naive.rules import shard_of
from rounds import inside
from rounds.players import (
    EVENT,
    SILENT,
    Classes,
    Events,
    Keys,
    Scores,
    Shards3,
)

pytestmark = pytest.mark.filterwarnings("ignore:.* predictions are pending at the same time")

START = datetime(2026, 1, 1)
DEADLINES = [Scores, Classes, Keys]  # these have silence and hold
EVERY = [*DEADLINES, Shards3, Events]
ALONE = [Scores, Classes, Events]  # `update` with one id raises for refusals
UNNAMED = [Scores, Classes]  # a round without an id waits


def play(*players):
    """Run a test with these players."""
    return pytest.mark.parametrize("player", players, ids=lambda each: each.__name__)


def unchanged(player, call, *given, match=".", **more):
    """Check that a call is refused, and that it is as if it had not been made."""
    before = player.to_bytes()
    with pytest.raises(ValueError, match=match):
        call(*given, **more)
    assert player.to_bytes() == before


def check_same(player, book):
    """Check that all was learned that a plain book learned, bit for bit."""
    books = getattr(book, "books", [book])
    for states, each in zip(inside.states_of(player.learner), books, strict=True):
        inside.check_same_states(states, each.rule.states())


# -- 1: identity --------------------------------------------------------------------------------


@play(*EVERY)
def test_a_number_and_its_text_are_two_ids(player):
    """Rule 1."""
    player = player()
    player.predict(np.int64(1))
    player.predict("1")
    assert player.pending == 2
    player.reload()
    player.update(EVENT, "1")
    assert player.update_many([SILENT, SILENT], ids=[1, "1"]) == ["applied", "conflict"]


@play(*EVERY)
def test_what_is_no_id(player):
    """Rule 1: nor an integer that could not be saved; Python writes no 4,300 digits as text."""
    player = player()
    for id_ in (True, 1.0, b"a", ("a",), float("nan"), object()):
        for call, given in ((player.predict, ()), (player.update, (EVENT,))):
            unchanged(player, call, *given, id_, match="id must be a string or an integer")
    unchanged(player, player.predict, 10**4300, match="id must be an integer of at most 1024 bits")
    player.predict(1 - 2**1024)
    player.reload()
    assert player.update(EVENT, 1 - 2**1024) == "applied"


@play(*UNNAMED)
def test_one_round_waits_without_an_id(player):
    """Rule 1: a second one takes its place, and nothing counts as expired."""
    player = player()
    player.predict()
    player.predict("a")
    player.predict()
    assert (player.pending, player.expired) == (2, 0)
    player.update(EVENT)
    assert (player.pending, player.learned) == (1, 1)
    unchanged(player, player.update, EVENT, match="none is pending")


def test_shards_have_books_of_their_own():
    """Rule 1: the same id in two shards stands for two rounds, and each has its own capacity."""
    fleet = Shards3(capacity=1)
    keys = {shard_of(key, 3): key for key in "abcdefghij"}
    fleet.predict_many(["x", "x", "y"], [(keys[shard], 0.3) for shard in range(3)])
    assert (fleet.pending, fleet.expired) == (3, 0)
    assert fleet.update_many([EVENT, EVENT], ids=["x", "y"]) == ["applied", "applied"]
    assert fleet.pending == 1


# -- 2: number and batch ------------------------------------------------------------------------


@play(Scores, Classes, Keys, Shards3)
@pytest.mark.parametrize("policy", [{}, {"silence": SILENT, "after": 9}, {"hold": 9}], ids=str)
@pytest.mark.parametrize("size", [40, 100])  # many are learned as one
def test_the_order_of_rows_that_came_together_says_nothing(player, policy, size):
    """Rule 2: rounds of a batch are learned as their numbers say."""
    outcomes, blobs = [each % 3 % 2 for each in range(size)], set()
    for order in (range(size), range(size)[::-1], np.random.default_rng(0).permutation(size)):
        one = player(**policy)
        one.predict_many(list(range(size)), at=0)
        one.update_many([outcomes[each] for each in order], ids=[int(each) for each in order])
        if policy:
            one.advance(9)
        assert one.learned == size
        blobs.add(one.to_bytes())
    assert len(blobs) == 1


@play(*EVERY)
def test_the_number_of_a_round_counts_all_that_were_begun(player):
    """Rule 2: with and without ids."""
    player = player()
    player.predict("old")
    for number in range(5):
        player.predict(number)
        player.update(EVENT, number)
    assert player.expire(older_than=6) == []
    assert player.expire(older_than=5) == ["old"]


# -- 3: the clock -------------------------------------------------------------------------------


@play(*DEADLINES)
def test_time_does_not_run_backwards(player):
    """Rule 3: an earlier time counts as now."""
    player = player(silence=SILENT, after=10)
    player.predict("a", at=100)
    player.predict("b", at=50)
    assert player.advance(109) == 0
    assert player.advance(110) == 2


@play(*DEADLINES)
def test_all_predictions_have_times_or_none(player):
    """Rule 3: the first one decides, and it is saved."""
    for first, second in (({"at": 5}, {}), ({}, {"at": 5})):
        one = player(silence=SILENT, after=10)
        one.predict("a", **first)
        one.reload()
        unchanged(one, one.predict, "b", match="either all predictions need a time", **second)


@play(*DEADLINES)
def test_the_unit_of_a_span(player):
    """Rule 3: a span of time needs times, and a bare number no dates."""
    hours = player(silence=SILENT, after="2h")
    unchanged(hours, hours.predict, "a", match="at=")
    hours.predict("a", at=START)
    assert hours.advance(START + timedelta(hours=2)) == 1
    bare = player(hold=7)
    unchanged(bare, bare.predict, "a", at=START, match="unit")


# -- 4: due -------------------------------------------------------------------------------------


@play(*DEADLINES)
def test_a_deadline_moves_with_a_prediction_that_comes_late(player):
    """Rule 4: due - at is what a row asks for."""
    player = player(silence=SILENT, after=100)
    player.predict("a", at=100)
    player.predict("b", at=50, due=60)
    assert player.advance(109) == 0
    assert player.advance(110) == 1


@play(*DEADLINES)
def test_deadlines_in_predictions(player):
    """Rule 4: the number of the prediction, plus the span."""
    player = player(hold=3)
    player.predict_many([0, 1])
    player.update_many([EVENT, EVENT], ids=[0, 1])
    assert player.learned == 0
    player.predict(2)
    assert player.learned == 1
    player.predict(3)
    assert player.learned == 2


@play(*DEADLINES)
def test_deadlines_that_make_no_sense(player):
    """Rule 4."""
    held, silent = player(hold=5), player(silence=SILENT)
    unchanged(held, held.predict, "a", at=7, due=7, match="later")
    unchanged(silent, silent.predict, "a", at=7, match="deadline")
    silent.predict("a", at=7, due=8)


@play(*DEADLINES)
def test_rows_have_deadlines_of_their_own(player):
    """Rule 4: and where they have none, that of the policy."""
    player = player(silence=SILENT, after=50)
    player.predict_many(["a", "b", "c"], at=[0, 1, 2], due=[30, 20, 10])
    assert [player.advance(now) for now in (9, 10, 25, 30)] == [0, 1, 1, 1]
    player.predict("d", at=40)
    assert [player.advance(now) for now in (89, 90)] == [0, 1]


NOT_POLICIES = [
    ({"after": 10}, "after needs silence"),
    (
        {"silence": 7, "after": 10},
        "silence must be (0 or 1, the outcome that is not reported|one of)",
    ),
    ({"silence": True, "after": 10}, "silence must be"),
    ({"silence": SILENT, "after": -1}, "after must be a positive number"),
    ({"silence": SILENT, "after": "soon"}, "after must be a positive number, a timedelta or text"),
    ({"hold": 0}, "hold must be a positive number"),
    ({"hold": "soon"}, "hold must be a positive number"),
    ({"silence": SILENT, "after": 10, "hold": 10}, "silence and hold cannot be combined"),
]


@play(*DEADLINES)
@pytest.mark.parametrize(("policy", "match"), NOT_POLICIES, ids=str)
def test_policies_that_make_no_sense(player, policy, match):
    """Rule 4."""
    with pytest.raises(ValueError, match=match):
        player(**policy)


NOT_STEPS = [
    ({"silence": SILENT, "after": 10}, {}, "needs? (an id|ids)"),
    ({"silence": SILENT}, {"id_": 1}, "needs a deadline"),
    ({"silence": SILENT}, {"id_": 1, "due": 5}, "needs the time of the prediction"),
    ({"silence": SILENT, "after": 1}, {"id_": 1, "at": 1e17}, "equals the time of its prediction"),
    ({"silence": SILENT, "after": 10}, {"id_": "taken"}, "predicted already"),
    ({}, {"id_": 1, "at": 1, "due": 5}, "due needs silence or hold"),
    ({}, {"id_": 1, "due": 5}, "due needs silence or hold"),
]


@play(*DEADLINES)
@pytest.mark.parametrize(("policy", "step", "match"), NOT_STEPS, ids=str)
def test_predictions_that_make_no_sense(player, policy, step, match):
    """Rule 4."""
    player = player(**policy)
    if step.get("id_") == "taken":
        player.predict("taken")
    unchanged(player, player.predict, **step, match=match)


@play(*DEADLINES)
def test_there_may_be_nothing_to_advance_to(player):
    """Rule 5: without deadlines, and where predictions are counted."""
    plain, counted = player(), player(silence=SILENT, after=3)
    unchanged(plain, plain.advance, 3, match="no deadlines|without silence or hold")
    counted.predict("a")
    unchanged(counted, counted.advance, 4, match="advance by themselves")


# -- 5: what is over ----------------------------------------------------------------------------


@play(*DEADLINES)
def test_an_outcome_at_its_deadline_is_in_time(player):
    """Rule 5: what is due at a time comes after the outcomes of that time."""
    player = player(silence=SILENT, after=10)
    player.predict("a", at=0)
    assert player.update_many([EVENT], ids=["a"], at=10) == ["applied"]
    assert player.learned == 0
    assert player.advance(10) == 1
    assert player.update_many([EVENT], ids=["a"]) == ["repeated"]


@play(*DEADLINES)
def test_an_outcome_after_its_deadline_is_late(player):
    """Rule 5."""
    player = player(silence=SILENT, after=10)
    player.predict("a", at=0)
    assert player.update_many([EVENT], ids=["a"], at=10.5) == ["conflict"]
    assert player.learned == 1


@play(*DEADLINES)
def test_a_prediction_at_a_deadline_does_without_it(player):
    """Rule 5: it comes after the predictions of that time, too."""
    player = player(silence=SILENT, after=10)
    player.predict("a", at=0)
    player.predict("b", at=10)
    assert player.learned == 0
    player.predict("c", at=11)
    assert player.learned == 1


@play(*DEADLINES)
def test_a_count_settles_what_it_reaches(player):
    """Rule 5: with the second prediction, the first is two old."""
    player = player(silence=SILENT, after=2)
    player.predict("a")
    assert player.learned == 0
    player.predict("b")
    assert player.learned == 1


# -- 6: order inside a call ---------------------------------------------------------------------


@play(*DEADLINES)
def test_time_passes_before_a_prediction(player):
    """Rule 6: what was due before it is learned first, and moves it."""
    policy = {"silence": SILENT, "after": 10}
    player, book = player(**policy), player().book(**policy)
    for row in range(30):
        assert [player.predict(row, at=7 * row)] == book.predict([player.row], [row], [7 * row])
    check_same(player, book)


@play(*DEADLINES)
def test_a_batch_is_predicted_at_its_first_time(player):
    """Rule 6: its rows keep their own times and deadlines."""
    player = player(silence=SILENT, after=10)
    player.predict("a", at=0)
    player.predict_many(["b", "c"], at=[5, 20])
    assert player.learned == 0
    assert player.advance(15) == 2
    assert player.advance(30) == 1


# -- 7: order of learning -----------------------------------------------------------------------


@play(*DEADLINES)
def test_deadlines_are_learned_in_their_order(player):
    """Rule 7: by deadline, then by batch, then as drawn; one step is learned together."""
    policy = {"hold": 50}
    player, book = player(**policy), player().book(**policy)
    ids = list(range(40))  # too few for a batch that is learned as one
    at, due = [0] * 40, [1 + 7 * each % 40 for each in ids]
    outcomes = [each % 3 % 2 for each in ids]
    rows = [player.row] * 40
    player.predict_many(ids, at=at, due=due)
    book.predict(rows, ids, at, due)
    player.update_many(outcomes, ids=ids, at=0)
    book.observe(list(zip(ids, outcomes, strict=True)), 0)
    assert player.advance(100) == book.advance(100) == 40
    check_same(player, book)


@play(*DEADLINES)
def test_ids_learned_at_deadlines_are_forgotten_in_that_order(player):
    """Rule 7: which decides which of them are remembered."""
    player = player(hold=50, capacity=3)
    player.predict_many(["a", "b", "c"], at=0, due=[30, 20, 10])
    player.update_many([EVENT] * 3, ids=["a", "b", "c"], at=0)
    player.advance(30)
    player.predict("d", at=40, due=41)
    player.update_many([EVENT], ids=["d"])
    player.advance(41)
    assert player.update_many([EVENT] * 3, ids=["a", "b", "c"]) == [
        "repeated",
        "repeated",
        "unknown",
    ]


@play(*EVERY)
def test_ids_learned_on_arrival_are_forgotten_as_they_were_predicted(player):
    """Rule 7: not in the order of the rows."""
    player = player(capacity=3)
    player.predict_many(["a", "b", "c"])
    player.update_many([EVENT] * 3, ids=["c", "b", "a"])
    player.predict("d")
    player.update(EVENT, "d")
    assert player.update_many([EVENT] * 3, ids=["a", "b", "c"]) == [
        "unknown",
        "repeated",
        "repeated",
    ]


# -- 8: a step is a unit ------------------------------------------------------------------------


@play(Scores, Keys)
@pytest.mark.parametrize("steps", [[40], [20, 40], [9, 10, 11, 39, 40]])
def test_a_step_is_learned_as_one(player, steps):
    """Rule 8: so many steps of time, so many of learning."""
    policy = {"silence": SILENT, "after": 50}
    player, book = player(**policy), player().book(**policy)
    ids, at, due = list(range(30)), [0] * 30, [1 + each for each in range(30)]
    player.predict_many(ids, at=at, due=due)
    book.predict([player.row] * 30, ids, at, due)
    player.update_many([EVENT] * 10, ids=ids[::3], at=0)
    book.observe([(id_, EVENT) for id_ in ids[::3]], 0)
    for now in steps:
        assert player.advance(now) == book.advance(now)
    check_same(player, book)


# -- 9: silence ---------------------------------------------------------------------------------


@play(*DEADLINES)
def test_no_news_until_the_deadline_means_the_silent_outcome(player):
    """Rule 9."""
    player = player(silence=SILENT, after=10)
    player.predict_many(["a", "b"], at=0)
    assert player.advance(10) == 2
    assert player.update_many([SILENT, EVENT], ids=["a", "b"]) == ["repeated", "conflict"]


@play(*DEADLINES)
def test_the_silent_outcome_announced_early_is_only_fixed(player):
    """Rule 9: it is learned at the deadline, and teaches what silence would have."""
    predicted, heard = player(silence=SILENT, after=5), player(silence=SILENT, after=5)
    for row in range(60):
        assert predicted.predict(row) == heard.predict(row)
        if row % 2:
            assert heard.update_many([SILENT], ids=[row]) == ["applied"]
            assert heard.update_many([EVENT], ids=[row]) == ["conflict"]
    assert inside_bytes(predicted) == inside_bytes(heard)


def inside_bytes(player):
    states = [each for states in inside.states_of(player.learner) for each in states]
    return [{name: np.asarray(part).tobytes() for name, part in each.items()} for each in states]


@play(Scores, Classes)
def test_the_other_outcome_moves_predictions_at_once(player):
    """Rule 9: through the model of silence; it is learned at the deadline."""
    player = player(silence=SILENT, after=20)
    for row in range(200):
        player.predict(row)
        if row % 2:
            player.update(EVENT, row)
    before, learned = player.expected(first(player.row)), player.learned
    for row in range(182, 200, 2):
        player.update(EVENT, row)
    player.predict("later")
    assert player.learned == learned + 1  # what was due with it
    assert np.any(player.expected(first(player.row)) != before)


def first(row):
    return row[0] if isinstance(row, tuple) else row


@play(Scores, Keys)
def test_with_silence_an_outcome_is_0_or_1(player):
    """Rule 9: what would half an event have been by its deadline?"""
    player = player(silence=SILENT, after=10)
    player.predict_many(["a", "b"], at=0)
    unchanged(player, player.update_many, [1, 0.5], ["a", "b"])
    unchanged(player, player.update, 0.5, "a", at=3)
    assert player.update_many([1, 0], ids=["a", "b"]) == ["applied", "applied"]


# -- 10: hold -----------------------------------------------------------------------------------


@play(*DEADLINES)
def test_held_outcomes_are_learned_at_one_age(player):
    """Rule 10: or when they come, if that is later."""
    player = player(hold=10)
    player.predict_many(["a", "b"], at=0)
    player.update_many([EVENT], ids=["a"], at=3)
    assert player.learned == 0
    assert player.advance(10) == 1
    assert player.pending == 1  # it goes on waiting for its id
    assert player.update_many([EVENT], ids=["b"], at=50) == ["applied"]
    assert (player.learned, player.pending) == (2, 0)


@play(Scores, Keys)
def test_held_outcomes_may_be_fractions(player):
    """Rule 10."""
    player = player(hold=10)
    player.predict("a", at=0)
    assert player.update_many([0.25], ids=["a"], at=3) == ["applied"]
    assert player.update_many([0.25, 0.5], ids=["a", "a"], at=3) == ["repeated", "conflict"]
    assert player.advance(10) == 1


# -- 11: too late -------------------------------------------------------------------------------


@play(*DEADLINES)
def test_nothing_is_unlearned(player):
    """Rule 11."""
    player = player(silence=SILENT, after=10)
    player.predict("a", at=0)
    player.advance(10)
    states = inside_bytes(player)
    answers = player.update_many([SILENT, EVENT, SILENT], ids=["a", "a", "a"], at=30)
    assert answers == ["repeated", "conflict", "repeated"]
    assert inside_bytes(player) == states


# -- 12: repeats and conflicts ------------------------------------------------------------------


@play(*EVERY)
def test_rows_are_compared_with_what_is_known(player):
    """Rule 12: row by row."""
    player = player()
    player.predict("a")
    player.update(EVENT, "a")
    assert player.update_many([EVENT, SILENT, EVENT], ids=["a"] * 3) == [
        "repeated", "conflict", "repeated",
    ]  # fmt: skip


@play(*DEADLINES)
def test_rows_are_compared_with_what_was_noted(player):
    """Rule 12: an outcome that waits for its deadline is known."""
    player = player(hold=10)
    player.predict("a", at=0)
    player.update_many([EVENT], ids=["a"], at=1)
    assert player.update_many([SILENT, EVENT], ids=["a", "a"], at=1) == ["conflict", "repeated"]


@play(*EVERY)
def test_rows_that_disagree_are_all_in_conflict(player):
    """Rule 12: where nothing is known, and the id goes on waiting; rows that agree count once."""
    player = player()
    player.predict("a")
    assert player.update_many([EVENT, SILENT, EVENT], ids=["a"] * 3) == ["conflict"] * 3
    assert (player.pending, player.learned) == (1, 0)
    assert player.update_many([EVENT, EVENT], ids=["a"] * 2) == ["applied", "repeated"]


# -- 13: unknown, expired -----------------------------------------------------------------------


@play(*EVERY)
def test_the_last_finished_ids_are_remembered(player):
    """Rule 13: an id is used once while it is; so many as may wait."""
    player = player(capacity=2)
    for id_ in "abc":
        player.predict(id_)
        player.update(EVENT, id_)
    assert player.update_many([EVENT] * 3, ids=list("abc")) == ["unknown", "repeated", "repeated"]
    unchanged(player, player.predict, "b", match="predicted already")
    player.predict("a")


@play(*EVERY)
def test_the_last_expired_ids_are_remembered(player):
    """Rule 13: they may be used again."""
    player = player(capacity=2)
    player.predict_many(list("abcde"))
    assert player.update_many([EVENT] * 3, ids=list("abc")) == ["unknown", "expired", "expired"]
    player.predict("c")
    assert player.update_many([EVENT] * 2, ids=["b", "c"]) == ["expired", "applied"]


@play(Scores, Classes)
def test_time_passes_before_an_id_is_looked_up(player):
    """Rules 6 and 13: what is due by then takes the place of an older finished id."""
    player = player(silence=SILENT, after=5, capacity=2)
    player.predict("old", at=0)
    player.advance(5)
    player.predict_many(["a", "b"], at=6)
    unchanged(player, player.update, SILENT, "old", at=12, match="is unknown")
    assert player.update(SILENT, "old", at=11) == "repeated"
    assert player.update_many([SILENT], ids=["old"], at=12) == ["unknown"]


@play(*DEADLINES)
def test_an_expired_id_that_is_used_again_has_a_deadline_of_its_own(player):
    """Rule 13: that of the round before, the first of all, passes it by."""
    player = player(silence=SILENT, after=3)
    player.predict("a", at=0)
    assert player.expire(before=1) == ["a"]
    player.predict_many(["a", "b"], at=10)
    assert (player.pending, player.learned) == (2, 0)
    assert player.update(EVENT, "a", at=11) == "applied"


@play(*EVERY)
def test_all_ids_can_be_forgotten(player):
    """Rule 13: pending predictions are dropped, and counted."""
    player = player()
    player.predict_many(["a", "b"])
    player.update(EVENT, "a")
    assert player.forget_ids() == 1
    assert (player.pending, player.expired) == (0, 1)
    assert player.update_many([EVENT] * 2, ids=["a", "b"]) == ["unknown", "unknown"]
    player.predict_many(["a", "b"])


@play(Keys, Shards3)
def test_an_outcome_of_nobody_is_unknown_before_the_first_prediction(player):
    """Rule 13."""
    assert player(silence=SILENT, after=3).update_many([EVENT], ids=["a"], at=3) == ["unknown"]


# -- 14: capacity -------------------------------------------------------------------------------


@play(*EVERY)
def test_one_more_than_may_wait_and_the_oldest_expires(player):
    """Rule 14: it teaches nothing."""
    player = player(capacity=2)
    player.predict_many(["a", "b"])
    player.predict("c")
    assert (player.pending, player.expired, player.learned) == (2, 1, 0)
    assert player.update_many([EVENT] * 3, ids=["a", "b", "c"]) == ["expired", "applied", "applied"]


@play(*DEADLINES)
def test_what_was_noted_waits_and_expires_too(player):
    """Rule 14: its outcome is dropped with it, silence as well as news."""
    player = player(silence=SILENT, after=10, capacity=2)
    player.predict_many(["a", "b"], at=0)
    player.update_many([EVENT], ids=["a"], at=1)
    player.predict_many(["c", "d"], at=2)
    assert (player.pending, player.expired) == (2, 2)
    assert player.advance(11) == 0
    assert player.advance(12) == 2


@play(*DEADLINES)
def test_time_passes_before_the_room_is_counted(player):
    """Rule 14: what is settled makes room, and nothing expires."""
    player = player(silence=SILENT, after=10, capacity=2)
    player.predict_many(["a", "b"], at=0)
    player.predict_many(["c", "d"], at=11)
    assert (player.pending, player.expired, player.learned) == (2, 0, 2)


@play(Scores, Classes)
def test_a_full_book_counts_the_room_that_time_will_make(player):
    """Rule 14: at its deadline a round is still there, after it not."""
    player = player(silence=SILENT, after=10, capacity=2, when_full="refuse")
    player.predict_many(["a", "b"], at=[0, 5])
    unchanged(player, player.predict, "c", at=10, match="capacity")
    unchanged(player, player.predict_many, ["c", "d"], at=[11, 50], match="capacity")
    player.predict("c", at=11)
    assert (player.pending, player.expired, player.learned) == (2, 0, 1)
    player.predict_many(["d", "e"], at=[30, 30])
    assert (player.pending, player.expired, player.learned) == (2, 0, 3)


@play(Scores, Classes, Events)
def test_a_full_book_may_refuse(player):
    """Rule 14."""
    player = player(capacity=2, when_full="refuse")
    player.predict_many(["a", "b"])
    unchanged(player, player.predict, "c", match="more than capacity=2 allows")
    player.update(EVENT, "a")
    player.predict("c")
    assert player.expired == 0


@play(Scores, Classes)
def test_a_held_round_without_an_outcome_makes_no_room(player):
    """Rule 14: it goes on waiting after its deadline."""
    player = player(hold=10, capacity=1, when_full="refuse")
    player.predict("a", at=0)
    unchanged(player, player.predict, "b", at=50, match="capacity")
    player.expire(before=50)
    player.predict("b", at=50)


BACKWARDS = [Scores, Classes, Keys]


@play(*BACKWARDS)
@pytest.mark.parametrize("policy", [{}, {"hold": 10}], ids=["at once", "hold"])
def test_old_rounds_are_those_that_count_as_made_before(player, policy):
    """Rule 14: a time that runs backwards counts as now, in batches as well."""
    player = player(**policy)
    player.predict_many(["a", "b"], at=[9, 3])
    assert player.expire(before=9) == []
    assert player.expire(before=10) == ["a", "b"]


@play(Scores, Classes)
def test_old_rounds_without_deadlines(player):
    """Rule 14: there is one clock, whether or not anything is due by it."""
    player = player()
    player.predict("a", at=9)
    player.predict("b", at=3)
    assert player.expire(before=9) == []


@play(*EVERY)
def test_rounds_are_old_by_count_or_by_time(player):
    """Rule 14."""
    player = player()
    for given in ({}, {"older_than": 1, "before": 2}, {"older_than": None}):
        unchanged(player, player.expire, **given, match="older_than, an integer, or before")
    for age in (-1, 1.5, "1", True):
        unchanged(player, player.expire, older_than=age, match="older_than must be an integer")


# -- 15: patience -------------------------------------------------------------------------------


@pytest.mark.parametrize("gone", [False, True])
def test_an_outcome_after_all_patience_is_expired(gone):
    """Rule 15: whether or not its round still waits."""
    pandas = pytest.importorskip("pandas")
    rows = pytest.importorskip("calibrant.integrations.spark.rows")
    fleet = Fleet.from_shards({}, {0: Fleet().shard_arrays(0)}, patience=10.0)
    fleet.predict_many(["k", "k"], [0.3, 0.3], ids=["a", "b"], at=[100.0, 105.0])
    if gone:
        fleet.expire(before=101.0)
    told = pandas.DataFrame(
        {
            "shard": 0, "holds": rows.KEY | rows.ID | rows.TIME | rows.OUTCOME, "key": "k",
            "sequence": [1, 2],
            "id": ["a", "b"], "time": [111_000_000] * 2, "score": np.nan, "outcome": [1.0, 1.0],
        }
    )  # fmt: skip
    refused = rows.play(fleet, told)
    assert refused["id"].tolist() == ["a"]
    assert refused["reason"].tolist() == [rows.REASONS["expired"]]
    assert fleet.learned == 1
    book = Keys().book(patience=10.0)
    book.predict([("k", 0.3)] * 2, ["a", "b"], [100.0, 105.0])
    if gone:
        book.expire_before(101.0)
    assert book.observe([("a", 1), ("b", 1)], 111.0) == ["expired", "applied"]


# -- 16: answers --------------------------------------------------------------------------------


@play(*EVERY)
def test_many_outcomes_are_answered_row_by_row(player):
    """Rule 16: and never raise for what became of them."""
    player = player(capacity=2)
    player.predict_many(list("abc"))
    player.update(EVENT, "b")
    answers = player.update_many(
        [EVENT] * 2 + [SILENT, EVENT, EVENT], ids=["c", "b", "b", "x", "a"]
    )
    assert answers == ["applied", "repeated", "conflict", "unknown", "expired"]


@play(*ALONE)
def test_one_outcome_is_answered(player):
    """Rule 16."""
    player = player()
    player.predict("a")
    assert player.update(EVENT, "a") == "applied"
    assert player.update(EVENT, "a") == "repeated"


@play(*ALONE)
def test_one_outcome_that_is_refused_says_why(player):
    """Rule 16."""
    from calibrant.rounds import RoundError  # noqa: PLC0415

    player = player(capacity=1)
    player.predict("a")
    player.predict("b")
    player.update(EVENT, "b")
    for outcome, id_, answer, words in (
        (SILENT, "b", "conflict", "had the outcome .*, and now gets"),
        (EVENT, "x", "unknown", "is unknown: .* more than 1 ids ago"),
        (EVENT, "a", "expired", "expired"),
    ):
        with pytest.raises(RoundError, match=words) as error:
            player.update(outcome, id_)
        assert error.value.answer == answer
        assert isinstance(error.value, ValueError)


@play(Scores, Classes, Keys, Shards3)
def test_a_time_without_deadlines_only_dates_the_round(player):
    """Rule 16: what is predicted and learned does not depend on it."""
    dated, plain = player(), player()
    for row in range(20):
        assert dated.predict(row, at=row) == plain.predict(row)
        if row % 2:
            answers = dated.update_many([EVENT], ids=[row], at=row + 0.5)
            assert answers == plain.update_many([EVENT], ids=[row])
    check_learned_alike(dated, plain)


def check_learned_alike(one, other):
    pairs = zip(inside.states_of(one.learner), inside.states_of(other.learner), strict=True)
    for mine, theirs in pairs:
        inside.check_same_states(mine, theirs)


@play(Scores, Classes, Events)
def test_an_id_in_use_cannot_be_predicted(player):
    """Rule 16."""
    player = player()
    player.predict("a")
    unchanged(player, player.predict, "a", match="is still pending")
    player.update(EVENT, "a")
    unchanged(player, player.predict, "a", match="has its outcome")


def test_in_a_log_an_id_in_use_is_answered():
    """Rule 16: "used", and the row changes nothing."""
    fleet, nan = Fleet(), float("nan")
    fleet.predict_many(["k"], [0.3], ids=["a"])
    before = fleet.to_bytes()
    _, answers = fleet.play(["new key"], [0.3], [nan], ids=["a"])
    assert answers.tolist() == ["used"]
    assert fleet.to_bytes() == before


# -- 17: several times in one call --------------------------------------------------------------


@play(*DEADLINES)
def test_outcomes_with_times_of_their_own(player):
    """Rule 17: in order of time, equal times together, whatever the order of the rows."""
    by_row, by_call = player(silence=SILENT, after=10), player(silence=SILENT, after=10)
    for each in (by_row, by_call):
        each.predict_many(list("abcd"), at=[0, 0, 4, 4])
    found = by_row.update_many([EVENT] * 4, ids=list("dbac"), at=[11, 11, 10, 10])
    assert found == ["applied", "conflict", "applied", "applied"]
    assert by_call.update_many([EVENT] * 2, ids=["a", "c"], at=10) == ["applied"] * 2
    assert by_call.update_many([EVENT] * 2, ids=["b", "d"], at=11) == ["conflict", "applied"]
    assert by_row.to_bytes() == by_call.to_bytes()


@play(*DEADLINES)
def test_rows_that_disagree_at_different_times(player):
    """Rule 17: the earlier one is known by then."""
    player = player(hold=10)
    player.predict("a", at=0)
    answers = player.update_many([SILENT, EVENT], ids=["a", "a"], at=[3, 2])
    assert answers == ["conflict", "applied"]


# -- 18: atomic ---------------------------------------------------------------------------------

ONE_BY_ONE = [Scores, Classes]


@play(*ONE_BY_ONE)
def test_an_outcome_that_is_refused_lets_no_time_pass(player):
    """Rule 18: neither unknown, nor expired, nor in conflict with what would be learned."""
    player = player(silence=SILENT, after=10, capacity=2)
    player.predict_many(["a", "b", "c"], at=0)
    unchanged(player, player.update, EVENT, "x", at=1e6, match="unknown")
    unchanged(player, player.update, EVENT, "a", at=1e6, match="expired")
    unchanged(player, player.update, EVENT, "b", at=1e6, match="now gets")
    player.update(EVENT, "b", at=3)


@play(*DEADLINES)
def test_bad_outcomes_let_no_time_pass(player):
    """Rule 18."""
    player = player(silence=SILENT, after=10)
    player.predict("a", at=0)
    unchanged(player, player.update_many, [EVENT, 7], ["a", "b"], at=1e6)
    unchanged(player, player.update_many, [EVENT, EVENT], ["a", 1.5], at=1e6)
    unchanged(player, player.update_many, [EVENT], ["a", "b"], at=1e6)


@play(*DEADLINES)
def test_bad_predictions_let_no_time_pass(player):
    """Rule 18."""
    player = player(silence=SILENT, after=10)
    player.predict("a", at=0)
    bad = {Scores: (1.5, None), Keys: ("k", 1.5)}.get(type(player), [0.5, 0.1, 0.1])
    good = player.row
    unchanged(player, player.predict_many, ["b", "c"], [good, bad], at=1e6)
    unchanged(player, player.predict_many, ["b", "a"], at=1e6, match="predicted already")
    unchanged(player, player.predict_many, ["b", "b"], at=1e6, match="at positions")
    unchanged(player, player.predict_many, ["b", "c"], at=[1e6, None])
    unchanged(player, player.predict_many, ["b", "c"], at=1e6, due=[2e6, 1e6], match="later")


def test_a_bad_group_lets_no_time_pass():
    """Rule 18."""
    player = Scores(silence=SILENT, after=10)
    player.predict("a", at=0)
    unchanged(
        player, player.learner.predict_many, [0.5, 0.5], ids=["b", "c"], by=["g", 1.5], at=1e6
    )


def test_a_first_call_that_is_refused_fixes_no_unit():
    """Rule 18: the clock has a unit from the first prediction on, and there was none."""
    player = Scores(silence=SILENT, after=10)
    unchanged(player, player.learner.predict_many, [0.5], ids=["b"], by=[1.5])
    player.predict("a", at=0)


@play(*DEADLINES, Shards3)
def test_time_that_passes_before_the_first_prediction_is_time(player):
    """Rule 18: from then on predictions say when they are made."""
    player = player(hold=12)
    player.learner.advance(1e9)
    with pytest.raises(ValueError, match="at="):
        player.predict("a")
    saved = player.learner.to_bytes()
    assert type(player.learner).from_bytes(saved).to_bytes() == saved


@play(*EVERY)
def test_a_batch_is_taken_whole_or_not_at_all(player):
    """Rule 18."""
    player = player()
    player.predict_many(["a", "b"])
    unchanged(player, player.update_many, [EVENT, 7], ["a", "b"])
    unchanged(player, player.update_many, [EVENT, EVENT], ["a", None])
    assert player.update_many([EVENT, EVENT], ids=["a", "b"]) == ["applied", "applied"]


# -- 19: draws ----------------------------------------------------------------------------------


@play(*EVERY)
def test_ids_and_what_becomes_of_them_draw_nothing(player):
    """Rule 19: a draw depends on the seed and on how many predictions came before."""
    named, crowded = player(), player(capacity=1)
    for row in range(50):
        assert named.predict(row) == crowded.predict(row)
    assert crowded.expired == 49


@play(*UNNAMED)
def test_rounds_with_and_without_ids_are_drawn_alike(player):
    """Rule 19."""
    named, unnamed = player(), player()
    for row in range(50):
        assert named.predict(row) == unnamed.predict()
        named.update(row % 2, row)
        unnamed.update(row % 2)


# -- 20: measured is what was settled -----------------------------------------------------------


@pytest.mark.parametrize("policy", [{"silence": SILENT, "after": 50}, {"hold": 50}, {}])
def test_monitors_see_what_is_learned_in_that_order(monkeypatch, policy):
    """Rule 20: silence too, and never an outcome that came too late."""
    player, book = Scores(monitor={"every": 100}, **policy), Scores().book(**policy)
    seen, watch, watch_one = [], SideBySide.watch, SideBySide.watch_one

    def recorded(both, steps):
        rows = zip(steps.numbers, steps.expected, steps.outcome, strict=True)
        seen.extend((int(number), p, y) for number, p, y in rows)
        watch(both, steps)

    def recorded_one(both, key, raw, expected, outcome, by):
        # A key of a prediction that begins is its number, and of an outcome what it leaves behind.
        seen.append((key, expected, outcome))
        watch_one(both, key, raw, expected, outcome, by)

    monkeypatch.setattr(SideBySide, "watch", recorded)
    monkeypatch.setattr(SideBySide, "watch_one", recorded_one)
    random = np.random.default_rng(1)
    for batch in range(8):
        ids = list(range(10 * batch, 10 * batch + 10))
        rows = [(float(score), None) for score in random.random(10)]
        at = [20.0 * batch] * 10
        due = [20.0 * batch + 1 + float(each) for each in random.permutation(60)[:10]]
        times = {"at": at, "due": due} if policy else {"at": at}
        player.predict_many(ids, rows, **times)
        book.predict(rows, ids, *times.values())
        told = [(id_, float(y)) for id_, y in zip(ids[::2], random.integers(0, 2, 5), strict=True)]
        player.update_many([y for _, y in told], ids=[id_ for id_, _ in told], at=20.0 * batch + 9)
        book.observe(told, 20.0 * batch + 9)
    settled = book.take_settled()
    assert player.learned == len(settled) > 30
    told = [(p, y) for _, p, y in seen if not np.isnan(y)]
    assert told == [(each.expected, each.outcome) for each in settled]
    assert [number for number, _, y in seen if np.isnan(y)] == list(range(80))
    both = player.monitors
    assert (both.raw.rounds, both.raw.pending) == (80, 80 - len(settled))


# -- 21: saved ----------------------------------------------------------------------------------


@play(*DEADLINES, Shards3)
@pytest.mark.parametrize("name", ["silence", "hold"])
def test_a_saved_state_goes_on_as_if_nothing_had_happened(player, name):
    """Rule 21: clock, unit, what is pending, what was noted, what is done with."""
    policy = {"hold": 10} if name == "hold" else {"silence": SILENT, "after": 10}
    one, other = player(capacity=12, **policy), player(capacity=12, **policy)
    for row in range(40):
        for each in (one, other):
            each.predict(row, at=row)
            each.update_many([EVENT, row % 2], ids=[row - 2, row - 5], at=row)
        other.reload()
        assert one.to_bytes() == other.to_bytes()
    assert one.advance(60) == other.advance(60)
    assert one.to_bytes() == other.to_bytes()


@play(*UNNAMED)
def test_the_round_without_an_id_is_saved(player):
    """Rule 21."""
    one, other = player(), player()
    for each in (one, other):
        each.predict("a")
        each.predict()
    other.reload()
    for each in (one, other):
        each.update(EVENT)
    assert one.to_bytes() == other.to_bytes()


# -- run ----------------------------------------------------------------------------------------


def stepped(player, rows, outcomes):
    """Return what steps give where each outcome is known right after its prediction."""
    predicted = []
    for number, (row, outcome) in enumerate(zip(rows, outcomes, strict=True)):
        predicted.append(player.predict(number, row))
        if outcome is not None:
            player.update_many([outcome], ids=[number])
    return predicted


POLICIES = [{"silence": SILENT, "after": 30}, {"silence": EVENT, "after": 5}, {"hold": 12}]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("by", [None, ["a", "b", None] * 100])
def test_a_run_learns_at_deadlines(policy, by):
    """Rule 8: as steps do; an outcome that is not known is silence at its deadline."""
    random = np.random.default_rng(0)
    scores = random.random(300)
    outcomes = [None if each < 0.3 else float(each < 0.6) for each in random.random(300)]
    run, steps = Recalibrator(seed=3, **policy), Scores(**policy)
    steps.learner = Recalibrator(seed=3, **policy)
    predicted = run.run(scores, outcomes, by=by)
    rows = zip(scores.tolist(), [None] * 300 if by is None else by, strict=True)
    assert predicted.tolist() == stepped(steps, rows, outcomes)
    assert run.learned == steps.learned
    assert run.expected(0.4) == steps.expected(0.4)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@play(Classes)
def test_a_run_of_classes_learns_at_deadlines(player, policy):
    """Rule 8."""
    random = np.random.default_rng(0)
    rows = random.dirichlet([1, 1, 1], 300)
    labels = [None if each < 0.3 else int(10 * each) % 3 for each in random.random(300)]
    run, steps = player(**policy), player(**policy)
    predicted = run.learner.run(rows, labels)
    assert predicted.tolist() == stepped(steps, rows.tolist(), labels)
    assert run.learned == steps.learned
    np.testing.assert_array_equal(run.expected([0.2, 0.3, 0.5]), steps.expected([0.2, 0.3, 0.5]))


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_run_of_keys_never_ignores_deadlines(policy):
    """Rule 8: it honours them, or refuses."""
    random = np.random.default_rng(0)
    rows = [(f"key {each % 7}", float(score)) for each, score in enumerate(random.random(100))]
    outcomes = [float(each < 0.4) for each in random.random(100)]
    run, steps = Keys(**policy), Keys(**policy)
    before = run.to_bytes()
    try:
        predicted = run.learner.run(
            [key for key, _ in rows], [score for _, score in rows], outcomes
        )
    except ValueError:
        assert run.to_bytes() == before
    else:
        assert predicted.tolist() == stepped(steps, rows, outcomes)


@pytest.mark.parametrize("make", [Recalibrator, lambda: MulticlassRecalibrator(2)])
def test_a_run_without_deadlines_learns_at_once(make):
    """Rule 8: one step per row."""
    learner = make()
    rows = [0.3] * 9 if isinstance(learner, Recalibrator) else [[0.7, 0.3]] * 9
    learner.run(rows, [0, 1, None] * 3)
    assert (learner.rounds, learner.learned, learner.pending) == (9, 6, 0)


def test_what_becomes_known_later_does_not_replace_what_was_announced():
    """Rule 12: the first outcome counts, whichever way it came; the other is counted as late."""
    outcomes, times = np.array([1.0, 1.0, 0.0]), np.array([0.0, 1.0, 2.0])
    both, alone = (Recalibrator(seed=3, silence=0, after=100) for _ in range(2))
    known = np.array([50.0, 60.0, 70.0])
    for each in (both, alone):
        each._play_table(
            [0.2, 0.5, 0.7], outcomes if each is both else np.full(3, np.nan),
            at=times, known=known if each is both else None, ids=["a", "b", "c"],
        )  # fmt: skip
    for each in (both, alone):
        assert each.update(0, id="a", at=10) == "applied"
        assert each.update(1, id="b", at=10) == "applied"
        assert each.update(0, id="c", at=10) == "applied"
        each.advance(90)
    assert dict(both._book.late) == {"conflict": 1, "repeated": 2}
    assert both.expected([0.1, 0.5, 0.9]).tolist() == alone.expected([0.1, 0.5, 0.9]).tolist()
    assert both.advance(200) == alone.advance(200) == 3
    assert both.to_bytes() == alone.to_bytes()
