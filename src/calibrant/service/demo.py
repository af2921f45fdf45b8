"""Replay the bundled flights to a service as if they were happening now, but faster."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from calibrant import streams
from calibrant._checks import Floats
from calibrant.service.client import Client

#: How much faster than real time, and how much is played at once at first.
SPEED = 1000.0
HEAD_START = 42 * 86400.0
#: Seconds between two requests, and of the stream in one of them at first.
TICK = 0.5
STEP = 3600.0
STREAM = "flights"
#: As `make run` has it: a flight that has not landed by its deadline is late.
SETTINGS = {"silence": 1, "clock": "client"}


class Flights(NamedTuple):
    """Columns of flights, ordered by departure: times are seconds since 1970."""

    departed: Floats
    landed: Floats
    due: Floats
    scores: Floats
    outcomes: Floats
    carriers: list[str]


def flights() -> Flights:
    """Return the bundled flights."""
    stream = streams.load("nycflights")
    assert stream.scores is not None
    departed, landed, due = (
        np.asarray(each, dtype="datetime64[s]").astype(np.float64)
        for each in (stream.times, stream.columns["landed"], stream.columns["due"])
    )
    carriers: list[str] = stream.columns["carrier"].tolist()
    return Flights(departed, landed, due, stream.scores, stream.outcomes, carriers)


def replay_flights(client: Client, now: Callable[[], float] = time.monotonic) -> None:
    """Replay the bundled flights to a service: predicted at departure, known after landing.

    Six weeks are replayed at once, the rest at a thousand times real speed. Rows that the store
    already has are answered as before, so a replay may start over.

    Parameters
    ----------
    client : Client
        A client of the service.
    now : callable
        A clock, in seconds.
    """
    client.put_stream(STREAM, **SETTINGS)
    rows = flights()
    first, last = float(rows.departed[0]), float(max(rows.departed[-1], rows.landed.max()))
    play(client, rows, moments(first, last, now))


def play(client: Client, rows: Flights, times: Iterator[float]) -> None:
    """Send what has happened since the last of these times, at each of them."""
    in_time = rows.landed <= rows.due  # of the others, silence says that they are late
    before = -np.inf
    for moment in times:
        landed = np.flatnonzero(in_time & (rows.landed > before) & (rows.landed <= moment))
        if len(landed):
            client.update_many(
                STREAM, rows.outcomes[landed], ids=landed + 1, at=rows.landed[landed]
            )
        start, end = np.searchsorted(rows.departed, (before, moment), side="right").tolist()
        if end > start:
            part = slice(start, end)
            client.predict_many(
                STREAM, rows.scores[part], ids=range(start + 1, end + 1), by=rows.carriers[part],
                at=rows.departed[part], due=rows.due[part],
            )  # fmt: skip
        before = moment


def moments(first: float, last: float, now: Callable[[], float]) -> Iterator[float]:
    """Return the times of the stream at which to send: in steps, then by the clock."""
    yield from np.arange(first, first + HEAD_START, STEP).tolist()
    began, moment = now(), first
    while moment < last:
        moment = first + HEAD_START + (now() - began) * SPEED
        yield moment
        time.sleep(TICK)
