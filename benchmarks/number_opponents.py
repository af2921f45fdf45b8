"""Opponents of quantiles who know the state, and the function that runs their games.

An opponent sees the quantiles of a round and the biases behind them, and chooses between which two
levels the outcome falls: in bin b, it is above the first b quantiles and below the rest. The game
then uses a number in this bin, or as close to it as infinite and equal quantiles allow.
"""

import math
from dataclasses import dataclass

import numpy as np

from calibrant._kernels.numbers.net import HORIZONS, WALL, WALL_LATE, Net
from calibrant._kernels.numbers.quantile_mixture import Levels

ZONE = 2.5


@dataclass
class Seen:
    """What an opponent knows: round, levels, quantiles, and each bias in standard deviations."""

    t: int
    tau: np.ndarray
    quantiles: np.ndarray
    z: np.ndarray  # a row a horizon, the plain sum last
    sigma: np.ndarray

    def at(self, level):
        """Return which level this is."""
        return int(np.argmin(np.abs(self.tau - level)))

    def below(self, level):
        """Return the bin just below a level, and those that have the same quantile."""
        return int(np.searchsorted(self.quantiles, self.quantiles[self.at(level)], "left"))

    def above(self, level):
        """Return the bin just above a level."""
        return int(np.searchsorted(self.quantiles, self.quantiles[self.at(level)], "right"))


def above(level):
    """Land just above a level."""
    return lambda seen: seen.above(level)


def below(level):
    """Land just below a level."""
    return lambda seen: seen.below(level)


def above_all():
    """Land above every level."""
    return lambda seen: len(seen.tau)


def down_then_up(level, half):
    """Land below a level for the first half, and above it from then on."""
    return lambda seen: seen.above(level) if seen.t >= half else seen.below(level)


def back_and_forth(level, period):
    """Land below and above a level by turns."""
    return lambda seen: seen.above(level) if seen.t // period % 2 else seen.below(level)


def outside():
    """Land outside the 90 % interval, on the side that was corrected less."""

    def bin_of(seen):
        low, high = seen.at(0.05), seen.at(0.95)
        can_low, can_high = np.isfinite(seen.quantiles[[low, high]])
        is_low_less = seen.z[:-1, low].sum() < -seen.z[:-1, high].sum()
        return seen.below(0.05) if can_low and (is_low_less or not can_high) else seen.above(0.95)

    return bin_of


def slides(level):
    """Land above a level while the shortest bias allows it, and below to recover."""

    def bin_of(seen):
        is_low = seen.z[0, seen.at(level)] <= -ZONE
        return seen.below(level) if is_low else seen.above(level)

    return bin_of


def greedy(power, horizon=None):
    """Raise the potential of all biases, or of those of one horizon, as far as one outcome can.

    With power 0, of what is beyond the dead zone; else of |z|^power.
    """

    def bin_of(seen):
        z = seen.z[:-1] if horizon is None else seen.z[[horizon]]
        sigma = seen.sigma[:-1] if horizon is None else seen.sigma[[horizon]]
        if power:
            gain = (np.sign(z) * np.abs(z) ** power / sigma).sum(axis=0)
        else:
            gain = (np.sign(z) * np.maximum(np.abs(z) - ZONE, 0.0) / sigma).sum(axis=0)
        still = gain == 0.0
        gain[still] = np.where((seen.t + np.arange(len(gain))[still]) % 2, 1e-6, -1e-6)
        # In bin b, levels from b on are above the outcome, and gain what they gain by that.
        lost = np.concatenate([[0.0], np.cumsum(gain)])
        raised = lost[-1] - lost
        q = np.concatenate([[-math.inf], seen.quantiles, [math.inf]])
        raised[~(q[:-1] < q[1:])] = -math.inf
        return int(np.argmax(raised))

    return bin_of


def chain(level, horizon=3):
    """Push a level down, and hold those above it at the top of their dead zone."""

    def bin_of(seen):
        first, size = seen.at(level), len(seen.tau)
        for k in range(first, size - 1):
            can_be_cut = seen.quantiles[k] < seen.quantiles[k + 1]
            if can_be_cut and seen.z[min(horizon, len(seen.z) - 2), k + 1] < ZONE:
                return k + 1
        return size

    return bin_of


def opponents(rounds):
    """Return the opponents by name: eleven kinds, at one or more levels each."""
    half = rounds // 2
    return {
        **{f"just above {level}": above(level) for level in (0.5, 0.95)},
        "above all": above_all(),
        **{f"just below {level}": below(level) for level in (0.05, 0.5)},
        "below 0.5, then above": down_then_up(0.5, half),
        "outside the 90 % interval": outside(),
        "raises what exceeds chance": greedy(0),
        "raises the fourth powers": greedy(3),
        "raises those of 32,768 rounds": greedy(3, 3),
        "chain from 0.5": chain(0.5),
        "0.5 back and forth": back_and_forth(0.5, half // 4),
        "slides on 0.5": slides(0.5),
    }


def outcome_in(quantiles, bin_):
    """Return a number above the first quantiles and below the rest, or as near as can be."""
    size = len(quantiles)
    while 0 < bin_ < size and quantiles[bin_ - 1] >= quantiles[bin_]:
        bin_ += 1  # equal quantiles cannot be told apart
    while bin_ > 0 and quantiles[bin_ - 1] == math.inf:
        bin_ -= 1
    while bin_ < size and quantiles[bin_] == -math.inf:
        bin_ += 1
    low = quantiles[bin_ - 1] if bin_ else -math.inf
    high = quantiles[bin_] if bin_ < size else math.inf
    if math.isfinite(low) and math.isfinite(high):
        return (low + high) / 2.0
    return low + 1.0 if math.isfinite(low) else high - 1.0 if math.isfinite(high) else 0.0


def bound(tau, rounds, wall=WALL):
    """Return how far off a level may be over the whole stream, by Theorem 1 at once."""
    v = tau * (1.0 - tau)
    return wall * np.sqrt(v / (2.0 * rounds) + 1.0 / (2.0 * rounds**2)) + 3.4 / rounds


def play(opponent, rounds, tau, wall=(WALL, WALL_LATE)):
    """Play the net over a mixture that never learns.

    Returns how far off each level is, and how many rounds had an infinite quantile.
    """
    net, mixture = Net(Levels(tau), HORIZONS, wall), np.log(tau / (1.0 - tau))
    count, v, infinite = np.zeros(len(tau)), tau * (1.0 - tau), 0
    memory = list(HORIZONS)
    for t in range(rounds):
        predicted, turn = net.say(mixture, 100.0, t)
        biases = net.biases()
        while len(memory) < len(biases) - 1:
            memory.append(8.0 * memory[-1])
        m = np.minimum(np.array([*memory, math.inf]), t + 1.0)[:, None]
        sigma = np.sqrt(v * m / 2.0 + 0.5)
        y = outcome_in(predicted, opponent(Seen(t, tau, predicted, biases / sigma, sigma)))
        c = np.where(predicted == y, 0.0, (y < predicted) - tau)
        count += c
        infinite += not np.isfinite(predicted).all()
        net.count(c, turn >= 0, t + 1)
    return count / rounds, infinite
