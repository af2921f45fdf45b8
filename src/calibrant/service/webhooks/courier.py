"""The courier: a thread that sends alarms to their receivers, one after the other to each.

That a message was received is stored afterwards: a service that is killed in between sends it
again, with the same id. Where several processes share the streams, each sends those of its own.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import httpx

from calibrant.service.clock import SteadyClock
from calibrant.service.problems import Problem
from calibrant.service.store.base import Store
from calibrant.service.store.records import DeliveryRow, EventRow, StoreError
from calibrant.service.stream.owner import Owner
from calibrant.service.webhooks.message import body_of, headers_of, id_of
from calibrant.service.webhooks.policy import Line, Webhooks
from calibrant.service.webhooks.secrets import shown

#: Seconds to a connection, and to the headers of an answer; its body is not read.
CONNECT, PATIENCE = 5.0, 10.0
#: Seconds before the first retry, and at most; in between they double.
FIRST, LONGEST = 1.0, 300.0
#: Seconds for which an event is retried.
GIVE_UP = 86_400.0
#: Events that are read at once.
MANY = 100
#: The stream of the row that says where a receiver began.
START = ""


class Courier:
    """The thread, and a receiver for each address."""

    def __init__(
        self, webhooks: Webhooks, store: Store, owner: Owner, clock: SteadyClock, log: Any
    ) -> None:
        self.receivers = [
            Receiver(url, webhooks, store, owner, clock, log) for url in webhooks.urls
        ]
        self._loop: asyncio.AbstractEventLoop | None = None
        self._work: asyncio.Task[None] | None = None
        self._has_begun = threading.Event()
        self._thread = threading.Thread(target=self._run, name="calibrant-courier", daemon=True)

    def start(self) -> None:
        """Continue where each receiver was left. The owner's thread must not work yet."""
        if not self.receivers:
            return
        for receiver in self.receivers:
            receiver.load()
        self._thread.start()
        self._has_begun.wait()

    def stop(self) -> None:
        """End at once. What is under way is sent again at the next start."""
        if self._loop is not None and self._work is not None:
            self._loop.call_soon_threadsafe(self._work.cancel)
            self._thread.join()

    def wake(self, streams: Iterable[str]) -> None:
        """Note which streams have new events; from any thread."""
        names = set(streams)
        if self._loop is not None and not self._loop.is_closed():
            for receiver in self.receivers:
                self._loop.call_soon_threadsafe(receiver.wake, names)

    def adopt(self, stream: str) -> None:
        """Continue with a stream where another process left it; from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            for receiver in self.receivers:
                self._loop.call_soon_threadsafe(receiver.adopt, stream)

    def _run(self) -> None:
        try:
            asyncio.run(self._deliver())
        except asyncio.CancelledError:
            pass
        finally:
            self._has_begun.set()

    async def _deliver(self) -> None:
        self._loop, self._work = asyncio.get_running_loop(), asyncio.current_task()
        self._has_begun.set()
        # No proxy, password or redirection but what the operator's address says.
        async with httpx.AsyncClient(
            timeout=httpx.Timeout(PATIENCE, connect=CONNECT), follow_redirects=False,
            trust_env=False,
        ) as http:  # fmt: skip
            await asyncio.gather(*(receiver.deliver(http) for receiver in self.receivers))


class Receiver:
    """One address: what it was sent, and what is to be sent."""

    def __init__(
        self, url: str, webhooks: Webhooks, store: Store, owner: Owner, clock: SteadyClock, log: Any
    ) -> None:
        self.url, self.keys, self.policy = url, webhooks.keys, webhooks.policy
        self.store, self.owner, self.clock, self.log = store, owner, clock, log
        #: Messages that were received, and why the last attempt failed, if it did.
        self.delivered = 0
        self.trouble: str | None = None
        self._name = sha256(url.encode()).hexdigest()  # an address may hold a secret
        self._lines: dict[str, Line] = {}
        self._start = 0
        self._changed: set[str] = set()
        #: Streams that this process owns since a moment ago: what is stored of them counts.
        self._unread: set[str] = set()
        self._wake = asyncio.Event()

    def load(self) -> None:
        """Read where this receiver was left; a new one is sent what happens from now on."""
        now = DeliveryRow(self._name, START, self.store.last_event(), "{}")
        self.store.keep_delivery(now)  # which the store knows already, if it is not new
        rows = {row.stream: row for row in self.store.deliveries(self._name)}
        self._start = rows.pop(START).position
        self._lines = {name: Line(row.position, row.alarms) for name, row in rows.items()}
        self._changed = set(self.owner.streams)

    def adopt(self, name: str) -> None:
        """Read where a stream was left, and look at its events; in the courier's loop."""
        self._unread.add(name)
        self.wake({name})

    def wake(self, names: set[str]) -> None:
        """Look at the events of some streams; in the courier's loop."""
        self._changed |= names
        self._wake.set()

    async def deliver(self, http: httpx.AsyncClient) -> None:
        """Send what there is, and wait for more, without end."""
        while True:
            self._wake.clear()
            try:
                while self._changed:
                    name = min(self._changed)
                    await self._bring_new(http, name)
                    self._changed.discard(name)
                await self._send_held(http)
                wait = self._until_next()
            except Exception as error:  # such as a store that does not answer
                self._warn("webhook delayed", detail=f"{type(error).__name__}: {error}")
                wait = LONGEST if not isinstance(error, StoreError | Problem) else FIRST
            try:
                async with asyncio.timeout(wait):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _bring_new(self, http: httpx.AsyncClient, name: str) -> None:
        """Send the events of a stream that are not done."""
        if name in self._unread:
            self._read(name)
        line = self._lines.get(name) or Line(self._start)
        while events := self.store.events(line.position, name, MANY):
            for event in events:
                if name not in self.owner.streams:
                    return  # another process continues with it
                alarm = line.take(event, self.policy)
                if alarm is not None:
                    await self._send(http, event, alarm.held_back)
                    alarm.held_back = 0
                if line.alarms:
                    self._lines[name] = line
                    await self._keep(name, line)

    def _read(self, name: str) -> None:
        """Read where a stream was left by the process that owned it before."""
        self._lines.pop(name, None)
        for row in self.store.deliveries(self._name):
            if row.stream == name:
                self._lines[name] = Line(row.position, row.alarms)
        self._unread.discard(name)

    def _own_lines(self) -> list[tuple[str, Line]]:
        """Return the lines of the streams that this process owns."""
        own = self.owner.streams
        return [each for each in self._lines.items() if each[0] in own]

    async def _send_held(self, http: httpx.AsyncClient) -> None:
        """Send what was held back, has not ended, and is due now."""
        for name, line in self._own_lines():
            for alarm in line.due():
                if alarm.held is None or alarm.quiet_until > self.clock.now():
                    continue
                (event,) = self.store.events(alarm.held - 1, name, 1)
                await self._send(http, event, alarm.held_back - 1)
                alarm.open(self.clock.now(), self.policy)
                alarm.held_back = 0
                await self._keep(name, line)

    def _until_next(self) -> float | None:
        """Return the seconds until something that was held back is due."""
        due = [alarm.quiet_until for _, line in self._own_lines() for alarm in line.due()]
        return max(0.0, min(due) - self.clock.now()) if due else None

    async def _keep(self, name: str, line: Line) -> None:
        """Store what is done; the owner's thread alone writes."""
        row = DeliveryRow(self._name, name, line.position, line.as_text())

        def keep() -> None:
            if name in self.owner.streams:  # otherwise another process keeps it
                self.store.keep_delivery(row)

        await asyncio.wrap_future(self.owner.ask(keep))

    async def _send(self, http: httpx.AsyncClient, event: EventRow, held_back: int) -> None:
        """Send an event until it is received or too old."""
        body, attempt = body_of(event, held_back), 0
        while (trouble := await self._attempt(http, id_of(event), body)) is not None:
            self.trouble, attempt = trouble, attempt + 1
            about = {"webhook": shown(self.url), "kind": event.kind, "stream": event.stream}
            if self.clock.now() - event.at > GIVE_UP:
                self._warn("webhook message dropped", **about, detail=trouble, attempts=attempt)
                return
            wait = min(LONGEST, FIRST * 2.0 ** min(attempt - 1, 30)) * random.uniform(0.5, 1.0)
            self._warn("webhook failed", **about, detail=trouble, again_in=round(wait, 1))
            await asyncio.sleep(wait)
        self.trouble = None
        self.delivered += 1

    def _warn(self, what: str, **about: Any) -> None:
        if self.log is not None:
            self.log.warning(what, **about)

    async def _attempt(self, http: httpx.AsyncClient, id_: str, body: bytes) -> str | None:
        """Send a message once; return what went wrong."""
        headers = headers_of(id_, int(self.clock.now()), body, self.keys)
        try:
            async with (
                asyncio.timeout(PATIENCE),
                http.stream("POST", self.url, content=body, headers=headers) as answer,
            ):
                return None if answer.is_success else f"status {answer.status_code}"
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return type(error).__name__  # its text might name the address
