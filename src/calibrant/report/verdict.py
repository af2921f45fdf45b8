"""Better, no different or worse: what a recalibration did to the losses, and the likely cause.

`judge` decides by the losses. A diagnosis of why is a function of the `Evidence` and of the word
found so far; it returns a `Cause`, or None where it sees nothing. `CAUSES` says in which order they
are asked, and the first that answers is believed: its sentence stands beside the verdict and, if it
names a word of its own, the verdict becomes that word.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from calibrant._checks import Floats
from calibrant.checks import Finding
from calibrant.measures import Change
from calibrant.measures.binned import Scheme
from calibrant.measures.chance import chance_ece, chance_mean
from calibrant.report.style import show_share

if TYPE_CHECKING:
    from calibrant.report.before_after import BeforeAfter

Word: TypeAlias = Literal["better", "no different", "worse", "cannot tell", "doubtful"]
#: A loss that rose by less than this share of itself is not called worse: learning has a price,
#: below half of this in 1,000 rounds whose scores were right, and falling with their number.
TOLERANCE = 0.01
#: Outcomes of either kind below which the interval of a loss is not to be trusted.
FEW_EVENTS = 10
#: Beyond so many times the rounds there are, it is not estimated how many more it takes.
MOST_MORE = 20
#: Outcomes that are learned at least so many rounds later, in the median, are called late.
LATE = 10
SCHEMES: tuple[Scheme, ...] = ("width", "mass")
#: Chance puts 1 stretch in 40 on either side; this many are more.
BY_TURNS = 0.1
#: With fewer outcomes of a kind, a real change can hide in chance.
SCARCE = 100


@dataclass(frozen=True)
class Verdict:
    """Whether recalibrated probabilities are better than the scores they were made from.

    Two losses are compared round by round, Brier score and log loss, each with an interval that
    allows for neighbours being alike; together the two intervals hold at 95 %. *Better*: one loss
    fell beyond chance and the other did not get worse. *Worse*: one rose, beyond chance, by more
    than 1 % and the other did not fall. *No different*: neither. *Cannot tell*: fewer than 200
    rounds, fewer than ten outcomes of a kind, losses that contradict each other, stretches that
    depend on each other too much to tell the change from chance yet, or no before. *Doubtful*: a
    check of the rows has a warning, so that the losses cannot be believed, whatever they did;
    `docs/checks.md` has them.

    Attributes
    ----------
    word : {"better", "no different", "worse", "cannot tell", "doubtful"}
        The verdict.
    size : str
        By how much, in a sentence.
    cause : str
        The likely cause, in a sentence; empty where the rounds show none.
    is_turned : bool
        Whether the cause, and not the losses alone, decided the word.
    assumed : str
        What was taken for granted of the rows, in a sentence that is said first; empty if nothing.

    Examples
    --------
    >>> from calibrant.report import recalibration
    >>> verdict = recalibration([0.9] * 400, [0.5] * 400, [1, 0] * 200).verdict
    >>> verdict.word, verdict.cause
    ('better', 'The scores were 0.900 on average where 0.500 was observed.')
    >>> print(verdict.size)
    The probabilities became better: the Brier score fell from 0.4100 to 0.2500, by 39.0 % ...
    """

    word: Word
    size: str
    cause: str = ""
    is_turned: bool = False
    assumed: str = ""

    @property
    def sentences(self) -> list[str]:
        """What was assumed, then size and cause; the cause first where it decided."""
        told = [self.cause, self.size] if self.is_turned else [self.size, self.cause]
        told = [self.assumed, *told]
        return [sentence for sentence in told if sentence]


def judge(both: BeforeAfter) -> Verdict:
    """Return the verdict on two columns of probabilities; its cause is found elsewhere."""
    before, after = both.raw, both.calibrated
    changes = both.changes
    if before is None or changes is None:
        return Verdict(
            "cannot tell",
            "The scores are margins, not probabilities, so there is no before to compare with. "
            f"Calibrated, they have an ECE of {show_share(after.ece)}.",
        )
    losses = [
        Loss("Brier score", before.brier, after.brier, changes[0]),
        Loss("log loss", before.log_loss, after.log_loss, changes[1]),
    ]
    first, second = losses
    mean = both.calibrated.mean_outcome
    events = both.rounds * min(mean, 1.0 - mean)
    kind = 1 if mean < 0.5 else 0
    few = ""
    if math.isnan(changes[0].low):
        few = f"Too few rounds ({both.rounds:,})"
    elif events < FEW_EVENTS:
        few = f"Too few outcomes of {kind} ({events:,.0f} in {both.rounds:,} rounds)"
    if few:
        return Verdict(
            "cannot tell",
            f"{few} to tell a change of the Brier score from chance: "
            f"{show_share(first.before, 4)} became {show_share(first.after, 4)}"
            f"{first.times_in_words}.",
        )
    moves = {loss.move for loss in losses}
    if moves >= {"better", "worse"}:
        return Verdict(
            "cannot tell",
            f"The two losses contradict each other: {first.in_words}, but {second.in_words}.",
        )
    if moves == {"same"}:
        if first.change.is_unsettled and first.change.low <= 0.0 <= first.change.high:
            return Verdict("cannot tell", first.unsettled(both.rounds))
        return Verdict("no different", first.unmoved)
    word: Word = "better" if "better" in moves else "worse"
    moved = [loss for loss in losses if loss.move == word]
    told = f"{moved[0].in_words} ({moved[0].interval})"
    if len(moved) > 1:
        told += f", and {second.in_words}"
    return Verdict(word, f"The probabilities became {word}: {told}.")


@dataclass(frozen=True)
class Loss:
    """A loss before and after, and how it changed."""

    name: str
    before: float
    after: float
    change: Change

    @property
    def move(self) -> Literal["better", "same", "worse"]:
        """Which way it moved, beyond chance and by enough to count."""
        if self.change.high < 0.0:
            return "better"
        return "worse" if self.change.low > TOLERANCE * self.before else "same"

    @property
    def times_in_words(self) -> str:
        """How many times its size a loss became, where that is striking."""
        times = self.after / self.before if self.before else math.inf
        return f", {times:.1f} times what it was" if 1.5 <= times < math.inf else ""

    @property
    def in_words(self) -> str:
        """How it moved, and from where to where."""
        fell = self.change.mean < 0.0
        share = 100.0 * abs(self.change.mean) / self.before if self.before else math.inf
        by = self.times_in_words or (f", by {share:.1f} %" if 0.0 < share < math.inf else "")
        return (
            f"the {self.name} {'fell' if fell else 'rose'} from {show_share(self.before, 4)} to "
            f"{show_share(self.after, 4)}{by}"
        )

    @property
    def unmoved(self) -> str:
        """That it did not move by enough to count, with the interval."""
        if self.change.low > 0.0:
            return (
                f"The {self.name} rose from {show_share(self.before, 4)} to "
                f"{show_share(self.after, 4)}: more than chance, but not "
                f"surely by more than the {100 * TOLERANCE:g} % that would count as worse "
                f"({self.interval})."
            )
        return (
            f"The {self.name} did not change beyond chance: {show_share(self.before, 4)} became "
            f"{show_share(self.after, 4)} ({self.interval})."
        )

    def unsettled(self, rounds: int) -> str:
        """That so many rounds cannot say how it moved, and about how many more it takes."""
        needed = rounds * (self.change.rounds_needed - 1.0)
        more = f"about {rounded(needed):,} more outcomes" if needed < MOST_MORE * rounds else (
            f"more than {MOST_MORE} times as many outcomes"
        )  # fmt: skip
        return (
            f"It is too early to tell whether the {self.name} changed: "
            f"{show_share(self.before, 4)} became {show_share(self.after, 4)}"
            f"{self.times_in_words} ({self.interval}). Good and bad stretches follow each other, "
            f"so that {rounds:,} rounds say little; at this rate it takes {more} to "
            "tell."
        )

    @property
    def interval(self) -> str:
        """The change and its interval."""
        mean, low, high = (
            f"{'-' if value < 0 else '+'}{show_share(abs(value), 4)}"
            for value in (self.change.mean, self.change.low, self.change.high)
        )
        return f"{mean}, 95 % interval {low} to {high}"


def who_wins(changes: Mapping[str, Change], of: str, loss: str) -> str:
    """Say who wins: calibrant, or the best of others, or neither beyond chance.

    `changes` are of calibrant's loss against each of the others: negative where its own is lower.

    Examples
    --------
    >>> from calibrant.measures import Change
    >>> who_wins({"TOPS": Change(-0.02, -0.03, -0.01)}, "one rival", "log loss")[-45:]
    '(95 % interval 0.01 to 0.03): calibrant wins.'
    """
    best = max(changes, key=lambda name: changes[name].mean)
    change, name = changes[best], f"the {best}" if best.endswith("refit") else best
    start = f"Of {of} on the same rows, {name} has the lowest {loss}; calibrant's"
    if math.isnan(change.low):
        return f"{start} differs from it by {change.mean:+.3g}, in too few rows to say who wins."
    if change.low <= 0.0 <= change.high:
        return (
            f"{start} differs from it by {change.mean:+.3g}, which is within chance (95 % "
            f"interval {change.low:+.3g} to {change.high:+.3g}): no clear winner."
        )
    low, high = sorted([abs(change.low), abs(change.high)])
    return (
        f"{start} is {'lower' if change.mean < 0.0 else 'higher'} by {abs(change.mean):.3g} (95 % "
        f"interval {low:.3g} to {high:.3g}): {'calibrant' if change.mean < 0.0 else name} wins."
    )


def rounded(count: float) -> int:
    """Return a count with one digit that counts, or two: it is only an estimate.

    Examples
    --------
    >>> [rounded(count) for count in (7.2, 1234.0, 98765.0)]
    [8, 1300, 99000]
    """
    size = 10.0 ** max(math.floor(math.log10(max(count, 1.0))) - 1, 0)
    return int(math.ceil(count / size) * size)


# -- causes ----------------------------------------------------------------------------------------


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
    checks : sequence of Finding
        What the checks of the rows found.
    """

    both: BeforeAfter
    waits: Floats | None = None
    checks: Sequence[Finding] = ()


