"""Calibrated probabilities over HTTP: durable, exactly once, with the extra ``service``.

A request flows one way. `api` reads it and checks its rows, the `owner` thread hands them to a
`stream`, whose `engine` computes, the `store` commits them with all others that wait, and only
then is anybody answered. Log first, state second: the engine's state is always what a replay of
the log gives, bit for bit.

What is to be told is stored as an event with the rows that it is about. `listeners` hear of it at
once, and `webhooks` are brought it until they have it.

Read `engine`, then `stream`, `owner`, `store` and `api`. Nothing here is imported by
``import calibrant``.

`Client` and `AsyncClient` talk to a service from Python.
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
