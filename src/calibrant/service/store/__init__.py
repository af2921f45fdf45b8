"""Where rows are kept: a store of few methods, and SQLite's way of doing it."""

from __future__ import annotations

from calibrant.service.store.interface import Store, StoreError
from calibrant.service.store.sqlite import SqliteStore

__all__ = ["Store", "StoreError", "open_store"]


def open_store(address: str) -> Store:
    """Return the store at an address: the path of a file."""
    if "://" in address:
        raise ValueError(f"a store is the path of a file, got {address.partition('://')[0]}://...")
    return SqliteStore(address)
