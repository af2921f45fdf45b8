"""The types of responses: those of the views, and the models of the OpenAPI document."""

from __future__ import annotations

from typing import Any, NotRequired

from typing_extensions import TypedDict

Numbers = list[float | None]


class Sides(TypedDict):
    """A number of the raw scores and of the calibrated probabilities; null if there is none."""

    raw: float | None
    calibrated: float | None


class CountedSides(TypedDict):
    """A count for the raw scores and for the calibrated probabilities; null if there is none."""

    raw: int | None
    calibrated: int | None


class Headline(TypedDict):
    """The figures in a stream's summary; of numbers, the mean median and the coverage error."""

    mean_prediction: float | None
    mean_outcome: float | None
    error: Sides


class Verdict(TypedDict):
    """Whether a stream is calibrated, with a sentence, and whether the raw scores are.

    The state is "new", "calibrated", "doubtful" where there are warnings, or "miscalibrated".
    """

    state: str
    words: str
    raw: str | None


class Warned(TypedDict):
    """A warning about a stream: the check, its severity, and what to do."""

    check: str
    severity: str
    message: str


class Acted(TypedDict):
    """How many predictions were acted on, how many of them to explore, and the threshold now."""

    rows: int
    explored: int
    share: float | None
    threshold: float


class Summary(Headline):
    """The summary of a stream."""

    name: str
    kind: str
    created: float
    verdict: Verdict
    warnings: list[Warned]
    sequence: int
    predictions: int
    outcomes: int
    settled: int
    waiting: int
    capacity: int
    expired: int
    last_prediction_at: float | None
    last_outcome_at: float | None
    silent_since: float | None
    evidence: Sides
    groups: int
    acted: Acted | None
    keys: int | None
    miscalibrated_keys: CountedSides | None


class Summaries(TypedDict):
    """All streams that a token may see."""

    streams: list[Summary]


class Created(TypedDict):
    """A stream that was created, already existed, or was changed."""

    name: str
    settings: dict[str, Any]
    created: float


class Detail(Summary):
    """The summary of a stream, with its settings."""

    settings: dict[str, Any]
    adopted: dict[str, int] | None


class PredictionAnswer(TypedDict):
    """The result of a row to predict: "applied", "repeated" or "conflict"."""

    id: str
    probability: float
    smooth: float
    raw: float | None
    sequence: int
    answer: str
    act: NotRequired[bool]
    propensity: NotRequired[float]


class NumberAnswer(TypedDict):
    """What became of a row whose number was predicted; an infinite quantile is null.

    Quantiles are named by their levels, and central intervals by what they should cover.
    """

    id: str
    forecast: float | None
    median: float | None
    quantiles: dict[str, float | None]
    intervals: dict[str, Numbers]
    sequence: int
    answer: str


class ClassAnswer(TypedDict):
    """What became of a row of several classes: the named one, and the probability of each."""

    id: str
    label: str | int
    probability: float
    raw: float
    probabilities: dict[str, float]
    sequence: int
    answer: str


class ClassView(TypedDict):
    """A class: the mean probability given to it, how often it came, was named, and was right."""

    label: str | int
    mean_prediction: float
    observed: int
    frequency: float
    named: int
    right: int


class Classes(TypedDict):
    """The classes of a stream, in the order of the scores."""

    rounds: int
    classes: list[ClassView]


class StoredPrediction(TypedDict):
    """A prediction as it is stored: "waiting", "settled" or "expired", and its outcome."""

    prediction: PredictionAnswer | NumberAnswer | ClassAnswer
    at: float
    deadline: float | None
    by: str | None
    key: str | int | None
    status: str
    outcome: float | int | str | None


class Erased(TypedDict):
    """How many predictions were erased, and the ids of which there was none."""

    erased: int
    unknown: list[str]


class Deleted(TypedDict):
    """A stream that was deleted, and how many predictions it had made."""

    name: str
    predictions: int


class OutcomeAnswer(TypedDict):
    """The result of an outcome: "applied", "repeated", "conflict", "unknown" or "expired"."""

    id: str
    answer: str


class Measures(TypedDict):
    """The measures of one sort of probabilities; null where there is no round."""

    rounds: int
    mean_prediction: float | None
    mean_outcome: float | None
    brier: float | None
    log_loss: float | None
    ece: float | None
    cal1: float | None
    cal2: float | None
    klcal: float | None


class ScorecardView(TypedDict):
    """The measures of the raw, the calibrated and the smooth probabilities."""

    rounds: int
    raw: Measures | None
    calibrated: Measures | None
    smooth: Measures | None


class NumberMeasuresView(TypedDict):
    """The measures of predicted distributions; null where there is no round.

    `infinite` counts the rounds with an infinite quantile, which the others leave out.
    """

    rounds: int
    infinite: int
    mean_outcome: float | None
    mean_median: float | None
    pinball: float | None
    error: float | None
    intervals: list[IntervalView]


class IntervalView(TypedDict):
    """What central intervals of one sort did: covered, their mean width, their mean score."""

    coverage: float
    covered: float | None
    width: float | None
    score: float | None


class Coverage(TypedDict):
    """Of each level, the share of outcomes below and at most at its quantile, and the PIT."""

    rounds: int
    level: list[float]
    below: Numbers
    at_most: Numbers
    pit: list[int]


class Fan(TypedDict):
    """The last settled rounds, in order of prediction: a few quantiles, and the outcome."""

    at: list[float]
    levels: list[float]
    quantiles: list[Numbers]
    forecast: Numbers
    outcome: list[float]


