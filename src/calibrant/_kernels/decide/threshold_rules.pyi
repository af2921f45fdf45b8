from calibrant._kernels.decide.decision_rule import DecisionRule

class CostRule(DecisionRule):
    threshold: float
    def __init__(self, seed: int, explore: float, threshold: float) -> None: ...

class MovingRule(DecisionRule):
    theta: float
    start: float
    gain: float

class PrecisionRule(MovingRule):
    floor: float
    def __init__(self, seed: int, explore: float, floor: float) -> None: ...

class RecallRule(MovingRule):
    aim: float
    def __init__(self, seed: int, explore: float, floor: float) -> None: ...
