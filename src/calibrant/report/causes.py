"""Why a recalibration came out as it did: the causes that the rounds themselves can show.

This is the one place where a diagnosis enters the report. Each is a function of the `Evidence` and
of the word found so far; it returns a `Cause`, or None where it sees nothing. `CAUSES` says in
which order they are asked, and the first that answers is believed: its sentence stands beside the
verdict and, if it names a word of its own, the verdict becomes that word.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from calibrant._checks import Floats
from calibrant.measures import DelayCheck
from calibrant.measures.binned import Scheme
from calibrant.measures.chance import chance_ece, chance_mean
from calibrant.report.before_after import BeforeAfter
from calibrant.report.style import show_share
from calibrant.report.verdict import FEW_EVENTS, Verdict, Word

#: Outcomes that are learned at least so many rounds later, in the median, are called late.
LATE = 10
SCHEMES: tuple[Scheme, ...] = ("width", "mass")
#: Chance puts 1 stretch in 40 on either side; this many are more.
BY_TURNS = 0.1
#: With fewer outcomes of a kind, a real change can hide in chance.
SCARCE = 100


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a cause can be seen from.

    Attributes
    ----------
    both : BeforeAfter
        The measures before and after.
    waits : array of float or None
        How many other rounds were predicted before each outcome was learned; infinite for one
        that was not learned before the last prediction. None where nothing is said of it.
    delays : DelayCheck or None
        Whether delays depend on the outcome, where outcomes were learned as they came.
    """

    both: BeforeAfter
    waits: Floats | None = None
    delays: DelayCheck | None = None


@dataclass(frozen=True)
class Cause:
    """A likely cause, in a sentence; `word` is the verdict it leads to, None for the one found."""

    sentence: str
    word: Word | None = None


Diagnosis: TypeAlias = Callable[[Evidence, Word], Cause | None]


def explain(verdict: Verdict, evidence: Evidence) -> Verdict:
    """Return the verdict with its likely cause."""
    for look in CAUSES:
        cause = look(evidence, verdict.word)
        if cause is not None:
            word = cause.word or verdict.word
            return replace(verdict, word=word, cause=cause.sentence, is_turned=word != verdict.word)
    return verdict


def one_sided(evidence: Evidence, word: Word) -> Cause | None:
    """Outcomes of one kind that come later: what is known is not representative."""
    if evidence.delays is None or not evidence.delays.depends:
        return None
    return Cause(evidence.delays.sentence(), None if word == "worse" else "one-sided")


def too_few(evidence: Evidence, word: Word) -> Cause | None:
    """Few rounds, or few of what is rare: no interval can be narrow."""
    both = evidence.both
    mean = both.calibrated.mean_outcome
    events = both.rounds * min(mean, 1.0 - mean)
    if both.raw is None or word not in ("no different", "cannot tell") or events >= SCARCE:
        return None
    rare = 1 if mean < 0.5 else 0
    more = "the verdict needs 200 rounds and ten outcomes of each kind"
    if word == "no different":
        if _is_calibrated(evidence):
            return None
        more = "a change of the size that calibration makes can hide in so few"
    elif both.rounds >= 200 and events >= FEW_EVENTS:
        return None  # there are enough: the losses contradict each other
    return Cause(f"There are {both.rounds:,} outcomes, {events:,.0f} of them {rare}: {more}.")


def outcomes_late(evidence: Evidence, word: Word) -> Cause | None:
    """Outcomes that come late: what was learned describes the world of some time ago."""
    waits = evidence.waits
    if waits is None or word == "better" or np.median(waits) < LATE:
        return None
    if word != "worse" and _is_calibrated(evidence):
        return None
    typical = _later(float(np.median(waits)))
    return Cause(
        f"Outcomes come late: a typical one {typical}. By then the scores may have become wrong in "
        "another way."
    )


