"""The process: uvicorn around the app, from start to graceful shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

from calibrant.service.api import uvicorn
from calibrant.service.api.app import create_app
from calibrant.service.api.connections import Connection
from calibrant.service.api.gate import App
from calibrant.service.api.logs import set_up
from calibrant.service.service import Service
from calibrant.service.settings import Settings
from calibrant.service.store import is_shared, open_store
from calibrant.service.stream.garbage import collect_rarely

#: Seconds for open requests when the service is asked to stop.
GRACE = 3
#: Connections at once; more get a 503.
MOST_CONNECTIONS = 1000
KEEP_ALIVE = 30


def serve(
    settings: Settings,
    say: Callable[[str], None],
    beside: Callable[[str], None] | None = None,
) -> None:
    """Serve until the process is asked to stop, by Ctrl-C or SIGTERM.

    `beside` is called with the address, in a thread that ends with the process.
    """
    log = set_up(settings.log_level)
    collect_rarely()
    if is_shared(settings.store):
        serve_shared(settings, say, log, beside)
        return
    service = Service(open_store(settings.store), say, log, settings.alerts())
    service.start()
    try:
        check_host(service, settings.host)
        listening = listen(settings.host, settings.port)
        address = url_of(settings.host, listening)
        begin(address, say, beside)
        with listening:
            asyncio.run(run(server_of(service), service.listeners.close, listening, log))
    finally:
        service.stop()
        log.info("stopped")


def serve_shared(
    settings: Settings,
    say: Callable[[str], None],
    log: Any,
    beside: Callable[[str], None] | None,
) -> None:
    """Serve as one of several processes on one database, until asked to stop."""
    from calibrant.service.cluster.relay import Relay  # noqa: PLC0415 - needs the extra postgres
    from calibrant.service.cluster.terms import Terms  # noqa: PLC0415
    from calibrant.service.store.postgres import PostgresStore  # noqa: PLC0415

    store = PostgresStore(settings.store)
    store.open(alone=False)
    try:
        check_host(Service(store), settings.host)
    finally:
        store.close()
    listening = listen(settings.host, settings.port)
    url = url_for_others(settings.host, listening)
    terms = Terms(settings.store, url, say, log, settings.alerts())
    terms.start()
    try:
        begin(url_of(settings.host, listening), say, beside)
        with listening:
            server = server_around(Relay(terms))
            asyncio.run(run(server, terms.send_listeners_away, listening, log))
    finally:
        terms.stop()
        log.info("stopped")


def begin(address: str, say: Callable[[str], None], beside: Callable[[str], None] | None) -> None:
    """Print the address of the service, and run the function beside it."""
    say(f"{address}/")
    if beside is not None:
        threading.Thread(target=beside, args=(address,), daemon=True).start()


def url_of(host: str, listening: socket.socket) -> str:
    """Return the address of a server."""
    return f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"


def url_for_others(host: str, listening: socket.socket) -> str:
    """Return the address at which the other processes reach a server."""
    is_any = host in ("0.0.0.0", "::")
    return url_of(socket.gethostname() if is_any else host, listening)


def check_host(service: Service, host: str) -> None:
    """Refuse to listen on other addresses while the store has no token."""
    try:
        is_local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = False
    if not service.tokens.current() and not is_local:
        raise ValueError(
            f"host {host} can be reached from other machines, and the store has no tokens; "
            f"first: calibrant token new --store {service.store} --scope admin"
        )


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket, or raise ValueError with the reason."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio leaves Nagle's algorithm on: each answer would wait 40 ms for an ACK.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(2048)  # from here on clients can come, and wait
    except OSError as error:
        listening.close()
        raise ValueError(f"cannot listen on {host} port {port}: {error.strerror}") from None
    return listening


def server_of(service: Service) -> uvicorn.Server:
    """Return the server of a service that has been started."""
    return server_around(create_app(service))


def server_around(app: App) -> uvicorn.Server:
    """Return the server of an app."""
    config = uvicorn.Config(
        app,
        http=Connection,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # a client could forge its address with them
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=MOST_CONNECTIONS,
        lifespan="off",
    )
    return uvicorn.Server(config)


async def run(
    server: uvicorn.Server, close: Callable[[], None], listening: socket.socket, log: Any
) -> None:
    """Run a server in this loop until a signal asks it to end."""

    def end() -> None:
        close()  # clients that follow events would delay the shutdown
        server.should_exit = True
        log.info("stopping")

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, end)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    await server.serve(sockets=[listening])
