"""Quantiles of numbers and rivals: ``python -m benchmarks numbers FOLDER ...``.

Each folder holds streams, gzipped CSV files with the columns t, forecast and outcome; without any,
the bundled one is played. Every rival of `calibrant.recalibrate.rivals.numbers` is run at
several settings, 20 in all, and our loss is divided by that of the best of them, chosen in
hindsight for each stream. `numbers.md` has the last run. ``python -m benchmarks numbers attacks``
runs opponents against it; `number_attacks.md` has the results.
"""

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
from rich.console import Console

import calibrant
from benchmarks import machine
from benchmarks.number_opponents import bound, opponents, play
from benchmarks.peers import RiverPair
from benchmarks.tables import table
from calibrant import NumberRecalibrator
from calibrant.measures.numbers import (
    interval_coverage,
    interval_score,
    pinball,
    rolling_coverage,
)
from calibrant.recalibrate.rivals.numbers import SETTINGS, quantile_tracking

PAGE = Path(__file__).with_suffix(".md")
BUNDLED = Path(calibrant.__file__).parent / "data" / "numbers"
ATTACKS = PAGE.with_name("number_attacks.md")
LONGEST, BURN_IN, LATE = 30_000, 100, 100
#: Rivals whose levels cross are sorted, which widens their outer ones: the more levels, the wider.
PERCENTS = np.arange(1, 100) / 100.0
ATTACKED = (2000, 20_000, 200_000)
#: Coverage and mean width that Angelopoulos, Candes and Tibshirani (2023) report.
PUBLISHED = {"amzn_ar": (0.894, 17.6), "amzn_prophet": (0.888, 51.7)}


def streams(folder):
    """Yield the name, the forecasts and the outcomes of each stream of a folder."""
    for path in sorted(Path(folder).glob("*.csv.gz")):
        rows = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(1, 2))[:LONGEST]
        yield path.name.removesuffix(".csv.gz"), rows[:, 0].copy(), rows[:, 1].copy()


def ours(forecasts, outcomes, late, levels=None):
    """Return our quantiles, each outcome being known so many rounds late."""
    recalibrator = NumberRecalibrator(levels)
    if not late:
        return recalibrator.run(forecasts, outcomes)
    predicted = np.empty((len(forecasts), len(recalibrator.levels)))
    for t, forecast in enumerate(forecasts.tolist()):
        predicted[t] = recalibrator.predict(forecast, id=t).quantiles
        if t >= late:
            recalibrator.update(outcomes[t - late], id=t - late)
    return predicted


def measures(tau, quantiles, forecasts, outcomes):
    """Return pinball, interval score, coverage and rolling error after the first rounds.

    An infinite quantile counts as twice the largest residual of the stream.
    """
    far = 2.0 * np.abs(outcomes - forecasts).max()
    q = np.clip(quantiles, forecasts[:, None] - far, forecasts[:, None] + far)[BURN_IN:]
    y = outcomes[BURN_IN:]
    low, high = (q[:, int(np.argmin(np.abs(tau - level)))] for level in (0.05, 0.95))
    rolling = np.abs(rolling_coverage(low, high, y, min(500, len(y))) - 0.9).mean()
    covered = interval_coverage(low, high, y)
    return pinball(q, tau, y), interval_score(low, high, y, 0.9), covered, float(rolling)


def rows_of(folder, late, say, levels=None):
    """Return a row per stream: ours beside the best rival in hindsight."""
    tau, rows = NumberRecalibrator(levels).levels, []
    for name, forecasts, outcomes in streams(folder):
        say(f"{name}, {late} late")
        predicted = ours(forecasts, outcomes, late, levels)
        mine = measures(tau, predicted, forecasts, outcomes)
        theirs = {
            rival: measures(tau, make(tau).run(forecasts, outcomes, late=late), forecasts, outcomes)
            for rival, make in SETTINGS.items()
        }
        best = min(theirs, key=lambda rival: theirs[rival][0])
        sharpest = min(theirs, key=lambda rival: theirs[rival][1])
        rows.append(
            (name, len(outcomes), mine[0] / theirs[best][0], best, mine[1] / theirs[sharpest][1],
             sharpest, mine[2], theirs[best][2], mine[3], theirs[best][3],
             int(np.isinf(predicted).any(axis=1).sum()))
        )  # fmt: skip
    return rows


