"""The life of a round: predict, wait, observe, learn.

A round is the same for a score, a key, an event and a class: it has an id, it was predicted at some
time, its outcome counts at once or at a deadline, and may come twice, too late or never. All of
that is decided here, once. What is predicted and learned is a *rule* (`calibrant.recalibrate`,
`calibrant.fleet`, `calibrant.forecasters`); who predicts it keeps a *book*, compiled in
`calibrant._kernels.rounds`, and a *policy* says when outcomes count.
"""

from calibrant._kernels.rounds.settled import RoundError, Settled
from calibrant.rounds.policy import Policy

__all__ = ["Policy", "RoundError", "Settled"]
