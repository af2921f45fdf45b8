"""The owner of the streams: one thread that computes, commits and only then answers.

Requests queue up while a group is being committed; the next group is all of them. Whoever wants to
look at a stream queues up too, so that nothing needs a lock.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from calibrant.service.api.rows import Outcomes, Predictions
from calibrant.service.clock import SteadyClock
from calibrant.service.limits import MOST_QUEUED, MOST_STREAMS
from calibrant.service.problems import Problem
from calibrant.service.store.interface import EventRow, Group, Known, Store, StoreError
from calibrant.service.stream.definition import Definition
from calibrant.service.stream.snapshots import Keeper
from calibrant.service.stream.stream import Answer, Stream

#: Rows of one group, about.
MOST_IN_GROUP = 20_000

T = TypeVar("T")


class Promise(Protocol):
    """What is answered once, from the owner's thread: a `Future`, or the like."""

    def done(self) -> bool:
        """Whether it has been answered."""

    def set_result(self, result: Any) -> None:
        """Answer."""

    def set_exception(self, exception: BaseException) -> None:
        """Say why there is no answer."""


@dataclass(slots=True)
class Job:
    """Rows to work on; they are answered once they are committed."""

    stream: str
    rows: Predictions | Outcomes
    promise: Promise


@dataclass(slots=True)
class Look:
    """Something to be asked between two groups."""

    ask: Callable[[], Any]
    promise: Promise


