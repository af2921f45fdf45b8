import numpy as np
import numpy.typing as npt

from calibrant._kernels.rounds.round import Round

Integers = npt.NDArray[np.int64]

BUCKETS: int
OPENED: np.dtype[np.void]

class FleetRound(Round):
    @property
    def slot(self) -> int: ...
    def move(self, slots: Integers, parents: Integers) -> None: ...

def save_rounds(rounds: list[FleetRound]) -> npt.NDArray[np.void]: ...
def load_rounds(found: npt.NDArray[np.void]) -> list[FleetRound]: ...
