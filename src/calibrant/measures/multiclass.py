"""Measures of probabilities over several classes, exactly one of which occurs.

Each takes rows of probabilities, shape (T, K), that sum to one, and T labels in 0, ..., K - 1. The
*top* class of a row is its likeliest, the first of equals, and its probability is the *confidence*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, as_distributions, as_series, check_same_length
from calibrant.measures.binned import Scheme, ece
from calibrant.measures.chance import chance_ece, chance_mean

Labels: TypeAlias = npt.NDArray[np.intp]


def confidence_ece(
    probabilities: npt.ArrayLike, labels: npt.ArrayLike, *, bins: int = 20, scheme: Scheme = "width"
) -> float:
    """Return the calibration error of the confidence, in [0, 1].

    This is `ece` of the confidence against whether the top class occurred, which is usually meant
    by ECE. Errors of two classes may cancel if one has too much confidence and another too little.
    In `top_label_ece` they cannot.

    Parameters
    ----------
    probabilities : array_like of shape (T, K)
        Rows that sum to one.
    labels : array_like of shape (T,)
        The observed class, in 0, ..., K - 1.
    bins, scheme
        As in `ece`.

    Examples
    --------
    >>> confidence_ece([[0.75, 0.25], [0.75, 0.25], [0.25, 0.75], [0.25, 0.75]], [0, 0, 1, 0])
    0.0
    """
    p, label = as_labelled_rounds(probabilities, labels)
    top, confidence = tops_of(p)
    return ece(confidence, top == label, bins=bins, scheme=scheme)


def top_label_ece(
    probabilities: npt.ArrayLike, labels: npt.ArrayLike, *, bins: int = 20, scheme: Scheme = "width"
) -> float:
    """Return the calibration error of the confidence given the top class, in [0, 1].

    The rounds are split by their top class; this is the mean of `confidence_ece` over the parts,
    weighted by their rounds, and never less than that of the whole with bins of equal width. The
    arguments are those of `confidence_ece`.

    References
    ----------
    Gupta, Ramdas (2022), Top-label calibration and multiclass-to-binary reductions.

    Examples
    --------
    >>> top_label_ece([[0.75, 0.25], [0.75, 0.25], [0.25, 0.75], [0.25, 0.75]], [0, 0, 1, 0])
    0.25
    """
    p, label = as_labelled_rounds(probabilities, labels)
    top, confidence = tops_of(p)
    total = 0.0
    for each in np.unique(top):
        rows = top == each
        error = ece(confidence[rows], label[rows] == each, bins=bins, scheme=scheme)
        total += error * int(rows.sum())
    return total / len(p)


def classwise_ece(
    probabilities: npt.ArrayLike, labels: npt.ArrayLike, *, bins: int = 20, scheme: Scheme = "width"
) -> float:
    """Return the mean over classes of the calibration error of a class against the rest, in [0, 1].

    The arguments are those of `confidence_ece`.

    References
    ----------
    Kull, Perello-Nieto, Kängsepp, Silva Filho, Song, Flach (2019), Beyond temperature scaling.

    Examples
    --------
    >>> classwise_ece([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], [0, 1])
    0.16666666666666666
    """
    p, label = as_labelled_rounds(probabilities, labels)
    errors = [
        ece(p[:, each], label == each, bins=bins, scheme=scheme) for each in range(p.shape[1])
    ]
    return float(np.mean(errors))


def multiclass_brier(probabilities: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return the mean squared distance of a row from the observed class, in [0, 2].

    With two classes it is twice `brier`. The arguments are those of `confidence_ece`.

    Examples
    --------
    >>> multiclass_brier([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], [0, 2])
    0.25
    """
    p, label = as_labelled_rounds(probabilities, labels)
    happened = p[np.arange(len(p)), label]
    return float(np.mean((p**2).sum(axis=1) - 2.0 * happened + 1.0))


