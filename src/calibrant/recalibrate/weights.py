"""What a recalibrator's predictions rest on now, in words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from calibrant._checks import Floats
from calibrant._kernels.fleet_rule import OFFSET_EXPERTS, SLOPE_EXPERTS
from calibrant._kernels.recent import ORDERS
from calibrant._kernels.sharp import BETA_FADES, BIN_FADES, GRID_SIZES, OFFSET_FADES, PLATT_FADES
from calibrant.forecasters.memories import last_outcomes
from calibrant.recalibrate.groups import Groups

SILENCE = "what silence says so far"
#: Memories of at least so many outcomes, and what following the world with one is called.
DRIFTS = ((1000, "a slow drift"), (100, "a drift within hundreds of outcomes"))
FASTEST = "a drift within tens of outcomes"


def expert_words() -> list[str]:
    """Return the words of every expert of a recalibrator, in the order of its weights."""
    return [
        "the score as it is",
        *drifts(PLATT_FADES, "a fixed slope and shift"),
        *drifts(OFFSET_FADES, "a fixed shift"),
        *drifts(BETA_FADES, "a fixed bend"),
        *(words for _ in GRID_SIZES for words in drifts(BIN_FADES, "a fixed curve")),
        *(last_outcomes(order) for order in ORDERS),
    ]


def drifts(fades: Iterable[float], fixed: str) -> list[str]:
    """Return the words of experts that forget at these rates: 0 is `fixed`."""
    return [fixed if fade == 0.0 else drift_of(fade) for fade in fades]


def drift_of(fade: float) -> str:
    """Return the words for a correction that forgets at this rate."""
    return next((words for least, words in DRIFTS if 1.0 / fade >= least * (1.0 - 1e-9)), FASTEST)


def group_words() -> list[str]:
    """Return the words of what a group's own outcomes add to the word of the whole."""
    shifts = drifts((forget for _, forget in OFFSET_EXPERTS), "a fixed shift")
    return [*shifts, *("a fixed slope and shift" for _ in SLOPE_EXPERTS)]


def group_weights(whole: Floats, groups: Groups, number: int) -> Floats:
    """Return the weights behind a group's predictions, given those of the whole.

    Those of `group_words` stand last.
    """
    heard, own = groups.words.weights(number), groups.own_stages(number)
    weights: Floats = np.concatenate([heard[0] * whole, heard[1:]])
    last = groups.shared._weights()
    if own is not None:
        weights *= own.pair.weight
        curve = own.own._weights(placed=False)
        weights[: len(curve)] += (1.0 - own.pair.weight) * curve
        last = own.last._weights()
    weights *= last[0]  # the last stage's score is all of that
    weights[1 : len(last)] += last[1:]
    return weights
