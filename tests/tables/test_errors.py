"""One error for all that cannot be used: each level adds what it knows."""

import pickle

import pytest

from calibrant.tables import InputError, Table


def test_what_is_known_is_said():
    assert str(InputError("is bad")) == "is bad"
    assert str(InputError("is bad", source="a.csv")) == "a.csv: is bad"
    assert str(InputError("is bad", row=7)) == "line 7: is bad"
    assert str(InputError("is bad", row=7, unit="row", column="y")) == "row 7, column 'y': is bad"


def test_what_is_known_is_not_replaced_but_a_position_is():
    error = InputError("is bad", source="a.csv", row=2, unit="position", column="y", value="x")
    assert error.at(source="b.csv", row=4, column="z") is error
    assert str(error) == "a.csv, line 4, column 'y': is bad"
    assert (error.problem, error.value) == ("is bad", "x")


def test_a_table_names_its_rows():
    for lines, where in (([2, 5], "a.csv, line 5"), (None, "a.csv, row 2")):
        table = Table("a.csv", {"y": ["1", "x"]}, lines)
        error = table.cells("y").refusal(1, "is bad")
        assert str(error) == f"{where}, column 'y': is bad"
        assert error.value == "x"
        with pytest.raises(InputError, match=f"^{where}, column 'y': got 'x', must be"):
            table.take("outcome")


def test_it_survives_the_way_between_processes():
    error = InputError("is bad", source="a.csv", row=2, column="y", value="x")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert vars(again) == vars(error)
