"""``--state FILE``: a recalibrator that goes on where the last run stopped."""

from __future__ import annotations

from dataclasses import replace

from calibrant import Recalibrator
from calibrant.cli import console
from calibrant.cli.arguments import Job


def begin(job: Job) -> tuple[Job, Recalibrator]:
    """Return the job and its recalibrator: the saved one if there is one, otherwise a fresh one.

    A saved one knows of what kind its scores are.
    """
    if job.state is None or not job.state.exists():
        return job, Recalibrator(job.kind, seed=job.seed)
    recalibrator = Recalibrator.load(job.state)
    if job.kind not in ("probability", recalibrator.kind):
        raise ValueError(
            f"{job.state} recalibrates scores of kind {recalibrator.kind!r}, not {job.kind!r}"
        )
    console.note(
        f"{job.state}: goes on after {recalibrator.rounds:,} predictions and "
        f"{recalibrator.learned:,} outcomes; {recalibrator.pending:,} wait"
    )
    return replace(job, kind=recalibrator.kind), recalibrator


def keep(job: Job, recalibrator: Recalibrator) -> None:
    """Save the recalibrator for the next run, if asked to."""
    if job.state is not None:
        recalibrator.save(job.state)
