"""The documentation builds, teaches offline, and refuses a public name without words.

The site is built once for all tests here.
"""

import importlib
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from sphinx.errors import ExtensionError

from calibrant.measures import cal1
from report.browser import run, visit, visit_on_phone

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]

#: What a browser fetches by itself, and the attribute that says from where.
FETCHED = {
    "script": "src", "img": "src", "source": "src", "iframe": "src", "link": "href",
    "image": "href", "use": "href", "embed": "src", "object": "data", "video": "src",
}  # fmt: skip
#: The formulas of a page, from the typesetter's side and from the source's.
COUNT = """<script>
addEventListener("load", () => MathJax.startup.promise.then(() => {
  const count = selector => document.querySelectorAll(selector).length;
  document.body.dataset.formulas = [
    count(".math"), count("mjx-container svg path, mjx-container svg use") > 0,
    count("mjx-container"), count("[data-mml-node=merror]"),
  ].join();
}));
</script>"""


class Page(HTMLParser):
    """What a page fetches, what it is called, and how many figures are in it."""

    def __init__(self, text):
        super().__init__()
        self.fetched, self.headings, self.figures, self._inside = [], [], 0, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        address = known.get(FETCHED.get(tag, ""))
        if address and not (tag == "link" and known.get("rel") in ("next", "prev", "search")):
            self.fetched.append(address)
        self.figures += tag == "svg" and known.get("role") == "img"
        if tag == "h1":
            self._inside = ""

    def handle_data(self, data):
        if self._inside is not None:
            self._inside += data

    def handle_endtag(self, tag):
        if tag == "h1":
            self.headings.append(self._inside.rstrip("#¶ \n"))
            self._inside = None


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the built site; not to be changed."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(ROOT / "docs"), str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def pages(site):
    """Every page of the site, by its place in it."""
    return {
        str(path.relative_to(site)): Page(path.read_text())
        for path in site.rglob("*.html")
        if "_static" not in path.parts and path.name != "search.html"  # a script fills that one
    }


def test_the_public_names_are_described(site):
    assert "calibrant.Zoom" in (site / "api" / "calibrant.html").read_text()


def test_no_page_loads_anything_from_elsewhere(site, pages):
    assert len(pages) > 40
    for name, page in pages.items():
        for address in page.fetched:
            assert not re.match(r"(\w+:)?//", address), f"{name} loads {address}"
            inside = (site / name).parent / re.split(r"[?#]", address)[0]
            assert inside.exists() or address.startswith(("#", "data:")), f"{name}: {address}"
    for sheet in site.rglob("*.css"):
        for address in re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')]+)", sheet.read_text()):
            assert not re.match(r"(https?:)?//", address), f"{sheet.name} loads {address}"


def test_every_page_has_one_title_in_words(pages):
    titles = {name: page.headings for name, page in pages.items()}
    assert {name: found for name, found in titles.items() if len(found) != 1} == {}
    labels = {
        name: title
        for name, (title,) in titles.items()
        if "_" in title or not re.search(r"[a-z]{3}", title)
    }
    assert labels == {}
    assert len({title for (title,) in titles.values()}) == len(titles), "two pages of one title"


def test_the_pictures_are_in_the_pages(site, pages):
    sources = {path: path.read_text() for path in (ROOT / "docs").rglob("*.md")}
    drawn = {path: text.count("```{picture}") for path, text in sources.items()}
    assert sum(drawn.values()) >= 10
    for path, count in drawn.items():
        name = str(path.relative_to(ROOT / "docs").with_suffix(".html"))
        if count:
            assert pages[name].figures >= 2 * count, f"{name}: each is drawn wide and narrow"
    landing = (site / "index.html").read_text()
    assert "var(--series-1)" in landing, "a picture takes its colours from the page"
    colors = (site / "_static" / "figures.css").read_text()
    assert colors.count("--series-1:") == 3, "light, dark by choice, dark by the system"


def test_no_mark_of_the_tests_or_of_a_merge_is_shown(site):
    for path in site.rglob("*.html"):
        text = path.read_text()
        assert "BLANKLINE" not in text, path.name
        assert "&lt;&lt;&lt;&lt;&lt;&lt;&lt;" not in text, path.name


def test_formulas_are_typeset_offline(site, tmp_path):
    """All of them, on the page that has most, with every other address out of reach."""
    page = (site / "zoom-proof.html").read_text()
    base = f'<base href="{site.as_uri()}/">'
    path = tmp_path / "looked-at.html"
    path.write_text(page.replace("<head>", f"<head>{base}{COUNT}", 1))
    done = run(
        tmp_path, "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=20000",
        "--dump-dom", path.as_uri(),
    )  # fmt: skip
    found = re.search(r'data-formulas="(\d+),(\w+),(\d+),(\d+)"', done.stdout)
    assert found, f"nothing was typeset:\n{done.stderr}"
    assert int(found[1]) == int(found[3]) > 400
    assert (found[2], found[4]) == ("true", "0")


@pytest.mark.parametrize("name", ["index", "calibration", "why-not", "start/scores", "house"])
def test_pages_fit_a_phone_and_turn_dark(site, tmp_path, name):
    path = site / f"{name}.html"
    base = f'<base href="{path.as_uri()}">'
    page = path.read_text().replace("<head>", f"<head>{base}", 1)
    light = visit_on_phone(page, tmp_path)
    assert light["scroll"] <= light["wide"] == 360
    dark = visit(page, tmp_path, dark=True)
    assert dark["paper"] != light["paper"]
    assert not [address for address in dark["fetched"] if not address.startswith("file:")]


def test_a_public_name_without_a_docstring_fails_the_build(monkeypatch):
    """Before anything is read, so no second build is needed to see it."""
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    reference = importlib.import_module("public_names")
    monkeypatch.setattr(cal1, "__doc__", None)
    with pytest.raises(ExtensionError, match=r"measures\.cal1: no docstring"):
        reference.write_reference(None)
