"""A fleet as a data frame of pages, and the fleet that a query's checkpoint holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StructType

from calibrant.fleet.fleet import Fleet
from calibrant.integrations.spark.pages import Page, Pages, from_pages, to_pages
from calibrant.integrations.spark.processor import CONTENT, NAME, STATE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Arguments of a fleet that stand in the settings of a query only where they are given.
DEADLINES = ("silence", "after", "hold")
PAGES = StructType([*NAME.fields, *CONTENT.fields])


def state_of(session: SparkSession, fleet: Fleet, settings: Mapping[str, Any]) -> DataFrame:
    """Return the pages of a fleet, which must have these arguments."""
    own = {name: getattr(fleet, name) for name in settings}
    own |= {name: each for name in DEADLINES if (each := getattr(fleet, name)) is not None}
    if own != dict(settings):
        raise ValueError(f"the fleet to start from has {own}, and the query has {dict(settings)}")
    pages: Pages = {}
    for shard in range(fleet.shards):
        pages |= to_pages(settings, shard, fleet.shard_arrays(shard))
    rows = [(*page, content) for page, content in pages.items()]
    return session.createDataFrame(rows, PAGES)


def fleet_of(state: DataFrame) -> Fleet:
    """Return the fleet whose pages a data frame holds: the state of a `recalibrate_batch`.

    All pages are collected: they must fit into the memory of the driver.

    Examples
    --------
    >>> fleet_of(history.state)["shop 17"].offset  # doctest: +SKIP
    0.41
    """
    rows = state.select(*PAGES.names).collect()
    settings, shards = from_pages(
        {Page(row.shard, row.array, row.number): bytes(row.content) for row in rows}
    )
    if not shards:
        raise ValueError("there is no page of a fleet in this state")
    return Fleet.from_shards(settings, shards)


def fleet_in(session: SparkSession, checkpoint: str) -> Fleet:
    """Return the fleet that the last committed batch of a query left in its checkpoint.

    It holds the shards that have had rows.

    Examples
    --------
    >>> fleet_in(spark, "checkpoint/").save("fleet")  # doctest: +SKIP
    """
    state = (
        session.read.format("statestore")
        .option("stateVarName", STATE)
        .load(checkpoint)
        .select("user_map_key.*", "user_map_value.*")
    )
    return fleet_of(state)
