"""Outcomes as in production: reported late, or not at all, and the use of silence."""

import numpy as np

from benchmarks.tables import table
from calibrant import Recalibrator, streams
from calibrant.measures import DelayCheck, brier, cal2, ece, log_loss

TITLE = "Silence, and delays that depend on the outcome"
CONVERSIONS = "Conversions, log loss"
FLIGHTS = "The flights, by when an outcome is known"
MADE = "Made flights"
FRAUDS = "Frauds known after 7 days, other payments after 30"
CHECK = "How often the check warns"
IN_DOCS = {"docs/silence.md": (CONVERSIONS, FLIGHTS, MADE, FRAUDS, CHECK)}
ROUNDS, SEEDS, W, MEAN = 60_000, 5, 1_500, 300.0
RUNS = 1_000
DAY = 86_400.0

#: What moves, and how long a one takes to be announced.
CASES = {
    "nothing moves": ("nothing", "exponential"),
    "levels, every 4,000 rounds": ("levels", "exponential"),
    "levels, lognormal delays": ("levels", "lognormal"),
    "a random walk": ("walk", "exponential"),
    "a random walk, lognormal": ("walk", "lognormal"),
    "seasons": ("seasons", "exponential"),
    "seasons, lognormal": ("seasons", "lognormal"),
    "nothing; delays double": ("nothing", "doubles"),
    "levels; delays double": ("levels", "doubles"),
    "nothing; delays by score": ("nothing", "by score"),
    "levels; delays by score": ("levels", "by score"),
}
#: Delays that do not depend on the outcome: what the level and the delays do, and the end.
NULLS = {
    "nothing moves": ("nothing", "steady", "open"),
    "the level drifts": ("drifts", "steady", "open"),
    "level and delays drift together": ("drifts", "drift", "open"),
    "the level jumps, delays drift, the end is cut off": ("jumps", "drift", "cut off"),
    "delays by score": ("nothing", "by score", "open"),
    "delays by score, the level drifts, cut off": ("drifts", "by score", "cut off"),
    "one outcome in five is lost": ("drifts", "steady", "lost"),
}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def conversions(kind, delay, seed, rounds=ROUNDS):
    """Return scores, means, outcomes and the delays of ones, in rounds."""
    random = np.random.default_rng(seed)
    x, t = random.normal(-2.0, 1.0, rounds), np.arange(rounds)
    if kind == "levels":
        changes = np.sort(random.choice(rounds, rounds // 4_000, replace=False))
        levels = random.normal(0.0, 0.8, len(changes) + 1)
        b = levels[np.searchsorted(changes, t, side="right")]
    elif kind == "walk":
        b = np.cumsum(random.normal(0.0, 0.008, rounds))
    elif kind == "seasons":
        b = 0.8 * np.sin(2 * np.pi * (t / 8_000 + random.random()))
    else:
        b = np.zeros(rounds)
    q = sigmoid(x + b)
    y = (random.random(rounds) < q).astype(float)
    mean = np.full(rounds, MEAN)
    if delay == "doubles":
        mean[rounds // 2 :] *= 2
    elif delay == "by score":
        mean = np.where(x > -2.0, MEAN / 2, 3 * MEAN / 2)
    if delay == "lognormal":
        wait = mean * np.exp(random.normal(0.0, 1.0, rounds) - 0.5)
    else:
        wait = mean * random.exponential(1.0, rounds)
    return sigmoid(x), q, y, 1 + wait.astype(int)


def play(recalibrator, scores, outcomes, made, known, due=None, by=None):
    """Predict every row at its time; give it the outcomes that became known before."""
    arrives = np.flatnonzero(np.isfinite(known))
    order = arrives[np.argsort(known[arrives], kind="stable")]
    until = np.searchsorted(known[order], made, side="left")
    rows, happened, told = order.tolist(), outcomes.tolist(), 0
    timed = recalibrator.silence is not None or recalibrator.hold is not None
    predictions = np.empty(len(scores))
    for t, (score, end) in enumerate(zip(scores.tolist(), until.tolist(), strict=True)):
        for row in rows[told:end]:
            if due is None or known[row] < due[row]:
                at = {"at": float(known[row])} if timed else {}
                recalibrator.update(happened[row], id=row, **at)
        told = max(told, end)
        given = {"at": float(made[t])} if timed else {}
        if due is not None:
            given["due"] = float(due[t])
        group = None if by is None else by[t]
        predictions[t] = recalibrator.predict(score, id=t, by=group, **given)
    return predictions


def conversion_rows(progress):
    for name, (kind, delay) in CASES.items():
        losses = []
        for seed in range(SEEDS):
            progress(f"silence: {name}, seed {seed}")
            scores, means, y, wait = conversions(kind, delay, seed)
            t, size = np.arange(ROUNDS, dtype=float), {"capacity": ROUNDS}
            # What comes after W counts as a zero, and is measured as the one that it was.
            came = (y == 1) & (wait < W)
            never = np.where(came, t + wait, np.inf)
            at_w = np.where(came, t + wait, t + W)
            seen = came.astype(float)
            losses.append(
                [
                    log_loss(scores, y),
                    log_loss(means, y),
                    log_loss(Recalibrator().run(scores, y), y),
                    log_loss(
                        play(Recalibrator(silence=0, after=W, **size), scores, y, t, never), y
                    ),
                    log_loss(play(Recalibrator(hold=W, **size), scores, seen, t, at_w), y),
                    log_loss(play(Recalibrator(**size), scores, seen, t, at_w), y),
                ]
            )
        raw, truth, once, silent, waiting, naive = np.mean(losses, axis=0)
        closed = (waiting - silent) / (waiting - once)
        yield [
            name, *(f"{loss:.4f}" for loss in (raw, truth, once, silent, waiting, naive)),
            f"{100 * closed:.0f} %" if waiting - once > 0.001 else "-",
        ]  # fmt: skip


def minutes(texts):
    return texts.astype("datetime64[m]").astype(float)


def flight_rows(progress):
    flights = streams.load("nycflights")
    scores, y, route = flights.scores, flights.outcomes, flights.columns["route"].tolist()
    made, landed, due = (
        minutes(texts)
        for texts in (flights.times, flights.columns["landed"], flights.columns["due"])
    )
    size = {"capacity": len(scores)}
    check = DelayCheck.from_times(y, 60 * made, 60 * landed, scores=scores)
    hold = check.span / 60
    runs = {
        "when the next flight departs (a fiction)": lambda: Recalibrator().run(scores, y),
        "when landed": lambda: play(Recalibrator(**size), scores, y, made, landed),
        "when landed, held until nearly all have": lambda: play(
            Recalibrator(hold=hold, **size), scores, y, made, landed
        ),
        "when due, all of them": lambda: play(Recalibrator(**size), scores, y, made, due),
        "when landed or overdue, each learned at once": lambda: play(
            Recalibrator(**size), scores, y, made, np.minimum(landed, due)
        ),
        "when landed; silence until due means late": lambda: play(
            Recalibrator(silence=1, **size), scores, y, made, landed, due
        ),
        "the same, by route": lambda: play(
            Recalibrator(silence=1, **size), scores, y, made, landed, due, route
        ),
    }
    yield ["raw scores", *qualities(scores, y)]
    for name, run in runs.items():
        progress(f"silence: flights, {name}")
        yield [name, *qualities(run(), y)]


def qualities(predictions, y):
    """Return Brier, log loss, ECE and Cal2 as texts."""
    errors = [f"{measure(predictions, y):.4f}" for measure in (brier, log_loss, ece)]
    return [*errors, f"{cal2(predictions, y):.0f}"]


#: How long the level of made flights is remembered, in minutes, its spread, and whether it storms.
LEVELS = {
    "storms, a level of ten hours": (600.0, 1.0, True),
    "a level of a day and a half": (2_000.0, 1.0, False),
    "nothing moves": (600.0, 0.0, False),
}


def made_flights(memory, spread, is_stormy, seed, rounds=40_000):
    """Return scores, outcomes, and when a flight departs, has landed and is due, in minutes.

    A flight is late if it has not landed when due; how late it is depends on the level at the end
    of its way, and one that is in time lands the earlier, the lower the level.
    """
    random = np.random.default_rng(seed)
    made = np.cumsum(random.exponential(1.1, rounds))
    span = np.maximum(random.lognormal(np.log(165), 0.5, rounds), 45.0) + 15.0
    due, step = made + span, 5.0
    level = np.zeros(int(made[-1] / step) + 2)
    keep = np.exp(-step / memory)
    moves = random.normal(0.0, spread * np.sqrt(1.0 - keep**2), len(level))
    for i in range(1, len(level)):
        level[i] = keep * level[i - 1] + moves[i]
    if is_stormy:
        for at in random.integers(0, len(level), len(level) // 600):
            level[at : at + random.integers(20, 80)] += random.exponential(1.5)
    b = level[np.minimum((due / step).astype(int), len(level) - 1)]
    x = random.normal(-1.4, 0.6, rounds)
    latent = x + b + random.logistic(0.0, 1.0, rounds)
    y = (latent > 0.0).astype(float)
    landed = due - np.maximum(np.minimum(-9.0 * latent, span - 20.0), 0.01)
    return sigmoid(x + 0.15), y, made, np.where(y == 1, np.inf, landed), due


def made_rows(progress):
    for name, kind in LEVELS.items():
        found = {"raw": [], "at once": [], "when due, all of them": [], "silence": []}
        for seed in range(SEEDS):
            progress(f"silence: made flights, {name}, seed {seed}")
            scores, y, made, landed, due = made_flights(*kind, seed)
            size = {"capacity": len(y)}
            silent = Recalibrator(silence=1, **size)
            for how, predictions in (
                ("raw", scores),
                ("at once", Recalibrator().run(scores, y)),
                ("when due, all of them", play(Recalibrator(**size), scores, y, made, due)),
                ("silence", play(silent, scores, y, made, landed, due)),
            ):
                found[how].append([brier(predictions, y), ece(predictions, y)])
        for how, errors in found.items():
            yield [name, how, *(f"{error:.4f}" for error in np.mean(errors, axis=0))]


def frauds(seed, rounds=20_000):
    """Return right scores, outcomes and times: frauds are known after 7 days, the rest after 30."""
    random = np.random.default_rng(seed)
    scores = random.beta(0.6, 6.0, rounds)
    y = (random.random(rounds) < scores).astype(float)
    made = np.sort(random.random(rounds)) * 200 * DAY
    return scores, y, made, made + np.where(y == 1, 7, 30) * DAY


def fraud_rows(progress):
    losses, found = [], 0
    for seed in range(SEEDS):
        progress(f"silence: frauds, seed {seed}")
        scores, y, made, known = frauds(seed)
        check = DelayCheck.from_times(y, made, known, scores=scores)
        found += check.depends
        size = {"capacity": len(y)}
        cured = Recalibrator(**check.cure, **size)
        silent = Recalibrator(silence=0, after="30d", **size)
        ones = np.where(y == 1, known, np.inf)
        losses.append(
            [
                brier(scores, y),
                brier(play(Recalibrator(**size), scores, y, made, known), y),
                brier(play(cured, scores, y, made, known), y),
                brier(play(silent, scores, y, made, ones), y),
            ]
        )
    names = ["raw scores, which are right", "learned when known", "hold, as the check says"]
    names.append("silence=0, after 30 days")
    for name, loss in zip(names, np.mean(losses, axis=0), strict=True):
        yield [name, f"{loss:.4f}"]
    yield ["runs in which the check found it", f"{found} of {SEEDS}"]


def unbiased(level, delay, end, seed, rounds=2_000):
    """Return outcomes, times, times of knowing and scores; delays depend on no outcome."""
    random = np.random.default_rng(seed)
    x, t = random.normal(-1.0, 1.2, rounds), np.arange(float(rounds))
    wave = 1.5 * np.sin(2 * np.pi * (t / random.choice([500, 1_000, 2_000]) + random.random()))
    b = {"nothing": 0.0 * t, "drifts": wave, "jumps": 1.5 * np.sign(wave)}[level]
    y = (random.random(rounds) < sigmoid(x + b)).astype(float)
    scale = {"steady": 1.0, "drift": np.exp(wave), "by score": np.exp(x)}[delay]
    known = t + 1 + random.exponential(200.0, rounds) * scale
    if end == "cut off":
        known[known > rounds] = np.nan
    elif end == "lost":
        known[random.random(rounds) < 0.2] = np.nan
    return y, t, known, sigmoid(x)


def null_rows(progress):
    for name, null in NULLS.items():
        progress(f"silence: false alarms, {name}")
        alarms = 0
        for seed in range(RUNS):
            y, made, known, scores = unbiased(*null, seed)
            alarms += DelayCheck.from_times(y, made, known, scores=scores).depends
        yield [name, f"{100 * alarms / RUNS:.1f} %"]
    found = sum(
        DelayCheck.from_times(y, made, known, scores=scores).depends
        for scores, y, made, known in (frauds(seed, 2_000) for seed in range(RUNS))
    )
    yield ["(frauds after 7 days, the rest after 30)", f"{100 * found / RUNS:.1f} %"]


def tables(progress):
    """Return the tables of this module, one after the other."""
    yield table(
        CONVERSIONS,
        ["what moves", "raw", "truth", "at once", "silence", "waiting", "ones first", "closed"],
        conversion_rows(progress),
    )
    yield table(
        FLIGHTS, ["outcomes are known", "Brier", "log loss", "ECE", "Cal2"], flight_rows(progress)
    )
    yield table(MADE, ["what moves", "outcomes are known", "Brier", "ECE"], made_rows(progress))
    yield table(FRAUDS, ["20,000 payments", "Brier"], fraud_rows(progress))
    yield table(
        CHECK,
        [f"delays depend on the outcome in the last row only; {RUNS:,} runs", "warns in"],
        null_rows(progress),
    )
