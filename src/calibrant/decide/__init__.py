"""Act or not: decisions from probabilities, within costs, a budget, or a floor.

`decider.py` has the one class, `costs.py` the formulas that need no state, `lower_bound.py` what
is known, at any time, of the precision of what was acted on, and `review.py` what decisions did
beside a plain threshold. The rules themselves are compiled, in `_kernels/decide`.
"""

from calibrant.decide.costs import critical_quantile, threshold_of_costs
from calibrant.decide.decider import Decider, UnlabelledWarning
from calibrant.decide.lower_bound import precision_bound
from calibrant.decide.review import Reviewed, review

__all__ = [
    "Decider",
    "Reviewed",
    "UnlabelledWarning",
    "critical_quantile",
    "precision_bound",
    "review",
    "threshold_of_costs",
]
