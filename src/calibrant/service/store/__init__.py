"""Where rows are kept: a store of few methods, and SQLite's way of doing it."""

from __future__ import annotations

from pathlib import Path

from calibrant.service.store.interface import Store, StoreError
from calibrant.service.store.sqlite import SqliteStore

__all__ = ["Store", "StoreError", "existing_store", "open_store"]


def existing_store(address: str) -> Store:
    """Return a store that is there already."""
    if "://" not in address and not Path(address).is_file():
        raise StoreError(f"there is no store {address}")
    return open_store(address)


def open_store(address: str) -> Store:
    """Return the store at an address, not yet open: the path of a file."""
    if "://" in address:
        raise ValueError(f"a store is the path of a file, got {address.partition('://')[0]}://...")
    return SqliteStore(address)
