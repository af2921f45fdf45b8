"""The owner of the streams: one thread that computes, commits, answers, and then measures.

Requests queue up while a group is being committed, and form the next group. Queries about a stream
queue up too, so nothing needs a lock.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

from calibrant.service.clock import SteadyClock
from calibrant.service.limits import MOST_QUEUED, MOST_STREAMS
from calibrant.service.problems import Problem, bad_value
from calibrant.service.store.base import Store
from calibrant.service.store.records import (
    Change,
    EventRow,
    Group,
    Known,
    SnapshotRow,
    StoreError,
)
from calibrant.service.stream.definition import CHANGEABLE, Definition
from calibrant.service.stream.retention import Retention
from calibrant.service.stream.snapshots import Snapshots, pieces
from calibrant.service.stream.stream import Outcomes, Predictions, Stream, checksum_of

#: Rows of one group, about.
MOST_IN_GROUP = 20_000

T = TypeVar("T")
#: What somebody waits for, in another thread or in an event loop.
Awaited = Future[Any] | asyncio.Future[Any]


class Job(NamedTuple):
    """Rows to work on; they are answered once they are committed."""

    stream: str
    rows: Predictions | Outcomes
    awaited: Awaited


class Question(NamedTuple):
    """A function to be called between two groups."""

    ask: Callable[[], Any]
    awaited: Awaited


class Owner:
    """The streams of a store and the thread that processes them.

    Parameters
    ----------
    store : Store
        An open store.
    clock : SteadyClock
        The time of rows that have none.
    publish : callable
        Called with the events of each group that was committed and the names of the streams that
        changed, in the owner's thread.
    log_failure : callable
        Called with what went wrong with the store.
    """

    def __init__(
        self,
        store: Store,
        clock: SteadyClock,
        publish: Callable[[list[EventRow], Iterable[str]], None] = lambda _events, _changed: None,
        log_failure: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.store, self.clock, self.publish, self.log_failure = store, clock, publish, log_failure
        self.streams: dict[str, Stream] = {}
        self.snapshots = Snapshots(store, log_failure)
        self.retention = Retention(store, log_failure)
        #: Streams whose state could not be restored from the store, and why.
        self.closed: dict[str, str] = {}
        #: Streams that another process owns by now.
        self.moved: set[str] = set()
        #: Why nothing can be written at the moment, if so.
        self.trouble: str | None = None
        #: Groups committed so far.
        self.groups = 0
        self._queue: deque[Job | Question] = deque()
        self._queued = 0
        self._wake = threading.Condition()
        self._ends = False
        self._thread = threading.Thread(target=self._work, name="calibrant-owner", daemon=True)

    # -- from other threads ---------------------------------------------------------------------

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Finish what is queued, take snapshots, and end."""
        with self._wake:
            self._ends = True
            self._wake.notify()
        self._thread.join()

    @property
    def is_alive(self) -> bool:
        """Whether the thread is running."""
        return self._thread.is_alive() and not self._ends

    def submit(self, item: Job | Question) -> None:
        """Queue rows, or a query."""
        with self._wake:
            if self._ends:
                raise Problem(503, "the service is stopping")
            if isinstance(item, Job):
                if self._queued >= MOST_QUEUED:
                    raise Problem(503, f"{self._queued:,} rows are queued already; retry later")
                self._queued += len(item.rows.ids)
            self._queue.append(item)
            self._wake.notify()

    def ask(self, question: Callable[[], T]) -> Future[T]:
        """Call a function between two groups, and return its result."""
        future: Future[T] = Future()
        self.submit(Question(question, future))
        return future

    # -- in the owner's thread ------------------------------------------------------------------

    def stream(self, name: str) -> Stream:
        """Return a stream by name."""
        found = self.streams.get(name)
        if name in self.closed:
            raise Problem(503, f"stream {name!r} is closed: {self.closed[name]}")
        if found is None and name in self.moved:
            raise Problem(503, f"stream {name!r} is moving to another process; retry later")
        if found is None:
            raise Problem(404, f"there is no stream {name!r}; PUT /v1/streams/{name} creates one")
        return found

    def create(self, name: str, definition: Definition) -> tuple[Stream, bool]:
        """Return a stream of these settings, and whether it is new."""
        found = self.streams.get(name)
        if found is not None:
            if found.definition != definition:
                stored, given = found.definition.as_json(), definition.as_json()
                differ = [key for key, value in stored.items() if given[key] != value]
                raise Problem(
                    409, f"stream {name!r} has other settings: {', '.join(differ)}"
                    + (" (PATCH changes it)" if differ[0] in CHANGEABLE else ""),
                    field=differ[0], allowed=repr(stored[differ[0]]),
                )  # fmt: skip
            return found, False
        if len(self.streams) >= MOST_STREAMS:
            raise Problem(409, f"there are {MOST_STREAMS} streams already")
        row = self.store.add_stream(name, definition.as_text(), self.clock.now())
        stream = self.streams[name] = Stream(row, row.created)
        event = EventRow(0, name, row.created, "stream.created", "{}")
        self.publish(self.store.write(Group(events=[event])), [name])
        return stream, True

    def change(self, name: str, called: str, changed: dict[str, Any]) -> Stream:
        """Change the name of a stream, and settings that may change."""
        stream = self.stream(name)
        definition = Definition.from_json(stream.definition.as_json() | changed)
        if called != name and called in [each.name for each in self.store.streams()]:
            raise Problem(409, f"there is already a stream {called!r}", field="name")
        altered, before = stream.altered, stream.definition.capacity
        if definition.capacity != before:
            if definition.watch_keys:  # the fleet's own monitors have the patience of the first
                raise bad_value("it cannot change with watch_keys", "capacity", str(before))
            # It has a place in the log: a replay comes to the same predictions that expire.
            change = Change(stream.sequence + 1, before, definition.capacity)
            altered = [*altered, change]
        self.store.rewrite(stream.row(name=called, definition=definition, altered=altered))
        stream.definition = stream.engine.definition = definition
        if altered is not stream.altered:
            stream.altered = altered
            stream.replay(altered[-1])
        if called != name:
            del self.streams[name]
            self.streams[called], stream.name = stream, called
        self.publish([], [name, called])
        return stream

    def erase(self, name: str, ids: list[str]) -> list[str]:
        """Erase predictions with their outcomes; return the ids of those that there were.

        Without its rows the log does not give the state any more, and older snapshots may hold
        what is erased: one of the state as it is then takes the place of all, in one transaction.
        """
        stream = self.stream(name)
        found = [*self.store.known(stream.number, ids).predictions]
        if not found:
            return []
        self._leave_alone(stream)
        try:
            stream.engine.erase(found)
            *origin, last = pieces(blob := stream.engine.to_bytes())
            now = self.clock.now()
            row = stream.row(trimmed=stream.sequence)
            sum_ = checksum_of(blob)
            self.store.rewrite(
                row, found, origin, SnapshotRow(stream.number, stream.sequence, now, last, sum_)
            )
        except Exception as error:
            self._take_back([], {name: stream}, error)
            raise
        stream.trim(stream.sequence)
        stream.kept, stream.kept_at, stream.kept_bytes = stream.sequence, now, len(blob)
        self.measure({name: stream})
        return found

    def drop(self, name: str) -> Stream:
        """Delete a stream; its rows are deleted bit by bit."""
        stream = self.stream(name)
        event = self.store.drop_stream(stream.number, name, self.clock.now())
        self._leave_alone(stream)
        del self.streams[name]
        self.retention.has_dropped = True
        self.publish([event], [name])
        return stream

    def _leave_alone(self, stream: Stream) -> None:
        """Discard the snapshot of a stream that is being taken, and what is being trimmed."""
        self.snapshots.forget(stream)
        self.retention.forget(stream)

    def adopt(self, stream: Stream) -> None:
        """Own one more stream, which has been restored; events that are missing are stored."""
        self.streams[stream.name] = stream
        self.moved.discard(stream.name)
        self.measure({stream.name: stream})

    def release(self, name: str) -> Stream | None:
        """Own a stream no longer; return it, if it was owned."""
        stream = self.streams.pop(name, None)
        if stream is not None:
            self.moved.add(name)
            self.retention.forget(stream)
            if self.closed.pop(name, None) is None:
                self.snapshots.release(stream, self.clock.now())
        return stream

    def _work(self) -> None:
        while True:
            with self._wake:
                while not self._queue and not self._ends:
                    idle = 0.0 if self.retention.is_at_work else self.snapshots.patience
                    if not self._wake.wait(timeout=idle):
                        break
                items, ends = self._take(), self._ends and not self._queue
            try:
                jobs = [item for item in items if isinstance(item, Job)]
                if jobs:
                    self._answer(jobs)
                for item in items:
                    if isinstance(item, Question):
                        deliver([(item.awaited, result_of(item.ask))])
                found = [each for name, each in self.streams.items() if name not in self.closed]
                step = self.snapshots.finish if ends else self.snapshots.step
                step(iter(found), self.clock.now())
                if not ends:
                    self.retention.step(found, self.clock.now())
            except Exception as error:  # whatever it is, the next requests are to be answered
                self.log_failure(f"{type(error).__name__}: {error}")
                failed = Problem(500, "internal error; see the log of the service")
                deliver([(item.awaited, failed) for item in items])
            if ends and not self._queue:
                return

    def _take(self) -> list[Job | Question]:
        """Take what is queued, up to a group."""
        items: list[Job | Question] = []
        rows = 0
        while self._queue and rows < MOST_IN_GROUP:
            item = self._queue.popleft()
            items.append(item)
            if isinstance(item, Job):
                rows += len(item.rows.ids)
        self._queued -= rows
        return items

    def _answer(self, jobs: list[Job]) -> None:
        """Compute, commit, answer. If it cannot be committed, it never was."""
        group = Group()
        answers: list[tuple[Awaited, Any]] = []
        touched: dict[str, Stream] = {}
        try:
            known = self._known(jobs)
            for job in jobs:
                try:
                    stream = self.stream(job.stream)
                    touched[job.stream] = stream
                    if isinstance(job.rows, Predictions):
                        answer: Any = stream.predict(job.rows, known[job.stream], group)
                    else:
                        ask = partial(self.store.known, stream.number)
                        answer = stream.observe(job.rows, known[job.stream], group, ask)
                except Problem as problem:  # refused before anything changed
                    answer = problem
                answers.append((job.awaited, answer))
            if group.predictions or group.outcomes:
                self.store.write(group)
        except Exception as error:
            self._take_back(jobs, touched, error)
            return
        self.trouble = None
        self.groups += 1
        deliver(answers)
        self.measure(touched)

    def measure(self, touched: dict[str, Stream]) -> None:
        """Measure what was settled, store the events that follow from it, and publish them.

        If it fails, a restore finds the events that are missing.
        """
        try:
            now = self.clock.now()
            events = [each for stream in touched.values() for each in stream.measure(now)]
            if events:
                events = self.store.write(Group(events=events))
        except Exception as error:
            self._take_back([], touched, error)
        else:
            self.publish(events, touched)

    def _known(self, jobs: list[Job]) -> dict[str, Known]:
        """Return the rows that the store has for the ids of a group."""
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
        """Restore the streams to what the log says, and refuse all requests."""
        is_store = isinstance(error, StoreError)
        self.trouble = str(error) if is_store else f"{type(error).__name__}: {error}"
        self.log_failure(self.trouble)
        for name, stream in touched.items():
            try:
                for _ in stream.restore(self.store):
                    pass
            except Exception as again:
                # Without a state, the stream is closed until the service is restarted.
                self.closed[name] = str(again)
                self.log_failure(f"stream {name} is closed: {again}")
        detail = self.trouble if is_store else "internal error; see the log of the service"
        problem = Problem(503 if is_store else 500, f"nothing was stored: {detail}")
        deliver([(job.awaited, problem) for job in jobs])


def result_of(ask: Callable[[], Any]) -> Any:
    """Return the answer to a question, or the exception that it raised."""
    try:
        return ask()
    except Exception as error:
        return error


def deliver(answers: list[tuple[Awaited, Any]]) -> None:
    """Deliver results to their waiters; an event loop is woken once for all of them."""
    in_loops: dict[asyncio.AbstractEventLoop, list[tuple[Awaited, Any]]] = {}
    for each in answers:
        if isinstance(each[0], Future):
            set_results([each])
        else:
            in_loops.setdefault(each[0].get_loop(), []).append(each)
    for loop, some in in_loops.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(set_results, some)


def set_results(answers: list[tuple[Awaited, Any]]) -> None:
    """Set results, or the exceptions among them; who waited may have left."""
    for awaited, result in answers:
        if not awaited.done():
            if isinstance(result, Exception):
                awaited.set_exception(result)
            else:
                awaited.set_result(result)
