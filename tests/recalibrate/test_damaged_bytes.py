"""Saved recalibrators that were damaged: a ValueError or a sound recalibrator, never a crash."""

from hashlib import blake2b

import numpy as np
import pytest

from calibrant import MulticlassRecalibrator, Recalibrator
from calibrant._bytes import DIGEST


def grouped():
    random = np.random.default_rng(0)
    scores = random.random(120)
    recalibrator = Recalibrator(seed=3)
    recalibrator.run(scores, random.random(120) < scores, by=["a", "b", None] * 40)
    for id_ in range(4):
        recalibrator.predict(0.3, id=id_)
        recalibrator.predict(0.4, id=str(id_), by="a")
    recalibrator.update(1, id=0)
    recalibrator.predict(0.5, by="b")
    return recalibrator


def of_classes(mode):
    random = np.random.default_rng(0)
    rows = random.dirichlet([1, 1, 1], 60)
    recalibrator = MulticlassRecalibrator(["x", "y", 3], mode, seed=3)
    recalibrator.run(rows, random.choice(np.array(["x", "y", 3], dtype=object), 60))
    for id_ in range(4):
        recalibrator.predict(rows[id_], id=id_)
    recalibrator.update("y", id=0)
    recalibrator.predict(rows[7])
    return recalibrator


MAKERS = {
    "groups": grouped,
    "per-class": lambda: of_classes("per-class"),
    "top-label": lambda: of_classes("top-label"),
}


@pytest.fixture(params=MAKERS, scope="module")
def saved(request):
    recalibrator = MAKERS[request.param]()
    return type(recalibrator), recalibrator.to_bytes()


def flipped(blob, random):
    """Return bytes with one bit changed; every other time in the header, where words stand."""
    at = random.integers(len(blob) - DIGEST if random.random() < 0.5 else 2500)
    changed = bytearray(blob)
    changed[at] ^= 1 << random.integers(8)
    return bytes(changed)


def test_damage_is_always_found(saved):
    cls, blob = saved
    random = np.random.default_rng(1)
    damaged = [flipped(blob, random) for _ in range(300)]
    damaged += [blob[: random.integers(len(blob))] for _ in range(100)] + [blob + b"\0"]
    for each in damaged:
        with pytest.raises(ValueError, match="saved"):
            cls.from_bytes(each)


def test_even_with_a_checksum_that_fits_nothing_crashes(saved):
    """What is accepted can be used: every waiting outcome is told, and it saves again."""
    cls, blob = saved
    random = np.random.default_rng(2)
    taken = refused = 0
    for _ in range(400):
        content = flipped(blob, random)[:-DIGEST]
        try:
            recalibrator = cls.from_bytes(content + blake2b(content, digest_size=DIGEST).digest())
        except ValueError:
            refused += 1
            continue
        taken += 1
        several = isinstance(recalibrator, MulticlassRecalibrator)
        label = recalibrator.classes[0] if several else 1
        for id_ in recalibrator._book.ids:
            recalibrator.update(label, id=id_)
        said = recalibrator.predict([0.2, 0.3, 0.5] if several else 0.4)
        recalibrator.update(label)
        assert np.all((np.asarray(said) >= 0) & (np.asarray(said) <= 1))
        assert cls.from_bytes(recalibrator.to_bytes()).pending == recalibrator.pending == 0
    assert taken > 50 < refused