def already_calibrated(evidence: Evidence, word: Word) -> Cause | None:
    """Scores that were right: there was nothing to gain."""
    raw = evidence.both.raw
    if raw is None or word not in ("no different", "worse") or not _is_calibrated(evidence):
        return None
    table = raw.distinct()
    limit = chance_ece(table.prediction, table.count, at_most=True)
    return Cause(
        f"The scores were calibrated already: they had an ECE of {show_share(raw.ece)}, "
        f"and chance alone leaves up to {show_share(limit)}."
    )


def wrong_mean(evidence: Evidence, word: Word) -> Cause | None:
    """Probabilities whose mean is wrong: the scores' if they got better, else the calibrated."""
    name = {"better": "raw", "worse": "calibrated"}.get(word)
    card, changes = evidence.both.columns.get(name or ""), evidence.both.changes
    if card is None or changes is None:
        return None
    mean, observed, table = card.mean_prediction, card.mean_outcome, card.distinct()
    # A wrong mean adds its square to the Brier score.
    explains = (mean - observed) ** 2 >= abs(changes[0].mean) / 4.0
    if abs(mean - observed) <= chance_mean(table.prediction, table.count) or not explains:
        return None
    who = "The scores" if name == "raw" else "The calibrated probabilities"
    return Cause(
        f"{who} were {show_share(mean)} on average where {show_share(observed)} was observed."
    )


def wrong_by_turns(evidence: Evidence, word: Word) -> Cause | None:
    """Scores that are too high in some stretches and too low in others: the world moves."""
    raw, window = evidence.both.raw, evidence.both.window
    stretches = 0 if raw is None else raw.rounds // window
    if word != "better" or raw is None or stretches == 0:
        return None
    each = raw.stretches()
    bias = (each.mean_prediction - each.mean_outcome)[:stretches]
    beyond = np.abs(bias) > each.chance_mean[:stretches]
    high, low = (int((beyond & (sign * bias > 0.0)).sum()) for sign in (1.0, -1.0))
    if min(high, low) <= BY_TURNS * stretches:
        return None
    return Cause(
        f"The scores were wrong by turns: of {stretches:,} stretches of {window:,} rounds, they "
        f"were too high in {high:,} and too low in {low:,}, by more than chance explains."
    )


def wrong_at_some_scores(evidence: Evidence, word: Word) -> Cause | None:
    """Scores that are about right in the mean and wrong at many of their values."""
    if evidence.both.raw is None or word != "better" or _is_calibrated(evidence):
        return None
    return Cause(
        "The scores were nearly right in the mean of all rounds, but not at each of their values "
        "or not in each group: see observed against predicted."
    )


#: In the order in which they are asked.
CAUSES: tuple[Diagnosis, ...] = (
    one_sided,
    too_few,
    outcomes_late,
    already_calibrated,
    wrong_by_turns,
    wrong_mean,
    wrong_at_some_scores,
)


def waits_of(made: Floats, known: Floats) -> Floats:
    """Return for each row how many others were predicted before its outcome was learned.

    `made` says when rows were predicted, and never falls; `known` when their outcomes became known,
    NaN for never. Infinite where that was not before the last prediction.

    Examples
    --------
    >>> import numpy as np
    >>> waits_of(np.array([1.0, 2.0, 3.0, 4.0]), np.array([4.0, 3.0, 5.0, np.nan]))
    array([inf,  1., inf, inf])
    """
    learned_by = np.searchsorted(made, known, side="right")  # an outcome is learned by later rows
    return np.where(learned_by < len(made), learned_by - np.arange(len(made)) - 1.0, np.inf)


def _is_calibrated(evidence: Evidence) -> bool:
    """Whether the scores' error is within what chance alone leaves."""
    raw = evidence.both.raw
    if raw is None:
        return False
    table = raw.distinct()
    # Bins of equal width may hold all rare events in one; those of equal mass look closer.
    return all(
        raw.reliability(20, scheme=scheme).ece
        <= chance_ece(table.prediction, table.count, scheme=scheme, at_most=True)
        for scheme in SCHEMES
    )


def _later(wait: float) -> str:
    if np.isinf(wait):
        return "comes only after the last prediction"
    return f"comes {wait:,.0f} rounds later" if wait else "comes at once"
