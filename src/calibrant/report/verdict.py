"""Better, no different or worse: what a recalibration did to the losses, decided and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from calibrant.measures import Change
from calibrant.report.style import show_share

if TYPE_CHECKING:
    from calibrant.report.before_after import BeforeAfter

Word: TypeAlias = Literal["better", "no different", "worse", "cannot tell", "one-sided"]
#: A loss that rose by less than this share of itself is not called worse: learning has a price,
#: below half of this in 1,000 rounds whose scores were right, and falling with their number.
TOLERANCE = 0.01
#: Outcomes of either kind below which the interval of a loss is not to be trusted.
FEW_EVENTS = 10


@dataclass(frozen=True)
class Verdict:
    """Whether recalibrated probabilities are better than the scores they were made from.

    Two losses are compared round by round, Brier score and log loss, each with an interval that
    allows for neighbours being alike; together the two intervals hold at 95 %. *Better*: one loss
    fell beyond chance and the other did not get worse. *Worse*: one rose, beyond chance, by more
    than 1 % and the other did not fall. *No different*: neither. *Cannot tell*: fewer than 200
    rounds, fewer than ten outcomes of a kind, losses that contradict each other, or no before.
    *One-sided*: outcomes of one kind became known later than the other, so what was learned is not
    what was observed, whatever the losses did.

    Attributes
    ----------
    word : {"better", "no different", "worse", "cannot tell", "one-sided"}
        The verdict.
    size : str
        By how much, in a sentence.
    cause : str
        The likely cause, in a sentence; empty where the rounds show none.
    is_turned : bool
        Whether the cause, and not the losses alone, decided the word.

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

    @property
    def sentences(self) -> list[str]:
        """Size and cause; the cause first where it decided."""
        told = [self.cause, self.size] if self.is_turned else [self.size, self.cause]
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
            f"{few} to tell a change of the Brier score from chance: {first.numbers}"
            f"{first.times_in_words}.",
        )
    moves = {loss.move for loss in losses}
    if moves >= {"better", "worse"}:
        return Verdict(
            "cannot tell",
            f"The two losses contradict each other: {first.in_words}, but {second.in_words}.",
        )
    if moves == {"same"}:
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
    def numbers(self) -> str:
        """Both values."""
        return f"{digits(self.before)} became {digits(self.after)}"

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
            f"the {self.name} {'fell' if fell else 'rose'} from {digits(self.before)} to "
            f"{digits(self.after)}{by}"
        )

    @property
    def unmoved(self) -> str:
        """That it did not move by enough to count, with the interval."""
        if self.change.low > 0.0:
            return (
                f"The {self.name} rose from {digits(self.before)} to {digits(self.after)}: more "
                f"than chance, but not surely by more than the {100 * TOLERANCE:g} % that would "
                f"count as worse ({self.interval})."
            )
        return f"The {self.name} did not change beyond chance: {self.numbers} ({self.interval})."

    @property
    def interval(self) -> str:
        """The change and its interval."""
        mean, low, high = (
            f"{'-' if value < 0 else '+'}{digits(abs(value))}"
            for value in (self.change.mean, self.change.low, self.change.high)
        )
        return f"{mean}, 95 % interval {low} to {high}"


def digits(value: float) -> str:
    """Return a loss with four decimals or, a small one, with three digits that count.

    Examples
    --------
    >>> [digits(value) for value in (0.17312, 0.00098765, 0.0, float("inf"))]
    ['0.1731', '0.000988', '0.0000', 'infinite']
    """
    if math.isinf(value):
        return "infinite"
    if value == 0.0 or value >= 0.01:
        return f"{value:.4f}"
    places = 2 - math.floor(math.log10(value))
    return f"{value:.{min(places, 9)}f}"
