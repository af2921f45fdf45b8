"""The real streams: all there, all readable, all with a licence."""

from __future__ import annotations

import functools
from importlib import resources

import numpy as np
import pytest

from calibrant import streams
from calibrant.streams.bundled import bundled_table
from calibrant.tables import read

DATA = resources.files("calibrant") / "data"
load = functools.cache(streams.load)
WITHOUT_SCORES = {"quakes6h", "seattle_rain"}


@pytest.mark.parametrize("name", streams.names())
def test_every_stream_loads(name):
    stream = load(name)
    assert set(np.unique(stream.outcomes).tolist()) == {0.0, 1.0}
    assert len(stream) == len(stream.times) == len(stream.outcomes) > 8000
    assert np.all(stream.times[:-1] <= stream.times[1:])
    if name in WITHOUT_SCORES:
        assert stream.scores is None
    else:
        assert len(stream.scores) == len(stream)
    assert stream.licence in ("CC0 1.0", "CC BY 4.0", "public domain")
    assert repr(stream) == f"RealStream({name}, {len(stream)} rounds: {stream.description})"


@pytest.mark.parametrize("name", streams.names())
def test_the_short_way_reads_what_a_parser_of_any_csv_reads(name):
    with resources.as_file(DATA / f"{name}.csv.gz") as path:
        table = read(path)
    short = bundled_table(name)
    assert dict(short.columns) == dict(table.columns)
    assert list(short.lines) == list(table.lines)
    stream = load(name)
    assert stream.outcomes.tobytes() == table.take("outcome", "outcome").values.tobytes()
    assert stream.times.tolist() == table.columns["t"]
    if stream.scores is not None:
        assert stream.scores.tobytes() == table.take("prediction", "score").values.tobytes()


@pytest.mark.parametrize("name", streams.names())
def test_every_stream_is_in_the_table_of_licences(name):
    stream = load(name)
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (DATA / "LICENSES.md").read_text().splitlines()
        if line.startswith(f"| {name} ")
    ]
    assert len(rows) == 1
    assert rows[0][1] == f"{len(stream):,}"
    assert rows[0][-1] == stream.licence
    first, last = (str(stream.times[i])[:10] for i in (0, -1))
    assert f"{first} to {last}" in rows[0][2]


def test_nothing_is_shipped_without_a_name():
    files = {f.name.removesuffix(".csv.gz") for f in DATA.iterdir() if f.name.endswith(".gz")}
    assert files == set(streams.names())


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match=r"name must be one of 'covid_rise', .*, got 'titanic'"):
        streams.load("titanic")
