"""The views of a stream in the API. Each function is called in the owner's thread."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from itertools import islice
from typing import Any, TypeVar, cast

import numpy as np

from calibrant.checks import Finding
from calibrant.fleet import FleetMonitor, KnownKey
from calibrant.service.problems import Problem
from calibrant.service.stream import models
from calibrant.service.stream.class_measures import ClassMeasures
from calibrant.service.stream.doubts import doubts
from calibrant.service.stream.engine import Engine
from calibrant.service.stream.events import key_json
from calibrant.service.stream.keys import Key
from calibrant.service.stream.learners import ByKey, OfRows
from calibrant.service.stream.measures import Measures
from calibrant.service.stream.number_measures import NumberMeasures
from calibrant.service.stream.plain import number
from calibrant.service.stream.score_kind import as_probabilities
from calibrant.service.stream.score_measures import ScoreMeasures
from calibrant.service.stream.stream import Stream

T = TypeVar("T", bound=Measures)

#: Settled rounds before there is a verdict.
FEW = 100


def summary(stream: Stream) -> models.Summary:
    """Return the summary of a stream."""
    engine, tallies = stream.engine, stream.engine.tallies
    monitors, findings = engine.measures.monitors, doubts(stream)
    return {
        "name": stream.name,
        "kind": stream.definition.kind,
        "created": stream.created,
        "verdict": verdict(engine, findings),
        "warnings": [cast(models.Warned, each.as_object()) for each in findings],
        "sequence": stream.sequence,
        "predictions": tallies.predictions,
        "outcomes": tallies.outcomes,
        "settled": tallies.settled,
        "waiting": len(engine.book),
        "capacity": stream.definition.capacity,
        "expired": engine.book.expired,
        "last_prediction_at": tallies.last_prediction,
        "last_outcome_at": tallies.last_outcome,
        "silent_since": tallies.silent_since,
        **engine.measures.headline(),
        "evidence": {
            "raw": monitors["raw"].evidence if "raw" in monitors else None,
            "calibrated": monitors["calibrated"].evidence,
        },
        "groups": len(tallies.groups),
        "acted": acted(engine),
        "keys": len(engine.learner.fleet) if isinstance(engine.learner, ByKey) else None,
        "miscalibrated_keys": count_miscalibrated(engine),
    }


def detail(stream: Stream) -> models.Detail:
    """Return the summary of a stream, with its settings."""
    settings = stream.definition.as_json()
    return {**summary(stream), "settings": settings, "adopted": stream.adopted}


def verdict(engine: Engine, findings: list[Finding]) -> models.Verdict:
    """Return whether a stream is calibrated, with a sentence; "doubtful" with a warning."""
    rows, few = engine.tallies.settled, engine.tallies.settled < FEW
    state = "new" if few else state_of(engine, "calibrated")
    if few:
        words = f"{rows:,} outcomes so far: too few for a verdict."
    elif state == "miscalibrated":
        words = in_trouble(engine)
    elif findings:
        words = f"No evidence of miscalibration in {rows:,} rounds, but the rows have warnings."
    else:
        words = f"No evidence of miscalibration in {rows:,} rounds."
        past = len(engine.measures.episodes("calibrated"))
        if past:
            words += f" Past episodes: {past}."
    if findings and state != "miscalibrated":
        state = "doubtful"
    raw = None
    if "raw" in engine.measures.monitors:
        raw = "new" if few else state_of(engine, "raw")
    return {"state": state, "words": words, "raw": raw}


def state_of(engine: Engine, of: str) -> str:
    """Return "miscalibrated" while an episode lasts or any key is miscalibrated."""
    watch = engine.learner.watch
    if watch is not None and watch.since.get(of):
        return "miscalibrated"
    return engine.measures.monitors[of].state


def in_trouble(engine: Engine) -> str:
    """Return sentences on the miscalibrated predictions: an episode, keys, or both."""
    words = []
    if engine.measures.monitors["calibrated"].state == "miscalibrated":
        lasting = [each for each in engine.measures.episodes("calibrated") if each["end"] is None]
        words.append(lasting[-1]["text"])
    watch = engine.learner.watch
    if watch is not None:
        many = len(watch.since["calibrated"])
        start = (
            "One key is miscalibrated:" if many == 1
            else f"{many:,} keys are miscalibrated. The clearest:"
        )  # fmt: skip
        words += [f"{start} {each}." for each in watch.ranked("calibrated", 1)]
    return " ".join(words)


def count_miscalibrated(engine: Engine) -> models.CountedSides | None:
    """Return how many keys are miscalibrated; None where keys are not monitored."""
    watch = engine.learner.watch
    if watch is None:
        return None
    raw = watch.since.get("raw")
    calibrated = len(watch.since["calibrated"])
    return {"raw": None if raw is None else len(raw), "calibrated": calibrated}


def acted(engine: Engine) -> models.Acted | None:
    """Return how many predictions were to be acted on; None where nothing is decided."""
    if engine.decisions is None:
        return None
    decider, made = engine.decisions.decider, engine.tallies.predictions
    return {
        "rows": decider.acted, "explored": decider.explored,
        "share": decider.acted / made if made else None, "threshold": decider.threshold,
    }  # fmt: skip


def scorecard(stream: Stream) -> Mapping[str, Any]:
    """Return all measures of a stream."""
    return stream.engine.measures.scorecard()


def reliability(stream: Stream, bins: int, level: float) -> models.Reliability:
    """Return observed frequencies by predicted probability."""
    return measured_as(stream, ScoreMeasures, "/coverage").reliability(bins, level)


def coverage(stream: Stream) -> models.Coverage:
    """Return what the quantiles of a stream of numbers cover."""
    return measured_as(stream, NumberMeasures, "/reliability").coverage()


def classes(stream: Stream) -> models.Classes:
    """Return the classes of a stream."""
    return measured_as(stream, ClassMeasures, "/scorecard").classes()


def fan(stream: Stream, points: int) -> models.Fan:
    """Return the last settled rounds of a stream of numbers, each with its intervals."""
    return measured_as(stream, NumberMeasures, "/history").fan(points)


def measured_as(stream: Stream, kind: type[T], instead: str) -> T:
    """Return the measures of a stream, or raise a `Problem` that names the view of its kind."""
    found = stream.engine.measures
    if not isinstance(found, kind):
        raise Problem(
            404, f"stream {stream.name!r} is of kind {stream.definition.kind!r}; see {instead}"
        )
    return found


def score_map(stream: Stream, points: int, by: str | None, key: str | None) -> models.ScoreMap:
    """Return the map from score to probability as it is now, of a group or a key if named."""
    engine, kind = stream.engine, stream.definition.kind
    if isinstance(engine.learner, OfRows):
        raise Problem(404, f"stream {stream.name!r} is of kind {kind!r}, which has no such map")
    low, high = (0.0, 1.0) if kind == "probability" else engine.tallies.range or (-3.0, 3.0)
    scores = np.linspace(low, high, points)
    expected, smooth = engine.learner.map(scores, by, key)
    return {
        "kind": kind,
        "by": by,
        "key": key,
        "score": scores.tolist(),
        "raw": None if kind == "margin" else as_probabilities(scores.tolist(), kind),
        "probability": expected.tolist(),
        "smooth": smooth.tolist(),
    }


def episodes(stream: Stream) -> models.Episodes:
    """Return the episodes of both monitors."""
    measures = stream.engine.measures
    raw = measures.episodes("raw") if "raw" in measures.monitors else None
    return {"calibrated": measures.episodes("calibrated"), "raw": raw}


def pending(stream: Stream, limit: int) -> models.Pending:
    """Return pending predictions, the oldest first, and how long outcomes took."""
    book, tallies, settings = stream.engine.book, stream.engine.tallies, stream.definition
    waiting = (each for each in book.known.items() if each[0] is not None)
    rows: list[Any] = [
        {
            "id": str(id_), "at": each.at, "due": number(each.due),
            **settings.of_kind.waiting(each),
            "by": None if settings.keyed else cast(Any, book.rule.group_of(each)),
            "key": book.rule.group_of(each) if settings.keyed else None,
            "outcome": None if math.isnan(each.outcome) else settings.of_kind.label(
                each.outcome, settings),
        }
        for id_, each in islice(waiting, limit)
    ]  # fmt: skip
    came = tallies.outcomes
    return {
        "waiting": len(book),
        "capacity": settings.capacity,
        "expired": book.expired,
        "oldest_at": rows[0]["at"] if rows else None,
        "next_due": number(book.next_due()),
        "rows": rows,
        "delay": {
            "outcomes": came,
            "mean": tallies.delay_total / 1000.0 / came if came else None,
            "median": tallies.delay_quantile(0.5),
            "p90": tallies.delay_quantile(0.9),
        },
    }


def groups(stream: Stream, limit: int) -> models.Groups:
    """Return the groups, those with the clearest bias first."""
    found: list[models.GroupView] = []
    for name, (made, settled, predicted, observed, spread) in stream.engine.tallies.groups.items():
        found.append(
            {
                "name": name, "predictions": int(made), "settled": int(settled),
                "mean_prediction": predicted / settled if settled else None,
                "mean_outcome": observed / settled if settled else None,
                "bias": (observed - predicted) / settled if settled else None,
                "z": (observed - predicted) / math.sqrt(spread) if spread > 0 else None,
            }
        )  # fmt: skip
    found.sort(key=lambda each: -abs(each["z"] or 0.0))
    return {"count": len(found), "groups": found[:limit]}


def history(stream: Stream, points: int) -> models.HistoryView | models.NumberHistoryView:
    """Return what was predicted and observed through time."""
    return stream.engine.measures.history(points)


def experts(stream: Stream) -> models.Experts:
    """Return what predictions are based on now, by weight."""
    if isinstance(stream.engine.learner, ByKey):
        raise Problem(
            404, "the predictions of a keyed stream have different weights for each key: /keys "
            "shows the weight of each key's own outcomes"
        )  # fmt: skip
    weights = stream.engine.learner.recalibrator.weights()
    return {"experts": [{"name": each.words, "weight": each.weight} for each in weights]}


# -- keys -----------------------------------------------------------------------------------------


def keys(stream: Stream, by: str, limit: int, start: int) -> models.Keys:
    """Return keys, ranked by something."""
    learner = by_key(stream)
    found = [key_view(*each) for each in learner.rankings.ranked(by, limit, start)]
    return {"count": len(learner.fleet), "sort": by, "start": start, "keys": found}


def one_key(stream: Stream, name: str) -> models.KeyView:
    """Return what is known of a key."""
    learner = by_key(stream)
    key = learner.key_of(name)
    return key_view(key, learner.fleet[key])


def miscalibrated_keys(stream: Stream, limit: int) -> models.MiscalibratedKeys:
    """Return the miscalibrated keys, those with the most evidence first, and the guarantee."""
    learner = by_key(stream)
    watch = learner.watch
    if watch is None:
        raise Problem(404, f"the keys of stream {stream.name!r} are not monitored (watch_keys)")

    def of(side: str) -> models.MiscalibratedSide | None:
        if side not in watch.monitors:
            return None
        since = watch.since[side]
        found = learner.rankings.miscalibrated(side, limit)
        # A cached ranking may have keys that are calibrated again.
        shown = [key_json(each, since[each.key]) for each in found if each.key in since]
        return {"count": len(since), "keys": shown}

    monitor = watch.monitors["calibrated"]
    return {
        "outcomes": monitor.outcomes,
        "false_alarm_probability": monitor.false_alarm_probability,
        "guarantee": guarantee(monitor),
        "calibrated": of("calibrated"),
        "raw": of("raw"),
    }


def guarantee(monitor: FleetMonitor) -> str:
    """Return a sentence on the guarantee of the list of miscalibrated keys."""
    chance, rounds = monitor.false_alarm_probability, f"{monitor.rounds:,} predictions"
    if chance >= 1.0:
        return (
            f"After {rounds}, nothing is guaranteed any more: the setting every is too small for "
            "so many."
        )
    return (
        "The probability that any key that was always calibrated, to within "
        f"{monitor.tolerance:g}, was ever listed in these {rounds} is at most "
        f"{100.0 * chance:.2g}%, however many keys there are."
    )


def by_key(stream: Stream) -> ByKey:
    """Return what learns in a keyed stream."""
    learner = stream.engine.learner
    if not isinstance(learner, ByKey):
        raise Problem(404, f"stream {stream.name!r} is not keyed")
    return learner


def key_view(key: Key, known: KnownKey) -> models.KeyView:
    """Return what is known of a key."""
    return cast(models.KeyView, {"key": key, **asdict(known), "trouble": known.trouble})
