"""The results of a sweep that nothing happened to."""

import pytest

from calibrant.experiments import parquet, sweep
from experiments.cases import TASKS


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """The results of a sweep that nothing happened to."""
    folder = tmp_path_factory.mktemp("undisturbed")
    sweep(TASKS, folder, workers=1)
    return (folder / parquet.NAME).read_bytes()
