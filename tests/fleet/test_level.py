"""The memory of a level: no key moves or is lost where single blocks end and slabs begin."""

from __future__ import annotations

import numpy as np
import pytest

from calibrant._kernels.fleet.fleet_level import Level

BLOCK = 512  # keys
SINGLE = 256  # blocks before the first slab
SLAB = 32  # blocks


def hashes(first, last):
    return np.arange(first, last, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


@pytest.mark.parametrize(
    "blocks", [SINGLE - 1, SINGLE, SINGLE + 1, SINGLE + SLAB, SINGLE + SLAB + 1]
)
def test_keys_stay_as_they_are_while_a_level_grows_and_shrinks(blocks):
    level, most = Level(0.3), blocks * BLOCK
    for first in range(0, most, 40_000):
        level.add(hashes(first, min(first + 40_000, most)))
    assert (level.keys()["hash"] == hashes(0, most)).all()
    kept = np.arange(0, most, 2)
    level.keep(kept)
    assert (level.keys()["hash"] == hashes(0, most)[kept]).all()
    level.add(hashes(most, 2 * most - len(kept)))
    assert (level.keys()["hash"][len(kept) :] == hashes(most, 2 * most - len(kept))).all()
    level.truncate(0)
    assert len(level) == 0
    level.add(hashes(0, 10))
    assert (level.keys()["hash"] == hashes(0, 10)).all()


def test_a_slab_counts_as_memory_with_its_first_block():
    level = Level(0.3)
    level.add(hashes(0, SINGLE * BLOCK))
    before = level.nbytes
    level.add(hashes(0, 1))
    assert level.nbytes - before == SLAB * BLOCK * 128
    level.add(hashes(0, SLAB * BLOCK - 1))
    assert level.nbytes - before == SLAB * BLOCK * 128
    level.truncate(SINGLE * BLOCK)
    assert level.nbytes == before
