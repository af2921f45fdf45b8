from collections.abc import Mapping
from typing import Any

LEVEL_PARTS: dict[str, int]

def check_levels(parts: Mapping[str, Any], rounds: float, learned: float) -> None: ...
