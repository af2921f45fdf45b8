"""Many rows as one value: a task's rows on their way to Python, and its answers on the way back.

Spark hands a stateful processor its rows one by one, a tuple each, which takes longer than all
that is done with them. So the rows of a task are packed before they are shuffled, thousands in one
value of bytes, in Arrow's stream format; so are the answers, until they are columns of Spark again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

#: The column of packed rows or answers.
PACKED = "packed"
TASK = "task"


def pack(rows: pa.RecordBatch) -> bytes:
    """Return rows as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def unpack(values: Iterable[bytes]) -> pd.DataFrame:
    """Return the rows of some packed values, those of the first value first."""
    tables = [pa.ipc.open_stream(value).read_all() for value in values]
    return pa.concat_tables(tables).to_pandas()


def pack_tasks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the rows of each batch as one value a task: for `mapInArrow`."""
    for batch in batches:
        tasks = batch.column(TASK).to_numpy()
        order = np.argsort(tasks, kind="stable")
        rows = batch.drop_columns([TASK]).take(pa.array(order))
        numbers, first = np.unique(tasks[order], return_index=True)
        sizes = np.diff(np.append(first, len(order)))
        packed = [
            pack(rows.slice(start, size))
            for start, size in zip(first.tolist(), sizes.tolist(), strict=True)
        ]
        columns = [pa.array(numbers, pa.int32()), pa.array(packed, pa.binary())]
        yield pa.RecordBatch.from_arrays(columns, names=[TASK, PACKED])


def unpack_answers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the rows of all packed values: for `mapInArrow`."""
    for batch in batches:
        for value in batch.column(PACKED):
            yield from pa.ipc.open_stream(value.as_buffer())