class NumberBuckets(TypedDict):
    """Numbers through time: a column for each field, a row for a bucket of settled rounds."""

    start: Numbers
    end: Numbers
    count: list[int]
    mean_outcome: Numbers
    mean_forecast: Numbers
    mean_median: Numbers
    mean_low: Numbers
    mean_high: Numbers
    covered: Numbers
    evidence_calibrated: Numbers
    waiting: list[int]
    delay: Numbers


class NumberHistoryView(TypedDict):
    """A stream of numbers through time, with its 90% intervals."""

    rows_a_bucket: int
    threshold: float
    buckets: NumberBuckets


class Curve(TypedDict):
    """Observed frequencies by predicted probability: a column for each field, a row for a bin."""

    lower: Numbers
    upper: Numbers
    count: list[int]
    mean_prediction: Numbers
    mean_outcome: Numbers
    interval_low: Numbers
    interval_high: Numbers


class Reliability(TypedDict):
    """Two reliability curves, with intervals of a level."""

    level: float
    bins: int
    raw: Curve | None
    calibrated: Curve | None


class ScoreMap(TypedDict):
    """The current map from scores to probabilities."""

    kind: str
    by: str | None
    key: str | None
    score: list[float]
    raw: list[float] | None
    probability: list[float]
    smooth: list[float]


class EpisodeView(TypedDict):
    """A stretch of rounds in which predictions were miscalibrated."""

    alarm: int
    onset: int
    end: int | None
    low: float
    high: float
    group: str | int | None
    bias: float
    bias_low: float
    bias_high: float
    alarm_at: float | str | None
    onset_at: float | str | None
    end_at: float | str | None
    direction: str
    text: str
    question: NotRequired[str]


class Episodes(TypedDict):
    """The episodes of the calibrated probabilities and of the raw scores."""

    calibrated: list[EpisodeView] | None
    raw: list[EpisodeView] | None


class WaitingRow(TypedDict):
    """A pending prediction, with its outcome if that arrived before the deadline."""

    id: str
    at: float
    due: float | None
    probability: float | None
    raw: float | None
    by: str | None
    key: str | int | None
    outcome: float | int | str | None
    forecast: NotRequired[float | None]
    median: NotRequired[float | None]


class Delay(TypedDict):
    """How long outcomes took, in seconds."""

    outcomes: int
    mean: float | None
    median: float | None
    p90: float | None


class Pending(TypedDict):
    """Pending predictions, the oldest first."""

    waiting: int
    capacity: int
    expired: int
    oldest_at: float | None
    next_due: float | None
    rows: list[WaitingRow]
    delay: Delay


class GroupView(TypedDict):
    """A group; `z` is its bias in standard errors."""

    name: str
    predictions: int
    settled: int
    mean_prediction: float | None
    mean_outcome: float | None
    bias: float | None
    z: float | None


class Groups(TypedDict):
    """Groups, those with the clearest bias first."""

    count: int
    groups: list[GroupView]


class KeyView(TypedDict):
    """A key, with its outcomes and its offset."""

    key: str | int
    predictions: int
    outcomes: int
    offset: float
    deviation: float
    weight: float
    curve: float
    trouble: float


class Keys(TypedDict):
    """A page of keys."""

    count: int
    sort: str
    start: int
    keys: list[KeyView]


class MiscalibratedKey(TypedDict):
    """A key whose predictions are miscalibrated; `since` is null if it was before the stream."""

    key: str | int
    evidence: float
    bias: float
    outcomes: int
    direction: str
    since: float | None
    text: str


class MiscalibratedSide(TypedDict):
    """The miscalibrated keys of one sort of probabilities, those with the most evidence first."""

    count: int
    keys: list[MiscalibratedKey]


class MiscalibratedKeys(TypedDict):
    """The miscalibrated keys, and what is guaranteed of them."""

    outcomes: int
    false_alarm_probability: float
    guarantee: str
    calibrated: MiscalibratedSide | None
    raw: MiscalibratedSide | None


class Buckets(TypedDict):
    """A stream through time: a column for each field, a row for a bucket of settled rounds."""

    start: Numbers
    end: Numbers
    count: list[int]
    mean_raw: Numbers | None
    mean_prediction: Numbers
    mean_smooth: Numbers
    mean_outcome: Numbers
    error_raw: Numbers | None
    error_calibrated: Numbers
    evidence_raw: Numbers | None
    evidence_calibrated: Numbers
    waiting: list[int]
    delay: Numbers


class HistoryView(TypedDict):
    """A stream through time; evidence above the threshold is an alarm."""

    rows_a_bucket: int
    threshold: float
    buckets: Buckets


class Expert(TypedDict):
    """One of the recalibrations that are mixed, and its share."""

    name: str
    weight: float


class Experts(TypedDict):
    """What predictions are based on now, by weight."""

    experts: list[Expert]


class Event(TypedDict):
    """A stored event; the other fields depend on its kind."""

    number: int
    stream: str
    at: float
    kind: str


class Events(TypedDict):
    """A page of stored events, the oldest first."""

    events: list[Event]


class Health(TypedDict):
    """Whether the process answers."""

    status: str


class Ready(Health):
    """Whether rows can be stored; how many streams there are is for those with a token."""

    streams: NotRequired[int]
    closed: NotRequired[int]


class ProblemDocument(TypedDict):
    """Why a request was rejected without any effect, as problem details (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    field: NotRequired[str]
    allowed: NotRequired[str]
    row: NotRequired[int]
