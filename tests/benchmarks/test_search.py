"""The search for opponents: what it draws is playable, and it keeps what is worst for us."""

import numpy as np
import pytest

from benchmarks.routes import changed_route, outcomes_of, random_route
from benchmarks.search import FAMILIES, main, mean_error, search


@pytest.mark.parametrize("seed", range(20))
def test_routes_are_streams(seed):
    random = np.random.default_rng(seed)
    route = random_route(500, random)
    for one in (route, changed_route(route, 500, random)):
        outcomes = outcomes_of(one, 500, seed)
        assert outcomes.shape == (500,)
        assert ((outcomes >= 0) & (outcomes <= 1)).all()
        assert np.array_equal(outcomes, outcomes_of(one, 500, seed))
        if one["how"] != "exact":
            assert set(outcomes.tolist()) <= {0.0, 1.0}


def test_dithered_outcomes_have_the_means_of_their_route():
    route = random_route(2000, np.random.default_rng(3))
    means, dithered = (outcomes_of({**route, "how": how}, 2000) for how in ("exact", "dithered"))
    assert np.abs(np.cumsum(dithered - means)).max() <= 1


@pytest.mark.parametrize("name", FAMILIES)
def test_a_search_keeps_the_worst_first(name):
    family = FAMILIES[name]
    tried, best = search(family, 200, minutes=0.02, seed=1)
    assert tried >= 2
    errors = [error for error, _ in best]
    assert errors == sorted(errors, reverse=True)
    again = mean_error(family, family.ours, best[0][1], 200, range(2, 8))
    assert again == pytest.approx(errors[0])
    assert family.describe(best[0][1])


def test_the_command_prints_a_table(capsys):
    main(["--minutes", "0.01", "--rounds", "100", "--families", "safe", "route"])
    printed = capsys.readouterr().out
    assert "| rounds | family | tried | the worst |" in printed
    assert "| 100 | safe |" in printed
