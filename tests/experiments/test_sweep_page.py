"""The report of a folder of results: what it reads, what it says and what it refuses."""

import json
import shutil
from collections import defaultdict

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from calibrant.cli import app
from calibrant.experiments import Claim, Result, Results, Task, findings, read_claims, read_results
from calibrant.experiments.gallery import examples, moving_stream, real_stream, replay
from calibrant.experiments.panels import claim_panels
from calibrant.experiments.results import rank
from calibrant.experiments.sweep_page import SweepReport
from calibrant.tables import InputError
from experiments.claim_row import CLAIM

pytestmark = pytest.mark.long


@pytest.fixture
def folder(swept, tmp_path):
    """A copy that may be changed."""
    shutil.copy(swept / "results.parquet", tmp_path)
    shutil.copy(swept / "table1.json", tmp_path)
    return tmp_path


def rewrite(folder, change):
    path = folder / "results.parquet"
    pq.write_table(change(pq.read_table(path)), path)


# -- reading -----------------------------------------------------------------------------------


def test_errors_are_means_over_seeds_at_the_most_rounds(swept):
    rows = pq.read_table(swept / "results.parquet").to_pylist()
    values = defaultdict(list)
    for row in rows:
        if row["measure"] == "cal2" and row["rounds"] == 900:
            stream = row["stream"], row["stream_parameters"]
            values[stream, row["forecaster"]].append(row["value"])
    errors = read_results(swept).errors("cal2")
    assert sum(map(len, errors.values())) == len(values) == 6 * 4
    for ((name, parameters), forecaster), seeds in values.items():
        words = ",".join(f"{k}={v}" for k, v in json.loads(parameters).items())
        spec = "foster-hart:horizon=T" if forecaster == "foster-hart" else forecaster
        assert len(seeds) == 2
        got = errors[f"{name}:{words}" if words else name][spec]
        assert got == pytest.approx(np.mean(seeds), abs=1e-9)


def test_streams_come_family_by_family(swept):
    streams = read_results(swept).streams
    assert streams[-2:] == ["contrarian", "seattle_rain"]


def test_errors_against_rounds_and_segments(swept):
    results = read_results(swept)
    grown = results.over_rounds("seattle_rain", "cal2")["zoom"]
    assert {size: len(errors) for size, errors in grown.items()} == {300.0: 2, 900.0: 2}
    ((world, by_forecaster),) = results.over_worlds("cal2").items()
    assert world == ("K", "piecewise", 900)
    assert list(by_forecaster["zoom"]) == [2.0, 4.0, 8.0]
    for segments, errors in by_forecaster["zoom"].items():
        stream = f"piecewise:segments={segments:.0f}"
        tasks = [Task("zoom", stream, 900, seed) for seed in (0, 1)]
        assert errors == [result.values["cal2"] for result in results.all if result.task in tasks]