def shown(title, rows):
    """Return the rows as a table, with geometric means and the worst in the end."""
    ratios = np.array([[row[2], row[4]] for row in rows])
    means, worst = np.exp(np.log(ratios).mean(axis=0)), ratios.max(axis=0)
    body = [
        (name, f"{n:,}", f"{p:.3f}", best, f"{w:.3f}", sharp, f"{c:.3f}", f"{bc:.3f}",
         f"{roll:.4f}", f"{broll:.4f}", infinite)
        for name, n, p, best, w, sharp, c, bc, roll, broll, infinite in rows
    ]  # fmt: skip
    covered = [row[6] for row in rows]
    body.append(
        ("**geometric mean**", "", f"**{means[0]:.3f}**", "", f"**{means[1]:.3f}**", "", "", "",
         f"{np.mean([row[8] for row in rows]):.4f}", f"{np.mean([row[9] for row in rows]):.4f}",
         "")
    )  # fmt: skip
    body.append(
        ("**worst**", "", f"**{worst[0]:.3f}**", "", f"**{worst[1]:.3f}**", "",
         f"{min(covered):.3f} to {max(covered):.3f}", "", "", "", "")
    )  # fmt: skip
    head = ["stream", "rounds", "pinball / best", "best rival", "interval score / best",
            "best rival ", "covered", "best's", "rolling error", "best's ",
            "rounds with an infinity"]  # fmt: skip
    return table(title, head, body)


def speed():
    """Return what a round takes, in river's pairs, taking turns with it; and what is kept."""
    random = np.random.default_rng(0)
    m = random.normal(size=4000)
    y = m + random.normal(size=4000)
    pairs, runs, rivers = [], [], []
    for _ in range(7):
        pair = RiverPair()
        start = time.process_time()
        for outcome in (y > m).tolist():
            pair.predict()
            pair.update(outcome)
        rivers.append(time.process_time() - start)
        recalibrator = NumberRecalibrator()
        start = time.process_time()
        for forecast, outcome in zip(m.tolist(), y.tolist(), strict=True):
            recalibrator.predict(forecast)
            recalibrator.update(outcome)
        pairs.append(time.process_time() - start)
        start = time.process_time()
        NumberRecalibrator().run(m, y)
        runs.append(time.process_time() - start)
    river, one, many = (1e9 * statistics.median(times) / len(m) for times in (rivers, pairs, runs))
    state = len(recalibrator.to_bytes())
    for t in range(1000):
        recalibrator.predict(0.0, id=t)
    waiting = (len(recalibrator.to_bytes()) - state) / 1000
    rows = [
        ("river LogisticRegression, predict + learn", f"{river:,.0f} ns", "1.00"),
        ("predict + update", f"{one:,.0f} ns", f"{one / river:.2f}"),
        ("a row of `run`", f"{many:,.0f} ns", f"{many / river:.2f}"),
        ("state", f"{state:,} bytes", ""),
        ("a prediction that waits, saved", f"{waiting:,.0f} bytes", ""),
    ]
    return table("Speed and size", ["", "processor time or size", "river's pairs"], rows)


def published(folder):
    """Return our P control beside the figures of its authors, where their forecasts are."""
    rows = []
    for name, (coverage, width) in PUBLISHED.items():
        for stream, forecasts, outcomes in streams(folder):
            if stream == name:
                r = outcomes - forecasts
                high, low = quantile_tracking(r, 0.95), quantile_tracking(-r, 0.95)
                inside = ((r <= high) & (-r <= low))[BURN_IN:].mean()
                ours_is = f"{inside:.3f}", f"{(high + low)[BURN_IN:].mean():.1f}"
                rows.append((name, *ours_is, f"{coverage:.3f}", f"{width:.1f}"))
    head = ["stream", "coverage", "mean width", "published coverage", "published width"]
    return table("P control of the conformal PID paper, 90 %, rate 0.1", head, rows) if rows else ""


def attacks(rounds, say):
    """Return how far off levels are against opponents who know the state, beside the bound."""
    tau, rows = NumberRecalibrator().levels, []
    allowed = bound(tau, rounds)
    for name, opponent in opponents(rounds).items():
        say(f"{name}, {rounds:,} rounds")
        off, infinite = play(opponent, rounds, tau)
        size = np.abs(off)
        worst = int(size.argmax())
        interval = abs(off[tau == 0.95][0] - off[tau == 0.05][0])
        rows.append(
            (name, f"{size[worst]:.4f}", f"{tau[worst]:g}", f"{(size / allowed).max():.3f}",
             f"{interval:.4f}", f"{infinite:,}")
        )  # fmt: skip
    head = ["opponent", "largest error of a level", "which", "error / bound, worst level",
            "error of the 90 % interval", "rounds with an infinity"]  # fmt: skip
    at_half = bound(np.array([0.5]), rounds)[0]
    title = f"Opponents who know the state, {rounds:,} rounds; bound at level 0.5: {at_half:.4f}"
    return table(title, head, rows)


