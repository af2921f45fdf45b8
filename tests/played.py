"""Every public class run on a synthetic stream, and the states saved by each release.

`python tests/played.py` writes tests/states/VERSION.zip, once for each release.
"""

import io
import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

STATES = Path(__file__).parent / "states"
#: Rounds before a state is saved, and those whose predictions are saved with it.
BEFORE, AFTER = 300, 40


class Played(NamedTuple):
    """A way of making a public class, and how it plays rounds start to stop of its stream."""

    name: str
    make: Callable[[], Any]
    play: Callable[[Any, int, int], np.ndarray]


def every_class(rounds: int) -> Iterator[Played]:
    """All of them, on streams of so many rounds."""
    # Imported here: same_bytes.py first says which copy of the package it wants.
    from forecasters.table import FORECASTERS  # noqa: PLC0415
    from recalibrate.table import IDS, RECALIBRATORS  # noqa: PLC0415

    random = np.random.default_rng(1)
    drift = (random.random(rounds) < 0.5 + 0.4 * np.sin(np.arange(rounds) / 500)).astype(float)
    for cls, arguments in FORECASTERS:

        def forecast(player, start, stop):
            return np.asarray(player.run(drift[start:stop]), dtype=float)

        name = " ".join([cls.__name__, *(f"{key}={arguments[key]}" for key in arguments)])
        yield Played(name, lambda cls=cls, given=arguments: cls(**given, seed=7), forecast)
    for (cls, inputs, arguments), name in zip(RECALIBRATORS, IDS, strict=True):
        columns = inputs.stream("switching", rounds, seed=3)

        def recalibrate(player, start, stop, inputs=inputs, columns=columns):
            parts = [column[start:stop] for column in columns]
            more = inputs.lists(start, stop)
            return np.asarray(inputs.calls.run(player, *parts, **more), dtype=float)

        yield Played(name, lambda cls=cls, given=arguments: cls(**given), recalibrate)
    yield from others(np.clip(random.random(rounds), 0.01, 0.99), drift)


def others(p: np.ndarray, y: np.ndarray) -> Iterator[Played]:
    """What neither forecasts nor recalibrates: decisions, alarms and sums over p and y."""
    from calibrant import Decider, Monitor  # noqa: PLC0415
    from calibrant.measures import NumberScorecard, Scorecard  # noqa: PLC0415

    def run(player, start, stop):
        return np.asarray(player.run(p[start:stop], y[start:stop]), dtype=float)

    def trace(player, start, stop):
        return player.trace(p[start:stop], y[start:stop])

    def add(player, start, stop):
        player.extend(p[start:stop], y[start:stop])
        return np.array([*player.summary().values()], dtype=float)

    def add_numbers(player, start, stop):
        rows = np.sort(np.column_stack([p, p**2, y])[start:stop], axis=1)
        player.extend(rows, (p - y)[start:stop])
        return np.array([player.pinball, player.error])

    costs = {"cost_of_acting": 1.0, "cost_of_missing": 5.0}
    for asked in costs, {"budget": 0.1, "per": 100}, {"precision": 0.7}, {"recall": 0.8}:
        name = f"Decider {next(iter(asked))}"
        yield Played(name, lambda asked=asked: Decider(**asked, explore=0.05, seed=7), run)
    for ahead in 1, 5:
        yield Played(
            f"Monitor ahead={ahead}", lambda ahead=ahead: Monitor(1000, ahead=ahead), trace
        )
    yield Played("Scorecard", lambda: Scorecard(window=100), add)
    yield Played("NumberScorecard", lambda: NumberScorecard([0.1, 0.5, 0.9]), add_numbers)


def saved() -> dict[str, bytes]:
    """By name, a state of each class that can be saved, and what is predicted after it."""
    files = {}
    for name, make, play in every_class(BEFORE + AFTER):
        player = make()
        if hasattr(player, "to_bytes"):
            play(player, 0, BEFORE)
            files[f"{name}.state"] = player.to_bytes()
            after = io.BytesIO()
            np.save(after, play(player, BEFORE, BEFORE + AFTER))
            files[f"{name}.npy"] = after.getvalue()
    return files


def main() -> None:
    import calibrant  # noqa: PLC0415

    STATES.mkdir(exist_ok=True)
    target = STATES / f"{calibrant.__version__}.zip"
    if target.exists():
        sys.exit(f"{target} exists: what a release saved is never written again")
    with zipfile.ZipFile(target, "x", zipfile.ZIP_DEFLATED) as archive:
        for name, content in saved().items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    print(json.dumps({"file": target.name, "bytes": target.stat().st_size}))


if __name__ == "__main__":
    main()
