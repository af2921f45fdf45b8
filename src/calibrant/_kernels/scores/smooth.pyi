from typing import SupportsFloat

import numpy.typing as npt

from calibrant._checks import Floats
from calibrant._kernels.scores.scoring import ScoringKernel

def smooth_of(kernel: ScoringKernel, score: SupportsFloat) -> float: ...
def smooth_of_many(kernel: ScoringKernel, scores: npt.ArrayLike) -> tuple[Floats, Floats]: ...
