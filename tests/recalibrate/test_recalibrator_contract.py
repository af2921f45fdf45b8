"""The contract, over every public recalibrator."""

import inspect

import pytest

import calibrant
import calibrant.recalibrate.rivals
from calibrant import MulticlassRecalibrator
from calibrant.recalibrate.rivals import Rival
from calibrant.testing import check_recalibrator, class_probabilities
from recalibrate.table import IDS, RECALIBRATORS

pytestmark = pytest.mark.long


def test_the_table_names_every_public_recalibrator():
    public = {
        value
        for module in (calibrant, calibrant.recalibrate, calibrant.recalibrate.rivals)
        for _, value in inspect.getmembers(module, inspect.isclass)
        if hasattr(value, "expire")
    } - {Rival, calibrant.Decider}  # what acts does not predict
    assert public == {cls for cls, _, _ in RECALIBRATORS}


@pytest.mark.parametrize(("cls", "inputs", "arguments"), RECALIBRATORS, ids=IDS)
def test_contract(cls, inputs, arguments):
    check_recalibrator(cls, inputs, **arguments)


def test_classes_in_groups():
    check_recalibrator(MulticlassRecalibrator, class_probabilities(3, ["a", 7, None]), classes=3)
