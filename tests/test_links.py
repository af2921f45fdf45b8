"""Every link from one page of the repository to another leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MADE = {ROOT / "docs" / "api", ROOT / "docs" / "_build"}  # by `make docs`, which checks its own
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not MADE & set(page.parents)),
]
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
