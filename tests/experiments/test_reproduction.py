"""Table 1, measured: verdicts that the numbers decide, and runs that can be interrupted."""

import json
from dataclasses import replace

import numpy as np
import pytest

from calibrant.experiments import SIZES, Size, Task, read_claims, read_results, reproduce
from calibrant.experiments.costs import time_rounds
from calibrant.experiments.reproduction import measured, measures_by_forecaster, timings_of
from calibrant.experiments.table1 import ROWS

TINY = Size((200, 400, 800, 1600), 1000, (5, 20, 200), (2, 4, 8), 2)
CONTRACT = {
    "error", "world", "claim", "theorem", "forecaster", "axis", "claimed_exponent", "log_power",
    "fitted", "low", "high", "x", "mean", "spread", "over_lower_bound", "ns_per_round",
    "cost_exponent", "verdict", "reason", "plain", "null", "null_plain", "level", "gap",
}  # fmt: skip


def row(**wanted):
    return next(row for row in ROWS if all(getattr(row, k) == v for k, v in wanted.items()))


def grown(claim, exponent, factor=1.0, size=SIZES["default"]):
    """Return errors of a row that grow with an exponent, the claimed logarithm and no noise."""
    x = np.array(size.along(claim.axis), dtype=float)
    logs = np.log(x) ** claim.log_power
    one = factor * x**exponent * logs
    return np.broadcast_to(one[:, None], (len(claim.worlds), len(x), size.seeds)).copy()


def no_costs(claim, size=SIZES["default"]):
    return dict.fromkeys(timings_of(claim, size), 100.0)


def judged(claim, errors, nulls=None, size=SIZES["default"]):
    """Return a row with these errors; its best null has ten times as much, or what is given."""
    best = 10 * errors if nulls is None else nulls
    return measured(claim, size, errors, [3 * best, best, 2 * best], costs=no_costs(claim, size))


@pytest.mark.parametrize("above", [-0.3, 0.0, 0.079, 0.081, 0.2])
@pytest.mark.parametrize("axis", ["T", "K"])
@pytest.mark.parametrize("kind", ["refined", "restarting"])
def test_a_row_passes_up_to_the_margin(kind, axis, above):
    if (kind, axis) == ("refined", "K"):
        kind = "restarting"
    claim = row(kind=kind, axis=axis, constants="tuned")
    found = judged(claim, grown(claim, claim.exponent + above))
    assert found.fitted == pytest.approx(claim.exponent + above)
    assert found.verdict == ("passes" if above < 0.08 else "fails")
    assert found.counted == [True] * len(found.x)
    assert found.level == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("ratio", "tilt", "verdict"),
    [
        (0.95, 0.0, "passes"),  # a lower level
        (1.0, 0.0, "fails"),  # the null itself
        (1.05, 0.0, "fails"),
        (3.0, -0.2, "passes"),  # flatter, and below it in the end
        (30.0, -0.2, "fails"),  # flatter, and far above to the end
        (1.5, -0.05, "fails"),  # hardly flatter
        (0.8, 0.05, "passes"),  # steeper, but lower over all these sizes
        (1.0, 0.2, "fails"),
    ],
)
def test_a_row_must_beat_its_null(ratio, tilt, verdict):
    claim = row(theorem="cal2_approach1", situation="i.i.d.", constants="tuned")
    errors = grown(claim, 0.0)
    x = np.array(SIZES["default"].horizons, dtype=float)
    nulls = errors / (ratio * (x / x[0]) ** tilt)[:, None]
    found = judged(claim, errors, nulls)
    assert found.verdict == verdict
    assert ("does not beat" in found.reason) == (verdict == "fails")
    assert found.null_plain == pytest.approx(found.plain - tilt)
    assert found.gap == pytest.approx(tilt, abs=1e-9)


