"""A small folder of results, as `calibrant compare` and `calibrant reproduce` leave it."""

import json

import pytest

from calibrant.experiments.cells import plan
from calibrant.experiments.sweep import sweep
from calibrant.report.comparison import write_report

CLAIM = {
    "error": "Cal2", "world": "stationary", "claim": "log T", "theorem": "stationary",
    "forecaster": "epoch", "axis": "T", "claimed_exponent": 0.0, "log_power": 1.0,
    "fitted": 0.03, "low": -0.01, "high": 0.07, "x": [1000, 10000, 100000],
    "mean": [3.0, 4.1, 5.2], "spread": [0.5, 0.4, 0.6], "over_lower_bound": 2.0,
    "ns_per_round": None, "cost_exponent": None, "verdict": "passes",
    "reason": "0.03 is at most 0.08.",
}  # fmt: skip


@pytest.fixture(scope="session")
def swept(tmp_path_factory):
    """The results of a sweep; not to be changed."""
    folder = tmp_path_factory.mktemp("swept")
    streams = ["piecewise:segments=2", "piecewise:segments=4", "piecewise:segments=8",
               "alternating", "contrarian", "seattle_rain"]  # fmt: skip
    cells = plan(["zoom", "epoch", "restarting", "foster-hart:horizon=T"], streams, [300, 900], 2)
    sweep(cells, folder, workers=1)
    claims = [CLAIM, {**CLAIM, "error": "Cal1", "axis": "K", "verdict": "not visible"}]
    (folder / "table1.json").write_text(json.dumps(claims))
    return folder


@pytest.fixture(scope="session")
def reported(swept):
    """The same folder with its report."""
    write_report(swept)
    return swept
