"""Labels that come in batches: the Recalibrator beside plain refits, of which the best is taken.

A month's rows are scored together, and all their labels come together, before the next month is
scored. Losses are expected log losses above that of the truth, which made streams know, from the
second month on.
"""

import numpy as np
from sklearn.isotonic import IsotonicRegression

from benchmarks.tables import table
from calibrant import Fleet, Recalibrator
from calibrant.measures import cal2

TITLE = "Labels that come in batches"
MONTHS = {300: 60, 3_000: 36, 30_000: 24}  # batches, by their size
SEEDS = range(20, 25)
OTHER_SIZE, OTHER_MONTHS = 700, 60
WINDOWS = {"Platt, 1": 1, "Platt, 3": 3, "Platt, 6": 6, "Platt, all": 10**6}
CUTS = (1, 10, 100)
KEYED_SEEDS, KEYED_MONTHS = range(20, 23), 24
KEYED = {
    "5 groups": (lambda seed: Recalibrator(seed=seed), 5),
    "100 groups": (lambda seed: Recalibrator(seed=seed), 100),
    "Fleet, 5 keys": (Fleet, 5),
    "Fleet, 1,000 keys": (Fleet, 1_000),
}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def logit(p):
    return np.log(p) - np.log1p(-p)


# -- streams --------------------------------------------------------------------------------------


def steady(make):
    """A kind whose truth depends on the logit of the score alone."""
    return lambda random, months: lambda month, x: make(x)


def walking(step, slope=1.0, shift=0.0, tilt=0.0):
    """A kind whose offset takes a random step a month, and whose slope may."""

    def start(random, _months):
        state = {"offset": 0.0, "slope": slope}

        def truth(_month, x):
            state["offset"] += random.normal(0, step)
            state["slope"] *= np.exp(random.normal(0, tilt)) if tilt else 1.0
            return state["slope"] * x + state["offset"] + shift

        return truth

    return start


def shocked(spread, keep=0.0, slope=1.0, shift=0.0):
    """A kind whose months have shocks of their own; each keeps a part of the one before."""

    def start(random, _months):
        state = {"shock": 0.0}

        def truth(_month, x):
            state["shock"] = keep * state["shock"] + random.normal(0, spread)
            return slope * x + shift + state["shock"]

        return truth

    return start


def jumping(_random, months):
    return lambda month, x: x if month < months // 2 else 0.6 * x - 0.9


def bent(x):
    return logit(0.04 + 0.5 * sigmoid(2.5 * (x + 0.3)) + 0.1 * (x > 1.0))


KINDS = {
    "stationary": steady(lambda x: 0.55 * x - 0.7),
    "drift": walking(0.2),
    "jump": jumping,
    "bent": steady(bent),
    "calibrated": steady(lambda x: x),
}
OTHERS = {
    "a weekly walk": walking(0.08, slope=0.8, shift=-0.3),
    "unequal sizes": walking(0.1, slope=0.7, shift=-0.3),
    "rare events": steady(lambda x: 0.7 * x - 0.5),
    "seasons": lambda random, months: lambda month, x: x + 0.5 * np.sin(2 * np.pi * month / 12),
    "slow drift": walking(0.05, tilt=0.03),
    "shocks that last": shocked(0.5, keep=0.5),
    "shocks that do not": shocked(0.4, slope=0.8, shift=-0.4),
    "regions in turn": lambda random, months: (
        lambda month, x: 0.8 * x + (-0.8, -0.3, 0.2, 0.5)[month % 4] - 0.2
    ),
}


def made(kind, size, months, seed):
    """Return a stream as a list of batches: scores, outcomes and their true probabilities."""
    random = np.random.default_rng([seed, size, months, *kind.encode()])
    truth = {**KINDS, **OTHERS}[kind](random, months)
    sizes = [size] * months
    if kind == "unequal sizes":
        sizes = np.maximum(5, size * np.exp(random.normal(0, 1.3, months)) / 2).astype(int)
    batches = []
    for month, rows in enumerate(sizes):
        x = random.normal(-3.8 if kind == "rare events" else -0.8, 1.2, rows)
        q = sigmoid(truth(month, x))
        batches.append((sigmoid(x), (random.random(rows) < q).astype(float), q))
    return batches


# -- players --------------------------------------------------------------------------------------


def platt(scores, outcomes):
    """Return a fit of slope and offset to the logits: scikit-learn's default, by Newton steps."""
    x, a, b = logit(scores), 1.0, 0.0
    for _ in range(20):
        p = sigmoid(a * x + b)
        r, h = p - outcomes, p * (1 - p)
        slopes = np.array([[h @ (x * x) + 1.0, h @ x], [h @ x, h.sum() + 1e-6]])
        da, db = np.linalg.solve(slopes, [r @ x + a, r.sum()])
        longest = max(abs(da), abs(db))
        a, b = (each - step * min(1.0, 1.5 / longest) for each, step in ((a, da), (b, db)))
        if longest < 1e-3:
            break
    return lambda s: sigmoid(a * logit(s) + b)


def isotonic(scores, outcomes):
    fit = IsotonicRegression(y_min=1e-3, y_max=1 - 1e-3, out_of_bounds="clip")
    return fit.fit(scores, outcomes).predict


