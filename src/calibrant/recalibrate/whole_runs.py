"""Runs of several kernels that happen whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from calibrant._kernels.scores.recalibrate import RecalibrateKernel


@contextmanager
def whole_or_not_at_all(kernels: Sequence[RecalibrateKernel]) -> Iterator[None]:
    """Let kernels go back to where they are now if the body is interrupted or fails."""
    before = [kernel._copy() for kernel in kernels]
    try:
        yield
    except BaseException:
        for kernel, copy in zip(kernels, before, strict=True):
            kernel._go_back(copy)
        raise
