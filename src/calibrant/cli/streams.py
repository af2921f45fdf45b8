"""Standard output and standard error, whatever the terminal or the shell did to them."""

from __future__ import annotations

import os
import sys

from rich.console import Console


class Output(Console):
    """Standard output: that its reader is gone ends the command."""

    def on_broken_pipe(self) -> None:
        """Leave it to the command; by itself, rich would exit with an error."""
        raise BrokenPipeError


class Remarks(Console):
    """Standard error: the work continues when nobody reads its messages any more."""

    def on_broken_pipe(self) -> None:
        """Say nothing more, and let nothing that is still buffered fail."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def forget_unread_remarks() -> None:
    """Let go what standard error could not write, or Python would fail at its exit, with 120."""
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def forget_zero_width() -> None:
    """Forget a width of zero, which some shells give where there is no terminal."""
    if not os.environ.get("COLUMNS", "1").strip("0"):
        del os.environ["COLUMNS"]


def open_what_is_closed() -> None:
    """Connect a standard stream that is closed to nothing, before a file takes its number."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


forget_zero_width()
#: Results go to standard output; messages about the work go to standard error.
out = Output(highlight=False)
err = Remarks(stderr=True, highlight=False)
