"""The definition of a stream: the settings of ``PUT /v1/streams/{name}``.

Each setting is declared once, with its allowed values. The check of a request, the error message,
the JSON schema and the table in the documentation are derived from that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

from calibrant import Decider, Monitor
from calibrant._spans import UNITS, as_span
from calibrant.service.limits import LONGEST_ID, MOST_CLASSES, MOST_ROWS
from calibrant.service.problems import Problem, bad_value
from calibrant.service.stream.class_kind import SCORES as CLASSES
from calibrant.service.stream.class_kind import Classes
from calibrant.service.stream.decisions import QUESTIONS, SCHEMA
from calibrant.service.stream.kinds import Kind
from calibrant.service.stream.number_kind import Numbers
from calibrant.service.stream.score_kind import SCORES, Scores

#: The kinds of streams, by name.
KINDS: dict[str, Kind] = {
    each.name: each for each in (*map(Scores, SCORES), Numbers(), *map(Classes, CLASSES))
}
SPAN_TEXT = rf"[1-9][0-9]{{0,8}}(\.[0-9]{{1,9}})?({'|'.join(UNITS)})"
MOST_PREDICTIONS = 1e9


#: The settings that PATCH may change.
CHANGEABLE = ("capacity", "retention")


class Allowed(NamedTuple):
    """The allowed values of a setting: as a check, in words and as a JSON schema."""

    accepts: Callable[[Any], bool]
    words: str
    schema: dict[str, Any]


def one_of(*values: Any) -> Allowed:
    """Return the choice of a few values of one type."""
    kind = type(values[0])
    return Allowed(
        lambda value: type(value) is kind and value in values,
        " or ".join(map(json.dumps, values)),
        {"type": "boolean"} if kind is bool else {"enum": list(values)},
    )


def number(low: float, high: float, *, is_integer: bool = False) -> Allowed:
    """Return a range of numbers."""
    kinds = (int,) if is_integer else (int, float)
    return Allowed(
        lambda value: type(value) in kinds and low <= value <= high,
        f"{'an integer' if is_integer else 'a number'} in [{low}, {high}]",
        {"type": "integer" if is_integer else "number", "minimum": low, "maximum": high},
    )


def is_span(value: object) -> bool:
    """Whether a value is a number of predictions, or a time with its unit."""
    if isinstance(value, str):
        return re.fullmatch(SPAN_TEXT, value) is not None
    return COUNT.accepts(value)


COUNT = number(1, MOST_PREDICTIONS)
SPAN = Allowed(
    is_span,
    f'a number of predictions in [1, {MOST_PREDICTIONS:g}], or a time such as "30d", "1.5h" or '
    '"90min"',
    {"oneOf": [COUNT.schema, {"type": "string", "pattern": f"^{SPAN_TEXT}$"}]},
)


TIME = Allowed(
    lambda value: isinstance(value, str) and is_span(value),
    'a time such as "365d" or "12h"',
    {"type": "string", "pattern": f"^{SPAN_TEXT}$"},
)


def listed(of: Allowed, least: int, most: int, *, is_nullable: bool = False) -> Allowed:
    """Return lists of values, each of which is allowed by itself, or null."""
    size = str(most) if least == most else f"{least} to {most}"
    inner = {"oneOf": [of.schema, {"type": "null"}]} if is_nullable else of.schema
    return Allowed(
        lambda value: type(value) is list and least <= len(value) <= most and all(
            (is_nullable and each is None) or of.accepts(each) for each in value),
        f"a list of {size}, each {of.words}" + (" or null" if is_nullable else ""),
        {"type": "array", "items": inner, "minItems": least, "maxItems": most},
    )  # fmt: skip


def are_labels(value: Any) -> bool:
    """Whether a value is a list of labels, all text or all integers, each once."""
    if type(value) is not list or not 2 <= len(value) <= MOST_CLASSES:
        return False
    kinds = {*map(type, value)}
    is_text = kinds == {str} and all(0 < len(each) <= LONGEST_ID for each in value)
    return (is_text or kinds == {int}) and len({*value}) == len(value)


LABEL = {"type": "string", "minLength": 1, "maxLength": LONGEST_ID}
LABELS = Allowed(
    are_labels,
    f"a list of 2 to {MOST_CLASSES}, all text of 1 to {LONGEST_ID} characters or all integers, "
    "each once",
    {
        "oneOf": [
            {"type": "array", "items": items, "uniqueItems": True, "minItems": 2,
             "maxItems": MOST_CLASSES}
            for items in (LABEL, {"type": "integer"})
        ]
    },
)  # fmt: skip


ACT = Allowed(
    lambda value: type(value) is dict,
    "an object with the arguments of a `Decider`: "
    + "; or ".join(", ".join({**needed, **more}) for needed, more in QUESTIONS),
    SCHEMA,
)


def setting(default: Any, allowed: Allowed, description: str) -> Any:
    """Declare a setting; one whose default is None may also be null."""
    return field(default=default, metadata={"allowed": allowed, "description": description})


@dataclass(frozen=True)
class Definition:
    """The settings of a stream; those in `CHANGEABLE` may change, the others never do.

    Examples
    --------
    >>> Definition.from_json({"silence": 0, "after": "30d"}).is_timed
    True
    >>> Definition.from_json({"seed": -1})
    Traceback (most recent call last):
    calibrant.service.problems.Problem: seed: got -1; allowed: an integer in [0, 9007199254740992]
    """

    kind: str = setting(
        "probability", one_of(*KINDS),
        "the input of predictions: a probability, log odds or a margin of an event; the forecast "
        "of a number; or probabilities or logits of several classes",
    )  # fmt: skip
    silence: int | None = setting(
        None, one_of(0, 1), "the outcome of rows without one at their deadline"
    )
    after: float | str | None = setting(
        None, SPAN, "with `silence`: how long after its prediction the deadline is; without it, "
        "each row has a `due`"
    )  # fmt: skip
    hold: float | str | None = setting(
        None, SPAN, "learn every outcome at this age; excludes `silence`"
    )
    groups: int = setting(
        1000, number(0, 1_000_000, is_integer=True), "how many groups `by` may name"
    )
    capacity: int = setting(
        100_000, number(MOST_ROWS, 5_000_000, is_integer=True),
        "how many predictions may be pending; beyond that, the oldest expires",
    )  # fmt: skip
    retention: str | None = setting(
        None, TIME,
        "how long finished predictions are kept, with their outcomes; by default, forever",
    )  # fmt: skip
    act: dict[str, Any] | None = setting(  # noqa: RUF009 - it declares a field
        None, ACT,
        "for scores: decide with each prediction whether to act, by costs, a budget, or a floor of "
        "precision or recall",
    )  # fmt: skip
    tolerance: float = setting(0.02, number(0, 0.4999), "monitor: tolerated miscalibration")
    every: int = setting(
        1_000_000, number(100, 10**15, is_integer=True),
        "monitor: at most one false alarm in this many rounds on average",
    )  # fmt: skip
    clock: str = setting(
        "server", one_of("server", "client"),
        "rows without `at` get the server's time; or, with `client`, every row has its own and "
        "time passes only with rows",
    )  # fmt: skip
    seed: int = setting(0, number(0, 2**53, is_integer=True), "the seed of the random draws")
    keyed: bool = setting(
        False, one_of(False, True), "every prediction has a `key`, and there are no groups"
    )
    watch_keys: bool = setting(False, one_of(False, True), "with `keyed`: monitor each key too")
    levels: tuple[float, ...] | None = setting(
        None, listed(number(1e-6, 1 - 1e-6), 2, 199),
        'kind "number": the levels of the quantiles, increasing; by default 33 from 0.01 to 0.99',
    )  # fmt: skip
    periods: tuple[int, ...] | None = setting(
        None, listed(number(2, 100_000, is_integer=True), 0, 20),
        'kind "number": lengths of seasons, in rounds; by default 7, 24, 48, 168 and 336',
    )  # fmt: skip
    bounds: tuple[float | None, ...] | None = setting(
        None, listed(number(-1e250, 1e250), 2, 2, is_nullable=True),
        'kind "number": the lower and upper bound of outcomes, null for none',
    )  # fmt: skip
    classes: tuple[int | str, ...] | None = setting(
        None, LABELS, 'kind "classes" or "class_logits": the labels, in the order of the scores'
    )

    @classmethod
    def from_json(cls, given: object) -> Definition:
        """Return the settings of a request, or raise a `Problem` that names the field."""
        if not isinstance(given, Mapping):
            raise Problem(422, "the settings of a stream must be a JSON object")
        declared = {each.name: each for each in fields(cls)}
        settings: dict[str, Any] = {}
        for name, value in given.items():
            if name not in declared:
                raise bad_value("unknown setting", str(name)[:100], ", ".join(declared))
            # In JSON, 5.0 is an integer too.
            is_whole = type(value) is float and value.is_integer()
            settings[name] = int(value) if is_whole else value
            allowed: Allowed = declared[name].metadata["allowed"]
            is_unset = value is None and declared[name].default is None
            if not is_unset and not allowed.accepts(settings[name]):
                raise bad_value(f"got {value!r:.60}", name, allowed.words)
            if type(value) is list:
                settings[name] = tuple(value)
        definition = cls(**settings)
        if definition.after is not None and definition.silence is None:
            raise bad_value("it needs silence", "after", "no after, or silence 0 or 1 beside it")
        if definition.silence is not None and definition.hold is not None:
            raise bad_value("it excludes hold", "silence", "silence or hold")
        if definition.watch_keys and not definition.keyed:
            raise bad_value("this stream is not keyed", "watch_keys", "false, or keyed true")
        for name in definition.of_kind.lacks:
            if getattr(definition, name) != declared[name].default:
                raise bad_value(
                    f"a stream of kind {definition.kind!r} has none", name,
                    json.dumps(declared[name].default),
                )  # fmt: skip
        definition.of_kind.check(definition)
        definition.decider()
        return definition

    @classmethod
    def schema_of(cls, name: str) -> dict[str, Any]:
        """Return the JSON schema of one setting."""
        (found,) = (each for each in fields(cls) if each.name == name)
        schema = dict(found.metadata["allowed"].schema)
        if found.default is None:
            schema = {"oneOf": [schema, {"type": "null"}]}
        return schema | {"description": found.metadata["description"]}

    @classmethod
    def schemas(cls) -> dict[str, dict[str, Any]]:
        """Return the JSON schemas of the settings by name: one for each sort of stream."""

        def stream(
            kinds: list[str], title: str, *required: str, excluded: frozenset[str]
        ) -> dict[str, Any]:
            properties = {}
            for each in fields(cls):
                schema = dict(each.metadata["allowed"].schema)
                if each.name in excluded:
                    schema = only(each.default)
                elif each.name == "kind":
                    schema = {"enum": kinds}
                elif each.name == "keyed":
                    schema = only("keyed" in required)
                elif each.default is None and each.name not in required:
                    schema = {"oneOf": [schema, {"type": "null"}]}
                details = {"description": each.metadata["description"]}
                if each.name not in required and each.default is not None:
                    details["default"] = each.default
                properties[each.name] = schema | details
            return {
                "description": title, "type": "object", "required": list(required),
                "additionalProperties": False, "properties": properties,
            }  # fmt: skip

        ways = (
            ("", "every outcome is reported", (), {"silence", "after", "hold"}),
            ("Silent", "no outcome by the deadline means an outcome", ("silence",), {"hold"}),
            ("Held", "outcomes are learned at one age", ("hold",), {"silence", "after"}),
        )
        found = {}
        for family in families():
            kind, names = KINDS[family[0]], family
            # The kind of the default need not be named.
            named = (() if cls.kind in names else ("kind",)) + tuple(kind.requires)
            for sort, title, needed, without in ways:
                if kind.lacks & set(needed):
                    continue
                shut = kind.lacks | without
                found[f"{sort}{kind.model}Stream"] = stream(
                    names, f"{kind.title}, {title}", *named, *needed,
                    excluded=shut | {"keyed", "watch_keys"},
                )  # fmt: skip
                if "keyed" not in kind.lacks:
                    found[f"{sort}Keyed{kind.model}Stream"] = stream(
                        names, f"{kind.title}, {title}, by key", *named, *needed, "keyed",
                        excluded=shut,
                    )  # fmt: skip
        return found

    @classmethod
    def table(cls) -> str:
        """Return the settings as a table in Markdown, for the documentation."""
        lines = ["| setting | default | allowed | meaning |", "|---|---|---|---|"]
        for each in fields(cls):
            default = "none" if each.default is None else f"`{json.dumps(each.default)}`"
            words, text = each.metadata["allowed"].words, each.metadata["description"]
            lines.append(f"| `{each.name}` | {default} | {words} | {text} |")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Return every setting by name."""
        return asdict(self)

    def as_text(self) -> str:
        """Return the settings as they are stored: the same text for the same settings."""
        return json.dumps(self.as_json(), sort_keys=True)

    @cached_property
    def is_timed(self) -> bool:
        """Whether deadlines are times; otherwise they count predictions, or there are none."""
        if self.silence is None and self.hold is None:
            return False
        span = self.after if self.hold is None else self.hold
        return span is None or as_span(span, "after").is_time

    @cached_property
    def wait(self) -> float | None:
        """The span from a prediction to its deadline; None if rows say it or there is none."""
        span = self.after if self.hold is None else self.hold
        return None if span is None else as_span(span, "after").length

    @cached_property
    def retention_seconds(self) -> float | None:
        """The seconds for which finished rows are kept; None for good."""
        return None if self.retention is None else as_span(self.retention, "retention").length

    @cached_property
    def of_kind(self) -> Kind:
        """What is particular to its kind."""
        return KINDS[self.kind]

    def decider(self) -> Decider | None:
        """Return a fresh decider; None if nothing is decided."""
        if self.act is None:
            return None
        allowed: Allowed = ACT
        if not any({*needed} <= {*self.act} <= {*needed, *more} for needed, more in QUESTIONS):
            raise bad_value(f"got {self.act!r:.60}", "act", allowed.words)
        try:
            return Decider(**self.act, seed=self.seed, capacity=self.capacity)
        except (TypeError, ValueError) as error:
            raise bad_value(str(error), "act", allowed.words) from None

    def monitor(self) -> Monitor:
        """Return a fresh monitor."""
        return Monitor(
            self.every, tolerance=self.tolerance, max_groups=self.groups, patience=self.capacity
        )


def only(value: Any) -> dict[str, Any]:
    """Return the JSON schema of one value; generators of clients know no boolean constants."""
    if value is None:
        return {"type": "null"}
    if isinstance(value, bool):
        return {"type": "boolean", "not": {"const": not value}}
    return {"const": value}


def families() -> list[list[str]]:
    """Return the kinds, those that differ in name alone together."""
    found: dict[type[Kind], list[str]] = {}
    for name, kind in KINDS.items():
        found.setdefault(type(kind), []).append(name)
    return list(found.values())
