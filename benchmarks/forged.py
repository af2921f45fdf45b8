"""Saved states with numbers changed and the checksum made right: none may lead to nonsense.

``python -m benchmarks forged`` forges 30,000 of them. A forged state must be refused with a
ValueError, or be one that can be played: over outcomes chosen against it every prediction is a
probability, every distribution sums to one, and it saves and loads again, to the same bytes.
"""

import json
from collections import Counter
from copy import deepcopy
from hashlib import blake2b

import numpy as np

from benchmarks.tables import table
from calibrant import (
    Decider,
    EventForecaster,
    MulticlassRecalibrator,
    NumberRecalibrator,
    Recalibrator,
)
from calibrant._bytes import DIGEST, FIXED, MAGIC, VERSION
from calibrant.measures import Scorecard
from calibrant.rounds.saving import save_book
from forecasters.table import FORECASTERS
from forecasters.table import IDS as FORECASTER_IDS
from recalibrate.table import IDS as RECALIBRATOR_IDS
from recalibrate.table import RECALIBRATORS

TITLE = "Forged states"
BLOBS = 30_000
PLAYED, FURTHER = 300, 60
NUMBERS = [
    0, 1, -1, 2, 0.5, -0.5, 1e-320, 1e-9, 1 + 1e-9, 1e3, -1e3, 1e9, 1e18, 1e30, -1e30, 1e154,
    1e300, 1.7e308, -1.7e308, float("inf"), float("nan"), 2**31, 2**53, 2**62, 2**63 - 1, 2**63,
    10**8, 10**30, -(10**30), 10**400,
]  # fmt: skip
DEADLINES = {
    "silence": (Recalibrator, {"silence": 0, "after": 15}),
    "silence in time": (Recalibrator, {"silence": 1, "after": "15s", "monitor": True}),
    "hold": (Recalibrator, {"hold": 15}),
    "hold in time": (MulticlassRecalibrator, {"classes": 3, "hold": "15s"}),
    "silent class": (MulticlassRecalibrator, {"classes": 3, "silence": 1, "after": "15s"}),
}
STRANGE = [None, True, "x", "", [], {}, [1], {"a": 1}]


def forecasters():
    """Yield a name and a saved forecaster for each row of the tests' table."""
    random = np.random.default_rng(1)
    for name, (cls, arguments) in zip(FORECASTER_IDS, FORECASTERS, strict=True):
        player = cls(**arguments, seed=3)
        player.run(random.random(PLAYED) < 0.3)
        if cls is EventForecaster:
            for t in range(6):
                player.predict(id=t)
            player.update_many([1, 0], ids=[3, 0])
        yield name, cls, player.to_bytes()


def recalibrators():
    """Yield a name and a saved recalibrator, with rounds that wait, for each that can be saved."""
    random = np.random.default_rng(2)
    for name, (cls, inputs, arguments) in zip(RECALIBRATOR_IDS, RECALIBRATORS, strict=True):
        if cls not in (Recalibrator, MulticlassRecalibrator):
            continue
        player = cls(**arguments, seed=3)
        for t in range(PLAYED):
            score, outcome, more = a_round(player, random, inputs.further)
            player.predict(score, id=t, **more)
            if t >= 6:
                player.update(outcome, id=t - 6)
        player.predict(a_round(player, random, ())[0])
        kind = "" if cls is MulticlassRecalibrator else "-" + arguments.get("kind", "")
        yield name + kind, cls, player.to_bytes()
    for name, (cls, arguments) in DEADLINES.items():
        player = cls(**arguments, seed=3)
        for t in range(PLAYED):
            score, outcome, more = a_round(player, random, t % 2)
            player.predict(score, id=t, **more)
            player.update_many([outcome], ids=[t - random.integers(20)])
        yield name, cls, player.to_bytes()