class Owner:
    """The streams of a store and the thread that works on them.

    Parameters
    ----------
    store : Store
        An open store.
    clock : SteadyClock
        Says when, where rows do not.
    tell : callable
        Is given the events of each group that was committed, from the owner's thread.
    failed : callable
        Is given what went wrong with the store, for the log.
    """

    def __init__(
        self,
        store: Store,
        clock: SteadyClock,
        tell: Callable[[list[EventRow], list[str]], None] = lambda _events, _changed: None,
        failed: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.store, self.clock, self.tell, self.failed = store, clock, tell, failed
        self.streams: dict[str, Stream] = {}
        self.keeper = Keeper(store, failed)
        #: Streams whose state could not be had from the store, and why.
        self.closed: dict[str, str] = {}
        #: Streams that another process owns by now.
        self.moved: set[str] = set()
        #: Why nothing can be written at the moment, if so.
        self.trouble: str | None = None
        #: Groups committed so far.
        self.groups = 0
        self._queue: deque[Job | Look] = deque()
        self._queued = 0
        self._wake = threading.Condition()
        self._ends = False
        self._thread = threading.Thread(target=self._work, name="calibrant-owner", daemon=True)

    # -- from other threads ---------------------------------------------------------------------

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what is queued, take snapshots, and end."""
        with self._wake:
            self._ends = True
            self._wake.notify()
        self._thread.join()

    @property
    def is_alive(self) -> bool:
        """Whether the thread works."""
        return self._thread.is_alive() and not self._ends

    def submit(self, stream: str, rows: Predictions | Outcomes, promise: Promise) -> None:
        """Let rows be worked on."""
        job = Job(stream, rows, promise)
        with self._wake:
            if self._ends:
                raise Problem(503, "the service is stopping")
            if self._queued >= MOST_QUEUED:
                raise Problem(503, f"{self._queued:,} rows wait already; come again in a second")
            self._queued += len(rows.ids)
            self._queue.append(job)
            self._wake.notify()

    def ask(self, question: Callable[[], T]) -> Future[T]:
        """Let a question be answered between two groups."""
        future: Future[T] = Future()
        self.look(question, future)
        return future

    def look(self, question: Callable[[], T], promise: Promise) -> None:
        """Let a question be answered between two groups."""
        look = Look(question, promise)
        with self._wake:
            if self._ends:
                raise Problem(503, "the service is stopping")
            self._queue.append(look)
            self._wake.notify()

    # -- in the owner's thread ------------------------------------------------------------------

    def stream(self, name: str) -> Stream:
        """Return a stream by name."""
        found = self.streams.get(name)
        if name in self.closed:
            raise Problem(503, f"stream {name!r} is closed: {self.closed[name]}")
        if found is None and name in self.moved:
            raise Problem(503, f"stream {name!r} is changing hands; come again in a second")
        if found is None:
            raise Problem(404, f"there is no stream {name!r}; PUT /v1/streams/{name} makes one")
        return found

    def create(self, name: str, definition: Definition) -> tuple[Stream, bool]:
        """Return a stream of these settings, and whether it is new."""
        found = self.streams.get(name)
        if found is not None:
            if found.definition != definition:
                differ = [
                    key for key, value in found.definition.as_json().items()
                    if definition.as_json()[key] != value
                ]  # fmt: skip
                raise Problem(
                    409, f"stream {name!r} has other settings: {', '.join(differ)}",
                    field=differ[0], allowed=repr(found.definition.as_json()[differ[0]]),
                )  # fmt: skip
            return found, False
        if len(self.streams) >= MOST_STREAMS:
            raise Problem(409, f"there are {MOST_STREAMS} streams already")
        row = self.store.add_stream(name, definition.as_text(), self.clock.now())
        stream = self.streams[name] = Stream(row, row.created)
        event = EventRow(0, name, row.created, "stream.created", "{}")
        self.tell(self.store.write(Group(events=[event])), [name])
        return stream, True

    def adopt(self, stream: Stream) -> None:
        """Own a stream more, which has been brought to where its log ends."""
        self.streams[stream.name] = stream
        self.moved.discard(stream.name)

    def let_go(self, name: str) -> Stream | None:
        """Own a stream no longer; return it, if it was owned."""
        stream = self.streams.pop(name, None)
        if stream is not None:
            self.moved.add(name)
            if self.closed.pop(name, None) is None:
                self.keeper.let_go(stream, self.clock.now())
        return stream

    def _work(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._ends:
                    if not self._wake.wait(timeout=self.keeper.patience):
                        break
                items, ends = self._take(), self._ends and not self._queue
            try:
                self._answer_all(items)
                found = (each for name, each in self.streams.items() if name not in self.closed)
                keep = self.keeper.finish if ends else self.keeper.step
                keep(found, self.clock.now())
            except Exception as error:  # whatever it is, the next requests are to be answered
                self.failed(f"{type(error).__name__}: {error}")
                refuse(items)
            if ends and not self._queue:
                return

    def _take(self) -> list[Job | Look]:
        """Take what is queued, up to a group."""
        items: list[Job | Look] = []
        rows = 0
        while self._queue and rows < MOST_IN_GROUP:
            item = self._queue.popleft()
            items.append(item)
            if isinstance(item, Job):
                rows += len(item.rows.ids)
        self._queued -= rows
        return items

    def _answer_all(self, items: list[Job | Look]) -> None:
        jobs = [item for item in items if isinstance(item, Job)]
        if jobs:
            self._answer_jobs(jobs)
        for item in items:
            if isinstance(item, Look):
                settle(item.promise, item.ask)

    def _answer_jobs(self, jobs: list[Job]) -> None:
        """Compute, commit, answer. If it cannot be committed, it never was."""
        group = Group()
        answers: list[tuple[Job, list[Answer] | list[str]]] = []
        touched: dict[str, Stream] = {}
        try:
            known = self._known(jobs)
            for job in jobs:
                try:
                    stream = self.stream(job.stream)
                    touched[job.stream] = stream
                    if isinstance(job.rows, Predictions):
                        answers.append((job, stream.predict(job.rows, known[job.stream], group)))
                    else:
                        ask = partial(self.store.known, stream.number)
                        words = stream.learn(job.rows, known[job.stream], group, ask)
                        answers.append((job, words))
                except Problem as problem:  # refused before anything changed
                    job.promise.set_exception(problem)
            now = self.clock.now()
            for stream in touched.values():
                group.events += stream.happenings(now)
            events = self.store.write(group) if group else []
        except Exception as error:
            self._take_back(jobs, touched, error)
            return
        self.trouble = None
        self.groups += 1
        for job, answer in answers:
            job.promise.set_result(answer)
        changed = [name for name, stream in touched.items()]
        self.tell(events, changed)

    def _known(self, jobs: list[Job]) -> dict[str, Known]:
        """Ask the store for all ids of a group that might be there."""
        asked: dict[str, dict[str, None]] = {}
        for job in jobs:
            stream = self.streams.get(job.stream)
            if stream is not None:
                ids = stream.unknown_ids(job.rows)
                asked.setdefault(job.stream, {}).update(dict.fromkeys(ids))
        return {
            name: self.store.known(self.streams[name].number, list(ids))
            for name, ids in asked.items()
        }

    def _take_back(self, jobs: list[Job], touched: dict[str, Stream], error: Exception) -> None:
        """Bring the streams back to what the log says, and tell everybody."""
        status = 503 if isinstance(error, StoreError) else 500
        self.trouble = str(error) if status == 503 else f"{type(error).__name__}: {error}"
        self.failed(self.trouble)
        for name, stream in touched.items():
            try:
                for _ in stream.restore(self.store):
                    pass
            except Exception as again:
                # The state cannot be had: the stream is closed until the service is restarted.
                self.closed[name] = str(again)
                self.failed(f"stream {name} is closed: {again}")
        detail = (
            f"nothing was stored: {self.trouble}" if status == 503
            else "nothing was stored: the service failed; its log says how"
        )  # fmt: skip
        for job in jobs:
            if not job.promise.done():
                job.promise.set_exception(Problem(status, detail))


def refuse(items: list[Job | Look]) -> None:
    """Tell those who still wait that it failed."""
    for item in items:
        if not item.promise.done():
            item.promise.set_exception(Problem(500, "the service failed; its log says how"))


def settle(promise: Promise, ask: Callable[[], Any]) -> None:
    """Answer a question, or hand on why there is no answer."""
    try:
        promise.set_result(ask())
    except Exception as error:
        promise.set_exception(error)
