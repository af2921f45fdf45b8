"""The index of keys and a dict: time and bytes per key. ``python -m benchmarks.keys``."""

import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks import machine
from calibrant._kernels.fleet.key_batch import checked_keys
from calibrant._kernels.fleet.keys import KeyIndex


def nanoseconds(work: Callable[[], object], keys: int, times: int = 3) -> float:
    """Return the processor's time per key, the best of a few runs."""
    best = np.inf
    for _ in range(times):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return 1e9 * best / keys


def dict_bytes(known: dict) -> float:
    return sys.getsizeof(known) + sum(map(sys.getsizeof, known)) + 32 * len(known)


def measure(name: str, keys: list, asked: int) -> None:
    """Print what adding all keys and asking for some of them, at random, takes."""
    rng = np.random.default_rng(1)
    batch, index = checked_keys(keys), KeyIndex()
    add = nanoseconds(lambda: index.slots(batch, add=True), len(keys), times=1)
    wanted = [keys[i] for i in rng.integers(0, len(keys), asked).tolist()]
    known = {key: slot for slot, key in enumerate(keys)}
    look = nanoseconds(lambda: index.slots(checked_keys(wanted)), asked)
    resolved = checked_keys(wanted)
    alone = nanoseconds(lambda: index.slots(resolved), asked)
    other = nanoseconds(lambda: [known[key] for key in wanted], asked)
    print(
        f"{len(keys):,} {name}: add {add:.0f} ns; look up {alone:.0f} ns, from a list {look:.0f} "
        f"ns, a dict {other:.0f} ns ({other / alone:.1f} times); {index.nbytes / len(keys):.0f} "
        f"bytes a key, a dict {dict_bytes(known) / len(keys):.0f}"
    )


def main() -> None:
    print(machine.describe())
    for size in (10**4, 10**6):
        rng = np.random.default_rng(0)
        measure("integers", rng.integers(-(2**63), 2**63 - 1, size).tolist(), 10**6)
        measure("strings", [f"customer-{i}" for i in range(size)], 10**6)


if __name__ == "__main__":
    main()
