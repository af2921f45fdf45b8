"""Calibrated probabilities over HTTP: durable, exactly once, with the extra ``service``.

A request flows one way. `api` reads it and checks its rows; the owner's thread hands them to a
`stream`, whose engine computes; the `store` commits them with all others that wait, and only then
are they answered. Log first, state second: the engine's state is always what a replay of the log
gives, bit for bit. After the answer, what was settled is measured, and what follows from that is
stored as events: `listeners` get them at once, and `webhooks` until they are received.

`cluster` lets several processes share a PostgreSQL store, `pages` show the streams to people, and
`client` is for programs in Python. Read `stream` first, then `store` and `api`. Nothing here is
imported by ``import calibrant``.
"""

from __future__ import annotations

from typing import Any

__all__ = ["AsyncClient", "Client"]


def __getattr__(name: str) -> Any:
    """Return a client: only who asks for one needs httpx."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from calibrant.service import client  # noqa: PLC0415

    return getattr(client, name)
