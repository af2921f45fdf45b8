"""Sweeps and the paper's table, with one model of results.

A `Task` is one forecaster on one stream, for so many rounds, with one seed; `measure_task` runs it
and gives a `Result`, and `plan` lists the tasks of a comparison (`tasks`). `sweep` runs many of
them in parallel, on an engine, through a journal that survives a crash, and leaves
``results.parquet`` (`sweeps`, `engines`, `journal`, `parquet`). `read_results` gives them back as
`Results`, from which `calibrant compare` and the report take their means, spreads and ranking
(`results`). `groups` has the default forecasters and streams of a comparison.

The paper's Table 1 stands on that: its rows and worlds (`table1`), the sizes at which a row can
show (`visibility`) and how an error grows (`fits`) make `reproduce` (`reproduction`), which gives a
`Claim` for every `Row` (`claims`).

Read `tasks`, `results` and `sweeps` first, in this order; then `reproduction`. Users need the names
of this package alone, not its modules.
"""

from calibrant.experiments.claims import Claim as Claim
from calibrant.experiments.claims import read_claims as read_claims
from calibrant.experiments.parquet import read_results as read_results
from calibrant.experiments.reproduction import SIZES as SIZES
from calibrant.experiments.reproduction import Size as Size
from calibrant.experiments.reproduction import reproduce as reproduce
from calibrant.experiments.results import MeanAndSpread as MeanAndSpread
from calibrant.experiments.results import Results as Results
from calibrant.experiments.sweeps import ENGINES as ENGINES
from calibrant.experiments.sweeps import Progress as Progress
from calibrant.experiments.sweeps import SweepError as SweepError
from calibrant.experiments.sweeps import sweep as sweep
from calibrant.experiments.table1 import ROWS as ROWS
from calibrant.experiments.table1 import Row as Row
from calibrant.experiments.tasks import DEFAULT_MEASURES as DEFAULT_MEASURES
from calibrant.experiments.tasks import TASK_MEASURES as TASK_MEASURES
from calibrant.experiments.tasks import Result as Result
from calibrant.experiments.tasks import Task as Task
from calibrant.experiments.tasks import measure_task as measure_task
from calibrant.experiments.tasks import plan as plan
