"""The bodies of requests, for the OpenAPI document: schemas with examples."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from calibrant.service.limits import EARLIEST, LATEST, LONGEST_ID, MOST_ROWS
from calibrant.service.problems import TITLES
from calibrant.service.stream import models
from calibrant.service.stream.definition import Definition

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


PROBLEM = TypeAdapter(models.ProblemDocument).json_schema()
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
    """Return the OpenAPI of a body that FastAPI does not read itself."""
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
    Definition.schema(),
    {
        "no outcome within 30 days means 0": {"kind": "probability", "silence": 0, "after": "30d"},
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
