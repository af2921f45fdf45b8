"""Invalid input: a ValueError that says what is allowed, and no partial change."""

import numpy as np
import pytest

from calibrant import Recalibrator

NOT_NUMBERS = ["0.5", b"1", None, 1j, [0.5], object(), np.array([0.5]), 10**400]
NOT_FINITE = [float("nan"), float("inf"), -float("inf")]


@pytest.mark.parametrize("kind", ["probability", "logit", "margin"])
@pytest.mark.parametrize("score", [*NOT_NUMBERS, *NOT_FINITE])
def test_scores(kind, score):
    recalibrator = Recalibrator(kind)
    recalibrator.run([0.5, 0.1], [1, 0])
    before = recalibrator.to_bytes()
    asked = [
        recalibrator.predict,
        recalibrator.distribution,
        lambda s: recalibrator.predict(s, id="x"),
    ]
    if not hasattr(score, "__len__") or isinstance(score, str | bytes):
        asked += [recalibrator.expected, recalibrator.smooth]  # which take many scores, too
    for ask in asked:
        with pytest.raises(ValueError, match=f"score must be .*kind='{kind}'"):
            ask(score)
    assert recalibrator.to_bytes() == before


@pytest.mark.parametrize("score", [-0.1, 1.1, 2, -1e-300])
def test_scores_outside_the_declared_kind(score):
    with pytest.raises(ValueError, match=r"score must be a number in \[0, 1\].*got"):
        Recalibrator().predict(score)
    for kind in ("logit", "margin"):
        assert 0 < Recalibrator(kind).predict(score) < 1


@pytest.mark.parametrize("kind", ["logit", "margin"])
def test_huge_scores(kind):
    scores = np.array([1e308, -1e308, 1e-308, 0.0, -0.0, 5e-324] * 50)
    predictions = Recalibrator(kind).run(scores, np.arange(300) % 2)
    assert ((predictions > 0) & (predictions < 1)).all()


@pytest.mark.parametrize("outcome", [*NOT_NUMBERS, *NOT_FINITE, -0.1, 1.1, 2])
def test_outcomes(outcome):
    recalibrator = Recalibrator()
    recalibrator.predict(0.5)
    recalibrator.predict(0.5, id=1)
    before = recalibrator.to_bytes()
    for id_ in (None, 1):
        with pytest.raises(ValueError, match=r"outcome must be .*\[0, 1\]"):
            recalibrator.update(outcome, id=id_)
    assert recalibrator.to_bytes() == before


@pytest.mark.parametrize(
    ("scores", "outcomes", "message"),
    [
        ([0.5, 1.5], [0, 1], r"scores must each be .* got 1.5 at position 1"),
        ([0.5, float("nan")], [0, 1], r"scores .* got nan at position 1"),
        ([0.5, 0.5], [0, 2], r"outcomes must be in \[0, 1\], got 2.0 at position 1"),
        ([0.5, 0.5], [0], "same length, got 2 and 1"),
        (["0.5"], [0], "scores must be numbers"),
        ([[0.5]], [0], "scores must be one-dimensional"),
        ("01", [0, 1], "scores must be a one-dimensional"),
        (0.5, 1, "scores must be a one-dimensional"),
        ([0.5], ["1"], "outcomes must be numbers"),
    ],
)
def test_batches(scores, outcomes, message):
    recalibrator = Recalibrator()
    recalibrator.predict(0.3)
    before = recalibrator.to_bytes()
    with pytest.raises(ValueError, match=message):
        recalibrator.run(scores, outcomes)
    assert recalibrator.to_bytes() == before


def test_numbers_as_people_have_them():
    scores = np.array([0, 1, 1, 0, 1])
    outcomes = [True, False, 1, 0.5, 1.0]
    expected = Recalibrator().run(scores.astype(float), np.array(outcomes, dtype=float))
    for dtype in (bool, np.int8, np.float32):
        assert Recalibrator().run(scores.astype(dtype), outcomes).tolist() == expected.tolist()
    assert Recalibrator().run([], []).tolist() == []
    recalibrator = Recalibrator()
    assert recalibrator.predict(np.float32(0)) == expected[0]
    recalibrator.update(np.True_)
    assert recalibrator.predict(np.array(1)) == expected[1]
