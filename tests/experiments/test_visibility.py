"""From where on a claim can be seen: the numbers, against the forecasters themselves."""

import math

import numpy as np
import pytest

from calibrant import Epoch, Interval, Restarting
from calibrant.experiments import Task, measure_task
from calibrant.experiments.table1 import ROWS
from calibrant.experiments.visibility import (
    cap_end,
    clip_start,
    first_block,
    grid_bound,
    threshold,
    visible_sizes,
)
from calibrant.streams import piecewise


def rows(**wanted):
    return [row for row in ROWS if all(getattr(row, k) == v for k, v in wanted.items())]


def row(**wanted):
    (found,) = rows(**wanted)
    return found


def test_the_clip_ends_in_the_epoch_that_first_predicts_less():
    predictions = Epoch("kl").run(np.zeros(200_000))
    first = int(np.flatnonzero(predictions < 0.1)[0])
    # Epoch m starts after 2^m - 2 rounds and has 2^m.
    length = first + 2
    assert math.log2(length).is_integer()
    assert length - 2 < clip_start(0.1) <= 2 * length


def test_an_epoch_counts_from_there_on():
    kl = row(forecaster="epoch-kl")
    means = [piecewise(1, segments=1, seed=seed).means[0] for seed in range(8)]
    start = clip_start(min(0.1, *means, 1 - max(means)))
    assert start > clip_start(0.1)
    found = visible_sizes(kl, [start - 1, start, 10**6], rounds=0, seeds=8)
    assert found.sizes == (False, True, True)
    assert not found.enough
    assert f"{start:,}" in found.why


@pytest.mark.parametrize(
    ("measure", "base"),
    [("l1", "refined"), ("l2", "refined"), ("l2", "swap"), ("pseudo_kl", "refined")],
)
def test_the_first_block_brings_no_more(measure, base):
    wanted = f"restarting:measure={measure}" + (f",base={base}" if base != "refined" else "")
    claim = rows(forecaster=f"{wanted},horizon=T", axis="C")[0]
    T = 50_000
    forecaster = Restarting(measure, base=base, horizon=T)
    forecaster.run(piecewise(T, levels=[0.1, 0.9] * 20, seed=2).outcomes)
    first = [part for part in forecaster.history if part.block == 1]
    assert forecaster.history[-1].block > 1, "the first block must end for this to mean anything"
    # A sub-block ends with the round that passes its threshold, which brings at most a round more.
    round_more = 1.0 if measure != "pseudo_kl" else 10.0
    assert sum(part.error for part in first) <= first_block(claim, T) + round_more * len(first)


def test_in_c_the_guess_must_grow():
    claim = row(forecaster="restarting:measure=l2,horizon=T", axis="C")
    most = first_block(claim, 100_000)
    least = next(C for C in range(1, 20_000) if threshold(claim, 100_000, C) >= most)
    found = visible_sizes(claim, [least - 1, least, 2 * least, 20_000], rounds=100_000, seeds=2)
    assert found.sizes == (False, True, True, True)
    assert found.enough


@pytest.mark.parametrize("axis", ["C", "K"])
def test_a_restart_by_the_printed_constants_comes_too_late(axis):
    for claim in rows(kind="restarting", constants="paper", axis=axis):
        for T in (100_000, 10_000_000):
            found = visible_sizes(claim, [1, 2, 3], rounds=T, seeds=2)
            assert found.sizes == (False,) * 3
            assert f"{threshold(claim, T):,.0f}" in found.why


GRIDS = {
    "Cal1": ["interval:horizon=T,constants=paper"],
    "Cal2": ["interval:horizon=T,constants=paper", "swap:horizon=T"],
    "PKLCal": ["swap:loss=log,horizon=T"],
}


def test_equal_intervals_stay_below_their_bound():
    """Also on worlds made for the worst: the bound is of any outcomes."""
    for claim in rows(kind="restarting", constants="paper", axis="K"):
        for stream in ("drift:amplitude=0.4,periods=2", "piecewise:segments=20", "greedy:norm=l2"):
            tasks = [Task(grid, stream, 20_000, 1) for grid in GRIDS[claim.error]]
            measure = claim.measure
            error = min(measure_task(task, [measure]).values[measure] for task in tasks)
            assert error <= grid_bound(claim, 20_000)
            assert error < 20_000


def test_the_cap_of_msmwc():
    claim = row(kind="interval", constants="paper", situation="C of order T")
    T = cap_end(claim)

    def enough(T):
        cells = Interval.for_deviation(0.8 / math.pi * T, T).intervals
        return T / cells >= 64**2 * math.log(2 * cells * T)

    assert enough(T)
    assert not enough(round(T / 1.02))
    assert visible_sizes(claim, [T - 1, T], rounds=0, seeds=2).sizes == (False, True)
    refined = row(
        kind="refined", constants="paper", situation="C of order T", theorem="cal1_better"
    )
    assert cap_end(refined) > T  # which starts over with every epoch


def test_everything_else_shows_everywhere():
    for claim in ROWS:
        tuned = claim.constants != "paper" and not (
            claim.kind == "restarting" and claim.axis == "C"
        )
        swap = claim.kind == "refined" and "pseudo" in claim.forecaster
        if tuned or swap or (claim.situation == "i.i.d." and claim.kind != "epoch-kl"):
            found = visible_sizes(claim, [10, 20], rounds=1000, seeds=2)
            assert found == ((True, True), None)
