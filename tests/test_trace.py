"""How many places a reader visits who follows five rows: it may only become less."""

import pytest

from benchmarks.trace import REPORT, SILENCE, machinery, visited


@pytest.mark.parametrize(
    ("command", "functions", "modules"), [(REPORT, 230, 48), (SILENCE, 150, 40)], ids=str
)
def test_a_file_visits_few_places(command, functions, modules):
    found = visited(command)
    assert sum(map(len, found.values())) <= functions
    assert len(found) <= modules
    playing = machinery(found)
    assert sum(map(len, playing.values())) <= 35
    assert len(playing) <= 12
