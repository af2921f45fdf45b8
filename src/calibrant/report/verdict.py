"""Better, no different or worse: what a recalibration did to the losses, and the likely cause.

`judge` decides by the losses. A diagnosis is a function of the `Evidence` and of the word found so
far, which returns a `Cause`, or None if it finds nothing. `CAUSES` lists the diagnoses in order of
precedence. The sentence of the first cause found is shown beside the verdict; if the cause has a
word, it replaces that of the verdict.
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
#: A loss that rose by less than this share is not called worse: learning has a cost, below half of
#: this in 1,000 rounds whose scores were right, which falls with the number of rounds.
TOLERANCE = 0.01
#: With fewer outcomes of either kind, the interval of a loss cannot be trusted.
FEW_EVENTS = 10
#: The number of rounds still needed is estimated up to this multiple of the rounds there are.
MOST_MORE = 20
#: Outcomes are called late if their median delay is at least this many rounds.
LATE = 10
SCHEMES: tuple[Scheme, ...] = ("width", "mass")
#: Chance puts 1 stretch in 40 beyond either limit; this share is more than chance.
BY_TURNS = 0.1
#: With fewer outcomes of a kind, a real change can hide in chance.
SCARCE = 100


@dataclass(frozen=True)
class Verdict:
    """Whether recalibrated probabilities are better than the scores they were made from.

    Two losses are compared round by round, Brier score and log loss, each with an interval that
    allows for correlation between neighbouring rounds; together the two intervals hold at 95%.
    *Better*: one loss fell beyond chance, and the other did not get worse. *Worse*: one loss rose
    beyond chance by more than 1%, and the other did not fall. *No different*: neither. *Cannot
    tell*: fewer than 200 rounds, fewer than ten outcomes of a kind, losses that contradict each
    other, rounds too correlated to tell the change from chance yet, or no raw probabilities to
    compare with. *Doubtful*: a check of the rows has a warning, so the losses cannot be trusted;
    see `docs/checks.md`.

    Attributes
    ----------
    word : {"better", "no different", "worse", "cannot tell", "doubtful"}
        The verdict.
    size : str
        By how much, in a sentence.
    cause : str
        The likely cause, in a sentence; empty if none was found.
    is_turned : bool
        Whether the cause changed the word that the losses gave.
    assumed : str
        What was assumed about the rows, in a sentence shown first; empty if nothing.

    Examples
    --------
    >>> from calibrant.report import recalibration
    >>> verdict = recalibration([0.9] * 400, [0.5] * 400, [1, 0] * 200).verdict
    >>> verdict.word, verdict.cause
    ('better', 'The scores were 0.900 on average, but 0.500 was observed.')
    >>> print(verdict.size)
    The probabilities became better: the Brier score fell from 0.4100 to 0.2500, by 39.0% ...
    """

    word: Word
    size: str
    cause: str = ""
    is_turned: bool = False
    assumed: str = ""

    @property
    def sentences(self) -> list[str]:
        """What was assumed, then size and cause; the cause first if it changed the word."""
        told = [self.cause, self.size] if self.is_turned else [self.size, self.cause]
        told = [self.assumed, *told]
        return [sentence for sentence in told if sentence]


def judge(both: BeforeAfter) -> Verdict:
    """Return the verdict on two columns of probabilities, without a cause."""
    before, after = both.raw, both.calibrated
    changes = both.changes
    if before is None or changes is None:
        return Verdict(
            "cannot tell",
            "The scores are margins, not probabilities, so there is nothing to compare with. "
            f"The calibrated probabilities have an ECE of {show_share(after.ece)}.",
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
        """The direction of the change, if it is beyond chance and large enough to count."""
        if self.change.high < 0.0:
            return "better"
        return "worse" if self.change.low > TOLERANCE * self.before else "same"

    @property
    def times_in_words(self) -> str:
        """The ratio of the loss to its former value, if it is large."""
        times = self.after / self.before if self.before else math.inf
        return f", {times:.1f} times what it was" if 1.5 <= times < math.inf else ""

    @property
    def in_words(self) -> str:
        """The change, with the values before and after."""
        fell = self.change.mean < 0.0
        share = 100.0 * abs(self.change.mean) / self.before if self.before else math.inf
        by = self.times_in_words or (f", by {share:.1f}%" if 0.0 < share < math.inf else "")
        return (
            f"the {self.name} {'fell' if fell else 'rose'} from {show_share(self.before, 4)} to "
            f"{show_share(self.after, 4)}{by}"
        )

    @property
    def unmoved(self) -> str:
        """A sentence on a change that is too small to count, with the interval."""
        if self.change.low > 0.0:
            return (
                f"The {self.name} rose from {show_share(self.before, 4)} to "
                f"{show_share(self.after, 4)}: beyond chance, but not clearly by more than the "
                f"{100 * TOLERANCE:g}% that would count as worse ({self.interval})."
            )
        return (
            f"The {self.name} did not change beyond chance: {show_share(self.before, 4)} became "
            f"{show_share(self.after, 4)} ({self.interval})."
        )

    def unsettled(self, rounds: int) -> str:
        """A sentence on a change that cannot be told from chance yet, and the rounds needed."""
        needed = rounds * (self.change.rounds_needed - 1.0)
        more = f"about {rounded(needed):,} more outcomes" if needed < MOST_MORE * rounds else (
            f"more than {MOST_MORE} times as many outcomes"
        )  # fmt: skip
        return (
            f"It is too early to tell whether the {self.name} changed: "
            f"{show_share(self.before, 4)} became {show_share(self.after, 4)}"
            f"{self.times_in_words} ({self.interval}). The change differs from stretch to stretch, "
            f"so {rounds:,} rounds are not enough evidence; at this rate, it takes {more} to tell."
        )

    @property
    def interval(self) -> str:
        """The change and its interval."""
        mean, low, high = (
            f"{'-' if value < 0 else '+'}{show_share(abs(value), 4)}"
            for value in (self.change.mean, self.change.low, self.change.high)
        )
        return f"{mean}, 95% interval {low} to {high}"


def who_wins(changes: Mapping[str, Change], of: str, loss: str) -> str:
    """Return which wins: calibrant, or the best of the others, or neither beyond chance.

    `changes` are calibrant's loss minus that of each of the others: negative if its own is lower.

    Examples
    --------
    >>> from calibrant.measures import Change
    >>> who_wins({"TOPS": Change(-0.02, -0.03, -0.01)}, "one rival", "log loss")[-44:]
    '(95% interval 0.01 to 0.03): calibrant wins.'
    """
    best = max(changes, key=lambda name: changes[name].mean)
    change, name = changes[best], f"the {best}" if best.endswith("refit") else best
    start = f"Of {of} on the same rows, {name} has the lowest {loss}; calibrant's"
    if math.isnan(change.low):
        return f"{start} differs from it by {change.mean:+.3g}: too few rows to tell which wins."
    if change.low <= 0.0 <= change.high:
        return (
            f"{start} differs from it by {change.mean:+.3g}, which is within chance (95% "
            f"interval {change.low:+.3g} to {change.high:+.3g}): no clear winner."
        )
    low, high = sorted([abs(change.low), abs(change.high)])
    return (
        f"{start} is {'lower' if change.mean < 0.0 else 'higher'} by {abs(change.mean):.3g} (95% "
        f"interval {low:.3g} to {high:.3g}): {'calibrant' if change.mean < 0.0 else name} wins."
    )


def rounded(count: float) -> int:
    """Return a count rounded up to two significant digits, as it is only an estimate.

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
    """What the causes are derived from.

    Attributes
    ----------
    both : BeforeAfter
        The measures before and after.
    waits : array of float or None
        How many other rounds were predicted before each outcome was learned; infinite for one
        that was not learned before the last prediction. None if unknown.
    checks : sequence of Finding
        What the checks of the rows found.
    """

    both: BeforeAfter
    waits: Floats | None = None
    checks: Sequence[Finding] = ()


