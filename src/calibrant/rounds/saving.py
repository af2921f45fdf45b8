"""How a book is saved: its clock, what waits, and the ids that are done with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, Id, check_id, check_integer
from calibrant._kernels.rounds.book import Book
from calibrant._kernels.rounds.round import Round, rounds_as_arrays, rounds_from_arrays
from calibrant._kernels.saved import floats, number

Integers = npt.NDArray[np.int64]
LARGEST = np.finfo(np.float64).max

#: What `save_book` returns; a rule saves what it keeps of the rounds beside it.
BOOK_PARTS = (
    "waiting_ids", "waiting_nameless", "waiting_unnamed", "waiting_numbers", "waiting_batches",
    "waiting_held", "waiting_times", "waiting_dues", "waiting_outcomes", "waiting_arrived",
    "waiting_smooth", "coming_rows", "coming_times", "coming_outcomes", "finished_ids",
    "finished_outcomes", "expired_ids", "expired", "clock", "clock_timed",
)  # fmt: skip
REALS = (
    "waiting_times", "waiting_dues", "waiting_outcomes", "waiting_arrived", "waiting_smooth",
)  # fmt: skip


def waiting_rounds(book: Book) -> list[Any]:
    """Return the rounds that wait as they are saved: by number, and the unnamed one last."""
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
    }


def take_book(state: dict[str, Any]) -> dict[str, Any]:
    """Take out of a state what `save_book` put there."""
    return {name: state.pop(name) for name in BOOK_PARTS}


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
    most = max(len(ids), len(finished), len(gone))
    if most > book.capacity or len({*ids, *finished, *gone}) < len([*ids, *finished, *gone]):
        raise ValueError("saved ids are too many, or one is waiting, finished or expired at once")
    nameless = integers(state, "waiting_nameless", low=0)
    unnamed = check_integer("saved waiting_unnamed", state["waiting_unnamed"], 0, 1)
    size = len(ids) + len(nameless) + unnamed
    if len(rounds) != size:
        raise ValueError(f"saved waiting_ids must be of {size} rounds, got {len(rounds)}")
    if len(ids) + len(nameless) + len(finished) + len(gone) > begun:
        raise ValueError(f"saved ids are more than {begun} predictions")
    whole, real = columns_of(state, size, unnamed, begun)
    if whole[0].tolist() != [each.number for each in rounds]:
        raise ValueError("saved waiting_numbers must be those of the rounds that the rule saved")
    timed = check_integer("saved clock_timed", state["clock_timed"], -1, 1)
    check_deadlines(book, whole[2], real, timed, size - unnamed)
    outcomes = floats(state, "finished_outcomes", size=len(finished))
    for name in ("waiting_outcomes", "finished_outcomes", "coming_outcomes"):
        within = bounds if classes is None else (0.0, classes - 1.0)
        is_whole = classes is not None or not math.isnan(book.silence)
        check_outcomes(name, state[name], within, is_whole=is_whole)
    expired = check_integer("saved expired", state["expired"], len(gone), begun)
    is_set = state["clock"] is not None
    clock = number(state, "clock", low=-LARGEST, high=LARGEST) if is_set else -math.inf
    if (np.diff(nameless) <= 0).any() or (nameless >= size - unnamed).any():
        raise ValueError("saved waiting_nameless must be increasing rows of what waits")
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


def columns_of(
    state: Mapping[str, Any], size: int, unnamed: int, begun: int
) -> tuple[Integers, Floats]:
    """Return what a book keeps of rounds, checked, as `rounds_from_arrays` takes it."""
    numbers, batches, held = (
        integers(state, name, size=size, low=0)
        for name in ("waiting_numbers", "waiting_batches", "waiting_held")
    )
    if (np.diff(numbers[: size - unnamed]) <= 0).any() or (numbers >= begun).any():
        raise ValueError("saved waiting_numbers must be increasing numbers of past rounds")
    if (batches > numbers).any():
        raise ValueError("saved waiting_batches must not be later than waiting_numbers")
    real = np.empty((len(REALS), size))
    for row, name in enumerate(REALS):
        values = state[name]
        if not isinstance(values, np.ndarray) or values.dtype != np.float64:
            raise ValueError(f"saved {name} must be an array of float64")
        if values.shape != (size,) or np.isinf(values).any():
            raise ValueError(f"saved {name} must be {size} numbers, finite or NaN")
        real[row] = values
    if ((real[-1] < 0.0) | (real[-1] > 1.0)).any():
        raise ValueError("saved waiting_smooth must be in [0, 1], or NaN")
    return np.stack([numbers, batches, held]), real


def check_outcomes(
    name: str, outcomes: Floats, bounds: tuple[float, float], *, is_whole: bool
) -> None:
    """Refuse saved outcomes that no rule has; NaN stands for none."""
    if ((outcomes < bounds[0]) | (outcomes > bounds[1])).any():
        raise ValueError(f"saved {name} must be in [{bounds[0]:g}, {bounds[1]:g}]")
    if is_whole and (outcomes % 1.0 > 0.0).any():
        raise ValueError(f"saved {name} must be whole numbers")


def check_deadlines(book: Book, held: Integers, real: Floats, timed: int, size: int) -> None:
    """Refuse rounds that wait for no deadline where all do, or for one where none does."""
    at, due, outcome, _, _ = real
    waits = held > 0
    if (held > 1).any() or np.isnan(due[waits]).any():
        raise ValueError("saved waiting_held must be 1 for what waits for its deadline, else 0")
    if waits.any() and (not book.has_deadlines or timed < 0):
        raise ValueError("a saved prediction waits for a deadline, and there are none here")
    if timed > 0 and not (at[waits] < due[waits]).all():
        raise ValueError("saved waiting_dues must be later than waiting_times")
    span = book.policy.span
    if timed == 0 and span is not None and span.is_time:
        raise ValueError("saved clock_timed must be 1 where deadlines are times")
    if not math.isnan(book.silence) and not waits[:size].all():
        raise ValueError("a saved prediction waits for no deadline, where silence has one")
    if not np.isnan(outcome[~waits]).all():
        raise ValueError("a saved outcome is noted of a prediction that waits for no deadline")


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
