from calibrant._checks import Floats

def uniform_edges(intervals: int, low: float, high: float) -> tuple[Floats, int]: ...
def refined_edges(
    centre: float,
    r: float,
    inner: int,
    per_band: int,
    anchored: bool,
    low: float,
    high: float,
) -> tuple[Floats, int]: ...
def probability_edges(edges: Floats, turn: int) -> tuple[Floats, int]: ...
