"""The message of an event and its signature, after https://www.standardwebhooks.com."""

from __future__ import annotations

import base64
import hmac
import json
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from calibrant.service.store.records import EventRow

#: What may be miscalibrated, in words.
SIDES = {"calibrated": "calibrated probabilities", "raw": "raw scores"}


def body_of(event: EventRow, held_back: int = 0) -> bytes:
    """Return the JSON of an event: its body, an id and a sentence."""
    body: dict[str, Any] = json.loads(event.body)
    message = {"id": id_of(event), "kind": event.kind, "stream": event.stream, "at": event.at}
    message |= {"text": f"{event.stream}: {sentence(event.kind, body)}", "held_back": held_back}
    return json.dumps(message | body, separators=(",", ":")).encode()


def id_of(event: EventRow) -> str:
    """Return an id that the same event always has, and no other one."""
    return sha256(json.dumps(list(event)).encode()).hexdigest()[:32]


def sentence(kind: str, body: dict[str, Any]) -> str:
    """Return an event as a sentence."""
    match kind:
        case "episode.opened" | "episode.closed":
            state = "are miscalibrated" if kind == "episode.opened" else "are calibrated again"
            return f"the {SIDES[body['of']]} {state}. {body['episode']['text']}"
        case "key.miscalibrated":
            others = f" {body['count']:,} keys are miscalibrated." if body["count"] > 1 else ""
            key = body["key"]["text"]
            return f"the {SIDES[body['of']]} of a key are miscalibrated: {key}.{others}"
        case "key.calibrated":
            return f"the {SIDES[body['of']]} of all keys are calibrated again."
        case "outcomes.silent":
            since = f"{datetime.fromtimestamp(body['since'], UTC):%Y-%m-%d %H:%M} UTC"
            return f"predictions continue, but none made since {since} has an outcome."
        case "outcomes.back":
            return "outcomes are arriving again."
        case "pending.high":
            return (
                f"{body['waiting']:,} predictions are pending, of at most {body['capacity']:,}; "
                "beyond that the oldest expire."
            )
        case "pending.low":
            return f"{body['waiting']:,} predictions are pending, of at most {body['capacity']:,}."
    raise AssertionError(kind)


def headers_of(id_: str, timestamp: int, body: bytes, keys: tuple[bytes, ...]) -> dict[str, str]:
    """Return the headers of a message, with a signature for each key."""
    signed = b".".join((id_.encode(), str(timestamp).encode(), body))
    signatures = (
        base64.b64encode(hmac.digest(key, signed, sha256)).decode("ascii") for key in keys
    )
    return {
        "content-type": "application/json",
        "webhook-id": id_,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{each}" for each in signatures),
    }
