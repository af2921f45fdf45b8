"""Rounds: predict, wait, observe, learn.

A round is the same for a score, a key, an event and a class: it has an id, it was predicted at some
time, and its outcome counts at once or at a deadline, and may arrive twice, too late or never. All
of this is implemented here, once. How to predict and learn is a *rule* (`calibrant.recalibrate`,
`calibrant.fleet`, `calibrant.forecasters`); pending rounds are kept in a *book*, compiled in
`calibrant._kernels.rounds`, and a *policy* determines when outcomes count.
"""

from calibrant._kernels.rounds.settled import RoundError
from calibrant.rounds.policy import Policy

__all__ = ["Policy", "RoundError"]
