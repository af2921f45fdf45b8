"""Measures of calibration: exact errors, other common measures, and a streaming scorecard.

Every function takes predictions and outcomes in [0, 1], one of each per round, as any
one-dimensional array, list or series; outcomes may be fractional. The errors that the theory of
online calibration bounds are *sums* over rounds, not normalised: divide by T for a rate. Measures
that are usually reported as *means* are means here too. With n rounds that predicted p, and mean
outcome rho:

==================== ==== ======== ==========================================================
name                 is a range    in short
==================== ==== ======== ==========================================================
cal1                 sum  [0, T]   n |rho - p| over distinct predictions
cal2                 sum  [0, T]   n (rho - p)^2 over distinct predictions
klcal                sum  [0, inf] n KL(rho, p) over distinct predictions
pcal2, pklcal        sum  as above with the probabilities P_t(p) in place of counts
smooth_calibration   sum  [0, T]   worst 1-Lipschitz test into [-1, 1]
lower_distance       sum  [0, T]   least move to calibrated predictions (needs SciPy)
step_calibration     sum  [0, T]   worst threshold
cutoff_calibration   sum  [0, T]   worst interval
u_calibration        sum  [0, 2 T] worst regret under a V-shaped loss with values in [-1, 1]
decision_loss        sum  [0, T]   worst swap regret of a decision with payoffs in [0, 1]
ece                  mean [0, 1]   binned |mean outcome - mean prediction|
debiased_ece2        mean [-1, 1]  the square of the binned l2 error, without its bias
smece                mean [0, 1]   the same with a kernel, at the bandwidth that equals it
two_bin_calibration  mean [0, 1]   squared error of two bins, averaged over their border
brier                mean [0, 1]   (p - y)^2
log_loss             mean [0, inf] -y log p - (1 - y) log(1 - p)
murphy, murphy_log   mean          reliability - resolution + uncertainty of the last two
==================== ==== ======== ==========================================================

`subsampled_smooth_calibration` and `subsampled_step_calibration` are the averages of those measures
over random halves of the rounds.

Read `distinct.py` first: the sums of rounds by distinct prediction, from which every exact measure
is computed. `exact.py` has the five errors that the theory bounds, and `scorecard.py` computes the
same numbers while rounds are added; each of the other files has one family.

For several classes, predictions are rows that sum to one, and outcomes are labels:
`confidence_ece`, `top_label_ece`, `classwise_ece`, `multiclass_brier` and `multiclass_log_loss`,
all of them means; `class_summary` has them all, compared with what chance explains.

Without rounds, a sum is 0.0, and a mean raises ValueError. The following hold for every input, and
are tested: ``cal1 <= sqrt(T * cal2)``, ``2 * cal2 <= klcal``, ``2 * pcal2 <= pklcal``,
``cal2 <= decision_loss <= 2 * cal1``, ``u_calibration <= 2 * decision_loss``,
``smooth_calibration <= cal1``, ``smooth_calibration / 2 <= lower_distance <= 2 *
smooth_calibration``, ``step_calibration <= cutoff_calibration <= 2 * step_calibration``. The
first five measures are subadditive over any split of time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from calibrant._lazy import names_from

if TYPE_CHECKING:
    from calibrant.measures.binned import ReliabilityTable as ReliabilityTable
    from calibrant.measures.binned import debiased_ece2 as debiased_ece2
    from calibrant.measures.binned import ece as ece
    from calibrant.measures.chance import Change as Change
    from calibrant.measures.cumulative import cutoff_calibration as cutoff_calibration
    from calibrant.measures.cumulative import step_calibration as step_calibration
    from calibrant.measures.cumulative import u_calibration as u_calibration
    from calibrant.measures.decisions import decision_loss as decision_loss
    from calibrant.measures.delays import DelayCheck as DelayCheck
    from calibrant.measures.distance import lower_distance as lower_distance
    from calibrant.measures.distinct import DistinctTable as DistinctTable
    from calibrant.measures.distributions import Distributions as Distributions
    from calibrant.measures.exact import cal1 as cal1
    from calibrant.measures.exact import cal2 as cal2
    from calibrant.measures.exact import klcal as klcal
    from calibrant.measures.exact import pcal2 as pcal2
    from calibrant.measures.exact import pklcal as pklcal
    from calibrant.measures.losses import Decomposition as Decomposition
    from calibrant.measures.losses import brier as brier
    from calibrant.measures.losses import log_loss as log_loss
    from calibrant.measures.losses import murphy as murphy
    from calibrant.measures.losses import murphy_log as murphy_log
    from calibrant.measures.multiclass import ClassSummary as ClassSummary
    from calibrant.measures.multiclass import class_summary as class_summary
    from calibrant.measures.multiclass import classwise_ece as classwise_ece
    from calibrant.measures.multiclass import confidence_ece as confidence_ece
    from calibrant.measures.multiclass import multiclass_brier as multiclass_brier
    from calibrant.measures.multiclass import multiclass_log_loss as multiclass_log_loss
    from calibrant.measures.multiclass import top_label_ece as top_label_ece
    from calibrant.measures.number_scorecard import NumberScorecard as NumberScorecard
    from calibrant.measures.scorecard import Scorecard as Scorecard
    from calibrant.measures.scorecard import Stretches as Stretches
    from calibrant.measures.scorecard import WindowMeasures as WindowMeasures
    from calibrant.measures.smooth import smooth_calibration as smooth_calibration
    from calibrant.measures.smooth_ece import smece as smece
    from calibrant.measures.truthful import (
        subsampled_smooth_calibration as subsampled_smooth_calibration,
    )
    from calibrant.measures.truthful import (
        subsampled_step_calibration as subsampled_step_calibration,
    )
    from calibrant.measures.truthful import two_bin_calibration as two_bin_calibration

HOMES = {
    "binned": "ReliabilityTable debiased_ece2 ece",
    "chance": "Change",
    "cumulative": "cutoff_calibration step_calibration u_calibration",
    "decisions": "decision_loss",
    "delays": "DelayCheck",
    "distinct": "DistinctTable",
    "distance": "lower_distance",
    "distributions": "Distributions",
    "exact": "cal1 cal2 klcal pcal2 pklcal",
    "losses": "Decomposition brier log_loss murphy murphy_log",
    "multiclass": "ClassSummary class_summary classwise_ece confidence_ece multiclass_brier "
    "multiclass_log_loss top_label_ece",
    "number_scorecard": "NumberScorecard",
    "scorecard": "Scorecard Stretches WindowMeasures",
    "smooth": "smooth_calibration",
    "smooth_ece": "smece",
    "truthful": "subsampled_smooth_calibration subsampled_step_calibration two_bin_calibration",
}
__all__, __getattr__, __dir__ = names_from(__name__, HOMES)
