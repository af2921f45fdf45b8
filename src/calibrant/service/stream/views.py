"""What there is to see of a stream, as JSON. Each function is asked in the owner's thread."""

from __future__ import annotations

import math
from itertools import islice
from typing import Any

import numpy as np

from calibrant import Monitor
from calibrant.measures import Scorecard
from calibrant.service.stream.engine import Engine, as_probabilities
from calibrant.service.stream.events import episode_json, in_words
from calibrant.service.stream.learners import ByKey
from calibrant.service.stream.stream import Stream

#: Settled rows before anything is said about calibration.
FEW = 100
MEASURES = ("mean_prediction", "mean_outcome", "brier", "log_loss", "ece", "cal1", "cal2", "klcal")
CURVE = ("lower", "upper", "count", "mean_prediction", "mean_outcome", "interval_low",
         "interval_high")  # fmt: skip


def summary(stream: Stream) -> dict[str, Any]:
    """Return the line of a stream in the list of all."""
    engine, tallies = stream.engine, stream.engine.tallies
    card, raw_card = measures(engine.card), measures(engine.raw_card)
    return {
        "name": stream.name,
        "created": stream.created,
        "verdict": verdict(engine),
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
        "mean_said": card and card["mean_prediction"],
        "mean_happened": card and card["mean_outcome"],
        "error": {"raw": raw_card and raw_card["ece"], "calibrated": card and card["ece"]},
        "evidence": {
            "raw": None if engine.raw_monitor is None else engine.raw_monitor.evidence,
            "calibrated": engine.monitor.evidence,
        },
        "groups": len(tallies.groups),
        "keys": len(engine.learner.fleet) if isinstance(engine.learner, ByKey) else None,
        "keys_off": keys_off(engine),
    }


def detail(stream: Stream) -> dict[str, Any]:
    """Return the line of a stream, with its settings."""
    return summary(stream) | {
        "settings": stream.definition.as_json(),
        "adopted": stream.adopted,
    }


def verdict(engine: Engine) -> dict[str, Any]:
    """Say in a word and in a sentence how a stream is going."""
    rows, few = engine.tallies.settled, engine.tallies.settled < FEW
    state = "new" if few else state_of(engine, "calibrated", engine.monitor)
    if few:
        words = f"{rows:,} outcomes so far: too few to say anything."
    elif state == "miscalibrated":
        words = in_trouble(engine)
    else:
        words = f"Nothing speaks against calibration in {rows:,} rounds."
        past = len(engine.monitor.episodes)
        if past:
            words += f" Episodes that are over: {past}."
    raw = None
    if engine.raw_monitor is not None:
        raw = "new" if few else state_of(engine, "raw", engine.raw_monitor)
    return {"state": state, "words": words, "raw": raw}


def state_of(engine: Engine, of: str, monitor: Monitor) -> str:
    """Return whether an episode lasts or a key is off."""
    off = keys_off(engine)
    return "miscalibrated" if off is not None and off[of] else monitor.state


def in_trouble(engine: Engine) -> str:
    """Say what is wrong with the calibrated probabilities: an episode, keys, or both."""
    words = []
    if engine.monitor.state == "miscalibrated":
        words.append(in_words(engine.monitor.episodes[-1]))
    watch = engine.learner.watch
    if watch is not None:
        many = len(watch.since["calibrated"])
        start = "One key is off:" if many == 1 else f"{many:,} keys are off. Most clearly,"
        words += [f"{start} {each}." for each in watch.ranked("calibrated", 1)]
    return " ".join(words)


def keys_off(engine: Engine) -> dict[str, int | None] | None:
    """Return how many keys are off; None where they are not watched, or not of raw scores."""
    watch = engine.learner.watch
    if watch is None:
        return None
    return {of: len(watch.since[of]) if of in watch.since else None for of in ("calibrated", "raw")}


def measures(card: Scorecard | None) -> dict[str, Any] | None:
    """Return the measures of a scorecard, null where there is no round."""
    if card is None:
        return None
    found = card.summary()
    return {"rounds": card.rounds} | {name: number(found[name]) for name in MEASURES}


def scorecard(stream: Stream) -> dict[str, Any]:
    """Return the measures of the raw, calibrated and smooth probabilities."""
    engine = stream.engine
    return {
        "rounds": engine.card.rounds,
        "raw": measures(engine.raw_card),
        "calibrated": measures(engine.card),
        "smooth": measures(engine.smooth_card),
    }