def multiclass_log_loss(probabilities: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Return the mean of -log of the probability of the observed class, in [0, inf].

    Nothing is clipped: the mean is infinite when a class of probability 0 occurs. The arguments
    are those of `confidence_ece`.

    Examples
    --------
    >>> round(multiclass_log_loss([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]], [0, 0]), 6)
    0.693147
    """
    p, label = as_labelled_rounds(probabilities, labels)
    with np.errstate(divide="ignore"):
        return float(np.mean(-np.log(p[np.arange(len(p)), label])) + 0.0)


@dataclass(frozen=True)
class ClassError:
    """How miscalibrated the probabilities of one class are, compared with chance.

    Attributes
    ----------
    column : int
        Which class.
    predicted, observed : float
        Its mean probability, and the share of rounds in which it was observed.
    ece, chance : float
        The calibration error against the rest, and what it stays below in 95 of 100 cases if the
        probabilities are right.
    is_miscalibrated : bool
        Whether the error, or the mean, is beyond chance at a level of 5% over all classes.
    """

    column: int
    predicted: float
    observed: float
    ece: float
    chance: float
    is_miscalibrated: bool


@dataclass(frozen=True)
class ClassSummary:
    """Measures of rows of probabilities, compared with what chance explains.

    Attributes
    ----------
    rounds : int
        How many rows.
    log_loss, brier : float
        `multiclass_log_loss` and `multiclass_brier`.
    confidence_ece, confidence_chance : float
        The calibration error of the confidence, and the mean of it if the probabilities are right.
    classwise_ece, classwise_chance : float
        The mean over classes of the error against the rest, and the mean of it by chance.
    classes : tuple of ClassError
        Of each class.

    Examples
    --------
    >>> from calibrant.measures import class_summary
    >>> class_summary([[0.2, 0.8], [0.9, 0.1]], [1, 0]).rounds
    2
    """

    rounds: int
    log_loss: float
    brier: float
    confidence_ece: float
    confidence_chance: float
    classwise_ece: float
    classwise_chance: float
    classes: tuple[ClassError, ...]

    @property
    def miscalibrated(self) -> list[ClassError]:
        """The classes miscalibrated beyond chance, worst first."""
        found = [each for each in self.classes if each.is_miscalibrated]
        return sorted(found, key=lambda each: each.chance - each.ece)


def class_summary(
    probabilities: npt.ArrayLike, labels: npt.ArrayLike, *, bins: int = 20, scheme: Scheme = "width"
) -> ClassSummary:
    """Return the measures of rows, each compared with what chance explains, and class by class.

    A class is called miscalibrated if its mean is further from the share observed than chance
    allows with a probability of 5% in all classes together (Bonferroni), or its error is more
    than twice what chance leaves in 95 of 100 cases.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.measures import class_summary
    >>> random = np.random.default_rng(0)
    >>> truth = random.dirichlet([1, 1, 1], 5000)
    >>> labels = (random.random((5000, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    >>> summary = class_summary(truth, labels)
    >>> summary.miscalibrated, summary.confidence_ece < 2 * summary.confidence_chance
    ([], True)
    >>> favoured = truth * [1, 1, 3]
    >>> shown = class_summary(favoured / favoured.sum(axis=1, keepdims=True), labels)
    >>> shown.miscalibrated[0].column
    2
    """
    p, label = as_labelled_rounds(probabilities, labels)
    top, confidence = tops_of(p)
    wide = max(1.0, np.sqrt(2.0 * np.log(20.0 * p.shape[1])) / 1.96)
    errors, left = [], []
    for each in range(p.shape[1]):
        column = p[:, each]
        happened = label == each
        error = ece(column, happened, bins=bins, scheme=scheme)
        chance = chance_ece(column, bins=bins, scheme=scheme, at_most=True)
        left.append(chance_ece(column, bins=bins, scheme=scheme))
        mean, share = float(column.mean()), float(happened.mean())
        is_off = abs(mean - share) > wide * chance_mean(column) or error > 2.0 * chance
        errors.append(ClassError(each, mean, share, error, chance, bool(is_off)))
    return ClassSummary(
        rounds=len(p),
        log_loss=multiclass_log_loss(p, label),
        brier=multiclass_brier(p, label),
        confidence_ece=ece(confidence, top == label, bins=bins, scheme=scheme),
        confidence_chance=chance_ece(confidence, bins=bins, scheme=scheme),
        classwise_ece=float(np.mean([each.ece for each in errors])),
        classwise_chance=float(np.mean(left)),
        classes=tuple(errors),
    )


def as_labelled_rounds(probabilities: object, labels: object) -> tuple[Floats, Labels]:
    """Return rows that sum to one and the observed column in each, one round at least."""
    p = as_distributions(probabilities, "probabilities")
    values = as_series(labels, "labels")
    check_same_length("probabilities", len(p), "labels", len(values))
    if len(p) == 0:
        raise ValueError("probabilities and labels must hold at least one round: a mean of none")
    with np.errstate(invalid="ignore"):  # NaN becomes some integer, and is not equal to it
        label = values.astype(np.intp)
    wrong = (label != values) | (label < 0) | (label >= p.shape[1])
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(
            f"labels must be integers in [0, {p.shape[1] - 1}], "
            f"got {values[at].item()!r} at position {at}"
        )
    return p, label


def tops_of(p: Floats) -> tuple[Labels, Floats]:
    """Return the likeliest class of each row, the first of equals, and its probability."""
    top = p.argmax(axis=1)
    return top, p[np.arange(len(p)), top]
