"""Where each forecaster of a sweep is the best, in words."""

from calibrant.experiments import Result, Results, Task
from calibrant.experiments.winners import in_sentences, wins

STREAMS = ("drift", "iid:mean=0.3", "runs", "alternating", "markov:order=1", "markov:order=2")


def results_of(values, rounds=100):
    """Make results from ``values[forecaster][stream]``, each of brier, log loss and Cal2."""
    return Results(
        [
            Result.of(
                Task(name, stream, rounds, seed),
                dict(zip(("brier", "log_loss", "cal2"), errors, strict=True)),
            )
            for name, by_stream in values.items()
            for stream, errors in by_stream.items()
            for seed in (0, 1)
        ]
    )


def test_each_wins_where_its_mean_is_least():
    results = results_of(
        {
            "zoom": {"drift": (0.2, 0.6, 3.0), "runs": (0.2, 0.6, 3.0)},
            "epoch": {"drift": (0.1, 0.7, 3.0), "runs": (0.3, 0.7, 5.0)},
            "running-mean": {"drift": (0.9, 0.9, 9.0), "runs": (0.9, 0.9, 9.0)},
        }
    )
    assert wins(results) == {
        "zoom": {
            "Brier score": ["runs"],
            "log loss": ["drift", "runs"],
            "calibration (Cal2)": ["drift", "runs"],
        },
        "epoch": {"Brier score": ["drift"], "calibration (Cal2)": ["drift"]},
        "running-mean": {},
    }
    assert in_sentences(results) == [
        "zoom has the best Brier score on runs, the best log loss on all 2 streams, the best "
        "calibration (Cal2) on all 2 streams.",
        "epoch has the best Brier score on drift, the best calibration (Cal2) on drift.",
        "Nowhere the best: running-mean.",
    ]


def test_the_most_rounds_decide():
    short = results_of({"zoom": {"drift": (0.1, 0.1, 1)}, "epoch": {"drift": (0.2, 0.2, 2)}}, 100)
    long = results_of({"zoom": {"drift": (0.3, 0.3, 3)}, "epoch": {"drift": (0.2, 0.2, 2)}}, 900)
    found = wins(Results([*short.all, *long.all]))
    assert found["zoom"] == {}
    assert found["epoch"]["log loss"] == ["drift"]


def test_many_streams_are_counted_and_one_forecaster_wins_nothing():
    both = {
        "zoom": dict.fromkeys(STREAMS[:5], (0.1, 0.1, 1)) | {"markov:order=2": (0.3, 0.3, 3)},
        "epoch": dict.fromkeys(STREAMS, (0.2, 0.2, 2)),
    }
    assert "Brier score on 5 of 6 streams" in in_sentences(results_of(both))[0]
    assert in_sentences(results_of({"zoom": {"drift": (0.1, 0.1, 1)}})) == []


def test_calibration_is_what_was_measured():
    results = Results(
        [
            Result.of(Task(name, "drift", 100, 0), {"ece": error})
            for name, error in (("zoom", 0.1), ("epoch", 0.2))
        ]
    )
    assert wins(results) == {"zoom": {"calibration (ECE)": ["drift"]}, "epoch": {}}
