"""Scorecards copied, pickled and saved: they continue exactly, and share nothing."""

import copy
import pickle

import numpy as np
import pytest

from calibrant.measures import Scorecard


def card(window=None, bins=20, labels=("a", 3, None)):
    random = np.random.default_rng(0)
    card = Scorecard(window=window, bins=bins)
    predicted = np.where(
        random.random(1000) < 0.2, random.integers(2, size=1000), random.random(1000)
    )
    card.extend(
        predicted, random.random(1000), labels=[labels[t % len(labels)] for t in range(1000)]
    )
    return card


WAYS = [
    copy.copy,
    copy.deepcopy,
    lambda card: pickle.loads(pickle.dumps(card)),
    lambda card: Scorecard.from_bytes(card.to_bytes()),
    lambda card: Scorecard.from_bytes(memoryview(bytearray(card.to_bytes()))),
]


def everything(card):
    labels = {name: each.summary() for name, each in card.labels.items()}
    return card.summary(), card.windows, labels


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("arguments", [{}, {"window": 70}, {"window": 500, "bins": 3}])
def test_a_copy_goes_on_exactly_and_shares_nothing(way, arguments):
    original = card(**arguments)
    before = everything(original)
    again = way(original)
    assert everything(again) == before
    assert again.to_bytes() == original.to_bytes()
    again.extend([0.3, 0.0, 0.123], [1, 1, 0], labels=["a", "new", 3])
    assert everything(original) == before
    original.extend([0.3, 0.0, 0.123], [1, 1, 0], labels=["a", "new", 3])
    assert again.to_bytes() == original.to_bytes()


def test_an_empty_one_is_saved_too():
    assert Scorecard.from_bytes(Scorecard().to_bytes()).rounds == 0


def test_labels_that_bytes_have_no_word_for():
    tupled = card(labels=((1, 2), "a"))
    assert everything(copy.copy(tupled)) == everything(tupled)
    with pytest.raises(ValueError, match=r"label that is saved must be a string or an integer"):
        tupled.to_bytes()


def test_other_bytes_are_refused():
    with pytest.raises(ValueError, match="not a saved calibrant scorecard"):
        Scorecard.from_bytes(b"")
    blob = bytearray(Scorecard().to_bytes())
    blob[60] ^= 1
    with pytest.raises(ValueError, match="the saved scorecard was altered"):
        Scorecard.from_bytes(blob)


def test_a_file_is_whole_or_refused_by_name(tmp_path):
    card = Scorecard(window=2)
    card.extend([0.25, 0.5, 0.5], [0, 1, 0])
    card.save(tmp_path / "card")
    assert [path.name for path in tmp_path.iterdir()] == ["card"]
    assert Scorecard.load(tmp_path / "card").to_bytes() == card.to_bytes()
    (tmp_path / "card").write_bytes(card.to_bytes()[:-1])
    with pytest.raises(ValueError, match="card: the saved scorecard"):
        Scorecard.load(tmp_path / "card")
    with pytest.raises(ValueError, match="nowhere: cannot be read"):
        Scorecard.load(tmp_path / "nowhere")