@dataclass(frozen=True)
class Cause:
    """A likely cause, in a sentence; `word` is the verdict it leads to, None for the one found."""

    sentence: str
    word: Word | None = None


Diagnosis: TypeAlias = Callable[[Evidence, Word], Cause | None]


def doubtful(evidence: Evidence, word: Word) -> Cause | None:
    """Rows that a check warns of: what was measured on them cannot be believed."""
    warnings = [finding.message for finding in evidence.checks if finding.is_open]
    return Cause(" ".join(warnings), None if word == "worse" else "doubtful") if warnings else None


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
    doubtful,
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


def first_to_know(made: Floats | None, known: Floats | None, rounds: int) -> Floats:
    """Return the first row that may know each outcome; infinite for one that is never known.

    `made` and `known` are as in `waits_of`; without `known`, the next row knows it.

    Examples
    --------
    >>> import numpy as np
    >>> first_to_know(np.array([1.0, 2.0, 3.0]), np.array([2.0, 9.0, np.nan]), 3)
    array([ 2.,  3., inf])
    """
    if known is None:
        return np.arange(1.0, rounds + 1.0)
    rows = np.arange(float(rounds)) if made is None else made
    return np.where(np.isnan(known), np.inf, np.searchsorted(rows, known, side="right"))


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
