"""``calibrant token``: access to the streams of a store."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from calibrant.cli import console
from calibrant.cli.serve import Config, StoreFile, store_errors

app = typer.Typer(no_args_is_help=True, help="Create, list and revoke the tokens of a store.")


def address_of(store: str | None, config: Config) -> str:
    """Return the address of the store from flags, environment and settings file."""
    from calibrant.service.settings import Settings  # noqa: PLC0415 - only for this command

    return Settings.read({"store": store}, file=config)[0].store


@app.command()
def new(
    scope: Annotated[str, typer.Option(help="read, write (and read) or admin (and both).")],
    store: StoreFile = None,
    stream: Annotated[str, typer.Option(help="The stream's name, or * for all.")] = "*",
    lasts: Annotated[
        str | None,
        typer.Option(metavar="SPAN", help='Lifetime, such as "90d"; unlimited if not given.'),
    ] = None,
    config: Config = None,
) -> None:
    """Create a token and print it on the last line; it cannot be shown again."""
    from calibrant.service.store import open_store  # noqa: PLC0415
    from calibrant.service.tokens import new_token  # noqa: PLC0415

    with console.clean_end(), store_errors():
        kept = open_store(address_of(store, config))
        kept.open(alone=False)
        token = new_token(kept, scope, stream=stream, lasts=lasts, now=time.time())
        kept.close()
        console.note("save this token: the store keeps only its hash")
        typer.echo(token)


@app.command()
def rotate(
    name: Annotated[str, typer.Argument(help="The name of the token, as list shows it.")],
    store: StoreFile = None,
    grace: Annotated[
        str, typer.Option(metavar="SPAN", help="How long the old token remains valid.")
    ] = "1h",
    config: Config = None,
) -> None:
    """Replace a token by one with the same rights; the old one remains valid for a while."""
    from calibrant.service.store import existing_store  # noqa: PLC0415
    from calibrant.service.tokens import rotate_token  # noqa: PLC0415

    with console.clean_end(), store_errors():
        kept = existing_store(address_of(store, config))
        kept.open(alone=False)
        token = rotate_token(kept, name, grace=grace, now=time.time())
        kept.close()
        console.note(
            f"{name} expires in {grace}; save the new token: the store keeps only its hash"
        )
        typer.echo(token)


@app.command("list")
def list_tokens(store: StoreFile = None, config: Config = None) -> None:
    """List the tokens with their scope, stream and expiry."""
    from calibrant.service.store import existing_store  # noqa: PLC0415

    with console.clean_end(), store_errors():
        for each in existing_store(address_of(store, config)).tokens():
            end = "does not expire" if each.expires is None else f"expires {shown(each.expires)}"
            over = each.expires is not None and each.expires <= time.time()
            typer.echo(
                f"{each.name}  {each.scope:5}  {each.stream}  created {shown(each.created)}  "
                + ("expired" if over else end)
            )


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(help="The name of the token, as list shows it.")],
    store: StoreFile = None,
    config: Config = None,
) -> None:
    """Revoke a token; a running service rejects it within a second or two."""
    from calibrant.service.store import existing_store  # noqa: PLC0415

    with console.clean_end(), store_errors():
        kept = existing_store(address_of(store, config))
        kept.open(alone=False)
        found = kept.end_token(name, time.time())
        kept.close()
        if not found:
            raise ValueError(f"there is no token {name!r}; calibrant token list shows them")
        console.note(f"revoked {name}")


def shown(at: float) -> str:
    """Return a time as text."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
