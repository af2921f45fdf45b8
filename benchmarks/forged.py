"""Saved states with changed numbers and a correct checksum: none may produce invalid results.

``python -m benchmarks forged`` forges 100,000 of them. A forged state must be refused with a
ValueError, or work: with outcomes chosen against it, every prediction is a
probability, every distribution sums to one, and it saves and loads to the same bytes.
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
    Fleet,
    Monitor,
    MulticlassRecalibrator,
    NumberRecalibrator,
    Recalibrator,
)
from calibrant._bytes import DIGEST, DTYPES, FIXED, MAGIC, VERSION
from calibrant.fleet import file
from calibrant.measures import Scorecard
from calibrant.monitor import NumberMonitor
from calibrant.rounds.saving import save_book
from forecasters.table import FORECASTERS
from forecasters.table import IDS as FORECASTER_IDS
from recalibrate.table import IDS as RECALIBRATOR_IDS
from recalibrate.table import RECALIBRATORS

TITLE = "Forged states"
BLOBS = 100_000
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
    """Yield a name and a saved recalibrator, with pending rounds, for each that can be saved."""
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
        labels = player.classes
        row, happens = random.dirichlet(np.ones(len(labels))), random.choice(len(labels))
        if player._given["classes"] is None:  # rows say their classes
            return dict(zip(labels, row.tolist(), strict=True)), labels[happens], more
        return row, happens, more
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
    "budget in time, silence": {"budget": 0.2, "per": "100s", "silence": 0, "after": 15},
}


def numbers():
    """Yield a name and a saved recalibrator of numbers, with pending rounds."""
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
    """Yield a name and a saved decider, with pending rows."""
    random = np.random.default_rng(5)
    for name, given in DECIDERS.items():
        player = Decider(**given, seed=3)
        for t in range(PLAYED):
            player.decide(random.random(), id=t, **a_time(player))
            if t >= 6:
                player.update_many([float(random.random() < 0.4)], ids=[t - 6])
        yield f"Decider, {name}", Decider, player.to_bytes()


def a_time(player):
    """Return the time of a row, if this decider needs one."""
    is_timed = player._book.is_timed or "100s" in (player.per, player.after)
    return {"at": max(float(player.rounds), player._book.now)} if is_timed else {}


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


FLEETS = {
    "plain": {},
    "monitor": {"shards": 2, "monitor": True},
    "silence": {"silence": 0, "after": 15},
    "hold": {"shards": 2, "hold": "15s", "kind": "logit"},
}


def fleets():
    """Yield a name and a saved fleet, with pending rows, some keys with curves of their own."""
    random = np.random.default_rng(6)
    for name, given in FLEETS.items():
        player = Fleet(**given, seed=3)
        keys, scores = random.integers(8, size=4 * PLAYED), random.random(4 * PLAYED)
        timed = {"at": np.arange(4.0 * PLAYED)} if name == "hold" else {}
        player.run(keys, scores, random.random(4 * PLAYED) < scores, **timed)
        timed = {"at": 4.0 * PLAYED} if name == "hold" else {}
        player.predict_many(keys[:12], scores[:12], ids=range(12), **timed)
        player.update_many([1, 0], ids=[3, 0])
        yield f"Fleet, {name}", Fleet, player.to_bytes()


#: Groups, weights, batches, late outcomes and monitors together: a class, its arguments, and a row
#: and an outcome of it.
TOGETHER = {
    "weights, groups": (
        Recalibrator, {"max_groups": 4, "monitor": True},
        lambda random: random.random(), lambda random: float(random.random() < 0.4),
    ),
    "weights, groups, silence": (
        Recalibrator, {"max_groups": 4, "silence": 0, "after": 15},
        lambda random: random.random(), lambda random: float(random.random() < 0.4),
    ),
    "classes, weights, groups": (
        MulticlassRecalibrator,
        {"classes": 3, "max_groups": 4, "silence": 1, "after": 15, "monitor": True},
        lambda random: random.dirichlet(np.ones(3)), lambda random: int(random.integers(3)),
    ),
    "classes that are learned": (
        MulticlassRecalibrator, {"classes": None, "hold": 9},
        lambda random: dict(zip("abc", random.dirichlet(np.ones(3)), strict=True)),
        lambda random: "abcd"[random.integers(4)],
    ),
}  # fmt: skip


def together():
    """Yield a name and a saved recalibrator: weighted outcomes, groups, a batch that waits."""
    random = np.random.default_rng(8)
    for name, (cls, given, row, outcome) in TOGETHER.items():
        player = cls(**given, seed=3)
        for t in range(PLAYED):
            player.predict(row(random), id=t, by=[None, "a", "b"][t % 3])
            weights = [[1.0, 0.5, 3.0, 0.0][t % 4]]
            if t >= 6:
                player.update_many([outcome(random)], ids=[t - 6], weights=weights)
        rows = [row(random) for _ in range(70)]
        player.predict_many(rows, ids=[f"b{t}" for t in range(70)])
        outcomes = [outcome(random) for _ in range(60)]
        player.update_many(outcomes, ids=[f"b{t}" for t in range(60)], weights=random.random(60))
        yield name, cls, player.to_bytes()


def events():
    """Yield a name and a saved forecaster of events that is asked ahead, and watched."""
    random = np.random.default_rng(9)
    player = EventForecaster(ahead=5, periods=[7], monitor=True, seed=3)
    player.run(random.random(PLAYED) < 0.3)
    for t in range(12):
        player.predict(id=t)
    player.update_many([1, 0], ids=[3, 0])
    yield "events, ahead", EventForecaster, player.to_bytes()


def monitors():
    """Yield a name and a saved monitor: calm, with outcomes that wait, and in an episode."""
    random = np.random.default_rng(7)
    for name, shift in (("calm", 0.0), ("late", 0.0), ("episode", 0.3)):
        player = Monitor()
        predicted = random.random(4 * PLAYED)
        player.run(predicted, random.random(4 * PLAYED) < np.clip(predicted + shift, 0.0, 1.0))
        for t in range(20 if name == "late" else 0):
            player.expect(t, random.random())
        yield f"Monitor, {name}", Monitor, player.to_bytes()
    player, levels = NumberMonitor(max_groups=4), np.array([0.05, 0.5, 0.95])
    quantiles = np.sort(random.normal(size=(4 * PLAYED, 3)), axis=1)
    outcomes = random.normal(size=4 * PLAYED) + 2.0 * (np.arange(4 * PLAYED) > 2 * PLAYED)
    player.run(quantiles, levels, outcomes, by=["a", "b"] * 2 * PLAYED)
    yield "NumberMonitor", NumberMonitor, player.to_bytes()


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


def forged(blob, random, other=None):
    """Return a saved state in which one to three things are changed.

    Parts of another saved state of its class may be put in their place.
    """
    if blob.startswith(file.MAGIC):
        return forged_fleet(blob, random)
    header, arrays = parts_of(blob)
    for _ in range(random.integers(1, 4)):
        kind = random.random()
        if kind < 0.45 and any(map(len, arrays)):
            change_array(arrays, random)
        elif kind < 0.55 and any(map(len, arrays)):
            change_whole_array(header, arrays, random)
        elif kind < 0.85:
            change_header(header, random)
        elif kind < 0.95:
            take_parts(header, arrays, blob if other is None else other, random)
        else:
            change_length(header, arrays, random)
    if random.random() < 0.1:
        change_anything(header, random)
    return sealed(header, arrays)


def forged_fleet(blob, random):
    """Return a saved fleet in which one to three things are changed."""
    settings, shards = file.load_bytes(blob)
    shards = [{name: array.copy() for name, array in each.items()} for each in shards]
    for _ in range(random.integers(1, 4)):
        shard = shards[random.integers(len(shards))]
        name = random.choice([name for name, array in shard.items() if array.size])
        way = random.random()
        if way < 0.05:
            shard[name] = shard[name][: random.integers(len(shard[name]))]
        elif way < 0.15:
            change_anything(settings, random)
        elif shard[name].dtype == np.uint8:
            change_struct(shard[name].reshape(-1), random)
        else:
            change_item(shard[name].reshape(-1), random)
    return b"".join(file.pieces(settings, shards))


def change_struct(values, random):
    """Change one number of a struct, of 4 or 8 bytes, or one byte; of JSON, one character."""
    dtype = np.dtype(random.choice(["f8", "i8", "f4", "i4", "u1"]))
    if len(values) % 8 or dtype == np.uint8:
        values[random.integers(len(values))] ^= 1 << random.integers(8)
    else:
        change_item(values.view(dtype), random)


def change_array(arrays, random):
    """Change one value: to a number from the list, to a neighbour's, or by one bit."""
    change_item(arrays[random.choice([n for n, each in enumerate(arrays) if len(each)])], random)


