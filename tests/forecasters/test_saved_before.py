"""States that calibrant 0.1 saved still load, and go on as they would have there.

The file holds, of every forecaster of the table at that time, the bytes after 500 rounds (seed 7)
and the predictions of the 100 rounds that followed.
"""

from pathlib import Path

import numpy as np
import pytest

from calibrant import forecasters
from calibrant.forecasters import rivals

STATES = np.load(Path(__file__).parents[1] / "data" / "states-0.1" / "forecasters.npz")
NAMES = [name.removesuffix(":state") for name in STATES.files if name.endswith(":state")]


def test_every_forecaster_of_that_time_is_there():
    assert len(NAMES) == 38
    assert len({name.partition("-")[0] for name in NAMES}) == 16


def test_a_zoom_of_the_rule_before_is_refused_in_words():
    with pytest.raises(ValueError, match="of another rule than this"):
        forecasters.Zoom.from_bytes(STATES["Zoom:state"].tobytes())


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Zoom"])
def test_a_state_of_before_goes_on_bit_for_bit(name):
    class_name = name.partition("-")[0]
    cls = getattr(forecasters, class_name, None) or getattr(rivals, class_name)
    forecaster = cls.from_bytes(STATES[f"{name}:state"].tobytes())
    assert (forecaster.rounds, forecaster.seed) == (500, 7)
    predictions = forecaster.run(STATES["outcomes"][500:])
    assert predictions.tolist() == STATES[f"{name}:predictions"].tolist()


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [
        ("Interval-32-1000-paper", "intervals", 32),
        ("Swap-squared", "intervals", None),
        ("FosterHart-32", "gaps", 32),
        ("AbernethyBartlettHazan-1-0.1", "gaps", 1),
        ("K29-32", "gaps", 32),
        ("K29Star-32", "gaps", 32),
        ("AOSA-32", "gaps", 32),
        ("Foster1999", "bins", 32),
        ("FosterVohra-11", "bins", 11),
    ],
)
def test_arguments_of_before_have_the_names_of_today(name, argument, value):
    class_name = name.partition("-")[0]
    cls = getattr(forecasters, class_name, None) or getattr(rivals, class_name)
    forecaster = cls.from_bytes(STATES[f"{name}:state"].tobytes())
    assert getattr(forecaster, argument) == value
    assert cls.from_bytes(forecaster.to_bytes()).to_bytes() == forecaster.to_bytes()
