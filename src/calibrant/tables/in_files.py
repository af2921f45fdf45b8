"""What is saved as bytes, in files."""

from __future__ import annotations

import os
from abc import abstractmethod
from pathlib import Path
from typing import Self

from calibrant.tables.atomic import replacing
from calibrant.tables.errors import InputError


class InFiles:
    """What `to_bytes` and `from_bytes` save and restore: `save` and `load` do so in files."""

    __slots__ = ()

    @abstractmethod
    def to_bytes(self) -> bytes:
        """Return the whole state as bytes."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, blob: bytes | bytearray | memoryview) -> Self:
        """Return what `to_bytes` saved; it continues exactly as that one would."""

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
        with replacing(path) as file:
            file.write(self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return what `save` wrote; it continues exactly as that one would."""
        source = os.fspath(path)
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", source=source) from None
        except ValueError as error:
            raise InputError(str(error), source=source) from None
