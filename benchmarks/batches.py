"""Labels that arrive in batches: the Recalibrator compared with the best of several plain refits.

The rows of a month are scored together, and all their labels arrive together, before the next month
is scored. Losses are expected log losses above that of the truth, which is known for synthetic
streams, from the second month on.

``python -m benchmarks batches --python OTHER/bin/python`` adds what an older calibrant, installed
there, makes of the same streams.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.isotonic import IsotonicRegression

from benchmarks import machine
from benchmarks.tables import table
from calibrant import Fleet, Recalibrator
from calibrant.measures import cal2

TITLE = "Labels that come in batches"
MONTHS = {300: 60, 3_000: 36, 30_000: 24}  # batches, by their size
SEEDS = range(4100, 4105)  # none of which anything was chosen by
OTHER_SIZE, OTHER_MONTHS = 700, 60
WINDOWS = {"Platt, 1": 1, "Platt, 3": 3, "Platt, 6": 6, "Platt, all": 10**6}
CUTS = (1, 10, 100)
KEYED_SEEDS, KEYED_MONTHS = range(4100, 4103), 24
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


def surprised(one_in, size, last=np.inf):
    """A kind that shifts in one month of so many, by about this size, for so many months."""

    def start(random, _months):
        state = {"offset": 0.0, "end": 0}

        def truth(month, x):
            if random.random() < 1 / one_in:
                offset = random.choice([-1, 1]) * size * random.uniform(0.5, 1.5)
                state.update(offset=offset, end=month + last)
            return 0.9 * x - 0.2 + (state["offset"] if month < state["end"] else 0.0)

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
    "a shock in 8 batches": surprised(8, 2.0, last=1),
    "a shock in 16 batches": surprised(16, 2.0, last=1),
    "shocks of 3 batches": surprised(16, 1.5, last=3),
    "a jump in 16 batches": surprised(16, 1.0),
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


def platt(scores, outcomes, line=(1.0, 0.0)):
    """Fit slope and offset to the logits, as scikit-learn does, by Newton steps from a line."""
    x, (a, b) = logit(scores), line
    for _ in range(20):
        p = sigmoid(a * x + b)
        r, h = p - outcomes, p * (1 - p)
        hx = h * x
        slopes = np.array([[hx @ x + 1.0, hx.sum()], [hx.sum(), h.sum() + 1e-6]])
        da, db = np.linalg.solve(slopes, [r @ x + a, r.sum()])
        longest = max(abs(da), abs(db))
        a, b = (each - step * min(1.0, 1.5 / longest) for each, step in ((a, da), (b, db)))
        if longest < 1e-3:
            break
    return a, b


def isotonic(scores, outcomes):
    fit = IsotonicRegression(y_min=1e-3, y_max=1 - 1e-3, out_of_bounds="clip")
    return fit.fit(scores, outcomes).predict


def refits(batches, late):
    """Return what plain refits predict, each by the batches that it remembers."""
    found = {"raw": [scores for scores, _, _ in batches]}
    for name, window in {**WINDOWS, "isotonic, 3": 3}.items():
        found[name], line = [], (1.0, 0.0)
        for month, (scores, _, _) in enumerate(batches):
            past = batches[max(0, month - late - window) : max(0, month - late)]
            if not past:
                found[name].append(scores)
                continue
            known = [np.concatenate([batch[i] for batch in past]) for i in (0, 1)]
            if name.startswith("iso"):
                found[name].append(isotonic(*known)(scores))
            else:
                line = platt(*known, line)  # near the one before
                found[name].append(sigmoid(line[0] * logit(scores) + line[1]))
    return found


def played(batches, late, seed, cut=None):
    """Return what a Recalibrator predicts; labels arrive in calls of at most `cut` rows."""
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


def played_at_once(batches, seed, keys):
    """Return the same where each outcome arrives before the next prediction."""
    random = np.random.default_rng(seed)
    scores, outcomes = (np.concatenate([batch[i] for batch in batches]) for i in (0, 1))
    names = None if keys is None else random.integers(0, keys, len(scores))
    predictions = Recalibrator(seed=seed).run(scores, outcomes, by=names)
    return np.split(predictions, np.cumsum([len(batch[0]) for batch in batches])[:-1])


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


def measured_here(kind, size, months, late):
    """Return the mean loss and Cal2 of the Recalibrator alone."""
    found = []
    for seed in SEEDS:
        batches = made(kind, size, months, seed)
        predictions = played(batches, late, seed)
        outcomes = np.concatenate([batch[1] for batch in batches[1:]])
        error = cal2(np.concatenate(predictions[1:]), outcomes)
        found.append((loss(predictions, batches), float(error)))
    return np.mean(found, axis=0).tolist()


def begun_there(python, case):
    """Begin to play the same with the version that another Python has."""
    command = [python, "-m", "benchmarks.batches", json.dumps(case)]
    paths = {"PYTHONPATH": str(Path(__file__).parents[1])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | paths)


def measured_there(begun):
    """Return what it has measured."""
    answer, _ = begun.communicate()
    if begun.returncode:
        raise RuntimeError(f"the other version ended with {begun.returncode}")
    return json.loads(answer)


def compared(progress, title, cases, python):
    """Return a table of cases by their names: the best refit, the Recalibrator, another version."""
    rows = []
    for name, case in cases.items():
        progress(f"batches: {name}, {title}")
        begun = begun_there(python, case) if python else None
        means, error = measured(*case)
        best = min((each for each in means if each != "calibrant"), key=lambda each: means[each])
        gap = means["calibrant"] - means[best]
        row = [name, best, f"{means[best]:.1f}", f"{means['calibrant']:.1f}", f"{gap:+.1f}"]
        row.append(f"{error:.0f}")
        if begun:
            loss_there, error_there = measured_there(begun)
            row += [f"{loss_there:.1f}", f"{error_there:.0f}"]
        rows.append(row)
    head = ["stream", "best refit", "its loss", "Recalibrator", "difference", "Cal2"]
    older = ["another version", "its Cal2"] if python else []
    return table(f"{title}, {len(SEEDS)} seeds", head + older, rows)


def tables(progress, python=None):
    """Return the tables of this module, one after the other."""
    months_later = {
        f"{kind}, {size:,}": (kind, size, months, 0)
        for size, months in MONTHS.items()
        for kind in KINDS
    }
    others = {kind: (kind, OTHER_SIZE, OTHER_MONTHS, 0) for kind in OTHERS}
    later_still = {kind: (kind, 3_000, MONTHS[3_000], 1) for kind in KINDS}
    for title, cases in (
        ("Labels a month later, in one call", months_later),
        (f"Other structures, {OTHER_SIZE} a batch", others),
        ("Labels one batch later still, 3,000 a batch", later_still),
    ):
        yield compared(progress, title, cases, python)
    rows = []
    for kind in KINDS:
        progress(f"batches: {kind}, calls cut")
        means, _ = measured(kind, 300, MONTHS[300], cuts=CUTS)
        names = ["calibrant", *(f"cut {cut}" for cut in CUTS)]
        rows.append([kind, *(f"{means[name]:.1f}" for name in names)])
    yield table(
        f"The same labels in smaller calls, 300 a batch, {len(SEEDS)} seeds",
        ["stream", "one call", *(f"{cut} a call" for cut in CUTS)],
        rows,
    )
    yield by_key(progress)


def by_key(progress):
    """Return the table of groups and keys that are alike, with what 100 groups cost at once."""
    players = {"Recalibrator": lambda batches, seed: played(batches, 0, seed)}
    for name, (make, keys) in KEYED.items():
        players[name] = lambda batches, seed, make=make, keys=keys: played_by_key(
            batches, seed, keys, make
        )
    for name, keys in (("outcomes at once", None), ("100 groups, at once", 100)):
        players[name] = lambda batches, seed, keys=keys: played_at_once(batches, seed, keys)
    rows = []
    for kind in KINDS:
        progress(f"batches: {kind}, keys")
        streams = {seed: made(kind, 3_000, KEYED_MONTHS, seed) for seed in KEYED_SEEDS}
        row = [kind]
        for play in players.values():
            losses = [loss(play(batches, seed), batches) for seed, batches in streams.items()]
            row.append(f"{np.mean(losses):.1f}")
        rows.append(row)
    title = f"Groups and keys that are alike, 3,000 a batch, {len(KEYED_SEEDS)} seeds"
    return table(title, ["stream", *players], rows)


def main(arguments):
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks batches", description=__doc__)
    parser.add_argument("--python", help="a Python with another version")
    python = parser.parse_args(arguments).python
    page = f"# {TITLE}\n\nMeasured on {machine.describe()}, with `python -m benchmarks batches`.\n"
    if python:
        asked = [python, "-c", "import calibrant; print(calibrant.__version__)"]
        version = subprocess.check_output(asked, text=True).strip()
        page += f"The other version, by `--python`, is calibrant {version}.\n"
    console = Console(stderr=True)
    with console.status("batches"):
        for text in tables(console.print, python):
            print(text, flush=True)
            page += f"\n{text}"
    Path(__file__).with_suffix(".md").write_text(page)


if __name__ == "__main__":
    print(json.dumps(measured_here(*json.loads(sys.argv[1]))))