def a_round(player, random, further):
    """Return a score, an outcome and further arguments that this recalibrator takes."""
    more = {}
    book, span = player._book, player._book.policy.span
    if book.has_deadlines and (span.is_time if book.is_timed is None else book.is_timed):
        more["at"] = max(float(player.rounds), book.now)
    if isinstance(player, MulticlassRecalibrator):
        row = random.dirichlet(np.ones(len(player.classes)))
        return row, random.choice(len(player.classes)), more
    score = random.random() if player.kind == "probability" else random.normal(0, 3)
    if further:
        more["by"] = ["a", "b", None][random.integers(3)]
    return score, float(random.random() < 0.4), more


NUMBERS_BY = {
    "numbers": {"monitor": True},
    "numbers, hold": {"hold": 15},
    "numbers, bounds": {"bounds": (0.0, 1.0), "max_groups": 4},
}
DECIDERS = {
    "costs": {"cost_of_acting": 1, "cost_of_missing": 4, "explore": 0.1},
    "budget": {"budget": 0.2, "per": 100},
    "precision": {"precision": 0.6},
    "recall, hold": {"recall": 0.6, "explore": 0.1, "hold": 15},
}


def numbers():
    """Yield a name and a saved recalibrator of numbers, with rounds that wait."""
    random = np.random.default_rng(4)
    for name, given in NUMBERS_BY.items():
        player = NumberRecalibrator(**given, seed=3)
        for t in range(PLAYED):
            by = [None, "a", "b"][t % 3] if "max_groups" in given else None
            player.predict(random.random(), id=t, by=by)
            if t >= 6:
                player.update_many([random.random()], ids=[t - 6])
        yield name, NumberRecalibrator, player.to_bytes()


def deciders():
    """Yield a name and a saved decider, with rows that wait."""
    random = np.random.default_rng(5)
    for name, given in DECIDERS.items():
        player = Decider(**given, seed=3)
        for t in range(PLAYED):
            player.decide(random.random(), id=t)
            if t >= 6:
                player.update_many([float(random.random() < 0.4)], ids=[t - 6])
        yield f"Decider, {name}", Decider, player.to_bytes()


