"""Forecasters as bytes.

The layout, every number little-endian::

    8 bytes   b"calibrnt"
    4 bytes   version of this layout (1)
    8 bytes   length of the whole in bytes
    4 bytes   length of the header
    header    JSON: class, parameters, rounds, numbers, arrays (name, dtype, length)
    arrays    their raw values, one after the other
    16 bytes  BLAKE2b of everything before

Nothing in it is executed when it is read, and nothing is believed before the digest is checked.
"""

from __future__ import annotations

import json
import os
import struct
from abc import abstractmethod
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Self, SupportsFloat

import numpy as np

from calibrant.forecasters.arguments import Arguments
from calibrant.partitions import Partition
from calibrant.tables.atomic import replacing
from calibrant.tables.errors import InputError

MAGIC = b"calibrnt"
VERSION = 1
FIXED = struct.Struct("<8sIQI")
DIGEST = 16
DTYPES = ("<f8", "<i8")
#: Arguments that calibrant 0.1 saved under another name, by class.
RENAMED = {
    "Interval": {"cells": "intervals"},
    "Swap": {"cells": "intervals"},
    "FosterHart": {"cells": "gaps"},
    "AbernethyBartlettHazan": {"cells": "gaps"},
    "K29": {"cells": "gaps"},
    "K29Star": {"cells": "gaps"},
    "AOSA": {"cells": "gaps"},
    "Foster1999": {"cells": "bins"},
    "FosterVohra": {"cells": "bins"},
}


class Saved(NamedTuple):
    """What the bytes of a forecaster hold."""

    name: str
    parameters: dict[str, Any]
    rounds: int
    state: dict[str, Any]


