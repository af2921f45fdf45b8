"""What earlier versions saved still loads, and goes on bit for bit as it did then."""

import base64
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import calibrant

FILES = sorted((Path(__file__).parents[1] / "data").glob("states-*/recalibrator-*.json.gz"))


def test_there_are_files():
    assert len(FILES) >= 6


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name[:-8]}")
def test_a_saved_recalibrator_goes_on_as_it_did(path):
    content = json.loads(gzip.decompress(path.read_bytes()))
    cls = getattr(calibrant, content["class"])
    recalibrator = cls.from_bytes(base64.b64decode(content["bytes"]))
    assert recalibrator.pending == 5
    for number, (method, arguments, result) in enumerate(content["calls"]):
        again = getattr(recalibrator, method)(**arguments)
        assert np.array_equal(again, result), (number, method, arguments)
    assert recalibrator.rounds == 551
    assert recalibrator.pending == 4
