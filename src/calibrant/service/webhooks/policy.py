"""Which events are sent: one alarm of a kind and stream in a window, and its end after it.

Only stored events and their times decide, so that after a restart the same ones are sent.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from calibrant.service.store.records import EventRow

#: Events that begin an alarm and events that end one, and which alarm that is. `of` in the event's
#: body is what is miscalibrated: the calibrated probabilities, or the raw scores.
BEGINS = {
    "episode.opened": "{of}",
    "key.miscalibrated": "{of}_keys",
    "outcomes.silent": "outcomes",
    "pending.high": "pending",
}
ENDS = {
    "episode.closed": "{of}",
    "key.calibrated": "{of}_keys",
    "outcomes.back": "outcomes",
    "pending.low": "pending",
}
#: The alarms: episodes of the calibrated probabilities and of the raw scores, miscalibrated keys,
#: outcomes that stopped, waiting predictions that near their bound.
ALARMS = ("calibrated", "raw", "calibrated_keys", "raw_keys", "outcomes", "pending")
#: Miscalibrated raw scores are what the service corrects: these alarms are opt-in.
DEFAULT = ("calibrated", "calibrated_keys", "outcomes", "pending")
#: When an alarm may be sent again: after the window, or as soon as the one before is over.
RESETS = ("window", "end")


class Policy(NamedTuple):
    """What the operator wants: the alarms, the window in seconds, and what ends it."""

    alarms: tuple[str, ...] = DEFAULT
    cooldown: float = 3600.0
    reset: str = "window"


class Webhooks(NamedTuple):
    """Where alarms are sent, the keys that sign them, and which they are."""

    urls: tuple[str, ...] = ()
    keys: tuple[bytes, ...] = ()
    policy: Policy = Policy()


NOWHERE = Webhooks()


@dataclass(slots=True)
class Alarm:
    """What a receiver was sent of one alarm of a stream.

    Attributes
    ----------
    quiet_until : float
        The end of the window: until then the alarm is not sent again.
    is_open : bool
        Whether its beginning was sent and its end was not.
    held : int or None
        The number of an event that was held back by the window and has not ended since: it is
        sent when the window is over.
    held_back : int
        Alarms that were held back since the last one that was sent.
    """

    quiet_until: float = 0.0
    is_open: bool = False
    held: int | None = None
    held_back: int = 0

    def begin(self, event: EventRow, policy: Policy) -> bool:
        """Take the event that begins an alarm, and return whether it is sent."""
        if event.at >= self.quiet_until:
            self.open(event.at, policy)
            return True
        self.held = event.number
        self.held_back += 1
        return False

    def end(self, policy: Policy) -> bool:
        """Take the event that ends an alarm, and return whether that is sent."""
        is_sent = self.is_open
        self.is_open, self.held = False, None
        if is_sent and policy.reset == "end":
            self.quiet_until = 0.0
        return is_sent

    def open(self, now: float, policy: Policy) -> None:
        """Begin a window."""
        self.quiet_until, self.is_open, self.held = now + policy.cooldown, True, None


class Line:
    """What a receiver was sent of one stream: its alarms, and the last event that is done."""

    def __init__(self, position: int, alarms: str = "{}") -> None:
        self.position = position
        self.alarms = {name: Alarm(**state) for name, state in json.loads(alarms).items()}

    def take(self, event: EventRow, policy: Policy) -> Alarm | None:
        """Take the next event; return its alarm if it is to be sent."""
        self.position = event.number
        name = alarm_of(event)
        if name not in policy.alarms:
            return None
        alarm = self.alarms.setdefault(name, Alarm())
        is_sent = alarm.begin(event, policy) if event.kind in BEGINS else alarm.end(policy)
        return alarm if is_sent else None

    def due(self) -> list[Alarm]:
        """Return the alarms that are held back, the earliest first."""
        held = [alarm for alarm in self.alarms.values() if alarm.held is not None]
        return sorted(held, key=lambda alarm: alarm.quiet_until)

    def as_text(self) -> str:
        """Return the alarms as they are stored."""
        return json.dumps({name: asdict(alarm) for name, alarm in self.alarms.items()})


def alarm_of(event: EventRow) -> str | None:
    """Return the alarm that an event begins or ends; that of keys ends with the last of them."""
    kinds = BEGINS | ENDS
    if event.kind not in kinds:
        return None
    body: dict[str, Any] = json.loads(event.body)
    if event.kind == "key.calibrated" and body["count"]:
        return None
    return kinds[event.kind].format_map(body)
