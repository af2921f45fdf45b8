import doctest
import importlib
import pkgutil

import pytest

from calibrant import measures

MODULES = [
    f"calibrant.measures.{module.name}" for module in pkgutil.iter_modules(measures.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_show(name):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(importlib.import_module(name), optionflags=flags).failed == 0


@pytest.mark.parametrize("name", sorted(vars(measures).keys() - set(MODULES)))
def test_every_public_name_has_an_example(name):
    public = getattr(measures, name)
    if not name.startswith("_") and getattr(public, "__module__", "").startswith("calibrant"):
        assert ">>>" in public.__doc__
