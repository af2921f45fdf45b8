from collections.abc import Mapping
from typing import Any

BATCH_PARTS: dict[str, int]
SURPRISE_PARTS: dict[str, int]

def check_batches(parts: Mapping[str, Any], learned: float, smallest: float = ...) -> None: ...
def check_surprises(parts: Mapping[str, Any], rounds: float) -> None: ...
