"""A task: some shards of a fleet, read from pages, played, and written as pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from calibrant.fleet.fleet import Fleet
from calibrant.integrations.spark.pages import Arrays, Page, Pages, from_pages, to_pages
from calibrant.integrations.spark.rows import play


class Task:
    """The shards that some pages hold, each as a fleet of its own: shards share nothing.

    An outcome more than `wait` seconds after its prediction is refused, whether the prediction
    still waits or not: batches do not matter.
    """

    def __init__(
        self, settings: Mapping[str, Any], pages: Mapping[Page, bytes], wait: float | None = None
    ) -> None:
        self.settings, self.wait = dict(settings), wait
        saved, shards = from_pages(pages)
        if shards and saved != self.settings:
            raise ValueError(
                f"the state was made with {saved}, and the query has {self.settings}: a query must "
                "continue with the arguments it was started with"
            )
        self.fleets = {shard: self._made(shard, arrays) for shard, arrays in shards.items()}

    def play(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Play rows through the fleets of their shards; return the answers."""
        answers = [play(self._fleet(int(shard)), own) for shard, own in rows.groupby("shard")]
        return plain_text(pd.concat(answers, ignore_index=True))

    def _fleet(self, shard: int) -> Fleet:
        if shard not in self.fleets:
            self.fleets[shard] = self._made(shard, Fleet(**self.settings).shard_arrays(shard))
        return self.fleets[shard]

    def _made(self, shard: int, arrays: Arrays) -> Fleet:
        return Fleet.from_shards(self.settings, {shard: arrays}, patience=self.wait)

    def expire(self, now: float) -> None:
        """Expire the predictions whose outcomes would come too late from now on."""
        for fleet in self.fleets.values():
            if self.wait is not None:
                fleet.expire(before=now - self.wait)

    def next_deadline(self) -> float | None:
        """Return when the first pending prediction expires, in seconds."""
        times = [time for fleet in self.fleets.values() for time in fleet.waiting().values()]
        return None if self.wait is None or not times else min(times) + self.wait

    def pages(self) -> Pages:
        """Return the pages of all shards as they are now."""
        pages: Pages = {}
        for shard, fleet in self.fleets.items():
            pages |= to_pages(self.settings, shard, fleet.shard_arrays(shard))
        return pages


def plain_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose texts are objects: Spark does not take the text columns of pandas 3."""
    texts = {name: object for name, dtype in frame.dtypes.items() if dtype == "string"}
    return frame.astype(texts)
