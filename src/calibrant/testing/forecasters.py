"""The contract of a forecaster, as checks that anyone can run on a forecaster of their own."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from calibrant._checks import Floats
from calibrant.forecasters.base import Forecaster
from calibrant.testing.requirements import (
    copies_of,
    refusal,
    require,
    require_damage_is_found,
    run_checks,
)

Make = Callable[..., Forecaster]

BAD_OUTCOMES: tuple[Any, ...] = (
    float("nan"), float("inf"), -float("inf"), -0.1, 1.1, 2, -1, "1", b"1", None, 1j, [1], [0, 1],
    object(), np.array([0.5, 0.5]), np.array([0.5]), 10**400,
)  # fmt: skip
BAD_BATCHES: tuple[Any, ...] = (
    [0.0, float("nan")], [1.0, float("inf")], [0.5, -0.1], [0.5, 1.1], [0, 2], ["0", "1"],
    [None, 1], [[0, 1], [1, 0]], 0.5, "01", np.array(1.0), np.array([0, 1j]), [0, [1]], object(),
)  # fmt: skip


def check_forecaster(cls: type[Forecaster], **arguments: Any) -> None:
    """Run every check of the contract on ``cls(**arguments, seed=...)``.

    Raises AssertionError that names the check and what it found. The checks: the first round,
    purity of `predict`, the distribution, `run` against single steps, seeding, saving and
    restoring in mid-stream, damaged bytes, bad outcomes, outcomes as people have them, bounded
    memory, the constructor's arguments.

    Examples
    --------
    >>> from calibrant import Zoom
    >>> from calibrant.testing import check_forecaster
    >>> check_forecaster(Zoom)
    """

    def make(seed: int = 11) -> Forecaster:
        return cls(**arguments, seed=seed)

    run_checks(CHECKS, make, lambda: repr(make()))


def outcomes_of(kind: str, rounds: int, seed: int) -> Floats:
    """Return a short stream of one kind: steady, rare, switching, alternating or fractional."""
    random = np.random.default_rng([seed, rounds])
    means = {
        "steady": np.full(rounds, 0.6),
        "rare": np.full(rounds, 0.01),
        "switching": np.where(np.arange(rounds) < rounds // 2, 0.1, 0.9),
        "alternating": np.arange(rounds) % 2,
        "fractional": random.random(rounds),
    }[kind]
    if kind == "fractional":
        return np.asarray(means, dtype=np.float64)
    return (random.random(rounds) < means).astype(np.float64)


KINDS = ("steady", "rare", "switching", "alternating", "fractional")
SHORT = 48  # rounds of a stream that is split everywhere


def play(forecaster: Forecaster, outcomes: Floats) -> Floats:
    """Play single rounds and return the predictions."""
    predictions = np.empty(len(outcomes))
    for t, outcome in enumerate(outcomes):
        predictions[t] = forecaster.predict()
        forecaster.update(outcome)
    return predictions


def check_first_round(make: Make) -> None:
    """A new forecaster has played nothing and predicts a float in [0, 1]."""
    forecaster = make(seed=5)
    require(forecaster.rounds == 0, f"a new one has rounds = {forecaster.rounds}")
    require(forecaster.seed == 5, f"seed=5 is read back as {forecaster.seed}")
    prediction = forecaster.predict()
    require(type(prediction) is float, f"predict() returns a {type(prediction).__name__}")
    require(0 <= prediction <= 1, f"the first prediction is {prediction}")


def check_purity(make: Make) -> None:
    """Looking changes nothing, and `update` works with or without a look."""
    outcomes = outcomes_of("steady", 300, 1)
    looking, blind = make(), make()
    for t, outcome in enumerate(outcomes):
        before = looking.to_bytes()
        first = looking.predict()
        looking.distribution()
        looking.expected()
        require(looking.predict() == first, f"predict() changed its mind in round {t}")
        require(looking.to_bytes() == before, f"predict() changed the state in round {t}")
        require(looking.rounds == t, f"rounds = {looking.rounds} in round {t}")
        looking.update(outcome)
        blind.update(outcome)
    require(looking.to_bytes() == blind.to_bytes(), "update() without predict() is different")


def check_distribution(make: Make) -> None:
    """P_t is a distribution on [0, 1], `expected` its mean, and the draw one of its points."""
    for kind in KINDS:
        forecaster = make()
        for t, outcome in enumerate(outcomes_of(kind, 300, 2)):
            points, weights = forecaster.distribution()
            when = f"in round {t} of the {kind} stream"
            require(len(points) == len(weights) > 0, f"support and weights differ {when}")
            require(((points >= 0) & (points <= 1)).all(), f"a point outside [0, 1] {when}")
            require((weights >= 0).all(), f"a negative weight {when}")
            require(abs(weights.sum() - 1) < 1e-12, f"weights sum to {weights.sum()} {when}")
            require(len(np.unique(points)) == len(points), f"a point stands twice {when}")
            mean = forecaster.expected()
            require(abs(mean - points @ weights) < 1e-12, f"expected() is {mean} {when}")
            drawn = points == forecaster.predict()
            require(drawn.any(), f"predict() is not in the support {when}")
            require(weights[drawn].sum() > 0, f"predict() has no mass {when}")
            forecaster.update(outcome)


def check_run_equals_steps(make: Make) -> None:
    """`run`, in one piece or several, is bit for bit what single rounds give."""
    for kind in KINDS:
        outcomes = outcomes_of(kind, 700, 3)
        stepping, running, pieces = make(), make(), make()
        expected = play(stepping, outcomes)
        require((running.run(outcomes) == expected).all(), f"run() differs on {kind}")
        parts = [pieces.run(part) for part in np.split(outcomes, [0, 1, 2, 130, 699])]
        require((np.concatenate(parts) == expected).all(), f"run() in pieces differs on {kind}")
        require(
            stepping.to_bytes() == running.to_bytes() == pieces.to_bytes(),
            f"run() ends in another state on {kind}",
        )
        predictions, distributions = make().trace(outcomes)
        require((predictions == expected).all(), f"trace() differs on {kind}")
        require(len(distributions) == len(outcomes), f"trace() loses rounds on {kind}")
        for split in range(SHORT + 1):
            check_split(make, kind, split)


def check_split(make: Make, kind: str, split: int) -> None:
    """A short stream, run in two pieces and round by round, against single rounds.

    Equal bytes at the split mean that the second piece starts where single rounds would.
    """
    outcomes = outcomes_of(kind, SHORT, split)
    stepping, pieces, alone = make(seed=split), make(seed=split), make(seed=split)
    for part in (outcomes[:split], outcomes[split:]):
        expected = play(stepping, part).tobytes()
        where = f"of {kind}, split after {split} rounds"
        require(pieces.run(part).tobytes() == expected, f"run() differs on a part {where}")
        one_by_one = b"".join(alone.run([outcome]).tobytes() for outcome in part)
        require(one_by_one == expected, f"run() of single rounds differs on a part {where}")
        require(
            stepping.to_bytes() == pieces.to_bytes() == alone.to_bytes(),
            f"run() leaves another state after a part {where}",
        )


def check_seeding(make: Make) -> None:
    """The draws depend on the seed and the round alone, whatever else draws meanwhile."""
    outcomes = outcomes_of("steady", 400, 4)
    expected = make(seed=3).run(outcomes)
    other = make(seed=3)
    predictions = np.empty(len(outcomes))
    for t, outcome in enumerate(outcomes):
        np.random.default_rng().random()
        make(seed=4).predict()
        predictions[t] = other.predict()
        other.update(outcome)
    require((predictions == expected).all(), "the same seed gives other predictions")
    require(0 <= make(seed=2**64 - 1).predict() <= 1, "the largest seed fails")


def check_saving(make: Make) -> None:
    """A saved forecaster continues exactly, wherever it was saved and however it was copied."""
    for kind in KINDS:
        outcomes = outcomes_of(kind, 600, 5)
        whole = make()
        expected = whole.run(outcomes)
        for cut in (0, 1, 2, 7, 63, 256, 511, 599, 600):
            for looked in (False, True):
                saved = make()
                saved.run(outcomes[:cut])
                if looked:
                    saved.predict()
                blob = saved.to_bytes()
                require(isinstance(blob, bytes), "to_bytes() does not return bytes")
                restored = type(saved).from_bytes(blob)
                when = f"after {cut} rounds of {kind}"
                require(type(restored) is type(saved), f"another class {when}")
                require(restored.rounds == cut, f"rounds = {restored.rounds} {when}")
                require(repr(restored) == repr(saved), f"other arguments {when}")
                require(restored.to_bytes() == blob, f"other bytes {when}")
                rest = restored.run(outcomes[cut:])
                require((rest == expected[cut:]).all(), f"other predictions {when}")
                require(restored.to_bytes() == whole.to_bytes(), f"another end {when}")
    forecaster = make()
    forecaster.run(outcomes_of("steady", 100, 6))
    for how, twin in copies_of(forecaster):
        twin.update(1)
        require(forecaster.rounds == 100, f"{how}: the twin shares state")
        require(twin.rounds == 101, f"{how}: the twin does not play")


def check_damaged_bytes(make: Make) -> None:
    """Truncated, altered, lengthened or foreign bytes are refused."""
    forecaster = make()
    forecaster.run(outcomes_of("steady", 50, 7))
    require_damage_is_found(forecaster)


def check_bad_outcomes(make: Make) -> None:
    """A bad outcome raises ValueError before anything changes; so does a batch with one."""
    forecaster = make()
    forecaster.run(outcomes_of("steady", 40, 8))
    before = forecaster.to_bytes()
    for bad in BAD_OUTCOMES:
        with refusal(f"update({bad!r})"):
            forecaster.update(bad)
        require(forecaster.to_bytes() == before, f"update({bad!r}) changed the state")
    for batch in BAD_BATCHES:
        with refusal(f"run({batch!r})"):
            forecaster.run(batch)
        require(forecaster.to_bytes() == before, f"run({batch!r}) changed the state")


def check_outcomes_as_people_have_them(make: Make) -> None:
    """Booleans, integers, floats of any size, lists and strided arrays mean the same."""
    outcomes = outcomes_of("steady", 200, 9)
    expected = make().run(outcomes)
    for dtype in (bool, np.int8, np.uint8, np.int64, np.float16, np.float32, ">f8"):
        same = make().run(outcomes.astype(dtype))
        require((same == expected).all(), f"outcomes of dtype {np.dtype(dtype)} differ")
    require((make().run(outcomes.tolist()) == expected).all(), "a list differs")
    strided = np.repeat(outcomes, 2)[::2]
    require((make().run(strided) == expected).all(), "a strided array differs")
    frozen = outcomes.copy()
    frozen.flags.writeable = False
    require((make().run(frozen) == expected).all(), "a read-only array differs")
    scalars = make(), make(), make(), make()
    for outcome in outcomes[:50]:
        for forecaster, scalar in zip(scalars, (float, int, bool, np.float32), strict=True):
            forecaster.update(scalar(outcome))
    require(len({f.to_bytes() for f in scalars}) == 1, "scalars of different types differ")
    empty = make()
    require(empty.run([]).shape == (0,), "an empty batch does not give an empty array")
    require(empty.rounds == 0, "an empty batch counts rounds")


def check_bounded_memory(make: Make) -> None:
    """What is kept does not grow with the rounds: 16 times as many, at most 4 times as much."""
    for kind in ("steady", "switching", "alternating"):
        forecaster = make()
        forecaster.run(outcomes_of(kind, 10_000, 10))
        early = len(forecaster.to_bytes())
        forecaster.run(outcomes_of(kind, 150_000, 10))
        late = len(forecaster.to_bytes())
        require(late <= 4 * early, f"saved bytes grow from {early} to {late} on {kind}")


def check_arguments(make: Make) -> None:
    """The arguments read back unchanged, and a bad seed is refused at once."""
    forecaster = make(seed=9)
    arguments = {name: getattr(forecaster, name) for name in signature(type(forecaster)).parameters}
    twin = type(forecaster)(**arguments)
    require(repr(twin) == repr(forecaster), "the arguments read back make another forecaster")
    for seed in (-1, 2**64, 1.5, "1", None, True):
        with refusal(f"seed={seed!r}"):
            make(seed=seed)


CHECKS: tuple[Callable[[Make], None], ...] = (
    check_first_round,
    check_purity,
    check_distribution,
    check_run_equals_steps,
    check_seeding,
    check_saving,
    check_damaged_bytes,
    check_bad_outcomes,
    check_outcomes_as_people_have_them,
    check_bounded_memory,
    check_arguments,
)
