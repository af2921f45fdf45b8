"""The stateful processor that keeps a task in Spark's state, page by page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from calibrant.integrations.spark.packing import PACKED, pack, unpack
from calibrant.integrations.spark.pages import Page, changes
from calibrant.integrations.spark.task import Task

STATE = "pages"
NAME = StructType(
    [
        StructField("shard", IntegerType()),
        StructField("array", StringType()),
        StructField("number", IntegerType()),
    ]
)
CONTENT = StructType([StructField("content", BinaryType())])


class ShardProcessor(StatefulProcessor):
    """Read a task's pages, play the rows of a batch, write the pages that changed.

    Rows come packed, and `answered` names the columns that are packed as their answers. With
    `wait`, in seconds, a timer of the task's event time expires predictions without an outcome.
    """

    def __init__(
        self, settings: Mapping[str, Any], answered: StructType, wait: float | None = None
    ) -> None:
        self.settings, self.answered, self.wait = dict(settings), answered, wait

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Name the state."""
        self.handle = handle
        self.pages = handle.getMapState(STATE, NAME, CONTENT)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: ARG002
    ) -> Iterator[pd.DataFrame]:
        """Return the answers to the rows of one batch."""
        with self._shard() as task:
            answers = task.play(unpack(value for frame in rows for value in frame[PACKED]))
        schema = to_arrow_schema(self.answered)
        packed = pack(pa.RecordBatch.from_pandas(answers, schema, preserve_index=False))
        yield pd.DataFrame({PACKED: [packed]})

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ARG002
        timerValues: TimerValues,
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: ARG002
    ) -> Iterator[pd.DataFrame]:
        """Expire predictions whose outcomes can only come too late."""
        with self._shard() as task:
            task.expire(timerValues.getCurrentWatermarkInMs() / 1000)
        return iter([])

    def handleInitialState(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ARG002
        initialState: pd.DataFrame,
        timerValues: TimerValues,  # noqa: ARG002
    ) -> None:
        """Take over pages that history has made."""
        for page in initialState.itertuples():
            name = Page(int(page.shard), str(page.array), int(page.number))
            self.pages.updateValue(name, (bytes(page.content),))

    def close(self) -> None:
        """Do nothing: what was changed is in Spark's state."""

    @contextmanager
    def _shard(self) -> Iterator[Task]:
        """Give the task of the present group; what the body changes is written after it."""
        before = {Page(*name): bytes(content) for name, (content,) in self.pages.iterator()}
        task = Task(self.settings, before, self.wait)
        yield task
        written, removed = changes(before, task.pages())
        for page, content in written.items():
            self.pages.updateValue(page, (content,))
        for page in removed:
            self.pages.removeKey(page)
        if self.wait is not None:
            self._set_timer(task.next_deadline())

    def _set_timer(self, deadline: float | None) -> None:
        """Let the task have one timer, a millisecond after the deadline: then it has passed."""
        wanted = None if deadline is None else math.ceil(deadline * 1000) + 1
        timers = list(self.handle.listTimers())
        for timer in timers:
            if timer != wanted:
                self.handle.deleteTimer(timer)
        if wanted is not None and wanted not in timers:
            self.handle.registerTimer(wanted)
