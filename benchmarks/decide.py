"""Decisions: the results of each rule, compared with common practice and with hindsight.

- Budget: "caught" is the events among the acts, over those among as many of the likeliest rows of
  each disjoint window. A fixed threshold has caught 1 by definition but violates its windows; a
  coin respects its windows and catches little, so read both columns together.
- Costs: over the best single threshold in hindsight, on the probabilities and on the raw scores.
- Precision and recall: acts over those of the best single threshold in hindsight.
- Selective outcomes: outcomes are known only for rows acted on, those of explored ones perhaps with
  a weight of one over their propensity.
"""

from math import erf, pi, sqrt
from statistics import NormalDist
from time import process_time

import numpy as np

from benchmarks.decide_streams import MADE, flights, logistic, made
from benchmarks.tables import table
from calibrant import Decider, NumberRecalibrator, Recalibrator
from calibrant.decide.hindsight import (
    cheapest_threshold,
    precise_threshold,
    recalling_threshold,
)

TITLE = "Acting on probabilities"
SEEDS = range(3)
PER = 10_000
BUDGETS = (0.01, 0.05)
COSTS = (5, 20, 100)
DAY = 86_400.0
LAST = 50_000
TUNED = 20_000
START = 5_000  # rows that selective outcomes are not judged on
SQRT_2, SQRT_2PI = sqrt(2), sqrt(2 * pi)

CAUGHT = f"Budgets of 1 % and 5 % per {PER:,} rows: windows (in budgets) and caught"
OTHERS = f"The same with what people do: 1 % per {PER:,} rows"
DAYS = 'Flights with a budget per="1d"'
COST = "Costs, over those of the best single threshold in hindsight"
PRECISION = "A floor of precision"
RECALL = "A floor of recall, 6 draws"
SELECTIVE = "Recalibrators that only know what was acted on: excess loss, in 1e-4"
SPEED = "Nanoseconds a decision"
IN_DOCS = {"docs/decide.md": (CAUGHT, OTHERS, DAYS, COST, PRECISION, RECALL, SELECTIVE)}


def all_streams(progress):
    """Yield a name, and the streams of that name, one per seed."""
    progress("decide: flights")
    yield "flights", [flights()]
    for name in MADE:
        progress(f"decide: {name}")
        yield name, [made(name, seed) for seed in SEEDS]


# -- measures -------------------------------------------------------------------------------------


def windows(acts, budget, per=PER):
    """Return the least and the greatest share of acts in a sliding window, in budgets."""
    sums = np.concatenate([[0], np.cumsum(acts)])
    shares = (sums[per:] - sums[:-per]) / (per * budget)
    return shares.min(), shares.max()


def caught(acts, p, y, per=PER):
    """Return the events acted on, over those of as many of the likeliest rows of each window."""
    got = best = 0.0
    order = np.random.default_rng(1).random(len(p))  # equal probabilities are told apart at random
    for start in range(0, len(p) - per + 1, per):
        rows = slice(start, start + per)
        likeliest = np.lexsort((order[rows], -p[rows]))[: acts[rows].sum()]
        got, best = got + y[rows][acts[rows]].sum(), best + y[rows][likeliest].sum()
    return got / max(best, 1.0)


def best_cost(scores, y, missing):
    """Return the least cost of a single threshold, in hindsight; acting costs 1."""
    best = cheapest_threshold(scores, y, [[0.0, missing], [1.0, 1.0]])
    return cost(scores >= best, y, missing)


def cost(acts, y, missing):
    return acts.sum() + missing * y[~acts].sum()


# -- what people do -------------------------------------------------------------------------------


def coin(p, share, seed=0):
    return np.random.default_rng(seed).random(len(p)) < share


def fixed(p, share):
    return p >= np.quantile(p[:TUNED], 1 - share)


