"""A model's scores in, calibrated probabilities out, whatever becomes of the model or the world.

`recalibrator` is the place to begin: `Recalibrator` is a rule for scores, whose numbers are made in
the compiled kernels `recalibrate`, `sharp` and `safe`, and a book of the rounds that wait
(`calibrant.rounds`). `groups` gives each named group a recalibrator of its own, and the kernel
`pending` says what silence means until a deadline. Then `multiclass` does the same for rows of
scores, with the kernels `class_mixture` and `class_rule`.
`numbers` turns forecasts of numbers into a `distribution`.
`saving` turns all of it into arrays and back. `rows` and `frames` recalibrate whole tables,
`calling` any function that scores, and `rivals` holds what others do.
`calibrant.testing.check_recalibrator` is the contract that all of them keep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant._lazy import names_from

if TYPE_CHECKING:
    from calibrant.recalibrate.calling import calibrated as calibrated
    from calibrant.recalibrate.distribution import Distribution as Distribution
    from calibrant.recalibrate.frames import recalibrate_frame as recalibrate_frame
    from calibrant.recalibrate.multiclass import MulticlassRecalibrator as MulticlassRecalibrator
    from calibrant.recalibrate.numbers import NumberRecalibrator as NumberRecalibrator
    from calibrant.recalibrate.recalibrator import Recalibrator as Recalibrator

HOMES = {
    "calling": "calibrated",
    "distribution": "Distribution",
    "frames": "recalibrate_frame",
    "multiclass": "MulticlassRecalibrator",
    "numbers": "NumberRecalibrator",
    "recalibrator": "Recalibrator",
}
__all__, __getattr__, __dir__ = names_from(__name__, HOMES)