@dataclass(frozen=True)
class Cause:
    """A likely cause, in a sentence; `word` replaces that of the verdict, unless it is None."""

    sentence: str
    word: Word | None = None


Diagnosis: TypeAlias = Callable[[Evidence, Word], Cause | None]


def doubtful(evidence: Evidence, word: Word) -> Cause | None:
    """Rows with a warning of a check: measures on them cannot be trusted."""
    warnings = [finding.message for finding in evidence.checks if finding.is_open]
    return Cause(" ".join(warnings), None if word == "worse" else "doubtful") if warnings else None


def too_few(evidence: Evidence, word: Word) -> Cause | None:
    """Few rounds, or few outcomes of the rarer kind: no interval can be narrow."""
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
        more = "so few may not show a change of the size that calibration makes"
    elif both.rounds >= 200 and events >= FEW_EVENTS:
        return None  # there are enough: the losses contradict each other
    return Cause(
        f"There are only {both.rounds:,} outcomes, of which {events:,.0f} are {rare}: {more}."
    )


def outcomes_late(evidence: Evidence, word: Word) -> Cause | None:
    """Late outcomes: what was learned describes the past."""
    waits = evidence.waits
    if waits is None or word == "better" or np.median(waits) < LATE:
        return None
    if word != "worse" and _is_calibrated(evidence):
        return None
    typical = _later(float(np.median(waits)))
    return Cause(
        f"Outcomes arrive late: a typical one {typical}. By then, the scores may be miscalibrated "
        "in a different way."
    )


