"""Tables that the pages of the theorems quote: every number of a row is in the benchmark's."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
THEOREMS = sorted((ROOT / "docs/theorems").glob("*.md"))
PAPER = ROOT / "benchmarks/paper.md"


def rows_of(page):
    """Return the numbers in the rows of all tables of a page, by the first cell of the row."""
    found = {}
    for line in page.read_text().splitlines():
        first, *others = [cell.strip() for cell in line.strip("|").split("|")]
        numbers = set(filter(re.compile(r"[\d,.]+$").match, others))
        if line.startswith("| ") and numbers:
            found.setdefault(first, set()).update(numbers)
    return found


def unknown(quoted, source):
    """Return the numbers of a page that are not in the rows of a source with the same name."""
    return {
        name: cells - source[name]
        for name, cells in quoted.items()
        if name in source and cells - source[name]
    }


@pytest.mark.parametrize("page", THEOREMS, ids=lambda page: page.stem)
def test_the_theorems_quote_the_benchmark(page):
    assert not unknown(rows_of(page), rows_of(PAPER))


def test_much_is_quoted_and_a_stale_number_is_found():
    source = rows_of(PAPER)
    assert sum(len(rows_of(page).keys() & source.keys()) for page in THEOREMS) > 50
    quoted = rows_of(ROOT / "docs/theorems/refined-l2.md")
    quoted["drift"].add("104.2")
    assert unknown(quoted, source) == {"drift": {"104.2"}}
