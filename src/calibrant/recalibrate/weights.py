"""What a recalibrator's predictions are based on now, in words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from calibrant._checks import Floats
from calibrant._kernels.fleet.fleet_rule import OFFSET_EXPERTS, SLOPE_EXPERTS
from calibrant._kernels.scores.recent import ORDERS
from calibrant._kernels.scores.sharp import (
    BETA_FADES,
    BIN_FADES,
    GRID_SIZES,
    OFFSET_FADES,
    PLATT_FADES,
)
from calibrant.forecasters.memories import last_outcomes
from calibrant.recalibrate.groups import Groups

#: Memories of at least so many outcomes, and what following the world with one is called.
DRIFTS = ((1000, "a slow drift"), (100, "a drift within hundreds of outcomes"))
FASTEST = "a drift within tens of outcomes"
#: The autoregressions of orders 0, 1 and 4.
LEVELS = (
    "the mean level of all batches",
    "a forecast from the level of the last batch",
    "a forecast from the levels of the last 4 batches",
)


def drifts(fades: Iterable[float], fixed: str, batch: int = 0) -> list[str]:
    """Return the words of experts that forget at these rates: 0 is `fixed`.

    Where outcomes arrive in batches, of this size, their memories are counted in these.
    """
    words = []
    for fade in fades:
        if fade and batch:
            words.append(last_batches(fade, batch))
            continue
        slow = [each for least, each in DRIFTS if fade and 1.0 / fade >= least * (1.0 - 1e-9)]
        words.append(fixed if fade == 0.0 else slow[0] if slow else FASTEST)
    return words


def last_batches(fade: float, batch: int) -> str:
    """Return what an expert remembers that forgets at this rate, in batches of this size."""
    count = max(1, round(1.0 / (1.0 - (1.0 - fade) ** batch)))
    last = "the last batch" if count == 1 else f"the last {count:,} batches"
    return f"{last}, {count * batch:,} outcomes"


def words(batch: int = 0) -> tuple[str, ...]:
    """Return what each weight is of, where outcomes arrive in batches of this size, 0 for none.

    The experts of the whole, silence, and what a group's own outcomes add.
    """
    return (
        "the score as it is",
        *drifts(PLATT_FADES, "a fixed slope and shift", batch),
        *drifts(OFFSET_FADES, "a fixed shift", batch),
        *drifts(BETA_FADES, "a fixed bend", batch),
        *(drifts(BIN_FADES, "a fixed curve", batch) * len(GRID_SIZES)),
        *LEVELS,
        *[last_outcomes(order) for order in ORDERS],
        "the outcomes that are still pending",
        *drifts([forget for _, forget in OFFSET_EXPERTS], "a fixed shift"),
        *(["a fixed slope and shift"] * len(SLOPE_EXPERTS)),
    )


#: Where outcomes do not come in batches.
WORDS = words()


def group_weights(whole: Floats, groups: Groups, number: int) -> Floats:
    """Return the weights behind a group's predictions, given those of the whole.

    Those of what its own outcomes add stand last.
    """
    heard, own = groups.estimates.weights(number), groups.own_stages(number)
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
