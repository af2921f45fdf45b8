"""Saved recalibrators with one part that no round leaves behind: refused, the checksum right."""

import numpy as np
import pytest

from calibrant import MulticlassRecalibrator, Recalibrator
from calibrant._kernels.fleet.fleet_level import KEY
from calibrant._kernels.scores.group_estimates import PREDICTED
from calibrant._kernels.scores.score_rounds import ROUND
from calibrant.saving import pack, unpack

EXPERTS = ROUND - 3


def scores():
    recalibrator = Recalibrator(capacity=3)
    recalibrator.run([0.5, 0.2], [0, 1])
    recalibrator.predict(0.5)
    for id_ in (1, 2):
        recalibrator.predict(0.5, id=id_)
    recalibrator.update(1, id=2)
    return recalibrator


def groups():
    recalibrator = Recalibrator(max_groups=3)
    recalibrator.run([0.5, 0.2] * 4, [0, 1] * 4, by=["a", 2] * 4)
    recalibrator.run([0.3, 0.4], [1, None], by=[None, "b"])
    recalibrator.predict(0.5, id="x", by="a")
    recalibrator.predict(0.5, id="y", by="b")  # which has no outcome and no stages of its own
    recalibrator.predict(0.5, by=2)
    return recalibrator


def watched():
    recalibrator = Recalibrator(monitor=True)
    recalibrator.run([0.2, 0.4], [0, 1])
    recalibrator.predict(0.3, id="a")
    return recalibrator


def classes():
    recalibrator = MulticlassRecalibrator(3)
    recalibrator.run([[0.2, 0.3, 0.5], [0.2, 0.5, 0.3]], [0, 1])
    recalibrator.predict([0.2, 0.3, 0.5], id="x")
    recalibrator.predict([0.2, 0.3, 0.5], id="y")
    recalibrator.update(2, id="x")
    recalibrator.predict([0.2, 0.5, 0.3])
    return recalibrator


def silent_class():
    recalibrator = MulticlassRecalibrator(["kept", "returned", "lost"], silence="kept", after=5)
    for name in range(3):
        recalibrator.predict([0.5, 0.3, 0.2], id=name)
    return recalibrator


#: By what was played: a part and its value, ... for a part that is missing.
DAMAGED = {
    scores: [
        {"w": np.zeros(20)}, {"w": np.full(19, 1 / 19)}, {"w": np.full(20, 1.0)},
        {"learned": 9}, {"learned": 1.5}, {"learned": -1}, {"size": -1.0}, {"size": "1"},
        {"z": np.array([0.0, 1.0])}, {"theta": np.arange(17.0)[::-1].copy()},
        {"open": np.array([0.5])}, {"open": np.full(23, 0.123)},
        {"open": np.zeros(23)},
        {"waiting_ids": [1, 1]}, {"waiting_ids": [1.5]}, {"waiting_ids": {}}, {"waiting_ids": ...},
        {"waiting_ids": []}, {"waiting_ids": [2]},
        {"waiting_counts": np.array([99])}, {"waiting_counts": np.array([3.0])},
        {"waiting_numbers": np.array([2])}, {"waiting_numbers": np.array([3.0])},
        {"waiting_batches": np.array([4])}, {"waiting_batches": np.array([-1])},
        {"waiting_held": np.array([1])}, {"waiting_held": np.array([2])},
        {"waiting_unnamed": 1}, {"waiting_unnamed": 0.0}, {"waiting_nameless": np.array([0])},
        {"waiting_times": np.array([np.inf])},
        {"waiting_dues": np.array([1.0, 2.0])}, {"waiting_outcomes": np.array([0.5])},
        {"waiting_arrived": np.array([1])}, {"waiting_smooth": np.array([-np.inf])},
        {"waiting_smooth": np.array([2.0])},
        {"coming_rows": np.array([0])}, {"coming_rows": np.array([7])},
        {"coming_times": np.array([1.0])}, {"coming_outcomes": np.array([1.0])},
        {"expired": -1}, {"expired": 9}, {"expired_ids": [1]}, {"expired_ids": "a"},
        {"clock": "now"}, {"clock": np.inf}, {"clock": True}, {"clock_timed": 2},
        {"waiting_places": np.full(23, 0.123)}, {"waiting_places": np.array([0.5])},
        {"finished_outcomes": np.array([2.0])}, {"finished_outcomes": np.array([])},
        {"finished_ids": [1]}, {"more": 1}, {"N": ...},
    ],
    groups: [
        {"groups": ["a"]}, {"groups": ["a", "a", 2]}, {"groups": ["a", 1.5, 2]}, {"groups": ...},
        {"groups": ["a", "b", "c", "d"]}, {"groups": []}, {"group_weights": np.array([0.5])},
        {"group_owners": np.array([0])}, {"group_owners": np.array([1, 0])},
        {"group_owners": np.array([0, 3])}, {"group_owners": np.array([0, 2])},
        {"group_owners": np.array([0.0, 1.0])}, {"group_owners": ...},
        {"group_keys": np.zeros(3, dtype=np.int64)}, {"group_keys": ...},
        {"group_counts": np.array([12, 13])}, {"group_counts": np.array([13, 9])},
        {"group_counts": np.array([12, 7])}, {"group_counts": np.array([-1, -1])},
        {"group_heard": np.zeros(288)}, {"group_heard": np.full(24, 1.0)}, {"group_heard": ...},
        {"group_used": np.full(24, 2.0)}, {"group_scaling": np.zeros(7)},
        {"group_scaling": np.array([0, 1, 0, 300, 400, 300, 0.02])},
        {"group_scaling": np.array([-1, 1, 0, 300, 0, 300, 0.02])},
        {"shared_parts": []}, {"shared_parts": ...}, {"shared_rounds": np.array([99])},
        {"shared_learned": np.array([4])}, {"waiting_estimates": ...},
        {"waiting_estimates": np.zeros(3, dtype=np.int64)},
        {"group_weights": np.array([0.5, 1.5])}, {"group_weights": ...},
        {"own_parts": []}, {"own_parts": ["w"]}, {"own_parts": 3}, {"own_w": np.zeros(2 * EXPERTS)},
        {"own_w": np.zeros(3)}, {"own_w_lengths": np.array([EXPERTS, -5])}, {"own_w": ...},
        {"own_w_lengths": np.array([EXPERTS])}, {"own_w_lengths": np.array([2 * EXPERTS, 0])},
        {"last_z": np.zeros(5)}, {"last_rounds": np.array([0, 0])}, {"last_parts": ...},
        {"waiting_keys": np.array([0, 3, 1])}, {"waiting_keys": np.array([-1, 2, 1])},
        {"waiting_keys": np.array([0, 1, 1])}, {"waiting_keys": np.array([2, 2, 1])},
        {"waiting_keys": np.array([0.0, 2.0, 1.0])}, {"waiting_sizes": np.array([3, 2, 2])},
        {"waiting_sizes": np.array([2, 3, 3])}, {"waiting_sizes": np.array([3])},
        {"waiting_places": np.full(8 * ROUND, 0.123)}, {"waiting_counts": np.array([3])},
        {"waiting_counts": np.array([10, 2, 9, 11, 5, 12, 2, 2])},
        {"waiting_counts": np.array([10, 2, 2, 11, 9, 12, 2, 2])},
        {"waiting_counts": np.array([13, 2, 2, 11, 5, 12, 2, 2])},
        {"waiting_ids": ["x", "y", "z", "u"]}, {"waiting_ids": []},
        {"more": 1},
    ],
    watched: [
        {"watch_gain": np.inf}, {"watch_raw_rounds": 4}, {"watch_waiting": np.array([0.5, 1.5])},
        {"watch_waiting": np.array([0.5])}, {"watch_calibrated_R": -5.0}, {"watch_more": 1},
    ],
    classes: [
        {"more": 1}, {"waiting_ids": []}, {"waiting_ids": ...}, {"labels": [0, 1]},
        {"finished_outcomes": np.array([3.0])}, {"whole_round_numbers": np.zeros(3)},
        {"whole_round_counts": np.zeros(14, dtype=np.int64)}, {"whole_mixture_w": np.ones(15)},
        {"whole_mixture_last": -1}, {"whole_mixture_biases": ...}, {"whole_mixture_learned": 9},
        {"whole_mixture_hessian": np.zeros(338)}, {"whole_safe_rounds": 1},
        {"whole_mixture_context0_rows": np.array([0, 1, 1, 0])},
    ],
    silent_class: [
        {"waiting_outcomes": np.array([0.5, np.nan, np.nan])},
        {"waiting_outcomes": np.array([3.0, np.nan, np.nan])},
        {"pending_correction": lambda part: -part}, {"pending_waiting": -1.0},
    ],
}  # fmt: skip
CASES = [(played, changes) for played, damages in DAMAGED.items() for changes in damages]