def change_whole_array(header, arrays, random):
    """Change all values of an array: their order, their size or their type."""
    at = random.choice([n for n, each in enumerate(arrays) if len(each)])
    values, way = arrays[at], random.random()
    if way < 0.3:
        arrays[at] = random.permutation(values)
    elif way < 0.5:
        arrays[at] = np.roll(values, 1)
    elif way < 0.8:
        with np.errstate(all="ignore"):
            arrays[at] = (values * [-1, 0, 2, 1000][random.integers(4)]).astype(values.dtype)
    else:
        header["arrays"][at][1] = DTYPES[random.integers(len(DTYPES))]
        with np.errstate(all="ignore"):
            arrays[at] = values.astype(header["arrays"][at][1])


def take_parts(header, arrays, blob, random):
    """Put some parts of another saved state, as they are there, in the place of those of this."""
    others, theirs = parts_of(blob)
    places = {name: at for at, (name, _, _) in enumerate(others["arrays"])}
    chance = random.choice([0.05, 0.3, 0.9])
    for at, (name, _, _) in enumerate(header["arrays"]):
        if name in places and random.random() < chance:
            arrays[at] = theirs[places[name]].copy()
            header["arrays"][at] = list(others["arrays"][places[name]])
    for name in header["numbers"]:
        if name in others["numbers"] and random.random() < chance:
            header["numbers"][name] = deepcopy(others["numbers"][name])


