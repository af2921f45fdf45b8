"""How a command ends: with an exit code and a line, never with a traceback or half a file."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import typer
from rich.markup import escape

from calibrant.cli.streams import err

BAD_INPUT = 2
INTERRUPTED = 130
#: What asks a program to end. Ctrl-C is Python's own KeyboardInterrupt.
ENDINGS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Ended(BaseException):
    """The system asked the program to end; not an Exception, so that nobody handles it as one."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def clean_end() -> Iterator[None]:
    """Turn an error of the user's into one line and an exit code; end quietly on a closed pipe."""
    try:
        with signals_as_errors():
            yield
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader is gone. What is still buffered must not fail when Python closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
    except KeyboardInterrupt:
        err.print("calibrant: interrupted")
        raise typer.Exit(INTERRUPTED) from None
    except Ended as ended:
        err.print(f"calibrant: ended by {signal.Signals(ended.number).name}")
        raise typer.Exit(128 + ended.number) from None
    except (ValueError, ImportError, OSError, MemoryError) as error:
        what = "not enough memory: " if isinstance(error, MemoryError) else ""
        err.print(f"[bold red]calibrant: error:[/] {what}{escape(str(error))}", soft_wrap=True)
        raise typer.Exit(BAD_INPUT) from None


@contextmanager
def signals_as_errors() -> Iterator[None]:
    """Raise `Ended` when the system asks the program to end, so that half-written files go."""

    def end(number: int, _: FrameType | None) -> NoReturn:
        raise Ended(number)

    # One that is ignored, as nohup does, stays ignored.
    before = {each: signal.getsignal(each) for each in ENDINGS}
    ours = [each for each in ENDINGS if before[each] is signal.SIG_DFL]
    for each in ours:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in ours:
            signal.signal(each, before[each])
