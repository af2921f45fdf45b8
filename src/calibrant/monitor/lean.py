"""Monitors for very many keys: 64 bytes each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.recfunctions import structured_to_unstructured, unstructured_to_structured

from calibrant._checks import (
    as_series,
    as_unit_series,
    check_integer,
    check_real,
    check_same_length,
)
from calibrant._kernels.lean import LEAN, LeanKernel
from calibrant._kernels.saved import check_names, floats
from calibrant.saving import Savable

ALARM = 1
#: Numbers of a saved key.
SIZE = 16
MOST_RECOVERY, LARGEST_SHIFT = 1e6, 1.0


class Ring(NamedTuple):
    """What a round of a key brought.

    Examples
    --------
    >>> from calibrant.monitor import LeanMonitors
    >>> rings = LeanMonitors(2, every=1000).run([1] * 40, [0.2] * 40, [1] * 40)
    >>> rings[0].key, rings[0].event, rings[0].direction, rings[0].onset
    (1, 'alarm', 'too low', 0)
    """

    key: int
    round: int
    event: str  # "alarm" or "end"
    direction: str  # of the predictions: "too low" or "too high"
    onset: int  # the round in which it began, as far as one sees


class LeanMonitors(Savable, LeanKernel):
    """A small monitor for each of many keys, in one array of 64 bytes a key.

    Each watches all predictions of its key at once, without ranges: a bias that averages out over
    a key's predictions is not seen, and no bands are kept. The guarantee is of all keys
    together: while the null of `Monitor` holds, at most n / `every` false alarms are to be expected
    in n rounds, however many keys there are.

    Parameters
    ----------
    keys : int
        How many keys there are, numbered from 0.
    every : int, default 1_000_000
        At most one false alarm in so many rounds is to be expected, at least 100.
    tolerance : float, default 0.02
        How far off is near enough, in [0, 0.5).

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.monitor import LeanMonitors
    >>> random = np.random.default_rng(0)
    >>> keys = random.integers(1000, size=200_000)
    >>> said = random.random(200_000)
    >>> happened = random.random(200_000) < np.where(keys == 7, said ** 3, said)
    >>> monitors = LeanMonitors(1000)
    >>> [(ring.key, ring.direction) for ring in monitors.run(keys, said, happened)]
    [(7, 'too high')]
    >>> monitors.open
    array([7])
    """

    __slots__ = ("_given",)

    keys: int
    every: int
    tolerance: float

    def __init__(self, keys: int, *, every: int = 1_000_000, tolerance: float = 0.02) -> None:
        check_integer("keys", keys, 1, 2**32)
        threshold = float(check_integer("every", every, 100, 10**15))
        super().__init__(keys, threshold, check_real("tolerance", tolerance, 0.0, 0.4999))

    @property
    def open(self) -> npt.NDArray[np.intp]:
        """The keys whose episode lasts."""
        return np.flatnonzero(self._get_state()["W"][:, 0] < 0)

    def run(
        self, keys: npt.ArrayLike, predictions: npt.ArrayLike, outcomes: npt.ArrayLike
    ) -> list[Ring]:
        """Take rounds of any keys; return the alarms, and the ends of episodes, in their order.

        All or nothing, as `Monitor.run`.
        """
        p, y = as_unit_series(predictions, "predictions"), as_unit_series(outcomes, "outcomes")
        check_same_length("predictions", len(p), "outcomes", len(y))
        given = as_series(keys, "keys")
        check_same_length("keys", len(given), "predictions", len(p))
        if len(given) and (given.dtype.kind not in "ui" or given.min() < 0):
            raise ValueError("keys must be integers from 0 on")
        if len(given) and given.max() >= self.keys:
            raise ValueError(f"keys must be below {self.keys}, got {given.max()}")
        which = given.astype(np.int64)
        before, first = self._get_state(), self.rounds
        try:
            return self._rings(which, p, y, before)
        except BaseException:
            self._set_state(before, first)
            raise

    def _rings(self, keys: npt.NDArray[np.int64], p: Any, y: Any, before: Any) -> list[Ring]:
        opened = {int(key): before[key] for key in np.flatnonzero(before["W"][:, 0] < 0)}
        rings: list[Ring] = []
        at = 0
        while at < len(p):
            at, event = self._run(keys, p, y, at)
            if event:
                key = int(keys[at - 1])
                if event == ALARM:
                    opened[key] = self._get_state()[key]
                own = opened[key] if event == ALARM else opened.pop(key)
                name = "alarm" if event == ALARM else "end"
                direction = "too low" if own["W"][0] == -1 else "too high"
                rings.append(Ring(key, self.rounds - 1, name, direction, int(own["start"][0])))
        return rings

    def _save(self) -> tuple[int, dict[str, Any]]:
        rows = structured_to_unstructured(self._get_state(), dtype=np.float64)
        return self.rounds, {"rows": rows.reshape(-1)}

    def _load(self, rounds: int, state: dict[str, Any]) -> None:
        check_names(state, {"rows"})
        rows = floats(state, "rows", size=self.keys * SIZE, low=-2.0, high=1e30).reshape(-1, SIZE)
        own = unstructured_to_structured(rows, dtype=LEAN)
        if (structured_to_unstructured(own, dtype=np.float64) != rows).any():
            raise ValueError("saved keys must be numbers of single precision, and counts")
        open_, M = own["W"][:, 0] < 0, own["M"]
        closed = own[~open_]
        if (own["start"] > rounds).any():
            raise ValueError("saved starts must be rounds")
        if (closed["M"] < 0).any() or (closed["W"] < 0).any():
            raise ValueError("saved bets must not be negative")
        if (closed["M"].sum(axis=1, dtype=float) > 12.0 * self.every * (1 + 1e-6)).any():
            raise ValueError("saved bets must be below the threshold outside of episodes")
        if not np.isin(own["W"][open_, 0], (-1.0, -2.0)).all() or (own["W"][:, 1] < 0).any():
            raise ValueError("saved episodes must have a direction")
        if (
            not ((M[open_, 0] >= 0) & (M[open_, 0] < MOST_RECOVERY)).all()
            or (np.abs(M[open_, 1]) > LARGEST_SHIFT).any()
        ):
            raise ValueError("saved episodes must be within reach")
        self._set_state(own, rounds)
