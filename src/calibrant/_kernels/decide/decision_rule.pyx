"""The base of all decision rules: the draw of exploration, rounds, and the count of hits.

A rule decides on a row (`choose`), is given the final decision (`commit`), and may learn from
the outcome later (`correct`). Exploration turns a no into an act with a fixed chance, drawn from the
seed and the number of the decision alone.
"""

from libc.math cimport NAN
from libc.stdint cimport int64_t, uint64_t

import numpy as np

from calibrant._checks import as_unit_series
from calibrant._kernels.draws cimport scramble, uniform
from calibrant._kernels.functions cimport log
from calibrant._kernels.rounds.round cimport Round
from calibrant._kernels.rounds.rule cimport Rule
from calibrant._kernels.saved import floats, integer, number

# Probabilities of 0 and 1 have no log odds: they keep this far from both.
cdef double LEAST = 1e-4


cdef double log_odds(double p) noexcept nogil:
    p = LEAST if p < LEAST else 1.0 - LEAST if p > 1.0 - LEAST else p
    return log(p / (1.0 - p))


cdef inline Py_ssize_t region_of(double p) noexcept nogil:
    return min(<Py_ssize_t>(REGIONS * p), REGIONS - 1)


cdef class DecisionRound(Round):
    """A decision that waits for its outcome: the prediction is 1 if it acted."""

    cdef double as_raw(self):
        return self.made.p

    cdef double as_prediction(self):
        return 1.0 if self.made.acts else 0.0

    cdef double as_expected(self):
        return self.made.propensity


cdef class DecisionRule(Rule):
    """The rounds of one decider. A row is a probability, or one with a number beside it.

    That is the time of the row for a budget in time, and the row's own threshold for costs.
    """

    def __init__(self, seed, double explore):
        self.seed, self.explore, self.key = seed, explore, scramble(seed)
        self.is_compiled = True

    # -- what each rule says for itself ---------------------------------------------------------

    cdef Wish choose(self, double p, double beside) noexcept nogil:
        """Return whether to act on a row."""
        return NO

    cdef void commit(self, double p, bint chosen, bint acts) noexcept nogil:
        """Take note of what became of the row: explored rows are acted on and were not chosen."""

    cdef void correct(self, const Decision *made, double y) noexcept nogil:
        """Learn the outcome of a decision."""

    def get_own(self):
        """Return what the rule keeps besides the counts, as numbers and arrays by name."""
        return {}

    def set_own(self, state):
        """Take over what `get_own` returned, or raise ValueError."""

    # -- decisions ------------------------------------------------------------------------------

    cdef Decision decide(self, double p, double beside) noexcept nogil:
        cdef Decision made
        cdef Wish wish = self.choose(p, beside)
        made.p, made.acts = p, wish == YES
        made.propensity = 1.0 if wish == YES else self.explore if wish == NO else 0.0
        if wish == NO and uniform(self.key, <uint64_t>self._rounds) < self.explore:
            made.acts = True
            self.explored += 1
        self._rounds += 1
        self.acted += made.acts
        self.unlabelled[region_of(p)] += 1
        self.commit(p, wish == YES, made.acts)
        return made

    def decide_many(self, const double[::1] p, const double[::1] beside, unsigned char[::1] acts,
                    double[::1] propensity):
        """Decide rows that were checked, one after the other; nothing waits for their outcomes."""
        cdef Py_ssize_t i
        cdef Decision made
        with nogil:
            for i in range(p.shape[0]):
                made = self.decide(p[i], NAN if beside is None else beside[i])
                acts[i], propensity[i] = made.acts, made.propensity

    @property
    def rounds(self):
        """Decisions made so far."""
        return self._rounds

    @property
    def learned(self):
        """Outcomes learned so far."""
        return self._learned

    cdef int64_t begun(self) except -1:
        return self._rounds

    def check_times(self, times):
        """Refuse times that this rule cannot use."""

    cpdef object check(self, rows, by):
        """Return rows as numbers of their own: probabilities, or these and what is beside."""
        rows = np.array(rows, dtype=np.float64)
        as_unit_series(rows if rows.ndim == 1 else rows[:, 0], "probabilities")
        if rows.ndim == 2:
            self.check_times(rows[:, 1])
        return rows

    cpdef object check_one(self, row, by):
        """Refuse a row that cannot be decided."""
        self.check([row], None)

    cpdef Round begin(self, row, by):
        """Decide one row that was checked."""
        cdef DecisionRound r = DecisionRound.__new__(DecisionRound)
        cdef double p, beside = NAN
        if type(row) is float:
            p = row
        else:
            p, beside = row
        r.number = self._rounds
        r.made = self.decide(p, beside)
        return r

    cpdef list begin_many(self, rows, by):
        """Decide rows that were checked, one after the other."""
        return [self.begin(row, None) for row in rows.tolist()]

    # -- outcomes -------------------------------------------------------------------------------

    cpdef object learn(self, list rounds, outcomes):
        """Learn outcomes that count together."""
        cdef const double[::1] y = outcomes
        cdef Py_ssize_t i
        for i in range(len(rounds)):
            self.learn_one(rounds[i], y[i])

    cpdef object learn_one(self, Round r, double outcome):
        """Learn one outcome."""
        cdef Decision *made = &(<DecisionRound>r).made
        self._learned += 1
        self.unlabelled[region_of(made.p)] = 0
        if made.acts:
            self.judged += 1
            self.hits += outcome
            self.spread += (outcome - made.p) * (outcome - made.p)
        self.correct(made, outcome)

    cpdef object answer(self, Round r):
        """Return whether it acts."""
        return bool((<DecisionRound>r).made.acts)

    cpdef object answers(self, list rounds):
        """Return of each whether it acts."""
        return np.array([(<DecisionRound>r).made.acts != 0 for r in rounds], dtype=np.bool_)

    def propensities(self, list rounds not None):
        """Return of each the chance of acting, before it was drawn."""
        return np.array([(<DecisionRound>r).made.propensity for r in rounds], dtype=np.float64)

    def since_labelled(self):
        """Return, for equal ranges of the probability, how many rows came since the last outcome."""
        return [self.unlabelled[i] for i in range(REGIONS)]

    # -- saving ---------------------------------------------------------------------------------

    def get_state(self):
        """Return all that was learned, as numbers and arrays by name."""
        return {
            "learned": self._learned, "acted": self.acted, "explored": self.explored,
            "judged": self.judged, "hits": self.hits, "spread": self.spread,
            "unlabelled": np.array(self.since_labelled(), dtype=np.float64),
        } | self.get_own()

    def set_state(self, state, rounds):
        """Take over a state that so many decisions can leave behind, or raise ValueError."""
        learned = integer(state, "learned", low=0, high=rounds)
        acted = integer(state, "acted", low=0, high=rounds)
        explored = integer(state, "explored", low=0, high=acted)
        judged = integer(state, "judged", low=0, high=min(acted, learned))
        hits = number(state, "hits", low=0.0, high=judged)
        spread = number(state, "spread", low=0.0, high=judged)
        since = floats(state, "unlabelled", size=REGIONS, low=0.0, high=rounds)
        if (since != np.floor(since)).any():
            raise ValueError("saved unlabelled must be whole numbers")
        self._rounds = rounds  # what is the rule's own may ask for it
        self.set_own(state)
        self._learned, self.acted, self.explored = learned, acted, explored
        self.judged, self.hits, self.spread = judged, hits, spread
        for i in range(REGIONS):
            self.unlabelled[i] = <int64_t>since[i]

    def take_over(self, DecisionRule other not None):
        """Take over all that another rule of the same arguments has learned."""
        self.set_state(other.get_state(), other._rounds)


