"""What became of an outcome that was given by id, in words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from calibrant._checks import Id, as_listed, check_choice
from calibrant._kernels.waiting import checked_ids

#: In the order of the numbers that `Waiting.judge` gives.
WORDS = np.array(["applied", "repeated", "conflict", "unknown", "expired"])

FULL = ("expire", "refuse")


def in_words(answers: npt.NDArray[np.uint8]) -> npt.NDArray[np.str_]:
    """Return what became of each outcome of a batch.

    - applied: it was learned;
    - repeated: the same outcome was learned before, or stands in the batch twice;
    - conflict: another outcome was learned before, or stands in the batch too;
    - unknown: there was no such prediction, or it was done with too long ago to be remembered;
    - expired: its prediction was given up.

    Examples
    --------
    >>> from calibrant import Recalibrator
    >>> recalibrator = Recalibrator()
    >>> _ = recalibrator.predict_many([0.1, 0.9], ids=["a", "b"])
    >>> recalibrator.update_many([0, 1, 1], ids=["a", "b", "c"]).tolist()
    ['applied', 'applied', 'unknown']
    """
    return WORDS[answers]


def listed_ids(ids: object) -> list[Id]:
    """Return ids that came together as a list, or name the first that is none."""
    return checked_ids(as_listed(ids, "ids", "a sequence of ids, one a row"))


def refuses(full: str) -> bool:
    """Return whether one prediction more than the capacity is refused, or the oldest expires."""
    return check_choice("full", full, FULL) == "refuse"
