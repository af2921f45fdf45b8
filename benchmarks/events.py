"""Sharpness, calibration and speed of the event forecaster, compared with rivals and the truth."""

import sys

import numpy as np

from benchmarks.peers import RiverPair
from benchmarks.speed import PAIR_OUTCOMES, pair_time, run_time, take_turns
from benchmarks.tables import table
from calibrant import EventForecaster, Zoom
from calibrant.forecasters.rivals import ContextTree, ExponentialWindow, MarkovTable
from calibrant.measures import brier, cal2, log_loss
from calibrant.streams import (
    Chaser,
    Contrarian,
    Greedy,
    March,
    alternating,
    cycle,
    drift,
    hidden_markov,
    iid,
    load,
    markov,
    names,
    play,
    regimes,
    runs,
)

TITLE = "Sharp from the past"
SEEDS = range(10)
GAMES = range(100, 110)  # the constants were chosen on seeds below
#: Stream, and the log loss above the truth's that was promised at 20,000 and 200,000 rounds.
MADE = {
    "i.i.d. 0.3": (lambda T, seed: iid(T, mean=0.3, seed=seed), (0.0008, 0.0003)),
    "Markov, order 1": (lambda T, seed: markov(T, order=1, seed=seed), (0.0012, 0.0005)),
    "Markov, order 3": (lambda T, seed: markov(T, order=3, seed=seed), (0.0022, 0.0008)),
    "Markov, order 6": (lambda T, seed: markov(T, order=6, seed=seed), (0.010, 0.002)),
    "hidden Markov": (lambda T, seed: hidden_markov(T, seed=seed), (0.012, 0.0045)),
    "period 24 with noise": (lambda T, seed: cycle(T, seed=seed), (0.0085, 0.0014)),
    "runs of 5 to 40": (lambda T, seed: runs(T, seed=seed), (None, None)),
    "regimes, 8 stretches": (lambda T, seed: regimes(T, seed=seed), (None, None)),
}
ROUNDS = (20_000, 200_000)
AHEAD, AHEAD_ROUNDS = (1, 2, 5, 12, 50), 20_000
RIVALS = {
    "Zoom": Zoom,
    **{f"mean, half-life {h}": lambda h=h: ExponentialWindow(h) for h in (3, 14, 70, 230, 700)},
    **{f"Markov table {order}": lambda order=order: MarkovTable(order) for order in (1, 4, 8)},
}
ALLOWED = 0.0005
CAL2_REAL, CAL2_HOSTILE = 40, 60
OPPONENTS = {
    "Greedy, Cal1": lambda: Greedy("l1"),
    "Greedy, Cal2": lambda: Greedy("l2"),
    "Contrarian": Contrarian,
    "Chaser": Chaser,
    "March": lambda: March(GAME),
}
GAME = 50_000


def verdict(value, most):
    """Return a target and whether it is met."""
    return "" if most is None else f"{most:,}, {'met' if value <= most else 'missed'}"


def above_truth(rounds, at, progress):
    rows = []
    for name, (make, targets) in MADE.items():
        progress(f"events: {name}, {rounds:,} rounds")
        above = {"own": [], "tree": [], "zoom": []}
        for seed in SEEDS:
            truth = make(rounds, seed)
            least = log_loss(truth.means, truth.outcomes)
            for who, forecaster in (
                ("own", EventForecaster(seed=seed)), ("tree", ContextTree(8)), ("zoom", Zoom(seed)),
            ):  # fmt: skip
                above[who].append(log_loss(forecaster.run(truth.outcomes), truth.outcomes) - least)
        own, tree, zoom = (np.mean(values) for values in above.values())
        rows.append((name, f"{own:.5f}", verdict(own, targets[at]), f"{tree:.5f}", f"{zoom:.5f}"))
    if at == 0:
        outcomes = alternating(rounds).outcomes
        error = brier(EventForecaster().run(outcomes), outcomes)
        rows.append(("alternating: Brier score", f"{error:.5f}", verdict(error, 0.0003), "", ""))
    return table(
        f"Log loss above the truth's, {rounds:,} rounds, mean of {len(SEEDS)} seeds",
        ["stream", "EventForecaster", "target", "context tree, depth 8", "Zoom"],
        rows,
    )


def real_streams(progress):
    rows = []
    for name in names():
        progress(f"events: {name}")
        outcomes = load(name).outcomes
        predictions = EventForecaster().run(outcomes)
        losses = {who: log_loss(make().run(outcomes), outcomes) for who, make in RIVALS.items()}
        best = min(losses, key=losses.get)
        own, error = log_loss(predictions, outcomes), cal2(predictions, outcomes)
        rows.append(
            (
                name, f"{own:.4f}", f"{losses[best]:.4f}", best,
                verdict(own - losses[best], ALLOWED), f"{losses['Zoom']:.4f}",
                f"{brier(predictions, outcomes):.4f}", f"{error:.1f}", verdict(error, CAL2_REAL),
            )
        )  # fmt: skip
    return table(
        "Real streams: log loss beside the best of nine rivals",
        [
            "stream", "EventForecaster", "best rival", "which", "above it, target", "Zoom",
            "Brier", "Cal2", "target",
        ],
        rows,
    )  # fmt: skip


