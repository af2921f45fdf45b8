"""The stateful processor that keeps a shard in Spark's state, page by page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from calibrant.integrations.spark.pages import Page, changes
from calibrant.integrations.spark.shard import Shard

STATE = "pages"
NAME = StructType(
    [
        StructField("part", IntegerType()),
        StructField("array", StringType()),
        StructField("number", IntegerType()),
    ]
)
CONTENT = StructType([StructField("content", BinaryType())])


class ShardProcessor(StatefulProcessor):
    """Read a shard's pages, play the rows of a batch, write the pages that changed."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = dict(settings)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self.pages = handle.getMapState(STATE, NAME, CONTENT)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: ARG002
    ) -> Iterator[pd.DataFrame]:
        """Return the answers to the rows of one batch."""
        before = {Page(*name): bytes(content) for name, (content,) in self.pages.iterator()}
        shard = Shard(self.settings, before)
        answers = shard.play(pd.concat(rows, ignore_index=True))
        written, removed = changes(before, shard.pages())
        for page, content in written.items():
            self.pages.updateValue(page, (content,))
        for page in removed:
            self.pages.removeKey(page)
        yield answers

    def handleInitialState(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ARG002
        initialState: pd.DataFrame,
        timerValues: TimerValues,  # noqa: ARG002
    ) -> None:
        """Take over pages that history has made."""
        for page in initialState.itertuples():
            name = Page(int(page.part), str(page.array), int(page.number))
            self.pages.updateValue(name, (bytes(page.content),))

    def close(self) -> None:
        """Do nothing: what was changed is in Spark's state."""
