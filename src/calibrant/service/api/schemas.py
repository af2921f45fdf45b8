"""The OpenAPI document: the bodies of requests with examples, and what FastAPI does not add."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from calibrant.service.api.gate import PROBES
from calibrant.service.limits import EARLIEST, LATEST, LONGEST_ID, MOST_ROWS, NAME
from calibrant.service.problems import TITLES
from calibrant.service.stream import models
from calibrant.service.stream.definition import CHANGEABLE, KINDS, Definition, families

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


def row_of(needed: list[str], fields: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a row."""
    return {
        "type": "object", "required": needed, "additionalProperties": False, "properties": fields
    }  # fmt: skip


#: One kind of each family: rows differ by family alone.
OF_FAMILIES = [KINDS[names[0]] for names in families()]
PREDICTIONS = {
    f"{kind.model}Row": row_of(
        sorted(kind.needed),
        {"id": ID, **kind.fields, "by": NAMED, "key": KEY, "at": TIME, "due": TIME},
    )
    for kind in OF_FAMILIES
}
OUTCOME = row_of(
    ["id", "outcome"],
    {"id": ID, "outcome": {"anyOf": [kind.outcome for kind in OF_FAMILIES]}, "at": TIME},
)
SETTINGS = Definition.schemas()
CHANGES = {
    "type": "object", "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "pattern": f"^{NAME}$"},
        **{name: Definition.schema_of(name) for name in CHANGEABLE},
    },
}  # fmt: skip
#: What FastAPI does not know of, by the name that it has in the document.
COMPONENTS = {
    "Problem": TypeAdapter(models.ProblemDocument).json_schema(),
    "OutcomeRow": OUTCOME,
    "StreamChanges": CHANGES,
    **PREDICTIONS,
    **SETTINGS,
}


def reference(name: str) -> dict[str, str]:
    """Return what stands for a component."""
    return {"$ref": f"#/components/schemas/{name}"}


#: What may be wrong with any request.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": title,
        "content": {"application/problem+json": {"schema": reference("Problem")}},
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


def one_or_many(*names: str) -> dict[str, Any]:
    """Return the schema of a row or of a list of rows, each of one of these sorts."""
    rows = [reference(name) for name in names]
    each = rows[0] if len(rows) == 1 else {"oneOf": rows}
    many = {"type": "array", "items": each, "minItems": 1, "maxItems": MOST_ROWS}
    return {"oneOf": [*rows, many]}


def completed(document: dict[str, Any]) -> dict[str, Any]:
    """Add the components of bodies and problems to a document, and how a token is sent."""
    components = document["components"]
    components["schemas"] = dict(sorted((components["schemas"] | COMPONENTS).items()))
    components["securitySchemes"] = {
        "token": {
            "type": "http", "scheme": "bearer",
            "description": "A token of `calibrant token new`. While there is none, only this "
            "machine is served, without a token.",
        }
    }  # fmt: skip
    for path, methods in document["paths"].items():
        for operation in methods.values():
            operation["security"] = [] if path in PROBES else [{"token": []}]
    return document


PUT_STREAM = body(
    {"oneOf": [reference(name) for name in SETTINGS]},
    {
        "no outcome within 30 days means 0": {"kind": "probability", "silence": 0, "after": "30d"},
        "a million keys": {"keyed": True, "watch_keys": True},
        "three classes": {"kind": "classes", "classes": ["low", "medium", "high"]},
        "a demand, known a day later": {"kind": "number", "bounds": [0, None], "hold": "1d"},
    },
    required=False,
)
PATCH_STREAM = body(reference("StreamChanges"), {"a year": {"retention": "365d"}})
POST_PREDICTIONS = body(
    one_or_many(*PREDICTIONS),
    {
        "rows": [{"id": "order 17", "score": 0.83, "by": "web"}, {"id": "order 18", "score": 0.12}],
        "a row of a keyed stream": {"id": "order 19", "score": 0.5, "key": "shop 4"},
        "three classes": {"id": "ticket 3", "scores": [0.7, 0.2, 0.1]},
        "a number": {"id": "tuesday 9:00", "forecast": 1900.0},
    },
)
POST_OUTCOMES = body(one_or_many("OutcomeRow"), {"a row": {"id": "order 17", "outcome": 1}})
