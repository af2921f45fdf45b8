"""Every figure that the README and the docs show is there, and says what it shows."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MARKDOWN = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
HTML = re.compile(r'<img src="([^"]+)"[^>]*? alt="([^"]*)"')


def images(page):
    """Return where each image of a page lies, and its words."""
    text = page.read_text()
    found = [(place, words) for words, place in MARKDOWN.findall(text)] + HTML.findall(text)
    assert len(found) == text.count("![") + text.count("<img")
    return found


@pytest.mark.parametrize(
    ("name", "count"), [("README.md", 1), ("docs/results.md", 3), ("docs/report.md", 3)]
)
def test_figures_are_there_and_have_words(name, count):
    found = images(ROOT / name)
    assert len(found) == count
    for place, words in found:
        assert len(words) > 30
        drawing = ET.parse((ROOT / name).parent / place).getroot()
        assert drawing.tag.endswith("svg")
        assert len(list(drawing.iter())) > 200


def test_screenshots_are_small_and_have_words():
    """Those of the service's pages; a browser took them, see benchmarks/screenshots.py."""
    text = (ROOT / "docs" / "service.md").read_text()
    found = re.findall(r"^```{image} (\S+\.png)\n(?::class: .*\n)?:alt: (.*)\n```", text, re.M)
    assert len(found) == text.count(".png") == 3
    for place, words in found:
        picture = (ROOT / "docs" / place).read_bytes()
        assert picture.startswith(b"\x89PNG")
        assert 10_000 < len(picture) < 200_000
        assert len(words) > 30


def test_figures_have_a_background_of_their_own():
    """A dark page must not swallow their dark letters."""
    for path in (ROOT / "docs" / "figures").glob("*.svg"):
        # The first shape that is drawn: all of the page, by matplotlib or by hand.
        first = re.search(
            r'<(?:g id="patch_1">\s*<path d="M 0 |rect x="0" y="0" )[^>]*style="fill: ([^"]+)"',
            path.read_text(),
        )
        assert first, path
        assert first[1] in ("#fefefe", "var(--page)")  # of the one that has colours for the dark


def test_the_page_on_the_code_has_every_package():
    packages = {path.parent.name for path in (ROOT / "src" / "calibrant").glob("*/__init__.py")}
    page, drawing = (
        (ROOT / "docs" / name).read_text() for name in ("house.md", "figures/house.svg")
    )
    assert len(packages) > 10
    assert {name for name in packages if f"`{name}`" not in page} == set()
    titles = " ".join(re.findall(r'class="title"[^>]*>([^<]*)<', drawing))
    assert {name for name in packages if name not in titles} == {"testing"}  # no row passes it
