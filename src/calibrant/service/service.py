"""The service without HTTP: a store, its streams and their owner, tokens and listeners."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from calibrant.service.clock import SteadyClock
from calibrant.service.listeners import Listeners
from calibrant.service.store.base import Store
from calibrant.service.store.records import EventRow, StoreError
from calibrant.service.stream import models, views
from calibrant.service.stream.owner import Owner
from calibrant.service.stream.stream import Stream
from calibrant.service.tokens import Tokens
from calibrant.service.webhooks.courier import Courier
from calibrant.service.webhooks.policy import NOWHERE, Webhooks

#: Rows between two reports of the progress of a replay.
STEP = 100_000


class Service:
    """Everything behind HTTP.

    Parameters
    ----------
    store : Store
        Where rows are stored; opened by `start`.
    say : callable
        Called with lines to print at the start: the progress of the replay.
    log : optional
        A logger of structlog, for failures.
    webhooks : Webhooks
        Where alarms are sent; by default, nowhere.
    """

    def __init__(
        self,
        store: Store,
        say: Callable[[str], None] = lambda _: None,
        log: Any = None,
        webhooks: Webhooks = NOWHERE,
    ) -> None:
        self.store, self.say, self.log = store, say, log
        self.clock = SteadyClock()
        self.tokens = Tokens(store, self.clock.now)
        self.listeners = Listeners()
        self.owner = Owner(store, self.clock, self._publish, self.log_failure)
        self.courier = Courier(webhooks, store, self.owner, self.clock, log)
        #: Where several processes share a store: the summaries of others' streams by name, and
        #: which of the own streams have changed.
        self.is_shared = False
        self.others: dict[str, models.Summary] = {}
        self.changed: set[str] = set()

    def start(self) -> None:
        """Open the store, restore every stream, and begin to work."""
        self.store.open()
        try:
            for row in self.store.streams():
                stream = Stream(row, self.clock.now())
                self.restore(stream)
                self.owner.adopt(stream)
            self.courier.start()
        except BaseException:
            self.store.close()
            raise
        self.owner.start()

    def start_shared(self) -> None:
        """Begin to work as one of several processes, without any stream yet."""
        self.is_shared = True
        self.courier.start()
        self.owner.start()

    def restore(self, stream: Stream) -> None:
        """Bring a stream to where its log ends."""
        end, reported = stream.last_sequence(self.store), 0
        for reached in stream.restore(self.store):
            if reached - reported >= STEP:
                reported = reached
                self.say(f"{stream.name}: replayed {reached:,} of {end:,} rows")
        if stream.sequence != end:
            raise StoreError(
                f"stream {stream.name}: the log ends at {stream.sequence}, not at {end}"
            )
        self.say(f"{stream.name}: {end:,} rows, {end - stream.kept:,} of them replayed")

    def stop(self) -> None:
        """Answer what is queued, take snapshots and close the store."""
        self.listeners.close()
        self.courier.stop()
        self.owner.stop()
        self.store.close()

    def log_exception(self, method: str, path: str) -> None:
        """Log the error that is being handled, with the request that led to it."""
        if self.log is not None:
            self.log.exception("request failed", method=method, path=path)

    def log_failure(self, what: str) -> None:
        """Log what went wrong with the store."""
        if self.log is not None:
            self.log.error("store failed", detail=what)

    def _publish(self, events: list[EventRow], changed: Iterable[str]) -> None:
        """Notify listeners and webhooks of what was committed; called in the owner's thread."""
        if self.is_shared:
            self.changed.update(changed)
        else:
            for event in events:
                self.listeners.publish(event)
        self.listeners.mark(changed)
        if events:
            self.courier.wake({event.stream for event in events})

    # -- in the owner's thread ------------------------------------------------------------------

    def summaries(self, names: Iterable[str] | None = None) -> list[models.Summary]:
        """Return the summaries of all or some streams; others' as their owners last posted them."""
        own, others = self.owner.streams, self.others
        known = own.keys() | others.keys()
        return [
            views.summary(own[name]) if name in own else others[name]
            for name in sorted(known if names is None else known & set(names))
        ]


def event_json(event: EventRow) -> dict[str, Any]:
    """Return a stored event for JSON."""
    body: dict[str, Any] = json.loads(event.body)
    return {"stream": event.stream, "at": event.at, "kind": event.kind} | body