def learned_games(rounds, say):
    """Return how far off levels are against opponents of the whole recalibrator, which learns."""
    rows = []
    for name in ("outside the 90 % interval, sides by turns", "beside a sweeping level"):
        say(f"{name}, {rounds:,} rounds")
        recalibrator, random = NumberRecalibrator(), np.random.default_rng(0)
        tau, counts = recalibrator.levels, np.zeros(len(recalibrator.levels))
        for t in range(rounds):
            q = recalibrator.predict(0.0).quantiles
            k = np.argmin(np.abs(tau - (0.95 if t // 1000 % 2 else 0.05)))
            side = 1.0 if t // 1000 % 2 else -1.0
            if name.startswith("beside"):
                k, side = t // 100 % len(tau), random.choice([-1.0, 1.0])
            y = q[k] + side * (1e-6 + 1e-3 * abs(q[k]))
            y = float(np.clip(y if np.isfinite(y) else random.normal(), -1e3, 1e3))
            recalibrator.update(y)
            counts += (y < q) - tau
        off = np.abs(counts / rounds)
        rows.append((name, f"{off.max():.4f}", f"{tau[off.argmax()]:g}"))
    head = ["opponent", "largest error of a level", "which"]
    return table(f"The whole recalibrator, {rounds:,} rounds, outcomes at once", head, rows)


def long_run(rounds, say):
    """Return what is kept after ever more rounds."""
    recalibrator, random, rows = NumberRecalibrator(), np.random.default_rng(0), []
    size = rounds // 100
    for part in range(100):
        say(f"{(part + 1) * size:,} rounds")
        m = random.normal(size=size)
        predicted = recalibrator.run(m, m + random.normal(size=size))
        assert np.isfinite(predicted[100:]).all()
        if part in (0, 9, 99):
            rows.append((f"{(part + 1) * size:,}", f"{len(recalibrator.to_bytes()):,}"))
    return table("What is kept after so many rounds", ["rounds", "bytes"], rows)


def tables(folders, say):
    """Yield the tables."""
    yield speed()
    for folder in folders:
        for late in (0, LATE):
            rows = rows_of(folder, late, say)
            when = "at once" if not late else f"{late} rounds late"
            yield shown(f"{Path(folder).name}: outcomes {when}", rows)
        rows = rows_of(folder, 0, say, PERCENTS)
        yield shown(f"{Path(folder).name}: outcomes at once, 99 levels for all", rows)
        yield published(folder)


def main(arguments):
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks numbers", description=__doc__)
    parser.add_argument("folders", nargs="*", help="folders of streams; the bundled one if none")
    folders = parser.parse_args(arguments).folders or [BUNDLED]
    console, texts = Console(stderr=True), []
    if folders == ["attacks"]:
        with console.status("attacks") as status:
            made = [attacks(rounds, status.update) for rounds in ATTACKED]
            made += [learned_games(20_000, status.update), long_run(10**6, status.update)]
        text = "\n".join(made)
        print(text)
        ATTACKS.write_text(
            "# Opponents of quantiles\n\nMeasured with `python -m benchmarks numbers attacks`: the "
            "safe stage over a mixture that never learns, 33 levels, outcomes at once, against "
            "the opponents of `benchmarks/number_opponents.py`. The bound is that of Theorem 1 in "
            "docs/numbers-proof.md.\n\n" + text
        )
        return
    with console.status("numbers") as status:
        for text in tables(folders, status.update):
            print(text, flush=True)
            texts.append(text)
    head = (
        f"# Quantiles of numbers\n\nMeasured on {machine.describe()}, with "
        "`python -m benchmarks numbers FOLDER ...`. Streams are cut at "
        f"{LONGEST:,} rounds; all is measured after the first {BURN_IN}, at 33 levels "
        "unless a title says 99. A ratio "
        "below 1 is better than the best of 20 rival settings, chosen in hindsight for each "
        "stream and measure. "
        "Rolling error: mean |coverage - 0.9| of the 90 % interval in windows of 500; chance alone "
        "gives 0.0107.\n\n"
    )
    PAGE.write_text(head + "\n".join(texts))
    console.print(f"wrote {PAGE.name}")