def rolling(p, share, width=PER, every=100):
    """Act above the quantile of the last rows, looked up now and then."""
    acts = np.zeros(len(p), dtype=bool)
    for start in range(every, len(p), every):
        rows = slice(start, start + every)
        acts[rows] = p[rows] >= np.quantile(p[max(start - width, 0) : start], 1 - share)
    return acts


def in_band(acts, per, most, least):
    """Return acts that are kept within cap and floor of every window, by force alone."""
    acts, sums = acts.copy(), np.zeros(len(acts) + 1, dtype=int)
    for i in range(len(acts)):
        inside = sums[i] - sums[max(i - per + 1, 0)]
        if inside >= most:
            acts[i] = False
        elif least - inside >= max(per - i, 1):
            acts[i] = True
        sums[i + 1] = sums[i] + acts[i]
    return acts


def others(p, budget, band=0.2):
    """Yield what people do, by name."""
    yield "a coin", coin(p, budget)
    yield "a threshold of the first 20,000", fixed(p, budget)
    moved = rolling(p, budget)
    yield "the quantile of the last 10,000", moved
    most, least = (round((1 + sign * band) * budget * PER) for sign in (1, -1))
    yield "the same, forced into the band", in_band(moved, PER, most, least)


# -- tables ---------------------------------------------------------------------------------------


def shown(values, digits=3):
    """Return the worst value of several seeds."""
    return f"{min(values):.{digits}f}"


def budget_row(name, found, band):
    row = [f"{name}, band {band}"]
    for budget in BUDGETS:
        acts = [Decider(budget=budget, band=band).decide_many(s.probabilities) for s in found]
        ends = [windows(a, budget) for a in acts]
        row.append(f"{min(e[0] for e in ends):.2f} to {max(e[1] for e in ends):.2f}")
        row.append(
            shown(
                [caught(a, s.probabilities, s.outcomes) for a, s in zip(acts, found, strict=True)]
            )
        )
    return row


def other_rows(name, stream):
    p, y, budget = stream.probabilities, stream.outcomes, BUDGETS[0]
    for who, acts in others(p, budget):
        low, high = windows(acts, budget)
        yield [f"{name}, {who}", f"{low:.2f} to {high:.2f}", f"{caught(acts, p, y):.3f}"]


