"""Every link from one page of the repository to another leads somewhere."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MADE = {ROOT / "docs" / "api", ROOT / "docs" / "_build"}  # by `make docs`, which checks its own
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not MADE & set(page.parents)),
]
FOLDERS = ("src", "tests", "benchmarks", "packaging")
LINK = re.compile(r"\]\(([^)\s]*)\)")
BLOCK = re.compile(r"^```.*?^```|`[^`\n]+`", re.M | re.S)


def anchors(page):
    """Return what the headings of a page are called in a link."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in LINK.findall(BLOCK.sub("", page.read_text())):
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        if re.match(r"https?://", target) or place.parent in MADE:
            continue
        assert place.exists(), f"{page.name}: {target}"
        assert not anchor or anchor in anchors(place), f"{page.name}: no heading {target}"


#: A file that prose names by the end of its path; NAME and ROOM in capitals stand for any.
FILE = re.compile(r"`([a-z_./\d]+\.(?:py|pyx|pxd))`")


@pytest.mark.parametrize(
    "page",
    [
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "src").rglob("__init__.py")),
        ROOT / "docs/house.md",
    ],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_files_that_are_named_exist(page):
    files = [f"/{each.relative_to(ROOT)}" for at in FOLDERS for each in (ROOT / at).rglob("*.p*")]
    missing = [
        name
        for name in FILE.findall(page.read_text())
        if not any(each.endswith(f"/{name}") for each in files)
    ]
    assert missing == []


def test_links_of_the_readme_lead_to_the_same_places_from_elsewhere(monkeypatch):
    """PyPI shows it with absolute links."""
    monkeypatch.syspath_prepend(ROOT / "packaging")
    text = (ROOT / "README.md").read_text()
    given = LINK.findall(text)
    made = LINK.findall(importlib.import_module("absolute_links").absolute(text))
    assert len(given) > 30
    assert not any(place.startswith("https:") for place in given)
    for before, after in zip(given, made, strict=True):
        assert re.fullmatch(r"https://(raw\.)?github\S+/v[\d.]+/" + re.escape(before), after)
