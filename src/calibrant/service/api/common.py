"""What several routes do."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeVar, cast

from fastapi import Path, Request

from calibrant.service.api.mailbox import promised
from calibrant.service.limits import NAME
from calibrant.service.problems import Problem, bad_value
from calibrant.service.service import Service
from calibrant.service.store.interface import StoreError
from calibrant.service.tokens import Access

T = TypeVar("T")
#: A stream's name in an address.
Name = Annotated[str, Path(pattern=f"^{NAME}$")]


def service_of(request: Request) -> Service:
    """Return the service behind the app."""
    service: Service = request.app.state.service
    return service


def access_of(request: Request) -> Access:
    """Return what the gate found that the request may do."""
    access: Access = request.state.access
    return access


def checked_name(name: str) -> str:
    """Return a stream's name, or refuse it."""
    if not re.fullmatch(NAME, name):
        raise bad_value(
            f"got {name[:60]!r}", "name", "1 to 100 letters, digits, dots, dashes or underscores, "
            "a letter or digit first"
        )  # fmt: skip
    return name


async def looked(service: Service, question: Callable[[], T]) -> T:
    """Ask something in the owner's thread."""
    try:
        return cast(T, await promised(partial(service.owner.look, question)))
    except StoreError as error:
        raise Problem(503, str(error)) from None
