"""The streams on which each forecaster of a sweep is the best, in sharpness and in calibration."""

from __future__ import annotations

from calibrant.experiments.results import Results

#: The measures to report, by their names in sentences; of each row, the first that was measured.
ASKED = {
    "Brier score": ("brier",),
    "log loss": ("log_loss",),
    "calibration": ("cal2", "ece", "cal1"),
}
NAMES = {"cal2": "calibration (Cal2)", "ece": "calibration (ECE)", "cal1": "calibration (Cal1)"}
#: A longer list of streams is counted instead of named.
MOST_NAMED = 4


def wins(results: Results) -> dict[str, dict[str, list[str]]]:
    """Return the streams on which each forecaster is the best, ``[forecaster][measure]``.

    By the mean over seeds at the largest size of each stream; several may be equally good. Only
    streams with more than one forecaster count.

    Examples
    --------
    >>> from calibrant.experiments import Result, Results, Task
    >>> from calibrant.experiments.winners import in_sentences, wins
    >>> results = Results([
    ...     Result.of(Task("event-forecaster", "runs", 1000), {"brier": 0.1, "cal2": 9.0}),
    ...     Result.of(Task("zoom", "runs", 1000), {"brier": 0.2, "cal2": 4.0}),
    ... ])
    >>> wins(results)["event-forecaster"]
    {'Brier score': ['runs']}
    >>> in_sentences(results)[1]
    'zoom has the best calibration (Cal2) on runs.'
    """
    found: dict[str, dict[str, list[str]]] = {name: {} for name in results.forecasters}
    for asked, measures in ASKED.items():
        measure = next((each for each in measures if results.longest(each)), None)
        if measure is None:
            continue
        summary = results.summary(measure)
        for stream, rounds in results.longest(measure).items():
            row = summary[stream, rounds]
            if len(row) < 2:
                continue
            for name, each in row.items():
                if each.best:
                    found[name].setdefault(NAMES.get(measure, asked), []).append(stream)
    return found


def in_sentences(results: Results) -> list[str]:
    """Return where each forecaster is the best, one sentence each, with most wins first.

    Those without a win share the last sentence.
    """
    found = wins(results)
    streams = len(results.streams)
    ordered = sorted(found, key=lambda name: -sum(map(len, found[name].values())))
    sentences, nowhere = [], []
    for name in ordered:
        if not found[name]:
            nowhere.append(name)
            continue
        parts = [f"{measure} on {_named(on, streams)}" for measure, on in found[name].items()]
        sentences.append(f"{name} has the best {', the best '.join(parts)}.")
    if nowhere and sentences:
        sentences.append(f"Nowhere the best: {', '.join(nowhere)}.")
    return sentences


def _named(on: list[str], of: int) -> str:
    """Return streams in words: all, a few by name, or how many."""
    if len(on) == of > 1:
        return f"all {of} streams"
    if len(on) > MOST_NAMED:
        return f"{len(on)} of {of} streams"
    return on[0] if len(on) == 1 else f"{', '.join(on[:-1])} and {on[-1]}"
