"""Forecasters and recalibrators as bytes."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar, Self, SupportsFloat

import numpy as np

from calibrant import _bytes
from calibrant._bytes import Saved
from calibrant.partitions import Partition
from calibrant.tables.atomic import load_bytes, save_bytes

#: Arguments that say how many numbers a state holds, or a few times as many.
SIZES = ("gaps", "bins", "intervals")
#: Arguments of these types are kept as they are given.
PLAIN = (bool, float, int, str, type(None))


def as_saved(value: Any) -> Any:
    """Return an argument as it is kept and saved: NumPy's scalars as Python's, spans as text.

    >>> as_saved(timedelta(days=30)), as_saved({"every": np.int64(1000)})
    ('2592000s', {'every': 1000})
    """
    if isinstance(value, timedelta | np.timedelta64):
        seconds = np.timedelta64(value) / np.timedelta64(1, "s")
        return np.format_float_positional(seconds, trim="-") + "s"
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {name: as_saved(each) for name, each in value.items()}
    return value


class Savable:
    """What is made from arguments, plays rounds and is saved as bytes.

    The constructor's arguments can be read, and only read, as attributes: the signature of a
    subclass's `__init__` is read once, when the class is made. `_given` holds the arguments by
    name, in the order of the signature. A subclass has a place of that name, a slot or a field of
    its kernel, and annotates its arguments for type checkers (``horizon: int | None``). It says
    what to save (`_save`) and how to go on from it (`_load`).
    """

    __slots__ = ()

    _given: dict[str, Any]
    _defaults: ClassVar[dict[str, Any]] = {}
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" not in vars(cls):
            return
        _, *parameters = inspect.signature(vars(cls)["__init__"]).parameters.values()
        # Without this, `inspect.signature` of the class would show what `__new__` takes.
        cls.__signature__ = inspect.Signature(parameters)
        cls._defaults = {each.name: each.default for each in parameters}
        for name in cls._defaults:
            if not hasattr(cls, name):  # a kernel shows the seed itself
                setattr(cls, name, _argument(name))

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Keep what `__init__` is given next, which refuses a call that does not fit."""
        self = super().__new__(cls)
        given = {**cls._defaults, **dict(zip(cls._defaults, args, strict=False)), **kwargs}
        self._given = {  # type: ignore[misc]  # the place is the subclass's
            name: value if type(value) in PLAIN else as_saved(value)
            for name, value in given.items()
        }
        return self

    def _save(self) -> tuple[int, dict[str, Any]]:
        """Return the rounds played, and all else that they left behind, by name."""
        raise NotImplementedError

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        """Restore what `_save` returned, or raise ValueError."""
        raise NotImplementedError

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
            raise ValueError(f"the saved {cls.__name__} is invalid: {error}") from None
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
        save_bytes(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return what `save` wrote; it continues exactly as that one would."""
        return load_bytes(path, cls.from_bytes, _bytes.MAGIC)

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
    return _bytes.unpack(blob, _from_json)


def _as_json(value: object) -> dict[str, Any] | float:
    """Return an argument that JSON has no type for: a partition, or a number such as a Fraction."""
    if isinstance(value, Partition):
        return {"edges": value.edges, "domain": value.domain, "turn": value.turn}
    if isinstance(value, SupportsFloat):
        return float(value)
    raise TypeError(f"cannot save a {type(value).__name__}")


def _from_json(mapping: dict[str, Any]) -> dict[str, Any] | Partition:
    return Partition(**mapping) if mapping.keys() == {"edges", "domain", "turn"} else mapping


def _argument(name: str) -> property:
    return property(lambda self: self._given[name], doc=f"The argument `{name}`, as given.")
