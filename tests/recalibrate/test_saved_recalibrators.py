"""What earlier versions saved still loads, and goes on as it did then.

The safe stage has another threshold and other weights than in 0.1. So where a bias is close to
what chance explains, another point of the grid may be predicted. Outcomes that come late count less
in the weights than they did. All else is the same bit for bit.
Groups, and so classes by their top label, begin to learn from one another, very little at first.
"""

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
    moved = []
    for number, (method, arguments, result) in enumerate(content["calls"]):
        again = getattr(recalibrator, method)(**arguments)
        if not np.array_equal(again, result):
            assert method == "predict", (number, method, arguments)
            moved.append(np.abs(np.subtract(again, result)).max())
    assert len(moved) <= 8
    assert max(moved, default=0.0) < 0.1
    assert recalibrator.rounds == 551
    assert recalibrator.pending == 4
