"""A model's scores in, calibrated probabilities out, however the model or the world changes.

Start with `recalibrator`: `Recalibrator` combines a rule for scores, computed in the compiled
kernels `recalibrate`, `sharp` and `safe`, with a book of pending rounds (`calibrant.rounds`).
`groups` recalibrates named groups, and the kernel `pending` estimates what silence means until a
deadline. Then `multiclass` does the same for rows of scores, with the kernels `class_mixture` and
`class_rule`. `numbers` turns forecasts of numbers into a `distribution`.
`saving` converts all of it to arrays and back. `rows` and `frames` recalibrate whole tables,
`wrapper` any scoring function, and `rivals` holds other methods.
`calibrant.testing.check_recalibrator` is the contract that all of them satisfy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant._lazy import names_from

if TYPE_CHECKING:
    from calibrant.recalibrate.distribution import Distribution as Distribution
    from calibrant.recalibrate.frames import recalibrate_frame as recalibrate_frame
    from calibrant.recalibrate.multiclass import MulticlassRecalibrator as MulticlassRecalibrator
    from calibrant.recalibrate.numbers import NumberRecalibrator as NumberRecalibrator
    from calibrant.recalibrate.recalibrator import Recalibrator as Recalibrator
    from calibrant.recalibrate.wrapper import calibrated as calibrated

HOMES = {
    "wrapper": "calibrated",
    "distribution": "Distribution",
    "frames": "recalibrate_frame",
    "multiclass": "MulticlassRecalibrator",
    "numbers": "NumberRecalibrator",
    "recalibrator": "Recalibrator",
}
__all__, __getattr__, __dir__ = names_from(__name__, HOMES)
