"""``calibrant serve``: calibrated probabilities over HTTP, and the care of its store."""

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
        help="The store: a file, calibrant.db by default, or postgresql://...",
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE.toml", help="Settings; flags and CALIBRANT_... override them."),
]


def serve(
    store: StoreFile = None,
    host: Annotated[
        str | None, typer.Option(help="Where to listen; other machines need tokens.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="The port; 8042 by default.")] = None,
    config: Config = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    webhooks: Annotated[
        list[str] | None,
        typer.Option(
            "--webhook",
            metavar="URL",
            help="Where alarms are sent; may be repeated. CALIBRANT_WEBHOOK_SECRET signs them.",
        ),
    ] = None,
    webhook_alarms: Annotated[
        str | None,
        typer.Option(
            help="Default calibrated,calibrated_keys,outcomes,pending; also raw, raw_keys."
        ),
    ] = None,
    webhook_cooldown: Annotated[
        str | None,
        typer.Option(help="Send an alarm of a stream at most once in this time; 1h by default."),
    ] = None,
    webhook_reset: Annotated[
        str | None,
        typer.Option(help="window, or end: an alarm's end lets the next one be sent at once."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Verify the store, report what was found, and exit.")
    ] = False,
    backup: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Copy the store, in use or not, and exit."),
    ] = None,
    adopt: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=FILE",
            help="Create a stream from what calibrant recalibrate --state saved, and exit.",
        ),
    ] = None,
    give_up_waiting: Annotated[
        bool,
        typer.Option(
            "--give-up-waiting", help="With --adopt: drop predictions that wait for outcomes."
        ),
    ] = False,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", help="Replay the bundled flights into it at 1,000 times real speed."
        ),
    ] = False,
) -> None:
    """Serve calibrated probabilities over HTTP, and lose nothing that was answered.

    Every prediction and outcome is on the disk before it is answered. With --check, the log is
    replayed and compared with what was answered; the exit code is 3 if anything is wrong. Needs
    the extra service.
    """
    from calibrant.service.settings import Settings  # noqa: PLC0415 - only for this command

    wrong: list[str] = []
    with console.clean_end(), store_errors():
        flags = {
            "store": store, "host": host, "port": port, "log_level": log_level,
            "webhooks": webhooks or None, "webhook_alarms": webhook_alarms,
            "webhook_cooldown": webhook_cooldown, "webhook_reset": webhook_reset,
        }  # fmt: skip
        settings, sources = Settings.read(flags, file=config)
        if backup is not None:
            copy(settings.store, backup)
        elif adopt is not None:
            take_over(settings.store, adopt, give_up_waiting)
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
    """Play the bundled flights to a service, until it ends."""
    from calibrant.service.client import Client, UnavailableError  # noqa: PLC0415 - needs the extra
    from calibrant.service.demo import STREAM, replay_flights  # noqa: PLC0415

    console.note(f"flights of 2013, 1,000 times as fast: {address}/streams/{STREAM}")
    # A service that stops closes the connection: nothing is left to be done.
    with Client(address, timeout=60, patience=0) as client, suppress(UnavailableError):
        replay_flights(client)


def copy(address: str, target: Path) -> None:
    """Copy a store that may be in use."""
    from calibrant.service.store import existing_store  # noqa: PLC0415

    existing_store(address).backup(str(target))
    console.note(f"wrote {target}")


def take_over(address: str, named: str, give_up: bool) -> None:
    """Make a stream of a saved state, in a store that is not in use."""
    from calibrant.service.store import open_store  # noqa: PLC0415
    from calibrant.service.stream.adoption import adopt  # noqa: PLC0415

    name, is_named, file = named.partition("=")
    if not is_named or not file:
        raise ValueError(f"--adopt takes NAME=FILE, got {named!r}")
    said = adopt(open_store(address), name, Path(file), time.time(), give_up=give_up)
    console.say(said, fold=True)


def verify(address: str) -> list[str]:
    """Say what is wrong with a store, and return it."""
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
    """Turn what a store refuses into an error of the user's."""
    from calibrant.service.store import StoreError  # noqa: PLC0415

    try:
        yield
    except StoreError as error:
        raise ValueError(str(error)) from None
