"""The scorecard: every streaming measure of one forecaster, kept up to date round by round.

Windows of a fixed number of rounds are also measured separately.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from calibrant._bytes import MAGIC, Saved, pack, unpack
from calibrant._checks import (
    Floats,
    as_rounds,
    check_id,
    check_integer,
    check_real,
    check_same_length,
    describe,
)
from calibrant._kernels.saved import SLACK, part_of
from calibrant._kernels.tally import TallyKernel
from calibrant.measures.binned import ReliabilityTable, Scheme, bins_of, sum_by
from calibrant.measures.chance import LEVEL, ece_left, ece_left_at_most, normal
from calibrant.measures.distinct import DistinctTable, Indices
from calibrant.measures.saved_tallies import load_tally
from calibrant.measures.smooth_ece import smece_of
from calibrant.tables.atomic import load_bytes, save_bytes

#: More bins than a reader can use.
MOST_BINS = 2**24


@dataclass(frozen=True, slots=True)
class WindowMeasures:
    """The measures of the rounds ``start <= t < stop`` alone, as `Scorecard` defines them.

    Examples
    --------
    >>> from calibrant.measures import Scorecard
    >>> card = Scorecard(window=2)
    >>> card.extend([0.5, 0.5, 0.5], [1, 0, 1])
    >>> [(w.start, w.stop, w.cal1) for w in card.windows]
    [(0, 2, 0.0), (2, 3, 0.5)]
    """

    start: int
    stop: int
    mean_prediction: float
    mean_outcome: float
    cal1: float
    cal2: float
    klcal: float
    brier: float
    log_loss: float
    ece: float


#: What is measured of a window, in order.
MEASURES = tuple(each.name for each in fields(WindowMeasures))[2:]


class Stretches(NamedTuple):
    """Windows, or several at a time, as arrays: means, and what chance alone explains.

    Attributes
    ----------
    stop : array of int
        Rounds so far at the end of each stretch.
    rounds : array of int
        Its own rounds.
    mean_prediction, mean_outcome, ece : array of float
        As in `WindowMeasures`.
    chance_ece, ece_limit : array of float
        If every prediction is right: the mean ECE, and its limit in 95 of 100 stretches.
    chance_mean : array of float
        How far the mean outcome is then from the mean prediction at most, in 95 of 100.

    Examples
    --------
    >>> from calibrant.measures import Scorecard
    >>> card = Scorecard(window=2)
    >>> card.extend([0.5, 0.5, 0.5, 0.5, 1.0, 1.0], [1, 0, 1, 1, 1, 1])
    >>> card.stretches(4).mean_outcome
    array([0.75, 1.  ])
    """

    stop: Indices
    rounds: Indices
    mean_prediction: Floats
    mean_outcome: Floats
    ece: Floats
    chance_ece: Floats
    ece_limit: Floats
    chance_mean: Floats


@dataclass(eq=False)
class Windows:
    """Measure each window of `size` rounds separately."""

    size: int
    bins: int
    _tally: TallyKernel
    _used: int = 0  # rounds of the window that is not yet full
    _finished: list[WindowMeasures] = field(default_factory=list)
    _binned: list[Floats] = field(default_factory=list)  # of each, residuals and variances by bin

    def add(self, p: float, y: float) -> None:
        """Count a checked round."""
        self._tally.add(p, y)
        self._used += 1
        if self._used == self.size:
            self._finish()

    def extend(self, p: Floats, y: Floats) -> None:
        """Count checked rounds, window by window."""
        done = 0
        while done < len(p):
            upto = min(len(p), done + self.size - self._used)
            self._tally.extend(p[done:upto], y[done:upto])
            self._used += upto - done
            done = upto
            if self._used == self.size:
                self._finish()

    def measures(self) -> list[WindowMeasures]:
        """Return the measures of each window in turn, the unfinished last one included."""
        return [*self._finished, self._measure()] if self._used else list(self._finished)

    def stretches(self, size: int) -> Stretches:
        """Return what is known of every `size` rounds, a multiple of the size of a window.

        A last stretch with less than half of its rounds is left out, since its numbers would be
        noise.
        """
        windows = self.measures()
        over = windows[-1].stop % size
        if len(windows) * self.size > size and 0 < 2 * over < size:
            windows = windows[: windows[-1].stop // size * (size // self.size)]
        starts = np.arange(0, len(windows), size // self.size)
        rounds = np.array([each.stop - each.start for each in windows], dtype=np.intp)
        last = [self._by_bin()] if self._used else []
        binned = np.array([*self._binned, *last])[: len(windows)]
        residual, variance = np.add.reduceat(binned, starts).transpose(1, 0, 2)
        own = np.add.reduceat(rounds, starts)
        means = [
            np.add.reduceat([getattr(each, name) for each in windows] * rounds, starts) / own
            for name in ("mean_prediction", "mean_outcome")
        ]
        return Stretches(
            np.cumsum(own), own, means[0], means[1], np.abs(residual).sum(axis=1) / own,
            ece_left(variance) / own, ece_left_at_most(variance) / own,
            normal(LEVEL) * np.sqrt(variance.sum(axis=1)) / own,
        )  # fmt: skip

    def get_state(self) -> dict[str, Any]:
        """Return all windows, as arrays and numbers by name."""
        rows = [
            [*(getattr(each, name) for name in MEASURES), *binned.ravel()]
            for each, binned in zip(self._finished, self._binned, strict=True)
        ]
        finished = np.array(rows, dtype=np.float64).reshape(-1)
        return self._tally._get_state() | {"finished": finished}

    def set_state(self, state: dict[str, Any], rounds: int) -> None:
        """Restore a state from `get_state` after so many rounds, or raise ValueError."""
        finished, self._used = divmod(rounds, self.size)
        values, width = state.pop("finished"), len(MEASURES) + 2 * self.bins
        if values.dtype != np.float64 or len(values) != finished * width:
            raise ValueError(f"saved finished must hold {finished} windows")
        rows, binned = np.split(values.reshape(-1, width), [len(MEASURES)], axis=1)
        highest = [1.0, 1.0, self.size, self.size, math.inf, 1.0, math.inf, 1.0]
        if not ((rows >= 0.0) & (rows <= np.array(highest) * (1 + SLACK))).all():
            raise ValueError("saved finished must be measures of windows")
        residual, variance = binned.reshape(-1, 2, self.bins).transpose(1, 0, 2)
        most = self.size / 4 * (1 + SLACK)
        apart = np.abs(np.abs(residual).sum(axis=1) / self.size - rows[:, -1])
        if not (apart <= SLACK).all() or not ((variance >= 0.0) & (variance <= most)).all():
            raise ValueError("saved finished must have the residuals and variances of its windows")
        self._binned = list(binned.reshape(-1, 2, self.bins))
        self._tally = load_tally(state, self.bins, self._used)
        self._finished = [
            WindowMeasures(number * self.size, (number + 1) * self.size, *row)
            for number, row in enumerate(rows.tolist())
        ]

    def _finish(self) -> None:
        """Keep the measures of a window that is full, and begin the next."""
        self._finished.append(self._measure())
        self._binned.append(self._by_bin())
        self._tally = TallyKernel(self.bins)
        self._used = 0

    def _by_bin(self) -> Floats:
        """Return the residuals of the current window, and what their variances would be."""
        p, n, s = self._tally.entries()
        which = bins_of(p, self.bins)
        return np.array([sum_by(which, each, self.bins) for each in (s - n * p, n * p * (1 - p))])

    def _measure(self) -> WindowMeasures:
        start = len(self._finished) * self.size
        return measures_of(self._tally, start, start + self._used)


def measures_of(tally: TallyKernel, start: int, stop: int) -> WindowMeasures:
    """Return the measures of the rounds from start to stop that a tally counted."""
    rounds = stop - start
    _, *sums = tally.sums
    mean_prediction, mean_outcome, brier, log_loss, ece = [
        total / rounds if rounds else math.nan for total in (*sums, tally.binned)
    ]
    return WindowMeasures(
        start, stop, mean_prediction, mean_outcome, *tally.errors, brier, log_loss, ece
    )


class Measure:
    """One of the measures in `Scorecard.summary`, as an attribute; a mean needs a round."""

    def __init__(self, text: str) -> None:
        self.__doc__ = text

    def __set_name__(self, _: type[Scorecard], name: str) -> None:
        self.name = name

    def __get__(self, card: Scorecard | None, _: type[Scorecard] | None = None) -> float:
        if card is None:
            return self  # type: ignore[return-value] # the class describes its measures
        value = float(getattr(measures_of(card._all, 0, card._rounds), self.name))
        if math.isnan(value):
            raise ValueError("a scorecard without rounds has no means; add a round first")
        return value


class Scorecard:
    """Measure predictions as they arrive, in constant time per round.

    After any number of rounds each property equals the function of the same name on all rounds so
    far: `cal1`, `cal2` and `klcal` are sums, `brier`, `log_loss` and `ece` (bins of equal width,
    norm 1) are means, which raise ValueError before the first round.

    Memory grows with the number of distinct predictions (about 64 bytes each) and, if asked for,
    with the number of windows and with the distinct predictions of each label; never with the
    number of rounds.

    A copy (``copy.copy`` too) shares nothing with the original; pickle, `to_bytes` and `save` keep
    every digit.

    Parameters
    ----------
    window : int, optional
        Also measure every `window` rounds separately, see `windows`.
    bins : int
        Number of bins of `ece`, and the default of `reliability`.
    cells : int, optional
        For very many distinct predictions: divide [0, 1] into so many cells, and count all
        predictions in a cell as the first of them. Losses, means and `ece` remain exact; `cal1`,
        `cal2`, `klcal`, `smece` and `reliability` are then accurate to the width of a cell, at most
        1.6 / `cells`, and exact if no two predictions share a cell. Such a scorecard cannot be
        saved.

    Examples
    --------
    >>> card = Scorecard()
    >>> card.add(0.5, 1)
    >>> card.extend([0.5, 0.25], [0, 0])
    >>> card.cal1, card.rounds
    (0.25, 3)
    >>> card
    Scorecard(rounds=3, distinct=2, cal1=0.25, cal2=0.0625, klcal=0.2877, brier=0.1875,
              log_loss=0.558, ece=0.08333)
    """

    def __init__(
        self, window: int | None = None, bins: int = 20, *, cells: int | None = None
    ) -> None:
        size = None if window is None else check_integer("window", window, 1)
        self._bins = check_integer("bins", bins, 1, MOST_BINS)
        self._cells = 0 if cells is None else check_integer("cells", cells, 1, MOST_BINS)
        self._all = TallyKernel(self._bins, self._cells)
        self._rounds = 0
        self._distinct: tuple[int, DistinctTable] | None = None  # after so many rounds
        self._windows = None if size is None else Windows(size, self._bins, TallyKernel(self._bins))
        self._labels: dict[Hashable, Scorecard] = {}

    # -- rounds ------------------------------------------------------------------------------

    def add(self, prediction: float, outcome: float, label: Hashable = None) -> None:
        """Add one round, and add it to the scorecard of its label if it has one.

        Examples
        --------
        >>> card = Scorecard()
        >>> card.add(0.75, 1, label="north")
        >>> card.labels["north"].cal1
        0.25
        """
        p = check_real("prediction", prediction, 0.0, 1.0)
        y = check_real("outcome", outcome, 0.0, 1.0)
        try:
            card = self._card_of(label)
        except TypeError:
            raise ValueError(f"label must be hashable, got {describe(label)}") from None
        self._all.add(p, y)
        self._rounds += 1
        if self._windows is not None:
            self._windows.add(p, y)
        if card is not None:
            self._labels[label] = card
            card.add(p, y)

    def extend(
        self,
        predictions: npt.ArrayLike,
        outcomes: npt.ArrayLike,
        labels: Iterable[Hashable] | None = None,
    ) -> None:
        """Add many rounds; on an invalid value raise ValueError and change nothing.

        A label of None or NaN means no label.

        Examples
        --------
        >>> card = Scorecard()
        >>> card.extend([0.5, 0.5, 0.25], [1, 0, 1], labels=["a", "b", "a"])
        >>> card.labels["a"].cal1
        1.25
        """
        p, y = as_rounds(predictions, outcomes)
        members = {} if labels is None else self._members(labels, len(p))
        self._all.extend(p, y)
        self._rounds += len(p)
        if self._windows is not None:
            self._windows.extend(p, y)
        for label, (card, positions) in members.items():
            self._labels[label] = card
            card.extend(p[positions], y[positions])

    def merge(self, other: Scorecard) -> None:
        """Add all rounds of another scorecard, its labels included.

        Neither may have windows, because merged rounds have no order in time, and both must have
        the same bins.

        Examples
        --------
        >>> one, two = Scorecard(), Scorecard()
        >>> one.extend([0.5, 0.25], [1, 0])
        >>> two.add(0.5, 0)
        >>> one.merge(two)
        >>> one.cal1
        0.25
        """
        if not isinstance(other, Scorecard):
            raise ValueError(f"other must be a Scorecard, got {describe(other)}")
        if self._windows is not None or other._windows is not None:
            raise ValueError("scorecards with windows cannot be merged")
        for what, own, its in (
            ("bins", self._bins, other._bins), ("cells", self._cells, other._cells)
        ):  # fmt: skip
            if own != its:
                raise ValueError(f"other must have the same number of {what}, got {its} for {own}")
        self._all.absorb(other._all)
        self._rounds += other._rounds
        for label, card in other._labels.items():
            if label not in self._labels:
                self._labels[label] = Scorecard(bins=self._bins, cells=self._cells or None)
            self._labels[label].merge(card)

    # -- measures ----------------------------------------------------------------------------

    @property
    def rounds(self) -> int:
        """Rounds measured so far."""
        return self._rounds

    cal1 = Measure("The l1 calibration error, a sum; see `calibrant.measures.cal1`.")
    cal2 = Measure("The l2 calibration error, a sum; see `calibrant.measures.cal2`.")
    klcal = Measure("The KL calibration error, a sum; see `calibrant.measures.klcal`.")
    mean_prediction = Measure("The mean prediction.")
    mean_outcome = Measure("The mean outcome.")
    brier = Measure("The mean squared loss; see `calibrant.measures.brier`.")
    log_loss = Measure("The mean log loss; see `calibrant.measures.log_loss`.")
    ece = Measure("The binned calibration error, a mean; see `calibrant.measures.ece`.")

    @property
    def smece(self) -> float:
        """The smooth calibration error, a mean; see `calibrant.measures.smece`."""
        return smece_of(self.distinct())

    def summary(self) -> dict[str, float]:
        """Return every measure by name; before the first round, means are NaN.

        Examples
        --------
        >>> card = Scorecard()
        >>> card.add(0.5, 1)
        >>> card.summary()["brier"]
        0.25
        """
        measures: dict[str, float] = asdict(measures_of(self._all, 0, self._rounds))
        del measures["start"], measures["stop"]
        return {"rounds": self._rounds, "distinct": len(self._all)} | measures

    # -- slices ------------------------------------------------------------------------------

    @property
    def windows(self) -> list[WindowMeasures]:
        """The measures of each window in turn, the unfinished last one included."""
        return [] if self._windows is None else self._windows.measures()

    @property
    def worst(self) -> WindowMeasures | None:
        """The full window with the largest ECE; None with fewer than two full windows."""
        if self._windows is None or self._rounds < 2 * self._windows.size:
            return None
        full = self._windows.measures()[: self._rounds // self._windows.size]
        return max(full, key=lambda each: each.ece)

    def stretches(self, size: int | None = None) -> Stretches:
        """Return windows as arrays, with what chance explains; several at a time for a `size`."""
        if self._windows is None or self._rounds == 0:
            raise ValueError("stretches need a scorecard with a window, and at least one round")
        size = self._windows.size if size is None else check_integer("size", size, 1)
        if size % self._windows.size:
            raise ValueError(
                f"size must be a multiple of the window of {self._windows.size} rounds, got {size}"
            )
        return self._windows.stretches(size)

    @property
    def labels(self) -> dict[Hashable, Scorecard]:
        """A scorecard for each label, in order of first appearance; without windows."""
        return dict(self._labels)

    def distinct(self) -> DistinctTable:
        """Return the table by distinct prediction, which all exact measures are sums over.

        Examples
        --------
        >>> card = Scorecard()
        >>> card.extend([0.5, 0.25, 0.5], [1, 0, 0])
        >>> card.distinct().mean_outcome
        array([0. , 0.5])
        """
        if self._distinct is None or self._distinct[0] != self._rounds:
            prediction, count, total = self._all.entries()
            order = np.argsort(prediction)
            columns = prediction[order], count[order].astype(np.int64), total[order]
            for each in columns:
                each.flags.writeable = False  # shared by all who ask before the next round
            self._distinct = self._rounds, DistinctTable(*columns)
        return self._distinct[1]

    def reliability(
        self, bins: int | None = None, level: float = 0.95, scheme: Scheme = "width"
    ) -> ReliabilityTable:
        """Return mean prediction and mean outcome by bin, with intervals; any number of bins.

        Bins are of equal width or, with `scheme` "mass", of equal mass, as in `ece`.

        Examples
        --------
        >>> card = Scorecard()
        >>> card.extend([0.2, 0.2, 0.9], [0, 1, 1])
        >>> table = card.reliability(bins=2, level=0.9)
        >>> table.interval_low.round(3), table.interval_high.round(3)
        (array([0.121, 0.27 ]), array([0.879, 1.   ]))
        """
        bins = self._bins if bins is None else bins
        return ReliabilityTable.from_distinct(self.distinct(), bins, level, scheme)

    def __repr__(self) -> str:
        summary = self.summary()
        shown = ("cal1", "cal2", "klcal", "brier", "log_loss", "ece")
        measures = ", ".join(f"{name}={summary[name]:.4g}" for name in shown)
        return f"Scorecard(rounds={self._rounds}, distinct={len(self._all)}, {measures})"

    # -- saving ------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_bytes` to a file, whole or not at all: it is replaced in one step."""
        save_bytes(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return what `save` wrote; it continues exactly as that one would."""
        return load_bytes(path, cls.from_bytes, MAGIC)

    def to_bytes(self) -> bytes:
        """Return the whole scorecard as bytes: versioned, checksummed, without pickle.

        Labels must be strings or integers.

        Examples
        --------
        >>> card = Scorecard()
        >>> card.add(0.5, 1)
        >>> Scorecard.from_bytes(card.to_bytes()).brier
        0.25
        """
        if self._cells:
            raise ValueError("a scorecard on a grid of cells cannot be saved")
        return pack(Saved("Scorecard", self._arguments(), self._rounds, self._get_state()))

    @classmethod
    def from_bytes(cls, blob: bytes | bytearray | memoryview) -> Self:
        """Return what `to_bytes` saved; it continues exactly as that one would."""
        saved = unpack(blob, what="scorecard")
        if saved.name != "Scorecard":
            raise ValueError(f"these bytes hold a {saved.name}, not a Scorecard")
        try:
            bins = saved.parameters["bins"]
            if len(saved.state["residuals"]) != bins:  # before there is memory for so many
                raise ValueError(f"the saved residuals must be as many as the {bins!r} bins")
            card = cls(**saved.parameters)
            card._set_state(saved.state, saved.rounds)
        except (KeyError, OverflowError, TypeError) as error:
            raise ValueError(f"the saved scorecard is invalid: {error}") from None
        return card

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # a copy that shared its counts would count for both

    def _arguments(self) -> dict[str, Any]:
        size = None if self._windows is None else self._windows.size
        return {"window": size, "bins": self._bins}

    def _get_state(self) -> dict[str, Any]:
        state = self._all._get_state()
        state["labels"] = [check_id(label, "a label that is saved") for label in self._labels]
        state["label_rounds"] = [card._rounds for card in self._labels.values()]
        for number, card in enumerate(self._labels.values()):
            state |= {f"label{number}.{k}": v for k, v in card._all._get_state().items()}
        if self._windows is not None:
            state |= {f"window.{k}": v for k, v in self._windows.get_state().items()}
        return state

    def _set_state(self, state: dict[str, Any], rounds: int) -> None:
        names, each = state.pop("labels"), state.pop("label_rounds")
        check_same_length("saved labels", len(names), "saved label_rounds", len(each))
        for number, (name, count) in enumerate(zip(names, each, strict=True)):
            state, own = part_of(state, f"label{number}.")
            card = Scorecard(bins=self._bins)
            card._rounds = check_integer("saved label_rounds", count, 1, rounds)
            card._all = load_tally(own, self._bins, count)
            self._labels[check_id(name, "a saved label")] = card
        if len(self._labels) != len(names) or sum(each) > rounds:
            raise ValueError("saved labels must be distinct, and of no more rounds than all")
        if self._windows is not None:
            state, own = part_of(state, "window.")
            self._windows.set_state(own, rounds)
        self._all, self._rounds = load_tally(state, self._bins, rounds), rounds

    # -- inside ------------------------------------------------------------------------------

    def _card_of(self, label: Hashable) -> Scorecard | None:
        """Return a label's scorecard, not yet kept if it is new, or None for no label."""
        if label is None or (isinstance(label, float) and math.isnan(label)):
            return None
        return self._labels.get(label) or Scorecard(bins=self._bins, cells=self._cells or None)

    def _members(
        self, labels: Iterable[Hashable], rounds: int
    ) -> dict[Hashable, tuple[Scorecard, Indices]]:
        """Return each label's scorecard and the positions of its rounds; change nothing."""
        if isinstance(labels, str | bytes):
            raise ValueError(f"labels must be one label per round, got {describe(labels)}")
        each = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
        check_same_length("labels", len(each), "predictions", rounds)
        positions: dict[Hashable, list[int]] = {}
        for position, label in enumerate(each):
            try:
                positions.setdefault(label, []).append(position)
            except TypeError:
                raise ValueError(
                    f"labels must be hashable, got {describe(label)} at position {position}"
                ) from None
        cards = {label: self._card_of(label) for label in positions}
        return {label: (card, np.array(positions[label])) for label, card in cards.items() if card}
