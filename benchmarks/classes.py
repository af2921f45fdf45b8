"""Several classes and rivals: ``python -m benchmarks classes [PART ...] [--streams FOLDER]``.

The parts are made, confidence, real, late, batches, opponents and speed; without any, all of them.
A folder holds streams as .npz files with `p` (rounds by classes), or `table` and `ctx` (logarithms
of probabilities, one row a context, and the row of each round), and `y`. Rivals are the best of
several settings, chosen in hindsight for each stream. `classes.md` holds the last run of each part.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks import machine
from benchmarks.class_streams import (
    KINDS,
    KINDS_OF_MANY,
    MONTHS,
    OTHERS,
    contrarian,
    drag,
    made,
    monthly,
)
from benchmarks.peers import RiverPair
from benchmarks.tables import table
from calibrant import MulticlassRecalibrator
from calibrant.measures import confidence_ece
from calibrant.measures import ece as event_ece
from calibrant.measures.chance import chance_ece
from calibrant.recalibrate.rivals import (
    ClassRefit,
    OnlinePriorShift,
    OnlineTemperature,
    OnlineTemperatureBias,
    OnlineVectorScaling,
)
from calibrant.recalibrate.rivals.classes import fitted

PAGE = Path(__file__).with_suffix(".md")
ROUNDS, LATE, LONGEST = 10_000, 100, 30_000
MONTHLY_SEEDS = (10, 11, 12, 13)
SEEDS = (7, 8, 9)  # of synthetic streams; losses are of the first, ECE of all
MORE_SEEDS = (*SEEDS, 10, 11, 12)  # for errors of the confidence alone
RIVALS = {
    "temperature": [lambda f=f: OnlineTemperature(f) for f in (0, 0.001, 0.01)],
    "temperature + bias": [
        lambda f=f, a=a: OnlineTemperatureBias(f, a)
        for f, a in ((0, 1), (0, 10), (0.001, 1), (0.01, 1))
    ],
    "vector scaling": [lambda f=f: OnlineVectorScaling(f) for f in (0, 0.001)],
    "prior shift": [lambda f=f: OnlinePriorShift(f) for f in (0, 0.001, 0.01)],
}


def refits(classes):
    """Return the refits that are played, every 2,500 rows; most take long for many classes."""
    methods = ("temperature", "isotonic", "dirichlet") if classes <= 20 else ("temperature",)
    return [lambda m=m: ClassRefit(m, 5000, 2500) for m in methods]


def log_losses(rows, labels):
    """Return the log loss of each row, in which nothing is below 1e-6."""
    return -np.log(np.maximum(rows[np.arange(len(labels)), labels], 1e-6))


def ece(rows, labels):
    return confidence_ece(rows, labels, bins=15, scheme="mass")


def ours(rows, labels, late=0):
    """Return our rows, each label being known so many rounds late; and what is not placed."""
    recalibrator = MulticlassRecalibrator(rows.shape[1])
    if not late:
        return recalibrator.run(rows, labels)
    predicted = np.empty_like(rows)
    for t, row in enumerate(rows):
        predicted[t] = recalibrator.predict(row, id=t)
        if t >= late:
            recalibrator.update(int(labels[t - late]), id=t - late)
    return predicted


def best_of(makers, rows, labels, late):
    """Return the least mean log loss of several settings."""
    return min(log_losses(make().run(rows, labels, late=late), labels).mean() for make in makers)


def errors_of(rows, predicted, labels, truth):
    """Return the errors of the confidence: the scores', ours, what chance leaves of it.

    Then the truth's, where it is known.
    """
    chance = chance_ece(predicted.max(axis=1), bins=15, scheme="mass")
    found = [ece(rows, labels), ece(predicted, labels), chance]
    return found if truth is None else [*found, ece(truth, labels)]


def compared(name, rows, labels, truth, late=0, further=()):
    """Return a row of the table: losses, and errors of the confidence.

    These are means over this stream and further ones of its kind: 10,000 labels leave an error of
    0.01 by chance alone.
    """
    rows = rows / rows.sum(axis=1, keepdims=True)
    predicted = ours(rows, labels, late)
    losses = {"raw": log_losses(rows, labels).mean()}
    makers = RIVALS | ({} if late else {"refit": refits(rows.shape[1])})
    for rival, settings in makers.items():
        losses[rival] = best_of(settings, rows, labels, late)
    own, best = log_losses(predicted, labels).mean(), min(losses.values())
    found = [errors_of(rows, predicted, labels, truth)]
    for p, y, other in further:
        found.append(errors_of(p, ours(p, y, late), y, other))
    errors = np.mean(found, axis=0)
    return (
        [name, *(f"{each:.4f}" for each in losses.values()), f"{own:.4f}", f"{own - best:+.4f}",
         f"{own - losses['raw']:+.4f}", *(f"{each:.3f}" for each in errors)],
        (own - best, own - losses["raw"], errors),
    )  # fmt: skip


def head(late, has_truth):
    rivals = ["raw", *RIVALS, *([] if late else ["refit"])]
    return [
        "stream", *rivals, "calibrant", "less the best", "less raw",
        "ECE raw", "calibrant", "chance", *(["truth"] if has_truth else []),
    ]  # fmt: skip


def made_table(progress, classes, late=0):
    rows, found = [], []
    for kind in KINDS if classes < 1000 else KINDS_OF_MANY:
        progress(f"{kind}, {classes} classes, {late} late")
        stream, *further = (made(kind, classes, ROUNDS, seed) for seed in SEEDS)
        row, numbers = compared(kind, *stream, late, further)
        rows.append(row)
        found.append(numbers)
    worst = [max(each[at] for each in found) for at in range(2)]
    beside = [max(each[2][1] - each[2][at] for each in found) for at in (2, 3)]
    title = (
        f"Made streams, {classes:,} classes, {ROUNDS:,} rounds, "
        f"labels {f'{late} rounds late' if late else 'at once'}"
    )
    text = table(title, head(late, True), rows)
    return text + (
        f"\nAt worst {worst[0]:+.4f} above the best rival and "
        f"{worst[1]:+.4f} above the raw scores. "
        "The calibration error of the confidence, the mean of "
        f"{len(SEEDS)} seeds, is at worst {beside[1]:+.3f} above the truth's, "
        f"and {beside[0]:+.3f} above what chance alone leaves.\n"
    )


def without_chance(rows, truth):
    """Return the error of the confidence in the same bins, true probabilities instead of labels."""
    top = rows.argmax(axis=1)[:, None]
    confidence, right = (np.take_along_axis(each, top, 1)[:, 0] for each in (rows, truth))
    return event_ece(confidence, right, bins=15, scheme="mass")


def shares_so_far(labels, classes):
    """Return the shares of the classes among all labels before each."""
    counts = np.cumsum(np.eye(classes)[labels], axis=0)
    before = np.vstack([np.zeros(classes), counts[:-1]]) + 1 / classes
    return before / before.sum(axis=1, keepdims=True)


def confidence_table(progress, classes):
    """Errors of the confidence, with and without what labels add to them by chance."""
    rows, shares = [], []
    for kind in KINDS if classes < 1000 else KINDS_OF_MANY:
        progress(f"confidence: {kind}, {classes} classes")
        found = []
        for seed in MORE_SEEDS:
            p, y, truth = made(kind, classes, ROUNDS, seed)
            predicted = ours(p, y)
            _, own, chance, others = errors_of(p, predicted, y, truth)
            found.append((own, chance, others, *(without_chance(r, truth) for r in (p, predicted))))
            if kind == "worthless":
                shares.append(without_chance(shares_so_far(y, classes), truth))
        rows.append([kind, *(f"{each:.4f}" for each in np.mean(found, axis=0))])
    text = table(
        f"Error of the confidence, {classes:,} classes, {ROUNDS:,} rounds, "
        f"the mean of {len(MORE_SEEDS)} seeds",
        ["stream", "calibrant", "by chance", "truth", "raw, without chance", "calibrant, without"],
        rows,
    )
    if shares:
        text += (
            "\nOf `worthless` the shares of the classes so far, the best that can be known, have "
            f"an error of {np.mean(shares):.4f} without chance.\n"
        )
    return text


def real_streams(folder):
    """Yield the name, rows and labels of each stream of a folder."""
    for path in sorted(Path(folder).glob("*.npz")):
        with np.load(path) as held:
            y = held["y"].astype(np.int64)
            if "p" in held:
                rows = held["p"].astype(np.float64)
            else:
                logs = held["table"].astype(np.float64)
                rows = np.exp(logs)[held["ctx"]]
        yield path.stem, rows / rows.sum(axis=1, keepdims=True), y


def real_table(progress, folder, late=0):
    rows = []
    for name, p, y in real_streams(folder):
        some = slice(LONGEST if late else None)
        progress(f"{name}, {late} late")
        rows.append(compared(name, p[some], y[some], None, late)[0])
    title = (
        f"Real streams, labels {f'{late} rounds late, {LONGEST:,} rounds' if late else 'at once'}"
    )
    return table(title, head(late, False), rows)


def monthly_losses(kind, classes, seed, size=3000):
    """Return our loss and that of monthly refits of 1, 3 and all months, from the second month."""
    rows, labels = monthly(kind, classes, size=size, seed=seed)
    recalibrator, predicted = MulticlassRecalibrator(classes, seed=seed), np.empty_like(rows)
    others = {months: np.empty_like(rows) for months in (1, 3, 99)}
    for start in range(0, len(rows), size):
        now = slice(start, start + size)
        predicted[now] = recalibrator.predict_many(rows[now], ids=list(range(start, start + size)))
        recalibrator.update_many(labels[now].tolist(), ids=list(range(start, start + size)))
        for months, other in others.items():
            past = slice(max(0, start - months * size), start)
            other[now] = (
                fitted("temperature and biases", rows[past], labels[past], rows[now])
                if start
                else rows[now]
            )
    losses = [
        log_losses(each, labels)[size:].mean() for each in (rows, predicted, *others.values())
    ]
    return losses[0], losses[1], min(losses[2:])


def batch_table(progress):
    rows = []
    for classes in (3, 10):
        for kind in MONTHS:
            progress(f"months: {kind}, {classes} classes")
            played = np.array([monthly_losses(kind, classes, seed) for seed in MONTHLY_SEEDS])
            found, differences = played.mean(axis=0), played[:, 1] - played[:, 2]
            rows.append(
                [f"{kind} {classes}", *(f"{each:.4f}" for each in found),
                 f"{differences.mean():+.4f}", f"{differences.max():+.4f}"]
            )  # fmt: skip
    return table(
        f"Labels in monthly batches of 3,000, {len(MONTHLY_SEEDS)} seeds",
        ["stream", "raw", "calibrant", "best refit in hindsight", "difference", "at most"],
        rows,
    )


def opponent_table(progress, rounds=20_000, seeds=(10, 11, 12)):
    rows = []
    for classes in (3, 10):
        for way in OTHERS:
            progress(f"opponents: {way}, {classes} classes")
            row = [f"{way} {classes}"]
            for play in (contrarian, drag):
                found = [play(classes, rounds, way, seed) for seed in seeds]
                row += [f"{np.mean(found):.0f}", f"{max(found):.0f}"]
            rows.append(row)
    return table(
        f"Cal2 of the named class against opponents, {rounds:,} rounds, {len(seeds)} seeds",
        ["how the other class is chosen", "contrarian", "at most", "Drag", "at most"],
        rows,
    )


def speed_table(progress, repeats=7, turns=40):
    rows = []
    for classes, count in ((3, 4000), (100, 2000), (1000, 400)):
        progress(f"speed: {classes} classes")
        p, y, _ = made("overconfident", classes, count, seed=1)
        recalibrator, pair = MulticlassRecalibrator(classes), RiverPair()
        listed, best = list(p), [np.inf, np.inf]
        for turn in range(turns):
            start = time.process_time()
            for t, (row, label) in enumerate(zip(listed, y.tolist(), strict=True)):
                recalibrator.predict(row, id=t + turn * count)
                recalibrator.update(label, id=t + turn * count)
            middle = time.process_time()
            for label in y.tolist():
                pair.predict()
                pair.update(label % 2)
            end = time.process_time()
            best = [min(best[0], middle - start), min(best[1], end - middle)]
        learned = MulticlassRecalibrator(classes)  # without ids, each of which takes its own place
        for row, label in zip(listed * repeats, y.tolist() * repeats, strict=True):
            learned.predict(row)
            learned.update(label)
        rows.append(
            [str(classes), f"{1e6 * best[0] / count:.2f}", f"{best[0] / best[1]:.2f}",
             f"{len(learned.to_bytes()) / 1000:,.1f}", f"{sys.getsizeof(learned) / 1000:,.1f}"]
        )  # fmt: skip
    text = table(
        "One row with an id: predict and update",
        ["classes", "microseconds", "of river's pair", "state saved, kB", "in memory, kB"],
        rows,
    )
    return text + f"\nMeasured on {machine.describe()}.\n"


PARTS = ("made", "confidence", "real", "late", "batches", "opponents", "speed")


def tables_of(part, progress, folder, sizes):
    """Yield the tables of one part, each with its place on the page."""
    late = LATE if part == "late" else 0
    if part in ("made", "late"):
        for classes in sizes:
            if not late or classes < 1000:
                yield f"{part} {classes}", made_table(progress, classes, late)
    if part == "confidence":
        for classes in sizes:
            yield f"{part} {classes}", confidence_table(progress, classes)
    elif part in ("real", "late"):
        if folder:
            yield f"{part} real", real_table(progress, folder, late)
    elif part != "made":
        write = {"batches": batch_table, "opponents": opponent_table, "speed": speed_table}[part]
        yield part, write(progress)


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks classes", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="all, unless some are named")
    parser.add_argument("--streams", help="a folder of real streams")
    parser.add_argument("--classes", default="3,10,100,1000", help="numbers of classes")
    given = parser.parse_args(arguments)
    sizes = [int(each) for each in given.classes.split(",")]
    console = Console(stderr=True)
    for part in given.parts or PARTS:
        with console.status(part) as status:
            for place, text in tables_of(part, status.update, given.streams, sizes):
                print(text, flush=True)
                keep(place, text)


def keep(place, text):
    """Write a table to its place on the page."""
    kept = sections() | {place: text}
    made_with = "Written by `python -m benchmarks classes`, part by part."
    order = sorted(kept, key=lambda each: (PARTS.index(each.split()[0]), len(each), each))
    marked = (f"<!-- {each} -->\n{kept[each].strip()}\n" for each in order)
    PAGE.write_text(f"# Several classes\n\n{made_with}\n\n" + "\n".join(marked))


def sections():
    """Return what the page holds of each part."""
    if not PAGE.exists():
        return {}
    pieces = PAGE.read_text().split("<!-- ")[1:]
    return dict(piece.split(" -->\n", 1) for piece in pieces)
