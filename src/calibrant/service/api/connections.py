"""Connections that do not wait forever for a request to begin."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds within which the head of a request arrives, from its first byte or from the connection.
PATIENCE = 10.0


class Connection(H11Protocol):
    """A connection that is closed if a client sends the head of a request too slowly.

    Bodies and answers have their own bounds, in `body` and `gate`.
    """

    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what came, and wait on if a head has begun and is not whole."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
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
