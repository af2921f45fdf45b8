"""What an engine hands to a worker, and what comes back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from calibrant.experiments.tasks import Identity, Result, Task, run_task

# Handing a batch over takes about a millisecond; a crash loses the batches that were running.
ROUNDS_A_BATCH = 100_000
# Making a stream and a forecaster takes about as long as so many rounds.
ROUNDS_A_TASK = 1_000
# So many batches a worker at least, or the last ones leave workers idle.
BATCHES_A_WORKER = 8


class Job(NamedTuple):
    """A task to run, and the identity that its result must have."""

    identity: Identity
    task: Task


class Finished(NamedTuple):
    """What became of a job: its result, or the error that ended it."""

    job: Job
    result: Result | None = None
    error: str | None = None
    seconds: float = 0.0


Batch = tuple[Job, ...]


def run_batch(batch: Batch) -> list[Finished]:
    """Run the jobs of a batch; one that fails does not stop the others."""
    return [run_job(job) for job in batch]


def run_job(job: Job) -> Finished:
    """Run a task; an error is returned, not raised."""
    started = time.perf_counter()
    try:
        found = Identity.of(job.task, job.identity.measures)
        if found != job.identity:
            raise ValueError(difference(job, found))
        result = run_task(job.task, found)
    except Exception as error:  # of any kind: the other jobs go on
        reason = f"{type(error).__name__}: {error}"
        return Finished(job, error=reason, seconds=time.perf_counter() - started)
    return Finished(job, result, seconds=time.perf_counter() - started)


def difference(job: Job, found: Identity) -> str:
    """Say why this worker would give another result than the sweep expects."""
    wanted = job.identity
    if wanted.stream_parameters != found.stream_parameters:
        return f"{job.task.stream} changed while the sweep was running"
    return (
        f"the worker has calibrant {found.calibrant} and NumPy {found.numpy}, "
        f"the sweep has {wanted.calibrant} and {wanted.numpy}"
    )


def batches_of(jobs: Sequence[Job], workers: int) -> list[Batch]:
    """Return jobs in batches, those with the most rounds first; short ones together, by stream."""
    sizes = [ROUNDS_A_TASK + job.task.rounds for job in jobs]
    most = min(ROUNDS_A_BATCH, sum(sizes) / (workers * BATCHES_A_WORKER))
    batches: list[list[Job]] = []
    filled = most
    # Forecasters on the same outcomes follow each other: the outcomes are drawn once.
    for job in sorted(jobs, key=lambda job: (-job.task.rounds, job.task.stream, job.task.seed)):
        if filled >= most:
            batches.append([])
            filled = 0.0
        batches[-1].append(job)
        filled += ROUNDS_A_TASK + job.task.rounds
    return [tuple(batch) for batch in batches]
