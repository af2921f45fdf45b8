"""Looking at what a score would become: one score or many."""

from __future__ import annotations

from calibrant._kernels.recalibrate import RecalibrateKernel
from calibrant._kernels.score_rounds import Round
from calibrant._kernels.smooth import smooth_of_last
from calibrant.recalibrate.groups import Groups
from calibrant.recalibrate.waiting import Pending


def is_one(score: object) -> bool:
    """Return whether this is one score, or no score at all, and not many."""
    return isinstance(score, str | bytes) or not getattr(score, "shape", hasattr(score, "__len__"))


def smooth_of_begun(whole: RecalibrateKernel, groups: Groups, begun: Round | Pending) -> float:
    """Return what `smooth` says of a round that was just begun, alone or in its group."""
    given, word = smooth_of_last(whole)
    return word if isinstance(begun, Round) else groups.smooth_of_begun(begun, given, word)
