"""Act or not: decisions from probabilities, within costs, a budget, or a floor.

`decider.py` has the one class, `costs.py` the formulas that need no state, `lower_bound.py` what
can be said, at any time, of the precision of what was acted on, and `review.py` what decisions did
beside a plain threshold. The rules themselves are compiled, in `_kernels/decide`.
"""

from calibrant.decide.costs import critical_quantile as critical_quantile
from calibrant.decide.costs import threshold_of_costs as threshold_of_costs
from calibrant.decide.decider import Decider as Decider
from calibrant.decide.decider import UnlabelledWarning as UnlabelledWarning
from calibrant.decide.lower_bound import precision_bound as precision_bound
from calibrant.decide.review import Reviewed as Reviewed
from calibrant.decide.review import review as review