def refits(batches, late):
    """Return what plain refits predict, each by the batches that it remembers."""
    found = {"raw": [scores for scores, _, _ in batches]}
    for name, window in {**WINDOWS, "isotonic, 3": 3}.items():
        found[name] = []
        for month, (scores, _, _) in enumerate(batches):
            past = batches[max(0, month - late - window) : max(0, month - late)]
            if not past:
                found[name].append(scores)
                continue
            known = [np.concatenate([batch[i] for batch in past]) for i in (0, 1)]
            fit = isotonic(*known) if name.startswith("iso") else platt(*known)
            found[name].append(fit(scores))
    return found


def played(batches, late, seed, cut=None):
    """Return what a Recalibrator predicts; labels come in calls of at most `cut` rows."""
    recalibrator = Recalibrator(seed=seed, capacity=sum(len(batch[0]) for batch in batches))
    predictions, waiting, first = [], [], 0
    for scores, outcomes, _ in batches:
        if len(waiting) > late:
            ids, known = waiting.pop(0)
            size = len(ids) if cut is None else cut
            for start in range(0, len(ids), size):
                part = slice(start, start + size)
                recalibrator.update_many(known[part], ids=ids[part])
        ids = np.arange(first, first + len(scores))
        first += len(scores)
        predictions.append(recalibrator.predict_many(scores, ids=ids))
        waiting.append((ids, outcomes))
    return predictions


def played_by_key(batches, seed, keys, make):
    """Return what a model predicts whose rows have keys that say nothing, drawn from so many."""
    random = np.random.default_rng(seed)
    model, predictions, first = make(seed), [], 0
    for scores, outcomes, _ in batches:
        ids, names = np.arange(first, first + len(scores)), random.integers(0, keys, len(scores))
        first += len(scores)
        if isinstance(model, Fleet):
            predictions.append(model.predict_many(names, scores, ids=ids))
        else:
            predictions.append(model.predict_many(scores, ids=ids, by=names.tolist()))
        model.update_many(outcomes, ids=ids)
    return predictions


# -- tables ---------------------------------------------------------------------------------------


def loss(predictions, batches):
    """Return the expected log loss above the truth, from the second batch on, in 1e-4."""
    p = np.clip(np.concatenate(predictions[1:]), 1e-9, 1 - 1e-9)
    q = np.concatenate([batch[2] for batch in batches[1:]])
    return 1e4 * np.mean(q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p)))


def measured(kind, size, months, late=0, cuts=()):
    """Return the losses of all, the mean over seeds, and Cal2 of the Recalibrator."""
    rows, errors = [], []
    for seed in SEEDS:
        batches = made(kind, size, months, seed)
        players = refits(batches, late) | {"calibrant": played(batches, late, seed)}
        players |= {f"cut {cut}": played(batches, late, seed, cut) for cut in cuts}
        rows.append({name: loss(each, batches) for name, each in players.items()})
        outcomes = np.concatenate([batch[1] for batch in batches[1:]])
        errors.append(cal2(np.concatenate(players["calibrant"][1:]), outcomes))
    return {name: np.mean([row[name] for row in rows]) for name in rows[0]}, np.mean(errors)


def row_of(label, means, error):
    plain = {name: mean for name, mean in means.items() if name != "calibrant"}
    best = min(plain, key=lambda name: plain[name])
    gap = means["calibrant"] - plain[best]
    ours = f"{means['calibrant']:.1f}"
    return [label, best, f"{plain[best]:.1f}", ours, f"{gap:+.1f}", f"{error:.0f}"]


HEAD = ["stream", "best refit", "its loss", "Recalibrator", "difference", "Cal2"]


def tables(progress):
    """Return the tables of this module, one after the other."""
    rows = []
    for size, months in MONTHS.items():
        for kind in KINDS:
            progress(f"batches: {kind}, {size:,}")
            rows.append(row_of(f"{kind}, {size:,}", *measured(kind, size, months)))
    yield table("Labels a month later, in one call", HEAD, rows)
    rows = []
    for kind in OTHERS:
        progress(f"batches: {kind}")
        rows.append(row_of(kind, *measured(kind, OTHER_SIZE, OTHER_MONTHS)))
    yield table(f"Other structures, {OTHER_SIZE} a batch", HEAD, rows)
    rows = []
    for kind in KINDS:
        progress(f"batches: {kind}, one batch later")
        rows.append(row_of(kind, *measured(kind, 3_000, MONTHS[3_000], late=1)))
    yield table("Labels one batch later still, 3,000 a batch", HEAD, rows)
    rows = []
    for kind in KINDS:
        progress(f"batches: {kind}, calls cut")
        means, _ = measured(kind, 300, MONTHS[300], cuts=CUTS)
        names = ["calibrant", *(f"cut {cut}" for cut in CUTS)]
        rows.append([kind, *(f"{means[name]:.1f}" for name in names)])
    yield table(
        "The same labels in smaller calls, 300 a batch",
        ["stream", "one call", *(f"{cut} a call" for cut in CUTS)],
        rows,
    )
    yield by_key(progress)


def by_key(progress):
    """Return the table of groups and keys that are alike."""
    rows = []
    for kind in KINDS:
        progress(f"batches: {kind}, keys")
        streams = {seed: made(kind, 3_000, KEYED_MONTHS, seed) for seed in KEYED_SEEDS}
        each = [[loss(played(batches, 0, seed), batches) for seed, batches in streams.items()]]
        for make, keys in KEYED.values():
            each.append(
                [
                    loss(played_by_key(batches, seed, keys, make), batches)
                    for seed, batches in streams.items()
                ]
            )
        rows.append([kind, *(f"{np.mean(losses):.1f}" for losses in each)])
    return table(
        "Groups and keys that are alike, 3,000 a batch",
        ["stream", "Recalibrator", *KEYED],
        rows,
    )
