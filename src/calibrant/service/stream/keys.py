"""Keys of rows, integers or text: for a fleet, in the log as JSON, and in addresses."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from json.encoder import encode_basestring
from typing import Any

Key = int | str


def as_integer(text: str) -> int | None:
    """Return an integer of 64 bits as an address has it; None if it is none."""
    if not text.isascii() or not text.removeprefix("-").isdecimal() or len(text) > 20:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def same_kind(keys: Iterable[Key]) -> list[Any]:
    """Return keys for a fleet; they are all integers or all text, which no type says."""
    return list(keys)


def key_as_text(key: Key) -> str:
    """Return a key as it is logged: JSON."""
    return encode_basestring(key) if isinstance(key, str) else str(key)


def keys_of_text(texts: Sequence[str]) -> list[Key]:
    """Return keys from the log."""
    found: list[Key] = json.loads(f"[{','.join(texts)}]")
    return found
