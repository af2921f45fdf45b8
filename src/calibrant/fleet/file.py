"""One file for a fleet: a header and flat arrays, which can be memory-mapped.

The layout, every number little-endian::

    8 bytes   b"calfleet"
    4 bytes   version of this layout (5)
    4 bytes   length of the header
    8 bytes   length of the file
    header    JSON: settings, and of each array its shard, name, dtype, shape, start and BLAKE2b
    16 bytes  BLAKE2b of everything before
    arrays    their raw values, each at a multiple of 64 bytes, zeros in between

A file is replaced atomically, and is on disk before it takes its name: after a crash or a power
failure, it is either the old file or the new one. Reading it executes nothing from it.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import check_integer
from calibrant.tables.atomic import replacing
from calibrant.tables.errors import InputError

MAGIC = b"calfleet"
VERSION = 5
FIXED = struct.Struct("<8sIIQ")
DIGEST = 16
ALIGNED = 64
#: What arrays may hold. A struct of a kernel is saved as its bytes.
DTYPES = ("<f8", "<f4", "<i8", "<i4", "<u8", "<u4", "|u1", "|b1")

MOST_SHARDS = 2**20
#: What a header that makes no sense raises.
BROKEN = (KeyError, OverflowError, TypeError, ValueError, RecursionError)

Arrays = Mapping[str, npt.NDArray[Any]]
#: All bytes of a file.
Whole = mmap.mmap | bytes | memoryview


class Entry(NamedTuple):
    """One array of the file."""

    shard: int
    name: str
    dtype: str
    shape: list[int]
    start: int
    digest: str

    @property
    def nbytes(self) -> int:
        """Bytes of its values."""
        return np.dtype(self.dtype).itemsize * prod(self.shape)


def save(
    path: str | os.PathLike[str], settings: Mapping[str, Any], shards: Sequence[Arrays]
) -> None:
    """Write settings that JSON can hold and the arrays of each shard, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(f"{folder}/fleet", {"seed": 7}, [{"a": np.arange(3.0)}, {}])
    ...     load(f"{folder}/fleet")
    ({'seed': 7}, [{'a': array([0., 1., 2.])}, {}])
    """
    with replacing(path, durable=True) as file:
        for piece in pieces(settings, shards):
            file.write(piece)


def pieces(settings: Mapping[str, Any], shards: Sequence[Arrays]) -> Iterator[bytes | memoryview]:
    """Return what a file holds, from its first byte to its last."""
    arrays = [
        (shard, name, _plain(name, array))
        for shard, named in enumerate(shards)
        for name, array in named.items()
    ]
    entries = [
        Entry(shard, name, array.dtype.str, list(array.shape), 0, _digest(array))
        for shard, name, array in arrays
    ]
    # Where arrays start depends on the header's length, which depends on the starts: they are
    # counted from the end of the header, so one round is enough.
    start = 0
    for at, entry in enumerate(entries):
        entries[at] = entry._replace(start=start)
        start = _aligned(start + entry.nbytes)
    header = json.dumps(
        {"settings": settings, "shards": len(shards), "arrays": entries}, separators=(",", ":")
    ).encode()
    first = _aligned(FIXED.size + len(header) + DIGEST)
    length = first + start
    head = FIXED.pack(MAGIC, VERSION, len(header), length) + header
    yield head + blake2b(head, digest_size=DIGEST).digest()
    place = len(head) + DIGEST
    for entry, (_, _, array) in zip(entries, arrays, strict=True):
        yield bytes(first + entry.start - place)
        yield _bytes_of(array)
        place = first + entry.start + entry.nbytes
    yield bytes(length - place)


def load(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[dict[str, npt.NDArray[Any]]]]:
    """Return settings and arrays, as copies, after every checksum was verified."""
    settings, shards = open_mapped(path, verify=True)
    return settings, [{name: array.copy() for name, array in shard.items()} for shard in shards]


def load_bytes(
    blob: bytes | bytearray | memoryview,
) -> tuple[dict[str, Any], list[dict[str, npt.NDArray[Any]]]]:
    """Return settings and arrays, which are views of the bytes, after verifying every checksum."""
    try:
        return _parse(memoryview(blob).toreadonly(), verify=True)
    except BROKEN as error:
        raise InputError(str(error), source="the saved fleet") from None


def open_mapped(
    path: str | os.PathLike[str], *, verify: bool = False
) -> tuple[dict[str, Any], list[dict[str, npt.NDArray[Any]]]]:
    """Return settings and arrays that are read from the file only where they are looked at.

    The arrays are read-only, and stay as they are when the file is replaced. The header is always
    checked, and that every array lies within the file; `verify` reads all of it and checks the
    arrays' checksums too.
    """
    source = os.fspath(path)
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib is slow to import
            size = os.fstat(file.fileno()).st_size
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", source=source) from None
    try:
        return _parse(whole, verify)
    except BROKEN as error:
        raise InputError(str(error), source=source) from None


def _parse(whole: Whole, verify: bool) -> tuple[dict[str, Any], list[dict[str, npt.NDArray[Any]]]]:
    if whole[: len(MAGIC)] != MAGIC:
        raise ValueError("is not a saved fleet: the signature is missing")
    if len(whole) < FIXED.size:
        raise ValueError(f"is cut short after {len(whole)} bytes")
    _, version, header_length, length = FIXED.unpack_from(whole)
    if version != VERSION:
        raise ValueError(
            f"has layout version {version}; this calibrant reads {VERSION}"
            + (": a newer calibrant wrote it" if version > VERSION else "")
        )
    if len(whole) != length:
        raise ValueError(
            f"should have {length} bytes, has {len(whole)}: "
            + ("it is cut short" if len(whole) < length else "something follows it")
        )
    end = FIXED.size + header_length
    if end + DIGEST > length:
        raise ValueError(
            f"has {length} bytes and a header of {header_length}, which is inconsistent"
        )
    if blake2b(whole[:end], digest_size=DIGEST).digest() != whole[end : end + DIGEST]:
        raise ValueError("was altered: the header's checksum does not match")
    header = json.loads(bytes(whole[FIXED.size : end]))
    count = check_integer("shards", header["shards"], 0, MOST_SHARDS)
    shards: list[dict[str, npt.NDArray[Any]]] = [{} for _ in range(count)]
    first, place = _aligned(end + DIGEST), end + DIGEST
    for entry in (Entry(*listed) for listed in header["arrays"]):
        check_integer("an array's shard", entry.shard, 0, count - 1)
        array = _mapped(whole, entry, first)
        if verify and _digest(array) != entry.digest:
            raise ValueError(f"was altered: the checksum of {entry.name!r} does not match")
        if verify and any(whole[place : first + entry.start]):
            raise ValueError(f"was altered: something stands before {entry.name!r}")
        place = first + entry.start + entry.nbytes
        shards[entry.shard][entry.name] = array
    if verify and any(whole[place:]):
        raise ValueError("was altered: something stands behind the last array")
    return dict(header["settings"]), shards


def _mapped(whole: Whole, entry: Entry, first: int) -> npt.NDArray[Any]:
    """Return an array of the file, which must lie within it."""
    if not isinstance(entry.name, str) or entry.dtype not in DTYPES:
        raise ValueError(f"array {entry.name!r} has dtype {entry.dtype!r}")
    sizes = [entry.start, *entry.shape]
    if not all(isinstance(size, int) and size >= 0 for size in sizes) or entry.start % ALIGNED:
        raise ValueError(f"array {entry.name!r} has shape {entry.shape!r} at {entry.start!r}")
    if first + entry.start + entry.nbytes > len(whole):
        raise ValueError(f"array {entry.name!r} ends behind the end of the file")
    if max(sizes) > len(whole):  # beside a size of 0, any other would do
        raise ValueError(f"array {entry.name!r} has shape {entry.shape!r}")
    values = np.frombuffer(
        whole, dtype=entry.dtype, count=prod(entry.shape), offset=first + entry.start
    )
    return values.reshape(entry.shape)


def _plain(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array as it is written: little-endian, row after row."""
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    if little.dtype.str not in DTYPES:
        raise ValueError(f"array {name!r} has dtype {array.dtype}, which cannot be saved")
    return little


def _bytes_of(array: npt.NDArray[Any]) -> memoryview | bytes:
    return array.reshape(-1).view(np.uint8).data if array.size else b""


def _digest(array: npt.NDArray[Any]) -> str:
    return blake2b(_bytes_of(array), digest_size=DIGEST).hexdigest()


def _aligned(place: int) -> int:
    return -(-place // ALIGNED) * ALIGNED
