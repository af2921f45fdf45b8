"""Processor time per round, from Python and in the compiled loop, and that of other libraries."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.peers import NumpyFosterHart, RiverPair
from benchmarks.tables import table
from calibrant import Epoch, Zoom
from calibrant.forecasters.rivals import FosterHart, RunningMean
from calibrant.streams import drift, piecewise
from naive.zoom import NaiveZoom

TITLE = "Speed and memory"
PAIRS = "One predict + update, called from Python, in processor time"
LOOPS = "`run` on a drifting stream of 1,000,000 rounds, in processor time"
IN_DOCS = {"docs/results.md": (PAIRS, LOOPS)}
REPEATS = 7
# Python floats, so that no contender spends time on unpacking NumPy's.
PAIR_OUTCOMES = drift(20_000, seed=1).outcomes.tolist()


def pair_time(forecaster, outcomes):
    """Return nanoseconds of one predict + update, called from Python."""
    predict, update = forecaster.predict, forecaster.update
    start = time.process_time_ns()
    for outcome in outcomes:
        predict()
        update(outcome)
    return (time.process_time_ns() - start) / len(outcomes)


def run_time(forecaster, outcomes):
    """Return nanoseconds a round of `run`."""
    start = time.process_time_ns()
    forecaster.run(outcomes)
    return (time.process_time_ns() - start) / len(outcomes)


def take_turns(timings):
    """Return the median of each timing; they take turns, so that all see the same load."""
    times = {name: [] for name in timings}
    for _ in range(REPEATS):
        for name, measure in timings.items():
            times[name].append(measure())
    return {name: statistics.median(values) for name, values in times.items()}


def side_by_side(measure, contenders, outcomes):
    """Return the median time of each contender on the same outcomes."""
    return take_turns(
        {name: lambda make=make: measure(make(), outcomes) for name, make in contenders.items()}
    )


def river_pair():
    """Return nanoseconds of river's predict + learn: the unit of other costs."""
    return pair_time(RiverPair(), PAIR_OUTCOMES)


def rounds_from_python():
    contenders = {
        "Zoom": Zoom,
        "Epoch": Epoch,
        "FosterHart, 46 gaps": lambda: FosterHart(46),
        "RunningMean": RunningMean,
        "Zoom in plain Python": lambda: NaiveZoom(seed=0),
        "Foster-Hart in NumPy, 46 gaps": lambda: NumpyFosterHart(46),
        "river LogisticRegression, predict + learn": RiverPair,
    }
    times = side_by_side(pair_time, contenders, PAIR_OUTCOMES)
    river = times["river LogisticRegression, predict + learn"]
    rows = [(name, f"{ns:,.0f}", f"{river / ns:.1f}") for name, ns in times.items()]
    return river, table(
        PAIRS,
        ["forecaster", "ns a round", "times faster than river"],
        rows,
    )


def rounds_in_run(river):
    contenders = {
        "Zoom": Zoom,
        "Epoch": Epoch,
        "FosterHart, 100 gaps": lambda: FosterHart(100),
        "RunningMean": RunningMean,
    }
    times = side_by_side(run_time, contenders, drift(1_000_000, seed=1).outcomes)
    rows = [
        (name, f"{ns:.0f}", f"{1e3 / ns:.0f}", f"{river / ns:.0f}") for name, ns in times.items()
    ]
    return table(
        LOOPS,
        ["forecaster", "ns a round", "million rounds a second", "times faster than river's pair"],
        rows,
    )


MEMORY = """
import sys
from pathlib import Path
import numpy as np
from calibrant import Zoom

def kilobytes(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))

outcomes = np.load(sys.argv[1])
forecaster = Zoom()
forecaster.run(outcomes[:1000])
Path("/proc/self/clear_refs").write_text("5")  # reset the peak of memory use
before = kilobytes("VmRSS")
predictions = forecaster.run(outcomes)
print((kilobytes("VmHWM") - before) * 1024 - predictions.nbytes)
"""


def extra_memory(outcomes):
    """Return MB that `run` needs besides its input and its output, in a separate process."""
    if not Path("/proc/self/clear_refs").exists():
        return "not measured"  # only Linux can reset the peak
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outcomes.npy"
        np.save(path, outcomes)
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, check=True
        )
    return f"{max(0, int(done.stdout)) / 1e6:.1f}"


def growth_with_rounds():
    rows = []
    for rounds in (10**4, 10**5, 10**6, 10**7):
        outcomes = drift(rounds, seed=1).outcomes
        repeats = 3 if rounds == 10**7 else REPEATS
        ns = statistics.median(run_time(Zoom(), outcomes) for _ in range(repeats))
        forecaster = Zoom()
        forecaster.run(outcomes)
        points = len(forecaster.grid().points)
        rows.append(
            (
                f"{rounds:,}", f"{ns:.0f}", points, f"{sys.getsizeof(forecaster):,}",
                f"{len(forecaster.to_bytes()):,}", extra_memory(outcomes),
            )
        )  # fmt: skip
    return table(
        "Zoom as the rounds grow (drifting stream)",
        ["rounds", "ns a round", "points", "bytes in memory", "bytes saved", "extra MB of `run`"],
        rows,
    )


def growth_with_points():
    """Zoom on uniform levels that change ever more often: more changes, more points."""
    rows = []
    for segments in (1, 10, 100, 1000, 10_000):
        outcomes = piecewise(1_000_000, segments=segments, seed=1).outcomes
        ns = statistics.median(run_time(Zoom(), outcomes) for _ in range(REPEATS))
        forecaster = Zoom()
        forecaster.run(outcomes)
        rows.append((f"{segments:,}", len(forecaster.grid().points), f"{ns:.0f}"))
    return table(
        "Zoom as the points grow (1,000,000 rounds, levels that change)",
        ["segments", "points", "ns a round"],
        rows,
    )


IMPORTS = "import time; s = time.process_time(); import {}; print(time.process_time() - s)"


def import_times():
    """Return the processor time to import each package in a fresh process; they take turns."""
    times = {"numpy": [], "calibrant": [], "river.linear_model": []}
    for _ in range(15):
        for name, values in times.items():
            done = subprocess.run(
                [sys.executable, "-c", IMPORTS.format(name)],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            values.append(float(done.stdout))
    medians = {name: statistics.median(values) for name, values in times.items()}
    rows = [
        (f"import {name}", f"{1e3 * s:.0f}", f"{s / medians['numpy']:.2f}")
        for name, s in medians.items()
    ]
    return table("Processor time to import", ["", "ms", "times numpy"], rows)


def tables(progress):
    """Return the tables of this module, one after the other."""
    progress("speed: from Python")
    river, first = rounds_from_python()
    yield first
    progress("speed: the compiled loop")
    yield rounds_in_run(river)
    progress("speed: growth with rounds")
    yield growth_with_rounds()
    progress("speed: growth with points")
    yield growth_with_points()
    progress("speed: imports")
    yield import_times()
