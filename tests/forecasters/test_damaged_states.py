"""Saved states with one part that no run leaves behind: refused, and nothing changes."""

import math

import numpy as np
import pytest

from calibrant import Epoch, Interval, Refined, Restarting, Swap, Zoom
from calibrant.forecasters import rivals
from forecasters.cases import random_stream, stream
from forecasters.test_restarting import switching
from test_saving import forged

STREAM, SWITCHING = stream(1, 200), switching(3, 300)
REFINED = [
    ("m", 0), ("m", 1), ("m", 8), ("m", 49), ("seen", -1), ("seen", 128), ("y_hat", 1.5),
    ("total", 1e6), ("epoch_total", 1e6), ("closed", -1.0), ("open", math.inf),
    ("mass", np.zeros(1)), ("ones", np.full(400, 1.0)), ("term", None), ("base.T", 3.0),
    ("base.total", -1.0), ("base.other", 1.0), ("other", 1.0),
]  # fmt: skip
SWAP = [
    ("T", 100.0), ("seen", 512), ("total", 300.0), ("prior", 1.5), ("last", 9), ("last", -1),
    ("G", np.full(9, -1.0)), ("G", np.zeros(8)), ("A", np.full(9, 200.5)),
]  # fmt: skip
#: What was played, and its damages: a part and its value, or a part, a place and the value there.
DAMAGED = [
    (Zoom(seed=3), np.arange(5000) % 3 == 0, [
        ("more", 1.0), ("n", np.zeros(2)), ("n", 3.0), ("n", np.zeros(3, dtype=np.int64)),
        ("n", 1, -1.0), ("S", 1, np.nan), ("g", 0, np.inf), ("z", 0, 0.5), ("z", -1, 0.5),
        ("z", 1, 0.0), ("theta", 2, 0.0),
    ]),
    (Epoch(), [], [("m", 0), ("m", 63), ("y_hat", 1.5), ("total", 1.0)]),
    (Interval(), STREAM, [
        ("T", 100.0), ("T", 65.0), ("seen", -1), ("seen", 512), ("total", 300.0), ("slope", -1.0),
        ("w", np.full(16, 1 / 8)), ("w", np.full(14, 1 / 14)),
        ("w", np.append(np.zeros(8), np.full(8, 1 / 8))), ("V", np.full(16, -1.0)),
    ]),
    (Swap(), STREAM, SWAP),
    (Swap("log"), STREAM, SWAP),
    (Refined("l2"), STREAM, REFINED),
    (Refined("pseudo_l2"), STREAM, REFINED),
    (Restarting(), SWITCHING, [
        ("t", -1), ("start", 301), ("b", 0), ("b", 65), ("l", 0.0), ("l", 1e6), ("G", 0.5),
        ("closed", 0), ("rows", np.zeros(3)), ("rows", None), ("refined.m", 1),
        ("refined.base.w", np.zeros(2)), ("refined.mass", np.zeros(2)), ("other", 1.0),
    ]),
    (Restarting("l1", base="interval", horizon=1000), SWITCHING, [
        ("interval.n", np.zeros(2)), ("interval.s", np.full(9, 1e6)),
        ("interval.base.w", np.zeros(2)), ("interval.base.seen", -1), ("interval.other", 1.0),
        ("b", 65),
    ]),
    (rivals.FosterHart(4), [], [("S", 0, 1.0), ("S", 4, -1.0)]),
    (rivals.SlidingWindow(4), [], [
        ("at", 3), ("at", 0.5), ("total", 2.0), ("recent", np.array([2.0])),
        ("recent", np.zeros(5)), ("recent", np.array([-1.0])),
    ]),
    (rivals.ExponentialWindow(), [], [("mass", -1.0), ("total", 1.0)]),
    (rivals.Foster1999(4), [], [("s", 0, 1.0), ("n", 0, -1.0)]),
    (rivals.FosterVohra(4), [], [("Y", 0, 1.0), ("M", 0, 1e300)]),
    (rivals.AbernethyBartlettHazan(4), [], [
        ("theta", 0, -0.5), ("theta", 4, 0.5), ("theta", 2, 1.5),
    ]),
    (rivals.K29(4), [], [("S", 0, math.nan)]),
    (rivals.UCalibration(4), [], [("Y", -1.0)]),
    (rivals.AOSA(4), [], [("alpha", 0, 1.0), ("alpha", 4, -1.0)]),
    (rivals.DyadicHedge(), [], [
        ("level", np.array([])), ("level", 0, 1.0), ("level", 0, 0.5), ("g", 0, 1.0),
    ]),
    (rivals.DyadicHedge(), random_stream(1, 300), [
        ("level", 0, 2.0), ("level", -1, 41.0), ("g", 0, 0.5), ("g", 0, 1e6), ("C_up", 0, 1e6),
        ("R_up", 0, 1e6), ("R_down", 0, -1e6),
    ]),
]  # fmt: skip


def played(forecaster, outcomes):
    again = type(forecaster).from_bytes(forecaster.to_bytes())
    again.run(outcomes)
    return again


def test_what_was_played_is_of_many_epochs_and_restarts():
    assert played(Refined("l2"), STREAM).epoch == played(Refined("pseudo_l2"), STREAM).epoch == 7
    assert len(played(Restarting(), SWITCHING).history) > 1


CASES = [(*given, damage) for *given, damages in DAMAGED for damage in damages]


@pytest.mark.parametrize(("forecaster", "outcomes", "damage"), CASES, ids=str)
def test_a_state_without_sense_is_refused_and_nothing_changes(forecaster, outcomes, damage):
    """Neither taken from bytes, whose checksum fits, nor by the kernel."""
    player = played(forecaster, outcomes)
    before, state, (name, *at, value) = player.to_bytes(), player._get_state(), damage
    if at:
        state[name] = state[name].copy()
        state[name][at[0]] = value
    else:
        state[name] = value

    def change(parts):
        parts["state"] = {part: each for part, each in state.items() if each is not None}

    with pytest.raises(ValueError, match=r"saved|is invalid"):
        type(player).from_bytes(forged(before, change))
    with pytest.raises(ValueError, match="saved"):
        player._set_state(state, player.rounds)
    assert player.to_bytes() == before
