"""What a single threshold would have done, had one known all outcomes before."""

from __future__ import annotations

import math

import numpy as np

from calibrant._checks import Floats


def cuts_of(scores: Floats, outcomes: Floats) -> tuple[Floats, Floats, Floats]:
    """Return every threshold, the highest first, how many rows it acts on and how many events.

    The first acts on nothing. Equal scores are acted on together, or not at all.
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    last = np.append(np.flatnonzero(np.diff(ranked) < 0.0), len(ranked) - 1)
    acts, events = last + 1.0, np.cumsum(outcomes[order])[last]
    return np.append(math.inf, ranked[last]), np.append(0.0, acts), np.append(0.0, events)


def cheapest_threshold(scores: Floats, outcomes: Floats, costs: list[list[float]]) -> float:
    """Return the threshold of the least cost."""
    thresholds, acts, events = cuts_of(scores, outcomes)
    (c00, c01), (c10, c11) = costs
    total = len(scores)
    passed = (total - acts - (outcomes.sum() - events)) * c00 + (outcomes.sum() - events) * c01
    return float(thresholds[(passed + (acts - events) * c10 + events * c11).argmin()])


def precise_threshold(scores: Floats, outcomes: Floats, precision: float) -> float:
    """Return the lowest threshold with at least this precision; infinite if there is none."""
    thresholds, acts, events = cuts_of(scores, outcomes)
    held = np.flatnonzero(events >= precision * acts)
    return float(thresholds[held[-1]])


def recalling_threshold(scores: Floats, outcomes: Floats, recall: float) -> float:
    """Return the highest threshold with at least this recall."""
    thresholds, _, events = cuts_of(scores, outcomes)
    return float(thresholds[np.searchsorted(events, recall * outcomes.sum() - 1e-9)])


def sized_threshold(scores: Floats, outcomes: Floats, share: float) -> float:
    """Return the lowest threshold that acts on at most a share of the rows."""
    thresholds, acts, _ = cuts_of(scores, outcomes)
    return float(thresholds[np.flatnonzero(acts <= share * len(scores) + 1e-9)[-1]])
