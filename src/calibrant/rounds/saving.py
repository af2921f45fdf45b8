"""How a book is saved: its clock, what is pending, and the ids that are done with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from calibrant._checks import LARGEST_WEIGHT, Floats, Id, check_id, check_integer
from calibrant._kernels.rounds.book import Book
from calibrant._kernels.rounds.round import Round, rounds_as_arrays, rounds_from_arrays
from calibrant._kernels.saved import check_all, floats, number

Integers = npt.NDArray[np.int64]
LARGEST = np.finfo(np.float64).max

#: What `save_book` returns; a rule saves what it keeps of the rounds beside it.
BOOK_PARTS = (
    "waiting_ids", "waiting_nameless", "waiting_unnamed", "waiting_numbers", "waiting_batches",
    "waiting_held", "waiting_times", "waiting_dues", "waiting_outcomes", "waiting_arrived",
    "waiting_smooth", "coming_rows", "coming_times", "coming_outcomes", "finished_ids",
    "finished_outcomes", "expired_ids", "expired", "clock", "clock_timed",
)  # fmt: skip
#: What a book has too once outcomes had weights; a state without them has none.
WEIGHT_PARTS = ("waiting_weights", "weights")
#: And what it has if outcomes of a table become known when nothing can be learned of them any more.
LATE_PARTS = ("late_times", "late_outcomes", "late_known")
#: What a state may have, or not.
FURTHER_PARTS = (*WEIGHT_PARTS, *LATE_PARTS)
REALS = (
    "waiting_times", "waiting_dues", "waiting_outcomes", "waiting_arrived", "waiting_smooth",
)  # fmt: skip


class Parts(NamedTuple):
    """The parts of a saved book that are of the right type, and what they are checked against."""

    ids: list[Id]
    finished: list[Id]
    gone: list[Id]
    nameless: Integers
    numbers: Integers
    batches: Integers
    held: Integers
    at: Floats
    due: Floats
    outcome: Floats
    arrived: Floats
    smooth: Floats
    timed: int
    clock: float
    expired: int
    unnamed: int
    begun: int
    book: Book

    @property
    def rows(self) -> int:
        """How many rounds wait, but for the unnamed one."""
        return len(self.ids) + len(self.nameless)

    @property
    def waits(self) -> npt.NDArray[np.bool_]:
        """Which rounds wait for a deadline."""
        found: npt.NDArray[np.bool_] = self.held > 0
        return found

    @property
    def span(self) -> float:
        """How long a round waits, NaN if that is not the same for all."""
        return math.nan if self.book.policy.span is None else self.book.policy.span.length


#: What must hold between the parts of a saved book, in words and as it is checked. Loading refuses
#: a state where one does not, and names it.
MUST_HOLD: tuple[tuple[str, Callable[[Parts], Any]], ...] = (
    ("ids are at most the capacity",
     lambda s: max(len(s.ids), len(s.finished), len(s.gone)) <= s.book.capacity),
    ("an id is waiting, finished or expired, and only one of them",
     lambda s: len({*s.ids, *s.finished, *s.gone})
     == len(s.ids) + len(s.finished) + len(s.gone)),
    ("what waits, is finished or expired was predicted",
     lambda s: s.rows + s.unnamed + len(s.finished) + s.expired <= s.begun),
    (
        "what waits, is learned or expired was predicted",
        lambda s: s.rows + s.unnamed + s.book.rule.learned + s.expired <= s.begun,
    ),
    ("expired counts the ids that expired", lambda s: s.expired >= len(s.gone)),
    ("waiting_nameless are increasing rows of what waits",
     lambda s: [np.diff(s.nameless) > 0, s.nameless < s.rows]),
    ("waiting_numbers are increasing numbers of past rounds",
     lambda s: [np.diff(s.numbers[: s.rows]) > 0, s.numbers < s.begun]),
    ("waiting_batches are not later than waiting_numbers", lambda s: s.batches <= s.numbers),
    ("waiting_smooth is in [0, 1], or NaN",
     lambda s: np.isnan(s.smooth) | ((s.smooth >= 0.0) & (s.smooth <= 1.0))),
    ("waiting_held is 1 for what waits for its deadline, else 0", lambda s: s.held <= 1),
    ("what waits for a deadline has one", lambda s: ~np.isnan(s.due[s.waits])),
    ("nothing waits for a deadline where there are none",
     lambda s: not s.waits.any() or (s.book.has_deadlines and s.timed >= 0)),
    ("all waits for deadlines where silence has one",
     lambda s: math.isnan(s.book.silence) or s.waits[: s.rows]),
    ("clock_timed is 0 or 1 once time passes or something waits where there are deadlines",
     lambda s: s.timed >= 0 or not s.book.has_deadlines or (s.rows == 0 and s.clock == -math.inf)),
    ("clock_timed is 1 where deadlines are times",
     lambda s: s.timed != 0 or s.book.policy.span is None or not s.book.policy.span.is_time),
    ("a deadline in time is later than its prediction",
     lambda s: s.timed != 1 or s.at[s.waits] < s.due[s.waits]),
    ("a deadline that counts predictions is the number of the round and the span",
     lambda s: s.timed != 0 or s.due[s.waits] == s.numbers[s.waits] + s.span),
    ("a clock that counts predictions is not ahead of them",
     lambda s: s.timed != 0 or s.clock <= s.begun),
    ("no outcome is noted but of what waits for a deadline",
     lambda s: np.isnan(s.outcome[~s.waits])),
)  # fmt: skip


def waiting_rounds(book: Book) -> list[Any]:
    """Return the pending rounds as they are saved: by number, and the unnamed one last."""
    rounds = [each for _, each in book.waiting()]
    return rounds if book.unnamed is None else [*rounds, book.unnamed]


def save_book(book: Book) -> dict[str, Any]:
    """Return everything but the rule's part of rounds, as lists and arrays by name."""
    waiting, finished = book.waiting(), book.finished
    rows = {key: row for row, (key, _) in enumerate(waiting)}
    integers, numbers = rounds_as_arrays(waiting_rounds(book))
    coming = book.coming()
    return {
        "waiting_ids": [key for key, _ in waiting if not isinstance(key, Round)],
        "waiting_nameless": np.array(
            [row for row, (key, _) in enumerate(waiting) if isinstance(key, Round)], dtype=np.int64
        ),
        "waiting_unnamed": int(book.unnamed is not None),
        "waiting_numbers": integers[0],
        "waiting_batches": integers[1],
        "waiting_held": integers[2],
        **dict(zip(REALS, numbers, strict=True)),
        "coming_rows": np.array([rows[key] for key, _, _ in coming], dtype=np.int64),
        "coming_times": np.array([time for _, time, _ in coming], dtype=np.float64),
        "coming_outcomes": np.array([outcome for _, _, outcome in coming], dtype=np.float64),
        "finished_ids": list(finished),
        "finished_outcomes": np.array(list(finished.values()), dtype=np.float64),
        "expired_ids": list(book.gone),
        "expired": book.expired,
        "clock": book.now if math.isfinite(book.now) else None,
        "clock_timed": -1 if book.is_timed is None else int(book.is_timed),
        **save_weights(book),
        **save_late(book),
    }


