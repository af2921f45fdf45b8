"""The settings of the service: flags, then the environment, then a TOML file, then defaults."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

PREFIX = "CALIBRANT_"
LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True)
class Settings:
    """What ``calibrant serve`` is told.

    Attributes
    ----------
    store : str
        The file of an SQLite store, or the address of a PostgreSQL database.
    host, port : str, int
        Where to listen. Without a token in the store, only on this machine.
    log_level : {"debug", "info", "warning", "error"}
        How much is logged.

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

    @classmethod
    def read(
        cls,
        flags: Mapping[str, Any],
        environment: Mapping[str, str] = os.environ,
        file: Path | None = None,
    ) -> tuple[Settings, dict[str, str]]:
        """Return the settings, and where each comes from; flags that are None are not given."""
        told: dict[str, Any] = {}
        if file is None and environment.get(PREFIX + "CONFIG"):
            file = Path(environment[PREFIX + "CONFIG"])
        if file is not None:
            told = read_toml(file, {each.name for each in fields(cls)})
        values: dict[str, Any] = {}
        sources: dict[str, str] = {}
        for each in fields(cls):
            variable = PREFIX + each.name.upper()
            if flags.get(each.name) is not None:
                values[each.name], sources[each.name] = flags[each.name], "flag"
            elif environment.get(variable):
                values[each.name], sources[each.name] = environment[variable], variable
            elif each.name in told:
                values[each.name], sources[each.name] = told[each.name], str(file)
            else:
                values[each.name], sources[each.name] = each.default, "default"
        values["port"] = as_port(values["port"], sources["port"])
        for name in ("store", "host", "log_level"):
            if not isinstance(values[name], str) or not values[name]:
                raise ValueError(f"{name} must be text, got {values[name]!r} ({sources[name]})")
        if values["log_level"] not in LEVELS:
            raise ValueError(
                f"log_level must be one of {', '.join(LEVELS)}, got {values['log_level']!r} "
                f"({sources['log_level']})"
            )
        return cls(**values), sources

    def lines(self, sources: Mapping[str, str]) -> list[str]:
        """Return a line for each setting, for people; a password in a store's address is hidden."""
        return [
            f"{each.name} = {without_password(str(getattr(self, each.name)))} "
            f"({sources[each.name]})"
            for each in fields(self)
        ]


def read_toml(file: Path, names: set[str]) -> dict[str, Any]:
    """Return the settings of a file, or say what is wrong with it."""
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{file} cannot be read: {error}") from None
    unknown = sorted(found.keys() - names)
    if unknown:
        raise ValueError(
            f"{file}: there is no setting {unknown[0]!r}; there are {', '.join(sorted(names))}"
        )
    return found


def as_port(value: object, source: str) -> int:
    """Return a port; 0 takes any that is free."""
    text = str(value)
    if isinstance(value, bool) or not text.isdecimal() or not 0 <= int(text) <= 65535:
        raise ValueError(f"port must be an integer in [0, 65535], got {value!r} ({source})")
    return int(text)


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
