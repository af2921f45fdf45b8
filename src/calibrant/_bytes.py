"""What is saved as bytes, whatever it is.

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
import struct
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

MAGIC = b"calibrnt"
VERSION = 1
FIXED = struct.Struct("<8sIQI")
DIGEST = 16
DTYPES = ("<f8", "<f4", "<i8")
#: More rounds than anybody will play: three years at 10^8 a second. Up to here, counts are exact as
#: floats.
MOST_ROUNDS = 2**53


class Saved(NamedTuple):
    """What the bytes hold."""

    name: str
    parameters: dict[str, Any]
    rounds: int
    state: dict[str, Any]


def pack(saved: Saved, as_json: Callable[[object], Any] | None = None) -> bytes:
    """Return a state as bytes that `unpack` reads; `as_json` turns what JSON has no type for."""
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
        default=as_json,
    ).encode()
    body = b"".join(
        v.astype(v.dtype.newbyteorder("<"), copy=False).tobytes() for v in arrays.values()
    )
    length = FIXED.size + len(header) + len(body) + DIGEST
    content = FIXED.pack(MAGIC, VERSION, length, len(header)) + header + body
    return content + blake2b(content, digest_size=DIGEST).digest()


def unpack(
    blob: bytes | bytearray | memoryview,
    from_json: Callable[[dict[str, Any]], Any] | None = None,
    what: str = "forecaster",
) -> Saved:
    """Return what the bytes hold, or raise ValueError that says why they cannot be read."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise ValueError(f"a saved {what} is bytes, got {type(blob).__name__}")
    blob = bytes(blob)
    if not blob.startswith(MAGIC):
        raise ValueError(f"these bytes are not a saved calibrant {what}: the signature is missing")
    if len(blob) < FIXED.size:
        raise ValueError(f"the saved {what} is cut short after {len(blob)} bytes")
    _, version, length, header_length = FIXED.unpack_from(blob)
    if version != VERSION:
        raise ValueError(
            f"the saved {what} has layout version {version}; this calibrant reads {VERSION}"
        )
    if len(blob) != length:
        raise ValueError(
            f"the saved {what} should have {length} bytes, got {len(blob)}: "
            + ("it is cut short" if len(blob) < length else "something follows it")
        )
    content, digest = blob[:-DIGEST], blob[-DIGEST:]
    if blake2b(content, digest_size=DIGEST).digest() != digest:
        raise ValueError(f"the saved {what} was altered: its checksum does not match")
    # From here on the bytes are as some calibrant wrote them; a reader still checks their sense.
    try:
        return _parse(content, header_length, from_json)
    except (KeyError, OverflowError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the saved {what} is invalid: {error}") from None


def _parse(
    content: bytes, header_length: int, from_json: Callable[[dict[str, Any]], Any] | None
) -> Saved:
    start = FIXED.size + header_length
    header: Mapping[str, Any] = json.loads(content[FIXED.size : start], object_hook=from_json)
    state: dict[str, Any] = dict(header["numbers"])
    for name, dtype, count in header["arrays"]:
        if not isinstance(name, str) or dtype not in DTYPES:
            raise ValueError(f"array {name!r} has dtype {dtype!r}")
        if not isinstance(count, int) or count < 0:
            raise ValueError(f"array {name!r} has length {count!r}")
        values = np.frombuffer(content, dtype=dtype, count=count, offset=start)
        state[name] = values.astype(values.dtype.newbyteorder("="))
        start += values.nbytes
    if start != len(content):
        raise ValueError(f"{len(content) - start} bytes belong to no array")
    rounds = header["rounds"]
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 0 <= rounds < MOST_ROUNDS:
        raise ValueError(f"rounds must be an integer in [0, {MOST_ROUNDS}), got {rounds!r:.60}")
    return Saved(str(header["class"]), dict(header["parameters"]), rounds, state)
