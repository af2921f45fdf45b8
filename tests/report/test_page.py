"""The page as text: escaped, self-contained, well formed, always the same."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure

from calibrant.report import Page
from calibrant.report.figures import ErrorThroughTime, PointSpread, ReliabilityDiagram
from calibrant.report.style import show_number

NASTY = "<script>alert('x')</script> & \"quoted\" {braces}"
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Outline(HTMLParser):
    """What a page holds: tags in order, ids, references, text; fails where tags do not match."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.references, self.words, self._open = [], [], [], [], []
        self.attributes = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "xlink:href", "action", "data", "poster", "srcset"):
                self.references.append(value)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture
def figures():
    predictions = np.tile([0.2, 0.4, 0.8], 50)
    outcomes = np.tile([0, 1, 1], 50)
    return [
        ReliabilityDiagram.from_predictions(predictions, outcomes),
        ErrorThroughTime.from_predictions(predictions, outcomes),
        PointSpread.from_predictions(predictions),
    ]


@pytest.fixture
def page(figures):
    page = Page(f"Title {NASTY}", [f"Lead {NASTY}", f"Point {NASTY}"])
    page.section(f"Section {NASTY}", f"First.\n\nSecond {NASTY}")
    for figure in figures:
        page.figure(figure, f"Caption {NASTY}", f"Alt {NASTY}")
    page.section("Another", ["Words", NASTY])
    page.table([f"Head {NASTY}", "number"], [[f"Cell {NASTY}", 1.5]], f"Table {NASTY}")
    return page


def test_everything_is_escaped(page):
    outline = Outline(page.html())
    assert "script" not in outline.tags
    words = "".join(outline.words)
    for what in ("Title", "Lead", "Point", "Section", "Second", "Caption", "Head", "Cell", "Table"):
        assert f"{what} {NASTY}" in words
    assert outline.attributes.count(("aria-label", f"Alt {NASTY}")) == 3


def test_nothing_is_fetched(page):
    text = page.html()
    outline = Outline(text)
    assert not re.search(r"(?i)\bhttps?:|//\w|@import|<link|<script|<iframe|<object", text)
    assert all(reference.startswith(("#", "data:image/png;")) for reference in outline.references)
    assert all(re.match(r"['\"]?#", target) for target in re.findall(r"url\(([^)]*)\)", text))


def test_ids_are_unique_and_references_lead_somewhere(page):
    text = page.html()
    outline = Outline(text)
    assert len(set(outline.ids)) == len(outline.ids)
    inside = [reference[1:] for reference in outline.references if reference.startswith("#")]
    inside += re.findall(r"url\(#([^)]*)\)", text)
    assert len(inside) > 50  # ticks and clips of three figures
    assert set(inside) <= set(outline.ids)


def test_contents_lead_to_the_sections(page):
    outline = Outline(page.html())
    assert outline.references[:2] == ["#section-1", "#section-2"]
    assert outline.tags.count("h2") == 2
    assert outline.tags.count("h1") == 1
    assert "nav" not in Outline(Page("T", "L").html()).tags


def test_colours_are_variables_with_a_light_and_a_dark_value(page):
    text = page.html()
    used = set(re.findall(r"var\((--[\w-]+)\)", text)) - {"--width"}
    light, dark = re.search(r":root \{(.*?)\}.*?:root \{(.*?)\}", text, re.S).groups()
    assert used <= set(re.findall(r"(--[\w-]+):", light))
    assert set(re.findall(r"(--[\w-]+):", light)) == set(re.findall(r"(--[\w-]+):", dark))


def test_a_table_sets_numbers_right(page):
    text = page.html()
    assert '<td class="number">1.5</td>' in text
    assert '<th scope="col" class="number">number</th>' in text
    assert '<th scope="row">Cell' in text


def test_matplotlib_figures_can_be_added(page):
    mine = Figure()
    mine.add_subplot().set_title("mine")
    page.figure(mine, "Mine.", "A figure of mine.")
    assert "mine" in "".join(Outline(page.html()).words)


def test_the_same_content_gives_the_same_file(figures, tmp_path):
    again = Page("Twice", "The same.")
    for figure in figures:
        again.figure(figure, "c", "a")
    once = again.html()
    again.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == once
    other = Page("Twice", "The same.")
    for figure in figures:
        other.figure(figure, "c", "a")
    assert other.html() == once


def test_what_cannot_be_shown_is_refused(tmp_path):
    page = Page("T", "L")
    with pytest.raises(ValueError, match="rows must have 2 cells, one per header, got 1 in row 1"):
        page.table(["a", "b"], [["x", 1.0], ["y"]], "caption")
    with pytest.raises(ValueError, match="figure must be a figure of calibrant or of matplotlib"):
        page.figure("a string", "caption", "alt")
    with pytest.raises(ValueError, match="cannot be written"):
        page.save(tmp_path / "no" / "folder.html")


@pytest.mark.parametrize(
    ("value", "shown", "fine"),
    [(0, "0", "0"), (12_345, "12,345", "12,345"), (3.0, "3", "3"), (2e6, "2,000,000", "2,000,000"),
     (0.012345, "0.0123", "0.0123"), (0.17301, "0.173", "0.1730"), (-0.5, "-0.5", "-0.5000"),
     (99.95, "100", "100.0"), (123.4, "123", "123.4"), (999.6, "1,000", "999.6"),
     (1725.04, "1,725", "1,725.0"), (0.00123, "0.00123", "0.0012"),
     (float("nan"), "–", "–"), (float("inf"), "infinite", "infinite"),
     (-float("inf"), "-infinite", "-infinite"), (1e-9, "1e-09", "0.0000"), (1e-17, "0", "0.0000")],
)  # fmt: skip
def test_numbers_have_digits_that_mean_something(value, shown, fine):
    assert show_number(value) == shown
    assert show_number(value, fine=True) == fine


def test_every_number_shown_is_set_right():
    values = [0, 12_345, 0.5, -1.25, 1e-7, float("nan"), float("inf"), -float("inf")]
    page = Page("T", "L")
    page.table(
        ["a", "as text"], [[value, show_number(value, fine=True)] for value in values], "caption"
    )
    assert page.html().count('<td class="number">') == 2 * len(values)
    assert 'class="words"' not in page.html()
