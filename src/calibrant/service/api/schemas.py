"""What bodies look like, for the OpenAPI document: schemas with examples."""

from __future__ import annotations

from typing import Any

from calibrant.service.limits import EARLIEST, LATEST, LONGEST_ID, MOST_ROWS
from calibrant.service.problems import TITLES

ID = {
    "oneOf": [
        {"type": "string", "minLength": 1, "maxLength": LONGEST_ID, "pattern": r"^[^\u0000]+$"},
        {"type": "integer", "minimum": -(2**53), "maximum": 2**53},
    ]
}
NAMED = {"oneOf": [*ID["oneOf"], {"type": "null"}]}
KEY = {
    "oneOf": [
        {"type": "string", "minLength": 1, "maxLength": LONGEST_ID, "pattern": r"^[^\u0000]+$"},
        {"type": "integer", "format": "int64", "minimum": -(2**63), "maximum": 2**63 - 1},
    ],
    "description": "In a keyed stream, and only there: integers, or text, never both.",
}
TIME = {
    "oneOf": [
        {"type": "number", "minimum": EARLIEST, "maximum": LATEST},
        {"type": "string", "format": "date-time"},
        {"type": "null"},
    ],
    "description": "Seconds since 1970, or ISO 8601; without a zone in UTC.",
}
SPAN = {
    "oneOf": [
        {"type": "number", "minimum": 1, "maximum": 1e9},
        {"type": "string", "pattern": r"^[1-9][0-9]{0,5}(w|d|h|min|s)$"},
    ],
    "description": 'A number counts predictions; "30d", "12h", "90min" are time.',
}
SETTINGS: dict[str, Any] = {
    "kind": {"enum": ["probability", "logit", "margin"], "default": "probability"},
    "seed": {"type": "integer", "minimum": 0, "maximum": 2**53, "default": 0},
    "groups": {"type": "integer", "minimum": 0, "maximum": 10_000, "default": 1000},
    "capacity": {"type": "integer", "minimum": 10_000, "maximum": 5_000_000},
    "tolerance": {"type": "number", "minimum": 0, "maximum": 0.4999, "default": 0.02},
    "every": {"type": "integer", "minimum": 100, "maximum": 10**15, "default": 1_000_000},
    "clock": {"enum": ["server", "told"], "default": "server"},
    "keyed": {"enum": [False], "default": False},
}
KEYED: dict[str, Any] = {
    "keyed": {"enum": [True], "description": "Every prediction has a key."},
    "watch_keys": {"type": "boolean", "default": False, "description": "Which keys are off?"},
}


def stream_of(title: str, required: list[str], **own: Any) -> dict[str, Any]:
    """Return the schema of the settings of one sort of stream."""
    return {
        "title": title,
        "type": "object",
        "required": required,
        "additionalProperties": False,
        "properties": SETTINGS | own,
    }


#: When outcomes are learned: what such a stream needs, and may have.
LEARNING: dict[str, tuple[list[str], dict[str, Any]]] = {
    "every outcome is announced": ([], {}),
    "no news means an outcome": (
        ["silence"],
        {
            "silence": {"enum": [0, 1], "description": "The outcome that is not announced."},
            "after": SPAN,
        },
    ),
    "outcomes are learned at one age": (["hold"], {"hold": SPAN}),
}
DEFINITION: dict[str, Any] = {
    "oneOf": [
        *(stream_of(title, needs, **own) for title, (needs, own) in LEARNING.items()),
        *(
            stream_of(f"{title}, by key", [*needs, "keyed"], **own, **KEYED)
            for title, (needs, own) in LEARNING.items()
        ),
    ]
}
PREDICTION: dict[str, Any] = {
    "type": "object",
    "required": ["id", "score"],
    "additionalProperties": False,
    "properties": {
        "id": ID,
        "score": {"type": "number", "description": "In [0, 1] for probabilities."},
        "by": NAMED,
        "key": KEY,
        "at": TIME,
        "due": TIME,
    },
}
OUTCOME: dict[str, Any] = {
    "type": "object",
    "required": ["id", "outcome"],
    "additionalProperties": False,
    "properties": {
        "id": ID,
        "outcome": {"oneOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "boolean"}]},
        "at": TIME,
    },
}


PROBLEM: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "field": {"type": "string"},
        "allowed": {"type": "string"},
        "row": {"type": "integer", "minimum": 0},
    },
}
#: What may be wrong with any request.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": title,
        "content": {"application/problem+json": {"schema": PROBLEM}},
    }
    for status, title in TITLES.items()
}


def body(
    schema: dict[str, Any], examples: dict[str, Any], *, required: bool = True
) -> dict[str, Any]:
    """Return what FastAPI is told of a body that it does not read itself."""
    named = {name: {"value": value} for name, value in examples.items()}
    return {
        "requestBody": {
            "required": required,
            "content": {"application/json": {"schema": schema, "examples": named}},
        }
    }


def one_or_many(row: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a row or of a list of rows."""
    many = {"type": "array", "items": row, "minItems": 1, "maxItems": MOST_ROWS}
    return {"oneOf": [row, many]}


PUT_STREAM = body(
    DEFINITION,
    {
        "no news is an outcome": {"kind": "probability", "silence": 0, "after": "30d"},
        "a million keys": {"keyed": True, "watch_keys": True},
    },
    required=False,
)
POST_PREDICTIONS = body(
    one_or_many(PREDICTION),
    {
        "rows": [{"id": "order 17", "score": 0.83, "by": "web"}, {"id": "order 18", "score": 0.12}],
        "a row of a keyed stream": {"id": "order 19", "score": 0.5, "key": "shop 4"},
    },
)
POST_OUTCOMES = body(one_or_many(OUTCOME), {"a row": {"id": "order 17", "outcome": 1}})
