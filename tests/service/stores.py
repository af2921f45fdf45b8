"""Stores that no service has open."""

import sqlite3
from contextlib import closing


def query(path, statement, *parameters):
    """Run a statement on a store; return its rows."""
    with closing(sqlite3.connect(path)) as store, store:
        return store.execute(statement, parameters).fetchall()
