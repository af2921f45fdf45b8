"""Games of the results, played again from their own specs and seeds."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant._checks import Floats
from calibrant.experiments.cells import Cell
from calibrant.forecasters import Forecaster, named
from calibrant.measures import Scorecard
from calibrant.report.results import Played, Results
from calibrant.streams import named as sources
from calibrant.streams import names as real_streams
from calibrant.streams import play as play_game

#: Streams that show best how a forecaster follows a changing world, the first that is there.
MOVING = ("piecewise", "drift", "random_walk", "seasonal", "corrupted", "chaser")
#: A game of more rounds is not played again for a picture.
MOST_ROUNDS = 1_000_000


@dataclass(frozen=True, eq=False)
class Replay:
    """A game played again.

    Attributes
    ----------
    played : Played
        What the results say of it.
    predictions, outcomes : array of float
        What was said, and what happened.
    means : array of float or None
        The probability with which each outcome was drawn, where it is known.

    Examples
    --------
    >>> from calibrant.report.examples import replay
    >>> from calibrant.report.results import Played
    >>> len(replay(Played("zoom", "drift", 100, 0, None, None, {})).predictions)
    100
    """

    played: Played
    predictions: Floats
    outcomes: Floats
    means: Floats | None

    def agrees(self, measure: str) -> bool:
        """Whether the game gave the very number that the results hold."""
        card = Scorecard()
        card.extend(self.predictions, self.outcomes)
        return bool(getattr(card, measure) == self.played.values[measure])


def forecaster_of(played: Played) -> Forecaster:
    """Return the forecaster of a game, before its first round.

    Examples
    --------
    >>> forecaster_of(Played("zoom", "drift", 100, 3, None, None, {})).seed
    3
    """
    return named.make(
        played.forecaster, seed=played.seed, rounds=played.rounds, deviation=played.deviation
    )


def replay(played: Played) -> Replay:
    """Play a game of the results again.

    Examples
    --------
    >>> game = replay(Played("epoch", "contrarian", 50, 0, None, None, {}))
    >>> len(game.outcomes), game.means is None
    (50, True)
    """
    cell = Cell(played.forecaster, played.stream, played.rounds, played.seed)
    source = sources.find(cell.stream, rounds=cell.rounds, seed=cell.seed)
    forecaster = forecaster_of(played)
    if source.adversary is not None:
        game = play_game(forecaster, source.adversary, cell.rounds)
        return Replay(played, game.predictions, game.outcomes, None)
    assert source.outcomes is not None
    return Replay(played, forecaster.run(source.outcomes), source.outcomes, source.means)


def moving_stream(results: Results, measure: str) -> str | None:
    """Return the stream that shows best how a forecaster follows a changing world.

    Examples
    --------
    >>> results = Results([Played("zoom", stream, 100, 0, None, None, {"cal2": 1.0})
    ...                    for stream in ("iid:mean=0.5", "drift")])
    >>> moving_stream(results, "cal2")
    'drift'
    """
    streams = _short_enough(results, measure)
    for family in MOVING:
        for stream in streams:
            if stream.partition(":")[0] == family:
                return stream
    return streams[0] if streams else None


def real_stream(results: Results, measure: str) -> str | None:
    """Return the real stream with the most rounds, or else a moving one.

    Examples
    --------
    >>> results = Results([Played("zoom", stream, 100, 0, None, None, {"cal2": 1.0})
    ...                    for stream in ("drift", "seattle_rain")])
    >>> real_stream(results, "cal2")
    'seattle_rain'
    """
    rounds = results.longest(measure)
    real = [stream for stream in _short_enough(results, measure) if stream in real_streams()]
    # Of those played equally long, the flights: what they were drifts most.
    return max(
        real, key=lambda stream: (rounds[stream], stream == "nycflights"),
        default=moving_stream(results, measure),
    )  # fmt: skip


def games(results: Results, measure: str, stream: str) -> dict[str, Played]:
    """Return the longest game of each forecaster on a stream, with the first seed.

    Examples
    --------
    >>> results = Results([Played("zoom", "drift", T, 0, None, None, {"cal2": 1.0})
    ...                    for T in (100, 1000)])
    >>> games(results, "cal2", "drift")["zoom"].rounds
    1000
    """
    rounds = results.longest(measure)[stream]
    found: dict[str, Played] = {}
    for cell in sorted(results.measured(measure), key=lambda cell: cell.seed):
        if cell.stream == stream and cell.rounds == rounds:
            found.setdefault(cell.forecaster, cell)
    return found


def _short_enough(results: Results, measure: str) -> list[str]:
    return [stream for stream, rounds in results.longest(measure).items() if rounds <= MOST_ROUNDS]
