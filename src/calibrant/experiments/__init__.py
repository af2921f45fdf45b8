"""Sweeps and the paper's table, with one model of results.

A `Task` is one forecaster on one stream, with a number of rounds and a seed; `measure_task` runs it
and returns a `Result`, and `plan` lists the tasks of a comparison (`tasks`). `sweep` runs many of
them in parallel, on an engine, with a journal that survives a crash, and writes
``results.parquet`` (`sweeps`, `engines`, `journal`, `parquet`). `read_results` returns them as
`Results`, from which `calibrant compare` and the report take their means, spreads and ranking
(`results`). `groups` has the default forecasters and streams of a comparison.

The paper's Table 1 is based on these: `reproduce` (`reproduction`) uses its rows and worlds
(`table1`), the sizes at which a row can be visible (`visibility`) and the growth of errors
(`fits`), and returns a `Claim` for every `Row` (`claims`).

Read `tasks`, `results` and `sweeps` first, in this order; then `reproduction`. Users only need the
names of this package, not its modules.
"""

from calibrant.experiments.claims import Claim, read_claims
from calibrant.experiments.parquet import read_results
from calibrant.experiments.reproduction import SIZES as SIZES
from calibrant.experiments.reproduction import Size, reproduce
from calibrant.experiments.results import MeanAndSpread, Results
from calibrant.experiments.sweeps import ENGINES as ENGINES
from calibrant.experiments.sweeps import Progress, SweepError, sweep
from calibrant.experiments.table1 import ROWS as ROWS
from calibrant.experiments.table1 import Row
from calibrant.experiments.tasks import DEFAULT_MEASURES as DEFAULT_MEASURES
from calibrant.experiments.tasks import TASK_MEASURES as TASK_MEASURES
from calibrant.experiments.tasks import Result, Task, measure_task, plan

__all__ = [
    "Claim",
    "MeanAndSpread",
    "Progress",
    "Result",
    "Results",
    "Row",
    "Size",
    "SweepError",
    "Task",
    "measure_task",
    "plan",
    "read_claims",
    "read_results",
    "reproduce",
    "sweep",
]
