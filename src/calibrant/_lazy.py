"""Packages that import a module when a name of it is first used, so that few are imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def names_from(
    package: str, homes: Mapping[str, str]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__`, `__dir__` of a package whose names live in its modules."""
    home = {name: module for module, names in homes.items() for name in names.split()}

    def look_up(name: str) -> Any:
        if name in home:
            return getattr(import_module(f"{package}.{home[name]}"), name)
        if name in homes:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return list(home), look_up, lambda: sorted({*home, *homes, *vars(import_module(package))})
