"""How many places a reader visits who follows five rows, or a request: it may only become less."""

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


def test_rounds_are_played_in_few_places():
    found = machinery(visited(REPORT))
    assert sum(map(len, found.values())) <= 35
    assert len(found) <= 12


def test_a_file_without_a_report_visits_less():
    found = visited(SILENCE)
    assert sum(map(len, found.values())) <= 144
    assert len(found) <= 44


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
