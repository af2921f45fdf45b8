"""``--state FILE``: a recalibrator or a fleet that goes on where the last run stopped."""

from __future__ import annotations

from dataclasses import replace

from calibrant import Fleet, Recalibrator
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
    job = going_on(job, recalibrator)
    console.note(
        f"{job.state}: goes on after {recalibrator.rounds:,} predictions and "
        f"{recalibrator.learned:,} outcomes; {recalibrator.pending:,} wait"
    )
    return job, recalibrator


def begin_fleet(job: Job) -> tuple[Job, Fleet]:
    """Return the job and its fleet: the saved one if there is one, otherwise a fresh one."""
    if job.state is None or not job.state.exists():
        return job, Fleet(
            job.seed, job.kind, monitor=True, silence=job.silence, after=job.after, hold=job.hold
        )
    fleet = Fleet.load(job.state)
    job = going_on(job, fleet)
    console.note(
        f"{job.state}: goes on with {len(fleet):,} keys after {fleet.rounds:,} predictions and "
        f"{fleet.learned:,} outcomes; {fleet.pending:,} wait"
    )
    return job, fleet


def going_on(job: Job, saved: Recalibrator | Fleet) -> Job:
    """Return the job with the arguments of what was saved, or say what differs."""
    for name in ("silence", "after", "hold"):
        given, own = getattr(job, name), getattr(saved, name)
        if given is not None and str(given) != str(own):
            raise ValueError(f"{job.state} was made with {name} {own}, not {given}")
    if job.kind not in ("probability", saved.kind):
        raise ValueError(
            f"{job.state} recalibrates scores of kind {saved.kind!r}, not {job.kind!r}"
        )
    names = ("kind", "silence", "after", "hold")
    return replace(job, **{name: getattr(saved, name) for name in names})


def keep(job: Job, learner: Recalibrator | Fleet) -> None:
    """Save the recalibrator or fleet for the next run, if asked to."""
    if job.state is not None:
        learner.save(job.state)
