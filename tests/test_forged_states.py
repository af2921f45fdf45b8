"""Saved states that a hostile hand changed; ``python -m benchmarks forged`` tries 30,000."""

from hashlib import blake2b

import numpy as np
import pytest

from benchmarks.forged import count_verdicts, parts_of, saved_states, sealed, verdict
from calibrant import MulticlassRecalibrator, Recalibrator, Zoom
from calibrant._bytes import DIGEST
from calibrant.forecasters.rivals import FosterHart, RunningMean
from calibrant.measures import Scorecard

pytestmark = pytest.mark.long

BLOBS = 2500


def test_forged_states_are_refused_or_can_be_played():
    verdicts = count_verdicts(BLOBS, seed=1)
    assert set().union(*verdicts.values()) == {"refused", "taken"}
    assert all(counted["refused"] > 10 for counted in verdicts.values())


def labelled():
    """Return a saved recalibrator of classes with names, some of its rounds still open."""
    random, labels = np.random.default_rng(0), np.array(["x", "y", 3], dtype=object)
    recalibrator = MulticlassRecalibrator(labels.tolist(), seed=3)
    rows = random.dirichlet([1, 1, 1], 60)
    recalibrator.run(rows, random.choice(labels, 60))
    for id_ in range(4):
        recalibrator.predict(rows[id_], id=id_)
    recalibrator.update("y", id=0)
    recalibrator.predict(rows[7])
    return "classes", MulticlassRecalibrator, recalibrator.to_bytes()


def test_one_bit_with_a_checksum_that_fits_crashes_nothing():
    """Every other time a bit of the header, where text stands."""
    random, found = np.random.default_rng(2), []
    with np.errstate(all="ignore"):
        for _, cls, blob in [*saved_states(), labelled()]:
            for number in range(8):
                content = bytearray(blob[:-DIGEST])
                content[
                    random.integers(min(2500, len(content)) if number % 2 else len(content))
                ] ^= 1 << random.integers(8)
                seal = blake2b(content, digest_size=DIGEST).digest()
                found.append(verdict(cls, bytes(content) + seal))
    assert {*found} == {"refused", "taken"}
    assert found.count("taken") > 100 < found.count("refused")


def test_what_was_played_is_taken():
    for name, cls, blob in saved_states():
        assert cls.from_bytes(sealed(*parts_of(blob))).to_bytes() == blob, name


def played(cls, *args, **kwargs):
    player = cls(*args, **kwargs)
    outcomes = np.arange(400) % 3 == 0
    player.run(*([outcomes] if hasattr(player, "trace") else [np.full(400, 0.4), outcomes]))
    return player


@pytest.mark.parametrize(
    ("player", "name", "value"),
    [
        (played(RunningMean), "total", 1e30),
        (played(RunningMean), "total", 10**400),
        (played(Zoom), "S", 1e308),
        (played(Zoom), "R", 1e308),
        (played(Zoom), "purse", 1e308),
        (played(Recalibrator), "platt_A", 1e308),
        (played(Recalibrator), "beta_A", 1e308),
        (played(Recalibrator), "offset_A", 0.0),
        (played(Recalibrator), "N", -1e9),
        (played(Recalibrator), "lag", 1e30),
        (played(FosterHart, 8), "S", -1e30),
    ],
)
def test_a_number_that_no_run_can_reach_is_refused(player, name, value):
    header, arrays = parts_of(player.to_bytes())
    if name in header["numbers"]:
        header["numbers"][name] = value
    for (array, _, _), values in zip(header["arrays"], arrays, strict=True):
        if array == name:
            values[len(values) // 2] = value
    with pytest.raises(ValueError, match=f"saved {name}|saved .*{name}"):
        type(player).from_bytes(sealed(header, arrays))


@pytest.mark.parametrize("classes", [60_000, 10**8, 10**30])
def test_classes_are_counted_before_there_is_memory_for_them(classes):
    header, arrays = parts_of(MulticlassRecalibrator(3).to_bytes())
    header["parameters"]["classes"] = classes
    with pytest.raises(ValueError, match="class"):
        MulticlassRecalibrator.from_bytes(sealed(header, arrays))


def test_points_are_counted_before_there_is_memory_for_them():
    header, arrays = parts_of(FosterHart(8).to_bytes())
    header["parameters"]["gaps"] = 2**24
    with pytest.raises(ValueError, match="saved gaps=16777216 is more"):
        FosterHart.from_bytes(sealed(header, arrays))
    header, arrays = parts_of(Scorecard().to_bytes())
    header["parameters"]["bins"] = 2**24
    with pytest.raises(ValueError, match="as many as the 16777216 bins"):
        Scorecard.from_bytes(sealed(header, arrays))
