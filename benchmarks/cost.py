"""The time of a round of the paper's forecasters, compared with river's in the same run."""

from pathlib import Path

import numpy as np

from benchmarks.speed import river_pair, run_time, take_turns
from benchmarks.tables import table
from calibrant import Interval, Refined, Restarting, Swap
from calibrant.certificates import CERTIFIED_MEASURES
from calibrant.streams import drift, iid

ROUNDS = 100_000
STREAMS = {"iid 0.5": iid(ROUNDS, seed=1).outcomes, "drift": drift(ROUNDS, seed=1).outcomes}
FIGURE = Path(__file__).with_name("intervals.svg")
RIVER = "river's pair"

INTERVALS = (10, 20, 50, 100, 200, 400, 800)
BASES = {
    "Interval": lambda intervals: Interval(intervals, horizon=ROUNDS),
    "Swap, squared loss": lambda intervals: Swap("squared", intervals=intervals, horizon=ROUNDS),
    "Swap, log loss": lambda intervals: Swap("log", intervals=intervals, horizon=ROUNDS),
}
# The ratios to river's pair that were promised, by forecaster, number of intervals and stream.
BASE_TARGETS = {
    ("Interval", 100): 0.4,
    **{
        (f"Swap, {loss} loss", intervals): 0.2
        for loss in ("squared", "log")
        for intervals in (50, 500)
    },
}
RESTARTING_TARGET = 0.6
FRAMEWORKS = {
    **{f'Refined("{m}")': lambda m=m: Refined(m, horizon=ROUNDS) for m in CERTIFIED_MEASURES},
    **{f'Restarting("{m}")': lambda m=m: Restarting(m, horizon=ROUNDS) for m in CERTIFIED_MEASURES},
}


def costs(contenders):
    """Return the time of river's pair, and by contender and stream that of a round of `run`."""
    timings = {
        (name, stream): lambda make=make, outcomes=outcomes: run_time(make(), outcomes)
        for name, make in contenders.items()
        for stream, outcomes in STREAMS.items()
    }
    times = take_turns({RIVER: river_pair, **timings})
    return times.pop(RIVER), times


def verdict(target, ratios):
    """Return the target of the ratios, and whether all streams meet it."""
    if target is None:
        return ""
    return f"{target}, {'met' if max(ratios) <= target else 'missed'}"


def cost_table(title, river, rows):
    """Return a table of (what, times by stream, target) rows, in ns and in river's pairs."""
    return table(
        f"{title}; river's predict + learn pair took {river:,.0f} ns in the same run",
        [
            "forecaster",
            *(f"{stream}, ns" for stream in STREAMS),
            *(f"{stream}, ratio to river" for stream in STREAMS),
            "target of the ratio",
        ],
        [
            [
                what,
                *(f"{ns:,.0f}" for ns in times.values()),
                *(f"{ns / river:.3f}" for ns in times.values()),
                verdict(target, [ns / river for ns in times.values()]),
            ]
            for what, times, target in rows
        ],
    )


def by_intervals():
    """Return river's time and the times of the base forecasters by intervals and stream."""
    asked = {(name, intervals) for name in BASES for intervals in INTERVALS} | set(BASE_TARGETS)
    contenders = {
        (name, intervals): lambda name=name, intervals=intervals: BASES[name](intervals)
        for name, intervals in sorted(asked)
    }
    return costs(contenders)


def class_sizes():
    """Return a table of how many points a stationary distribution rests on."""
    contenders = {
        **{
            f"{name}, {intervals} intervals": lambda name=name, N=intervals: BASES[name](N)
            for name in BASES
            if name.startswith("Swap")
            for intervals in (50, 500)
        },
        **{name: make for name, make in FRAMEWORKS.items() if "pseudo" in name},
    }
    rows = []
    for name, make in contenders.items():
        row = [name]
        for outcomes in STREAMS.values():
            sizes = np.diff(make().trace(outcomes)[1].starts)
            row += [f"{sizes.mean():.1f}", f"{np.quantile(sizes, 0.99):.0f}"]
        rows.append(row)
    head = [f"{stream}, {what}" for stream in STREAMS for what in ("mean", "99 %")]
    return table("Points in the distribution of a round", ["forecaster", *head], rows)


def draw(river, times):
    """Plot the cost of a round against the number of intervals."""
    import matplotlib as mpl  # noqa: PLC0415 - a second to import, for one figure

    mpl.use("Agg")
    # No dates and no random ids: the same numbers give the same file.
    mpl.rcParams.update({"svg.hashsalt": "intervals", "font.size": 9, "svg.fonttype": "path"})
    from matplotlib import pyplot as plt  # noqa: PLC0415

    # Okabe and Ito's colours; markers and dashes tell the lines apart without them.
    looks = {
        "Interval": {"color": "#0072B2", "marker": "o"},
        "Swap, squared loss": {"color": "#D55E00", "marker": "s"},
        "Swap, log loss": {"color": "#009E73", "marker": "^"},
    }
    dashes = {"iid 0.5": ":", "drift": "-"}
    figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
    for name, look in looks.items():
        for stream, dash in dashes.items():
            points = sorted(
                (intervals, ns)
                for ((base, intervals), timed), ns in times.items()
                if base == name and timed == stream
            )
            axes.plot(*zip(*points, strict=True), dash, **look, label=f"{name}, {stream}")
    axes.axhline(river, color="black", linestyle="--", linewidth=1)
    axes.annotate(
        "river's predict + learn pair", (INTERVALS[0], river), xytext=(0, 4),
        textcoords="offset points",
    )  # fmt: skip
    axes.set(xscale="log", yscale="log", xlabel="intervals", ylabel="ns a round of run")
    axes.set_xticks(INTERVALS, [str(intervals) for intervals in INTERVALS])
    heights = (100, 200, 500, 1000, 2000, 5000)
    axes.set_yticks(heights, [f"{ns:,}" for ns in heights])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(FIGURE, metadata={"Date": None})
    plt.close(figure)


def tables(progress):
    """Return the tables of this module, one after the other."""
    progress("paper: cost by intervals")
    river, times = by_intervals()
    draw(river, times)
    keys = sorted({key for key, _ in times})
    rows = [
        (
            f"{name}, {intervals} intervals",
            {stream: times[(name, intervals), stream] for stream in STREAMS},
            BASE_TARGETS.get((name, intervals)),
        )
        for name, intervals in keys
    ]
    title = f"A round of `run` by the number of intervals, {ROUNDS:,} rounds"
    yield cost_table(title, river, rows)
    yield f"![Cost of a round against the number of intervals]({FIGURE.name})\n"

    progress("paper: points of a distribution")
    yield class_sizes()

    progress("paper: cost of the frameworks")
    river, times = costs(FRAMEWORKS)
    rows = [
        (
            name,
            {stream: times[name, stream] for stream in STREAMS},
            RESTARTING_TARGET if name.startswith("Restarting") else None,
        )
        for name in FRAMEWORKS
    ]
    restarting = {
        stream: np.mean([times[f'Restarting("{m}")', stream] for m in CERTIFIED_MEASURES])
        for stream in STREAMS
    }
    rows.append(("Restarting, mean of the four", restarting, RESTARTING_TARGET))
    title = f"A round of `run` of the frameworks, {ROUNDS:,} rounds"
    yield cost_table(title, river, rows)
