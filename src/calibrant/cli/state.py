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
        return job, Recalibrator(
            job.kind, seed=job.seed, silence=job.silence, after=job.after, hold=job.hold
        )
    recalibrator = Recalibrator.load(job.state)
    for name in ("silence", "after", "hold"):
        given, saved = getattr(job, name), getattr(recalibrator, name)
        if given is not None and str(given) != str(saved):
            raise ValueError(f"{job.state} was made with {name} {saved}, not {given}")
    if job.kind not in ("probability", recalibrator.kind):
        raise ValueError(
            f"{job.state} recalibrates scores of kind {recalibrator.kind!r}, not {job.kind!r}"
        )
    console.note(
        f"{job.state}: goes on after {recalibrator.rounds:,} predictions and "
        f"{recalibrator.learned:,} outcomes; {recalibrator.pending:,} wait"
    )
    saved = {name: getattr(recalibrator, name) for name in ("kind", "silence", "after", "hold")}
    return replace(job, **saved), recalibrator


def keep(job: Job, recalibrator: Recalibrator) -> None:
    """Save the recalibrator for the next run, if asked to."""
    if job.state is not None:
        recalibrator.save(job.state)
