"""The page about a recalibration in a real browser: wide, on a phone, light and dark."""

from dataclasses import replace

import numpy as np
import pytest

from calibrant.report.style import BEFORE_AFTER, ON_DARK
from report.browser import visit, visit_on_phone
from report.made_streams import STREAMS, report_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pages():
    command = "calibrant recalibrate " + "a-rather-long-folder/" * 8 + "scores.csv --score score"
    made = {"command": command}
    return {name: replace(report_of(name), made=made).html() for name in STREAMS}


def whole(seen):
    """What is true of every page, at every width."""
    assert seen["errors"] == seen["console"] == seen["fetched"] == seen["dead"] == []
    assert seen["out"] == seen["scrolling"] == []
    for drawn_wide, drawn_high, letters in seen["boxes"]:
        assert drawn_wide > 280
        assert drawn_high > 150
        assert letters > 5


@pytest.mark.parametrize("name", STREAMS)
def test_it_is_whole_on_a_phone(pages, tmp_path, name):
    seen = visit_on_phone(pages[name], tmp_path)
    whole(seen)
    assert seen["scroll"] <= seen["wide"] == 360
    # Two for reliability, two for alarms and one for the map; with rounds enough, two for time.
    assert len(seen["boxes"]) == (5 if name == "tiny" else 7)


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (500, True)])
def test_it_is_whole_in_a_window(pages, tmp_path, width, dark):
    seen = visit(pages["groups"], tmp_path, width=width, dark=dark)
    whole(seen)
    assert seen["scroll"] <= seen["wide"] == width
    assert len(seen["boxes"]) == 7


def luminance(color):
    """Return the relative luminance of a colour, as WCAG defines it."""
    shares = np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_before_and_after_differ_from_the_paper_in_both_modes():
    """At least 3 to 1, what WCAG asks of a graphical object."""
    for look in BEFORE_AFTER.values():
        light = 1.05 / (luminance(look.color) + 0.05)
        dark = (luminance(ON_DARK[look.color]) + 0.05) / (luminance("#14181d") + 0.05)
        assert min(light, dark) > 3.0
