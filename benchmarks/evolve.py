"""Evolve learned opponents: ``python -m benchmarks evolve [--games N] [--against WHOM]``.

A learned opponent (`calibrant.streams.Learned`) is a recurrent network of a few hundred numbers. An
evolution strategy with mirrored samples (Salimans and others 2017) starts from a greedy one and
changes the weights to increase Cal2, by games against forecasters with new seeds each time. The
best of all generations is written to `src/calibrant/streams/learned.json` if it is stronger than
the current one on separate seeds. The opponent of Zoom was evolved with ``--against zoom --games
40000``, then ``--rounds 100000 --games 1000 --further``.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from calibrant import EventForecaster, Recalibrator, Zoom
from calibrant._kernels.adversaries import MOST_GENES, LearnedKernel
from calibrant.measures import cal2
from calibrant.streams import adversaries

FILE = Path(__file__).parent.parent / "src" / "calibrant" / "streams" / "learned.json"
ROUNDS = 10_000
PAIRS = 12  # mirrored samples of a generation
SPREAD, RATE = 0.2, 0.3
SEES, NEURONS = 12, 8
FRESH = range(100, 110)  # seeds that nothing was chosen by
GREEDY = NEURONS * (SEES + NEURONS + 1) + 7  # the weight of what Greedy would do in the outcome


def against_scores(opponent, recalibrator, rounds):
    """Play an opponent that also chooses the scores of a recalibrator."""
    predictions, outcomes = np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        score = opponent.aim()
        outcomes[t] = opponent.answer(*recalibrator.distribution(score))
        predictions[t] = recalibrator.predict(score)
        recalibrator.update(outcomes[t])
        opponent.observe(predictions[t], outcomes[t])
    return predictions, outcomes


def against_events(opponent, forecaster, rounds):
    return adversaries.kernels.play(forecaster, opponent, rounds)


#: Whom a learned opponent plays, and how.
GAMES = {
    "events": (EventForecaster, against_events),
    "scores": (Recalibrator, against_scores),
    "zoom": (Zoom, against_events),
}


def fitness(genes, against, seeds, rounds=ROUNDS):
    """Return the mean Cal2 that an opponent reaches."""
    forecaster, game = GAMES[against]
    games = [game(LearnedKernel(rounds, genes), forecaster(seed=seed), rounds) for seed in seeds]
    return float(np.mean([cal2(*game) for game in games]))


def evolve(against, games, seed, *, rounds=ROUNDS, start=None, progress=print):
    """Return the genes of the strongest opponent found in so many games, from given ones on."""
    random = np.random.default_rng(seed)
    genes = random.normal(0, 0.1, MOST_GENES)
    genes[GREEDY] = 1.0
    genes = genes if start is None else np.array(start)
    best, strongest = genes, fitness(genes, against, range(3), rounds)
    for generation in range(games // (2 * PAIRS + 3)):
        noise = random.normal(0, 1, (PAIRS, MOST_GENES))
        at = 1000 + generation
        reached = np.array(
            [
                [fitness(genes + sign * SPREAD * each, against, [at], rounds) for sign in (1, -1)]
                for each in noise
            ]
        )
        ranks = reached.ravel().argsort().argsort().reshape(-1, 2) / (2 * PAIRS - 1) - 0.5
        genes = genes + RATE / PAIRS * (ranks[:, 0] - ranks[:, 1]) @ noise
        now = fitness(genes, against, range(3), rounds)
        if now > strongest:
            best, strongest = genes, now
        if generation % 10 == 0:
            progress(f"{against}, generation {generation}: {now:.1f}, best {strongest:.1f}")
    return best


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks evolve", description=__doc__)
    parser.add_argument("--games", type=int, default=6000, help="games to play (6000)")
    parser.add_argument("--against", choices=GAMES, action="append", help="all unless given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"of a game ({ROUNDS})")
    parser.add_argument("--further", action="store_true", help="start from the numbers in the file")
    given = parser.parse_args(arguments)
    found = json.loads(FILE.read_text())
    for against in given.against or GAMES:
        start = found[against] if given.further else None
        genes = np.round(
            evolve(against, given.games, given.seed, rounds=given.rounds, start=start), 4
        )
        # Who was evolved against events may be the strongest against scores, too.
        rivals = [genes, *(np.array(each) for each in found.values())]
        reached = [fitness(each, against, FRESH, given.rounds) for each in rivals]
        print(f"{against}: Cal2 {reached[0]:.1f}, of those that are there {reached[1:]}")
        found[against] = rivals[int(np.argmax(reached))].tolist()
        FILE.write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
