"""The public names, listed: a change of the list is a change of the interface."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LISTED = ROOT / "tests" / "public_names.txt"


def test_the_list_of_public_names_is_true(monkeypatch):
    """If this fails on purpose, change the list, and say in CHANGELOG.md what changed."""
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    reference = importlib.import_module("public_names")
    found = [
        f"{module}.{name}"
        for module in reference.MODULES
        for name in reference.public_names(module)
    ]
    assert sorted(found) == LISTED.read_text().splitlines()
