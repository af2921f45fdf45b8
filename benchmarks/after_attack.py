"""The price after an attack: what honest streams cost that follow one.

``python -m benchmarks after_attack [--python OTHER/bin/python]`` lets an opponent play a class, and
then an honest stream. The figures are by how much the Brier score on that stream is above the one
that a fresh object of the same class and version has on it. The other Python has an older calibrant
installed, which meets the same opponents and streams.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks import machine
from benchmarks.attack_safe import POLICIES, Game, Whole
from benchmarks.elsewhere import copied, made, version_of
from benchmarks.evolve import against_scores
from benchmarks.hostile_paper import fresher
from benchmarks.hostile_streams import centred
from benchmarks.scored import scored
from benchmarks.tables import table
from calibrant.measures import brier
from calibrant.streams import Contrarian, Learned, drift, iid

TITLE = "After an attack"
ATTACK = 10_000  # rounds
HONEST = (2_000, 10_000)
SEEDS = range(10)


def against_events(opponent, forecaster, rounds):
    """Play an opponent of a forecaster of events, wherever that is."""
    for _ in range(rounds):
        outcome = opponent.answer(*forecaster.distribution())
        opponent.observe(forecaster.predict(), outcome)
        forecaster.update(outcome)


#: Opponents, who play an object for so many rounds, and honest streams, by class.
CASES = {
    "Recalibrator": (
        {
            "march, then greedy": lambda own, rounds, seed: Game(Whole(own), rounds, seed).play(
                POLICIES["march, then greedy"]
            ),
            "Drag, fresher": lambda own, rounds, _: against_scores(fresher(rounds), own, rounds),
            "Learned": lambda own, rounds, _: against_scores(
                Learned(rounds, against="scores"), own, rounds
            ),
            "Centre": lambda own, rounds, seed: centred(Whole(own), rounds, seed),
        },
        {
            "calibrated": lambda rounds, seed: scored("calibrated", rounds, seed)[:2],
            "drifting bias": lambda rounds, seed: scored("drifting bias", rounds, seed)[:2],
        },
    ),
    "EventForecaster": (
        {
            "March (as Contrarian)": lambda own, rounds, _: against_events(
                Contrarian(), own, rounds
            ),
            "Drag, fresher": lambda own, rounds, _: against_events(fresher(rounds), own, rounds),
            "Learned": lambda own, rounds, _: against_events(Learned(rounds), own, rounds),
        },
        {
            "i.i.d. 0.3": lambda rounds, seed: (iid(rounds, mean=0.3, seed=seed).outcomes,),
            "drift, 0.2 to 0.8": lambda rounds, seed: (drift(rounds, seed=seed).outcomes,),
        },
    ),
}


def scores(python, name, attack, streams):
    """Return the mean Brier scores after an attack, if any: by honest stream, and first rounds."""
    found = np.empty((len(SEEDS), len(streams), len(HONEST)))
    for i, seed in enumerate(SEEDS):
        with made(python, name, seed) as own:
            if attack:
                attack(own, ATTACK, seed)
            for j, stream in enumerate(streams):
                columns = stream(max(HONEST), seed)
                predictions = copied(own).run(*columns)
                for k, rounds in enumerate(HONEST):
                    found[i, j, k] = brier(predictions[:rounds], columns[-1][:rounds])
    return found.mean(axis=0)


def tables(progress, other=None):
    """Return a table for each class, one after the other."""
    versions = {"here": sys.executable} | ({"there": other} if other else {})
    for name, (opponents, streams) in CASES.items():
        rows = []
        fresh = [scores(each, name, None, streams.values()) for each in versions.values()]
        for opponent, attack in opponents.items():
            progress(f"after an attack: {name}, {opponent}")
            prices = [
                scores(python, name, attack, streams.values()) - before
                for python, before in zip(versions.values(), fresh, strict=True)
            ]
            for j, stream in enumerate(streams):
                figures = (f"{price[j, k]:+.4f}" for k in range(len(HONEST)) for price in prices)
                rows.append((f"{opponent}; {stream}", *figures))
        yield table(
            f"{name}: Brier score after {ATTACK:,} rounds of attack, above a fresh one's; "
            f"mean of {len(SEEDS)} seeds",
            [
                "opponent; honest stream",
                *(f"{rounds:,} rounds, {where}" for rounds in HONEST for where in versions),
            ],
            rows,
        )


def main(arguments):
    """Write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks after_attack", description=__doc__)
    parser.add_argument("--python", help="a Python with another version")
    python = parser.parse_args(arguments).python
    command = "python -m benchmarks after_attack"
    page = f"# {TITLE}\n\nMeasured on {machine.describe()}, with `{command}`.\n"
    if python:
        page += f"There, by `--python`: calibrant {version_of(python)}.\n"
    console = Console(stderr=True)
    with console.status("after an attack") as status:
        for text in tables(status.update, python):
            print(text, flush=True)
            page += f"\n{text}"
    Path(__file__).with_suffix(".md").write_text(page)
