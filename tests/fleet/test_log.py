"""Tables through a fleet: what chunks there are does not matter, and late outcomes stay late."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from calibrant import Fleet
from calibrant.fleet.frames import recalibrate_frame
from calibrant.fleet.log import Log
from calibrant.tables import InputError, read

COLUMNS = {"key": "k", "score": "s", "outcome": "y"}
CLOCKS = {"time": "t", "available": "a"}


def frame(size: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    t = np.sort(rng.integers(0, size // 2, size)).astype(float)  # many at the same time
    s = rng.random(size)
    y = (rng.random(size) < s**2).astype(float)
    a = t + rng.integers(0, 60, size)
    a[rng.random(size) < 0.1] = np.nan  # never known
    y[rng.random(size) < 0.05] = np.nan
    return pd.DataFrame({"k": rng.integers(0, 30, size), "s": s, "y": y, "t": t, "a": a})


def one_by_one(rows: pd.DataFrame, fleet: Fleet) -> list[float]:
    """Each row is predicted from what was available before its time, by definition.

    What becomes known later than the last row goes on waiting.
    """
    predicted, open_ = [], []
    for number, row in enumerate(rows.itertuples()):
        open_.sort()
        while open_ and open_[0][0] < row.t:
            _, id_, y = open_.pop(0)
            assert fleet.update_many([y], ids=[id_]).tolist() == ["applied"]
        comes = not np.isnan(row.y) and not np.isnan(row.a)
        ids = [number] if comes else None
        predicted.append(fleet.predict_many([int(row.k)], [row.s], ids=ids, at=row.t)[0])
        if comes:
            open_.append((row.a, number, row.y))
    return predicted


@pytest.mark.parametrize("cuts", [[], [1, 200, 201, 390]])
def test_late_outcomes_are_learned_when_they_were_known_whatever_the_chunks(cuts):
    rows = frame(600)
    twin, fleet = Fleet(seed=5), Fleet(seed=5)
    expected = one_by_one(rows, twin)
    log = Log(fleet, **COLUMNS, **CLOCKS)
    pieces = np.split(np.arange(len(rows)), cuts)
    played = [log.play(read(rows.iloc[own])) for own in pieces]
    late, waiting = log.finish()
    assert np.concatenate([each.predictions for each in played]).tolist() == expected
    assert fleet.learned == twin.learned
    assert (fleet.expected(range(30), [0.4] * 30) == twin.expected(range(30), [0.4] * 30)).all()
    assert fleet.pending == twin.pending == late == len(waiting.outcomes) > 0
    # Every outcome that ever becomes known is measured once.
    measured = [each.judged for each in played] + [waiting]
    known = rows.dropna()
    found = np.concatenate([np.stack(each) for each in measured], axis=1)
    wanted = np.stack([known["s"], np.array(expected)[known.index], known["y"]])
    assert sorted(found.T.tolist()) == sorted(wanted.T.tolist())


@pytest.mark.parametrize("cuts", [[], [7, 300]])
def test_outcomes_without_clocks_are_known_to_the_next_row(cuts):
    rows = frame(500)
    fleet, other = Fleet(), Fleet()
    log = Log(fleet, **COLUMNS)
    predicted = [log.play(read(rows.iloc[own]))[0] for own in np.split(np.arange(500), cuts)]
    assert (np.concatenate(predicted) == other.run(rows["k"], rows["s"], rows["y"])).all()
    late, waiting = log.finish()
    assert late == len(waiting.outcomes) == 0


def test_wrong_rows_are_named_and_nothing_is_learned():
    rows = frame(50)
    fleet = Fleet()
    log = Log(fleet, **COLUMNS, **CLOCKS)
    log.play(read(rows))
    before = fleet.to_bytes()
    with pytest.raises(InputError, match=r"row 1, column 't': .*before that of the row above"):
        log.play(read(rows.iloc[:10]))
    for change, words in (
        ({"k": [None, "a"]}, "row 1, column 'k': the key is missing"),
        ({"k": [1.5, 2.0]}, "row 1, column 'k': got 1.5, a key must be"),
        ({"s": [0.5, 3.0]}, "row 2, column 's'"),
    ):
        bad = pd.DataFrame({"k": [1, 2], "s": [0.5, 0.5], "y": [1, 0], "t": [999] * 2, "a": 1e9})
        with pytest.raises(InputError, match=words):
            log.play(read(bad.assign(**change)))
    assert fleet.to_bytes() == before


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_get_a_column(library):
    rows = frame(200)
    given = rows if library is pd else pl.from_pandas(rows)
    fleet = Fleet(seed=3)
    found = recalibrate_frame(given, **COLUMNS, column="p", fleet=fleet)
    assert type(found) is type(given)
    expected = Fleet(seed=3).run(rows["k"], rows["s"], rows["y"])
    assert found["p"].to_numpy().tolist() == expected.tolist()
    assert len(fleet) == rows["k"].nunique()
    ranked = recalibrate_frame(given, **COLUMNS, column="p", smooth="fine", fleet=Fleet(seed=3))
    assert ranked["p"].to_numpy().tolist() == expected.tolist()
    other, smooth = Fleet(seed=3), []
    for key, score, outcome in zip(rows["k"], rows["s"], rows["y"], strict=True):
        smooth.append(other.smooth(key, score))
        other.run([key], [score], [outcome])
    assert ranked["fine"].to_numpy().tolist() == smooth
    with pytest.raises(ValueError, match="already has a column 's'"):
        recalibrate_frame(given, **COLUMNS, column="s")
    with pytest.raises(ValueError, match="fleet must be a Fleet"):
        recalibrate_frame(given, **COLUMNS, fleet=7)