def save_decisions(list rounds not None):
    """Return what a rule keeps of rounds that wait, as arrays by name."""
    return {
        "waiting_p": np.array([(<DecisionRound>r).made.p for r in rounds], dtype=np.float64),
        "waiting_propensity": np.array(
            [(<DecisionRound>r).made.propensity for r in rounds], dtype=np.float64
        ),
        "waiting_acts": np.array([(<DecisionRound>r).made.acts for r in rounds], dtype=np.int64),
    }


def load_decisions(state, numbers, double explore):
    """Return the rounds that `save_decisions` saved, with their numbers, or raise ValueError."""
    p = floats(state, "waiting_p", size=len(numbers), low=0.0, high=1.0)
    propensity = floats(state, "waiting_propensity", size=len(numbers), low=0.0, high=1.0)
    acts = state["waiting_acts"]
    if not isinstance(acts, np.ndarray) or acts.dtype != np.int64 or acts.shape != p.shape:
        raise ValueError(f"saved waiting_acts must be {len(numbers)} integers")
    known = (propensity == 0.0) | (propensity == 1.0) | (propensity == explore)
    certain = (propensity == 0.0) | (propensity == 1.0)
    if not known.all() or ((acts != 0) & (acts != 1)).any() or (acts != propensity)[certain].any():
        raise ValueError("saved waiting_acts must be 0 or 1, and possible at waiting_propensity")
    cdef DecisionRound r
    rounds = []
    for i in range(len(numbers)):
        r = DecisionRound.__new__(DecisionRound)
        r.number = r.batch = numbers[i]
        r.made.p, r.made.propensity, r.made.acts = p[i], propensity[i], acts[i]
        rounds.append(r)
    return rounds
