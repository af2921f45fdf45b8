"""The terms of a member: from when it joins the others to its end, or to a lost connection.

The locks of a process live on its connection to the database. When that is lost, its term is over;
nothing of one term is carried over into the next.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from calibrant.service.api.app import create_app
from calibrant.service.api.gate import App
from calibrant.service.cluster.member import Member, View
from calibrant.service.service import Service
from calibrant.service.store.postgres import PostgresStore
from calibrant.service.webhooks.policy import NOWHERE, Webhooks

#: Seconds between two looks at which processes there are and who owns what.
LOOK = 0.25
#: Seconds to wait after a term that could not begin, or was lost.
REST = 1.0


class Terms:
    """The thread that joins the others again and again, and what exists during a term.

    Parameters
    ----------
    store : str
        The address of the database.
    url : str
        Where the other processes reach this one.
    say : callable
        Called with lines for people.
    log
        A logger of structlog.
    webhooks : Webhooks
        Where the alarms of this process's streams are sent.
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
        #: The app and the service of this term, and who owns what; None between two terms.
        self.app: App | None = None
        self.service: Service | None = None
        self.view: View | None = None
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._work, name="calibrant-terms", daemon=True)

    def start(self) -> None:
        """Begin the first term."""
        self._thread.start()

    def send_listeners_away(self) -> None:
        """Drop the clients that follow events; they would delay an end."""
        if self.service is not None:
            self.service.listeners.close()

    def stop(self) -> None:
        """End the term, and begin no other."""
        self._ends.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._ends.is_set():
            try:
                self._term()
            except Exception as error:
                self.log.error("term lost", detail=f"{error}")
                self._ends.wait(REST)

    def _term(self) -> None:
        """Join the others, own a share of the streams, and release it."""
        store = PostgresStore(self.store)
        store.open_shared()
        service = Service(store, self.say, self.log, self.webhooks)
        try:
            service.start_shared()
        except BaseException:
            store.close()
            raise
        try:
            member = Member(service, store, self.url)
            self.view = member.look()
            self.service, self.app = service, create_app(service)
            self.log.info("term begun", processes=len(self.view.processes))
            while not self._ends.wait(LOOK):
                self.view = member.look()
        finally:
            self.app = self.service = self.view = None
            service.stop()
