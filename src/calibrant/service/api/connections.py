"""Connections with a timeout for the head of a request, and answers in one segment."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds within which the head of a request arrives, from its first byte or from the connection.
PATIENCE = 10.0
#: Bytes that are buffered at most.
MOST_GATHERED = 65_536


class Gathering:
    """A transport that sends everything written in one turn of the event loop at once.

    The head and the body of a response are written separately. Sent as two segments, they would
    cost both sides twice as much.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Send something, soon."""
        if not self._pieces:
            self._loop.call_soon(self._flush)
        self._pieces.append(data)
        self._size += len(data)
        if self._size > MOST_GATHERED:
            self._flush()

    def close(self) -> None:
        """Send what is buffered, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._pieces:
            self._transport.write(b"".join(self._pieces))
            self._pieces, self._size = [], 0

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to the transport."""
        return getattr(self._transport, name)


class Connection(H11Protocol):
    """A connection that is closed if a client sends the head of a request too slowly.

    Bodies and answers have their own bounds, in `body` and `gate`.
    """

    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout of the first request."""
        super().connection_made(Gathering(transport, self.loop))  # type: ignore[arg-type]
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what arrived, and keep the timeout while a head is incomplete."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait()
        else:
            self._stop_waiting()

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP; a request that it interrupts is treated as disconnected."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:
                self.transport.close()
                return
        super().send_400_response(msg)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timeout."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._head is None:
            self._head = self.loop.call_later(PATIENCE, self._close)

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _close(self) -> None:
        self._head = None
        if self.conn.their_state is h11.IDLE:
            self.transport.close()