def day_rows(stream):
    p, y = stream.probabilities, stream.outcomes
    day = (stream.at // DAY).astype(int) - int(stream.at[0] // DAY)
    rows = np.bincount(day)
    for budget in BUDGETS:
        for cap, floor in ((1.2, 0.8), (2.0, 0.0)):
            decider = Decider(budget=budget, per="1d", cap=cap, floor=floor)
            acts = decider.decide_many(p, at=stream.at)
            shares = np.bincount(day, acts) / rows / budget
            likeliest = np.lexsort((-p, day))  # by day, the likeliest first
            rank = np.arange(len(p)) - (np.cumsum(rows) - rows)[day]
            best = y[likeliest][rank < np.bincount(day, acts)[day]].sum()
            yield [
                f"{budget:.0%}, {floor:g} to {cap:g}", f"{acts.mean() / budget:.2f}",
                f"{shares.min():.2f} to {shares.max():.2f}",
                f"{(shares > cap + 1e-9).sum()} of {len(rows)}", f"{y[acts].sum() / best:.3f}",
            ]  # fmt: skip


def cost_row(name, found):
    row = [name]
    for missing in COSTS:
        ratios = []
        for s in found:
            decider = Decider(cost_of_acting=1, cost_of_missing=missing)
            paid = cost(decider.decide_many(s.probabilities), s.outcomes, missing)
            on_scores = best_cost(s.scores, s.outcomes, missing)
            raw = cost(decider.decide_many(s.scores), s.outcomes, missing)
            own = best_cost(s.probabilities, s.outcomes, missing)
            ratios.append((paid / own, paid / on_scores, raw / on_scores))
        row += [f"{worst:.3f}" for worst in np.max(ratios, axis=0)]
    return row


def precision_rows(name, found):
    for floor in (0.5, 0.7):
        rows = []
        for s in found:
            p, y = s.probabilities, s.outcomes
            best = (p >= precise_threshold(p, y, floor)).sum()
            if best < 300:
                continue
            decider = Decider(precision=floor)
            acts = decider.run(p, y, at=s.at, known=s.known)
            running = np.cumsum(y[acts]) / np.arange(1, acts.sum() + 1)
            late = acts[-LAST:]
            plain = p >= floor
            rows.append((
                acts.sum() / best, y[acts].mean(),
                running[500:].min() if len(running) > 500 else np.nan,
                y[-LAST:][late].mean() if late.sum() > 100 else np.nan,
                decider.precision_bound(), plain.sum() / best, y[plain].mean(),
            ))  # fmt: skip
        if rows:
            with np.errstate(all="ignore"):
                yield [f"{name}, {floor}", *(f"{v:.3f}" for v in np.fmin.reduce(rows))]


def recall_rows(name, found):
    for floor in (0.8, 0.95):
        s = found[0]
        p, y = s.probabilities, s.outcomes
        runs = [
            Decider(recall=floor, explore=0.02, seed=seed).run(p, y, at=s.at, known=s.known)
            for seed in range(6)
        ]
        whole = [y[acts].sum() / y.sum() for acts in runs]
        fewest = (p >= recalling_threshold(p, y, floor)).sum()
        yield [
            f"{name}, {floor}", f"{min(whole):.3f}", f"{np.mean(whole):.3f}",
            f"{np.std(whole):.4f}",
            f"{np.mean([a.sum() for a in runs]) / fewest:.2f}",
        ]  # fmt: skip


def bent(seed, rows):
    """Return scores, too low at the bottom and too high in the middle, chances and outcomes."""
    random = np.random.default_rng(seed)
    x = random.normal(-1.2, 1.3, rows)
    chances = logistic(np.where(x < 0, 0.5 * x - 0.8, 1.6 * x - 0.8))
    return logistic(x), chances, (random.random(rows) < chances).astype(float)


def labelled(decider, p, explore):
    """Return whether the outcome of a row is known, and the weight that makes up for the others.

    `explore` is None if all outcomes are known.
    """
    acts, chances = decider.decide_many([p], propensities=True)
    return explore is None or acts[0], 1.0 / chances[0] if acts[0] else 1.0


def excess_brier(seed, explore, has_weights, rows=200_000):
    """Return how far estimates are from the chances if only outcomes of acts are known.

    Acts above a half.
    """
    scores, chances, y = bent(seed, rows)
    recalibrator, decider = Recalibrator(), Decider(costs=[[0, 1], [1, 0]], explore=explore or 0.0)
    excess = 0.0
    for i in range(len(y)):
        p = recalibrator.smooth(scores[i])
        if i >= START:
            excess += (p - chances[i]) ** 2
        is_known, weight = labelled(decider, p, explore)
        if is_known:
            recalibrator.predict(scores[i])
            recalibrator.update(y[i], weight=weight if has_weights else None)
    return 1e4 * excess / (len(y) - START)


def bent_numbers(seed, rows=50_000):
    """Return forecasts, too high at the bottom and too low in the middle, means and outcomes."""
    random = np.random.default_rng(seed)
    x = random.normal(0, 2, rows)
    means = np.where(x < 0, 1.6 * x, 0.5 * x) - 0.5
    return x, means, random.normal(means, 1.0)


def pinball(quantiles, levels, mean):
    """Return the mean loss to expect of quantiles where outcomes are normal around a mean."""
    z = quantiles - mean
    below = np.array([0.5 * (1.0 + erf(each / SQRT_2)) for each in z])
    return np.mean(z * (below - levels) + np.exp(-0.5 * z * z) / SQRT_2PI)


def excess_pinball(seed, explore, has_weights):
    """Return what quantiles lose beyond the true ones if only outcomes of acts are known.

    Acts if the outcome is more likely above 0 than below.
    """
    forecasts, means, y = bent_numbers(seed)
    recalibrator, decider = (
        NumberRecalibrator(),
        Decider(costs=[[0, 1], [1, 0]], explore=explore or 0.0),
    )
    best = pinball(
        np.array([NormalDist().inv_cdf(t) for t in recalibrator.levels]), recalibrator.levels, 0.0
    )
    excess = 0.0
    for i in range(len(y)):
        distribution = recalibrator.predict(forecasts[i])
        if i >= START:
            excess += pinball(distribution.quantiles, recalibrator.levels, means[i]) - best
        is_known, weight = labelled(decider, 1.0 - distribution.cdf(0.0), explore)
        if is_known:
            recalibrator.update(y[i], weight=weight if has_weights else None)
    return 1e4 * excess / (len(y) - START)


def selective_rows(progress):
    ways = {
        "all outcomes": (None, False),
        "none explored": (0.0, False),
        "5 % explored": (0.05, False),
        "5 % explored, with weights": (0.05, True),
    }
    for name, way in ways.items():
        row = [name]
        for measured in (excess_brier, excess_pinball):
            found = []
            for seed in SEEDS:
                progress(f"decide: {measured.__name__}, {name}, seed {seed}")
                found.append(measured(seed, *way))
            row += [f"{np.mean(found):.1f}", f"{max(found):.1f}"]
        yield row


def speed_rows(stream):
    p = np.tile(stream.probabilities, 3)
    at, acts, chances = np.linspace(0, 3e7, len(p)), np.empty(len(p), np.uint8), np.empty(len(p))
    kinds = {
        "costs": ({"cost_of_acting": 1, "cost_of_missing": 20}, None),
        "budget": ({"budget": 0.01}, None),
        'budget per="1d"': ({"budget": 0.01, "per": "1d"}, at),
        "precision": ({"precision": 0.7}, None),
        "recall, 2 % explored": ({"recall": 0.95, "explore": 0.02}, None),
    }
    for name, (arguments, times) in kinds.items():
        taken = []
        for _ in range(5):
            decider = Decider(**arguments)
            start = process_time()
            decider._rule.decide_many(p, times, acts, chances)
            taken.append(1e9 * (process_time() - start) / len(p))
        yield [name, f"{min(taken):.0f}"]


def tables(progress):
    """Return the tables of this module, one after the other."""
    found = dict(all_streams(progress))
    ends = [f"{budget:.0%}{what}" for budget in BUDGETS for what in (": windows", ": caught")]
    progress("decide: budgets")
    rows = [budget_row(name, each, band) for band in (0.2, 0.5) for name, each in found.items()]
    yield table(CAUGHT, ["stream, the worst of its seeds", *ends], rows)
    rows = [row for name, each in found.items() for row in other_rows(name, each[0])]
    yield table(OTHERS, ["stream, rule", "windows", "caught"], rows)
    head = ["budget, floor to cap", "acts, in budgets", "days", "above the cap", "caught"]
    yield table(DAYS, head, day_rows(found["flights"][0]))
    head = ["stream", *(f"1:{m} {on}" for m in COSTS for on in ("on p", "on scores", "(raw)"))]
    yield table(COST, head, [cost_row(name, each) for name, each in found.items()])
    head = ["stream, floor", "acts / hindsight", "precision", "least after 500", "last 50,000",
            "bound", "p >= floor: acts", "precision"]  # fmt: skip
    progress("decide: precision")
    rows = [row for name, each in found.items() for row in precision_rows(name, each)]
    yield table(PRECISION, head, rows)
    progress("decide: recall")
    head = ["stream, floor", "least", "mean", "sd", "acts / hindsight"]
    rows = [row for name, each in found.items() for row in recall_rows(name, each)]
    yield table(RECALL, head, rows)
    head = ["outcomes known", "Brier", "worst seed", "pinball of numbers", "worst seed"]
    yield table(SELECTIVE, head, selective_rows(progress))
    yield table(SPEED, ["rule", "ns"], speed_rows(found["flights"][0]))
