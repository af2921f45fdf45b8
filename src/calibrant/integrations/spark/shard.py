"""A shard: some parts of a fleet, read from pages, played, and written as pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from calibrant.fleet.fleet import Fleet
from calibrant.integrations.spark.pages import Page, Pages, from_pages, to_pages
from calibrant.integrations.spark.rows import play


class Shard:
    """The parts that some pages hold, each as a fleet of its own: parts share nothing."""

    def __init__(self, settings: Mapping[str, Any], pages: Mapping[Page, bytes]) -> None:
        self.settings = dict(settings)
        saved, parts = from_pages(pages)
        if parts and saved != self.settings:
            raise ValueError(
                f"the state was made with {saved}, and the query has {self.settings}: a query goes "
                "on with the arguments that it began with"
            )
        self.fleets = {
            part: Fleet.from_parts(self.settings, {part: arrays}) for part, arrays in parts.items()
        }

    def play(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Play rows through the fleets of their parts; return the answers."""
        return pd.concat(
            [play(self._fleet(int(part)), own) for part, own in rows.groupby("part")],
            ignore_index=True,
        )

    def _fleet(self, part: int) -> Fleet:
        if part not in self.fleets:
            arrays = Fleet(**self.settings).part_arrays(part)
            self.fleets[part] = Fleet.from_parts(self.settings, {part: arrays})
        return self.fleets[part]

    def pages(self) -> Pages:
        """Return the pages of all parts as they are now."""
        pages: Pages = {}
        for part, fleet in self.fleets.items():
            pages |= to_pages(self.settings, part, fleet.part_arrays(part))
        return pages
