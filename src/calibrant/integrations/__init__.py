"""calibrant inside other libraries, each of which is imported only when its module is.

`river` wraps a classifier of river that learns row by row; it is the shorter one to read. `sklearn`
wraps one of scikit-learn, fitted or followed batch by batch, and draws its reliability diagram.
Both have a `Recalibrator` of two classes and a `MulticlassRecalibrator` of more.
`spark` keeps a `Fleet` in the state of a streaming query.
Nothing is exported here: import what you use from `calibrant.integrations.river`, `.sklearn` or
`.spark`, which need the extras of their names.
"""

from typing import Any

from calibrant._checks import check_weight

#: By how much rounding may carry a model's probability out of [0, 1]; many compute with 32 bits.
ROUNDING = 1e-6


def weight_in(kwargs: dict[str, Any]) -> float | None:
    """Return the weight among the arguments of `learn_one`, which river calls w; None without."""
    return check_weight(kwargs["w"]) if "w" in kwargs else None
