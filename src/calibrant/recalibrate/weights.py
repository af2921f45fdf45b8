"""What a recalibrator's predictions rest on now, in words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from calibrant._checks import Floats, Id
from calibrant._kernels.fleet_rule import OFFSET_EXPERTS, SLOPE_EXPERTS
from calibrant._kernels.recalibrate import RecalibrateKernel
from calibrant._kernels.recent import ORDERS
from calibrant._kernels.score_rounds import Round
from calibrant._kernels.sharp import BETA_FADES, BIN_FADES, GRID_SIZES, OFFSET_FADES, PLATT_FADES
from calibrant._kernels.waiting import Waiting
from calibrant.forecasters.memories import Memory, heaviest_first, last_outcomes
from calibrant.recalibrate.deadlines import Deadlines
from calibrant.recalibrate.groups import Groups
from calibrant.recalibrate.waiting import Pending

SILENCE = "what silence says so far"
#: Memories of at least so many outcomes, and what following the world with one is called.
DRIFTS = ((1000, "a slow drift"), (100, "a drift within hundreds of outcomes"))
FASTEST = "a drift within tens of outcomes"


def expert_words() -> list[str]:
    """Return the words of every expert of a recalibrator, in the order of its weights."""
    return [
        "the score as it is",
        *drifts(PLATT_FADES, "a fixed slope and shift"),
        *drifts(OFFSET_FADES, "a fixed shift"),
        *drifts(BETA_FADES, "a fixed bend"),
        *(words for _ in GRID_SIZES for words in drifts(BIN_FADES, "a fixed curve")),
        *(last_outcomes(order) for order in ORDERS),
    ]


def drifts(fades: Iterable[float], fixed: str) -> list[str]:
    """Return the words of experts that forget at these rates: 0 is `fixed`."""
    return [fixed if fade == 0.0 else drift_of(fade) for fade in fades]


def drift_of(fade: float) -> str:
    """Return the words for a correction that forgets at this rate."""
    return next((words for least, words in DRIFTS if 1.0 / fade >= least * (1.0 - 1e-9)), FASTEST)


class Weighed(RecalibrateKernel):
    """The part of a recalibrator that says what its predictions rest on."""

    __slots__ = ()

    _deadlines: Deadlines | None
    _groups: Groups
    _waiting: Waiting[Round | Pending]

    def weights(self, by: Id | None = None) -> list[Memory]:
        """Return what predictions rest on now, each in words with its weight, the heaviest first.

        A drift is a correction that forgets, the faster the shorter its memory; a fixed one
        forgets nothing. With `by`, those of a group, which rests on what is learned of all and on
        its own. The weights sum to 1.

        Examples
        --------
        >>> from calibrant import Recalibrator
        >>> from calibrant.streams import markov
        >>> outcomes = markov(5000, order=2, seed=1).outcomes
        >>> recalibrator = Recalibrator()
        >>> recalibrator.weights()[0].words
        'the score as it is'
        >>> _ = recalibrator.run([0.5] * 5000, outcomes)  # scores that know no past
        >>> recalibrator.weights()[0].words
        'the last 2 outcomes'
        """
        with self._waiting.lock:
            weights = self._with_silence(self._weights(placed=by is None))
            if by is not None:
                weights = group_weights(weights, self._groups, self._groups.find(by)[1])
        words = [*expert_words(), SILENCE, *group_words()]
        return heaviest_first(words[: len(weights)], weights.tolist())

    def _with_silence(self, weights: Floats) -> Floats:
        """Return the weights of the experts, and one more of what silence says."""
        pending = None if self._deadlines is None else self._deadlines.pending
        waiting = 1.0 if pending is None else pending.weights[0]
        return np.append(weights * waiting, 1.0 - waiting)


def group_words() -> list[str]:
    """Return the words of what a group's own outcomes add to the word of the whole."""
    shifts = drifts((forget for _, forget in OFFSET_EXPERTS), "a fixed shift")
    return [*shifts, *("a fixed slope and shift" for _ in SLOPE_EXPERTS)]


def group_weights(whole: Floats, groups: Groups, number: int) -> Floats:
    """Return the weights behind a group's predictions, given those of the whole.

    Those of `group_words` stand last.
    """
    heard, own = groups.words.weights(number), groups.own_stages(number)
    weights: Floats = np.concatenate([heard[0] * whole, heard[1:]])
    last = groups.shared._weights()
    if own is not None:
        weights *= own.pair.weight
        curve = own.own._weights(placed=False)
        weights[: len(curve)] += (1.0 - own.pair.weight) * curve
        last = own.last._weights()
    weights *= last[0]  # the last stage's score is all of that
    weights[1 : len(last)] += last[1:]
    return weights
