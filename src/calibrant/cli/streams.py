"""Standard output and standard error, even if they are closed, broken or without a terminal."""

from __future__ import annotations

import os
import sys

from rich.console import Console


class Output(Console):
    """Standard output: the command ends when its reader is gone."""

    def on_broken_pipe(self) -> None:
        """Let the command handle it; rich would exit with an error."""
        raise BrokenPipeError


class Remarks(Console):
    """Standard error: the work continues when its messages are no longer read."""

    def on_broken_pipe(self) -> None:
        """Print nothing more, and discard what is buffered."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def forget_unread_remarks() -> None:
    """Discard what standard error could not write; Python would otherwise exit with code 120."""
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def forget_zero_width() -> None:
    """Ignore a width of zero, which some shells set if there is no terminal."""
    if not os.environ.get("COLUMNS", "1").strip("0"):
        del os.environ["COLUMNS"]


def open_what_is_closed() -> None:
    """Connect closed standard streams to the null device, before a file takes their numbers."""
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
