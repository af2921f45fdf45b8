"""Saved states that a hostile hand changed; ``python -m benchmarks forged`` tries 100,000."""

from hashlib import blake2b

import numpy as np
import pytest

from benchmarks.forged import (
    count_verdicts,
    forecasters,
    parts_of,
    saved_states,
    sealed,
    verdict,
)
from benchmarks.forged import numbers as number_states
from calibrant import (
    Fleet,
    Monitor,
    MulticlassRecalibrator,
    NumberRecalibrator,
    Recalibrator,
    Zoom,
)
from calibrant._bytes import DIGEST
from calibrant.forecasters.rivals import FosterHart, RunningMean
from calibrant.measures import Scorecard

pytestmark = pytest.mark.long

BLOBS = 2500


def test_forged_states_are_refused_or_can_be_played():
    verdicts = count_verdicts(BLOBS, seed=1)
    assert set().union(*verdicts.values()) == {"refused", "taken"}
    assert all(counted["refused"] > 10 for counted in verdicts.values())


def labelled():
    """Return a saved recalibrator of classes with names, some of its rounds still open."""
    random, labels = np.random.default_rng(0), np.array(["x", "y", 3], dtype=object)
    recalibrator = MulticlassRecalibrator(labels.tolist(), seed=3)
    rows = random.dirichlet([1, 1, 1], 60)
    recalibrator.run(rows, random.choice(labels, 60))
    for id_ in range(4):
        recalibrator.predict(rows[id_], id=id_)
    recalibrator.update("y", id=0)
    recalibrator.predict(rows[7])
    return "classes", MulticlassRecalibrator, recalibrator.to_bytes()


def test_one_bit_with_a_checksum_that_fits_crashes_nothing():
    """Every other time a bit of the header, where text stands."""
    random, found = np.random.default_rng(2), []
    with np.errstate(all="ignore"):
        for _, cls, blob in [*saved_states(), labelled()]:
            for number in range(8):
                content = bytearray(blob[:-DIGEST])
                content[
                    random.integers(min(2500, len(content)) if number % 2 else len(content))
                ] ^= 1 << random.integers(8)
                seal = blake2b(content, digest_size=DIGEST).digest()
                found.append(verdict(cls, bytes(content) + seal))
    assert {*found} == {"refused", "taken"}
    assert found.count("taken") > 100 < found.count("refused")


def test_what_was_played_is_taken():
    for name, cls, blob in saved_states():
        again = blob if cls is Fleet else sealed(*parts_of(blob))
        assert cls.from_bytes(again).to_bytes() == blob, name


def played(cls, *args, **kwargs):
    player = cls(*args, **kwargs)
    outcomes = np.arange(400) % 3 == 0
    player.run(*([outcomes] if hasattr(player, "trace") else [np.full(400, 0.4), outcomes]))
    return player