class Savable(Arguments):
    """What is made from arguments, plays rounds and is saved as bytes.

    A subclass says what to save (`_save`) and how to go on from it (`_load`).
    """

    __slots__ = ()

    @abstractmethod
    def _save(self) -> tuple[int, dict[str, Any]]:
        """Return the rounds played, and all else that they left behind, by name."""

    @abstractmethod
    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        """Take over what `_save` returned, or raise ValueError."""

    def to_bytes(self) -> bytes:
        """Return the whole state as bytes: versioned, checksummed, without pickle.

        Examples
        --------
        >>> from calibrant import Zoom
        >>> forecaster = Zoom(seed=7)
        >>> _ = forecaster.run([1, 0, 1, 1])
        >>> again = Zoom.from_bytes(forecaster.to_bytes())
        >>> again.predict() == forecaster.predict()
        True
        """
        return pack(Saved(type(self).__name__, self._given, *self._save()))

    @classmethod
    def from_bytes(cls, blob: bytes | bytearray | memoryview) -> Self:
        """Return what `to_bytes` saved; it continues exactly as that one would."""
        saved = unpack(blob)
        if saved.name != cls.__name__:
            raise ValueError(f"these bytes hold a {saved.name}, not a {cls.__name__}")
        try:
            restored = cls(**saved.parameters)
            restored._load(saved.rounds, saved.state)
        except (KeyError, TypeError) as error:
            raise ValueError(f"the saved {cls.__name__} makes no sense: {error}") from None
        return restored

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_bytes` to a file, whole or not at all: it is replaced in one step.

        Examples
        --------
        >>> import tempfile
        >>> from calibrant import Zoom
        >>> forecaster = Zoom(seed=7)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     forecaster.save(f"{folder}/zoom")
        ...     again = Zoom.load(f"{folder}/zoom")
        >>> again.predict() == forecaster.predict()
        True
        """
        with replacing(path) as file:
            file.write(self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return what `save` wrote; it continues exactly as that one would."""
        source = os.fspath(path)
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", source=source) from None
        except ValueError as error:
            raise InputError(str(error), source=source) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._given.items())
        return f"{type(self).__name__}({arguments})"


def pack(saved: Saved) -> bytes:
    """Return a forecaster's state as bytes that `unpack` reads."""
    numbers = {k: v for k, v in saved.state.items() if not isinstance(v, np.ndarray)}
    arrays = {k: v for k, v in saved.state.items() if isinstance(v, np.ndarray)}
    header = json.dumps(
        {
            "class": saved.name,
            "parameters": saved.parameters,
            "rounds": saved.rounds,
            "numbers": numbers,
            "arrays": [[k, v.dtype.newbyteorder("<").str, len(v)] for k, v in arrays.items()],
        },
        separators=(",", ":"),
        default=_as_json,
    ).encode()
    body = b"".join(
        v.astype(v.dtype.newbyteorder("<"), copy=False).tobytes() for v in arrays.values()
    )
    length = FIXED.size + len(header) + len(body) + DIGEST
    content = FIXED.pack(MAGIC, VERSION, length, len(header)) + header + body
    return content + blake2b(content, digest_size=DIGEST).digest()


def unpack(blob: bytes | bytearray | memoryview) -> Saved:
    """Return what the bytes hold, or raise ValueError that says why they cannot be read."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise ValueError(f"a saved forecaster is bytes, got {type(blob).__name__}")
    blob = bytes(blob)
    if not blob.startswith(MAGIC):
        raise ValueError(
            "these bytes are not a saved calibrant forecaster: the signature is missing"
        )
    if len(blob) < FIXED.size:
        raise ValueError(f"the saved forecaster is cut short after {len(blob)} bytes")
    _, version, length, header_length = FIXED.unpack_from(blob)
    if version != VERSION:
        raise ValueError(
            f"the saved forecaster has layout version {version}; this calibrant reads {VERSION}"
        )
    if len(blob) != length:
        raise ValueError(
            f"the saved forecaster should have {length} bytes, got {len(blob)}: "
            + ("it is cut short" if len(blob) < length else "something follows it")
        )
    content, digest = blob[:-DIGEST], blob[-DIGEST:]
    if blake2b(content, digest_size=DIGEST).digest() != digest:
        raise ValueError("the saved forecaster was altered: its checksum does not match")
    # From here on the bytes are as some calibrant wrote them; a reader still checks their sense.
    try:
        return _parse(content, header_length)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the saved forecaster makes no sense: {error}") from None


def _as_json(value: object) -> dict[str, Any] | float:
    """Return an argument that JSON has no type for: a partition, or a number such as a Fraction."""
    if isinstance(value, Partition):
        return {"edges": value.edges, "domain": value.domain, "turn": value.turn}
    if isinstance(value, SupportsFloat):
        return float(value)
    raise TypeError(f"cannot save a {type(value).__name__}")


def _from_json(mapping: dict[str, Any]) -> dict[str, Any] | Partition:
    return Partition(**mapping) if mapping.keys() == {"edges", "domain", "turn"} else mapping


def _parse(content: bytes, header_length: int) -> Saved:
    start = FIXED.size + header_length
    header: Mapping[str, Any] = json.loads(content[FIXED.size : start], object_hook=_from_json)
    state: dict[str, Any] = dict(header["numbers"])
    for name, dtype, count in header["arrays"]:
        if dtype not in DTYPES:
            raise ValueError(f"array {name!r} has dtype {dtype!r}")
        if not isinstance(count, int) or count < 0:
            raise ValueError(f"array {name!r} has length {count!r}")
        values = np.frombuffer(content, dtype=dtype, count=count, offset=start)
        state[name] = values.astype(values.dtype.newbyteorder("="))
        start += values.nbytes
    if start != len(content):
        raise ValueError(f"{len(content) - start} bytes belong to no array")
    rounds = header["rounds"]
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 0 <= rounds < 2**62:
        raise ValueError(f"rounds must be an integer of at least 0, got {rounds!r}")
    name = str(header["class"])
    parameters: dict[str, Any] = dict(header["parameters"])
    now = RENAMED.get(name, {})
    return Saved(name, {now.get(key, key): parameters[key] for key in parameters}, rounds, state)
