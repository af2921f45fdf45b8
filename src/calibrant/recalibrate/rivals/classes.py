"""What others do with the scores of several classes, over whole streams.

Online ones take a step after each label; refits are fitted to the last rows, every so many. None of
the sources says what to do about labels that arrive late: these are used when they come.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from calibrant._checks import (
    Floats,
    as_distributions,
    check_choice,
    check_integer,
    check_real,
    check_same_length,
)
from calibrant.recalibrate.rivals.windowed_refit import isotonic_knots

Labels = npt.NDArray[np.int64]
#: Scores below it are raised to it: a logarithm of 0 has no temperature.
LEAST = 1e-6
METHODS = ("temperature", "temperature and biases", "isotonic", "dirichlet")


def softmax(z: Floats) -> Floats:
    """Return the softmax of a row, or of each row."""
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    rows: Floats = e / e.sum(axis=-1, keepdims=True)
    return rows


class ClassRival(ABC):
    """A recalibrator of several classes that plays whole streams.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import ClassRival, OnlineTemperature
    >>> isinstance(OnlineTemperature(), ClassRival)
    True
    """

    def run(self, probabilities: npt.ArrayLike, labels: npt.ArrayLike, *, late: int = 0) -> Floats:
        """Return a row for each, from the labels known `late` rounds and one before it."""
        rows = as_distributions(probabilities, "probabilities")
        y = np.asarray(labels).astype(np.int64)
        check_same_length("probabilities", len(rows), "labels", len(y))
        if ((y < 0) | (y >= rows.shape[1])).any():
            raise ValueError(f"labels must be columns, 0 to {rows.shape[1] - 1}")
        rows = np.maximum(rows, LEAST)
        rows /= rows.sum(axis=1, keepdims=True)
        return self._rows(rows, y, check_integer("late", late, 0))

    @abstractmethod
    def _rows(self, p: Floats, y: Labels, late: int) -> Floats:
        """Return a row for each."""


class OnlineRival(ClassRival):
    """One that predicts and learns row by row."""

    def _rows(self, p: Floats, y: Labels, late: int) -> Floats:
        self._start(p.shape[1])
        predicted, x = np.empty_like(p), np.log(p)
        for t in range(len(p)):
            predicted[t] = self._predict(x[t])
            if t >= late:
                self._learn(x[t - late], int(y[t - late]))
        return predicted

    @abstractmethod
    def _start(self, classes: int) -> None:
        """Begin before the first label."""

    @abstractmethod
    def _predict(self, x: Floats) -> Floats:
        """Return the row for logarithms of scores."""

    @abstractmethod
    def _learn(self, x: Floats, y: int) -> None:
        """Learn one label."""


class OnlineTemperature(OnlineRival):
    """Temperature scaling (Guo et al., 2017) by online Newton steps.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import OnlineTemperature
    >>> OnlineTemperature().run([[0.2, 0.8], [0.3, 0.7]], [1, 0]).shape
    (2, 2)
    """

    def __init__(self, forget: float = 0.0) -> None:
        self.forget = check_real("forget", forget, 0.0, 1.0)

    def _start(self, classes: int) -> None:  # noqa: ARG002 - one number for all
        self.a, self.known = 1.0, 10.0

    def _predict(self, x: Floats) -> Floats:
        return softmax(self.a * x)

    def _learn(self, x: Floats, y: int) -> None:
        p, keep = self._predict(x), 1.0 - self.forget
        mean = p @ x
        self.known = keep * self.known + max(float(p @ x**2 - mean**2), 1e-3)
        step = (mean - x[y]) / self.known
        self.a = float(np.clip(self.a - np.clip(step, -0.5, 0.5), 0.0, 20.0))


class OnlineTemperatureBias(OnlineTemperature):
    """Temperature scaling with a bias for each class, by online Newton steps.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import OnlineTemperatureBias
    >>> OnlineTemperatureBias().run([[0.2, 0.8], [0.3, 0.7]], [1, 0]).shape
    (2, 2)
    """

    def __init__(self, forget: float = 0.0, prior: float = 1.0) -> None:
        super().__init__(forget)
        self.prior = check_real("prior", prior, 0.0, 1e6)

    def _start(self, classes: int) -> None:
        super()._start(classes)
        self.b, self.seen = np.zeros(classes), np.full(classes, self.prior)

    def _predict(self, x: Floats) -> Floats:
        return softmax(self.a * x + self.b)

    def _learn(self, x: Floats, y: int) -> None:
        p = self._predict(x)
        super()._learn(x, y)
        self.seen = (1.0 - self.forget) * self.seen + self.forget * self.prior + p
        p[y] -= 1.0
        self.b = self.b - p / self.seen


class OnlineVectorScaling(OnlineRival):
    """A slope and a bias for each class (Guo et al., 2017), by online Newton steps.

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import OnlineVectorScaling
    >>> OnlineVectorScaling().run([[0.2, 0.8], [0.3, 0.7]], [1, 0]).shape
    (2, 2)
    """

    def __init__(self, forget: float = 0.0, prior: float = 1.0) -> None:
        self.forget = check_real("forget", forget, 0.0, 1.0)
        self.prior = check_real("prior", prior, 0.0, 1e6)

    def _start(self, classes: int) -> None:
        self.b, self.seen = np.zeros(classes), np.full(classes, self.prior)
        self.slopes, self.curved = np.ones(classes), np.full(classes, 10.0)

    def _predict(self, x: Floats) -> Floats:
        return softmax(self.slopes * x + self.b)

    def _learn(self, x: Floats, y: int) -> None:
        p = self._predict(x)
        centred = x - p @ x
        self.seen = (1.0 - self.forget) * self.seen + self.forget * self.prior + p
        self.curved = (1.0 - self.forget) * self.curved + self.forget * 10.0 + p * centred**2
        p[y] -= 1.0
        self.b = self.b - p / self.seen
        self.slopes = np.clip(self.slopes - np.clip(p * centred / self.curved, -0.3, 0.3), 0.0, 5.0)


class OnlinePriorShift(OnlineRival):
    """Scores times how base rates moved against what the model predicted (Saerens et al., 2002).

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import OnlinePriorShift
    >>> OnlinePriorShift().run([[0.2, 0.8], [0.3, 0.7]], [1, 0]).shape
    (2, 2)
    """

    def __init__(self, forget: float = 0.001, prior: float = 20.0) -> None:
        self.forget = check_real("forget", forget, 0.0, 1.0)
        self.prior = check_real("prior", prior, 0.0, 1e6)

    def _start(self, classes: int) -> None:
        self.observed = np.full(classes, self.prior / classes)
        self.predicted = np.full(classes, self.prior / classes)

    def _predict(self, x: Floats) -> Floats:
        return softmax(x + np.log(self.observed / self.predicted))

    def _learn(self, x: Floats, y: int) -> None:
        even = self.forget * self.prior / len(x)
        self.observed = (1.0 - self.forget) * self.observed + even
        self.predicted = (1.0 - self.forget) * self.predicted + even + np.exp(x)
        self.observed[y] += 1.0


class ClassRefit(ClassRival):
    """What most teams do: a fit to the last rows, every so many; the scores as they are before.

    The methods are temperature scaling, the same with a bias for each class, isotonic regression of
    each class with rows divided by their sums (Zadrozny and Elkan, 2002), and Dirichlet
    calibration, a matrix on logarithms (Kull et al., 2019).

    Examples
    --------
    >>> from calibrant.recalibrate.rivals import ClassRefit
    >>> ClassRefit("temperature", window=2, every=1).run([[0.2, 0.8]] * 3, [1, 0, 1]).shape
    (3, 2)
    """

    def __init__(self, method: str = "temperature", window: int = 5000, every: int = 1000) -> None:
        self.method = check_choice("method", method, METHODS)
        self.window = check_integer("window", window, 1)
        self.every = check_integer("every", every, 1)

    def _rows(self, p: Floats, y: Labels, late: int) -> Floats:
        predicted = p.copy()
        for start in range(self.every, len(p), self.every):
            known = start - late
            if known > 0:
                past = slice(max(0, known - self.window), known)
                now = slice(start, start + self.every)
                predicted[now] = fitted(self.method, p[past], y[past], p[now])
        return predicted


def fitted(method: str, p: Floats, y: Labels, new: Floats) -> Floats:
    """Return new rows as a fit to others, whose labels are known, makes them."""
    if method == "isotonic":
        rows = np.column_stack(
            [
                np.interp(new[:, k], *isotonic_knots(p[:, k], (y == k).astype(np.float64)))
                for k in range(p.shape[1])
            ]
        )
        rows = np.maximum(rows, LEAST)
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))
    if method == "dirichlet":
        W = matrix_fit(np.log(p), y)
        return softmax(np.log(new) @ W[:-1] + W[-1])
    a, b = temperature_fit(np.log(p), y, has_biases=method != "temperature")
    return softmax(a * np.log(new) + b)


def temperature_fit(x: Floats, y: Labels, *, has_biases: bool) -> tuple[float, Floats]:
    """Return a temperature and biases that fit labels, by Newton steps in turn."""
    a, b, rows = 1.0, np.zeros(x.shape[1]), np.arange(len(x))
    counts = np.bincount(y, minlength=x.shape[1])
    for _ in range(12):
        p = softmax(a * x + b)
        mean = (p * x).sum(axis=1)
        curvature = float(((p * x**2).sum(axis=1) - mean**2).sum()) + 1.0
        gradient = float((mean - x[rows, y]).sum()) + (a - 1.0)
        a = float(np.clip(a - np.clip(gradient / curvature, -0.5, 0.5), 0.0, 20.0))
        if has_biases:
            expected = softmax(a * x + b).sum(axis=0)
            b = b - np.clip((expected - counts + b) / (expected + 1.0), -1.0, 1.0)
    return a, b


def matrix_fit(x: Floats, y: Labels) -> Floats:
    """Return a matrix and an offset, the last row, that fit labels, off the diagonal near 0."""
    classes = x.shape[1]
    given = np.column_stack([x, np.ones(len(x))])
    start = np.vstack([np.eye(classes), np.zeros(classes)])
    W, target = start.copy(), np.eye(classes)[y]
    # One bound on the curvature for all classes (Boehning 1992) makes each step a linear solve.
    curvature = 0.5 * given.T @ given + np.diag([*[5.0] * classes, 1.0])
    pull = np.array([*[5.0] * classes, 1.0])[:, None]
    for _ in range(60):
        gradient = given.T @ (softmax(given @ W) - target) + pull * (W - start)
        W = W - np.linalg.solve(curvature, gradient)
    return np.asarray(W)
