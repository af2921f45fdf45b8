"""The shards of a fleet as pages, so that a commit writes only what changed.

A page is named by its shard, its array and its number. An array that is longer than a page is cut
into pages; all shorter ones of a shard, and the description of every array, stand together in one
page, which has no array's name.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

#: Bytes of a page: about 200 keys. Smaller ones are written less often and asked for more often.
PAGE = 32 * 1024
LENGTH = struct.Struct("<I")
#: What an index of keys rebuilds when it is read.
DERIVED = "_index_table"

Arrays = dict[str, npt.NDArray[Any]]


class Page(NamedTuple):
    """The name of a page."""

    shard: int
    array: str
    number: int


Pages = dict[Page, bytes]


def to_pages(
    settings: Mapping[str, Any], shard: int, arrays: Mapping[str, npt.NDArray[Any]]
) -> Pages:
    """Return the pages of one shard of a fleet with these settings."""
    pages, listed, short = {}, [], []
    for name, array in arrays.items():
        if name.endswith(DERIVED):
            continue
        content = np.ascontiguousarray(array).tobytes()
        listed.append([name, array.dtype.str, list(array.shape)])
        if len(content) <= PAGE:
            short.append(content)
            continue
        for number, start in enumerate(range(0, len(content), PAGE)):
            pages[Page(shard, name, number)] = content[start : start + PAGE]
    header = json.dumps({"settings": dict(settings), "arrays": listed}).encode()
    pages[Page(shard, "", 0)] = b"".join([LENGTH.pack(len(header)), header, *short])
    return pages


def from_pages(pages: Mapping[Page, bytes]) -> tuple[dict[str, Any], dict[int, Arrays]]:
    """Return the settings and the arrays of each shard that the pages hold."""
    settings: dict[str, Any] = {}
    shards: dict[int, Arrays] = {}
    for page in sorted(page for page in pages if page.array == ""):
        listed, rest, settings = _opened(pages[page])
        arrays = shards[page.shard] = {}
        for name, dtype, shape in listed:
            size = np.dtype(dtype).itemsize * int(np.prod(shape))
            if size <= PAGE:
                content, rest = rest[:size], rest[size:]
            else:
                numbers = range(-(-size // PAGE))
                content = b"".join(pages[Page(page.shard, name, number)] for number in numbers)
            arrays[name] = np.frombuffer(content, dtype=dtype).reshape(shape)
    return settings, shards


def _opened(content: bytes) -> tuple[list[Any], bytes, dict[str, Any]]:
    """Return the list of arrays, the values of the short ones, and the settings."""
    end = LENGTH.size + LENGTH.unpack_from(content)[0]
    header = json.loads(content[LENGTH.size : end])
    return header["arrays"], content[end:], header["settings"]


def changes(before: Mapping[Page, bytes], after: Mapping[Page, bytes]) -> tuple[Pages, list[Page]]:
    """Return the pages to write and those to remove."""
    written = {page: content for page, content in after.items() if before.get(page) != content}
    return written, [page for page in before if page not in after]
