"""What a group with outcomes enough has of its own: a mixture, a pair of weights, a last stage.

The group's word k comes from what all groups share (`groups.py`). The group's *own* mixture turns
the score itself into a mean o; a pair, which trusts k at first, mixes k and o by their log loss.
The *last* stage is a recalibrator: it takes the mixture as its score and places it on the group's
own grid.

So a group follows the others until its own rounds speak against it. Small errors are corrected by
the last stage; where the group's scores need a curve of their own, its own mixture takes over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import MAX_SEED, Floats
from calibrant._kernels.scores.pair import PairKernel
from calibrant._kernels.scores.recalibrate import RecalibrateKernel
from calibrant._kernels.scores.score_rounds import ScoreRound
from calibrant._kernels.scores.smooth import smooth_of_many

#: The first weight of the group's word in a new pair, and of the identity in a last stage. Each
#: costs a group that has no curve of its own -log 0.9 = 0.1 nats.
TRUST = 0.9


def last_stage(seed: int) -> RecalibrateKernel:
    """Return a fresh recalibrator of words that may well be right already."""
    last = RecalibrateKernel("probability", seed % (MAX_SEED + 1), inner=True)
    last._trust(TRUST)
    return last


class OwnRound(NamedTuple):
    """A round as the stages of one group remember it."""

    own: ScoreRound
    last: ScoreRound


class OwnStages:
    """The own mixture, the pair and the last stage of one group."""

    __slots__ = ("last", "own", "pair")

    def __init__(self, seed: int, number: int) -> None:
        seed = (seed + 1 + number) % (MAX_SEED + 1)  # draws of its own
        self.own = RecalibrateKernel("probability", seed, inner=True)
        self.pair = PairKernel(TRUST)
        self.last = last_stage(seed)

    def begin(self, probability: float, word: float) -> OwnRound:
        """Predict for a score, as a probability, of which the group's word is `word`."""
        own = self.own._begin(probability, placed=False)
        return OwnRound(own, self.last._begin(self.pair.mix(word, own.mean)))

    def finish(self, begun: OwnRound, word: float, outcome: float) -> None:
        """Learn the outcome of a round."""
        self.last._finish(begun.last, outcome)  # the only one that may want memory
        self.own._finish(begun.own, outcome, placed=False)
        self.pair.learn(word, begun.own.mean, outcome)

    def begin_many(self, probabilities: Floats, words: Floats) -> list[OwnRound]:
        """Predict for rounds that begin together."""
        means, owns = self.own._begin_many(probabilities, off_grid(len(words)))
        _, lasts = self.last._begin_many(self.pair.mix_many(words, means))
        return [OwnRound(*rounds) for rounds in zip(owns, lasts, strict=True)]

    def finish_many(self, begun: Sequence[OwnRound], words: Floats, outcomes: Floats) -> None:
        """Learn the outcomes of rounds that came together."""
        self.last._finish_many([each.last for each in begun], outcomes)
        self.own._finish_many([each.own for each in begun], outcomes, off_grid(len(begun)))
        for each, word, outcome in zip(begun, words.tolist(), outcomes.tolist(), strict=True):
            self.pair.learn(word, each.own.mean, outcome)

    def run(
        self,
        probabilities: Floats,
        words: Floats,
        outcomes: Floats,
        smooth: Floats | None = None,
        watched: Floats | None = None,
    ) -> Floats:
        """Play rounds with these words of the group; return the predictions.

        `smooth`, if given, has the scores and the group's smooth words, which the last stage's
        replace. `watched` takes the expected predictions in its second row.
        """
        given = None if smooth is None else smooth.copy()
        own, _, _ = self.own._run_means(probabilities, outcomes, off_grid(len(words)), given)
        scores, shares = self.pair.run(words, own, outcomes)
        if smooth is not None and given is not None:
            smooth[0] = given[1] + shares * (smooth[1] - given[1])
        return self.last._run_means(scores, outcomes, words=smooth, watched=watched)[0]

    def smooth_many(self, given: Floats, words: Floats) -> Floats:
        """Return the smooth words where those of the group are `words`; changes nothing."""
        own = smooth_of_many(self.own, given)[1]
        return smooth_of_many(self.last, self.pair.mix_many(words, own))[1]

    def scores(self, probabilities: Floats, words: Floats) -> Floats:
        """Return the scores that the last stage would get; changes nothing."""
        return self.pair.mix_many(words, self.own._look_many(probabilities)[1])


def off_grid(rounds: int) -> npt.NDArray[np.uint8]:
    """Return marks that send no round to the grid."""
    return np.zeros(rounds, dtype=np.uint8)
