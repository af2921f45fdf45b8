"""How groups are saved: what each knows, what all share, and the stages that some have earned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._checks import Floats, Id
from calibrant._kernels.fleet.fleet_level import KEY, SCALING
from calibrant._kernels.fleet.fleet_rounds import BUCKETS
from calibrant._kernels.saved import floats
from calibrant._kernels.scores.group_words import SAID, WORD, GroupWords, WordRound, load_words
from calibrant._kernels.scores.pair import LEAST, PairKernel
from calibrant._kernels.scores.recalibrate import RecalibrateKernel
from calibrant._kernels.scores.score_rounds import check_rounds
from calibrant.recalibrate.own_stages import OwnStages, last_stage
from calibrant.recalibrate.saving import load_kernels, save_kernels
from calibrant.rounds.saving import Integers, ids_of, integers

if TYPE_CHECKING:
    from calibrant.recalibrate.groups import Groups

#: No offset of a group and no scaling is larger than this, and no precision.
LARGEST = 1e12
#: No precision is smaller.
SMALLEST = 1e-3
#: How far rounding may have moved a sum of weights, or a precision, relative to itself.
ROUNDED = 0.01
#: The most that lateness counts for.
MOST_LATE = 1000.0


def save(groups: Groups) -> dict[str, Any]:
    """Return everything as lists and arrays by name; without groups, no more than their absence."""
    owners = sorted(groups.own)
    own = [groups.own[number] for number in owners]
    weights = np.array([each.pair.weight for each in own], dtype=np.float64)
    state: dict[str, Any] = {"groups": list(groups.names), "group_weights": weights}
    state |= save_kernels("own_", [each.own for each in own])
    state |= save_kernels("last_", [each.last for each in own])
    if not groups.names:
        return state
    words = groups.words
    heard, used, scaling = words.shared()
    return state | {
        "group_owners": np.array(owners, dtype=np.int64),
        "group_keys": words.keys().view(np.int64),
        "group_counts": np.array([words.rounds, words.learned], dtype=np.int64),
        "group_heard": heard.astype(np.float64),
        "group_used": used,
        "group_scaling": scaling,
        **save_kernels("shared_", [groups.shared]),
    }


def load(groups: Groups, state: dict[str, Any]) -> None:
    """Take over a state of `save`, or raise ValueError."""
    names = ids_of(state, "groups")
    if len(names) > groups.most:
        raise ValueError(f"saved groups are more than max_groups={groups.most}")
    owners: list[int] = []
    if names:  # nothing is saved of words and stages before there are groups
        owners = integers(state, "group_owners", low=0).tolist()
        if sorted({*owners}) != owners or (owners and owners[-1] >= len(names)):
            raise ValueError(f"saved group_owners must be increasing, and below {len(names)}")
    own = load_own(groups.seed, owners, state)
    words, shared = GroupWords(WORD), last_stage(groups.seed - 1)
    if names:
        load_words_of(words, names, state)
        load_kernels("shared_", state, [shared])
        if not (words.learned >= shared.learned and words.rounds >= shared.rounds):
            raise ValueError("the saved shared_ must have played rounds of groups")
    made = words.made()
    if any(stages.last.rounds > made[number] for number, stages in own.items()):
        raise ValueError("saved own_ must not have played more rounds than its group")
    groups.index = {name: number for number, name in enumerate(names)}
    groups.names, groups.own, groups.words, groups.shared = names, own, words, shared


def load_own(seed: int, owners: list[int], state: Mapping[str, Any]) -> dict[int, OwnStages]:
    """Return the stages that groups have of their own."""
    weights = floats(state, "group_weights", size=len(owners), low=LEAST, high=1.0 - LEAST)
    own = {number: OwnStages(seed, number) for number in owners}
    load_kernels("own_", state, [each.own for each in own.values()])
    load_kernels("last_", state, [each.last for each in own.values()])
    for each, weight in zip(own.values(), weights.tolist(), strict=True):
        if (each.own.rounds, each.own.learned) != (each.last.rounds, each.last.learned):
            raise ValueError("saved own_ and last_ must have played the same rounds")
        each.pair = PairKernel(weight)
    return own


def load_words_of(words: GroupWords, names: list[Id], state: Mapping[str, Any]) -> None:
    """Give fresh words what was saved of each group and of what all share."""
    size = KEY.itemsize // 8
    keys = integers(state, "group_keys", size=size * len(names)).view(KEY)
    rounds, learned = integers(state, "group_counts", size=2, low=0).tolist()
    counts = [int(keys[name].sum(dtype=np.int64)) for name in ("made", "learned")]
    if counts != [rounds, learned]:
        raise ValueError(f"saved group_keys must be of {rounds} predictions, {learned} outcomes")
    if (keys["learned"] > keys["made"]).any():
        raise ValueError("saved group_keys must not have learned more than was predicted")
    check_keys(keys)
    heard = floats(state, "group_heard", low=0.0, high=1.0 + ROUNDED)
    if len(heard) % BUCKETS or (np.abs(heard.reshape(BUCKETS, -1).sum(axis=1) - 1) > ROUNDED).any():
        raise ValueError("saved group_heard must be weights that sum to 1 in each bucket")
    if len(heard) != len(words.shared()[0]):
        raise ValueError(f"saved group_heard must have {len(words.shared()[0])} values")
    used = floats(state, "group_used", size=BUCKETS, low=0.0, high=1.0)
    scaling = floats(state, "group_scaling", size=SCALING, low=-LARGEST, high=LARGEST)
    lag, _, _, first, cross, last, _ = scaling.tolist()
    if not 0 <= lag <= MOST_LATE or min(first, last) < SMALLEST:
        raise ValueError("saved group_scaling must be a lateness and a scaling with a precision")
    if cross**2 > first * last * (1 + ROUNDED):
        raise ValueError("saved group_scaling must have a precision")
    words.load(keys, heard.astype(np.float32), used, scaling)
    words.set_counts(rounds, learned)


def check_keys(keys: Any) -> None:
    """Refuse groups that no outcomes lead to."""
    slopes = keys["slope"].reshape(len(keys), -1, 5).astype(np.float64)
    slope, offset, first, cross, last = np.moveaxis(slopes, 2, 0)
    precise = (keys["precision"], first, last)
    sound = [np.abs(each) <= LARGEST for each in (keys["offset"], slope, offset, cross)]
    sound += [(each >= SMALLEST) & (each <= LARGEST) for each in precise]
    sound.append(cross**2 <= first * last * (1 + ROUNDED))
    if not all(each.all() for each in sound):
        raise ValueError("saved group_keys must be offsets and slopes, each with its precision")


def check_pending(groups: Groups, numbers: Integers, counts: Integers, places: Floats) -> None:
    """Refuse saved predictions, of as many rounds each, that these groups cannot have made."""
    if not ((numbers >= 0) & (numbers < len(groups.names))).all():
        raise ValueError("a saved prediction belongs to a group that is not there")
    for off_grid in places.swapaxes(0, 1)[:-1]:  # there, the prediction is the mean
        check_rounds(off_grid.reshape(-1), off_grid[:, 1])
    if places.shape[1] == 2:
        check_placed(groups.shared, counts[:, 1:], places[:, -1])
        return
    for number in np.unique(numbers).tolist():
        own, rows = groups.own.get(number), numbers == number
        if own is None or places.shape[1] != 3:
            raise ValueError(f"a saved prediction of group {number} has stages that are not there")
        check_placed(own.last, counts[rows, 1:], places[rows, -1])


def check_placed(last: RecalibrateKernel, counts: Integers, places: Floats) -> None:
    """Refuse saved predictions that a last stage cannot have made."""
    if (counts >= last.rounds).any():
        raise ValueError("a saved prediction is ahead of its group")
    if last.learned + len(counts) > last.rounds:
        raise ValueError("more saved predictions wait in a group than were made there")
    check_rounds(places.reshape(-1), last._get_state()["z"])


def words_of(groups: Groups, numbers: Integers, saved: Integers) -> list[WordRound]:
    """Return the words that were saved of predictions of these groups, or raise ValueError."""
    words = groups.words
    if len(saved) * 8 != SAID.itemsize * len(numbers):
        raise ValueError(f"saved waiting_words must be {SAID.itemsize // 8} numbers of each")
    said = saved.view(SAID)
    views = said["views"]
    sides = views["p"], views["q"]
    if (said["slot"] != numbers).any():
        raise ValueError("saved waiting_words must be of the groups of the predictions")
    keys = words.keys()
    waiting = np.bincount(numbers, minlength=len(keys))
    if (waiting + keys["learned"] > keys["made"]).any():
        raise ValueError("more saved predictions wait in a group than were made there")
    for name, most in (("number", words.rounds - 1), ("age", words.learned)):
        if not ((said[name] >= 0) & (said[name] <= most)).all():
            raise ValueError(f"saved {name} of waiting_words must be in [0, {most}]")
    # In single precision what an expert says may round to 1, and the mean of all of them does not.
    inside = [said["mean"] < 1, *((each > 0) & (each <= 1) for each in (said["mean"], *sides))]
    if not all(each.all() for each in inside):
        raise ValueError("saved waiting_words must be probabilities")
    finite = [np.abs(views[name]) <= LARGEST for name in ("x", "v")]
    finite.append((views["bucket"] >= 0) & (views["bucket"] < BUCKETS))
    if not all(each.all() for each in finite):
        raise ValueError("saved waiting_words must be of finite scores, in a bucket of weights")
    return load_words(said)
