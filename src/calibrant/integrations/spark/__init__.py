"""A fleet on Spark's Structured Streaming: one task a group, its state in pages in RocksDB.

`streaming.py` holds the two functions that users call. A row goes through `columns.py` (its shard,
nothing lost on the way to Python), `packing.py` (thousands of rows in one value), `processor.py`
(Spark's state), `task.py` (pages to fleets and back), `rows.py` (refused or played, in order of
time) and out again; `sink.py` writes it exactly once. `pages.py` cuts a shard into pages,
`state.py` makes a fleet of a query's state. Needs the extra ``spark`` and a Java runtime, version
17.
"""

try:
    import pandas as _pandas  # noqa: F401
    import pyspark as _pyspark  # noqa: F401
except ImportError as error:
    raise ImportError(
        "calibrant.integrations.spark needs pyspark and pandas: pip install 'calibrant[spark]'"
    ) from error

from calibrant.integrations.spark.sink import to_folder
from calibrant.integrations.spark.state import fleet_in, fleet_of
from calibrant.integrations.spark.streaming import (
    CONFIGURATION,
    History,
    recalibrate,
    recalibrate_batch,
)

__all__ = [
    "CONFIGURATION",
    "History",
    "fleet_in",
    "fleet_of",
    "recalibrate",
    "recalibrate_batch",
    "to_folder",
]
