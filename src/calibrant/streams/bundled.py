"""Real streams that come with the package; `data/LICENSES.md` describes each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from calibrant._checks import Floats, check_choice
from calibrant.tables import Table
from calibrant.tables.reading import decoded, unpacked

FLIGHTS = "arrival delayed by 15 minutes or more, departures from New York, March-December 2013"
ELO = "FiveThirtyEight, via the R package fivethirtyeightdata"
WORK = "FiveThirtyEight, Checking Our Work"

#: Name: what the outcome is, where it comes from, its licence.
CATALOGUE: dict[str, tuple[str, str, str]] = {
    "covid_rise": (
        "a country's weekly new COVID-19 cases rise on the week before, 2020-21",
        "COVID-19 Data Repository by the Center for Systems Science and Engineering (CSSE) at "
        "Johns Hopkins University",
        "CC BY 4.0",
    ),
    "mlb538": ("the home team wins a baseball game, MLB 2016-22", WORK, "CC BY 4.0"),
    "nba538": ("team 1 wins a basketball game, NBA 2015-22", WORK, "CC BY 4.0"),
    "nba_elo": ("team 1 wins a basketball game, NBA 1946-2020", ELO, "CC BY 4.0"),
    "nfl_elo": ("team 1 wins a football game, NFL 1920-2020", ELO, "CC BY 4.0"),
    "nycflights": (FLIGHTS, "R package nycflights13", "CC0 1.0"),
    "quakes6h": (
        "an earthquake of magnitude 5 or more worldwide in the next 6 hours, 2013-23",
        "U.S. Geological Survey",
        "public domain",
    ),
    "seattle_rain": (
        "rain at Seattle-Tacoma airport, daily 1948-2017",
        "National Oceanic and Atmospheric Administration",
        "public domain",
    ),
    "soccer538": ("the home team wins a football match, clubs 2016-20", WORK, "CC BY 4.0"),
}


@dataclass(frozen=True, eq=False, repr=False)
class RealStream:
    """Real outcomes, in order of time.

    Attributes
    ----------
    name, description, source, licence : str
        The meaning of the outcome, its source and its licence.
    times : array of str
        The date or time of each round.
    scores : array of float or None
        A forecast made before each outcome; None if the stream has none.
    outcomes : array of float
        0 or 1 for each round.
    columns : dict of arrays of str
        The other columns of its file, by name.

    Examples
    --------
    >>> from calibrant import streams
    >>> streams.load("seattle_rain")
    RealStream(seattle_rain, 25548 rounds: rain at Seattle-Tacoma airport, daily 1948-2017)
    >>> list(streams.load("nycflights").columns)
    ['landed', 'due', 'carrier', 'route', 'aircraft']
    """

    name: str
    description: str
    source: str
    licence: str
    times: npt.NDArray[np.str_]
    scores: Floats | None
    outcomes: Floats
    columns: dict[str, npt.NDArray[np.str_]]

    def __len__(self) -> int:
        return len(self.outcomes)

    def __repr__(self) -> str:
        return f"RealStream({self.name}, {len(self)} rounds: {self.description})"


def names() -> list[str]:
    """Return the names of the real streams that come with the package.

    Examples
    --------
    >>> from calibrant import streams
    >>> streams.names()[:3]
    ['covid_rise', 'mlb538', 'nba538']
    """
    return list(CATALOGUE)


def load(name: str) -> RealStream:
    """Return a real stream that comes with the package.

    Parameters
    ----------
    name : str
        One of `names()`.

    Examples
    --------
    >>> from calibrant import streams
    >>> stream = streams.load("quakes6h")
    >>> stream.outcomes[:4], stream.times[0], stream.scores is None
    (array([1., 1., 0., 0.]), np.str_('2013-01-01T00'), True)
    """
    table = bundled_table(name)
    scores = table.take("prediction", "score").values if "score" in table.columns else None
    outcomes = table.take("outcome", "outcome").values
    others = {
        column: np.array(cells)
        for column, cells in table.columns.items()
        if column not in ("t", "score", "outcome")
    }
    times = np.array(table.columns["t"])
    return RealStream(name, *CATALOGUE[name], times, scores, outcomes, others)


def bundled_table(name: str) -> Table:
    """Return the rows of a real stream that comes with the package, as in its file."""
    from importlib import resources  # noqa: PLC0415 - slow to import, and rarely needed

    check_choice("name", name, names())
    file = resources.files("calibrant") / "data" / f"{name}.csv.gz"
    header, _, rows = decoded(unpacked(file.read_bytes(), name), name).partition("\n")
    # The package's own files have no quotes and no empty lines: splitting is enough, and faster.
    cells = rows.rstrip("\n").replace("\n", ",").split(",")
    columns = header.split(",")
    return Table(
        name,
        {column: cells[at :: len(columns)] for at, column in enumerate(columns)},
        range(2, 2 + len(cells) // len(columns)),
    )
