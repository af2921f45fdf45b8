"""Rules that compare a probability with one threshold: fixed by costs, or moved by the rows.

- Costs: act if p >= t, a formula of what each mistake costs.
- Precision: theta starts at the log odds of the floor. An act moves it by step (floor - p), and the
  outcome later by step (p - y). Together that is step (floor - y), so that at any moment

      (theta - start) / step = sum of (floor - y) where the outcome is known
                             + sum of (floor - p) where it is not:

  once all outcomes are known, precision is at least the floor exactly if theta <= start.
- Recall: theta starts low, so that nearly all is acted on. Each row moves it by
  step p (caught - aim), where a calibrated p says how many events are at stake, and the outcomes of
  rows acted on correct that by a tenth of (y - p) over the chance of acting. Apart from that,
  (theta - start) / step is how many more events were caught than aimed at. So a start that is too
  high costs (start - theta) / step events, which are many where events are rare: below the start,
  a row moves theta RARE times as far.
"""

from libc.math cimport isnan

from calibrant._kernels.decide.decision_rule cimport (
    NO, YES, Decision, DecisionRule, Wish, log_odds,
)
from calibrant._kernels.saved import number

cdef double PRECISION_STEP = 0.007
cdef double RECALL_STEP = 0.03
cdef double RECALL_START = -5.0
cdef double RARE = 10.0
cdef double AUDIT = 0.1          # the weight of outcomes beside that of the probabilities
cdef double SLACK = 0.005        # recall is aimed so much above its floor


cdef class CostRule(DecisionRule):
    """Act where it is cheaper."""

    cdef readonly double threshold

    def __init__(self, seed, double explore, double threshold):
        super().__init__(seed, explore)
        self.threshold = threshold

    cdef Wish choose(self, double p, double beside) noexcept nogil:
        return YES if p >= (self.threshold if isnan(beside) else beside) else NO


cdef class MovingRule(DecisionRule):
    """A threshold of the log odds that moves."""

    cdef readonly double theta, start, gain

    cdef Wish choose(self, double p, double beside) noexcept nogil:
        return YES if log_odds(p) >= self.theta else NO

    cdef double reach(self):
        """Return how far a round can move the threshold."""
        return self.gain

    def get_own(self):
        """Return the threshold."""
        return {"theta": self.theta}

    def set_own(self, state):
        """Take over a threshold that so many rounds can reach."""
        far = 2.0 * self.reach() * self._rounds + 1e-6
        self.theta = number(state, "theta", low=self.start - far, high=self.start + far)


cdef class PrecisionRule(MovingRule):
    """Act as often as a floor of the precision allows."""

    cdef readonly double floor

    def __init__(self, seed, double explore, double floor):
        super().__init__(seed, explore)
        self.floor, self.gain = floor, PRECISION_STEP
        self.theta = self.start = log_odds(floor)

    cdef void commit(self, double p, bint chosen, bint acts) noexcept nogil:
        if acts:
            self.theta += self.gain * (self.floor - p)

    cdef void correct(self, const Decision *made, double y) noexcept nogil:
        if made.acts:
            self.theta += self.gain * (made.p - y)


cdef class RecallRule(MovingRule):
    """Act as seldom as a floor of the recall allows."""

    cdef readonly double aim

    def __init__(self, seed, double explore, double floor):
        super().__init__(seed, explore)
        self.aim = min(floor + SLACK, 0.5 * (1.0 + floor))
        self.gain, self.theta, self.start = RECALL_STEP, RECALL_START, RECALL_START

    cdef void commit(self, double p, bint chosen, bint acts) noexcept nogil:
        cdef double gain = self.gain if self.theta >= self.start else RARE * self.gain
        self.theta += gain * p * ((1.0 if chosen else 0.0) - self.aim)

    cdef void correct(self, const Decision *made, double y) noexcept nogil:
        if not made.acts:
            return
        if made.propensity == 1.0:
            self.theta += AUDIT * self.gain * (1.0 - self.aim) * (y - made.p)
        else:
            self.theta -= AUDIT * self.gain * self.aim / made.propensity * (y - made.p)

    cdef double reach(self):
        return self.gain * (RARE + AUDIT / (self.explore if self.explore > 0.0 else 1.0))