def save_weights(book: Book) -> dict[str, Any]:
    """Return the weights of pending rounds, and what they are divided by; nothing without any."""
    weights = np.array([each.weight for each in waiting_rounds(book)], dtype=np.float64)
    if book.weighings < 0.0 and (weights == 1.0).all():
        return {}
    return {"waiting_weights": weights, "weights": np.array([book.weighed, book.weighings])}


def save_late(book: Book) -> dict[str, Any]:
    """Return outcomes of a table that nothing will be learned of; nothing without any."""
    late = np.array(book.coming_late(), dtype=np.float64)
    return dict(zip(LATE_PARTS, late.T.copy(), strict=True)) if len(late) else {}


def take_book(state: dict[str, Any]) -> dict[str, Any]:
    """Take out of a state what `save_book` put there."""
    names = [name for name in FURTHER_PARTS if name in state]
    return {name: state.pop(name) for name in (*BOOK_PARTS, *names)}


def load_book(
    book: Book,
    state: Mapping[str, Any],
    rounds: list[Any],
    begun: int,
    classes: int | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> None:
    """Give a fresh book what `save_book` returned, or raise ValueError.

    `rounds` are the rule's, in the order of `waiting_rounds`, and `begun` were begun in all.
    Outcomes are within bounds, or numbers of so many classes.
    """
    ids, finished, gone = (
        ids_of(state, name) for name in ("waiting_ids", "finished_ids", "expired_ids")
    )
    nameless = integers(state, "waiting_nameless", low=0)
    unnamed = check_integer("saved waiting_unnamed", state["waiting_unnamed"], 0, 1)
    size = len(ids) + len(nameless) + unnamed
    if len(rounds) != size:
        raise ValueError(f"saved waiting_ids must be of {size} rounds, got {len(rounds)}")
    whole, real = columns_of(state, size)
    if whole[0].tolist() != [each.number for each in rounds]:
        raise ValueError("saved waiting_numbers must be those of the rounds that the rule saved")
    timed = check_integer("saved clock_timed", state["clock_timed"], -1, 1)
    is_set = state["clock"] is not None
    clock = number(state, "clock", low=-LARGEST, high=LARGEST) if is_set else -math.inf
    expired = check_integer("saved expired", state["expired"], 0, begun)
    known = (timed, clock, expired, unnamed, begun, book)
    parts = Parts._make((ids, finished, gone, nameless, *whole, *real, *known))
    check_all("of the saved rounds this must hold:", MUST_HOLD, parts)
    outcomes = floats(state, "finished_outcomes", size=len(finished))
    late = [name for name in LATE_PARTS if name in state]
    for name in ("waiting_outcomes", "finished_outcomes", "coming_outcomes", *late[1:]):
        within = bounds if classes is None else (0.0, classes - 1.0)
        is_whole = classes is not None or not math.isnan(book.silence)
        check_outcomes(name, state[name], within, is_whole=is_whole)
    is_named = np.ones(size - unnamed, dtype=np.bool_)
    is_named[nameless] = False
    named = iter(ids)
    keys: list[Id | None] = [next(named) if each else None for each in is_named.tolist()]
    rounds_from_arrays(rounds, whole, real)
    book.load(
        keys,
        rounds[: size - unnamed],
        dict(zip(finished, outcomes.tolist(), strict=True)),
        gone,
    )
    book.unnamed = rounds[-1] if unnamed else None
    book.expired, book.now = expired, clock
    book.is_timed = None if timed < 0 else bool(timed)
    load_coming(book, state, keys, rounds)
    if late:
        load_late(book, state)
    if any(name in state for name in WEIGHT_PARTS):
        load_weights(book, state, rounds, begun)


def load_weights(book: Book, state: Mapping[str, Any], rounds: list[Any], begun: int) -> None:
    """Give a book what `save_weights` returned."""
    weights = floats(state, "waiting_weights", size=len(rounds), low=0.0, high=LARGEST_WEIGHT)
    weighed, weighings = floats(state, "weights", size=2, low=-1.0, high=LARGEST).tolist()
    if not weighings <= begun or weighings % 1.0 or (weighings > 0.0) != (weighed > 0.0):
        raise ValueError("saved weights must be a sum and of how many outcomes")
    if not book.rule.is_weighted:
        raise ValueError("saved weights must be of what takes weights")
    book.weighed, book.weighings = weighed, weighings
    for each, weight in zip(rounds, weights.tolist(), strict=True):
        if weight != 1.0:
            each.weight = weight


def columns_of(state: Mapping[str, Any], size: int) -> tuple[Integers, Floats]:
    """Return what a book keeps of rounds as `rounds_from_arrays` takes it."""
    numbers, batches, held = (
        integers(state, name, size=size, low=0)
        for name in ("waiting_numbers", "waiting_batches", "waiting_held")
    )
    real = np.empty((len(REALS), size))
    for row, name in enumerate(REALS):
        values = state[name]
        if not isinstance(values, np.ndarray) or values.dtype != np.float64:
            raise ValueError(f"saved {name} must be an array of float64")
        if values.shape != (size,) or np.isinf(values).any():
            raise ValueError(f"saved {name} must be {size} numbers, finite or NaN")
        real[row] = values
    return np.stack([numbers, batches, held]), real


def check_outcomes(
    name: str, outcomes: Floats, bounds: tuple[float, float], *, is_whole: bool
) -> None:
    """Refuse saved outcomes that no rule has; NaN stands for none."""
    if ((outcomes < bounds[0]) | (outcomes > bounds[1])).any():
        raise ValueError(f"saved {name} must be in [{bounds[0]:g}, {bounds[1]:g}]")
    if is_whole and (outcomes % 1.0 > 0.0).any():
        raise ValueError(f"saved {name} must be whole numbers")


def load_coming(
    book: Book, state: Mapping[str, Any], keys: list[Id | None], rounds: list[Any]
) -> None:
    """Give a book the outcomes that become known later."""
    rows = integers(state, "coming_rows", low=0)
    times = floats(state, "coming_times", size=len(rows))
    outcomes = floats(state, "coming_outcomes", size=len(rows))
    if (rows >= len(keys)).any() or len(np.unique(rows)) < len(rows):
        raise ValueError("saved coming_rows must be rows of what waits, each once")
    if not all(math.isnan(rounds[row].outcome) for row in rows.tolist()):
        raise ValueError("saved coming_rows must be of what has no outcome yet")
    found = [rounds[row] if keys[row] is None else keys[row] for row in rows.tolist()]
    book.load_arrivals(found, times.tolist(), outcomes.tolist())


def load_late(book: Book, state: Mapping[str, Any]) -> None:
    """Give a book what `save_late` returned."""
    times = floats(state, "late_times")
    outcomes = floats(state, "late_outcomes", size=len(times))
    known = state["late_known"]
    if known.shape != times.shape or known.dtype != np.float64 or (np.diff(times) < 0.0).any():
        raise ValueError("saved late_times must rise, and late_known must be as many")
    book.load_late(times.tolist(), outcomes.tolist(), known.tolist())


def integers(
    state: Mapping[str, Any], name: str, *, size: int | None = None, low: int | None = None
) -> Integers:
    """Return a saved array of integers, none below `low`."""
    values: Integers = state[name]
    if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.ndim != 1:
        raise ValueError(f"saved {name} must be an array of int64")
    if size is not None and len(values) != size:
        raise ValueError(f"saved {name} must have {size} values, got {len(values)}")
    if low is not None and (values < low).any():
        raise ValueError(f"saved {name} must be at least {low}")
    return values


def ids_of(state: Mapping[str, Any], name: str) -> list[Id]:
    """Return a saved list of distinct ids."""
    ids = state[name]
    if not isinstance(ids, list):
        raise ValueError(f"saved {name} must be a list")
    checked = [check_id(id_, f"each of the saved {name}") for id_ in ids]
    if len(set(checked)) != len(checked):
        raise ValueError(f"saved {name} must be distinct")
    return checked
