"""What a stream is: the settings that ``PUT /v1/streams/{name}`` takes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

from calibrant import Fleet, Monitor, Recalibrator
from calibrant._spans import as_span
from calibrant.service.limits import MOST_ROWS
from calibrant.service.problems import Problem, bad_value

CLOCKS = ("server", "told")
MOST_GROUPS, MOST_CAPACITY = 1_000_000, 5_000_000


@dataclass(frozen=True)
class Definition:
    """The settings of a stream; they never change.

    Attributes
    ----------
    kind : {"probability", "logit", "margin"}
        What the scores are, as in `Recalibrator`.
    seed : int
        Seed of the draws.
    silence, after, hold : optional
        What no news means and when, as in `Recalibrator`. Numbers count predictions, texts such as
        "30d" are time.
    groups : int
        How many groups ``by`` may name.
    capacity : int
        How many predictions may wait; the oldest expires when one more comes.
    tolerance, every : float, int
        How far off is near enough, and one false alarm in so many rounds, as in `Monitor`.
    clock : {"server", "told"}
        Rows without ``at`` get the server's time; or every row must have its own, and time passes
        only with them.
    keyed : bool
        Rows have a ``key``, and a `Fleet` learns what each key has of its own. There are no
        groups then.
    watch_keys : bool
        Of a keyed stream: each key is watched too, so that it is known which ones are off.

    Examples
    --------
    >>> Definition.from_json({"silence": 0, "after": "30d"}).is_timed
    True
    """

    kind: str = "probability"
    seed: int = 0
    silence: int | None = None
    after: float | str | None = None
    hold: float | str | None = None
    groups: int = 1000
    capacity: int = 100_000
    tolerance: float = 0.02
    every: int = 1_000_000
    clock: str = "server"
    keyed: bool = False
    watch_keys: bool = False

    @classmethod
    def from_json(cls, given: object) -> Definition:
        """Return the settings of a request, or raise a `Problem` that names the field."""
        if not isinstance(given, Mapping):
            raise Problem(422, "the settings of a stream are a JSON object")
        names = [each.name for each in fields(cls)]
        for name in given:
            if name not in names:
                raise bad_value("there is no such setting", str(name)[:100], ", ".join(names))
        settings: dict[str, Any] = {
            # In JSON, 5.0 is an integer too.
            name: int(value) if type(value) is float and value.is_integer() else value
            for name, value in given.items()
        }
        for name in ("keyed", "watch_keys"):
            if not isinstance(given.get(name, False), bool):
                raise bad_value(f"got {given[name]!r:.60}", name, "true or false")
        if given.get("watch_keys") and not given.get("keyed"):
            raise bad_value("this stream is not keyed", "watch_keys", "false, or keyed true")
        if given.get("clock", "server") not in CLOCKS:
            raise bad_value("it is one of two words", "clock", '"server" or "told"')
        try:
            definition = cls(**settings)
            definition._check()
        except (TypeError, ValueError, OverflowError) as error:
            message = str(error)
            field = next((each for each in names if message.startswith(each)), None)
            if message.startswith("max_groups"):
                field = "groups"
            raise Problem(422, message, field=field) from None
        return definition

    def _check(self) -> None:
        for name, low, high in (
            ("groups", 0, MOST_GROUPS),
            ("capacity", MOST_ROWS, MOST_CAPACITY),
        ):
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise bad_value(f"got {value!r:.60}", name, f"an integer in [{low}, {high}]")
        self.monitor()
        self.fleet() if self.keyed else self.recalibrator()

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

    def recalibrator(self) -> Recalibrator:
        """Return a fresh recalibrator."""
        return Recalibrator(
            self.kind,
            seed=self.seed,
            capacity=self.capacity,
            max_groups=self.groups,
            silence=self.silence,
            after=self.after,
            hold=self.hold,
        )

    def fleet(self) -> Fleet:
        """Return a fresh fleet, of a keyed stream."""
        return Fleet(
            self.seed,
            self.kind,
            capacity=self.capacity,
            monitor={"every": self.every, "tolerance": self.tolerance}
            if self.watch_keys
            else False,
            silence=self.silence,
            after=self.after,
            hold=self.hold,
        )

    def monitor(self) -> Monitor:
        """Return a fresh monitor."""
        return Monitor(
            self.every, tolerance=self.tolerance, max_groups=self.groups, patience=self.capacity
        )
