"""The public names, listed: a change of the list is a change of the interface."""

import importlib
import pkgutil
from pathlib import Path

import pytest

import calibrant

ROOT = Path(__file__).parents[1]
LISTED = ROOT / "tests" / "public_names.txt"


@pytest.fixture
def reference(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    return importlib.import_module("public_names")


def test_the_list_of_public_names_is_true(reference):
    """If this fails on purpose, change the list, and say in CHANGELOG.md what changed."""
    found = [
        f"{module}.{name}"
        for module in reference.MODULES
        for name in reference.public_names(module)
    ]
    assert sorted(found) == LISTED.read_text().splitlines()


def test_every_package_with_public_names_is_in_the_reference(reference):
    names = [each.name for each in pkgutil.iter_modules(calibrant.__path__, "calibrant.")]
    public = {name for name in names if hasattr(importlib.import_module(name), "__all__")}
    assert len(public) > 10
    assert public - {*reference.MODULES} == set()
