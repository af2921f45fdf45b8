"""Adversaries that see the distribution of a forecaster's prediction, but not the draw.

An adversary keeps a state. In each round, `choose` is called with the distribution that the
forecaster will draw from and returns an outcome, then `observe` with the prediction that was
drawn. `play` runs whole games in a compiled loop, the same bit for bit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from inspect import signature

from calibrant._checks import (
    Floats,
    check_choice,
    check_integer,
    check_real,
    check_seed,
    describe,
)
from calibrant._kernels import adversaries as kernels
from calibrant._kernels.kernel import Kernel


class Adversary(kernels.AdversaryKernel):
    """The interface of an adversary.

    Examples
    --------
    >>> from calibrant import Zoom
    >>> from calibrant.streams import Contrarian
    >>> forecaster, adversary = Zoom(seed=7), Contrarian()
    >>> outcome = adversary.choose(forecaster)
    >>> adversary.observe(forecaster.predict(), outcome)
    >>> forecaster.update(outcome)
    >>> outcome, adversary.rounds
    (0.0, 1)
    """

    def __repr__(self) -> str:
        given = ", ".join(
            f"{name}={getattr(self, name)!r}" for name in signature(type(self)).parameters
        )
        return f"{type(self).__name__}({given})"


class Greedy(kernels.GreedyKernel, Adversary):
    """Choose the outcome that raises the expected calibration error most.

    It counts the drawn predictions and their outcomes, and computes the expectation
    over this round's distribution. Ties, up to 1e-9, go to 1.

    Parameters
    ----------
    norm : {"l1", "l2"}
        Which error it raises: Cal1, the sum of |s - n p|, or Cal2, the sum of (s - n p)^2 / n.

    Examples
    --------
    >>> from calibrant import Zoom
    >>> from calibrant.streams import Greedy
    >>> adversary, forecaster = Greedy("l2"), Zoom(seed=7)
    >>> forecaster.predict(), adversary.choose(forecaster)
    (0.5, 1.0)
    """

    def __init__(self, norm: str = "l1") -> None:
        self.norm = check_choice("norm", norm, ("l1", "l2"))
        super().__init__(norm == "l2")


class Contrarian(kernels.ContrarianKernel, Adversary):
    """Choose 1 when the expected prediction is below 1/2, and 0 otherwise.

    A forecaster that never randomises cannot be calibrated against it.

    Examples
    --------
    >>> from calibrant.forecasters.rivals import RunningMean
    >>> from calibrant.streams import Contrarian, play
    >>> game = play(RunningMean(), Contrarian(), 1000)
    >>> bool(abs(game.outcomes - game.predictions).min() >= 0.5)
    True
    """

    def __init__(self) -> None:
        super().__init__()


class Chaser(kernels.ChaserKernel, Adversary):
    """Draw outcomes from a mean that moves away from the forecast.

    The mean moves one step per round, away from the expected prediction. It reverses when the
    prediction overtakes it, and at 0 and 1, from where it may pass the prediction on its way to the
    other end. A forecaster is calibrated only if it keeps up.

    Parameters
    ----------
    step : float in [0, 1]
        How far the mean moves in a round.
    start : float in [0, 1]
        Where the mean starts; it moves up first.
    seed : int
        Seed of the outcomes; a forecaster with the same seed draws other numbers.

    Examples
    --------
    >>> from calibrant import Zoom
    >>> from calibrant.streams import Chaser, play
    >>> adversary = Chaser(step=0.01)
    >>> game = play(Zoom(seed=7), adversary, 1000)
    >>> len(game), adversary.rounds, 0.0 <= adversary.target <= 1.0
    (1000, 1000, True)
    """

    def __init__(self, step: float = 0.001, *, start: float = 0.5, seed: int = 0) -> None:
        self.step = check_real("step", step, 0.0, 1.0)
        self.start = check_real("start", start, 0.0, 1.0)
        self.seed = check_seed(seed)
        super().__init__(self.step, self.start, self.seed)


class March(kernels.MarchKernel, Adversary):
    """March over a forecaster's grid, moving the bias of old points to new ones.

    It knows the state of the grid, but not the draws. It goes to the right end and then leftwards,
    gap by gap, in gaps of a width that depends on the horizon. In each gap it *holds*: the outcomes
    keep the weights of the two ends at a given ratio, until the gap is cut. Shortly before, it may
    *push* the remaining bias of the upper end onto the lower one. Then it *lifts*: outcomes are 0
    until the lower end has no bias left, because the new point between the two has taken it over.
    It makes every bet lose. Against a forecaster without a grid it behaves like `Contrarian`.

    The defaults are the strongest settings found against `Zoom`. The strongest against the earlier
    rule of Zoom are a ratio of 2, a push of 1 and a lead of 2.

    Parameters
    ----------
    horizon : int, at least 1
        The number of rounds to plan for: the more, the narrower the gaps that it visits.
    ratio : float in [0, 1e9]
        The weight of the lower end over that of the upper one while it holds.
    push, lead : float in [0, 1e9]
        It pushes from ``push * R / (1 - z) + lead / sqrt(w)`` rounds before the cut on, where R is
        the bias of the upper end z and w the width of the gap as an angle.

    Examples
    --------
    >>> from calibrant import Zoom
    >>> from calibrant.measures import cal2
    >>> from calibrant.streams import March, iid, play
    >>> game = play(Zoom(seed=7), March(10_000), 10_000)
    >>> round(cal2(game.predictions, game.outcomes))
    30
    >>> outcomes = iid(10_000, seed=7).outcomes
    >>> round(cal2(Zoom(seed=7).run(outcomes), outcomes))
    2
    """

    def __init__(
        self,
        horizon: int = 100_000,
        *,
        ratio: float = 500.0,
        push: float = 0.0,
        lead: float = 0.0,
    ) -> None:
        self.horizon = check_integer("horizon", horizon, 1)
        self.ratio = check_real("ratio", ratio, 0.0, 1e9)
        self.push = check_real("push", push, 0.0, 1e9)
        self.lead = check_real("lead", lead, 0.0, 1e9)
        # A march over the whole line at level l takes about l^2 8^l / 25 rounds; the best level is
        # the first at which a fifth of it or more remains.
        level = max(2, int(math.log2(horizon) / 3.0 + 0.6))
        super().__init__(level, self.ratio, self.push, self.lead)


class SignPreservation(kernels.SignPreservationKernel, Adversary):
    """Leave biases in cells where no later mean repays them: the sign preservation game.

    Qiao & Valiant 2021, *Stronger calibration lower bounds via sidestepping*. The probabilities in
    [1/4, 3/4] are cut into cells. An epoch draws outcomes from the mean of one cell until the
    predictions there are biased by sqrt(L)/2, for at most L rounds. Meanwhile, a forecaster can
    repay downward biases of cells below and upward biases of cells above, by predicting these;
    other biases are preserved. So of nested thirds the middle one is played first, then, depending
    on the sign of its bias, the upper or the lower one. 2^d epochs over 3^d cells keep 1.5^d
    biases, if all are equally large. With T^0.24 epochs, this gives a Cal1 of order T^0.52; the
    paper proves T^0.528 against any forecaster, with another strategy. The outcomes do not depend
    on the distribution of the prediction, only on the draws.

    Parameters
    ----------
    horizon : int, at least 1
        The number of rounds to plan for. Afterwards, outcomes are 1 or 0, whichever repays less.
    seed : int
        Seed of the outcomes; a forecaster with the same seed draws other numbers.

    Examples
    --------
    >>> from calibrant import Zoom
    >>> from calibrant.measures import cal1
    >>> from calibrant.streams import SignPreservation, play
    >>> game = play(Zoom(seed=7), SignPreservation(10_000), 10_000)
    >>> cal1(game.predictions, game.outcomes) > 100
    True
    """

    def __init__(self, horizon: int = 100_000, *, seed: int = 0) -> None:
        self.horizon = check_integer("horizon", horizon, 1)
        self.seed = check_seed(seed)
        depth = min(12, max(1, round(0.24 * math.log2(self.horizon))))
        super().__init__(depth, max(1, self.horizon // 2**depth), self.seed)


class Drag(kernels.DragKernel, Adversary):
    """Drag the forecast along a slow sine, and be greedy where it follows.

    It knows only the distribution and its own tally. While the expected prediction is more than
    `width` from the sine, outcomes pull it there; closer to it they are those of ``Greedy("l2")``.
    So every point of a grid is biased in turn. Against a recalibrator, `aim` is the score to use.

    Parameters
    ----------
    horizon : int, at least 1
        The number of rounds that the sweeps take.
    sweeps : float in [0, 1e9]
        How many of them.
    width : float in [0, 1]
        How far from the sine the forecast may be.
    reach : float in [0, 0.5]
        The amplitude of the sine around 1/2.
    fresher : bool
        If two points may be predicted, be greedy only for the one with fewer visits, where a bias
        weighs more. With a width of 0.7 over the cube root of the horizon, this is the strongest
        known opponent of `Recalibrator`.

    Examples
    --------
    >>> from calibrant import EventForecaster
    >>> from calibrant.measures import cal2
    >>> from calibrant.streams import Drag, play
    >>> game = play(EventForecaster(seed=7), Drag(10_000), 10_000)
    >>> cal2(game.predictions, game.outcomes) < 100
    True
    """

    def __init__(
        self,
        horizon: int = 100_000,
        *,
        sweeps: float = 1.0,
        width: float = 0.05,
        reach: float = 0.4,
        fresher: bool = False,
    ) -> None:
        self.horizon = check_integer("horizon", horizon, 1)
        self.sweeps = check_real("sweeps", sweeps, 0.0, 1e9)
        self.width = check_real("width", width, 0.0, 1.0)
        self.reach = check_real("reach", reach, 0.0, 0.5)
        if not isinstance(fresher, bool):
            raise ValueError(f"fresher must be True or False, got {describe(fresher)}")
        self.fresher = fresher
        super().__init__(self.horizon, self.sweeps, self.width, self.reach, self.fresher)


class Learned(kernels.LearnedKernel, Adversary):
    """A small recurrent network that was evolved against one forecaster.

    It sees the distribution, its own tally of the points, what `Greedy` would do, and the time.
    `python -m benchmarks evolve` created it, by changing its weights at random and keeping changes
    that increased Cal2; ``learned.json`` holds the weights.

    Parameters
    ----------
    horizon : int, at least 1
        The number of rounds to plan for.
    against : {"events", "scores", "zoom"}
        The opponent it was evolved against: `EventForecaster`; `Recalibrator`, for which it also
        chooses the scores (`aim`); or `Zoom`.

    Examples
    --------
    >>> from calibrant import EventForecaster
    >>> from calibrant.measures import cal2
    >>> from calibrant.streams import Learned, play
    >>> game = play(EventForecaster(seed=7), Learned(10_000), 10_000)
    >>> cal2(game.predictions, game.outcomes) < 100
    True
    """

    def __init__(self, horizon: int = 100_000, *, against: str = "events") -> None:
        self.horizon = check_integer("horizon", horizon, 1)
        self.against = check_choice("against", against, ("events", "scores", "zoom"))
        super().__init__(self.horizon, genes()[against])


@cache
def genes() -> dict[str, list[float]]:
    """Return the weights of the learned opponents, by what they were evolved against."""
    # Both take long to import, and few want a learned opponent.
    import json  # noqa: PLC0415
    from importlib.resources import files  # noqa: PLC0415

    text = files("calibrant.streams").joinpath("learned.json").read_text("utf-8")
    found: dict[str, list[float]] = json.loads(text)
    return found


@dataclass(frozen=True, eq=False)
class Game:
    """The predictions and the outcomes of a game, one of each per round.

    Examples
    --------
    >>> from calibrant import Zoom
    >>> from calibrant.streams import Contrarian, play
    >>> game = play(Zoom(seed=7), Contrarian(), 3)
    >>> game.predictions[0], game.outcomes[0], len(game)
    (np.float64(0.5), np.float64(0.0), 3)
    """

    predictions: Floats
    outcomes: Floats

    def __len__(self) -> int:
        return len(self.outcomes)


def play(forecaster: Kernel, adversary: Adversary, rounds: int) -> Game:
    """Play a forecaster against an adversary; both continue from their current state.

    Parameters
    ----------
    forecaster : Forecaster
        Makes the predictions.
    adversary : Adversary
        Chooses the outcomes.
    rounds : int
        How many rounds.

    Examples
    --------
    >>> from calibrant import Zoom
    >>> from calibrant.streams import Greedy, play
    >>> forecaster = Zoom(seed=7)
    >>> game = play(forecaster, Greedy("l1"), 1000)
    >>> forecaster.rounds
    1000
    """
    return Game(*kernels.play(forecaster, adversary, check_integer("rounds", rounds, 0)))


#: Every adversary by its name.
ADVERSARIES: dict[str, type[Adversary]] = {
    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", adversary.__name__).lower(): adversary
    for adversary in (Greedy, Contrarian, Chaser, March, Drag, Learned, SignPreservation)
}
