"""The processes of this machine."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import cast

from calibrant._checks import check_integer
from calibrant.experiments.engines.batches import Batch, Finished, Job, batches_of, run_batch

# A worker that dies is replaced. A job is abandoned after so many workers died while they had it.
DEATHS = 3
# After so many processes in a row that end while they start up, none is started any more.
FALSE_STARTS = 3
CANNOT_START = (
    "the worker processes end as soon as they are started; a script must call this under "
    "if __name__ == '__main__':, or with workers=1"
)
SPAWN = get_context("spawn")


class LocalEngine:
    """So many worker processes, one a core by default; with one worker, this process itself."""

    def __init__(self, workers: int | None = None) -> None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        self.workers = cores or 1 if workers is None else check_integer("workers", workers, 1, 1024)

    def run(self, jobs: Sequence[Job]) -> Generator[list[Finished]]:
        """Run jobs; yield what became of those of each batch as it is done."""
        batches = batches_of(jobs, self.workers)
        if self.workers == 1:
            yield from map(run_batch, batches)
            return
        waiting, losses = deque(batches), Losses()
        workers: dict[Connection, Worker] = {}
        try:
            while waiting or workers:
                while waiting and len(workers) < self.workers:
                    worker = Worker()
                    workers[worker.pipe] = worker
                    worker.give(waiting.popleft())
                for pipe in cast(list[Connection], wait(list(workers))):
                    worker = workers[pipe]
                    finished = worker.take()
                    if finished is None:
                        del workers[pipe]
                        again, given_up = losses.count(worker)
                        waiting.extendleft(reversed(again))
                        yield given_up
                        continue
                    if not worker.begun:
                        worker.begun, losses.false_starts = True, 0
                        continue
                    if waiting:
                        worker.give(waiting.popleft())
                    else:
                        del workers[pipe]
                        worker.stop()
                    yield finished
        finally:
            for worker in workers.values():
                worker.stop()


class Losses:
    """Workers that died, and what becomes of their batches."""

    def __init__(self) -> None:
        self.deaths = Counter[Job]()
        self.false_starts = 0  # workers in a row that died before they could say anything

    def count(self, worker: Worker) -> tuple[list[Batch], list[Finished]]:
        """Count a worker that died; return what is to be run again, and what is abandoned."""
        code = worker.stop()
        if not worker.begun:
            self.false_starts += 1
            if self.false_starts == FALSE_STARTS:
                raise ChildProcessError(CANNOT_START)
            return [worker.batch], []
        self.deaths.update(worker.batch)
        # One by one, so that only the job that kills workers is abandoned.
        again: list[Batch] = [(job,) for job in worker.batch if self.deaths[job] < DEATHS]
        reason = f"the process died of it (exit code {code})"
        lost = [job for job in worker.batch if self.deaths[job] >= DEATHS]
        return again, [Finished(job, error=reason) for job in lost]


class Worker:
    """A process that runs batches until its pipe is closed."""

    def __init__(self) -> None:
        self.batch: Batch = ()
        self.begun = False  # whether it has sent anything yet
        self.pipe, other = SPAWN.Pipe()
        self._process = SPAWN.Process(target=work, args=(other,), daemon=True)
        with interrupts_ignored():
            self._process.start()
        other.close()

    def give(self, batch: Batch) -> None:
        """Hand over a batch; if the worker is dead already, `take` notices."""
        self.batch = batch
        with suppress(OSError):
            self.pipe.send(batch)

    def take(self) -> list[Finished] | None:
        """Return what the worker has finished, or None if it died."""
        try:
            finished: list[Finished] = self.pipe.recv()
        except (EOFError, OSError):
            return None
        return finished

    def stop(self) -> int | None:
        """End the process at once; return its exit code."""
        self.pipe.close()
        self._process.join(0.05)  # one that is dead or idle ends with its own exit code
        self._process.terminate()
        self._process.join()
        return self._process.exitcode


@contextmanager
def interrupts_ignored() -> Iterator[None]:
    """Let a process that starts here ignore Ctrl-C, which this process handles."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def work(pipe: Connection) -> None:
    """Run what comes through a pipe until either end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        pipe.send([])
        while True:
            pipe.send(run_batch(pipe.recv()))
