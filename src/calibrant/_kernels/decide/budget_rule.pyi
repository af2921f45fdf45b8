from calibrant._kernels.decide.decision_rule import DecisionRule

class Window:
    size: float
    acts: int

class RowWindow(Window):
    def __init__(self, rows: int, most: int, least: int) -> None: ...

class TimeWindow(Window):
    last: float
    def __init__(self, seconds: float, most: float, least: float) -> None: ...

class BudgetRule(DecisionRule):
    budget: float
    price: float
    @property
    def is_timed(self) -> bool: ...
    @property
    def threshold(self) -> float: ...
    def __init__(
        self, seed: int, explore: float, budget: float, window: Window, is_burst: bool
    ) -> None: ...
