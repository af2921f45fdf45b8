import doctest
import importlib
import pkgutil

import pytest

from calibrant import measures

MODULES = [
    f"calibrant.measures.{module.name}" for module in pkgutil.iter_modules(measures.__path__)
]

PUBLIC = [name for name, value in vars(measures).items() if callable(value) and name[0] != "_"]


def test_the_public_names_are_found():
    assert {"cal1", "Scorecard", "Distributions"} <= set(PUBLIC)


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_show(name):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(importlib.import_module(name), optionflags=flags).failed == 0


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example(name):
    assert ">>>" in getattr(measures, name).__doc__
