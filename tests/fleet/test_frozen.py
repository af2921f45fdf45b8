"""A frozen fleet is that of the moment, while the fleet goes on."""

import numpy as np
import pytest

from calibrant import Fleet


@pytest.mark.parametrize("names", [int, "shop {}".format], ids=["integers", "text"])
@pytest.mark.parametrize("monitor", [False, True], ids=["plain", "watched"])
def test_what_was_frozen_does_not_change(names, monitor):
    random = np.random.default_rng(1)

    def play(rows, keys):
        named = [names(key) for key in random.integers(0, keys, rows)]
        fleet.run(named, random.random(rows), random.random(rows) < 0.3)

    fleet = Fleet(3, monitor=monitor)
    play(4000, 8)  # many outcomes a key: some have curves of their own
    fleet.predict_many([names(1), names(900)], [0.4, 0.5], ids=["a", "b"])
    before = fleet.to_bytes()
    frozen = fleet.frozen()
    assert frozen() == before
    fleet.update_many([1], ids=["a"])
    play(4000, 5000)
    assert fleet.to_bytes() != before
    assert frozen() == before
    assert Fleet.from_bytes(before).to_bytes() == before
