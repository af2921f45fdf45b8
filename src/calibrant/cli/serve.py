"""``calibrant serve``: calibrated probabilities over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrant.cli import console

Store = Annotated[
    str | None, typer.Option(metavar="FILE", help="The store; calibrant.db if not given.")
]


def serve(
    store: Store = None,
    host: Annotated[
        str | None, typer.Option(help="Where to listen; others than this machine need tokens.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="The port; 8042 if not given.")] = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Settings, below flags and CALIBRANT_*."),
    ] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
) -> None:
    """Serve calibrated probabilities over HTTP, and lose nothing that was answered.

    Every prediction and outcome is on the disk before it is answered. Needs the extra service.
    """
    from calibrant.service.settings import Settings  # noqa: PLC0415 - only for this command

    with console.clean_end():
        flags = {"store": store, "host": host, "port": port, "log_level": log_level}
        settings, sources = Settings.read(flags, file=config)
        from calibrant.service.api.server import serve as run  # noqa: PLC0415 - needs the extra
        from calibrant.service.store import StoreError  # noqa: PLC0415

        for line in settings.lines(sources):
            console.note(line)
        try:
            run(settings, console.note)
        except StoreError as error:
            raise ValueError(str(error)) from None
