"""``calibrant serve``: calibrated probabilities over HTTP, and maintenance of the store."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli import console

#: The exit code when a check finds something wrong.
DAMAGED = 3

StoreFile = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="STORE",
        help="The store: a file (calibrant.db by default) or postgresql://...",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE.toml", help="Settings; flags and CALIBRANT_... override them."),
]


def serve(
    store: StoreFile = None,
    host: Annotated[
        str | None,
        typer.Option(
            help="Address to listen on; one that other machines can reach needs tokens "
            "(calibrant token new)."
        ),
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port; 8042 by default.")] = None,
    config: Config = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    webhooks: Annotated[
        list[str] | None,
        typer.Option(
            "--webhook",
            metavar="URL",
            help="Send alarms to this URL; may be repeated. Signed with CALIBRANT_WEBHOOK_SECRET.",
        ),
    ] = None,
    webhook_alarms: Annotated[
        str | None,
        typer.Option(
            help="Alarms to send: calibrated,calibrated_keys,outcomes,pending by default; also "
            "raw, raw_keys."
        ),
    ] = None,
    webhook_cooldown: Annotated[
        str | None,
        typer.Option(help="Send each alarm of a stream at most once in this time; 1h by default."),
    ] = None,
    webhook_reset: Annotated[
        str | None,
        typer.Option(
            help="window (default), or end: once an alarm has ended, the next one is sent at once."
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Verify the store, report problems, and exit.")
    ] = False,
    backup: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Copy the store, which may be in use, and exit."),
    ] = None,
    adopt: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=FILE",
            help="Create a stream from a state saved by calibrant recalibrate --state, and exit.",
        ),
    ] = None,
    drop_pending: Annotated[
        bool,
        typer.Option("--drop-pending", help="With --adopt: drop pending predictions."),
    ] = False,
    demo: Annotated[
        bool,
        typer.Option("--demo", help="Also replay the bundled flights, at 1,000 times real speed."),
    ] = False,
) -> None:
    """Serve calibrated probabilities over HTTP, without losing anything that was acknowledged.

    Every prediction and outcome is on disk before the response is sent. With --check, the log is
    replayed and compared with the responses; the exit code is 3 if they differ. Needs the extra
    `service`.
    """
    wrong: list[str] = []
    with console.clean_end(), store_errors():
        from calibrant.service.settings import Settings  # noqa: PLC0415 - needs the extra

        flags = {
            "store": store, "host": host, "port": port, "log_level": log_level,
            "webhooks": webhooks or None, "webhook_alarms": webhook_alarms,
            "webhook_cooldown": webhook_cooldown, "webhook_reset": webhook_reset,
        }  # fmt: skip
        settings, sources = Settings.read(flags, file=config)
        if backup is not None:
            copy(settings.store, backup)
        elif adopt is not None:
            take_over(settings.store, adopt, drop_pending)
        elif check:
            wrong = verify(settings.store)
        else:
            from calibrant.service.api.server import serve as run  # noqa: PLC0415 - needs the extra

            for line in settings.lines(sources):
                console.note(line)
            run(settings, console.note, play_flights if demo else None)
    if wrong:
        raise typer.Exit(DAMAGED)


def play_flights(address: str) -> None:
    """Replay the bundled flights to a service, until the service stops."""
    from calibrant.service.client import Client, UnavailableError  # noqa: PLC0415 - needs the extra
    from calibrant.service.demo import STREAM, replay_flights  # noqa: PLC0415

    console.note(f"flights of 2013 at 1,000 times real speed: {address}/streams/{STREAM}")
    # A service that stops closes the connection; then there is nothing left to do.
    with Client(address, timeout=60, patience=0) as client, suppress(UnavailableError):
        replay_flights(client)


def copy(address: str, target: Path) -> None:
    """Copy a store that may be in use."""
    from calibrant.service.store import existing_store  # noqa: PLC0415

    existing_store(address).backup(str(target))
    console.note(f"wrote {target}")


def take_over(address: str, named: str, give_up: bool) -> None:
    """Create a stream from a saved state, in a store that is not in use."""
    from calibrant.service.store import open_store  # noqa: PLC0415
    from calibrant.service.stream.adoption import adopt  # noqa: PLC0415

    name, is_named, file = named.partition("=")
    if not is_named or not file:
        raise ValueError(f"--adopt must be NAME=FILE, got {named!r}")
    answer = adopt(open_store(address), name, Path(file), time.time(), give_up=give_up)
    console.say(answer, fold=True)


def verify(address: str) -> list[str]:
    """Print the problems of a store, and return them."""
    from calibrant.service.store import existing_store  # noqa: PLC0415
    from calibrant.service.stream.verification import check_store  # noqa: PLC0415

    store = existing_store(address)
    wrong = check_store(store, console.note)
    for each in wrong:
        console.say(each, fold=True)
    if not wrong:
        console.say(f"{store}: no problems found")
    return wrong


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn an error of the store into a user error."""
    from calibrant.service.store import StoreError  # noqa: PLC0415

    try:
        yield
    except StoreError as error:
        raise ValueError(str(error)) from None
