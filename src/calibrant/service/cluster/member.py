"""A member of the processes that share the streams of a database.

Each looks again and again which processes there are and who owns what. It takes the streams that
are assigned to it and have no owner, and releases those that are assigned to another. A stream is
taken as at a start, from the newest snapshot and the log after it: only the database is shared.
"""

from __future__ import annotations

import json
import time
from functools import partial
from typing import NamedTuple

from calibrant.service.service import Service
from calibrant.service.store.ownership import OwnedStream, chosen
from calibrant.service.store.postgres import PostgresStore
from calibrant.service.store.records import StoreError, StreamRow
from calibrant.service.stream import models
from calibrant.service.stream.stream import Stream

#: Seconds for which a process that came must stay before it is given streams that have an owner:
#: one that dies again and again is given none.
STAYS = 3.0
#: Seconds for which streams are taken before the others are looked at again.
LONGEST = 1.0
#: Seconds between two posts of the own streams' summaries.
POSTS = 1.0
#: Seconds for which a view is fresh, and after which a change must be in all fresh ones.
FRESH, SETTLED = 1.0, 1.25
#: Events that are read at once, and changes by which two of them may be seen in the wrong order.
MANY, MARGIN = 500, 1000


class View(NamedTuple):
    """Where the processes are, and the owner of each stream; None if it has none.

    Seconds of a steady clock say `at` which moment that was so, and `since` when the processes are
    the same.
    """

    processes: list[str]
    owners: dict[str, str | None]
    at: float
    since: float

    @property
    def is_shared_by_all(self) -> bool:
        """Whether all processes whose view is as fresh as this one know of the same processes.

        Then they agree on which of them creates a stream, or answers that there is none.
        """
        now = time.monotonic()
        return now - self.at < FRESH and now - self.since > SETTLED


class Member:
    """The streams that one process owns, and its news for the others; all in one thread.

    Parameters
    ----------
    service : Service
        A service that shares its store, and has begun to work.
    store : PostgresStore
        Its store.
    url : str
        Where the other processes reach this one.
    """

    def __init__(self, service: Service, store: PostgresStore, url: str) -> None:
        self.service, self.store, self.url = service, store, url
        self._last_event = store.last_event()
        self._posted_at = time.monotonic()
        self._changes: dict[str, int] = {}
        self._processes: list[str] = []
        self._since = time.monotonic()
        service.owner.ask(lambda: store.join(url)).result()

    def look(self) -> View:
        """Take and release streams, and exchange news; return the processes and who owns what.

        Raises StoreError if this process has lost its connection, and with it its streams.
        """
        if not self.service.owner.ask(self.store.still_owns).result():
            raise StoreError("the connection to the database is gone")
        began = time.monotonic()
        processes, held = self.store.processes(), self.store.held()
        if processes != self._processes:
            self._processes, self._since = processes, time.monotonic()
        until = time.monotonic() + LONGEST
        for each in held:
            is_chosen = chosen(each.name, processes) == self.url
            if each.url == self.url and not is_chosen and began - self._since > STAYS:
                self.service.owner.ask(partial(self._release, each.name)).result()
            elif each.url is None and is_chosen and time.monotonic() < until:
                self._take(each)
        self._tell_events()
        self._post()
        self._read_posts(held)
        owners = {each.name: each.url for each in held}
        return View(processes, owners, began, self._since)

    def _take(self, row: OwnedStream) -> None:
        """Become the owner of a stream, unless another is quicker."""
        owner, number = self.service.owner, row.number
        if not owner.ask(lambda: self.store.take(number)).result():
            return
        stream = Stream(StreamRow(*row[:4]), self.service.clock.now())
        try:
            self.service.restore(stream)
        except StoreError as error:  # it is tried again
            self.service.log_failure(f"stream {row.name} cannot be taken: {error}")
            owner.ask(lambda: self.store.release(number)).result()
        else:
            owner.ask(lambda: owner.adopt(stream)).result()
            self.service.courier.adopt(stream.name)
            self.service.changed.add(stream.name)

    def _release(self, name: str) -> None:
        """Release a stream; in the owner's thread."""
        stream = self.service.owner.release(name)
        if stream is not None:
            self.store.release(stream.number)

    # -- news -----------------------------------------------------------------------------------

    def _tell_events(self) -> None:
        """Publish the events of all processes here, in the order of the store."""
        while rows := self.store.events(self._last_event, None, MANY):
            for row in rows:
                self.service.listeners.publish(row)
            self._last_event = rows[-1].number

    def _post(self) -> None:
        """Post the summaries of streams that have changed."""
        service, now = self.service, time.monotonic()
        if now - self._posted_at >= POSTS and service.changed:
            self._posted_at = now
            names, service.changed = service.changed, set()
            own = service.owner.streams
            found = service.owner.ask(lambda: service.summaries(names & own.keys())).result()
            self.store.post({each["name"]: json.dumps(each) for each in found})

    def _read_posts(self, held: list[OwnedStream]) -> None:
        """Read the summaries of others' streams."""
        foreign = {each.name for each in held if each.url != self.url}
        known = {each.name for each in held}
        news: dict[str, models.Summary] = {}
        for name, change, body in self.store.posted(
            max(self._changes.values(), default=0) - MARGIN
        ):
            if name in known and self._changes.get(name, 0) < change:
                self._changes[name] = change
                news[name] = json.loads(body)
        found = self.service.others | news
        # Those that are not known were deleted, or are called otherwise by now.
        self.service.others = {name: each for name, each in found.items() if name in known}
        self.service.listeners.mark(news.keys() & foreign)
