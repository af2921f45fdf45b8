"""``calibrant run FILE --score --key``: a fleet, chunk by chunk."""

import numpy as np
import pandas as pd
import pytest

from calibrant import Fleet
from calibrant.tables import chunks, read

SIZE = 3000


@pytest.fixture
def rows(monkeypatch):
    monkeypatch.setattr(chunks, "BLOCK", 5000)
    monkeypatch.setattr(chunks, "ROWS", 700)
    rng = np.random.default_rng(4)
    score = rng.random(SIZE).round(4)
    return pd.DataFrame(
        {
            "shop": [f"shop {i}" for i in rng.integers(0, 40, SIZE)],
            "score": score,
            "sold": (rng.random(SIZE) < score**2).astype(int),
        }
    )


def written(rows, path):
    if path.suffix == ".csv":
        rows.to_csv(path, index=False)
    else:
        rows.to_parquet(path)
    return path


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_file_with_keys_gets_the_probabilities_of_a_fleet(rows, tmp_path, ending, calibrant):
    source, out = written(rows, tmp_path / f"a{ending}"), tmp_path / f"out{ending}"
    done = calibrant(
        "run", source, "--score", "score", "--outcome", "sold", "--key", "shop", "--out", out
    )
    assert "3,000 rows, 40 keys in 'shop'" in done.stdout
    assert "log loss" in done.stdout
    expected = Fleet().run(rows["shop"], rows["score"], rows["sold"])
    assert read(out).take("prediction", "calibrated").values.tolist() == expected.tolist()


def test_the_state_goes_on_and_a_bad_file_leaves_it_alone(rows, tmp_path, calibrant):
    first, second = rows.iloc[:1000], rows.iloc[1000:]
    state, out = tmp_path / "state", tmp_path / "out.csv"
    options = ("--score", "score", "--outcome", "sold", "--key", "shop", "--state", state)
    calibrant("run", written(first, tmp_path / "a.csv"), *options)
    before = state.read_bytes()
    bad = second.copy()
    bad.loc[bad.index[1500], "shop"] = None
    done = calibrant("run", written(bad, tmp_path / "b.csv"), *options)
    assert done.exit_code == 2
    assert "line 1502, column 'shop': the key is missing" in done.stderr
    assert state.read_bytes() == before
    done = calibrant("run", written(second, tmp_path / "c.csv"), *options, "--out", out)
    assert "goes on with 40 keys after 1,000 predictions" in done.stderr
    expected = Fleet().run(rows["shop"], rows["score"], rows["sold"])[1000:]
    assert read(out).take("prediction", "calibrated").values.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--by", "shop"], "--by does not go with --key"),
        (["--silence", "0"], "--silence does not go with --key"),
        (["--key", "absent"], "there is no column 'absent'"),
        (["--out", "x.json"], "CSV or Parquet"),
        (["--column", "score", "--out", "x.csv"], "has a column 'score' already"),
    ],
)
def test_what_does_not_go_together_is_refused(rows, tmp_path, options, words, calibrant):
    source = written(rows, tmp_path / "a.csv")
    done = calibrant(
        "run", source, "--score", "score", "--outcome", "sold", "--key", "shop", *options
    )
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())


def test_keys_need_a_file(calibrant):
    done = calibrant("run", "-", "--score", "s", "--key", "k")
    assert "--key needs a FILE" in done.stderr
