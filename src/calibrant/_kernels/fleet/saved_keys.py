"""Checks of a saved index of keys before it is looked into: no lookup may leave its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._kernels.saved import check_names

DTYPES = {"keys": np.int64, "starts": np.int64, "arena": np.uint8, "table": np.uint64}
#: The half of an entry that holds the slot + 1.
SLOT = np.uint64(2**32 - 1)


def checked_count(arrays: Mapping[str, npt.NDArray[Any]], *, texts: bool) -> int:
    """Return how many keys there are, at least one; `texts` reads the letters of strings too."""
    check_names(arrays, {"keys"} if "keys" in arrays else {"starts", "arena"})
    for name, array in arrays.items():
        _check_array(name, array)
    if "keys" in arrays:
        count = len(arrays["keys"])
    else:
        starts, arena = arrays["starts"], arrays["arena"]
        count = len(starts) - 1
        rising = count >= 0 and starts[0] == 0 and starts[-1] == len(arena)
        if not rising or (np.diff(starts) < 0).any():
            raise ValueError(f"saved starts must rise from 0 to {len(arena)}")
        if texts:
            _check_texts(starts, arena)
    if count == 0:
        raise ValueError("saved keys must be left out if there are none")
    return count


def _check_texts(starts: npt.NDArray[np.int64], arena: npt.NDArray[np.uint8]) -> None:
    """Refuse keys that are not UTF-8: the whole must be, and no key may start inside a letter."""
    arena.tobytes().decode("utf-8")
    if ((arena[starts[starts < len(arena)]] & 0xC0) == 0x80).any():
        raise ValueError("saved keys must be text, one starts inside a letter")


def check_table(table: npt.NDArray[np.uint64] | None, count: int) -> None:
    """Refuse a table in which a lookup could leave the table or never end."""
    if table is None:
        raise ValueError("an index of keys that is mapped must be saved with its table")
    _check_array("table", table)
    slots = table & SLOT
    size, used = len(table), table != 0
    if size & (size - 1) or size <= count or int(used.sum()) != count or int(slots.max()) > count:
        raise ValueError(f"saved table must be of {count} keys, with some entries empty")
    if ((slots != 0) != used).any():
        raise ValueError("saved table must name a slot in each entry")


def _check_array(name: str, array: npt.NDArray[Any]) -> None:
    right = isinstance(array, np.ndarray) and array.dtype == DTYPES[name] and array.ndim == 1
    if not right or not array.flags.c_contiguous:
        raise ValueError(f"saved {name} must be a flat array of {DTYPES[name].__name__}")