def test_where_the_claim_is_the_rate_of_the_null_a_logarithm_does_not_help():
    claim = row(theorem="cal2_approach1", situation="C of order T", constants="tuned")
    x = np.array(SIZES["default"].horizons, dtype=float)
    shape = (len(claim.worlds), len(x), 8)

    def powered(exponent):
        return np.broadcast_to((x**exponent)[:, None], shape).copy()

    kept = judged(claim, powered(0.35), powered(0.3) / 9)
    assert kept.verdict == "not counted"
    assert kept.reason.endswith("A fixed grid has that rate in any world.")
    assert kept.null == claim.nulls[1]
    hidden = judged(claim, powered(0.55), powered(0.3) / 9)
    assert hidden.high < claim.exponent
    assert hidden.verdict == "fails"
    assert "Without the logarithm 0.55" in hidden.reason


def test_seeds_that_disagree_about_the_claim_leave_it_open():
    claim = row(theorem="simple_block_Cal2")
    x = np.array(SIZES["default"].horizons, dtype=float)
    errors = grown(claim, 0.0)
    errors[:, :, :2] *= (x / x[0])[:, None] ** 0.2
    found = judged(claim, errors)
    assert found.low < 0.08 < found.high
    assert found.verdict == "not visible"
    assert "may be within" in found.reason


def test_cal2_that_grows_like_sqrt_t_fails_against_anything_hostile():
    claim = row(theorem="cal2_approach1", situation="C of order T")
    found = judged(claim, grown(claim, 0.5))
    assert found.verdict == "fails"
    assert found.reason.startswith("0.50 (0.50 to 0.50) is not within 0.33 + 0.08.")


def test_a_world_that_fails_is_not_hidden_by_one_that_passes():
    claim = row(theorem="cal2_approach1", situation="C of order T")
    errors = grown(claim, 0.2)
    errors[1] *= np.array(SIZES["default"].horizons)[:, None] ** 0.4
    found = judged(claim, errors)
    assert found.verdict == "fails"
    assert found.mean == pytest.approx(errors[1].mean(axis=1).tolist())


def test_sizes_where_a_claim_cannot_show_count_for_neither_side():
    claim = row(forecaster="restarting:measure=l2,horizon=T", axis="C")
    errors = grown(claim, 1 / 3, factor=20.0)
    errors[:, :1] /= 100  # the floor, from which it rises steeply
    nulls = 2 * errors
    nulls[:, 0] /= 1e6
    found = judged(claim, errors, nulls)
    assert found.counted == [False] + [True] * 6
    assert found.verdict == "passes"
    assert found.fitted == pytest.approx(1 / 3)
    assert found.level == pytest.approx(0.5)
    assert "first block" in found.reason
    # Too few beyond: no verdict either way, and the figure is of all sizes.
    small = replace(SIZES["default"], deviations=(2, 4, 8, 16, 32, 64, 100_000))
    hidden = judged(claim, errors, nulls, small)
    assert hidden.verdict == "not visible"
    assert hidden.counted == [False] * 6 + [True]


@pytest.mark.parametrize("error", ["Cal1", "Cal2", "PKLCal"])
def test_over_the_lower_bound(error):
    claim = row(error=error, situation="i.i.d.")
    errors = grown(claim, 0.0)
    errors[-1, -1] = 600.0
    found = judged(claim, errors)
    variances = [1 / (6 * (t + 1)) for t in range(1, 10**6 + 1)]
    bound = {"Cal1": 1000.0, "Cal2": sum(variances), "PKLCal": 2 * sum(variances)}[error]
    assert found.over_lower_bound == pytest.approx(600 / bound)


def test_the_growth_of_the_cost():
    claim = row(kind="interval", situation="i.i.d.")
    costs = {timing: 3 * timing.rounds**0.5 for timing in timings_of(claim, SIZES["default"])}
    errors = grown(claim, 0.5)
    found = measured(claim, SIZES["default"], errors, [2 * errors] * 3, costs=costs)
    assert found.cost_exponent == pytest.approx(0.5)
    assert found.claimed_cost_exponent == 0.5
    assert found.ns_per_round == pytest.approx([3 * T**0.5 for T in found.x])


