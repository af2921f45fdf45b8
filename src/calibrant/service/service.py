"""The service without HTTP: a store, its streams and their owner, who may what, and who listens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from calibrant.service.clock import SteadyClock
from calibrant.service.listeners import Listeners
from calibrant.service.store.interface import EventRow, Store, StoreError
from calibrant.service.stream import views
from calibrant.service.stream.owner import Owner
from calibrant.service.stream.stream import Stream
from calibrant.service.tokens import Tokens
from calibrant.service.webhooks.courier import Courier
from calibrant.service.webhooks.policy import NOWHERE, Webhooks

#: Rows between two words about how far a replay is.
STEP = 100_000


class Service:
    """Everything that HTTP is put on top of.

    Parameters
    ----------
    store : Store
        Where rows are kept; opened by `start`.
    say : callable
        Is given a line for people at the start: how far the replay is.
    log : optional
        What failed is written there, as structlog does it.
    webhooks : Webhooks
        Where alarms ring; nowhere by default.
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
        self.owner = Owner(store, self.clock, self._tell, self.failed)
        self.courier = Courier(webhooks, store, self.owner, self.clock, log)
        #: Where several processes share a store: how the streams of others go, by name, and which
        #: of the own ones have changed.
        self.is_shared = False
        self.others: dict[str, dict[str, Any]] = {}
        self.changed: set[str] = set()

    def start(self) -> None:
        """Open the store, bring every stream to where its log ends, and begin to work."""
        self.store.open()
        try:
            for row in self.store.streams():
                stream = Stream(row, self.clock.now())
                self.restore(stream)
                self.owner.streams[row.name] = stream
            self.courier.start()
        except BaseException:
            self.store.close()
            raise
        self.owner.start()

    def start_shared(self) -> None:
        """Begin to work as one of several processes, without any stream so far."""
        self.is_shared = True
        self.courier.start()
        self.owner.start()

    def restore(self, stream: Stream) -> None:
        """Bring a stream to where its log ends."""
        end, told = self.store.last_sequence(stream.number), 0
        for reached in stream.restore(self.store):
            if reached - told >= STEP:
                told = reached
                self.say(f"{stream.name}: replayed {reached:,} of {end:,} rows")
        if stream.sequence != end:
            raise StoreError(
                f"stream {stream.name}: the log ends at {stream.sequence}, not at {end}"
            )
        self.say(f"{stream.name}: {end:,} rows, {end - stream.kept:,} of them replayed")

    def stop(self) -> None:
        """Answer what is queued, take snapshots and let the store go."""
        self.listeners.close()
        self.courier.stop()
        self.owner.stop()
        self.store.close()

    def failed_on(self, method: str, path: str) -> None:
        """Log the error that is being handled, with the request that led to it."""
        if self.log is not None:
            self.log.exception("request failed", method=method, path=path)

    def failed(self, what: str) -> None:
        """Log what went wrong with the store."""
        if self.log is not None:
            self.log.error("store failed", detail=what)

    def _tell(self, events: list[EventRow], changed: list[str]) -> None:
        """Hand on what was committed; called in the owner's thread."""
        if self.is_shared:
            self.changed.update(changed)
        else:
            for event in events:
                self.listeners.publish(event)
        self.listeners.mark(changed)
        self.courier.wake(event.stream for event in events)

    # -- in the owner's thread ------------------------------------------------------------------

    def summaries(self, names: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """Return how streams go, all or some; those of other processes as these last said."""
        own, others = self.owner.streams, self.others
        known = own.keys() | others.keys()
        return [
            views.summary(own[name]) if name in own else others[name]
            for name in sorted(known if names is None else known & set(names))
        ]


def event_json(event: EventRow) -> dict[str, Any]:
    """Return a stored event as it is told."""
    body: dict[str, Any] = json.loads(event.body)
    return {"stream": event.stream, "at": event.at, "kind": event.kind} | body
