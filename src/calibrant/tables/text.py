"""From the bytes of a file to its text."""

from __future__ import annotations

import codecs
import gzip
import zlib

from calibrant.tables.errors import InputError

GZIP = b"\x1f\x8b"


def unzipped(data: bytes, source: str) -> bytes:
    """Return what gzip packed, or say how it is damaged."""
    if not data.startswith(GZIP):
        raise InputError("the name says gzip, but the content is not gzip", source=source)
    try:
        return gzip.decompress(data)
    except EOFError:
        raise InputError(
            "the gzip data end too early: the file is cut short", source=source
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"the gzip data are damaged ({error})", source=source) from None


def decoded(data: bytes, source: str, line: int = 1) -> str:
    """Return UTF-8 bytes, which start at that line, as text without a byte order mark."""
    if line == 1:
        data = data.removeprefix(codecs.BOM_UTF8)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"must be UTF-8 text, got the byte {data[error.start]:#04x}",
            source=source,
            row=line + data.count(b"\n", 0, error.start),
            value=data[error.start : error.start + 1],
        ) from None
