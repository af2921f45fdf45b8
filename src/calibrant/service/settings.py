"""The settings of the service: flags, then the environment, then a TOML file, then defaults."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from calibrant._spans import as_span, show_span
from calibrant.service.webhooks.policy import ALARMS, DEFAULT, RESETS, Policy, Webhooks
from calibrant.service.webhooks.secrets import MOST, checked_url, key_of, shown

PREFIX = "CALIBRANT_"
LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True)
class Settings:
    """The settings of ``calibrant serve``.

    Attributes
    ----------
    store : str
        The file of an SQLite store, or the address of a PostgreSQL database.
    host, port : str, int
        The address to listen on. Without a token in the store, only this machine's.
    log_level : {"debug", "info", "warning", "error"}
        The level of the log.
    webhooks : tuple of str
        The URLs to which alarms are sent.
    webhook_secret : str
        The secret that signs webhook messages; two of them for rotation. It has no flag, since
        other users of the machine can read flags.
    webhook_alarms : tuple of str
        Which alarms are sent: "calibrated", "raw", "outcomes", "pending", ...
    webhook_cooldown : float
        Each alarm of a stream is sent at most once in this time; given as a span such as "1h".
    webhook_reset : {"window", "end"}
        Whether an alarm may be sent again only after the window, or also after it has ended.

    Examples
    --------
    >>> settings, sources = Settings.read({"port": 9000}, {"CALIBRANT_HOST": "::1"})
    >>> settings.host, settings.port, sources["port"]
    ('::1', 9000, 'flag')
    """

    store: str = "calibrant.db"
    host: str = "127.0.0.1"
    port: int = 8042
    log_level: str = "info"
    webhooks: tuple[str, ...] = field(default=(), repr=False)
    webhook_secret: tuple[str, ...] = field(default=(), repr=False)
    webhook_alarms: tuple[str, ...] = DEFAULT
    webhook_cooldown: float = 3600.0
    webhook_reset: str = "window"

    @classmethod
    def read(
        cls,
        flags: Mapping[str, Any],
        environment: Mapping[str, str] = os.environ,
        file: Path | None = None,
    ) -> tuple[Settings, dict[str, str]]:
        """Return the settings, and where each comes from; flags that are None are not given."""
        stored: dict[str, Any] = {}
        if file is None and environment.get(PREFIX + "CONFIG"):
            file = Path(environment[PREFIX + "CONFIG"])
        if file is not None:
            stored = read_toml(file, {each.name for each in fields(cls)})
        values: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for each in fields(cls):
            variable = PREFIX + each.name.upper()
            if flags.get(each.name) is not None:
                value, source = flags[each.name], "flag"
            elif environment.get(variable):
                value, source = environment[variable], variable
            elif each.name in stored:
                value, source = stored[each.name], str(file)
            else:
                values[each.name], sources[each.name] = each.default, "default"
                continue
            try:
                values[each.name], sources[each.name] = READ[each.name](value), source
            except ValueError as error:
                raise ValueError(f"{each.name} {error} ({source})") from None
        if values["webhooks"] and not values["webhook_secret"]:
            raise ValueError(
                "webhooks need a secret that signs what is sent: webhook_secret in the file, or "
                f"{PREFIX}WEBHOOK_SECRET"
            )
        return cls(**values), sources

    def alerts(self) -> Webhooks:
        """Return where alarms are sent, what signs them, and which they are."""
        policy = Policy(self.webhook_alarms, self.webhook_cooldown, self.webhook_reset)
        return Webhooks(self.webhooks, tuple(map(key_of, self.webhook_secret)), policy)

    def lines(self, sources: Mapping[str, str]) -> list[str]:
        """Return a line for each setting, to be printed; secrets are hidden."""
        return [
            f"{each.name} = {SHOWN.get(each.name, str)(getattr(self, each.name))} "
            f"({sources[each.name]})"
            for each in fields(self)
        ]


def read_toml(file: Path, names: set[str]) -> dict[str, Any]:
    """Return the settings of a file, or raise ValueError with the reason."""
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{file} cannot be read: {error}") from None
    unknown = sorted(found.keys() - names)
    if unknown:
        raise ValueError(
            f"{file}: unknown setting {unknown[0]!r}; allowed are {', '.join(sorted(names))}"
        )
    return found


def as_text(value: object) -> str:
    """Return text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"must be text, got {value!r}")
    return value


def as_port(value: object) -> int:
    """Return a port; 0 takes any that is free."""
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal() or not 0 <= int(text) <= 65535:
        raise ValueError(f"must be an integer in [0, 65535], got {value!r}")
    return int(text)


def as_choice(*choices: str) -> Callable[[object], str]:
    """Return a function that takes one of some values."""

    def read(value: object) -> str:
        if value not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}, got {value!r}")
        return str(value)

    return read


def as_several(read: Callable[[str], Any]) -> Callable[[object], tuple[Any, ...]]:
    """Return a function that takes a list, or text with commas."""

    def read_all(value: object) -> tuple[Any, ...]:
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not all(isinstance(each, str) for each in parts):
            raise ValueError("must be a list of strings, or one string with commas")
        if len(parts) > MOST:
            raise ValueError(f"must be at most {MOST}, got {len(parts)}")
        return tuple(read(each.strip()) for each in parts)

    return read_all


def as_secret(value: str) -> str:
    """Return a secret whose key can be read."""
    key_of(value)
    return value


def as_seconds(value: object) -> float:
    """Return a span in seconds."""
    try:
        return as_span(value, "").length
    except ValueError as error:
        raise ValueError(str(error).strip()) from None


#: How each setting is read; `SHOWN` is how some are shown.
READ: dict[str, Callable[[object], Any]] = {
    "store": as_text,
    "host": as_text,
    "port": as_port,
    "log_level": as_choice(*LEVELS),
    "webhooks": as_several(checked_url),
    "webhook_secret": as_several(as_secret),
    "webhook_alarms": as_several(as_choice(*ALARMS)),
    "webhook_cooldown": as_seconds,
    "webhook_reset": as_choice(*RESETS),
}


def without_password(address: str) -> str:
    """Return a store's address without the password in it.

    Examples
    --------
    >>> without_password("postgresql://me:secret@db/calibrant?sslpassword=more")
    'postgresql://me:...@db/calibrant?sslpassword=...'
    >>> without_password("postgresql://me@db/calibrant")
    'postgresql://me@db/calibrant'
    """
    kind, is_address, rest = address.partition("://")
    if not is_address:
        return address
    place, asks, query = rest.partition("?")
    user, at, place = place.rpartition("@")
    name, has_password, _ = user.partition(":")
    query = re.sub(r"(password=)[^&]*", r"\1...", query)
    return f"{kind}://{name}{':...' if has_password else ''}{at}{place}{asks}{query}"


SHOWN: dict[str, Callable[[Any], str]] = {
    "store": without_password,
    "webhooks": lambda urls: ", ".join(map(shown, urls)) or "none",
    "webhook_secret": lambda secrets: "..." if secrets else "none",
    "webhook_alarms": ", ".join,
    "webhook_cooldown": show_span,
}
