"""A shard of a fleet as flat arrays, and back: what files, `split`, `merge` and Spark are made of.

Arrays are checked before they are believed: what loads predicts as if it had been played.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats
from calibrant._kernels.fleet.fleet import ShardKernel
from calibrant._kernels.fleet.fleet_level import KEY, SCALING
from calibrant._kernels.fleet.fleet_owned import MANY_OUTCOMES, OWN
from calibrant._kernels.fleet.fleet_rounds import BUCKETS, OPENED, load_rounds, save_rounds
from calibrant._kernels.fleet.keys import KeyIndex
from calibrant._kernels.saved import SLACK, floats
from calibrant.fleet.shard import Shard
from calibrant.rounds.saving import BOOK_PARTS, FURTHER_PARTS, load_book, save_book, waiting_rounds

Arrays = dict[str, npt.NDArray[Any]]


def arrays_of(shard: Shard) -> Arrays:
    """Return everything of a shard as arrays by name.

    The row of a key in ``key_rows`` is its slot: it stays where it is until keys are evicted. What
    keys with many outcomes have of their own stands in ``key_own``, with the slot of the key.
    """
    arrays: Arrays = shard.kernel.arrays()
    for name, level in shard.kernel.levels().items():
        weights, used, scaling = level.shared()
        arrays[f"{name}_rows"] = level.keys().view(np.uint8).reshape(-1, KEY.itemsize)
        arrays[f"{name}_weights"], arrays[f"{name}_used"] = weights, used
        arrays[f"{name}_scaling"] = scaling
        arrays[f"{name}_own"] = level.owned.saved().view(np.uint8).reshape(-1, OWN.itemsize)
    for name, index in (("key", shard.index), ("parent", shard.parent_index)):
        arrays |= {f"{name}_index_{each}": array for each, array in index.arrays().items()}
    if shard.watch is not None:
        arrays |= shard.watch.arrays()
    rounds = save_rounds(waiting_rounds(shard.book))
    arrays["waiting_rounds"] = rounds.view(np.uint8).reshape(-1, OPENED.itemsize)
    for name, each in save_book(shard.book).items():
        arrays[name] = each if isinstance(each, np.ndarray) else as_bytes(each)
    return arrays


def as_bytes(value: Any) -> npt.NDArray[np.uint8]:
    """Return a list of ids, or a number, as bytes of JSON."""
    return np.frombuffer(json.dumps(value, separators=(",", ":")).encode(), np.uint8)


def load_shard(shard: Shard, arrays: Mapping[str, npt.NDArray[Any]], copy: bool = True) -> None:
    """Give a new shard what `arrays_of` returned, or raise ValueError.

    Without a copy the keys stand on the arrays, which may be mapped from a file, and the shard is
    read-only.
    """
    try:
        shard.kernel.load(arrays)
        load_levels(shard, arrays, copy)
        opened = load_waiting(shard, arrays)
        if shard.watch is not None:
            shard.watch.load(
                arrays, len(shard.index), shard.kernel.rounds, shard.kernel.learned, opened, copy
            )
    except (
        KeyError, IndexError, TypeError, AttributeError, UnicodeDecodeError, RecursionError
    ) as error:  # fmt: skip
        raise ValueError(f"the saved fleet is invalid: {error!r}") from None


def load_levels(shard: Shard, arrays: Mapping[str, npt.NDArray[Any]], copy: bool) -> None:
    """Give a shard its keys and its parents, and what each of them share."""
    shard.rule.index = index_of(arrays, "key", copy)
    shard.parent_index = index_of(arrays, "parent", copy)
    hashes = {"root": np.zeros(1, dtype=np.uint64)}
    if copy:
        hashes |= {"key": shard.index.hashes(), "parent": shard.parent_index.hashes()}
    sizes = {"root": 1, "key": len(shard.index), "parent": len(shard.parent_index)}
    for name, level in shard.kernel.levels().items():
        rows, weights = arrays[f"{name}_rows"], arrays[f"{name}_weights"]
        if rows.dtype != np.uint8 or rows.shape != (sizes[name], KEY.itemsize):
            raise ValueError(f"saved {name}_rows must be {KEY.itemsize} bytes of each key")
        keys = rows.reshape(-1).view(KEY)
        own = own_of(arrays, name)
        if name in hashes:
            check_keys(keys, hashes[name], shard.kernel)
            check_own(own, keys)
        if weights.dtype != np.float32 or not ((weights >= 0) & (weights <= 1.001)).all():
            raise ValueError(f"saved {name}_weights must be in [0, 1]")
        used = floats(arrays, f"{name}_used", size=BUCKETS, low=0.0, high=1.0)
        scaling = floats(arrays, f"{name}_scaling", size=SCALING)
        check_scaling(name, scaling, shard.kernel)
        level.load(keys, weights, used, scaling, copy or name == "root")
        level.owned.load(own, copy)


def index_of(arrays: Mapping[str, npt.NDArray[Any]], name: str, copy: bool) -> KeyIndex:
    """Return the saved index of the keys or the parents."""
    prefix = f"{name}_index_"
    own = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
    return KeyIndex.from_arrays(own, copy)


def own_of(arrays: Mapping[str, npt.NDArray[Any]], name: str) -> npt.NDArray[np.void]:
    """Return what keys with many outcomes have of their own."""
    rows = arrays[f"{name}_own"]
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != OWN.itemsize:
        raise ValueError(f"saved {name}_own must be {OWN.itemsize} bytes of each key in it")
    return rows.reshape(-1).view(OWN)


def check_scaling(name: str, scaling: Floats, kernel: ShardKernel) -> None:
    """Refuse a lag, a scaling of logits with its precision, and a weight that no rounds lead to."""
    lag, slope, shift, squares, products, ones, weight = scaling.tolist()
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"saved {name}_scaling must end with a weight in [0, 1]")
    if not 0.0 <= lag <= kernel.rounds or max(abs(slope), abs(shift)) > 1e6:
        raise ValueError(f"saved {name}_scaling must be within reach of {kernel.rounds} rounds")
    if not (
        min(squares, ones) > 0.0
        and max(squares, ones) <= 1e3 * (1.0 + kernel.learned)  # logits are below 50
        and products * products <= squares * ones * (1.0 + SLACK)
    ):
        raise ValueError(f"saved {name}_scaling must have a precision that outcomes lead to")


def check_own(own: npt.NDArray[np.void], keys: npt.NDArray[np.void]) -> None:
    """Refuse what keys cannot have of their own."""
    slots, knots = own["slot"], own["knots"]
    if not ((slots >= 0) & (slots < len(keys))).all() or len(np.unique(slots)) < len(slots):
        raise ValueError("saved slots of keys with something of their own must be of keys, once")
    if not (keys["learned"][slots] >= MANY_OUTCOMES).all():
        raise ValueError(f"a saved key with a curve must have {MANY_OUTCOMES} outcomes or more")
    if not ((own["weight"] >= 0) & (own["weight"] <= 1)).all():
        raise ValueError("saved weight of a curve must be in [0, 1]")
    if not (np.isfinite(knots["f"]) & np.isfinite(knots["A"]) & (knots["A"] > 0)).all():
        raise ValueError("saved curve of a key must be finite, with positive precisions")


def check_keys(
    keys: npt.NDArray[np.void], hashes: npt.NDArray[np.uint64], kernel: ShardKernel
) -> None:
    """Refuse keys that the predictions of a shard cannot have made."""
    if (keys["hash"] != hashes).any():
        raise ValueError("saved keys must be in the order of their index")
    for name, most in (("made", kernel.rounds), ("learned", kernel.learned)):
        if keys[name].sum(dtype=np.int64) > most:
            raise ValueError(f"saved {name} of keys must be at most {most} in all")
    for name in ("offset", "precision", "slope", "last"):
        if not np.isfinite(keys[name]).all():
            raise ValueError(f"saved {name} of a key must be finite")
    if not ((keys["precision"] > 0).all() and (keys["slope"][:, [2, 4, 7, 9]] > 0).all()):
        raise ValueError("saved precision of a key must be positive")


def load_waiting(shard: Shard, arrays: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.void]:
    """Give a shard the ids that are done with and its pending predictions; return these."""
    rows = arrays["waiting_rounds"]
    if rows.dtype != np.uint8 or rows.ndim != 2 or rows.shape[1] != OPENED.itemsize:
        raise ValueError(f"saved waiting_rounds must be {OPENED.itemsize} bytes of each")
    opened = np.ascontiguousarray(rows).reshape(-1).view(OPENED)
    check_rounds(opened, shard)
    further = [name for name in FURTHER_PARTS if name in arrays]
    book = {name: arrays[name] for name in (*BOOK_PARTS, *further)}
    for name, each in book.items():
        if each.dtype == np.uint8:
            book[name] = json.loads(each.tobytes())
    if not np.array_equal(book["waiting_numbers"], opened["number"]):
        raise ValueError("saved waiting_rounds must be those of waiting_numbers")
    load_book(shard.book, book, load_rounds(opened), shard.kernel.rounds)
    return opened


def check_rounds(opened: npt.NDArray[np.void], shard: Shard) -> None:
    """Refuse predictions that a shard cannot have made."""
    kernel = shard.kernel
    most = {
        "number": kernel.rounds,
        "age": kernel.learned + 1,
        "slot": len(shard.index),
        "parent": len(shard.parent_index),
    }
    for name, above in most.items():
        if not ((opened[name] >= -1) & (opened[name] < above)).all():
            raise ValueError(f"saved {name} of a prediction must be below {above}")
    inside = [opened[name] for name in ("s", "m", "z")]
    root, parent, key = (opened["views"][:, level] for level in range(3))
    if not np.isin(opened["bet"], (0.0, 1.0)).all():
        raise ValueError("saved bet of a prediction must be 0 or 1")
    watched = [opened[name] for name in ("raw", "expected")]
    if not all(((values >= 0) & (values <= 1)).all() for values in watched):
        raise ValueError("what is saved of a prediction for monitors must be in [0, 1]")
    views = [root, parent[opened["parent"] >= 0], key[opened["slot"] >= 0]]
    inside.append(opened["predicted"][opened["is_learned"] != 0].reshape(-1))
    # In single precision what an expert of a key says may round to 1.
    sides = [view[name] for view in views for name in ("p", "q")]
    if not (
        all(((values > 0) & (values < 1)).all() for values in inside)
        and all(((values > 0) & (values <= 1)).all() for values in sides)
    ):
        raise ValueError("what is saved of a prediction must be in (0, 1)")
    if not all(((view["bucket"] >= 0) & (view["bucket"] < BUCKETS)).all() for view in views):
        raise ValueError(f"saved bucket of a prediction must be in [0, {BUCKETS})")
