"""States that releases saved still load, and go on to predict the very same numbers."""

import io
import zipfile

import numpy as np
import pytest

from played import AFTER, BEFORE, STATES, every_class

RELEASES = sorted(STATES.glob("*.zip"))
PLAYED = {each.name: each for each in every_class(BEFORE + AFTER)}


def saved_by(release):
    with zipfile.ZipFile(release) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.stem)
def test_states_of_a_release(release):
    files = saved_by(release)
    names = [name.removesuffix(".state") for name in files if name.endswith(".state")]
    assert len(names) > 30
    for name in names:
        player = type(PLAYED[name].make()).from_bytes(files[f"{name}.state"])
        after = PLAYED[name].play(player, BEFORE, BEFORE + AFTER)
        expected = np.load(io.BytesIO(files[f"{name}.npy"]))
        assert np.array_equal(after, expected, equal_nan=True), name


def test_every_class_that_can_be_saved_is_there():
    names = {name.removesuffix(".state") for name in saved_by(RELEASES[-1])}
    assert names >= {name for name, each in PLAYED.items() if hasattr(each.make(), "to_bytes")}