def scorecards():
    """Yield a name and a saved scorecard, without windows and with them."""
    random = np.random.default_rng(3)
    for window in (None, 70):
        card = Scorecard(window=window)
        predicted = random.integers(11, size=PLAYED) / 10
        card.extend(
            predicted, random.random(PLAYED) < predicted, labels=["a", "b", 3] * (PLAYED // 3)
        )
        yield f"Scorecard-{window}", Scorecard, card.to_bytes()


# -- forging -------------------------------------------------------------------------------------


def parts_of(blob):
    """Return the header of a saved state and its arrays."""
    length = FIXED.unpack_from(blob)[3]
    header = json.loads(blob[FIXED.size : FIXED.size + length])
    body, arrays = blob[FIXED.size + length : -DIGEST], []
    for _, dtype, count in header["arrays"]:
        arrays.append(np.frombuffer(body, dtype=dtype, count=count).copy())
        body = body[arrays[-1].nbytes :]
    return header, arrays


def sealed(header, arrays):
    """Return a saved state with a checksum that fits."""
    text = json.dumps(header).encode()
    body = b"".join(each.tobytes() for each in arrays)
    length = FIXED.size + len(text) + len(body) + DIGEST
    content = FIXED.pack(MAGIC, VERSION, length, len(text)) + text + body
    return content + blake2b(content, digest_size=DIGEST).digest()


def forged(blob, random):
    """Return a saved state in which one to three things are changed."""
    header, arrays = parts_of(blob)
    for _ in range(random.integers(1, 4)):
        kind = random.random()
        if kind < 0.55 and any(map(len, arrays)):
            change_array(arrays, random)
        elif kind < 0.95:
            change_header(header, random)
        else:
            change_length(header, arrays, random)
    return sealed(header, arrays)


def change_array(arrays, random):
    """Change one value: to a number from the list, to a neighbour's, or by one bit."""
    values = arrays[random.choice([n for n, each in enumerate(arrays) if len(each)])]
    at = random.integers(len(values))
    way = random.random()
    if way < 0.4:
        bits = values.view(np.uint64)
        bits[at] ^= np.uint64(1) << np.uint64(random.integers(64))
    elif way < 0.6:
        values[at] = values[random.integers(len(values))]
    else:
        number = NUMBERS[random.integers(len(NUMBERS))]
        if values.dtype == np.int64:
            values[at] = int(number) if abs(number) < 2**63 else -(2**63)
        else:
            values[at] = np.inf if abs(number) > 1e308 else number


def change_header(header, random):
    """Change one number, or what stands for one, somewhere in the header."""
    places = [(header, "rounds")]
    for part in ("numbers", "parameters"):
        places += [(header[part], name) for name in header[part]] * 2
    holder, name = places[random.integers(len(places))]
    if isinstance(holder[name], list) and holder[name] and random.random() < 0.7:
        holder, name = holder[name], random.integers(len(holder[name]))
    way = random.random()
    if way < 0.2:
        holder[name] = deepcopy(STRANGE[random.integers(len(STRANGE))])
    elif way < 0.4 and isinstance(holder[name], int | float) and abs(holder[name]) < 1e300:
        holder[name] += [1, -1, 1e-9, 0.5][random.integers(4)]
    else:
        holder[name] = NUMBERS[random.integers(len(NUMBERS))]


def change_length(header, arrays, random):
    """Make an array longer or shorter, and say so in the header."""
    at = random.integers(len(arrays)) if arrays else 0
    if arrays:
        size = random.integers(0, 2 * len(arrays[at]) + 2)
        arrays[at] = np.resize(arrays[at], size)
        header["arrays"][at][2] = len(arrays[at])


# -- judging -------------------------------------------------------------------------------------


def verdict(cls, blob):
    """Return "refused", "taken", or what went wrong."""
    try:
        player = cls.from_bytes(blob)
    except ValueError:
        return "refused"
    except Exception as error:
        return f"raised {type(error).__name__}: {error}"
    try:
        if cls.from_bytes(player.to_bytes()).to_bytes() != player.to_bytes():
            return "saves to other bytes"
        wrong = inconsistent(player) or JUDGES.get(cls, play_forecaster)(player)
        cls.from_bytes(player.to_bytes())
    except Exception as error:
        return f"taken, and then {type(error).__name__}: {error}"
    return wrong or "taken"


def is_probability(p):
    return bool(np.all((np.asarray(p) >= 0) & (np.asarray(p) <= 1)))


def play_forecaster(player):
    """Play each outcome against the mean of what is predicted; return what went wrong."""
    if isinstance(player, EventForecaster):
        player.update_many(np.ones(player.pending), ids=player._late._book.ids)
    for _ in range(FURTHER):
        points, weights = player.distribution()
        if not (is_probability(points) and is_probability(weights)):
            return "predicts what is no probability"
        if not abs(weights.sum() - 1) < 1e-6:
            return "predicts with weights that do not sum to one"
        player.update(player.expected() < 0.5)
    return None if is_probability(player.run(np.arange(FURTHER) % 2)) else "runs into nonsense"


def play_recalibrator(player):
    """Answer everything that waits, then play against what is predicted."""
    random = np.random.default_rng(0)
    several = isinstance(player, MulticlassRecalibrator)
    happens = player.classes[0] if several else 1
    player.update_many([happens] * len(player._book.ids), ids=player._book.ids)
    span = player._book.policy.span
    is_odd = span is None or not 1e-6 < span.length < 1e15 or player._book.now > 1e15
    if player._book.has_deadlines and is_odd:
        return None  # no deadline can be told from such a time
    for t in range(FURTHER):
        score, _, more = a_round(player, random, not several and t % 2 and player.max_groups > 2)
        name = f"new {t}" if player._book.has_deadlines else None
        predicted = player.predict(score, id=name, **more)
        if not is_probability(predicted) or not is_probability(player.expected(score)):
            return "predicts what is no probability"
        if several and not abs(predicted.sum() - 1) < 1e-6:
            return "predicts what is no distribution"
        happens = player.classes[int(predicted.argmin())] if several else float(predicted < 0.5)
        if name is None:
            player.update(happens)
        else:
            player.update_many([happens], ids=[name])
    return None


def play_numbers(player):
    """Answer all that waits; what is predicted stays in order."""
    random = np.random.default_rng(0)
    player.update_many([0.5] * len(player._book.ids), ids=player._book.ids)
    for t in range(FURTHER):
        found = player.predict(random.random(), id=f"new {t}").quantile(np.array([0.1, 0.5, 0.9]))
        if np.isnan(found).any() or (np.diff(found) < 0).any():
            return "predicts quantiles that are not in order"
        player.update_many([random.random()], ids=[f"new {t}"])
    return None


def play_decider(player):
    """Answer all that waits, and decide more rows."""
    random = np.random.default_rng(0)
    player.update_many([1.0] * len(player._book.ids), ids=player._book.ids)
    for t in range(FURTHER):
        player.decide(random.random(), id=f"new {t}")
        player.update_many([float(t % 2)], ids=[f"new {t}"])
    if not 0 <= player.explored <= player.acted <= player.rounds:
        return "acted on more than there was"
    return None


def inconsistent(player):
    """Return what does not hold between the parts of a state that was taken."""
    learner = player._late if isinstance(player, EventForecaster) else player
    book = getattr(learner, "_book", None)
    if book is None:
        return None
    if not 0 <= player.pending <= player.rounds or player.learned > player.rounds:
        return "waits for more than was predicted"
    if len(book.ids) > book.capacity or player.expired > player.rounds:
        return "waits for more than its capacity"
    if player.pending + player.learned + player.expired > player.rounds:
        return "waits for what is learned, or gave it up"
    saved = save_book(book)
    held, dues = saved["waiting_held"] > 0, saved["waiting_dues"]
    most = np.inf if book.is_timed else player.rounds + 16
    if not (dues[held] < most).all():
        return "waits for a deadline that never comes"
    if not held.any() and saved["waiting_ids"] and book.policy.silence is not None:
        return "dropped a deadline"
    if hasattr(player, "weights"):
        weights = [each.weight for each in player.weights()]
        if not (is_probability(weights) and abs(sum(weights) - 1) < 1e-6):
            return "has weights that do not sum to one"
    return None


def measure(card):
    """Measure more rounds; every measure stays one."""
    card.extend([0.0, 0.3, 0.7, 1.0], [1, 0, 1, 0])
    for each in [card.summary(), *(vars_of(window) for window in card.windows)]:
        if any(not value >= 0 for value in each.values()):
            return "measures what cannot be"
        if any(each[name] > 1 for name in ("brier", "ece", "mean_prediction", "mean_outcome")):
            return "measures means above one"
    card.reliability()
    return None


def vars_of(window):
    return {name: getattr(window, name) for name in window.__slots__}


JUDGES = {
    Recalibrator: play_recalibrator,
    MulticlassRecalibrator: play_recalibrator,
    NumberRecalibrator: play_numbers,
    Decider: play_decider,
    Scorecard: measure,
}


def saved_states():
    return [*forecasters(), *recalibrators(), *numbers(), *deciders(), *scorecards()]


def count_verdicts(blobs, seed=0, progress=lambda _: None):
    """Forge that many states, in turn of each kind; return the verdicts by kind."""
    states = saved_states()
    verdicts = {name: Counter() for name, _, _ in states}
    random = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        for number in range(blobs):
            name, cls, blob = states[number % len(states)]
            if number % 500 == 0:
                progress(f"forged: {number:,} of {blobs:,}")
            verdicts[name][verdict(cls, forged(blob, random))] += 1
    return verdicts


def tables(progress):
    verdicts = count_verdicts(BLOBS, progress=progress)
    rows = []
    for name, counted in verdicts.items():
        wrong = sum(counted.values()) - counted["refused"] - counted["taken"]
        rows.append([name, str(counted["refused"]), str(counted["taken"]), str(wrong)])
    total = [str(sum(int(row[column]) for row in rows)) for column in (1, 2, 3)]
    yield table(
        f"{BLOBS:,} forged states",
        ["saved", "refused", "taken, and played well", "taken or raised wrongly"],
        [*rows, ["all", *total]],
    )