@pytest.mark.parametrize(
    ("player", "name", "value"),
    [
        (played(RunningMean), "total", 1e30),
        (played(RunningMean), "total", 10**400),
        (played(Zoom), "S", 1e308),
        (played(Zoom), "R", 1e308),
        (played(Zoom), "purse", 1e308),
        (played(Recalibrator), "platt_A", 1e308),
        (played(Recalibrator), "beta_A", 1e308),
        (played(Recalibrator), "offset_A", 0.0),
        (played(Recalibrator), "N", -1e9),
        (played(Recalibrator), "lag", 1e30),
        (played(FosterHart, 8), "S", -1e30),
    ],
)
def test_a_number_that_no_run_can_reach_is_refused(player, name, value):
    header, arrays = parts_of(player.to_bytes())
    if name in header["numbers"]:
        header["numbers"][name] = value
    for (array, _, _), values in zip(header["arrays"], arrays, strict=True):
        if array == name:
            values[len(values) // 2] = value
    with pytest.raises(ValueError, match=f"saved {name}|saved .*{name}"):
        type(player).from_bytes(sealed(header, arrays))


@pytest.mark.parametrize("classes", [60_000, 10**8, 10**30])
def test_classes_are_counted_before_there_is_memory_for_them(classes):
    header, arrays = parts_of(MulticlassRecalibrator(3).to_bytes())
    header["parameters"]["classes"] = classes
    with pytest.raises(ValueError, match="class"):
        MulticlassRecalibrator.from_bytes(sealed(header, arrays))


def test_points_are_counted_before_there_is_memory_for_them():
    header, arrays = parts_of(FosterHart(8).to_bytes())
    header["parameters"]["gaps"] = 2**24
    with pytest.raises(ValueError, match="saved gaps=16777216 is more"):
        FosterHart.from_bytes(sealed(header, arrays))
    header, arrays = parts_of(Scorecard().to_bytes())
    header["parameters"]["bins"] = 2**24
    with pytest.raises(ValueError, match="as many as the 16777216 bins"):
        Scorecard.from_bytes(sealed(header, arrays))


def numbers(name):
    """Return the parts of a saved recalibrator of numbers, with pending rounds."""
    return parts_of(next(blob for found, _, blob in number_states() if found == name))


def changed(parts, name, at, value):
    header, arrays = parts
    if name in header["numbers"]:
        header["numbers"][name] = value
    for (array, _, _), values in zip(header["arrays"], arrays, strict=True):
        if array == name:
            values[at] = value
    return sealed(header, arrays)


@pytest.mark.parametrize(
    ("name", "at", "value", "words"),
    [
        ("whole_round_numbers", 23, -1e30, "features that a prediction can have"),  # of a scale
        ("whole_round_numbers", 5, 8.5, "features that a prediction can have"),  # of the location
        ("whole_round_numbers", 0, 1e251, "features that a prediction can have"),  # the forecast
        ("whole_regrets", 78, 1e8, "regrets must be within reach of 294 outcomes"),
        ("group_names", 0, [None, "a"], "each of the saved group_names must be a string"),
        ("whole_residuals", 2, 1e251, "within reach of what can be observed"),
        ("whole_residuals", 9 + 12, 4e6, "within reach of what can be observed"),
    ],
)
def test_numbers_that_no_round_leaves_behind_are_refused(name, at, value, words):
    with pytest.raises(ValueError, match=words):
        NumberRecalibrator.from_bytes(changed(numbers("numbers, bounds"), name, at, value))


def test_monitors_have_seen_no_outcome_of_what_waits():
    parts = numbers("numbers")
    with pytest.raises(ValueError, match="at most the saved rounds that do not wait"):
        NumberRecalibrator.from_bytes(changed(parts, "watch_1_ranges", 143, 2.0))


def test_a_prediction_without_an_id_that_waits_is_counted():
    player = Recalibrator()
    player.run(np.full(50, 0.4), np.arange(50) % 2)
    player.predict(0.3, id="a")
    player.predict(0.3)
    assert (player.rounds, player.learned, player.pending, player.expired) == (52, 50, 2, 0)
    with pytest.raises(ValueError, match="what waits, is learned or expired"):
        Recalibrator.from_bytes(changed(parts_of(player.to_bytes()), "expired", 0, 1))


def test_what_is_saved_of_a_silent_class_is_within_reach():
    _, cls, blob = next(each for each in saved_states() if each[0] == "silent class")
    parts = changed(parts_of(blob), "whole_round_heard_counts", 12, 2**43)
    with pytest.raises(ValueError, match="some of those of heard"):
        cls.from_bytes(parts)


def state_named(name):
    """Return the class and the parts of a saved state."""
    cls, blob = next((cls, blob) for found, cls, blob in saved_states() if found == name)
    return cls, parts_of(blob)


@pytest.mark.parametrize(
    ("state", "name", "at", "value", "words"),
    [
        ("silent class", "whole_mixture_count", 0, 0.0, "bases must count the labels"),
        ("silent class", "whole_mixture_pooled", 17, -4e307, "pooled must be within reach of"),
        ("hold in time", "whole_mixture_w", slice(None), [1.0] + [0.0] * 14, "w must be weights"),
        ("hold in time", "whole_mixture_known", 2, 1e-9, "known must be at least the precision"),
        ("hold in time", "whole_mixture_biases", 3, 1e-29, "biases must be known with the prec"),
        ("hold in time", "whole_mixture_context0", slice(-9, None), 1e-29, "biases of contexts"),
        ("hold in time", "whole_mixture_biases", 0, 9e3, "biases must be within reach"),
        ("hold in time", "whole_mixture_hessian", 0, 0.1, "hessian must be positive definite"),
        ("hold in time", "whole_mixture_inverse", 0, 1e9, "inverse must be of a matrix"),
        ("hold in time", "whole_mixture_matrix", 3, -9e5, "matrix must be within reach"),
        ("hold in time", "whole_mixture_matrix", slice(-16, None), -1e-3, "gain must be covar"),
        ("hold in time", "whole_round_vectors", 3 * 4, 9e3, "features within reach"),
        ("hold in time", "whole_round_vectors", 3 * 11, 0.5, "features of its scores"),
        ("hold in time", "whole_round_vectors", 3 * 14, 0.9, "experts that predicted probabil"),
        ("hold in time", "whole_round_vectors", 3, 0.9, "probabilities that were predicted"),
        ("silent class", "pending_ages", 400, 1e308, "ages must count the events"),
        ("silent class", "pending_starts", -1, 1e9, "starts must increase, up to the clock"),
        ("silent class", "pending_correction", 4, 1e300, "correction must be what so many"),
        ("silent class", "pending_cells", 2, 1e300, "cells"),
        ("MulticlassRecalibrator-3-True", "watch_raw_open_sums", 4, 9.0, "its stakes may lose"),
        ("Monitor, episode", "open_sums", 5, 1.7e308, "saved W of an open episode"),
    ],
)
def test_what_no_label_leaves_behind_is_refused(state, name, at, value, words):
    cls, parts = state_named(state)
    with pytest.raises(ValueError, match=words):
        cls.from_bytes(changed(parts, name, at, value))


@pytest.mark.parametrize(
    ("at", "value", "words"),
    [(3, -9e5, "matrix must be within"), (80, 9.0, "gain must be prec"), (159, 1e30, "gain must")],
)
def test_slopes_of_many_classes_are_within_reach(at, value, words):
    player = MulticlassRecalibrator(40)
    player.run(np.full((3, 40), 1 / 40), [0, 1, 39])
    with pytest.raises(ValueError, match=words):
        MulticlassRecalibrator.from_bytes(
            changed(parts_of(player.to_bytes()), "whole_mixture_matrix", at, value)
        )


def test_an_episode_with_much_that_waits_ends_later_and_can_be_saved():
    """With D pending rounds, it ends at 100 D, which may be above what ends it without any."""
    random, count = np.random.default_rng(0), 12_000
    monitor = Monitor(patience=count)
    predicted = 0.4 + 0.2 * random.random(2000)
    monitor.run(predicted, random.random(2000) < 0.4 * predicted)
    for row in range(count):
        monitor.expect(row, 0.5)
    header, arrays = parts_of(monitor.to_bytes())
    names = [name for name, _, _ in header["arrays"]]
    sums = arrays[names.index("open_sums")]
    assert monitor.state == "miscalibrated"
    assert sums[3] == count
    sums[1] = 1.1e6
    again = Monitor.from_bytes(sealed(header, arrays))
    again.settle(0, 0)
    assert again.state == "miscalibrated"
    assert Monitor.from_bytes(again.to_bytes()).to_bytes() == again.to_bytes()
    sums[1] = 2.5e6
    with pytest.raises(ValueError, match="saved L of an open episode"):
        Monitor.from_bytes(sealed(header, arrays))


def test_a_learner_of_swap_just_above_0_divides_by_no_such_number():
    ((_, cls, blob),) = (each for each in forecasters() if each[0] == "Swap-squared")
    header, arrays = parts_of(blob)
    for (name, _, _), values in zip(header["arrays"], arrays, strict=True):
        if name == "A":
            values[5] = 1e-320
    assert verdict(cls, sealed(header, arrays)) == "taken"
