"""The report in a real browser: it renders without errors, fits, and follows the reader's mode."""

import numpy as np
import pytest
from PIL import Image

from calibrant.report import Page
from report.browser import REQUIRED, program, shoot, visit, visit_on_phone

pytestmark = pytest.mark.slow

NARROW, WIDE = 500, 1200


@pytest.fixture(scope="module")
def text(reported):
    return (reported / "report.html").read_text("utf-8")


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_the_report_renders_without_errors_and_fits(text, tmp_path, width):
    seen = visit(text, tmp_path, width=width)
    assert seen["errors"] == seen["console"] == seen["fetched"] == seen["dead"] == []
    assert seen["out"] == []
    assert seen["scroll"] <= seen["wide"] == width
    assert seen["mode"] == "CSS1Compat"
    assert len(seen["boxes"]) == text.count("<figure>") == 9
    for drawn_wide, drawn_high, letters in seen["boxes"]:
        assert drawn_wide > 300
        assert drawn_high > 150
        assert letters > 5


def test_on_a_phone_only_the_map_of_winners_scrolls_in_its_box(text, tmp_path):
    seen = visit_on_phone(text, tmp_path)
    assert seen["errors"] == seen["console"] == seen["fetched"] == seen["dead"] == []
    assert seen["out"] == []
    assert seen["scroll"] <= seen["wide"] == 360
    assert len(seen["scrolling"]) <= 1
    assert len(seen["boxes"]) == 9


def brightness(color):
    return sum(int(part) for part in color.strip("rgb()").split(","))


def test_light_and_dark_follow_the_reader(text, tmp_path):
    light, dark = visit(text, tmp_path), visit(text, tmp_path, dark=True)
    assert brightness(light["paper"]) - brightness(light["ink"]) > 500  # of 765
    assert brightness(dark["ink"]) - brightness(dark["paper"]) > 500


def test_figures_are_painted(text, tmp_path):
    """Ids that clash or colours that are missing leave the axes empty: look for the lines."""
    (tmp_path / "shown.png").write_bytes(shoot(text, tmp_path, width=WIDE, height=6000))
    pixels = np.asarray(Image.open(tmp_path / "shown.png").convert("RGB")).reshape(-1, 3)
    for color in [(0, 114, 178), (213, 94, 0), (0, 158, 115)]:  # the first three series
        assert (np.abs(pixels.astype(int) - color).max(axis=1) <= 2).sum() > 500


def test_the_probe_notices_what_it_should(tmp_path):
    """A page with a script that fails, a picture that is missing and a word that sticks out."""
    bad = Page("Bad", "x" * 10).html()
    broken = (
        '<img src="http://127.0.0.1:9/missing.png">'
        '<div style="width: 3000px">wide</div><a href="#no">dead</a>'
    )
    script = "<script>console.error('said aloud'); undefined.length</script>"
    seen = visit(bad.replace("<main>", f"<main>{broken}{script}"), tmp_path)
    assert any("undefined" in error for error in seen["errors"])
    assert any("HTMLImageElement" in error for error in seen["errors"])
    assert any("said aloud" in line for line in seen["console"])
    assert "DIV " in seen["out"]
    assert seen["dead"] == ["#no"]
    assert any(name.endswith("missing.png") for name in seen["fetched"])


@pytest.mark.parametrize(
    ("required", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)]
)
def test_without_a_browser_it_is_said_aloud(monkeypatch, tmp_path, required, outcome):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(REQUIRED, required)
    with pytest.raises(outcome, match="no browser to open the page in"):
        program()
