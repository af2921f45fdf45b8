from typing import Any

from calibrant._checks import Floats

KNOT_LEVELS: tuple[float, ...]

class Levels:
    def __init__(self, tau: Any) -> None: ...
    tau: Floats

class QuantileMixture:
    def weights(self) -> Floats: ...
