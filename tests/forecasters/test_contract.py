"""The contract, over every public forecaster."""

import hashlib
import inspect
import subprocess
import sys
import threading

import numpy as np
import pytest

import calibrant
import calibrant.forecasters.rivals
from calibrant import Restarting
from calibrant.forecasters import Forecaster
from calibrant.testing import check_forecaster
from forecasters.cases import random_stream
from forecasters.table import FORECASTERS, IDS

pytestmark = pytest.mark.long

every_forecaster = pytest.mark.parametrize(("cls", "arguments"), FORECASTERS, ids=IDS)
#: One row per class: its lock does not depend on its arguments.
every_class = pytest.mark.parametrize(
    ("cls", "arguments"), {cls: (cls, arguments) for cls, arguments in FORECASTERS}.values()
)


def test_the_table_names_every_public_forecaster():
    public = {
        value
        for module in (calibrant, calibrant.forecasters, calibrant.forecasters.rivals)
        for _, value in inspect.getmembers(module, inspect.isclass)
        if issubclass(value, Forecaster) and value is not Forecaster
    }
    assert public == {cls for cls, _ in FORECASTERS}


@every_forecaster
def test_contract(cls, arguments):
    check_forecaster(cls, **arguments)


DIGEST = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from forecasters.test_contract import digest_of_everything
print(digest_of_everything())
"""


def digest_of_everything():
    """Return a digest of what every forecaster predicts and saves on a few streams."""
    digest = hashlib.sha256()
    for cls, arguments in FORECASTERS:
        for number in range(5):
            forecaster = cls(**arguments, seed=number)
            digest.update(forecaster.run(random_stream(number, 5000)).tobytes())
            digest.update(forecaster.to_bytes())
    return digest.hexdigest()


def test_results_are_equal_on_two_runs_and_across_processes(request):
    here = digest_of_everything()
    assert digest_of_everything() == here
    elsewhere = subprocess.run(
        [sys.executable, "-c", DIGEST, str(request.config.rootpath / "tests")],
        capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "77"},
    )  # fmt: skip
    assert elsewhere.stdout.strip() == here


@every_class
def test_a_second_thread_is_refused_not_raced(cls, arguments):
    """While `run` works without the GIL, the same object refuses others and ends unharmed."""
    outcomes = random_stream(1, 100_000)
    shared, alone = cls(**arguments, seed=1), cls(**arguments, seed=1)
    refused = 0
    for _ in range(250):  # a busy machine may end a short run before anyone asks
        runner = threading.Thread(target=shared.run, args=(outcomes,))
        runner.start()
        while runner.is_alive():
            try:
                shared.predict()
            except RuntimeError:
                refused += 1
        runner.join()
        alone.run(outcomes)
        if refused:
            break
    assert refused > 0
    assert shared.to_bytes() == alone.to_bytes()


@every_forecaster
def test_many_outcomes_of_one_kind_stay_finite(cls, arguments):
    """Long runs of zeros and of ones neither overflow nor leave [0, 1]."""
    rounds = 300_000 if cls is Restarting else 100_000  # it needs as many with printed constants
    for outcome in (0.0, 1.0):
        forecaster = cls(**arguments, seed=0)
        predictions = forecaster.run(np.full(rounds, outcome))
        assert np.isfinite(predictions).all()
        assert ((predictions >= 0) & (predictions <= 1)).all()
        assert abs(predictions[-1000:].mean() - outcome) < 0.05
