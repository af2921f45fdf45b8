"""Masked arrays: what is behind a mask is never taken for a number."""

import sys
from types import ModuleType

import numpy as np
import pytest

from calibrant import MulticlassRecalibrator, Recalibrator, Zoom
from calibrant.measures import Scorecard, brier, cal1
from calibrant.measures.multiclass import multiclass_brier
from calibrant.recalibrate.rivals import OnlinePlatt

HIDDEN = np.ma.masked_array([0.5, 0.25, 1.0, 0.0], mask=[False, False, True, False])
SHOWN = np.ma.masked_array([0.5, 0.25, 1.0, 0.0], mask=False)
ROWS = np.ma.masked_array(np.full((4, 2), 0.5), mask=[[False, False], [False, True]] + [[0, 0]] * 2)


@pytest.mark.parametrize(
    ("call", "position"),
    [
        (lambda: Zoom().run(HIDDEN), 2),
        (lambda: Recalibrator().run(HIDDEN, SHOWN), 2),
        (lambda: Recalibrator().run(SHOWN, HIDDEN), 2),
        (lambda: Recalibrator().run(SHOWN, HIDDEN, by=list("abab")), 2),
        (lambda: OnlinePlatt().run(SHOWN, HIDDEN), 2),
        (lambda: brier(SHOWN, HIDDEN), 2),
        (lambda: cal1(HIDDEN, SHOWN), 2),
        (lambda: Scorecard().extend(SHOWN, HIDDEN), 2),
        (lambda: MulticlassRecalibrator(2).run(ROWS, [0, 1, 0, 1]), 1),
        (lambda: MulticlassRecalibrator(2).predict(ROWS[1]), 1),
        (lambda: multiclass_brier(ROWS, [0, 1, 0, 1]), 1),
    ],
)
def test_hidden_values_are_refused(call, position):
    with pytest.raises(ValueError, match=f"1 masked, the first in position {position}"):
        call()


def test_a_mask_that_hides_nothing_is_no_matter():
    plain = np.asarray(SHOWN)
    assert Zoom().run(SHOWN).tolist() == Zoom().run(plain).tolist()
    assert brier(SHOWN, SHOWN) == brier(plain, plain)


def test_a_hidden_name_is_a_missing_one_where_one_may_be_missing():
    names = np.ma.masked_array(["a", "b", "a", "b"], mask=[False, False, False, True])
    recalibrator, card = Recalibrator(), Scorecard()
    recalibrator.run(SHOWN, SHOWN, by=names)
    assert recalibrator.groups == {"a": 2, "b": 1}
    card.extend(SHOWN, SHOWN, labels=names)
    assert {name: each.rounds for name, each in card.labels.items()} == {"a": 2, "b": 1}


def test_another_thread_may_be_importing_masked_arrays(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy.ma", ModuleType("numpy.ma"))  # as yet empty
    assert Recalibrator().run([0.5], [1]).shape == (1,)
