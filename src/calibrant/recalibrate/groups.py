"""Named groups: each has a recalibrator of its own, and starts from the one that all share.

A round of a group has three stages. The *whole*, the recalibrator of all rounds, turns the score
into a mean m; the group's *own* mixture turns the same score into a mean o; a pair, which trusts m
at first, mixes m and o by their log loss. The *last* stage is a recalibrator of the group: it takes
the mixture as its score and places it on the group's own grid.

So a group follows the whole until its own rounds speak against it. Small errors of the whole are
corrected by the last stage; where the group's scores have another meaning altogether, the group's
own mixture takes over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, SupportsFloat

import numpy as np
import numpy.typing as npt

from calibrant._checks import (
    MAX_SEED,
    Floats,
    Id,
    as_listed,
    as_series,
    check_id,
    check_same_length,
)
from calibrant._groups import WHOLE, numbered, one_too_many
from calibrant._kernels.pair import LEAST, PairKernel
from calibrant._kernels.recalibrate import RecalibrateKernel, as_known
from calibrant._kernels.rounds import Round, check_rounds
from calibrant._kernels.saved import floats
from calibrant.recalibrate.saving import Integers, ids_of, load_kernels, save_kernels
from calibrant.recalibrate.waiting import Pending, first_rounds
from calibrant.recalibrate.whole_runs import whole_or_not_at_all

#: The first weight of the whole in a new group's pair, and of the identity in its last stage. Each
#: costs a group that is like the whole -log 0.9 = 0.1 nats.
TRUST = 0.9


class GroupRound(NamedTuple):
    """A round of a group, as each stage remembers it."""

    whole: Round
    own: Round
    last: Round


class Group:
    """One group: its own mixture, the pair and the last stage."""

    __slots__ = ("last", "own", "pair")

    def __init__(self, seed: int, number: int) -> None:
        seed = (seed + 1 + number) % (MAX_SEED + 1)  # draws of its own
        self.own = RecalibrateKernel("probability", seed, inner=True)
        self.pair = PairKernel(TRUST)
        self.last = RecalibrateKernel("probability", seed, inner=True)
        self.last._trust(TRUST)

    def begin(self, whole: Round) -> GroupRound:
        """Predict for a round that the whole has begun."""
        own = self.own._begin(whole.probability, placed=False)
        return GroupRound(whole, own, self.last._begin(self.pair.mix(whole.mean, own.mean)))

    def finish(self, begun: GroupRound, outcome: float) -> None:
        """Learn the outcome of a round."""
        self.last._finish(begun.last, outcome)  # the only one that may want memory
        self.own._finish(begun.own, outcome, placed=False)
        self.pair.learn(begun.whole.mean, begun.own.mean, outcome)

    def begin_many(self, wholes: Sequence[Round]) -> list[GroupRound]:
        """Predict for rounds that the whole has begun together."""
        probabilities = np.array([whole.probability for whole in wholes])
        means, owns = self.own._begin_many(probabilities, off_grid(len(wholes)))
        whole_means = np.array([whole.mean for whole in wholes])
        _, lasts = self.last._begin_many(self.pair.mix_many(whole_means, means))
        return [GroupRound(*rounds) for rounds in zip(wholes, owns, lasts, strict=True)]

    def finish_many(self, begun: Sequence[GroupRound], outcomes: Floats) -> None:
        """Learn the outcomes of rounds that came together."""
        self.last._finish_many([each.last for each in begun], outcomes)
        self.own._finish_many([each.own for each in begun], outcomes, off_grid(len(begun)))
        for each, outcome in zip(begun, outcomes.tolist(), strict=True):
            self.pair.learn(each.whole.mean, each.own.mean, outcome)

    def run(
        self, probabilities: Floats, means: Floats, outcomes: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """Play rounds in which the whole has these means.

        Return the predictions, the smooth words and the expected predictions.
        """
        own, _, _ = self.own._run_means(probabilities, outcomes, off_grid(len(means)))
        words, watched = np.empty(len(means)), np.empty((2, len(means)))
        scores = self.pair.run(means, own, outcomes)
        predictions, _, _ = self.last._run_means(scores, outcomes, None, words, watched)
        return predictions, words, watched[1]

    def score(self, probabilities: Floats, means: Floats) -> Floats:
        """Return the scores that the last stage would get; changes nothing."""
        return self.pair.mix_many(means, self.own._look_many(probabilities)[1])


@dataclass(slots=True, eq=False)
class Groups:
    """The groups by name, in the order in which they first came."""

    most: int
    seed: int
    index: dict[Id, int] = field(default_factory=dict)
    names: list[Id] = field(default_factory=list)
    members: list[Group] = field(default_factory=list)

    def find(self, by: object) -> tuple[Id, Group]:
        """Return the group of this name, or a fresh one that `keep` makes a member."""
        name = check_id(by, "by")
        at = self.index.get(name)
        if at is not None:
            return name, self.members[at]
        if len(self.members) >= self.most:
            raise one_too_many(name, self.most)
        return name, Group(self.seed, len(self.members))

    def keep(self, name: Id, group: Group) -> int:
        """Return the number of a group, which becomes a member if it is not one."""
        at = self.index.setdefault(name, len(self.members))
        if at == len(self.members):
            self.names.append(name)
            self.members.append(group)
        return at

    def numbers_of(self, by: object, rounds: int) -> tuple[Integers, list[Id]]:
        """Return the number of each round's group, and the names that are new."""
        names = as_listed(by, "by", "a sequence of names, one a round")
        check_same_length("by", len(names), "scores", rounds)
        numbers, index = numbered(names, self.index, self.most)
        return np.array(numbers, dtype=np.int64), list(index)[len(self.index) :]

    def begin(self, whole: RecalibrateKernel, score: SupportsFloat, by: object) -> Pending:
        """Predict for a score in the group of this name, which is kept if it is new."""
        name, group = self.find(by)
        begun = group.begin(whole._begin(score, placed=False))
        return Pending(self.keep(name, group), begun)

    def finish(self, whole: RecalibrateKernel, pending: Pending, outcome: float) -> None:
        """Learn the outcome of a prediction of `begin`."""
        begun = GroupRound(*pending.rounds)
        self.members[pending.group].finish(begun, outcome)
        whole._finish(begun.whole, outcome, placed=False)

    def begin_many(
        self, whole: RecalibrateKernel, scores: npt.ArrayLike, by: object
    ) -> list[Round | Pending]:
        """Predict many scores as things stand now, each in its group if it has one."""
        series = as_series(scores, "scores")
        numbers, new = self.numbers_of(by, len(series))
        _, rounds = whole._begin_many(series, on_whole(numbers))
        for name in new:
            self.keep(*self.find(name))
        predictions: list[Round | Pending] = list(rounds)
        for number, rows in rows_by_number(numbers):
            if number != WHOLE:
                begun = self.members[number].begin_many([rounds[row] for row in rows])
                for row, each in zip(rows.tolist(), begun, strict=True):
                    predictions[row] = Pending(number, each)
        return predictions

    def finish_many(
        self, whole: RecalibrateKernel, predictions: Sequence[Round | Pending], outcomes: Floats
    ) -> None:
        """Learn the outcomes of predictions of `begin` and `begin_many` that came together."""
        numbers = np.array(
            [each.group if isinstance(each, Pending) else WHOLE for each in predictions],
            dtype=np.int64,
        )
        parts = [(number, rows) for number, rows in rows_by_number(numbers) if number != WHOLE]
        # What may want memory asks for it before anything changes.
        whole._reserve(len(predictions))
        for number, rows in parts:
            self.members[number].last._reserve(len(rows))
        whole._finish_many(first_rounds(predictions), outcomes, on_whole(numbers))
        for number, rows in parts:
            grouped = [predictions[row] for row in rows]
            begun = [GroupRound(*each.rounds) for each in grouped if isinstance(each, Pending)]
            self.members[number].finish_many(begun, outcomes[rows])

    def look(
        self, whole: RecalibrateKernel, score: SupportsFloat, by: object
    ) -> tuple[RecalibrateKernel, float]:
        """Return a group's last stage and the score that it would get; changes nothing."""
        group = self.find(by)[1]
        probability, mean = whole._look(score)
        return group.last, float(group.score(np.array([probability]), np.array([mean]))[0])

    def look_many(
        self,
        whole: RecalibrateKernel,
        scores: npt.ArrayLike,
        by: object,
        last: Callable[[RecalibrateKernel, Floats], Floats],
    ) -> Floats:
        """Return what `last` makes of the scores that each row's last stage would get.

        For rows without a group that is the whole itself. Changes nothing.
        """
        series = np.asarray(as_series(scores, "scores"), dtype=np.float64)
        numbers, new = self.numbers_of(by, len(series))
        probabilities, means = whole._look_many(series)
        fresh = [Group(self.seed, len(self.members) + each) for each in range(len(new))]
        members, found = [*self.members, *fresh], np.empty(len(series))
        for number, rows in rows_by_number(numbers):
            if number == WHOLE:
                found[rows] = last(whole, series[rows])
            else:
                group = members[number]
                found[rows] = last(group.last, group.score(probabilities[rows], means[rows]))
        return found

    def run(
        self,
        whole: RecalibrateKernel,
        scores: object,
        outcomes: npt.ArrayLike,
        by: object,
        words: Floats | None = None,
        watched: Floats | None = None,
        see: Callable[[], None] | None = None,
    ) -> Floats:
        """Play rounds of the whole, each in its group if it has one; return the predictions.

        `words`, if given, takes the smooth ones, and `watched` the raw scores and the expected
        predictions. `see` is called when all is played: if it fails, nothing was.
        """
        series, y = as_series(scores, "scores"), as_known(outcomes)
        numbers, new = self.numbers_of(by, len(series))
        first = len(self.members)
        fresh = [Group(self.seed, first + each) for each in range(len(new))]
        members = [*self.members, *fresh]
        rows_of = {n: rows for n, rows in rows_by_number(numbers) if n != WHOLE}
        with undone_if_stopped(whole, [members[number] for number in rows_of]):
            # The whole learns from every round and from no group, so it can go first.
            marks = on_whole(numbers)
            predictions, means, probabilities = whole._run_means(series, y, marks, words, watched)
            for number, rows in rows_of.items():
                group = members[number]
                predictions[rows], own, expected = group.run(
                    probabilities[rows], means[rows], y[rows]
                )
                if words is not None:
                    words[rows] = own
                if watched is not None:
                    watched[1, rows] = expected
            if see is not None:
                see()
        for name, group in zip(new, fresh, strict=True):
            self.keep(name, group)
        return predictions

    def get_state(self) -> dict[str, Any]:
        """Return everything as lists and arrays by name."""
        members = self.members
        weights = np.array([group.pair.weight for group in members], dtype=np.float64)
        state = {"groups": list(self.names), "group_weights": weights}
        state |= save_kernels("own_", [group.own for group in members])
        return state | save_kernels("last_", [group.last for group in members])

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Take over a state of `get_state`, or raise ValueError and change nothing."""
        names = ids_of(state, "groups")
        if len(names) > self.most:
            raise ValueError(f"saved groups are more than max_groups={self.most}")
        weights = floats(state, "group_weights", size=len(names), low=LEAST, high=1.0 - LEAST)
        members = [Group(self.seed, number) for number in range(len(names))]
        load_kernels("own_", state, [group.own for group in members])
        load_kernels("last_", state, [group.last for group in members])
        for group, weight in zip(members, weights.tolist(), strict=True):
            own, last = group.own, group.last
            if (own.rounds, own.learned) != (last.rounds, last.learned):
                raise ValueError("saved own_ and last_ must have played the same rounds")
            group.pair = PairKernel(weight)
        self.index = {name: number for number, name in enumerate(names)}
        self.names, self.members = names, members

    def check_pending(self, number: int, counts: Integers, places: Floats) -> None:
        """Refuse saved predictions that cannot have been made in the group of this number."""
        if not 0 <= number < len(self.members) or places.shape[1] != len(GroupRound._fields):
            raise ValueError(f"a saved prediction belongs to group {number}, which is not there")
        group = self.members[number]
        if (counts[:, 1:] >= group.last.rounds).any():
            raise ValueError(f"a saved prediction is ahead of its group {number}")
        if any(each.learned + len(counts) > each.rounds for each in (group.own, group.last)):
            raise ValueError(f"more saved predictions wait in group {number} than were made there")
        whole, own, last = places.swapaxes(0, 1)
        check_rounds(last.reshape(-1), group.last._get_state()["z"])
        for off_grid in (whole, own):  # there, the prediction is the mean
            check_rounds(off_grid.reshape(-1), off_grid[:, 1])


@contextmanager
def undone_if_stopped(whole: RecalibrateKernel, groups: Sequence[Group]) -> Iterator[None]:
    """Let the whole and the groups go back to where they are now if the body is interrupted."""
    kernels = [whole, *(kernel for group in groups for kernel in (group.own, group.last))]
    weights = [group.pair.weight for group in groups]
    try:
        with whole_or_not_at_all(kernels):
            yield
    except BaseException:
        for group, weight in zip(groups, weights, strict=True):
            group.pair = PairKernel(weight)
        raise


def off_grid(rounds: int) -> npt.NDArray[np.uint8]:
    """Return marks that send no round to the grid."""
    return np.zeros(rounds, dtype=np.uint8)


def on_whole(numbers: Integers) -> npt.NDArray[np.uint8]:
    """Return marks that send rounds without a group to the grid of the whole."""
    marks: npt.NDArray[np.uint8] = (numbers == WHOLE).astype(np.uint8)
    return marks


def rows_by_number(
    numbers: Integers,
) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
    """Return each number that occurs and the rows where it does, in order."""
    order = np.argsort(numbers, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
        if len(rows):
            yield int(numbers[rows[0]]), rows
