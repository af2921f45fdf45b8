"""How many places a reader visits who follows five rows, or a request: it may only become less."""

import pytest

from benchmarks.trace import (
    OUTCOME,
    PREDICTIONS,
    REPORT,
    SILENCE,
    STREAM,
    machinery,
    requests,
    visited,
)


@pytest.mark.parametrize(
    ("command", "functions", "modules"), [(REPORT, 185, 39), (SILENCE, 110, 30)], ids=str
)
def test_a_file_visits_few_places(command, functions, modules):
    found = visited(command)
    assert sum(map(len, found.values())) <= functions
    assert len(found) <= modules
    playing = machinery(found)
    assert sum(map(len, playing.values())) <= 35
    assert len(playing) <= 12


def test_a_request_to_the_service_visits_few_places():
    with requests(STREAM) as service:
        predictions = service.visited("POST", "/predictions", PREDICTIONS)
        outcome = service.visited("POST", "/outcomes", OUTCOME)
    assert "service.stream.owner" in predictions
    assert "service.store.sqlite" in outcome
    assert sum(map(len, predictions.values())) <= 60
    assert len(predictions) <= 20
    assert sum(map(len, outcome.values())) <= 45
    assert len(outcome) <= 16
