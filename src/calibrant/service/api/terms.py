"""Several processes on one database take turns: one owns all streams, the others wait.

A process owns the streams for a term: from the moment it has the database's advisory lock, to its
own end or to the loss of the connection that holds the lock. Each term begins as a start does: the
newest snapshot and the log after it. So nothing of one term is taken over into the next.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from calibrant.service.api.app import create_app
from calibrant.service.api.gate import App
from calibrant.service.service import Service
from calibrant.service.store.interface import StoreTakenError
from calibrant.service.store.postgres import PostgresStore
from calibrant.service.webhooks.policy import NOWHERE, Webhooks

#: Seconds between two looks: whether it is this process's turn, and whether it still is.
LOOK = 0.25
#: Seconds to wait after a term that could not begin.
REST = 1.0


class Terms:
    """The thread that waits for its turn, and the app while it is this process's turn.

    Parameters
    ----------
    store : str
        The address of the database.
    url : str
        Where the other processes reach this one.
    say : callable
        Is given lines for people.
    log
        Where terms that begin, end and fail are written, as structlog does it.
    webhooks : Webhooks
        Where alarms ring while it is this process's turn.
    """

    def __init__(
        self,
        store: str,
        url: str,
        say: Callable[[str], None],
        log: Any,
        webhooks: Webhooks = NOWHERE,
    ) -> None:
        self.store, self.url, self.say, self.log = store, url, say, log
        self.webhooks = webhooks
        #: The app of this term; None while another process owns the streams, or none does.
        self.app: App | None = None
        self._service: Service | None = None
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._work, name="calibrant-terms", daemon=True)

    def start(self) -> None:
        """Begin to wait."""
        self._thread.start()

    def send_listeners_away(self) -> None:
        """Let those who follow events go; they would hold up an end."""
        if self._service is not None:
            self._service.listeners.close()

    def stop(self) -> None:
        """End the term, if it is one, and wait for no other."""
        self._ends.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._ends.is_set():
            try:
                self._term()
            except Exception as error:
                self.log.error("no term", detail=f"{error}")
                self._ends.wait(REST)

    def _term(self) -> None:
        """Wait for a turn, own the streams, and let them go."""
        store = PostgresStore(self.store)
        service = Service(store, self.say, self.log, self.webhooks)
        try:
            if not self._begun(service):
                return
        except BaseException:
            store.close()
            raise
        try:
            # The owner's thread alone uses the connection that writes.
            service.owner.ask(lambda: store.say_owner(self.url)).result()
            self._service, self.app = service, create_app(service)
            self.log.info("term begun", streams=len(service.owner.streams))
            while not self._ends.wait(LOOK):
                if not service.owner.ask(store.still_owns).result():
                    self.log.warning("term lost", detail="the connection to the database is gone")
                    break
        finally:
            self.app = self._service = None
            service.stop()

    def _begun(self, service: Service) -> bool:
        """Try until it is this process's turn; return whether it is, rather than the end."""
        while not self._ends.is_set():
            try:
                service.start()
            except StoreTakenError:
                self._ends.wait(LOOK)
            else:
                return True
        service.store.close()
        return False
