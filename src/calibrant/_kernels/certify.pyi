import numpy.typing as npt

from calibrant._checks import Floats
from calibrant._kernels.refined import RefinedKernel

def running_errors(forecaster: RefinedKernel, outcomes: npt.ArrayLike) -> Floats: ...
