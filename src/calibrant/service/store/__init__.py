"""The store: rows in a file of SQLite or in a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

from calibrant.service.store.base import Store
from calibrant.service.store.records import StoreError
from calibrant.service.store.sqlite import SqliteStore

__all__ = ["Store", "StoreError", "existing_store", "is_shared", "open_store"]


def existing_store(address: str) -> Store:
    """Return a store that is there already."""
    if "://" not in address and not Path(address).is_file():
        raise StoreError(f"there is no store {address}")
    return open_store(address)


def is_shared(address: str) -> bool:
    """Whether several processes may serve one store at this address."""
    return address.startswith(("postgresql://", "postgres://"))


def open_store(address: str) -> Store:
    """Return the store at an address, not yet open: a path, or ``postgresql://...``."""
    if is_shared(address):
        from calibrant.service.store.postgres import PostgresStore  # noqa: PLC0415 - needs an extra

        return PostgresStore(address)
    if "://" in address:
        kind = address.partition("://")[0]
        raise ValueError(f"a store is a file or postgresql://..., got {kind}://...")
    return SqliteStore(address)