def already_calibrated(evidence: Evidence, word: Word) -> Cause | None:
    """Scores that were right: there was nothing to gain."""
    raw = evidence.both.raw
    if raw is None or word not in ("no different", "worse") or not _is_calibrated(evidence):
        return None
    table = raw.distinct()
    limit = chance_ece(table.prediction, table.count, at_most=True)
    return Cause(
        f"The scores were already calibrated: their ECE was {show_share(raw.ece)}, "
        f"and chance alone leaves up to {show_share(limit)}."
    )


def wrong_mean(evidence: Evidence, word: Word) -> Cause | None:
    """A wrong mean: of the scores if the losses fell, of the calibrated probabilities if not."""
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
        f"{who} were {show_share(mean)} on average, but {show_share(observed)} was observed."
    )


def wrong_by_turns(evidence: Evidence, word: Word) -> Cause | None:
    """Scores that are too high in some stretches and too low in others: the world changes."""
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
        f"The scores were wrong in both directions: of {stretches:,} stretches of {window:,} "
        f"rounds, they were too high in {high:,} and too low in {low:,} by more than chance "
        "explains."
    )


def wrong_at_some_scores(evidence: Evidence, word: Word) -> Cause | None:
    """Scores whose mean is about right, but that are wrong at many of their values."""
    if evidence.both.raw is None or word != "better" or _is_calibrated(evidence):
        return None
    return Cause(
        "The scores were nearly right on average, but not at some of their values or in some "
        "groups: see observed against predicted."
    )


#: In order of precedence.
CAUSES: tuple[Diagnosis, ...] = (
    doubtful,
    too_few,
    outcomes_late,
    already_calibrated,
    wrong_by_turns,
    wrong_mean,
    wrong_at_some_scores,
)


def _is_calibrated(evidence: Evidence) -> bool:
    """Return whether the error of the scores is within what chance alone leaves."""
    raw = evidence.both.raw
    if raw is None:
        return False
    table = raw.distinct()
    # All rare events may fall into one bin of equal width; bins of equal mass resolve them.
    return all(
        raw.reliability(20, scheme=scheme).ece
        <= chance_ece(table.prediction, table.count, scheme=scheme, at_most=True)
        for scheme in SCHEMES
    )


def _later(wait: float) -> str:
    if np.isinf(wait):
        return "arrives only after the last prediction"
    return f"arrives {wait:,.0f} rounds later" if wait else "arrives at once"