def change_item(values, random):
    """Change one value of an array."""
    at = random.integers(len(values))
    way = random.random()
    if way < 0.4:
        values.view(np.uint8)[random.integers(values.nbytes)] ^= 1 << random.integers(8)
    elif way < 0.6:
        values[at] = values[random.integers(len(values))]
    else:
        number = NUMBERS[random.integers(len(NUMBERS))]
        if values.dtype.kind in "iub":
            most = 2 ** (8 * values.itemsize - 1)
            values.view(f"i{values.itemsize}")[at] = int(number) if abs(number) < most else -most
        else:
            values[at] = np.inf if abs(number) > float(np.finfo(values.dtype).max) else number


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


def change_anything(value, random):
    """Change, remove or repeat something anywhere in the header, what is rare as often."""
    inside = list(value) if isinstance(value, dict) else range(len(value))
    at = inside[random.integers(len(inside))]
    if isinstance(value[at], dict | list) and value[at] and random.random() < 0.8:
        change_anything(value[at], random)
    elif random.random() < 0.15:
        del value[at]
    elif isinstance(value, list) and random.random() < 0.2:
        value.append(deepcopy(value[at]))
    else:
        value[at] = deepcopy([*STRANGE, *NUMBERS][random.integers(len(STRANGE) + len(NUMBERS))])


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
    if is_odd(player):
        return None
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


def is_odd(player):
    """Return whether no deadline can be told from the time of its prediction."""
    return is_odd_book(player._book)


