"""A table that goes on from a saved state is the whole table, bit for bit."""

import numpy as np
import pytest

from calibrant import Decider, MulticlassRecalibrator, NumberRecalibrator, Recalibrator

SIZE = 900
RANDOM = np.random.default_rng(0)
MADE = np.cumsum(RANDOM.choice([0, 0, 1, 3], SIZE)).astype(float)
SCORES = RANDOM.random(SIZE)
OUTCOMES = (RANDOM.random(SIZE) < SCORES**2).astype(float)
KNOWN = MADE + RANDOM.choice([0, 1, 5, 40], SIZE)
KNOWN[RANDOM.random(SIZE) < 0.1] = np.nan
ROWS = np.column_stack([SCORES, (1 - SCORES) / 2, (1 - SCORES) / 2])
GROUPS = [f"group {row % 3}" for row in range(SIZE)]
SILENT = {"silence": 0, "after": "20s"}
PLAYERS = {
    "silence": (lambda: Recalibrator(**SILENT), SCORES, None),
    "silence, groups": (lambda: Recalibrator(**SILENT, monitor=True), SCORES, GROUPS),
    "hold": (lambda: Recalibrator(hold="20s"), SCORES, GROUPS),
    "classes": (lambda: MulticlassRecalibrator(3, **SILENT), ROWS, None),
    "numbers": (lambda: NumberRecalibrator(hold="20s"), SCORES, GROUPS),
    "decisions": (lambda: Decider(precision=0.6, **SILENT), SCORES, None),
}


@pytest.mark.parametrize("cut", [50, 107, 481])
@pytest.mark.parametrize("player", PLAYERS)
def test_a_table_in_two_halves_makes_the_same_steps(player, cut):
    """Also up to an outcome that comes too late to be learned: what is due until then is a step."""
    make, scores, by = PLAYERS[player]

    def play(learner, rows):
        told, *_ = learner._play_table(
            scores[rows], OUTCOMES[rows], None if by is None else by[rows], at=MADE[rows],
            known=KNOWN[rows],
        )  # fmt: skip
        return told[0]

    whole = make()
    expected = play(whole, slice(None))
    half = make()
    found = play(half, slice(cut))
    half = type(half).from_bytes(half.to_bytes())
    assert np.array_equal(np.concatenate([found, play(half, slice(cut, None))]), expected)
    assert half.to_bytes() == whole.to_bytes()
    late = whole._book.late
    assert half._book.late <= late
    assert sum(late.values()) > 100 or np.isnan(whole._book.silence)


def test_an_outcome_that_was_also_given_by_id_can_be_saved_and_restored():
    player = Recalibrator(**SILENT)
    player._play_table(
        np.array([0.3, 0.4]), np.array([1.0, 0.0]), at=np.array([1.0, 2.0]),
        known=np.array([9.0, 9.0]), ids=["a", "b"],
    )  # fmt: skip
    player.update(1, id="a", at=3.0)
    again = Recalibrator.from_bytes(player.to_bytes())
    assert again.to_bytes() == player.to_bytes()
    for each in (player, again):
        each.advance(50.0)
        assert each._book.late == {"repeated": 1}
    assert again.to_bytes() == player.to_bytes()
    parts = player._save()[1]
    assert "late_times" not in parts


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("late_times", [9.0, 8.0]), ("late_times", [1.0]), ("late_outcomes", [0.5, 0.0]),
        ("late_outcomes", [np.nan, 0.0]), ("late_known", [7.0, 0.0]), ("late_known", [np.inf, 0.0]),
    ],
)  # fmt: skip
def test_saved_outcomes_that_come_too_late_are_checked(name, value):
    player = Recalibrator(**SILENT)
    player.run([0.3], [1], at=[1.0])
    rounds, state = player._save()
    late = {"late_times": [8.0, 9.0], "late_outcomes": [1.0, 0.0], "late_known": [0.0, np.nan]}
    late = {part: np.array(each) for part, each in late.items()}
    Recalibrator(**SILENT)._load(rounds, dict(state | late))
    with pytest.raises(ValueError, match="late_"):
        Recalibrator(**SILENT)._load(rounds, state | late | {name: np.array(value)})
