"""Packed files: gzip, bzip2, xz and zstd, known by how they begin, whatever their name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from gzip import GzipFile
from typing import BinaryIO, cast

from calibrant.tables.errors import InputError
from calibrant.tables.frames import import_pyarrow

#: How a name ends: what the file is packed with.
PACKINGS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
BEGINNINGS = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd"),
}


def packing_of(name: str) -> str | None:
    """Return what the name says that a file is packed with, or None."""
    for end, packing in PACKINGS.items():
        if name.lower().endswith(end):
            return packing
    return None


def unpacked(data: bytes, source: str, packing: str | None = None) -> bytes:
    """Return the bytes of a file, unpacked if they are packed, or say how they are damaged.

    `packing` is what the name of the file promises.
    """
    possible = [each for each, begins in BEGINNINGS.items() if begins.match(data)]
    if not possible:
        if packing is None:
            return data
        raise InputError(
            f"the name says {packing}, but the content is not {packing}", source=source
        )
    (found,) = possible
    try:
        return UNPACK[found](data)
    except ImportError:
        raise InputError(
            "is packed with zstd, which is read with pyarrow (pip install 'calibrant[parquet]'); "
            "or unpack it first: zstd -d",
            source=source,
        ) from None
    except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error) as error:
        if isinstance(error, EOFError) or re.search("ended before|[Tt]runcated", str(error)):
            problem = f"the {found} data end too early: the file is cut short"
        else:
            problem = f"the {found} data are damaged ({error})"
        raise InputError(problem, source=source) from None


def _unpack_zstd(data: bytes) -> bytes:
    arrow, _ = import_pyarrow()
    with arrow.CompressedInputStream(arrow.BufferReader(data), "zstd") as stream:
        return cast("bytes", stream.read())


UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "bzip2": bz2.decompress,
    "xz": lzma.decompress,
    "zstd": _unpack_zstd,
}


def check_packing(name: str) -> None:
    """Refuse a name that says zstd: it is read, not written."""
    if packing_of(name) == "zstd":
        raise InputError("cannot be packed with zstd; .gz, .bz2 and .xz can", source=name)


def packing(file: BinaryIO, name: str) -> AbstractContextManager[BinaryIO]:
    """Return a file that packs what is written to it as the name says; equal bytes on every run."""
    match packing_of(name):
        case "gzip":
            # No name and no time inside: equal tables give equal files.
            return cast("AbstractContextManager[BinaryIO]", GzipFile("", "wb", 6, file, mtime=0))
        case "bzip2":
            return cast("AbstractContextManager[BinaryIO]", bz2.BZ2File(file, "wb"))
        case "xz":
            return cast("AbstractContextManager[BinaryIO]", lzma.LZMAFile(file, "wb"))
        case _:
            return nullcontext(file)
