"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from calibrant.tables.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")

#: A full disk, a full share of it, or a file too long. Such errors do not say which file.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: str | os.PathLike[str], *, durable: bool = False) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name only once everything is written.

    It is written beside its final place, under a hidden name, and moved there in one step. After
    an error or an interrupt nothing is left behind, and a file that was there before is as it was.
    One that is replaced hands on its mode and, where the system allows it, its owner. A `durable`
    one is on the disk before it takes its name, and its name before this returns.

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
    from pathlib import Path  # noqa: PLC0415 - slow to import

    # Through a link, the file that it points to is replaced, not the link.
    final = Path(os.path.realpath(path))
    shown = os.fspath(path)
    if final.is_dir():
        raise InputError("is a folder, must be a file", source=shown)
    # A device or a pipe cannot be replaced: moving a file over /dev/null would destroy it.
    straight = final.exists() and not final.is_file()
    # Not made from the final name, which may be as long as a name can be.
    part = final if straight else final.with_name(f".{os.urandom(8).hex()}.part")
    try:
        file = part.open("wb" if straight else "xb")
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror or error})", source=shown) from None
    try:
        with file:
            if not straight and final.exists():
                _hand_on(final.stat(), part)  # before a byte is written: it may be secret
            yield file
            if durable and not straight:
                file.flush()
                os.fsync(file.fileno())
        if not straight:
            part.replace(final)
            if durable:
                _settle(final.parent)
    except BaseException as error:
        if not straight:
            part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise InputError(f"cannot be written ({error.strerror})", source=shown) from None
        raise


@contextmanager
def locked_file(path: str | os.PathLike[str]) -> Iterator[None]:
    """Keep a file, whether or not it is there yet, from other processes that ask for it this way.

    They are refused meanwhile. A hidden file beside it is locked, and goes in the end.
    """
    if fcntl is None:
        yield
        return
    final = os.path.realpath(path)
    folder, name = os.path.split(final)
    beside = os.path.join(folder, f".{name[:200]}.lock")  # noqa: PTH118 - pathlib is slow to import
    while True:
        try:
            opened = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:  # it cannot be written there: `replacing` says so
            yield
            return
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.exists(beside) and os.path.samestat(os.fstat(opened), os.stat(beside)):  # noqa: PTH110, PTH116
                break
        except OSError:
            os.close(opened)
            raise InputError(
                "is in use by another process, which will replace it", source=os.fspath(path)
            ) from None
        os.close(opened)  # that of a process which has just ended
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(beside)  # noqa: PTH108
        os.close(opened)


def is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return whether two names are, or would be, one file: through links of either sort too.

    Examples
    --------
    >>> is_same_file("a.csv", "./a.csv")
    True
    """
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(one, other)  # noqa: PTH121 - pathlib is slow to import
    except OSError:  # one of them is not there yet
        return False


def _settle(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can do that."""
    if os.name != "posix":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _hand_on(old: os.stat_result, new: Path) -> None:
    """Give a new file the mode and the owner of the one that it replaces."""
    with suppress(PermissionError):  # only the system's administrator gives files away
        os.chown(new, old.st_uid, old.st_gid)
    new.chmod(stat.S_IMODE(old.st_mode))


def save_bytes(path: str | os.PathLike[str], blob: bytes) -> None:
    """Write bytes to a file, whole or not at all: it is replaced in one step."""
    with replacing(path) as file:
        file.write(blob)


def load_bytes(path: str | os.PathLike[str], read: Callable[[bytes], T], magic: bytes) -> T:
    """Return what `read` makes of the bytes in a file; its errors name the file.

    No more is read of a file that does not begin with `magic`: it may have no end.
    """
    from pathlib import Path  # noqa: PLC0415 - slow to import

    source = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            blob = file.read(len(magic))
            if blob == magic:
                blob += file.read()
        return read(blob)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", source=source) from None
    except ValueError as error:
        raise InputError(str(error), source=source) from None
