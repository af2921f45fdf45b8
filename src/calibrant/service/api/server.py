"""The process: uvicorn around the app, from start to a graceful end."""

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
from calibrant.service.logs import set_up
from calibrant.service.service import Service
from calibrant.service.settings import Settings
from calibrant.service.store import open_store

#: Seconds for open requests when the service is told to stop.
GRACE = 3
#: Connections at once; more are told to come again.
MOST_CONNECTIONS = 1000
KEEP_ALIVE = 30


def serve(
    settings: Settings,
    say: Callable[[str], None],
    beside: Callable[[str], None] | None = None,
) -> None:
    """Serve until the process is told to stop, by Ctrl-C or SIGTERM.

    What is to be done `beside` is called with the address, in a thread that ends with the process.
    """
    log = set_up(settings.log_level)
    service = Service(open_store(settings.store), say, log)
    service.start()
    try:
        check_host(service, settings.host)
        listening = listen(settings.host, settings.port)
        port = listening.getsockname()[1]
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        address = f"http://{host}:{port}"
        say(f"{address}/")
        if beside is not None:
            threading.Thread(target=beside, args=(address,), daemon=True).start()
        with listening:
            asyncio.run(run(service, listening, log))
    finally:
        service.stop()
        log.info("stopped")


def check_host(service: Service, host: str) -> None:
    """Refuse to listen to others as long as there is no token."""
    try:
        is_local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = False
    if service.tokens.is_open and not is_local:
        raise ValueError(
            f"host {host} can be reached from other machines, and the store has no token; "
            f"first: calibrant token new --store {service.store} --scope admin"
        )


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say why not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
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
    config = uvicorn.Config(
        create_app(service),
        http=Connection,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # who says where it comes from is not believed
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=MOST_CONNECTIONS,
        lifespan="off",
    )
    return uvicorn.Server(config)


async def run(service: Service, listening: socket.socket, log: Any) -> None:
    """Run the server in this loop until a signal asks it to end."""
    server = server_of(service)

    def end() -> None:
        log.info("stopping")
        service.listeners.close()  # those who follow events would hold it up
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, end)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    await server.serve(sockets=[listening])
