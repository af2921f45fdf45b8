"""Descriptions in words of what the experts of a mixture remember."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

HOUR, DAY = 3600.0, 86400.0
#: The meaning of a period, by the usual step between times and the period.
KNOWN_PERIODS = {
    (HOUR, 24): "the same hour yesterday",
    (HOUR, 168): "the same hour a week ago",
    (HOUR / 2, 48): "the same time yesterday",
    (DAY, 7): "the same weekday last week",
    (DAY, 365): "the same day last year",
}
CALENDAR = ("the hour of the day", "the weekday", "the month", "the hour of the week")


class Memory(NamedTuple):
    """Something that a prediction is based on, and its current weight.

    Attributes
    ----------
    words : str
        What is remembered, or how a score is transformed.
    weight : float
        Its share of the prediction, in [0, 1].

    Examples
    --------
    >>> from calibrant import EventForecaster
    >>> from calibrant.streams import markov
    >>> forecaster = EventForecaster()
    >>> _ = forecaster.run(markov(5000, order=2, seed=1).outcomes)
    >>> forecaster.weights()[0].words
    'the last 2 outcomes'
    """

    words: str
    weight: float


def describe_experts(
    rates: Sequence[float], orders: int, periods: Sequence[tuple[int, int]], step: float
) -> list[str]:
    """Return the words of every expert of an event mixture, in its order.

    `rates` are those of the recent means. Each of the `periods` comes with the number of rounds
    since the outcomes that stand for the last one: several periods, if that one is not known yet.
    `step` is the usual
    number of seconds between rounds, or 0 where it is not known.
    """
    contexts = ["the mean of all outcomes"]
    contexts += [last_outcomes(order) for order in range(1, orders)]
    contexts += ["how busy it was lately", "how long the run has lasted"]
    for period, back in periods:
        known = KNOWN_PERIODS.get((step, back))
        contexts.append(known or f"the outcomes {back} rounds ago")
        contexts += [f"the place in a period of {period}"] * 2
    # If rounds are days or longer, all have the same hour, which carries no information.
    contexts += CALENDAR if step < DAY else [contexts[0], *CALENDAR[1:3], CALENDAR[1]]
    return [
        "a blend of all memories",
        *(f"the mean of about the last {round(1 / rate):,} outcomes" for rate in rates),
        "which of two hidden states it is in",
        "whether a rare hidden state is on",
        *(words for words in contexts for _ in range(2)),  # a slow and a fast counter
    ]


def last_outcomes(count: int) -> str:
    """Return the words for a memory of so many outcomes."""
    return "the last outcome" if count == 1 else f"the last {count} outcomes"


def heaviest_first(words: Iterable[str], weights: Iterable[float]) -> list[Memory]:
    """Return the memories, joined if their words are equal, with the largest weight first."""
    total: defaultdict[str, float] = defaultdict(float)
    for each, weight in zip(words, weights, strict=True):
        total[each] += weight
    memories = [Memory(each, weight) for each, weight in total.items() if weight > 0.0]
    return sorted(memories, key=attrgetter("weight"), reverse=True)


def heaviest_in_words(memories: Sequence[Memory], most: int = 3) -> str:
    """Return the memories with the largest weights as part of a sentence.

    Examples
    --------
    >>> from calibrant.forecasters.memories import Memory, heaviest_in_words
    >>> heaviest_in_words([Memory("a slow drift", 0.8), Memory("the last outcome", 0.2)])
    'a slow drift (80%) and the last outcome (20%)'
    """
    heavy = [each for each in memories[:most] if each.weight >= 0.005] or memories[:1]
    words = [f"{each.words} ({each.weight:.0%})" for each in heavy]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def family_of(words: str) -> str:
    """Return the kind of a memory, one of the few that a figure distinguishes.

    Examples
    --------
    >>> from calibrant.forecasters.memories import family_of
    >>> family_of("the last 4 outcomes"), family_of("the same hour yesterday")
    ('the last outcomes', 'seasons')
    """
    if words.startswith("the last "):
        return "the last outcomes"
    if words.startswith(("the mean of", "a blend")):
        return "means of many outcomes"
    if "hidden" in words:
        return "hidden states"
    if words.startswith("how "):
        return "bursts and runs"
    return "the calendar" if words in CALENDAR else "seasons"
