"""A bundled stream played to a service as if it happened now, faster: to see a living page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from calibrant import streams
from calibrant._checks import Floats

#: How much faster than the world, how late outcomes come, and how much is played at once first.
SPEED = 1000.0
LATE = 3 * 3600.0
HEAD_START = 14 * 86400.0
#: Seconds between two requests, here and while catching up there.
TICK = 0.5
STEP = 3600.0
STREAM = "flights"

Send = Callable[[str, str, Any], Any]
Rows = list[dict[str, Any]]


def replay_flights(send: Send, now: Callable[[], float] = time.monotonic) -> None:
    """Play the bundled flights to a service; outcomes come three hours after departure.

    Two weeks are played at once, the rest a thousand times as fast as it happened. What a store
    has already is answered as it was, so a replay may begin anew.

    Parameters
    ----------
    send : callable
        Is given a method, a path and a body, and answers when the service has.
    now : callable
        A clock, in seconds.
    """
    send("PUT", f"/v1/streams/{STREAM}", {"kind": "probability"})
    times, predictions, outcomes = flights()
    predicted = known = 0
    for moment in moments(float(times[0]), float(times[-1]) + LATE, now):
        known = play(send, "outcomes", outcomes, times + LATE, known, moment)
        predicted = play(send, "predictions", predictions, times, predicted, moment)


def play(send: Send, kind: str, rows: Rows, times: Floats, done: int, moment: float) -> int:
    """Send the rows up to a moment, and return how many have been sent in all."""
    end = int(np.searchsorted(times, moment, side="right"))
    if end > done:
        send("POST", f"/v1/streams/{STREAM}/{kind}", rows[done:end])
    return end


def moments(first: float, last: float, now: Callable[[], float]) -> Iterator[float]:
    """Return the times of the stream at which to send: in steps at first, then as time goes."""
    yield from np.arange(first, first + HEAD_START, STEP).tolist()
    began, moment = now(), first
    while moment < last:
        moment = first + HEAD_START + (now() - began) * SPEED
        yield moment
        time.sleep(TICK)


def flights() -> tuple[Floats, Rows, Rows]:
    """Return departures in seconds since 1970, and what is sent of each flight."""
    stream = streams.load("nycflights")
    times = np.asarray(stream.times, dtype="datetime64[s]").astype(np.float64)
    assert stream.scores is not None
    columns = (times, stream.scores, stream.outcomes, stream.columns["carrier"])
    predictions: Rows = []
    outcomes: Rows = []
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for number, (at, score, outcome, carrier) in enumerate(rows, 1):
        name = f"flight {number}"
        predictions.append({"id": name, "score": score, "by": carrier, "at": at})
        outcomes.append({"id": name, "outcome": int(outcome), "at": at + LATE})
    return times, predictions, outcomes
