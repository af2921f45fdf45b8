"""How many places a reader visits who follows five rows: it may only become less."""

from benchmarks.trace import REPORT, SILENCE, machinery, visited


def test_rounds_are_played_in_few_places():
    found = machinery(visited(REPORT))
    assert sum(map(len, found.values())) <= 35
    assert len(found) <= 12


def test_a_file_without_a_report_visits_less():
    found = visited(SILENCE)
    assert sum(map(len, found.values())) <= 144
    assert len(found) <= 44
