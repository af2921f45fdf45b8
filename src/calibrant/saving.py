"""Forecasters and recalibrators as bytes."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self, SupportsFloat

import numpy as np

from calibrant import _bytes
from calibrant._bytes import Saved
from calibrant.arguments import Arguments
from calibrant.partitions import Partition
from calibrant.tables.in_files import InFiles

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
#: Arguments that say how many numbers a state holds, or a few times as many.
SIZES = ("gaps", "bins", "intervals")


class Savable(Arguments, InFiles):
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
            cls._check_size(saved)
            restored = cls(**saved.parameters)
            restored._load(saved.rounds, saved.state)
        except (KeyError, OverflowError, TypeError) as error:
            raise ValueError(f"the saved {cls.__name__} makes no sense: {error}") from None
        return restored

    @classmethod
    def _check_size(cls, saved: Saved) -> None:
        """Refuse arguments that ask for more memory than the saved state takes."""
        longest = max((np.size(part) for part in saved.state.values()), default=0)
        for name in SIZES:
            asked = saved.parameters.get(name)
            if isinstance(asked, int) and asked > longest:
                raise ValueError(f"saved {name}={asked} is more than the saved state holds")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._given.items())
        return f"{type(self).__name__}({arguments})"


def pack(saved: Saved) -> bytes:
    """Return a forecaster's state as bytes that `unpack` reads."""
    return _bytes.pack(saved, _as_json)


def unpack(blob: bytes | bytearray | memoryview) -> Saved:
    """Return what the bytes hold, or raise ValueError that says why they cannot be read."""
    saved = _bytes.unpack(blob, _from_json)
    now = RENAMED.get(saved.name, {})
    parameters = {now.get(name, name): value for name, value in saved.parameters.items()}
    return saved._replace(parameters=parameters)


def _as_json(value: object) -> dict[str, Any] | float:
    """Return an argument that JSON has no type for: a partition, or a number such as a Fraction."""
    if isinstance(value, Partition):
        return {"edges": value.edges, "domain": value.domain, "turn": value.turn}
    if isinstance(value, SupportsFloat):
        return float(value)
    raise TypeError(f"cannot save a {type(value).__name__}")


def _from_json(mapping: dict[str, Any]) -> dict[str, Any] | Partition:
    return Partition(**mapping) if mapping.keys() == {"edges", "domain", "turn"} else mapping