SOME = [row(theorem="simple_block_Cal1"), row(theorem="PCal2_bound", axis="C")]


def test_the_folder_and_the_contract(tmp_path):
    timed = []
    table = reproduce(
        tmp_path, size=TINY, rows=SOME, workers=1, timed=lambda done, of: timed.append((done, of))
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "costs.parquet", "results.parquet", "table1.json",
    ]  # fmt: skip
    assert timed[-1] == (6000, 6000)  # along T, and three times 1,000 in C
    found = read_results(tmp_path).all
    taken = {(each.identity.forecaster, measure) for each in found for measure in each.values}
    assert taken == {
        ("epoch", "cal1"), ("refined", "pcal2"),
        ("foster-hart", "cal1"), ("foster-hart", "pcal2"),
    }  # fmt: skip
    entries = json.loads((tmp_path / "table1.json").read_text())
    assert [entry["theorem"] for entry in entries] == ["simple_block_Cal1", "PCal2_bound"]
    for entry, found in zip(entries, table, strict=True):
        assert set(entry) >= CONTRACT
        assert entry["fitted"] == found.fitted
        lists = [entry[name] for name in ("x", "mean", "spread")]
        assert {len(values) for values in lists} == {len(found.x)}
        assert entry["low"] - 1e-9 <= entry["fitted"] <= entry["high"] + 1e-9
    assert read_claims(tmp_path) == table
    assert entries[0]["ns_per_round"]
    assert len(entries[1]["ns_per_round"]) == 3
    assert entries[1]["null"] in SOME[1].nulls
    assert entries[1]["level_low"] <= entries[1]["level"] <= entries[1]["level_high"]


def test_a_run_that_was_interrupted_continues(tmp_path):
    class StoppedError(Exception):
        pass

    def stop(progress):
        if progress.tasks >= 10:
            raise StoppedError

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    reproduce(whole, size=TINY, rows=SOME, workers=1)
    with pytest.raises(StoppedError):
        reproduce(broken, size=TINY, rows=SOME, workers=1, advance=stop)
    assert not (broken / "table1.json").exists()
    seen = []
    reproduce(broken, size=TINY, rows=SOME, workers=1, advance=seen.append)
    assert seen[0].tasks >= 10
    assert (broken / "results.parquet").read_bytes() == (whole / "results.parquet").read_bytes()
    # A third time nothing is played or timed, and the table is the same to the byte.
    before = (broken / "table1.json").read_bytes()
    reproduce(broken, size=TINY, rows=SOME, workers=1)
    assert (broken / "table1.json").read_bytes() == before


def test_only_what_is_missing_is_timed(tmp_path):
    first = [Task("epoch", "iid:mean=0.5", 100)]
    costs = time_rounds(first, tmp_path)
    more = time_rounds([*first, Task("zoom", "iid:mean=0.5", 100)], tmp_path)
    assert more[first[0]] == costs[first[0]]
    assert len(more) == 2
    with pytest.raises(ValueError, match="drawn beforehand"):
        time_rounds([Task("zoom", "contrarian", 100)], tmp_path)


def test_pseudo_errors_are_measured_only_where_they_are_asked_for():
    wanted = measures_by_forecaster(ROWS)
    assert wanted["epoch"] == ("cal1", "cal2")
    assert wanted["restarting:measure=l2,horizon=T"] == ("cal2",)
    assert wanted["refined:measure=pseudo_l2,deviation=C,horizon=T"] == ("cal2", "pcal2")
    assert wanted["foster-hart:horizon=T"] == ("cal1", "cal2", "pcal2")


def test_bad_size(tmp_path):
    with pytest.raises(ValueError, match="size must be one of"):
        reproduce(tmp_path, size="huge")
