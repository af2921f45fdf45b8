"""A fleet in files and bytes, split and put together again: all of it shard by shard."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from calibrant._checks import check_integer
from calibrant.fleet import file
from calibrant.fleet.held import Held
from calibrant.fleet.saving import arrays_of, load_shard
from calibrant.saving import Savable
from calibrant.tables.errors import InputError


class Kept(Held, Savable):
    """What a fleet does with its shards as a whole."""

    __slots__ = ("_given", "_is_open", "_lock", "_policy", "_shards")

    def shard_arrays(self, number: int) -> dict[str, npt.NDArray[Any]]:
        """Return everything of one shard as flat arrays by name; `from_shards` reads them."""
        return arrays_of(self._shards[check_integer("number", number, 0, self.shards - 1)])

    @classmethod
    def from_shards(
        cls,
        settings: Mapping[str, Any],
        shards: Mapping[int, Mapping[str, npt.NDArray[Any]]],
        copy: bool = True,
        patience: float | None = None,
    ) -> Self:
        """Return the fleet with these arguments that holds these shards, and no other.

        Without a copy it stands on the arrays, and is for reading only. An outcome that arrives
        more than `patience` after its prediction is refused as expired.
        """
        fleet = cls(**settings)
        numbers = [check_integer("shard", number, 0, fleet.shards - 1) for number in shards]
        fleet._shards = {number: fleet._shards[number] for number in sorted(numbers)}
        for number, arrays in shards.items():
            load_shard(fleet._shards[number], arrays, copy)
            if patience is not None:
                fleet._shards[number].book.patience = patience
        fleet._is_open = not copy
        return fleet

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fleet to one file, whole or not at all: it is replaced in one step.

        Examples
        --------
        >>> import tempfile
        >>> from calibrant import Fleet
        >>> fleet = Fleet(seed=7)
        >>> _ = fleet.run(["a", "b", "a"], [0.2, 0.8, 0.3], [0, 1, 1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     fleet.save(f"{folder}/fleet")
        ...     again = Fleet.load(f"{folder}/fleet")
        ...     seen = Fleet.open(f"{folder}/fleet").expected(["a"], [0.4])
        >>> bool(again.expected(["a"], [0.4]) == fleet.expected(["a"], [0.4]) == seen)
        True
        """
        with self._lock:
            file.save(path, *self._written())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return what `save` wrote; it continues exactly as that one would."""
        return cls._read(path, *file.load(path), copy=True)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Return what `save` wrote, for reading only: keys are read from the file when asked for.

        `expected`, `smooth` and what is known of keys are there at once, however many there are.
        """
        return cls._read(path, *file.open_mapped(path), copy=False)

    @classmethod
    def _read(
        cls,
        path: str | os.PathLike[str],
        settings: Mapping[str, Any],
        shards: Sequence[Mapping[str, npt.NDArray[Any]]],
        copy: bool,
    ) -> Self:
        try:
            named = dict(zip(settings["shards"], shards, strict=True))
            return cls.from_shards(settings["arguments"], named, copy)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"makes no sense: {error}", source=os.fspath(path)) from None

    def to_bytes(self) -> bytes:
        """Return the whole fleet as bytes: what `save` writes."""
        with self._lock:
            return b"".join(file.pieces(*self._written()))

    def frozen(self) -> Callable[[], bytes]:
        """Return a function that gives `to_bytes` as of now, whenever and wherever it is called.

        What it keeps is a copy, so this fleet may go on meanwhile, in another thread too.
        """
        with self._lock:
            settings, shards = self._written()
            # The index hands out the arrays that it goes on writing to; all else is a copy.
            copies = [
                {name: each.copy() if "_index_" in name else each for name, each in shard.items()}
                for shard in shards
            ]
        return lambda: b"".join(file.pieces(settings, copies))

    def _written(self) -> tuple[dict[str, Any], list[dict[str, npt.NDArray[Any]]]]:
        settings = {"arguments": self._given, "shards": list(self._shards)}
        return settings, [arrays_of(shard) for shard in self._shards.values()]

    @classmethod
    def from_bytes(cls, blob: bytes | bytearray | memoryview) -> Self:
        """Return what `to_bytes` saved; it continues exactly as that one would."""
        return cls._read("the saved fleet", *file.load_bytes(blob), copy=True)

    def split(self, count: int) -> list[Self]:
        """Return so many fleets, each with some of the shards; `merge` puts them together again.

        Each goes on as this one would, bit for bit, with the keys of its shards.

        Examples
        --------
        >>> from calibrant import Fleet
        >>> fleet = Fleet(shards=4)
        >>> _ = fleet.run(range(100), None, [0, 1] * 50)
        >>> halves = fleet.split(2)
        >>> [len(half) for half in halves], len(Fleet.merge(halves))
        ([55, 45], 100)
        """
        numbers = list(self._shards)
        if check_integer("count", count, 1) > len(numbers):
            raise ValueError(
                f"a fleet of {len(numbers)} shards cannot be split into {count}; make it with "
                f"Fleet(shards={count}) or more"
            )
        with self._lock:
            return [
                self.from_shards(
                    self._given, {number: self.shard_arrays(number) for number in own.tolist()}
                )
                for own in np.array_split(np.array(numbers), count)
            ]

    @classmethod
    def merge(cls, fleets: Sequence[Kept]) -> Self:
        """Return one fleet with the shards of all, which must differ and have the same arguments."""
        if not fleets:
            raise ValueError("merge needs one fleet or more, got none")
        found: dict[int, dict[str, npt.NDArray[Any]]] = {}
        for fleet in fleets:
            if fleet._given != fleets[0]._given:
                raise ValueError(f"{fleet!r} and {fleets[0]!r} are not shards of one fleet")
            for number in fleet._shards:
                if number in found:
                    raise ValueError(f"shard {number} is in two of the fleets")
                found[number] = fleet.shard_arrays(number)
        return cls.from_shards(fleets[0]._given, found)
