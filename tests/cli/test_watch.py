"""``calibrant watch``: files, pipes, exit codes, JSON and the page."""

import json

import numpy as np
import pytest

from calibrant import Monitor


@pytest.fixture
def rows(tmp_path):
    """A file with a bad stretch, and what a monitor finds in it."""

    def write(n=6_000, off=(2_000, 3_500)):
        random = np.random.default_rng(0)
        p = random.random(n).round(4)
        is_off = (np.arange(n) >= off[0]) & (np.arange(n) < off[1])
        y = (random.random(n) < np.clip(p + 0.3 * is_off, 0, 1)).astype(int)
        path = tmp_path / "rows.csv"
        lines = [f"{p[t]},{y[t]},{'ab'[t % 2]},{t}" for t in range(n)]
        path.write_text("\n".join(["said,y,place,minute", *lines, ""]))
        monitor = Monitor()
        monitor.run(p, y)
        return path, monitor

    return write


def test_a_file_with_an_episode_that_is_over(calibrant, rows):
    path, monitor = rows()
    done = calibrant("watch", path, "--prediction", "said", "--outcome", "y")
    assert "1 episode in 6,000 rounds" in done.stdout
    episode = monitor.episodes[0]
    for number in (episode.onset, episode.alarm, episode.recovered):
        assert f"{number:,}" in done.stdout


@pytest.fixture
def late_rows(tmp_path):
    """A file in which 100 rows wait and share a shock; all probabilities are exactly right."""
    random = np.random.default_rng(3)
    p = np.full(10_000, 0.3)
    y = np.repeat(random.random(100) < 0.3, 100).astype(int)
    lines = [f"{p[t]},{y[t]},{t},{t // 100 * 100 + 100},{t + 200}" for t in range(10_000)]
    path = tmp_path / "late.csv"
    path.write_text("\n".join(["said,y,made,known,due", *lines, ""]))
    return path


def test_a_shock_that_waiting_rows_share_does_not_ring(attempt, calibrant, late_rows):
    columns = ("--prediction", "said", "--outcome", "y", "--time", "made")
    at_once = attempt("watch", late_rows, *columns)
    assert at_once.exit_code == 3
    late = calibrant("watch", late_rows, *columns, "--available", "known")
    assert "No alarm in 10,000 rounds" in late.stdout
    assert "Probability of any false alarm in this run: at most 1%." in late.stdout


def test_silence_is_an_outcome_at_the_deadline(calibrant, late_rows):
    """Of events known by their deadline nothing changes; of all else, silence is no event."""
    columns = ("--prediction", "said", "--outcome", "y", "--time", "made")
    rows = late_rows.read_text().splitlines()
    only = [row if row.split(",")[1] == "1" else "0.3,,{2},,{4}".format(*row.split(","))
            for row in rows[1:]]  # fmt: skip
    late_rows.write_text("\n".join([rows[0], *only, ""]))
    late = (*columns, "--available", "known", "--due", "due", "--silence", "0", "--json")
    found = json.loads(calibrant("watch", late_rows, *late).stdout)
    assert found["state"] == "calibrated"
    assert found["rounds"] > 9_700  # all but those that are due later


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--available", "known"], "need --time"),
        (["--time", "made", "--due", "due"], "--due and --silence must be given together"),
        (["--time", "made", "--due", "due", "--silence", "2"], "--silence must be 0 or 1, got 2"),
        (["--time", "known", "--available", "made"], "before its prediction"),
    ],
)
def test_bad_lateness_is_refused(attempt, late_rows, more, message):
    done = attempt("watch", late_rows, "--prediction", "said", "--outcome", "y", *more)
    assert done.exit_code != 0
    assert message in done.output


def test_an_open_episode_ends_with_code_3(attempt, rows):
    path, monitor = rows(3_000)
    done = attempt("watch", path, "--prediction", "said", "--outcome", "y", "--json")
    assert done.exit_code == 3
    found = json.loads(done.stdout)
    assert found["state"] == "miscalibrated"
    assert found["episodes"][0]["alarm"] == monitor.episodes[0].alarm
    assert found["episodes"][0]["end"] is None


def test_nothing_to_ring_about(calibrant, rows):
    path, _ = rows(2_000)
    done = calibrant("watch", path, "--prediction", "said", "--outcome", "y")
    assert "No alarm in 2,000 rounds" in done.stdout


def test_a_pipe_finds_what_a_file_has(calibrant, rows):
    path, monitor = rows()
    done = calibrant(
        "watch", "-", "--prediction", "said", "--outcome", "y", "--time", "minute", "--json",
        stdin=path.read_bytes(),
    )  # fmt: skip
    began, ended = map(json.loads, done.stdout.splitlines())
    assert began["alarm"] == monitor.episodes[0].alarm
    assert began["end"] is None
    assert ended["end"] == monitor.episodes[0].end
    assert str(ended["end_at"]) == str(ended["end"])


def test_groups_in_a_pipe_and_in_a_file_agree(attempt, rows):
    path, _ = rows(3_000)
    columns = ("--prediction", "said", "--outcome", "y", "--by", "place", "--json")
    whole = json.loads(attempt("watch", path, *columns).stdout)["episodes"]
    lines = attempt("watch", "-", *columns, stdin=path.read_bytes())
    assert lines.exit_code == 3
    assert [json.loads(line) for line in lines.stdout.splitlines()] == whole


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--prediction", "nothing"], "there is no column 'nothing'"),
        (["--prediction", "said", "--outcome", "said"], "cannot be both"),
        (["--prediction", "said", "--outcome", "y", "--every", "3"], "every must be an integer"),
        (["--prediction", "said", "--outcome", "y", "--tolerance", "2"], "tolerance must be"),
        (["--prediction", "minute", "--outcome", "y"], "in [0, 1]"),
        (["--prediction", "said", "--outcome", "y", "--report", "x.pdf"], "must end in .html"),
    ],
)
def test_bad_input_is_one_line(attempt, rows, options, message):
    path, _ = rows(50)
    done = attempt("watch", path, *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_a_bad_line_of_a_pipe_is_named(attempt):
    done = attempt("watch", "-", stdin=b"prediction,outcome\n0.5,1\n1.5,0\n")
    assert done.exit_code == 2
    assert "line 3" in done.stderr


def test_the_page(calibrant, rows, tmp_path):
    path, _ = rows()
    page = tmp_path / "page.html"
    calibrant(
        "watch",
        path,
        "--prediction",
        "said",
        "--outcome",
        "y",
        "--time",
        "minute",
        "--report",
        page,
    )
    text = page.read_text()
    for words in ("The evidence through time", "inside of episodes", "outside of episodes"):
        assert words in text
