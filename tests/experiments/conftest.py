"""Folders of results, as `calibrant compare` and `calibrant reproduce` leave them."""

import json

import pytest

from calibrant.experiments import parquet, plan, sweep
from calibrant.experiments.sweep_page import write_report
from experiments.cases import TASKS
from experiments.claim_row import CLAIM


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """The results of a sweep that nothing happened to."""
    folder = tmp_path_factory.mktemp("undisturbed")
    sweep(TASKS, folder, workers=1)
    return (folder / parquet.NAME).read_bytes()


@pytest.fixture(scope="session")
def swept(tmp_path_factory):
    """The results of a sweep; not to be changed."""
    folder = tmp_path_factory.mktemp("swept")
    streams = ["piecewise:segments=2", "piecewise:segments=4", "piecewise:segments=8",
               "alternating", "contrarian", "seattle_rain"]  # fmt: skip
    tasks = plan(["zoom", "epoch", "restarting", "foster-hart:horizon=T"], streams, [300, 900], 2)
    sweep(tasks, folder, workers=1)
    claims = [CLAIM, {**CLAIM, "error": "Cal1", "axis": "K", "verdict": "not visible"}]
    (folder / "table1.json").write_text(json.dumps(claims))
    return folder


@pytest.fixture(scope="session")
def reported(swept):
    """The same folder with its report."""
    write_report(swept)
    return swept
