"""Table 1 can fail: forecasters that do not do what a row claims do not pass it."""

from dataclasses import replace

import pytest

from calibrant.experiments import ROWS, SIZES, Size
from calibrant.experiments.table1 import HOSTILE, IID, WORST
from experiments.broken import errors_by_hand, played_by

pytestmark = pytest.mark.long

# Long enough for every null to be past its first rounds.
SHORT = Size((200, 400, 800, 1600), 1600, (10, 40, 160, 320), (2, 4, 8, 16), 2)
ALONG_T = replace(SIZES["quick"], seeds=3)
EVERY = [
    # An opponent needs a compiled forecaster; the drawn worlds remain.
    replace(row, worlds=HOSTILE[: len(row.worlds)]) if row.situation == WORST else row
    for row in ROWS
]


def name(row):
    return f"{row.error}-{row.forecaster}-{row.axis}-{row.situation}"


every_row = pytest.mark.parametrize("row", EVERY, ids=name)


@pytest.mark.parametrize("null", range(3))
@every_row
def test_a_null_in_place_of_the_forecaster(row, null):
    """No fixed grid beats the best of them, and where C is of order T there is nothing to pass."""
    found = played_by(row, SHORT, row.nulls[null])
    assert found.level >= 1.0
    assert found.verdict != "passes"


@every_row
def test_the_wrong_sign_passes_nothing(row):
    assert played_by(row, SHORT, -1).verdict != "passes"


def test_it_is_the_sign_that_is_wrong():
    right, wrong = (errors_by_hand("iid:mean=0.1", 1600, 0, sign) for sign in (1, -1))
    assert wrong["cal1"] > 0.8 * 1600
    assert right["cal1"] < 0.15 * 1600


def rows(**wanted):
    return [row for row in ROWS if all(getattr(row, k) == v for k, v in wanted.items())]


WITHOUT_RESTARTS = {
    "restarting:measure=l1,horizon=T": "refined:measure=l1,horizon=T",
    "restarting:measure=l2,horizon=T": "refined:measure=l2,horizon=T",
    "restarting:measure=l2,base=swap,horizon=T": "refined:measure=pseudo_l2,horizon=T",
    "restarting:measure=pseudo_kl,horizon=T": "refined:measure=pseudo_kl,horizon=T",
}


@pytest.mark.parametrize(("restarting", "alone"), WITHOUT_RESTARTS.items())
def test_without_restarts_a_world_that_changes_is_not_followed(restarting, alone):
    """`Refined` with C = 0: what is left of `Restarting` if no sub-block ever ends."""
    (row,) = rows(forecaster=restarting, situation=WORST)
    assert played_by(row, ALONG_T, alone).verdict == "fails"
    (row,) = rows(forecaster=restarting, axis="K")
    assert played_by(row, SHORT, alone).verdict == "fails"
    # Where nothing changes it is the same forecaster.
    (row,) = rows(forecaster=restarting, situation=IID)
    with_them, without = (played_by(row, SHORT, each) for each in (restarting, alone))
    assert without.level == pytest.approx(with_them.level, rel=0.25)


@pytest.mark.parametrize("grid", ["interval", "interval:intervals=64,horizon=T"])
def test_equal_intervals_do_not_pass_as_refined(grid):
    """Blocks that grow, as `Refined` has them, and a fixed number; on equal intervals."""
    (row,) = rows(theorem="cal2_approach1", situation=IID, constants="tuned")
    assert played_by(row, ALONG_T, grid).verdict != "passes"
    assert played_by(row, ALONG_T, row.forecaster).verdict == "passes"


def test_equal_intervals_for_a_known_deviation_do_not_pass_for_cal2():
    (row,) = rows(theorem="cal2_approach1", situation=IID, constants="tuned")
    assert played_by(row, ALONG_T, "interval:deviation=C,horizon=T").verdict == "fails"
