"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from calibrant.tables.errors import InputError

#: A full disk, a full share of it, or a file too long. Such errors do not say which file.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only once everything is written.

    It is written beside its final place, under a hidden name, and moved there in one step. After
    an error or an interrupt nothing is left behind, and a file that was there before is as it was.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as file:
    ...         _ = file.write(b"whole")
    ...         before = [p.name for p in Path(folder).glob("a.txt")]
    ...     before, (Path(folder) / "a.txt").read_text()
    ([], 'whole')
    """
    # Through a link, the file that it points to is replaced, not the link.
    final = Path(os.path.realpath(path))
    shown = os.fspath(path)
    if final.is_dir():
        raise InputError("is a folder, must be a file", source=shown)
    # A device or a pipe cannot be replaced: moving a file over /dev/null would destroy it.
    straight = final.exists() and not final.is_file()
    part = final if straight else final.with_name(f".{final.name}.{os.urandom(4).hex()}.part")
    try:
        file = part.open("wb" if straight else "xb")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", source=shown) from None
    try:
        with file:
            yield file
        if not straight:
            part.replace(final)
    except BaseException as error:
        if not straight:
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise InputError(f"cannot be written ({error.strerror})", source=shown) from None
        raise