def reliability(stream: Stream, bins: int, level: float) -> dict[str, Any]:
    """Return what was said and what happened, by bin."""
    engine = stream.engine

    def curve(card: Scorecard | None) -> dict[str, Any] | None:
        if card is None:
            return None
        if card.rounds == 0:
            return {name: [] for name in CURVE}
        table = card.reliability(bins, level)
        has_rows = table.count > 0
        found = {name: numbers(getattr(table, name)[has_rows]) for name in CURVE}
        return found | {"count": table.count[has_rows].tolist()}

    return {
        "level": level,
        "bins": bins,
        "raw": curve(engine.raw_card),
        "calibrated": curve(engine.card),
    }


def score_map(stream: Stream, points: int, by: str | None, key: str | None) -> dict[str, Any]:
    """Return the map from score to probability as it is now, of a group or a key if named."""
    engine, kind = stream.engine, stream.definition.kind
    low, high = (0.0, 1.0) if kind == "probability" else engine.tallies.range or (-3.0, 3.0)
    scores = np.linspace(low, high, points)
    expected, smooth = engine.learner.seen(scores, by, key)
    return {
        "kind": kind,
        "by": by,
        "key": key,
        "score": scores.tolist(),
        "raw": None if kind == "margin" else as_probabilities(scores.tolist(), kind),
        "probability": expected.tolist(),
        "smooth": smooth.tolist(),
    }


def episodes(stream: Stream) -> dict[str, Any]:
    """Return the episodes of both monitors."""

    def of(monitor: Monitor | None) -> list[dict[str, Any]] | None:
        return None if monitor is None else [episode_json(each) for each in monitor.episodes]

    return {"calibrated": of(stream.engine.monitor), "raw": of(stream.engine.raw_monitor)}


def pending(stream: Stream, limit: int) -> dict[str, Any]:
    """Return what waits, the oldest first, and how long outcomes took."""
    book, tallies, settings = stream.engine.book, stream.engine.tallies, stream.definition
    waiting = (each for each in book.known.items() if each[0] is not None)
    rows = [
        {
            "id": id_, "at": each.at, "due": number(each.due), "probability": each.prediction,
            "raw": None if settings.kind == "margin" else each.raw,
            "by": None if settings.keyed else book.rule.group_of(each),
            "key": book.rule.group_of(each) if settings.keyed else None,
            "outcome": number(each.outcome),
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


def groups(stream: Stream, limit: int) -> dict[str, Any]:
    """Return the groups, the most troubled first."""
    found: list[dict[str, Any]] = []
    for name, (made, settled, said, happened, spread) in stream.engine.tallies.groups.items():
        bias = (happened - said) / settled if settled else None
        found.append(
            {
                "name": name, "predictions": int(made), "settled": int(settled),
                "mean_said": said / settled if settled else None,
                "mean_happened": happened / settled if settled else None,
                "bias": bias, "z": (happened - said) / math.sqrt(spread) if spread > 0 else None,
            }
        )  # fmt: skip
    found.sort(key=lambda each: -abs(each["z"] or 0.0))
    return {"count": len(found), "groups": found[:limit]}


def history(stream: Stream, points: int) -> dict[str, Any]:
    """Return what was said and what happened through time."""
    buckets = stream.engine.history
    columns: dict[str, Any] = {
        name: numbers(column) for name, column in buckets.columns(points).items()
    }
    if stream.definition.kind == "margin":
        columns |= {"mean_raw": None, "error_raw": None, "evidence_raw": None}
    for name in ("count", "waiting"):
        columns[name] = [int(each) for each in columns[name]]
    rows = max(columns["count"], default=buckets.size)
    return {"rows_a_bucket": rows, "threshold": 1.0, "buckets": columns}


def experts(stream: Stream) -> dict[str, Any]:
    """Return what predictions rest on now, in words, the heaviest first."""
    weights = stream.engine.learner.experts()
    return {"experts": [{"name": each.words, "weight": each.weight} for each in weights]}


def number(value: float) -> float | None:
    """Return a number as JSON has it: null where there is none."""
    return float(value) if math.isfinite(value) else None


def numbers(values: Any) -> list[float | None]:
    """Return numbers as JSON has them."""
    return [number(each) for each in values.tolist()]
