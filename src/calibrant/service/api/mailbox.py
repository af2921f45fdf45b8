"""Answers on their way from the owner's thread into an event loop, many with one wake-up."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from calibrant.service.stream.owner import Promise


class Letter:
    """A `Promise` of which an event loop waits for the answer."""

    __slots__ = ("_box", "_is_sent", "awaited")

    def __init__(self, box: Mailbox, awaited: asyncio.Future[Any]) -> None:
        self._box, self.awaited, self._is_sent = box, awaited, False

    def done(self) -> bool:
        """Whether it has been answered."""
        return self._is_sent

    def set_result(self, result: Any) -> None:
        """Send an answer."""
        self._is_sent = True
        self._box.put(self.awaited, self.awaited.set_result, result)

    def set_exception(self, exception: BaseException) -> None:
        """Send why there is none."""
        self._is_sent = True
        self._box.put(self.awaited, self.awaited.set_exception, exception)


class Mailbox:
    """The letters to one event loop, from other threads."""

    def __init__(self) -> None:
        self._letters: deque[tuple[asyncio.Future[Any], Callable[[Any], None], Any]] = deque()
        self._is_called = False

    def put(
        self, awaited: asyncio.Future[Any], answer: Callable[[Any], None], content: Any
    ) -> None:
        """Send a letter; only the first of several calls the loop."""
        self._letters.append((awaited, answer, content))
        if not self._is_called:
            self._is_called = True
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                awaited.get_loop().call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._is_called = False  # before the letters are taken: a later one calls again
        while self._letters:
            awaited, answer, content = self._letters.popleft()
            if not awaited.done():  # who waited may have left
                answer(content)


_boxes: WeakKeyDictionary[asyncio.AbstractEventLoop, Mailbox] = WeakKeyDictionary()


async def promised(begin: Callable[[Promise], object]) -> Any:
    """Let something begin that keeps a promise, in whatever thread, and return the answer."""
    loop = asyncio.get_running_loop()
    box = _boxes.get(loop)
    if box is None:
        box = _boxes[loop] = Mailbox()
    letter = Letter(box, loop.create_future())
    begin(letter)
    return await letter.awaited
