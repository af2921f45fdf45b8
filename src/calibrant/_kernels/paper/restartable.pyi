from collections.abc import Mapping
from typing import Any

from calibrant._kernels.kernel import Kernel

class Restartable(Kernel):
    @property
    def error(self) -> float: ...
    def _take_over(self, state: Mapping[str, Any]) -> None: ...
