"""The scorecard: every streaming measure of one forecaster, kept up to date round by round."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Hashable, Iterable
from dataclasses import asdict
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from calibrant._bytes import Saved, pack, unpack
from calibrant._checks import check_id, check_integer, check_real, check_same_length, describe
from calibrant._kernels.saved import part_of
from calibrant._kernels.tally import TallyKernel
from calibrant.measures.binned import ReliabilityTable, Scheme, reliability_table
from calibrant.measures.rounds import DistinctTable, Indices, as_rounds
from calibrant.measures.saved_tallies import load_tally
from calibrant.measures.smooth_ece import smece_of
from calibrant.measures.windows import Stretches, WindowMeasures, Windows, measures_of
from calibrant.tables.atomic import load_bytes, save_bytes

#: More bins than anybody can look at.
MOST_BINS = 2**24


class Measure:
    """One of the measures in `Scorecard.summary`, as an attribute; a mean needs a round."""

    def __init__(self, text: str) -> None:
        self.__doc__ = text

    def __set_name__(self, _: type[Scorecard], name: str) -> None:
        self.name = name

    def __get__(self, card: Scorecard | None, _: type[Scorecard] | None = None) -> float:
        if card is None:
            return self  # type: ignore[return-value] # the class describes its measures
        value = card.summary()[self.name]
        if math.isnan(value):
            raise ValueError("a scorecard without rounds has no means; add a round first")
        return value


class Scorecard:
    """Measure predictions as they come, in constant time a round.

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
        Also measure every `window` rounds by themselves, see `windows`.
    bins : int
        Number of bins of `ece`, and the default of `reliability`.
    cells : int, optional
        For very many distinct predictions: count those in one of so many cells of a grid as the
        first of them. Losses, means and `ece` stay exact; `cal1`, `cal2`, `klcal`, `smece` and
        `reliability` are then right to the width of a cell, at most 1.6 / `cells`, and exact where
        no two predictions share one. It is measured, not saved.

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
        self._windows = None if size is None else Windows(size, self._bins)
        self._labels: dict[Hashable, Scorecard] = {}

    # -- rounds ------------------------------------------------------------------------------

    def add(self, prediction: float, outcome: float, label: Hashable = None) -> None:
        """Measure one round, and its label by itself if it has one.

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
        """Measure many rounds; on a bad value raise ValueError and change nothing.

        A label of None or NaN is no label.

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
            self._labels.setdefault(label, self._part()).merge(card)

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
        return reliability_table(self.distinct(), bins, level, scheme)

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
        return load_bytes(path, cls.from_bytes)

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
        """Return what `to_bytes` saved; it goes on exactly as that one would."""
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
            raise ValueError(f"the saved scorecard makes no sense: {error}") from None
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
        return self._labels.get(label) or self._part()

    def _part(self) -> Scorecard:
        """Return an empty scorecard for a label."""
        return Scorecard(bins=self._bins, cells=self._cells or None)

    def _members(
        self, labels: Iterable[Hashable], rounds: int
    ) -> dict[Hashable, tuple[Scorecard, Indices]]:
        """Return each label's scorecard and the positions of its rounds; change nothing."""
        if isinstance(labels, str | bytes):
            raise ValueError(f"labels must be one label a round, got {describe(labels)}")
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