def test_deviation_is_an_axis_where_segments_were_not_asked_for():
    results = [
        Result.of(
            Task("zoom", f"corrupted:budget={budget}", 100, seed), {"cal2": 1.0},
            deviation=budget + seed, segments=50,
        )
        for budget in (1.0, 2.0, 4.0)
        for seed in (0, 1)
    ]  # fmt: skip
    worlds = Results(results).over_worlds("cal2")
    assert list(worlds["C", "corrupted", 100]["zoom"]) == [1.5, 2.5, 4.5]
    assert len(worlds) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t.drop_columns(["seed", "value"]), "lacks the columns seed, value; it has"),
        (lambda t: t.slice(0, 0), "has no rows"),
        (
            lambda t: t.set_column(9, "value", pa.array(["x"] * len(t))),
            "column 'value' must hold numbers, holds string",
        ),
        (
            lambda t: t.set_column(4, "rounds", t["rounds"].cast("float64")),
            "column 'rounds' must hold whole numbers, holds double",
        ),
        (
            lambda t: t.set_column(9, "value", pa.array([None, *t["value"].to_pylist()[1:]])),
            "column 'value' must be filled, row 0 is empty",
        ),
        (
            lambda t: t.set_column(3, "stream_parameters", pa.array(["[1]"] * len(t))),
            r"row 0: parameters of '\w+' must be a JSON object, got '\[1\]'",
        ),
        (lambda t: pa.concat_tables([t, t.slice(0, 1)]), "repeats"),
        (
            lambda t: pa.concat_tables(
                [t, t.slice(0, 1).set_column(10, "calibrant", pa.array(["0"]))]
            ),
            "repeats",
        ),
        (
            lambda t: t.set_column(9, "value", pa.array([1.0, float("nan")] * (len(t) // 2))),
            "column 'value' must hold numbers, row 1 is NaN",
        ),
    ],
)
def test_results_that_cannot_be_used_are_refused(folder, change, said):
    rewrite(folder, change)
    with pytest.raises(InputError, match=rf"results\.parquet.*{said}"):
        read_results(folder)


def test_a_changed_byte_is_noticed(folder):
    path = folder / "results.parquet"
    data = bytearray(path.read_bytes())
    # Of the values, which no reader could tell from others.
    column = pq.read_metadata(path).row_group(0).column(9)
    assert column.path_in_schema == "value"
    start = column.dictionary_page_offset or column.data_page_offset
    data[start + column.total_compressed_size // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="is not a whole Parquet file"):
        read_results(folder)


def test_truncated_and_foreign_files_are_refused(folder):
    path = folder / "results.parquet"
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"not parquet at all"):
        path.write_bytes(content)
        with pytest.raises(InputError, match="is not a whole Parquet file"):
            read_results(folder)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[{", "is not whole JSON"),
        ("{}", "must hold a list of rows, holds dict"),
        ("[1]", "row 1: must be an object"),
        ('[{"error": 3}]', "row 1: 'error' must be words, got 3"),
    ],
)
def test_claims_that_cannot_be_used_are_refused(folder, content, said):
    (folder / "table1.json").write_text(content)
    with pytest.raises(InputError, match=said):
        read_claims(folder)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("fitted", "much", "'fitted' must be a number, got 'much'"),
        ("mean", [1.0], "'mean' must be a list of 3 numbers"),
        ("x", [], "'x' must be a list of numbers"),
        ("axis", "N", "'axis' must be T, C or K"),
        ("verdict", "maybe", "'verdict' must be one of passes, fails, not visible"),
    ],
)
def test_a_bad_field_of_a_claim_is_named(folder, field, value, said):
    rows = json.loads((folder / "table1.json").read_text())
    rows[1][field] = value
    (folder / "table1.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match=rf"table1\.json, row 2: {said}"):
        read_claims(folder)


# -- what is said ------------------------------------------------------------------------------

MEANS = {
    "iid": {"zoom": 10.0, "epoch": 8.0, "k29": 20.0},
    "drift": {"zoom": 16.0, "epoch": 4_000.0, "k29": 32.0},
    "walk": {"zoom": 10.0, "epoch": 2_000.0, "k29": 15.0},
}


def test_the_headline_is_what_the_numbers_say():
    assert findings.headline(MEANS, "Cal2") == [
        "Over all streams, zoom does best: it has the smallest mean Cal2 on 2 of 3 streams.",
        "Where it has not, it is at most 1.25 times the smallest: 10 against 8 of epoch, on iid.",
        # (2.5 * 2 * 1.5)^(1/3)
        "Next over all streams is k29: typically 1.96 times the smallest.",
    ]


def test_the_headline_of_a_clean_sweep_and_of_a_smallest_error_of_zero():
    sweep = {stream: MEANS[stream] for stream in ("drift", "walk")}
    assert (
        findings.headline(sweep, "Cal1")[0] == "zoom has the smallest mean Cal1 on 2 of 2 streams."
    )
    still = {**MEANS, "still": {"zoom": 5.0, "epoch": 0.0, "k29": 9.0}}
    assert findings.headline(still, "Cal2")[1] == (
        "Where it has not, the largest gap is 5 against 0 of epoch, on still; "
        "elsewhere it is at most 1.25 times."
    )


def test_losses_name_all_who_win():
    row = {"zoom": 5.0, "a": 0.0, "b": 2.0, "c": 0.0}
    assert findings.losses({"s": row, "won": {"zoom": 1.0, "a": 1.0}}, "zoom") == [
        ["s", 5.0, 0.0, "a and 1 other", float("inf")]
    ]


def test_ranking_caps_what_is_hopeless():
    """One stream on which a forecaster is a million times worse must not decide alone."""
    rows = {str(n): {"a": 1.0, "b": 10.0} for n in range(3)} | {"x": {"a": 1e6, "b": 1.0}}
    assert rank(rows) == ["a", "b"]


def claim(**changes):
    return Claim(**{**CLAIM, **changes})


def test_reasons_are_given_for_what_does_not_pass_and_once_each():
    claims = [
        claim(),
        claim(verdict="fails", reason="Too steep."),
        claim(verdict="not visible", axis="K", reason="Too short."),
        claim(verdict="not visible", axis="C", reason="Too short."),
    ]
    assert findings.reasons(claims) == [
        "fails: Cal2 of epoch in T. Too steep.",
        "not visible: Cal2 of epoch in K; Cal2 of epoch in C. Too short.",
    ]


def test_claims_with_one_rate_share_a_panel():
    claims = [
        claim(world="i.i.d. (mean 0.5)"),
        claim(
            world="i.i.d. (mean 0.5)", forecaster="refined:measure=l2,deviation=C", log_power=3.0
        ),
        claim(world="C of order T", forecaster="refined:measure=l2,constants=paper"),
        claim(axis="K"),
    ]
    figures = claim_panels(claims, "T")
    assert list(figures) == ["Cal2, i.i.d."]  # the printed constants are in the table alone
    (figure,) = figures.values()
    assert list(figure.curves) == ["epoch", "refined"]
    assert figure.curves["refined"].mean.tolist() == CLAIM["mean"]
    assert [(slope.exponent, slope.log_power) for slope in figure.slopes] == [(0.0, 3.0)]
    assert list(claim_panels(claims[2:3], "T")) == ["Cal2, C of order T"]
    assert claim_panels(claims, "C") == {}


def test_a_name_has_its_look_on_every_panel():
    claims = [claim(), claim(world="else", forecaster="interval")]
    one, two = claim_panels(claims, "T").values()
    assert list(one.curves) == list(two.curves) == ["epoch", "interval"]
    lines = [figure.plot().lines for figure in (one, two)]
    assert len(lines[0][0].get_xdata()) == len(lines[1][1].get_xdata()) == 3
    assert len(lines[0][1].get_xdata()) == len(lines[1][0].get_xdata()) == 0


def test_verdicts_are_counted(swept):
    assert findings.verdicts(read_claims(swept)) == (
        "Beyond the best fixed grid pass 1 of 2 claims with printed constants (1 is not visible), "
        "at these sizes."
    )


# -- tasks run again ---------------------------------------------------------------------------


def test_replays_give_the_very_numbers_of_the_results(swept):
    results = read_results(swept)
    assert moving_stream(results, "cal2") == "piecewise:segments=2"
    assert real_stream(results, "cal2") == "seattle_rain"
    for stream in results.streams:
        for result in examples(results, "cal2", stream).values():
            run = replay(result)
            assert len(run.outcomes) == 900
            assert run.agrees("cal2")
            assert (run.means is None) == (stream in ("contrarian", "seattle_rain"))


# -- the page ----------------------------------------------------------------------------------


def test_the_report_says_at_the_top_what_the_numbers_say(reported):
    text = (reported / "report.html").read_text("utf-8")
    lead = text[: text.index("<nav")]
    results = read_results(reported)
    means = {stream: dict(row) for stream, row in results.errors("cal2").items()}
    best = rank(means)[0]
    wins = sum(row[best] == min(row.values()) for row in means.values())
    assert f"on {wins} of 6 streams" in lead
    assert "Beyond the best fixed grid pass 1 of 2" in lead
    for section in ("Who wins where", "Error against the number of rounds",
                    "Error against the number of segments", "The paper&#x27;s claims, measured",
                    "Examples, run again", "What was run"):  # fmt: skip
        assert f">{section}</h2>" in text
    assert "to the last digit" in text


def test_a_check_of_claims_is_no_contest(folder, swept):
    """Where forecasters ran on different streams, none is said to win."""
    rewrite(
        folder,
        lambda t: pa.Table.from_pylist(
            [row for row in t.to_pylist()
             if (row["forecaster"], row["stream"]) != ("zoom", "contrarian")], t.schema,
        ),
    )  # fmt: skip
    results, claims = read_results(folder), read_claims(folder)
    check = SweepReport(results, claims, folder, print)
    assert not check.compares
    assert "<h1>The paper&#x27;s claims, measured</h1>" in check.page.html()
    assert "smallest" not in "".join(check.lead())
    assert SweepReport(results, [], folder, print).compares
    assert SweepReport(read_results(swept), claims, folder, print).compares


def test_every_figure_is_a_file_too(reported):
    names = ["who-wins-where", "error-against-T", "error-against-K", "claims-in-T", "claims-in-K",
             "reliability", "error-through-time", "restarts", "points"]  # fmt: skip
    files = {path.name: path.read_bytes() for path in (reported / "figures").iterdir()}
    assert sorted(files) == sorted(f"{name}.{end}" for name in names for end in ("png", "svg"))
    assert all(content.startswith((b"\x89PNG", b"<?xml")) for content in files.values())


@pytest.mark.slow
def test_the_command_writes_the_same_report_again(folder, reported):
    for name in ("report.html", "figures/points.svg"):
        assert not (folder / name).exists()
    result = CliRunner().invoke(app, ["report", str(folder)], catch_exceptions=False)
    assert result.exit_code == 0
    assert f"Report: {folder / 'report.html'}" in result.output.replace("\n", "")
    for name in ("report.html", "figures/points.svg", "figures/who-wins-where.png"):
        assert (folder / name).read_bytes() == (reported / name).read_bytes()


def test_a_stream_that_is_gone_is_said_and_the_rest_is_shown(tmp_path):
    row = {
        "forecaster": "zoom", "forecaster_parameters": "{}", "stream": "file",
        "stream_parameters": json.dumps({"path": "gone.csv", "column": None, "sha256": "0"}),
        "rounds": 100, "seed": 0, "deviation": None, "segments": None,
        "measure": "cal2", "value": 3.0, "calibrant": "0", "numpy": "0",
    }  # fmt: skip
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "results.parquet")
    result = CliRunner().invoke(app, ["report", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0
    text = (tmp_path / "report.html").read_text("utf-8")
    assert "A task could not be run again: gone.csv" in text
    assert "zoom was run alone" in text


def test_results_without_an_error_to_rank_by_are_refused(folder):
    rewrite(folder, lambda t: t.filter(pa.compute.equal(t["measure"], "points")))
    result = CliRunner().invoke(app, ["report", str(folder)])
    assert result.exit_code == 2
    assert "the results hold none of cal2, cal1" in result.output


def test_a_sweep_that_has_not_finished(tmp_path):
    (tmp_path / "journal.sqlite").touch()
    with pytest.raises(InputError, match="does not exist yet: the sweep has not finished"):
        read_results(tmp_path)


def test_a_folder_without_results_is_one_clean_line(tmp_path):
    result = CliRunner().invoke(app, ["report", str(tmp_path / "nowhere")])
    assert result.exit_code == 2
    assert "results.parquet: is not there" in result.output
    assert "Traceback" not in result.output
