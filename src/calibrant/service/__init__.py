"""Calibrated probabilities over HTTP: durable, exactly once, with the extra ``service``.

A request flows one way. `api` reads it and checks its rows; the owner's thread passes them to a
`stream`, whose engine computes; the `store` commits them together with all other queued rows, and
only then are they answered. The state of the engine is always what a replay of the log gives, bit
for bit. After the response, settled rounds are measured, and alarms are stored as events:
`listeners` receive them at once, and `webhooks` are retried until they are received.

`cluster` lets several processes share a PostgreSQL store, `pages` show the streams to people, and
`client` is for programs in Python. Read `stream` first, then `store` and `api`. Nothing here is
imported by ``import calibrant``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant._lazy import names_from

if TYPE_CHECKING:
    from calibrant.service.client import AsyncClient as AsyncClient
    from calibrant.service.client import ClassPrediction as ClassPrediction
    from calibrant.service.client import Client as Client
    from calibrant.service.client import NumberPrediction as NumberPrediction
    from calibrant.service.client import Prediction as Prediction
    from calibrant.service.client import RefusedError as RefusedError
    from calibrant.service.client import ServiceError as ServiceError
    from calibrant.service.client import UnavailableError as UnavailableError

# Imported only when they are used, since they need httpx.
HOMES = {
    "client": (
        "AsyncClient ClassPrediction Client NumberPrediction Prediction RefusedError ServiceError "
        "UnavailableError"
    ),
}
__all__, __getattr__, __dir__ = names_from(__name__, HOMES)
