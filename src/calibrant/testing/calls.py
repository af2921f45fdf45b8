"""How a class under test is called for predictions and outcomes, where classes differ."""

from __future__ import annotations

from typing import Any

import numpy as np


class Calls:
    """As a `Recalibrator` is: the methods have its names, and pass on what they are given.

    A class that is asked otherwise has `Calls` of its own, which its `Inputs` name.

    Examples
    --------
    >>> from calibrant import Recalibrator
    >>> from calibrant.testing import Calls
    >>> recalibrator = Recalibrator()
    >>> Calls().predict(recalibrator, 0.25, id="a") == recalibrator.predict(0.25, id="b")
    True
    """

    #: Does a prediction without an id wait for the next outcome without one?
    has_unnamed = True
    #: Does `run` take rows whose outcome is missing?
    takes_missing = True
    #: Are predictions probabilities? Otherwise they are quantiles.
    says_probabilities = True

    def name(self, t: int) -> dict[str, Any]:
        """Return the id of a single step, where it needs one."""
        return {} if self.has_unnamed else {"id": f"step {t}"}

    def predict(self, player: Any, *row: Any, **more: Any) -> Any:
        """Predict one row."""
        return player.predict(*row, **more)

    def predict_many(self, player: Any, rows: Any, **more: Any) -> Any:
        """Predict rows that arrive together."""
        return player.predict_many(rows, **more)

    def update(self, player: Any, outcome: Any, **more: Any) -> Any:
        """Give one outcome; return the answer."""
        return player.update(outcome, **more)

    def update_many(self, player: Any, outcomes: Any, **more: Any) -> Any:
        """Give outcomes that arrived together; return the answers."""
        return player.update_many(outcomes, **more)

    def run(self, player: Any, *columns: Any, **more: Any) -> Any:
        """Play rows whose outcomes are known at once."""
        return player.run(*columns, **more)

    def expected(self, player: Any, *score: Any, **more: Any) -> Any:
        """Return the mean of what would be predicted, for one score or many."""
        return player.expected(*score, **more)

    def advance(self, player: Any, now: Any) -> Any:
        """Let time pass; return how many outcomes were learned."""
        return player.advance(now)


class KeyedCalls(Calls):
    """As a `Fleet` is: the key comes before the score, and nothing waits without an id."""

    has_unnamed = False

    def predict(self, player: Any, *row: Any, key: Any, **more: Any) -> Any:
        """Predict one row."""
        return player.predict(key, *row, **more)

    def predict_many(self, player: Any, rows: Any, *, key: Any = None, **more: Any) -> Any:
        """Predict rows that arrive together."""
        return player.predict_many(key, rows, **more)

    def run(self, player: Any, *columns: Any, key: Any, **more: Any) -> Any:
        """Play rows whose outcomes are known at once."""
        return player.run(key, *columns, **more)

    def expected(self, player: Any, *score: Any, key: Any, **more: Any) -> Any:
        """Return the mean of what would be predicted, for one score or many."""
        return player.expected(key, *score, **more)


class EventCalls(Calls):
    """As an `EventForecaster` is: without scores, and a look without an id begins no round."""

    has_unnamed = takes_missing = False

    def predict_many(self, player: Any, rows: Any, *, ids: Any = (), **more: Any) -> Any:
        """Predict rounds one after the other."""
        return np.array([self.predict(player, id=name, **more) for name in ids[: len(rows)]])


class NumberCalls(Calls):
    """As a `NumberRecalibrator` is: predictions are distributions."""

    says_probabilities = False