def damaged(learner, changes):
    """Return the bytes of a learner with some parts of its state changed, or without them."""
    saved = unpack(learner.to_bytes())
    state = dict(saved.state)
    for name, value in changes.items():
        state[name] = value(state[name]) if callable(value) else value
        if value is ...:
            del state[name]
    return pack(saved._replace(state=state))


@pytest.mark.parametrize("played", DAMAGED, ids=lambda each: each.__name__)
def test_what_is_not_damaged_is_taken(played):
    learner = played()
    again = type(learner).from_bytes(damaged(learner, {}))
    assert again.to_bytes() == learner.to_bytes()
    assert again.pending == learner.pending >= 1


@pytest.mark.parametrize(
    ("played", "changes"), CASES, ids=lambda value: getattr(value, "__name__", None)
)
def test_a_saved_state_that_makes_no_sense_is_refused(played, changes):
    learner = played()
    with pytest.raises(ValueError, match="saved"):
        type(learner).from_bytes(damaged(learner, changes))


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("group_keys", "offset", np.nan), ("group_keys", "offset", np.inf),
        ("group_keys", "precision", 0), ("group_keys", "precision", np.inf),
        ("group_keys", "slope", np.nan), ("group_keys", "slope", -1), ("group_keys", "made", 40),
        ("group_keys", "learned", 40), ("group_keys", "learned", 3),
        ("waiting_estimates", "number", 99), ("waiting_estimates", "number", -1),
        ("waiting_estimates", "age", 99), ("waiting_estimates", "slot", 2),
        ("waiting_estimates", "mean", 0),
        ("waiting_estimates", "mean", np.nan), ("waiting_estimates", "x", np.inf),
        ("waiting_estimates", "v", np.nan), ("waiting_estimates", "bucket", 24),
        ("waiting_estimates", "bucket", -1), ("waiting_estimates", "p", 2),
        ("waiting_estimates", "q", np.nan),
    ],
)  # fmt: skip
def test_what_is_saved_of_a_group_must_make_sense(part, field, value):
    state = unpack(groups().to_bytes()).state
    rows = state[part].view(KEY if part == "group_keys" else PREDICTED)
    of = rows["views"] if field in ("x", "v", "bucket", "p", "q") else rows
    of[field][0] = value
    with pytest.raises(ValueError, match="saved"):
        Recalibrator.from_bytes(damaged(groups(), {part: rows.view(np.int64)}))