def hostile(progress):
    rows = []
    for name, make in OPPONENTS.items():
        progress(f"events: {name}")
        games = [play(EventForecaster(seed=seed), make(), GAME) for seed in GAMES]
        errors = [cal2(game.predictions, game.outcomes) for game in games]
        rows.append(
            (
                name,
                f"{np.mean(errors):.0f}",
                f"{max(errors):.0f}",
                verdict(max(errors), CAL2_HOSTILE),
            )
        )
    return table(
        f"Cal2 under opponents, {GAME:,} rounds, {len(GAMES)} seeds",
        ["opponent", "mean", "worst", "target"],
        rows,
    )


def cost():
    streams = {rounds: drift(rounds, seed=1).outcomes for rounds in (10_000, 100_000, 1_000_000)}
    timings = {
        "river": lambda: pair_time(RiverPair(), PAIR_OUTCOMES),
        "pair": lambda: pair_time(EventForecaster(), PAIR_OUTCOMES),
        **{
            rounds: lambda outcomes=outcomes: run_time(EventForecaster(), outcomes)
            for rounds, outcomes in streams.items()
        },
    }
    times = take_turns(timings)
    river = times["river"]
    rows = [
        ("river LogisticRegression, predict + learn", f"{river:,.0f}", "1.00", ""),
        ("predict + update", f"{times['pair']:,.0f}", f"{times['pair'] / river:.2f}",
         verdict(times["pair"] / river, 0.5)),
        *(
            (f"a round of `run`, {rounds:,} rounds", f"{times[rounds]:,.0f}",
             f"{times[rounds] / river:.2f}", verdict(times[rounds] / river, 0.35))
            for rounds in streams
        ),
    ]  # fmt: skip
    return table("Speed", ["", "ns", "river's pairs", "target"], rows)


def memory():
    fresh = sys.getsizeof(EventForecaster())
    rows = [("fresh", f"{fresh:,}", verdict(fresh, 32_000))]
    outcomes = iid(1_000_000, seed=1).outcomes
    for rounds in (1_000, 100_000, 1_000_000):
        forecaster = EventForecaster()
        forecaster.run(outcomes[:rounds])
        size = sys.getsizeof(forecaster)
        rows.append((f"after {rounds:,} rounds", f"{size:,}", verdict(size, 1_000_000)))
    return table("Bytes in memory, outcomes without any pattern", ["", "bytes", "target"], rows)


def sticky(rounds, seed, ahead):
    """Return a chain that stays where it is for 20 rounds on average, and its mean `ahead` on."""
    turns = np.random.default_rng([seed, rounds]).random(rounds) < 0.05
    outcomes = np.cumsum(turns) % 2
    kept = np.concatenate([np.zeros(ahead), outcomes[:-ahead]])
    return outcomes.astype(float), 0.5 + 0.9**ahead * (kept - 0.5)


def ahead(progress):
    """How much sharpness and calibration are lost several rounds ahead."""
    streams = {
        "i.i.d. 0.3": lambda seed, _: iid(AHEAD_ROUNDS, mean=0.3, seed=seed),
        "period 24 with noise": lambda seed, _: cycle(AHEAD_ROUNDS, seed=seed),
        "stays for 20 rounds": lambda seed, h: sticky(AHEAD_ROUNDS, seed, h),
    }
    rows = []
    for name, make in streams.items():
        progress(f"events: ahead, {name}")
        row = [name]
        for h in AHEAD:
            above, errors = [], []
            for seed in SEEDS:
                made = make(seed, h)
                outcomes, truth = made if isinstance(made, tuple) else (made.outcomes, made.means)
                predicted = EventForecaster(seed=seed, ahead=h).run(outcomes)
                above.append(log_loss(predicted, outcomes) - log_loss(truth, outcomes))
                errors.append(cal2(predicted, outcomes))
            row.append(f"{np.mean(above):.4f}, {np.mean(errors):.0f}")
        rows.append(row)
    return table(
        f"Several rounds ahead: log loss above the truth's, and Cal2; {AHEAD_ROUNDS:,} rounds, "
        f"mean of {len(SEEDS)} seeds",
        ["stream", *(f"{h} ahead" for h in AHEAD)],
        rows,
    )


def tables(progress):
    """Return the tables of this module, one after the other."""
    for at, rounds in enumerate(ROUNDS):
        yield above_truth(rounds, at, progress)
    yield real_streams(progress)
    yield hostile(progress)
    yield ahead(progress)
    progress("events: speed")
    yield cost()
    yield memory()
