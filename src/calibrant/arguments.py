"""What a constructor was given, kept under the names of its signature."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Self

import numpy as np


class Arguments:
    """Keep the constructor's arguments and let each be read, and only read, as an attribute.

    The signature of a subclass's `__init__` is read once, when the class is made. `_given` holds
    the arguments by name, in the order of the signature. A subclass has a place of that name, a
    slot or a field of its kernel, and annotates its arguments for type checkers
    (``horizon: int | None``); it writes nothing else.
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
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in given.items()  # NumPy's scalars as Python's: they can be saved
        }
        return self


def _argument(name: str) -> property:
    return property(lambda self: self._given[name], doc=f"The argument `{name}`, as given.")
