"""Groups: each starts from what all share, and deviates as far as its own outcomes require.

A round of a group passes through three stages. The *whole*, the recalibrator of all rounds,
estimates m from the score. The group's own estimate k adjusts m by the group's outcomes, with the
rule of a fleet: 128 bytes per group, where the weight of a group's outcomes is learned from all
groups. The *shared* last stage is a recalibrator of the estimates of all groups, and places k on
its grid.

If there are few groups, the others are not informative about one of them, and it soon gets its own
curve and grid instead of the shared stage (`OwnStages`): of n groups, one that has learned
(n / FEW)^2 outcomes, or EARNED. So with R outcomes in all there are at most (3 FEW^2 R)^(1/3) or
R / EARNED of these, whichever is more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
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
from calibrant._kernels.fleet.fleet_level import KEY, SCALING
from calibrant._kernels.fleet.fleet_rounds import BUCKETS
from calibrant._kernels.rounds.round import StagedRound, batches_of
from calibrant._kernels.saved import floats
from calibrant._kernels.scores.group_estimates import (
    ESTIMATE,
    PREDICTED,
    EstimateRound,
    GroupEstimates,
    load_estimates,
)
from calibrant._kernels.scores.pair import LEAST, PairKernel
from calibrant._kernels.scores.recalibrate import RecalibrateKernel, as_known
from calibrant._kernels.scores.score_rounds import ScoreRound, check_rounds
from calibrant._kernels.scores.smooth import smooth_of_many
from calibrant.recalibrate.saving import load_kernels, save_kernels
from calibrant.rounds.saving import Integers, ids_of, integers

#: So many outcomes are enough for stages of its own, however many groups there are.
EARNED = 1000
#: So many groups are few: one outcome is enough.
FEW = 20
#: No offset of a group and no scaling is larger than this, and no precision.
LARGEST = 1e12
#: No precision is smaller.
SMALLEST = 1e-3
#: How far rounding may have moved a sum of weights, or a precision, relative to itself.
ROUNDED = 0.01
#: The most that lateness counts for.
MOST_LATE = 1000.0
#: The first weight of the group's estimate in a new pair, and of the identity in a last stage. Each
#: costs a group that has no curve of its own -log 0.9 = 0.1 nats.
TRUST = 0.9
#: Makes a fresh recalibrator of estimates that may well be right already, given its seed.
last_stage = partial(RecalibrateKernel, "probability", inner=True, trust=TRUST)

Rows = npt.NDArray[np.intp]


class Groups:
    """The groups by name, numbered in order of appearance.

    Parameters
    ----------
    most : int
        The maximal number of groups.
    seed : int
        The seed of the recalibrator.
    """

    __slots__ = ("deferred", "estimates", "index", "most", "names", "own", "seed", "shared")

    def __init__(self, most: int, seed: int) -> None:
        self.most = most
        self.seed = seed
        self.index: dict[Id, int] = {}
        self.names: list[Id] = []
        self.estimates = GroupEstimates(ESTIMATE)
        self.shared = last_stage((seed - 1) % (MAX_SEED + 1))
        self.own: dict[int, OwnStages] = {}  # by the number of the group
        self.deferred: list[tuple[list[StagedRound], Floats]] = []  # until the whole learns

    # -- which group, which stages --------------------------------------------------------------

    def find(self, by: object) -> tuple[Id, int]:
        """Return the name and the number of a group; that of a new one is the next."""
        name = check_id(by, "by")
        number = self.index.get(name, len(self.names))
        if number >= self.most:
            raise one_too_many(name, self.most)
        return name, number

    def numbers_of(self, by: object, rounds: int) -> tuple[Integers, list[Id]]:
        """Return the number of each round's group, and the names that are new."""
        names = as_listed(by, "by", "a sequence of names, one per round")
        check_same_length("by", len(names), "scores", rounds)
        numbers, new = numbered(names, self.index, self.most)
        return np.array(numbers, dtype=np.int64), list(new)

    def keep(self, names: Sequence[Id]) -> None:
        """Take in new names, whose estimates have begun."""
        self.index.update(zip(names, range(len(self.names), self.most), strict=False))
        self.names.extend(names)

    def own_stages(self, number: int) -> OwnStages | None:
        """Return the stages of a group, new ones if it has just earned them, None if it has not."""
        own = self.own.get(number)
        groups = max(len(self.names), number + 1)
        if own is None and has_earned(self.estimates.outcomes_of(number), groups):
            own = OwnStages(self.seed, number)
        return own

    def rows_of_own(self, numbers: Integers, outcomes: Integers) -> npt.NDArray[np.bool_]:
        """Return which rows are predicted by their group's own stages.

        `outcomes` are the numbers of outcomes that the group of each row had learned before. A
        group keeps its own stages, even if more groups raise the required number of outcomes.
        """
        groups = np.maximum(len(self.names), np.maximum.accumulate(numbers + 1))
        earned: npt.NDArray[np.bool_] = has_earned(outcomes, groups)
        earned |= np.isin(numbers, list(self.own))
        owners, first = np.unique(numbers[earned], return_index=True)
        if not len(owners):
            return earned
        first = np.flatnonzero(earned)[first]
        at = np.minimum(np.searchsorted(owners, numbers), len(owners) - 1)
        since: npt.NDArray[np.bool_] = np.arange(len(numbers)) >= first[at]
        since &= owners[at] == numbers
        return since

    # -- one by one -----------------------------------------------------------------------------

    def begin(self, whole: RecalibrateKernel, score: SupportsFloat, by: object) -> StagedRound:
        """Predict for a score in the group of this name, which is kept if it is new."""
        name, number = self.find(by)
        whole._catch_up()
        own = self.own_stages(number)
        if number == len(self.names):
            self.estimates.reserve(1)
        first = whole._begin(score, placed=False)
        if number == len(self.names):
            self.estimates.begin_groups(1)
            self.keep([name])
        estimate = self.estimates.begin(number, first.mean, first.probability)
        if own is None:
            return StagedRound(number, (first, self.shared._begin(estimate.mean)), estimate)
        self.own[number] = own
        return StagedRound(number, (first, *own.begin(first.probability, estimate.mean)), estimate)

    def finish(self, whole: RecalibrateKernel, pending: StagedRound, outcome: float) -> None:
        """Learn the outcome of a prediction of `begin`."""
        for each in pending.rounds:
            each.join(pending)
        first, *later = pending.rounds
        estimate: EstimateRound = pending.estimate
        if pending.is_shared:
            self.deferred.append(([pending], np.array([outcome])))
            whole._finish(first, outcome, placed=False)
            return
        whole._catch_up()  # what came before is learned before
        if len(later) == 1:
            self.shared._finish(later[0], outcome)
        else:
            self.own[pending.group].finish(OwnRound(*later), estimate.mean, outcome)
        self.estimates.finish(estimate, outcome, first.weight)
        whole._finish(first, outcome, placed=False)

    # -- batches --------------------------------------------------------------------------------

    def begin_many(
        self, whole: RecalibrateKernel, scores: npt.ArrayLike, by: object
    ) -> list[ScoreRound | StagedRound]:
        """Predict many scores from the current state, each in its group if it has one."""
        series = as_series(scores, "scores")
        numbers, new = self.numbers_of(by, len(series))
        self.estimates.reserve(len(new))
        _, firsts = whole._begin_many(series, on_whole(numbers))
        rows = np.flatnonzero(numbers != WHOLE)
        outcomes = [self.estimates.outcomes_of(number) for number in numbers[rows].tolist()]
        is_own = self.rows_of_own(numbers[rows], np.array(outcomes, dtype=np.int64))
        self.estimates.begin_groups(len(new))
        self.keep(new)
        begun = [
            self.estimates.begin(number, firsts[row].mean, firsts[row].probability)
            for number, row in zip(numbers[rows].tolist(), rows.tolist(), strict=True)
        ]
        estimates = np.array([each.mean for each in begun])
        predictions: list[ScoreRound | StagedRound] = list(firsts)
        for number, at in parts_of(numbers[rows], is_own):
            later: Sequence[tuple[ScoreRound, ...]]
            if number == WHOLE:
                later = [(each,) for each in self.shared._begin_many(estimates[at])[1]]
            else:
                own = self.own.get(number) or OwnStages(self.seed, number)
                self.own[number] = own
                given = np.array([firsts[row].probability for row in rows[at].tolist()])
                later = own.begin_many(given, estimates[at])
            for place, each in zip(at.tolist(), later, strict=True):
                row = rows[place]
                group = int(numbers[row])
                predictions[row] = StagedRound(group, (firsts[row], *each), begun[place])
        return predictions

    def finish_many(
        self,
        whole: RecalibrateKernel,
        predictions: Sequence[ScoreRound | StagedRound],
        outcomes: Floats,
    ) -> None:
        """Learn the outcomes of predictions of `begin` and `begin_many` that arrived together."""
        grouped = [
            (row, each) for row, each in enumerate(predictions) if isinstance(each, StagedRound)
        ]
        for _, one in grouped:
            for part in one.rounds:
                part.join(one)
        rows = np.array([row for row, _ in grouped], dtype=np.intp)
        pending = [each for _, each in grouped]
        parts = stages_of_rounds(pending)
        # What may want memory asks for it before anything changes.
        whole._reserve(len(predictions))
        for number, at in parts:
            last = self.shared if number == WHOLE else self.own[number].last
            last._reserve(len(at))
        marks = np.ones(len(predictions), dtype=np.uint8)
        marks[rows] = 0
        firsts = [each.rounds[0] if isinstance(each, StagedRound) else each for each in predictions]
        is_deferred = any(each.is_shared for each in predictions)
        if is_deferred:
            self.deferred.append((pending, outcomes[rows]))
        whole._finish_many(firsts, outcomes, marks)
        if not is_deferred:
            self.learn_call(pending, outcomes[rows])

    def learn_call(self, pending: Sequence[StagedRound], outcomes: Floats) -> None:
        """Learn outcomes that arrived together, after the whole, of rounds that did not wait so."""
        for number, at in stages_of_rounds(pending):
            later = [pending[place].rounds[1:] for place in at]
            if number == WHOLE:
                self.shared._finish_many([each[0] for each in later], outcomes[at])
            else:
                estimates = np.array([pending[place].estimate.mean for place in at])
                begun = [OwnRound(*each) for each in later]
                self.own[number].finish_many(begun, estimates, outcomes[at])
        for each, outcome in zip(pending, outcomes.tolist(), strict=True):
            self.estimates.finish(each.estimate, outcome, each.weight)

    def catch_up(self) -> None:
        """Learn what was deferred and the whole has just learned: batches as such."""
        calls, self.deferred = self.deferred, []
        batched: list[StagedRound] = []
        known: list[Floats] = []
        for pending, outcomes in calls:
            is_batched = np.array([each.rounds[0].dispersed > 0 for each in pending], np.bool_)
            single = np.flatnonzero(~is_batched)
            if len(single):
                self.learn_call([pending[row] for row in single], outcomes[single])
            batched += [pending[row] for row in np.flatnonzero(is_batched)]
            known.append(outcomes[is_batched])
        if batched:
            of_all = np.concatenate(known)
            for batch in batches_of(batched):
                self.learn_batch([batched[row] for row in batch], of_all[batch])

    def learn_batch(self, pending: Sequence[StagedRound], outcomes: Floats) -> None:
        """Learn outcomes of rounds that waited together, in this order, after the whole.

        Each stage learns from the updated estimates of the stages before it. Of the groups' own
        estimates, those made before the update are used: a group has few rows of a batch, and would
        overfit them.
        """
        means = np.array([each.rounds[0].after for each in pending])
        dispersed = pending[0].rounds[0].dispersed
        begun = [each.estimate for each in pending]
        weights = np.array([each.weight for each in pending])
        estimates = self.estimates.finish_batch(begun, means, outcomes, dispersed, weights)
        for number, at in stages_of_rounds(pending):
            later = [pending[place].rounds[1:] for place in at]
            if number == WHOLE:
                self.shared._finish_batch([each[0] for each in later], outcomes[at], estimates[at])
            else:
                predicted = np.array([pending[place].estimate.mean for place in at])
                rounds = [OwnRound(*each) for each in later]
                self.own[number].finish_batch(
                    rounds, predicted, estimates[at], outcomes[at], dispersed
                )

    # -- looking --------------------------------------------------------------------------------

    def look(
        self, whole: RecalibrateKernel, score: SupportsFloat, by: object
    ) -> tuple[RecalibrateKernel, float]:
        """Return a group's last stage and the score that it would get; changes nothing."""
        number = self.find(by)[1]
        given, mean = [np.array([each]) for each in whole._look(score)]
        estimates = self.estimates.look_many(np.array([number]), mean, given)
        own = self.own_stages(number)
        if own is None:
            return self.shared, float(estimates[0])
        means = own.own._look_many(given)[1]
        return own.last, float(own.pair.mix_many(estimates, means)[0])

    def stages_of(self, numbers: Integers) -> Iterator[tuple[OwnStages | None, Rows]]:
        """Return the rows that would come to each of the stages, None for the shared one."""
        if len(numbers) == 1:
            yield self.own_stages(int(numbers[0])), np.zeros(1, dtype=np.intp)
            return
        own = {each: self.own_stages(each) for each in np.unique(numbers).tolist()}
        is_own = np.array([own[each] is not None for each in numbers.tolist()], dtype=np.bool_)
        for number, rows in parts_of(numbers, is_own):
            yield None if number == WHOLE else own[number], rows

    def expected_many(self, whole: RecalibrateKernel, scores: npt.ArrayLike, by: object) -> Floats:
        """Return the means of what many scores, each in its group, would get; changes nothing."""
        series = np.asarray(as_series(scores, "scores"), dtype=np.float64)
        numbers, _ = self.numbers_of(by, len(series))
        probabilities, means = whole._look_many(series)
        found, rows = np.empty(len(series)), np.flatnonzero(numbers != WHOLE)
        alone = np.flatnonzero(numbers == WHOLE)
        found[alone] = whole._expected_many(series[alone])
        given = probabilities[rows]
        estimates = self.estimates.look_many(numbers[rows], means[rows], given)
        for own, at in self.stages_of(numbers[rows]):
            if own is None:
                found[rows[at]] = self.shared._expected_many(estimates[at])
            else:
                of_own = own.own._look_many(given[at])[1]
                mixed = own.pair.mix_many(estimates[at], of_own)
                found[rows[at]] = own.last._expected_many(mixed)
        return found

    def smooth_many(self, whole: RecalibrateKernel, scores: npt.ArrayLike, by: object) -> Floats:
        """Return the smooth estimates for many scores, each in its group; changes nothing."""
        given, estimates = smooth_of_many(whole, scores)
        if by is None:
            return estimates
        numbers, _ = self.numbers_of(by, len(given))
        rows = np.flatnonzero(numbers != WHOLE)
        estimates[rows] = self.smooth_in_groups(numbers[rows], given[rows], estimates[rows])
        return estimates

    def smooth_in_groups(self, numbers: Integers, given: Floats, estimates: Floats) -> Floats:
        """Return the smooth estimates of scores in these groups, given those of the whole."""
        predicted = self.estimates.look_many(numbers, estimates, given, smooth=True)
        for own, rows in self.stages_of(numbers):
            if own is None:
                predicted[rows] = smooth_of_many(self.shared, predicted[rows])[1]
            else:
                predicted[rows] = own.smooth_many(given[rows], predicted[rows])
        return predicted

    # -- runs -----------------------------------------------------------------------------------

    def run(
        self,
        whole: RecalibrateKernel,
        scores: object,
        outcomes: npt.ArrayLike,
        numbers: Integers,
        new: list[Id],
        estimates: Floats | None = None,
        watched: Floats | None = None,
    ) -> Floats:
        """Play rounds of the whole, each in its group if it has one; return the predictions.

        `estimates`, if given, takes two rows: the scores as probabilities, and smooth estimates;
        and `watched` the raw scores and the expected predictions. Where it is stopped, it is for
        the caller to go back (`copies`).
        """
        series, y = as_series(scores, "scores"), as_known(outcomes)
        rows, fresh = np.flatnonzero(numbers != WHOLE), dict[int, OwnStages]()
        slots = numbers[rows]
        # Each stage learns from those before it and from none after it.
        marks = on_whole(numbers)
        predictions, means, given = whole._run_means(series, y, marks, estimates, watched)
        self.estimates.begin_groups(len(new))
        given, observed = given[rows], y[rows]
        smooth = None if estimates is None else np.ascontiguousarray(estimates[:, rows])
        predicted, before = self.estimates.run(slots, means[rows], given, observed, smooth)
        for number, at in parts_of(slots, self.rows_of_own(slots, before)):
            ranked = None if smooth is None else np.ascontiguousarray(smooth[:, at])
            seen = None if watched is None else np.empty((2, len(at)))
            if number == WHOLE:
                if ranked is not None:
                    ranked[0] = ranked[1]
                last = self.shared._run_means(predicted[at], observed[at], None, ranked, seen)[0]
            else:
                own = self.own.get(number)
                if own is None:
                    own = fresh[number] = OwnStages(self.seed, number)
                last = own.run(given[at], predicted[at], observed[at], ranked, seen)
            predictions[rows[at]] = last
            if estimates is not None and ranked is not None:
                estimates[:, rows[at]] = ranked
            if watched is not None and seen is not None:
                watched[1, rows[at]] = seen[1]
        self.keep(new)
        self.own.update(fresh)
        return predictions

    def copies(self, whole: RecalibrateKernel, numbers: Integers | None) -> list[Any]:
        """Return the calls that take the whole and these groups back to where they are now."""
        whole._catch_up()
        if numbers is None:
            return [(whole._go_back, (whole._copy(),), None)]
        known = np.unique(numbers[(numbers != WHOLE) & (numbers < len(self.names))])
        owners = [self.own[each] for each in known.tolist() if each in self.own]
        kernels = [whole, self.shared]
        kernels += [kernel for own in owners for kernel in (own.own, own.last)]
        calls: list[Any] = [(kernel._go_back, (kernel._copy(),), None) for kernel in kernels]
        calls.append((self.estimates.go_back, (self.estimates.copy_of(known),), None))
        calls += [(setattr, (own, "pair", PairKernel(own.pair.weight)), None) for own in owners]
        for name in ("index", "names", "own"):
            calls.append((setattr, (self, name, getattr(self, name).copy()), None))
        return calls

    # -- saving ---------------------------------------------------------------------------------

    def get_state(self) -> dict[str, Any]:
        """Return everything as lists and arrays by name; without groups, that there are none."""
        owners = sorted(self.own)
        own = [self.own[number] for number in owners]
        weights = np.array([each.pair.weight for each in own], dtype=np.float64)
        state: dict[str, Any] = {"groups": list(self.names), "group_weights": weights}
        state |= save_kernels("own_", [each.own for each in own])
        state |= save_kernels("last_", [each.last for each in own])
        if not self.names:
            return state
        estimates = self.estimates
        heard, used, scaling = estimates.shared()
        return state | {
            "group_owners": np.array(owners, dtype=np.int64),
            "group_keys": estimates.keys().view(np.int64),
            "group_counts": np.array([estimates.rounds, estimates.learned], dtype=np.int64),
            "group_heard": heard.astype(np.float64),
            "group_used": used,
            "group_scaling": scaling,
            **save_kernels("shared_", [self.shared]),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Restore a state of `get_state`, or raise ValueError."""
        names = ids_of(state, "groups")
        if len(names) > self.most:
            raise ValueError(f"saved groups are more than max_groups={self.most}")
        owners: list[int] = []
        if names:  # nothing is saved of estimates and stages before there are groups
            owners = integers(state, "group_owners", low=0).tolist()
            if sorted({*owners}) != owners or (owners and owners[-1] >= len(names)):
                raise ValueError(f"saved group_owners must be increasing, and below {len(names)}")
        own = load_own(self.seed, owners, state)
        estimates, shared = GroupEstimates(ESTIMATE), last_stage(self.shared.seed)
        if names:
            load_estimates_of(estimates, names, state)
            load_kernels("shared_", state, [shared])
            if not (estimates.learned >= shared.learned and estimates.rounds >= shared.rounds):
                raise ValueError("the saved shared_ must have played rounds of groups")
        made = estimates.made()
        if any(stages.last.rounds > made[number] for number, stages in own.items()):
            raise ValueError("saved own_ must not have played more rounds than its group")
        self.index = {name: number for number, name in enumerate(names)}
        self.names, self.own, self.estimates, self.shared = names, own, estimates, shared
        self.deferred = []

    def check_pending(self, numbers: Integers, counts: Integers, places: Floats) -> None:
        """Refuse saved predictions, of as many rounds each, that these groups cannot have made."""
        if not ((numbers >= 0) & (numbers < len(self.names))).all():
            raise ValueError("a saved prediction belongs to a group that is not there")
        for off_grid in places.swapaxes(0, 1)[:-1]:  # there, the prediction is the mean
            check_rounds(off_grid.reshape(-1), off_grid[:, 1])
        if places.shape[1] == 2:
            check_placed(self.shared, counts[:, 1:], places[:, -1])
            return
        for number in np.unique(numbers).tolist():
            own, rows = self.own.get(number), numbers == number
            if own is None or places.shape[1] != 3:
                raise ValueError(
                    f"a saved prediction of group {number} has stages that are not there"
                )
            check_placed(own.last, counts[rows, 1:], places[rows, -1])

    def estimates_of(self, numbers: Integers, saved: Integers) -> list[EstimateRound]:
        """Return the saved estimates of predictions of these groups, or raise ValueError."""
        estimates = self.estimates
        if len(saved) * 8 != PREDICTED.itemsize * len(numbers):
            raise ValueError(
                f"saved waiting_estimates must be {PREDICTED.itemsize // 8} numbers of each"
            )
        predicted = saved.view(PREDICTED)
        views = predicted["views"]
        sides = views["p"], views["q"]
        if (predicted["slot"] != numbers).any():
            raise ValueError("saved waiting_estimates must be of the groups of the predictions")
        keys = estimates.keys()
        waiting = np.bincount(numbers, minlength=len(keys))
        if (waiting + keys["learned"] > keys["made"]).any():
            raise ValueError("more saved predictions wait in a group than were made there")
        for name, most in (("number", estimates.rounds - 1), ("age", estimates.learned)):
            if not ((predicted[name] >= 0) & (predicted[name] <= most)).all():
                raise ValueError(f"saved {name} of waiting_estimates must be in [0, {most}]")
        # In single precision an expert's estimate may round to 1, the mean of all does not.
        inside = [
            predicted["mean"] < 1,
            *((each > 0) & (each <= 1) for each in (predicted["mean"], *sides)),
        ]
        if not all(each.all() for each in inside):
            raise ValueError("saved waiting_estimates must be probabilities")
        finite = [np.abs(views[name]) <= LARGEST for name in ("x", "v")]
        finite.append((views["bucket"] >= 0) & (views["bucket"] < BUCKETS))
        if not all(each.all() for each in finite):
            raise ValueError(
                "saved waiting_estimates must be of finite scores, in a bucket of weights"
            )
        return load_estimates(predicted)


def has_earned(outcomes: Any, groups: Any) -> Any:
    """Return whether so many outcomes earn stages of its own to one of so many groups."""
    return outcomes >= np.minimum((groups / FEW) ** 2, EARNED)


def on_whole(numbers: Integers) -> npt.NDArray[np.uint8]:
    """Return marks that send rounds without a group to the grid of the whole."""
    marks: npt.NDArray[np.uint8] = (numbers == WHOLE).astype(np.uint8)
    return marks


def parts_of(numbers: Integers, is_own: npt.NDArray[np.bool_]) -> Iterator[tuple[int, Rows]]:
    """Return the rows of the shared stage, under WHOLE, and those of each group with its own."""
    shared, owned = np.flatnonzero(~is_own), np.flatnonzero(is_own)
    if len(shared):
        yield WHOLE, shared
    order = owned[np.argsort(numbers[owned], kind="stable")]
    for rows in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
        if len(rows):
            yield int(numbers[rows[0]]), rows


def stages_of_rounds(pending: Sequence[StagedRound]) -> list[tuple[int, Rows]]:
    """Return which rounds came to which last stages, as `parts_of` does."""
    numbers = np.array([each.group for each in pending], dtype=np.int64)
    is_own = np.array([len(each.rounds) > 2 for each in pending], dtype=np.bool_)
    return list(parts_of(numbers, is_own))


class OwnRound(NamedTuple):
    """The part of a round that the stages of one group remember."""

    own: ScoreRound
    last: ScoreRound


class OwnStages:
    """The own stages of a group with enough outcomes: a mixture, a pair of weights, a last stage.

    The group's estimate k comes from the stages that all groups share. The group's *own* mixture
    maps the score itself to a mean o; a pair of weights, at first mostly on k, mixes k and o by
    their log losses. The *last* stage is a recalibrator that takes the result as its score and
    places it on the group's own grid.

    So a group follows the others until its own rounds are evidence against that. Small errors are
    corrected by the last stage; if the group's scores need a different curve, its own mixture takes
    over.
    """

    __slots__ = ("last", "own", "pair")

    def __init__(self, seed: int, number: int) -> None:
        seed = (seed + 1 + number) % (MAX_SEED + 1)  # draws of its own
        self.own = RecalibrateKernel("probability", seed, inner=True)
        self.pair = PairKernel(TRUST)
        self.last = last_stage(seed)

    def begin(self, probability: float, estimate: float) -> OwnRound:
        """Predict for a score, as a probability, for which the group's estimate is `estimate`."""
        own = self.own._begin(probability, placed=False)
        return OwnRound(own, self.last._begin(self.pair.mix(estimate, own.mean)))

    def finish(self, begun: OwnRound, estimate: float, outcome: float) -> None:
        """Learn the outcome of a round."""
        self.last._finish(begun.last, outcome)  # the only one that may want memory
        self.own._finish(begun.own, outcome, placed=False)
        self.pair.learn(estimate, begun.own.mean, outcome, begun.own.weight)

    def begin_many(self, probabilities: Floats, estimates: Floats) -> list[OwnRound]:
        """Predict for rounds that begin together."""
        means, owns = self.own._begin_many(probabilities, np.zeros(len(estimates), np.uint8))
        _, lasts = self.last._begin_many(self.pair.mix_many(estimates, means))
        return [OwnRound(*rounds) for rounds in zip(owns, lasts, strict=True)]

    def finish_many(self, begun: Sequence[OwnRound], estimates: Floats, outcomes: Floats) -> None:
        """Learn the outcomes of rounds that arrived together."""
        self.last._finish_many([each.last for each in begun], outcomes)
        self.own._finish_many(
            [each.own for each in begun], outcomes, np.zeros(len(begun), np.uint8)
        )
        for each, estimate, outcome in zip(
            begun, estimates.tolist(), outcomes.tolist(), strict=True
        ):
            self.pair.learn(estimate, each.own.mean, outcome, each.own.weight)

    def finish_batch(
        self,
        begun: Sequence[OwnRound],
        predicted: Floats,
        estimates: Floats,
        outcomes: Floats,
        dispersed: float,
    ) -> None:
        """Learn a batch; the group's estimates were `predicted`, and would be `estimates` now."""
        owns = [each.own for each in begun]
        means = np.array([each.mean for each in owns])
        self.own._finish_batch(owns, outcomes, placed=np.zeros(len(begun), np.uint8))
        after = np.array([each.after or each.mean for each in owns])
        scores = self.pair.mix_many(estimates, after)
        weights = np.array([each.weight for each in owns])
        self.pair.learn_batch(predicted, means, outcomes, dispersed, weights)
        self.last._finish_batch([each.last for each in begun], outcomes, scores)

    def run(
        self,
        probabilities: Floats,
        estimates: Floats,
        outcomes: Floats,
        smooth: Floats | None = None,
        watched: Floats | None = None,
    ) -> Floats:
        """Play rounds with these estimates of the group; return the predictions.

        `smooth`, if given, has the scores and the group's smooth estimates, which the last stage's
        replace. `watched` takes the expected predictions in its second row.
        """
        given = None if smooth is None else smooth.copy()
        own, _, _ = self.own._run_means(
            probabilities, outcomes, np.zeros(len(estimates), np.uint8), given
        )
        scores, shares = self.pair.run(estimates, own, outcomes)
        if smooth is not None and given is not None:
            smooth[0] = given[1] + shares * (smooth[1] - given[1])
        return self.last._run_means(scores, outcomes, estimates=smooth, watched=watched)[0]

    def smooth_many(self, given: Floats, estimates: Floats) -> Floats:
        """Return the smooth estimates where those of the group are `estimates`; changes nothing."""
        own = smooth_of_many(self.own, given)[1]
        return smooth_of_many(self.last, self.pair.mix_many(estimates, own))[1]


# -- saved groups ----------------------------------------------------------------------------------


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


def load_estimates_of(estimates: GroupEstimates, names: list[Id], state: Mapping[str, Any]) -> None:
    """Give fresh estimates what was saved of each group and of what all share."""
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
    if len(heard) != len(estimates.shared()[0]):
        raise ValueError(f"saved group_heard must have {len(estimates.shared()[0])} values")
    used = floats(state, "group_used", size=BUCKETS, low=0.0, high=1.0)
    scaling = floats(state, "group_scaling", size=SCALING, low=-LARGEST, high=LARGEST)
    lag, _, _, first, cross, last, _ = scaling.tolist()
    if not 0 <= lag <= MOST_LATE or min(first, last) < SMALLEST:
        raise ValueError("saved group_scaling must be a lateness and a scaling with a precision")
    if cross**2 > first * last * (1 + ROUNDED):
        raise ValueError("saved group_scaling must have a precision")
    estimates.load(keys, heard.astype(np.float32), used, scaling)
    estimates.set_counts(rounds, learned)


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


def check_placed(last: RecalibrateKernel, counts: Integers, places: Floats) -> None:
    """Refuse saved predictions that a last stage cannot have made."""
    if (counts >= last.rounds).any():
        raise ValueError("a saved prediction is ahead of its group")
    if last.learned + len(counts) > last.rounds:
        raise ValueError("more saved predictions wait in a group than were made there")
    check_rounds(places.reshape(-1), last._get_state()["z"])
