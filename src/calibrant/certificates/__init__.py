"""Certificates: the error that a world of a given deviation explains.

A certificate U(n, C) is an error that a fresh forecaster stays below for n rounds, with probability
1 - delta, if the means of the outcomes stray from one value by at most C in total. The forecaster
is `Refined`, or another base that a theorem names. An error above
U(n, 0) says that the world changed; `Restarting` acts on it. There are two sets of constants:
``"paper"``, followed through the proofs, and ``"tuned"``, measured by simulation.

`certificate` gives the bound, and `coefficients` the numbers that it is made of. `form.py` has its
formula and reads the measured numbers. `lemmas.py`, then `proofs.py`, derive the paper's constants:
each docstring is a chain of inequalities, and its function returns the last bound.
"""

from __future__ import annotations

import math

from calibrant._checks import check_choice, check_integer, check_real
from calibrant.certificates.form import (
    BASES,
    CERTIFIED_MEASURES,
    Coefficients,
    name_of,
    trivial,
    tuned,
    tuned_table,
)
from calibrant.certificates.proofs import PROOFS

__all__ = [
    "BASES",
    "CERTIFIED_MEASURES",
    "Coefficients",
    "certificate",
    "coefficients",
    "restart_delta",
]

CONSTANTS = ("tuned", "paper")
#: Stands for a horizon that was not given: longer than any stream.
LONGEST = 2**62


def _check_delta(delta: float) -> float:
    level = check_real("delta", delta, 0.0, 1.0)
    if level == 0.0:
        raise ValueError("delta must be above 0: nothing is certain, got 0.0")
    return level


def coefficients(
    measure: str,
    *,
    base: str = "refined",
    delta: float = 0.05,
    constants: str = "tuned",
    horizon: int | None = None,
) -> Coefficients:
    """Return the numbers of a certificate.

    Parameters
    ----------
    measure : {"l1", "l2", "pseudo_l2", "pseudo_kl"}
        The error: Cal1, Cal2, PCal2 or PKLCal.
    base : {"refined", "interval", "swap"}, default "refined"
        Whose error: that of `Refined` for the measure, for l1 also that of `Interval` on equal
        intervals, for l2 also that of `Refined` for pseudo_l2.
    delta : float, default 0.05
        How often the certificate may be wrong, above 0 and at most 1.
    constants : {"tuned", "paper"}, default "tuned"
        Measured or proved.
    horizon : int, optional
        Number of rounds T that the proved constants are for; 2^62 if not given. The measured ones
        do not depend on it.

    Returns
    -------
    Coefficients
        c0, c1, d0, d1 with U(n, C) = (c0 + c1 M) + (d0 + d1 M) C^(1/3), M = log2(n + 1), or
        c0 sqrt(n) + d0 (C n)^(1/3) for l1. For ``"paper"``, n must be at most T, and the trivial
        bound can be the smaller one: see `certificate`.

    Examples
    --------
    >>> from calibrant.certificates import coefficients
    >>> coefficients("l2").c1
    1.0
    >>> round(coefficients("pseudo_l2", constants="paper", horizon=100_000).c1)
    840
    """
    check_choice("measure", measure, CERTIFIED_MEASURES)
    name = name_of(measure, check_choice("base", base, BASES[measure]))
    level = _check_delta(delta)
    T = LONGEST if horizon is None else check_integer("horizon", horizon, 1, LONGEST)
    if check_choice("constants", constants, CONSTANTS) == "tuned":
        return tuned(tuned_table()["measures"][name], level)
    return PROOFS[name](T, level)


def certificate(
    measure: str,
    rounds: int,
    *,
    base: str = "refined",
    deviation: float = 0.0,
    delta: float = 0.05,
    constants: str = "tuned",
    horizon: int | None = None,
) -> float:
    """Return U(n, C), the error that a world of deviation C explains after n rounds.

    A fresh base that was given C, with the same constants, passes it with probability at most
    delta. The error is the sum over the forecaster's epochs of the error of each, which is never
    less than the error of all rounds together.

    Proved, for ``"paper"``: Theorems `cal1_better` (l1), `cal2_approach1` (l2), `PCal2_bound`
    (pseudo_l2), `PKLCal_bound_knownC` (pseudo_kl), `CalL1_knownC` (l1 of ``"interval"``) and
    Corollary `Cal2_bound_implied_by_PCal2` (l2 of ``"swap"``) of Liu, Luo & Ratliff, *Adaptive
    Calibration in Non-Stationary Environments*, with constants that `calibrant.certificates.proofs`
    derives step by step. They hold for all n up to the horizon at once. They are large: for l1 and
    l2 the trivial bound, that n rounds cannot cost more than n, is the smaller one at any real
    length, and then it is returned. ``"paper"`` needs the horizon that the forecaster was given.

    Measured, for ``"tuned"``: the part without C lies above 95% confidence bounds of how large
    the error gets, at any n up to 10^5 (in some runs up to 10^6), in stationary worlds of mean 0.5,
    0.1 and 0.01, at levels delta from 0.005 to 0.2; outside these it is an extrapolation. The part
    with C covers six kinds of drifting worlds of 10^4 and 10^5 rounds at level 0.05, and is the
    weaker of the two. The bases ``"interval"`` and ``"swap"`` were measured on runs a tenth as long
    (10^4 rounds, some 10^5). That the form is right for the tuned forecaster is an argument about
    orders of growth, not a proof.

    Parameters
    ----------
    measure : {"l1", "l2", "pseudo_l2", "pseudo_kl"}
        The error: Cal1, Cal2, PCal2 or PKLCal.
    rounds : int
        The number n of rounds, at least 1.
    deviation : float, default 0.0
        The deviation C of the means from one value, summed over the rounds.
    base, delta, constants, horizon
        As for `coefficients`. A horizon is at least `rounds`.

    Examples
    --------
    >>> from calibrant.certificates import certificate
    >>> certificate("l2", 1000) < certificate("l2", 1000, deviation=8)
    True
    >>> certificate("l2", 1000, constants="paper")
    1000.0
    """
    numbers = coefficients(measure, base=base, delta=delta, constants=constants, horizon=horizon)
    T = LONGEST if horizon is None else horizon
    n = check_integer("rounds", rounds, 1, T)
    bound = numbers.bound(measure, n, check_real("deviation", deviation, 0.0, math.inf))
    return min(bound, trivial(measure, n, T)) if constants == "paper" else bound


def restart_delta(delta: float, horizon: int) -> float:
    """Return delta' = delta/(10 T^2 ceil(log_8(8 + T))), at which `Restarting` must test.

    With it, all certificates of all intervals and all guesses of the deviation hold together with
    probability 1 - delta (Algorithm `meta_alg_piecewise`).

    Examples
    --------
    >>> from calibrant.certificates import restart_delta
    >>> restart_delta(0.05, 1000)
    1.25e-09
    """
    T = check_integer("horizon", horizon, 1, LONGEST)
    guesses = 1
    while 8**guesses < 8 + T:  # exact, where a logarithm would round
        guesses += 1
    return _check_delta(delta) / (10 * T**2 * guesses)