def is_odd_book(book):
    """Return whether this book cannot tell a deadline from the time of its prediction."""
    span = book.policy.span
    is_told = span is not None and 1e-6 < span.length < 1e15 and book.now <= 1e15
    return book.has_deadlines and not is_told


def play_numbers(player):
    """Answer everything that is pending; what is predicted stays in order."""
    random = np.random.default_rng(0)
    player.update_many([0.5] * len(player._book.ids), ids=player._book.ids)
    if is_odd(player):
        return None
    for t in range(FURTHER):
        found = player.predict(random.random(), id=f"new {t}").quantile(np.array([0.1, 0.5, 0.9]))
        if np.isnan(found).any() or (np.diff(found) < 0).any():
            return "predicts quantiles that are not in order"
        player.update_many([random.random()], ids=[f"new {t}"])
    return None


def play_decider(player):
    """Answer everything that is pending, and decide more rows."""
    random = np.random.default_rng(0)
    player.update_many([1.0] * len(player._book.ids), ids=player._book.ids)
    if is_odd(player):
        return None
    for t in range(FURTHER):
        player.decide(random.random(), id=f"new {t}", **a_time(player))
        player.update_many([float(t % 2)], ids=[f"new {t}"])
    if not 0 <= player.explored <= player.acted <= player.rounds:
        return "acted on more than there was"
    return None


def play_fleet(player):
    """Answer everything that is pending; play known and new keys against what is predicted."""
    random = np.random.default_rng(0)
    timed = {}
    if player._policy.has_deadlines:
        books = [each.book for each in player._shards.values()]
        if any(each.is_timed for each in books) or player._policy.span.is_time:
            timed = {"at": max(0.0, *(each.now for each in books))}
        if any(is_odd_book(each) for each in books):
            return None
    waiting = [name for each in player._shards.values() for name in each.book.ids]
    player.update_many(np.ones(len(waiting)), ids=waiting)
    if len(player._shards) < player.shards:
        return None  # the other keys belong to those that it does not hold
    for t in range(FURTHER):
        key, score = int(random.integers(12)), random.random()
        if player.key_kind == "str":
            key = str(key)
        predicted = player.predict(key, score, id=f"new {t}", **timed)
        if not is_probability(predicted) or not is_probability(player.expected(key, score)):
            return "predicts what is no probability"
        player.update_many([float(predicted < 0.5)], ids=[f"new {t}"])
    if player.pending + player.learned + player.expired > player.rounds:
        return "waits for what is learned, or gave it up"
    return None


def play_monitor(player):
    """Watch more rounds; the state stays one that can be said."""
    random = np.random.default_rng(0)
    predicted = random.random(FURTHER)
    player.run(predicted, random.random(FURTHER) < predicted)
    repr(player)
    if (player.state == "miscalibrated") != any(each.end is None for each in player.episodes):
        return f"is {player.state}"
    player.bands()
    return None


def play_number_monitor(player):
    """Watch more rounds; the state stays one that can be said."""
    random = np.random.default_rng(0)
    quantiles = np.sort(random.normal(size=(FURTHER, 3)), axis=1)
    player.run(quantiles, np.array([0.05, 0.5, 0.95]), random.normal(size=FURTHER))
    repr(player)
    if (player.state == "miscalibrated") != any(
        each.episode.end is None for each in player.episodes
    ):
        return f"is {player.state}"
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
    Fleet: play_fleet,
    Monitor: play_monitor,
    NumberMonitor: play_number_monitor,
    Decider: play_decider,
    Scorecard: measure,
}


def saved_states():
    return [
        *forecasters(), *events(), *recalibrators(), *together(), *numbers(), *deciders(),
        *scorecards(), *fleets(), *monitors(),
    ]  # fmt: skip


def another(states, cls, random):
    """Return a saved state of this class."""
    found = [blob for _, of, blob in states if of is cls]
    return found[random.integers(len(found))]


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
            other = another(states, cls, random)
            verdicts[name][verdict(cls, forged(blob, random, other))] += 1
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
