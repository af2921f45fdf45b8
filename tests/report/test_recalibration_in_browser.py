"""The page about a recalibration in a real browser, wide and narrow, light and dark."""

import numpy as np
import pytest

from calibrant import Recalibrator
from calibrant.report import recalibration
from report.browser import visit


@pytest.fixture(scope="module")
def text():
    random = np.random.default_rng(3)
    truth = random.random(4000)
    outcomes = (random.random(4000) < truth).astype(float)
    scores, groups = np.sqrt(truth), [f"group {t % 4} with a long name" for t in range(4000)]
    calibrated = Recalibrator().run(scores, outcomes, by=groups)
    command = "calibrant run " + "a-rather-long-folder/" * 8 + "scores.csv --score score"
    return recalibration(
        scores, calibrated, outcomes,
        by=groups, title="scores.csv: before and after", made={"command": command},
    ).html()  # fmt: skip


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (500, True)])
def test_it_renders_without_errors_and_fits(text, tmp_path, width, dark):
    seen = visit(text, tmp_path, width=width, dark=dark)
    assert seen["errors"] == seen["console"] == seen["fetched"] == seen["dead"] == []
    assert seen["out"] == []
    assert seen["scroll"] <= seen["wide"] == width
    assert len(seen["boxes"]) == 2
    for drawn_wide, drawn_high, letters in seen["boxes"]:
        assert drawn_wide > 300
        assert drawn_high > 150
        assert letters > 5
