"""A Ray cluster: a running one, or one on this machine for the time of the sweep."""

from __future__ import annotations

import logging
import os
import socket
from collections import deque
from collections.abc import Generator, Sequence
from types import ModuleType
from typing import Any

from calibrant._checks import check_integer
from calibrant.experiments.engines.batches import Batch, Finished, Job, batches_of, run_batch

# Ray runs a batch again when its worker or its machine dies, so many times.
RETRIES = 5


class RayEngine:
    """A Ray cluster, on which every batch runs on one CPU.

    It joins the cluster that ``RAY_ADDRESS`` names or that runs on this machine, or else starts
    one here and ends it afterwards. A connection that the caller has made already is used and
    left as it is. calibrant must be installed on every machine, and a stream from a file must be
    there under the same path.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._asked = None if workers is None else check_integer("workers", workers, 1, 100_000)
        self._ray = import_ray()
        self.workers = 1

    def run(self, jobs: Sequence[Job]) -> Generator[list[Finished]]:
        """Run jobs; yield what became of those of each batch as it is done."""
        ray, mine = self._ray, not self._ray.is_initialized()
        if mine:
            connect(ray, self._asked)
        running: dict[Any, Batch] = {}
        try:
            self.workers = self._asked or max(1, int(ray.cluster_resources().get("CPU", 1)))
            # By default twice as many as can run, so that no CPU waits for this process.
            most = self._asked or 2 * self.workers
            waiting = deque(batches_of(jobs, self.workers))
            remote = ray.remote(num_cpus=1, max_retries=RETRIES)(run_batch)
            while waiting or running:
                while waiting and len(running) < most:
                    batch = waiting.popleft()
                    running[remote.remote(batch)] = batch
                done, _ = ray.wait(list(running))
                for reference in done:
                    batch = running.pop(reference)
                    try:
                        finished: list[Finished] = ray.get(reference)
                    except ray.exceptions.RayError as error:
                        reason = f"the worker died of it ({str(error).splitlines()[0]})"
                        finished = [Finished(job, error=reason) for job in batch]
                    yield finished
        finally:
            for reference in running:
                ray.cancel(reference, force=True)
            if mine:
                ray.shutdown()


def connect(ray: ModuleType, workers: int | None) -> None:
    """Join the cluster that there is, or start one on this machine; quietly."""
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    address = os.environ.get("RAY_ADDRESS")
    try:
        if address:
            check_reachable(address)
        ray.init(address=address or "auto", **quiet)
    except ConnectionError:
        if address:
            raise ValueError(f"there is no Ray cluster at RAY_ADDRESS={address}") from None
        ray.init(address="local", num_cpus=workers, include_dashboard=False, **quiet)


def check_reachable(address: str) -> None:
    """Raise ConnectionError if nothing listens there; Ray would notice only after minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        try:
            socket.create_connection((host, int(port)), timeout=10).close()
        except OSError as error:
            raise ConnectionError(str(error)) from None


def import_ray() -> ModuleType:
    """Return ray, or say how to install it."""
    # Against a warning about a default that will change, and against usage reports.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray  # noqa: PLC0415 - heavy, and seldom used
    except ImportError:
        raise ImportError("sweeps on a cluster need Ray: pip install 'calibrant[ray]'") from None
    module: ModuleType = ray
    return module
