"""The book: which rounds are pending, until when, and what happens to an outcome.

The contract, in short. A round is identified by its id within one book. The clock of a book never runs
backwards. A step with a time settles the deadlines before that time; `advance` and a count of
predictions settle those up to it. With silence, a round without an outcome at its deadline has the
silent outcome; outcomes that arrive before are recorded at once and learned at the deadline. With hold,
every outcome is learned at the deadline, or on arrival if that is later. All rounds settled by one step
are learned together, in an order that does not depend on how the rows of a call were sorted. See
docs/rounds.md for the details; tests/naive/rounds.py is a slow and obvious reference.
"""

from collections import Counter, OrderedDict

from libc.math cimport NAN, isfinite, isnan
from libc.stdint cimport int64_t

import numpy as np

from calibrant._checks import check_id
from calibrant._kernels.locks import Order, forkable_lock
from calibrant._kernels.rounds.agenda cimport Agenda, Event
from calibrant._kernels.rounds.round cimport Round, Story, learning_order, weight_of
from calibrant._kernels.rounds.rule cimport Rule
from calibrant._kernels.rounds.settled import RoundError, Settled, Steps
from calibrant._kernels.saved import MOST_WEIGHT

#: In the order of the numbers that a book answers with.
ANSWERS = np.array(
    ["applied", "repeated", "conflict", "unknown", "expired", "predicted", "used"]
)

cdef enum:
    PORTION = 4096  # settled rounds of a table that a watcher sees at once

cdef double HEAVIEST = MOST_WEIGHT
cdef object HUGE = 2**60  # integers below it need no closer look
cdef object ZERO = 0.0
cdef object ONE = 1.0


cdef object checked(object id_):
    """Return an id that can be saved, or raise ValueError."""
    if type(id_) is str or type(id_) is int and -HUGE < id_ < HUGE:
        return id_
    return check_id(id_)


def checked_ids(list ids not None):
    """Return a list of ids, each made one that can be saved, or name the first that cannot."""
    cdef Py_ssize_t i
    for i in range(len(ids)):
        if type(ids[i]) is not str:
            try:
                ids[i] = checked(ids[i])
            except ValueError as error:
                raise ValueError(f"{error} at position {i}") from None
    return ids


cdef object as_array(list numbers):
    """Return an array of numbers; NumPy looks at signals while it reads a list."""
    found = np.empty(len(numbers))
    cdef double[::1] to = found
    cdef Py_ssize_t i
    for i in range(len(numbers)):
        to[i] = numbers[i]
    return found


cdef tuple in_order(rows, list rounds):
    """Return rows and their rounds in the order in which these were predicted.

    Also whether each round comes once.
    """
    numbers = np.empty(len(rounds), dtype=np.int64)
    cdef int64_t[::1] number = numbers
    cdef Py_ssize_t i
    cdef bint is_rising = True, is_once = True
    for i in range(len(rounds)):
        number[i] = (<Round>rounds[i]).number
        is_rising = is_rising and (i == 0 or number[i - 1] < number[i])
    if is_rising:
        return rows, rounds, True
    order = numbers.argsort(kind="stable")  # a method, in which no signal is looked at
    number = numbers = numbers[order]
    for i in range(1, len(rounds)):
        is_once = is_once and number[i - 1] < number[i]
    return rows[order], [rounds[i] for i in order.tolist()], is_once


cdef list once_each(
    list rounds, const Py_ssize_t[::1] row, const double[::1] outcomes, unsigned char[::1] answer,
):
    """Return which of the rows are to be applied, where the rows of a round stand together.

    If they agree, the first is applied and the others repeat it.
    """
    cdef list once = []
    cdef Py_ssize_t i, start = 0, stop = 0
    cdef bint agree
    while start < len(rounds):
        agree = True
        while stop < len(rounds) and rounds[stop] is rounds[start]:
            agree = agree and outcomes[row[stop]] == outcomes[row[start]]
            stop += 1
        for i in range(start, stop):
            answer[row[i]] = REPEATED if agree else CONFLICT
        if agree:
            answer[row[start]] = APPLIED
            once.append(start)
        start = stop
    return once


cdef int show_one(Book book, Round r, double outcome) except -1:
    """Let the watcher see one step: as numbers if it takes them, for arrays of one cost much more."""
    watch_one = getattr(book.watcher, "watch_one", None)
    if watch_one is None:
        book.watcher.watch(Steps(book.rule, [r], np.array([outcome])))
        return 0
    cdef object told = outcome, event = book.rule.events([r], told)
    if event is not told:  # of several classes, whether the named one was observed
        told = float(event[0])
    watch_one(r.number, r.as_raw(), r.as_expected(), told, book.rule.group_of(r))
    return 0


cdef class Book:
    """The pending rounds of one rule, and the last finished ids.

    `known` has the pending rounds by id, and in the same place the outcome, a float, once it is
    learned: an id takes one lookup, and an outcome that arrives twice is counted once. Rounds are
    in the order of their predictions. `gone` has the last ids that expired. At most
    `capacity` ids are pending; beyond that, the oldest expires, or the new one is refused if
    `refuse`. Rounds of a table without ids are pending under themselves.

    One key of `known` is not an id. A dict with only string keys does not store their hashes, and reads
    them from the strings, all over the memory; this takes a third longer.

    A step with an id takes several calls; the lock prevents those of two threads from interleaving.
    """

    def __cinit__(self, *args, **kwargs):
        # Without a call of `__init__`, there is an error instead of a crash.
        self.rule = Rule.__new__(Rule)
        self.clear()

    def __init__(self, Rule rule not None, policy):
        self.rule, self.policy = rule, policy
        self.capacity, self.refuse = policy.capacity, policy.when_full == "refuse"
        self.remember = policy.capacity if policy.remember is None else policy.remember
        self.has_deadlines = policy.has_deadlines
        self.span = NAN if policy.span is None else policy.span.length
        self.silence = NAN if policy.silence is None else policy.silence
        self.patience = NAN if policy.patience is None else policy.patience
        self.lock = forkable_lock(Order.BOOK)
        self.acquire, self.release = self.lock.acquire, self.lock.release
        self.now, self.weighings = -np.inf, -1.0
        self.late = Counter()

    def take_over(self, Book other not None):
        """Take the contents of another book with the same policy; keep the lock."""
        self.known, self.named, self.nameless = other.known, other.named, other.nameless
        self.gone, self.oldest, self.ring, self.turn = other.gone, other.oldest, other.ring, other.turn
        self.unnamed, self.expired, self.now = other.unnamed, other.expired, other.now
        self.is_timed, self.deadlines, self.arrivals = other.is_timed, other.deadlines, other.arrivals
        self.weighed, self.weighings = other.weighed, other.weighings
        self.is_grouped = other.is_grouped

    def clear(self):
        """Forget all ids and all pending rounds, without notifying the rule."""
        self.known, self.named, self.nameless = {None: ZERO}, 0, 0
        self.gone = OrderedDict()
        self.oldest, self.ring, self.turn = [], [], 0
        self.deadlines, self.arrivals = Agenda.__new__(Agenda), Agenda.__new__(Agenda)

    def __len__(self):
        return self.named + self.nameless + (self.unnamed is not None)

    # -- reading --------------------------------------------------------------------------------

    def waiting(self):
        """Return the keys and rounds that are pending, in the order of their predictions.

        The key of a round without an id is the round itself.
        """
        found = [(key, each) for key, each in self.known.items() if type(each) is not float]
        return sorted(found, key=number_of) if self.nameless else found

    @property
    def ids(self):
        """The pending ids, in the order of their predictions."""
        return [key for key, _ in self.waiting() if not isinstance(key, Round)]

    @property
    def finished(self):
        """The last outcomes that were learned, by id, the oldest first."""
        ring = self.ring[self.turn :] + self.ring[: self.turn]
        return {name: self.known[name] for name in ring}

    def round_of(self, name):
        """Return the pending round of an id, None if there is none."""
        found = self.known.get(name)
        return None if type(found) is float else found

    def next_due(self):
        """Return the first deadline of a pending round; infinity if there is none."""
        cdef Event first
        while self.deadlines.count:
            first = self.deadlines.events[0]
            found = self.known.get(<object>first.key)
            if isinstance(found, Round) and (<Round>found).number == first.number:
                return first.when
            self.deadlines.pop(&first)
        return np.inf

    cdef bint is_held(self, object by) noexcept:
        """Whether Ctrl-C has to be deferred until a step is over, because Python code may run in it."""
        self.is_grouped = self.is_grouped or by is not None
        return (
            self.is_grouped or self.watcher is not None or self.has_deadlines
            or self.arrivals.count > 0 or not self.rule.is_compiled
        )

    # -- opening --------------------------------------------------------------------------------

    cdef int check_new(self, object name) except -1:
        """Refuse an id that is taken."""
        found = self.known.get(name)
        if found is not None:
            end = "has its outcome" if type(found) is float else "is still pending"
            raise ValueError(f"id {name!r} was predicted already and {end}")
        return 0

    cpdef int check_room(self, Py_ssize_t more, double now) except -1:
        """Refuse more rounds than may be pending after time has advanced to `now`, which may be NaN."""
        cdef Py_ssize_t ready
        if self.named + more <= self.capacity:
            return 0
        ready = self.ready_by(now)
        if self.named - ready + more > self.capacity:
            raise ValueError(
                f"{self.named - ready:,} predictions are pending, and {more:,} more are "
                f"more than capacity={self.capacity} allows; expire(older_than=...) drops old ones, "
                "and when_full='expire' does so automatically"
            )
        return 0

    cdef Py_ssize_t ready_by(self, double now) except -1:
        """Return how many rounds with ids will be finished by the deadlines before `now`."""
        cdef Py_ssize_t i, ready = 0
        cdef Event *event
        cdef Round r
        for i in range(self.deadlines.count):
            event = &self.deadlines.events[i]
            found = self.known.get(<object>event.key)
            if event.when < now and isinstance(found, Round) and not isinstance(<object>event.key, Round):
                r = found
                ready += r.number == event.number and not (
                    isnan(self.silence) and isnan(r.story.outcome)
                )
        return ready

    cdef bint is_forgotten_by(self, object name, double now) except -1:
        """Return whether others take the place of a finished id before `now`."""
        cdef Py_ssize_t i, size = len(self.ring)
        cdef Py_ssize_t lost = self.ready_by(now) - (self.remember - size)
        for i in range(min(lost, size)):
            if self.ring[(self.turn + i) % size] == name:
                return True
        return False

    def check_new_ids(self, list names not None):
        """Refuse ids of new rounds that are taken, or that come twice; name the first."""
        cdef Py_ssize_t i
        cdef dict first = {}
        if self.known.keys().isdisjoint(names) and len(set(names)) == len(names):
            return
        for i, name in enumerate(names):
            if name in first:
                raise ValueError(f"id {name!r} comes at positions {first[name]} and {i}")
            first[name] = i
            try:
                self.check_new(name)
            except ValueError as error:
                raise ValueError(f"{error} (position {i})") from None

    cdef int claim(self, list names, list rounds) except -1:
        """Let new rounds have these ids, or refuse ids that are taken or come twice.

        No deadline is theirs yet: not that of an expired round 0 with the same id either.
        """
        cdef Py_ssize_t i, count = 0, size = len(names)
        for i in range(size):
            (<Round>rounds[i]).number = -1
            if self.known.setdefault(names[i], rounds[i]) is not rounds[i]:
                break
            count += 1
        if count < size:
            for i in range(count):
                del self.known[names[i]]
            self.check_new_ids(names)  # says which is taken
        return 0

    cdef int keep(self, object name, Round r) except -1:
        """Make a round pending under an id; the oldest may expire."""
        if self.gone:
            self.gone.pop(name, None)  # an expired id may be used again
        if self.named >= self.capacity:
            self.give_up(self.oldest_name())
        self.known[name] = r
        self.named += 1
        return 0

    cdef int hold(self, object key, Round r, double due) except -1:
        """Make a round that is kept pending until its deadline."""
        if not self.is_timed and r.number > self.now:
            self.now = <double>r.number
        cdef Story *story = r.told()
        story.due, story.is_held = due, True
        self.deadlines.push(due, r.number, NAN, key)
        if not isnan(self.silence):
            self.rule.wait(r, self.now)
        return 0

    cdef int after_opening(self) except -1:
        """Settle what is due by the count of predictions, and fit what silence says."""
        if not self.is_timed:
            self.pass_to(<double>self.rule.begun(), False)
        if not isnan(self.silence):
            self.rule.refit(self.now)
        return 0

    cdef Round open_one(self, object row, object name, object by, double made, double due):
        """Predict one row, which is pending from now on; `made` is NaN if its time is unknown.

        Everything has been checked, except for a row for which nothing can happen as time advances.
        """
        cdef Round r
        cdef int64_t first
        if (self.has_deadlines or self.arrivals.count) and not isnan(made):
            self.pass_to(made, True)
        if name is None and self.unnamed is not None:
            self.rule.check_one(row, by)
            self.forget_unnamed()
        first = self.rule.begun()
        r = self.rule.begin(row, by)
        r.number = r.batch = first
        if not isnan(made):
            r.is_shared = True
            r.told().at = made
            if made > self.now:
                self.now = made
        if self.want_smooth:
            self.rule.fill_smooth([r])
        if name is None:
            self.unnamed = r
            return r
        self.keep(name, r)
        if self.rule.is_watched or self.watcher is not None:
            self.show_opened([r])
        if self.has_deadlines:
            self.hold(name, r, due)
            self.after_opening()
        return r

    def open(self, rows, list names, by, made, dues):
        """Predict rows that come together; return their rounds.

        With names they wait by id. `made` says when each is predicted, and never falls; `dues` when
        each outcome counts. All of it has been checked, but for the ids.
        """
        cdef Py_ssize_t i, size
        cdef list rounds
        cdef Round r
        cdef int64_t first
        cdef const double[::1] at, due
        cdef bint is_claimed
        size = len(rows)
        rounds = None if by is not None or names is None else self.rule.blanks(size)
        is_claimed = rounds is not None
        if is_claimed:
            self.claim(names, rounds)
        elif names is not None:
            self.check_new_ids(names)
        if self.has_deadlines and size:
            self.is_timed = made is not None
        try:
            if made is not None and size:
                self.pass_to(made[0], True)
            first = self.rule.begun()
            if is_claimed:
                self.rule.fill(rounds, rows)
            else:
                rounds = self.rule.begin_many(rows, by)
        except BaseException:
            if is_claimed:
                for name in names:
                    del self.known[name]
            raise
        if made is not None:
            at = made
        for i in range(size):
            r = rounds[i]
            r.number, r.batch, r.is_shared = first + i, first, size > 1 or made is not None
            if made is not None:
                r.told().at = at[i]
            if names is not None and not is_claimed:
                self.known[names[i]] = r
        if self.want_smooth:
            self.rule.fill_smooth(rounds)
        if names is None:
            for r in rounds:
                self.rule.drop(r)
            return rounds
        self.named += size
        if self.gone:
            for name in names:
                self.gone.pop(name, None)
        self.show_opened(rounds)
        while self.named > self.capacity:
            self.give_up(self.oldest_name())
        if self.has_deadlines:
            due = dues
            for i in range(size):
                r = rounds[i]
                if self.known.get(names[i]) is r:  # else too many came at once, and it expired
                    if made is not None and at[i] > self.now:
                        self.now = at[i]
                    self.hold(names[i], r, due[i])
            self.after_opening()
        if made is not None and size and at[size - 1] > self.now:
            self.now = at[size - 1]
        return rounds

    cdef int show_opened(self, list rounds) except -1:
        """Show the watcher new pending predictions."""
        if self.rule.is_watched:
            self.rule.opened(rounds)
        if self.watcher is not None:
            if len(rounds) == 1:
                show_one(self, rounds[0], NAN)
            else:
                self.watcher.watch(Steps(self.rule, rounds, np.full(len(rounds), NAN)))
        return 0

    # -- observing ------------------------------------------------------------------------------

    cdef int peek(
        self, object name, object found, double outcome, double at, double said
    ) except -1:
        """Return the answer to an outcome that arrives at a time, NaN for now; changes nothing.

        PREDICTED if its round is pending and has no outcome by then. The expiry of a round uses the
        time that was `said`, so that the state of the clock does not matter.
        """
        cdef Round r
        cdef double known
        cdef Py_ssize_t i
        cdef Event *event
        if found is None:
            return EXPIRED if name in self.gone else UNKNOWN
        if type(found) is float:
            if self.deadlines.is_over(at, True) and self.is_forgotten_by(name, at):
                return UNKNOWN
            return REPEATED if <double>found == outcome else CONFLICT
        r = found
        known = NAN if r.story == NULL else r.story.outcome
        if isnan(known) and self.arrivals.is_over(at, True):
            for i in range(self.arrivals.count):
                event = &self.arrivals.events[i]
                if event.number == r.number and event.when < at and not (
                    r.is_held() and event.when > r.story.due and not isnan(self.silence)
                ):
                    known = event.outcome
        if isnan(known) and r.is_held() and r.story.due < at:
            known = self.silence
        if not isnan(known):
            return REPEATED if known == outcome else CONFLICT
        if self.patience > 0.0 and r.story != NULL and said - r.story.at > self.patience:
            return EXPIRED
        return PREDICTED

    cpdef int observe_one(
        self, object name, double outcome, double at, int most, double weight=1.0
    ) except -1:
        """Take an outcome, which arrives at a time if that is not NaN; return the answer.

        If the answer is above `most`, time does not advance. An earlier time counts as now.
        """
        cdef int answer
        cdef bint is_news
        cdef double said = at
        if at < self.now:
            at = self.now
        answer = self.peek(name, self.known.get(name), outcome, at, said)
        is_news = answer == PREDICTED
        if is_news:
            answer = APPLIED
        if answer <= most and not isnan(at):
            self.pass_to(at, True)
        if is_news:
            self.take(name, self.known[name], outcome, weight)
        return answer

    cpdef str update(self, object name, double outcome, double at, double weight=1.0):
        """Take one outcome, at a time or NaN; return "applied" or "repeated".

        Any other answer is raised, and changes nothing.
        """
        cdef int answer = self.observe_one(name, outcome, at, REPEATED, weight)
        if answer <= REPEATED:
            return "applied" if answer == APPLIED else "repeated"
        raise self.refusal(name, outcome, answer)

    cdef object refusal(self, object name, double y, int answer):
        """Return the error that says why an outcome is not learned."""
        word = str(ANSWERS[answer])
        if answer == EXPIRED:
            return RoundError(f"id {name!r} expired: its outcome comes too late to be learned", word)
        if answer == UNKNOWN:
            return RoundError(
                f"id {name!r} is unknown: never predicted, or done with more than "
                f"{self.capacity} ids ago", word,
            )
        found = self.known.get(name)
        before = found if type(found) is float else (<Round>found).outcome
        if isnan(before):
            before = self.silence
        first, second = self.rule.shown(before), self.rule.shown(y)
        return RoundError(f"id {name!r} had the outcome {first!r}, and now gets {second!r}", word)

    def observe(self, list names not None, outcomes, at=None, bint only_news=False, weights=None):
        """Take outcomes that arrive together, in any order; return the answer to each.

        `at` is one time for all, or one per row: rows are then taken in order of time. If the rows of an
        id without a known outcome contradict each other, all of them are in conflict. With `only_news`,
        time advances only for outcomes that are applied: the others can be left out of a log.
        """
        cdef Py_ssize_t i, start, size = len(names)
        answers = np.empty(size, dtype=np.uint8)
        if not isinstance(at, np.ndarray):
            self.observe_together(
                names, outcomes, answers, NAN if at is None else at, only_news, weights
            )
            return answers
        at = np.maximum(at, self.now)  # so that all that count as now are taken together
        order = at.argsort(kind="stable")
        cdef double[::1] times = at[order]
        start = 0
        for i in range(1, size + 1):
            if i < size and times[i] == times[start]:
                continue
            rows = order[start:i]
            found = np.empty(i - start, dtype=np.uint8)
            self.observe_together(
                [names[row] for row in rows.tolist()], outcomes[rows], found, times[start],
                only_news, None if weights is None else weights[rows],
            )
            answers[rows] = found
            start = i
        return answers

    def observe_together(
        self, list names not None, const double[::1] outcomes, unsigned char[::1] answer, double at,
        bint only_news, const double[::1] weights,
    ):
        """Take outcomes that arrive at one time; `answer` takes what becomes of each."""
        cdef Py_ssize_t i, count = 0
        cdef list rounds = [], keys
        cdef Round r
        cdef Py_ssize_t[::1] of
        cdef double weighed, weighings
        cdef int word
        if at < self.now:
            at = self.now
        if not only_news and not isnan(at):
            self.pass_to(at, True)
        if len(names) == 1:
            answer[0] = self.observe_one(
                names[0], outcomes[0], at, APPLIED, 1.0 if weights is None else weights[0]
            )
            return
        rows = np.empty(len(names), dtype=np.intp)
        of = rows
        for i in range(len(names)):
            found = self.known.get(names[i])
            word = self.peek(names[i], found, outcomes[i], at, at)
            answer[i] = APPLIED if word == PREDICTED else word
            if word == PREDICTED:
                of[count] = i
                rounds.append(found)
                count += 1
        rows, rounds, is_once = in_order(rows[:count], rounds)
        if not is_once:
            once = once_each(rounds, rows, outcomes, answer)
            rows, rounds = rows[once], [rounds[i] for i in once]
        if rounds and not isnan(at):
            self.pass_to(at, True)
        of = rows
        weighed, weighings = self.weighed, self.weighings
        if weights is not None and rounds:
            self.start_weighing()
        if self.has_deadlines:
            rows, rounds = self.note(names, outcomes, rows, rounds, weights)
            of = rows
        if not rounds:
            return
        # Learned in an order that is drawn; forgotten, in time, in the order of prediction.
        order, rounds = learning_order(rounds, False)
        if isfinite(self.now):
            for r in rounds:
                r.told().arrived = self.now
        keys = [names[of[i]] for i in range(of.shape[0])]
        if self.weighings >= 0.0:
            in_turn = rows[order]
            for i in range(len(rounds)):
                self.weigh(rounds[i], 1.0 if weights is None else weights[in_turn[i]])
        try:
            self.learn(keys, rounds, np.asarray(outcomes)[rows], order)
        except BaseException:
            self.weighed, self.weighings = weighed, weighings
            for r in rounds:
                if weight_of(r) != 1.0:
                    r.story.weight = 1.0
            raise

    cdef tuple note(
        self, list names, const double[::1] outcomes, rows, list rounds, const double[::1] weights
    ):
        """Note outcomes of rounds that wait for their deadlines; return the rows of the others."""
        cdef const Py_ssize_t[::1] of = rows
        cdef list over = []
        cdef Py_ssize_t i
        for i in range(of.shape[0]):
            if (<Round>rounds[i]).is_held():
                self.take(
                    names[of[i]], rounds[i], outcomes[of[i]],
                    1.0 if weights is None else weights[of[i]],
                )
            else:
                over.append(i)
        return rows[over], [rounds[i] for i in over]

    cdef int take(self, object key, Round r, double outcome, double weight) except -1:
        """Note the outcome of a round until its deadline, or learn it if that is over."""
        if isfinite(self.now):
            r.told().arrived = self.now
        if not r.is_held():
            return self.learn_weighed(key, r, outcome, weight)
        self.weigh(r, weight)
        r.told().outcome = outcome
        if not isnan(self.silence):
            self.rule.observed(r, self.now)
        return 0

    def learn_unnamed(self, double outcome, double weight=1.0):
        """Learn the outcome of the round without an id."""
        cdef Round r = self.unnamed
        self.known[r] = r
        self.nameless += 1
        try:
            self.learn_weighed(r, r, outcome, weight)
        except BaseException:
            del self.known[r]
            self.nameless -= 1
            raise
        self.unnamed = None

    # -- weights --------------------------------------------------------------------------------

    cdef int start_weighing(self) except -1:
        """Count the weights of outcomes from now on: 1 for each that was learned before."""
        if self.weighings < 0.0:
            self.weighed = self.weighings = <double>self.rule.learned
        return 0

    cdef double beside_mean(self, double weight) except -1.0:
        """Return a weight, divided by the mean weight of all outcomes known so far, and clipped.

        The default is 1, so nothing is divided as long as no weight was given.
        """
        if weight == 0.0 or (weight == 1.0 and self.weighings < 0.0):
            return weight
        self.start_weighing()
        self.weighed += weight
        self.weighings += 1.0
        return min(HEAVIEST, weight * self.weighings / self.weighed)

    cdef int weigh(self, Round r, double weight) except -1:
        """Set the weight of the outcome of a round, which is known from now on."""
        weight = self.beside_mean(weight)
        if weight != weight_of(r):
            r.told().weight = weight
        return 0

    cdef int learn_weighed(self, object key, Round r, double outcome, double weight) except -1:
        """Learn an outcome that becomes known, and counts, now."""
        cdef double weighed = self.weighed, weighings = self.weighings
        if weight == 1.0 and weighings < 0.0:
            return self.learn_one(key, r, outcome)
        self.weigh(r, weight)
        try:
            return self.learn_one(key, r, outcome)
        except BaseException:
            self.weighed, self.weighings = weighed, weighings
            r.told().weight = 1.0
            raise

    def learn_step(self, double outcome, double weight=1.0):
        """Learn the outcome of a round without an id that the rule itself keeps."""
        cdef double weighed = self.weighed, weighings = self.weighings
        try:
            self.rule.finish_step(outcome, self.beside_mean(weight))
        except BaseException:
            self.weighed, self.weighings = weighed, weighings
            raise

    # -- learning -------------------------------------------------------------------------------

    cdef bint is_overtaken(self, Round r) except -1:
        """Whether a round without an id, which is shown with its outcome, comes too late for that.

        A later one was shown: monitors bet on rounds in their order, and do without this one.
        """
        return r is self.unnamed and self.watcher._last_key >= r.number

    cdef int learn_one(self, object key, Round r, double outcome) except -1:
        """Learn an outcome that counts now."""
        if weight_of(r) == 0.0:
            self.lose(r)
        elif self.watcher is None or self.unseen is not None or self.is_overtaken(r):
            self.rule.learn_one(r, outcome)
        else:
            before = self.watcher.mark(1)
            try:
                if r is self.unnamed:  # it is predicted only now
                    show_one(self, r, NAN)
                show_one(self, r, outcome)
                self.rule.learn_one(r, outcome)
            except BaseException:
                self.watcher.go_back(before)
                raise
        self.tell(key, r, outcome)
        self.finish(key, outcome)
        return 0

    cdef int learn(self, list keys, list rounds, outcomes, order) except -1:
        """Learn outcomes that count together.

        `rounds` are in the order of learning: round i is that of key and outcome ``order[i]``, or
        i without an order. Ids are forgotten, in time, in the order of the keys.
        """
        cdef Py_ssize_t i
        cdef const double[::1] y
        cdef const Py_ssize_t[::1] of = order
        cdef list named = keys, taught = rounds, lost = []
        cdef Round r
        if len(rounds) == 1:
            return self.learn_one(keys[0], rounds[0], outcomes[0])
        ordered = teaching = outcomes
        before = None
        if self.watcher is not None and self.unseen is None:
            before = self.watcher.mark(len(rounds))
        if order is not None:
            ordered = outcomes[order]
            if before is not None or self.is_seen():
                named = [keys[of[i]] for i in range(len(rounds))]
            teaching = ordered
        for r in rounds:
            if weight_of(r) == 0.0:
                lost.append(r)
        if lost:
            taught = [r for r in rounds if weight_of(r) != 0.0]
            teaching = ordered[[i for i in range(len(rounds)) if weight_of(rounds[i]) != 0.0]]
        self.rule.reserve(len(rounds))
        try:
            if before is not None and taught:
                self.watcher.watch(Steps(self.rule, taught, teaching))
            if taught:
                self.rule.learn(taught, teaching)
        except BaseException:
            if before is not None:
                self.watcher.go_back(before)
            raise
        for r in lost:
            self.lose(r)
        if self.is_seen():
            y = ordered
            for i in range(len(rounds)):
                self.tell(named[i], rounds[i], y[i])
        y = outcomes
        for i in range(len(rounds)):
            self.finish(keys[i], y[i])
        return 0

    cdef bint is_seen(self) noexcept:
        """Whether settled rounds are collected."""
        return self.settled is not None or self.unseen is not None or self.record != NULL

    cdef int tell(self, object key, Round r, double outcome) except -1:
        """Record a settled round for those who asked."""
        if self.settled is not None or self.unseen is not None:
            r.told().outcome = outcome
        if self.settled is not None:
            self.settled.append((key, r))
        if self.unseen is not None and weight_of(r) != 0.0:
            self.unseen.append((r, outcome))
        if self.record != NULL and 0 <= r.number - self.first < self.recorded:
            self.record[r.number - self.first] = outcome
        return 0

    cdef int settle(self, double now, bint strictly) except -1:
        """Learn what is due before `now`, or up to it, in the order of deadlines."""
        cdef Event event
        cdef Round r
        cdef list keys, rounds, outcomes, over
        cdef double outcome
        cdef bint is_ordered = True
        if not self.deadlines.is_over(now, strictly):
            if now > self.now:
                self.now = now
            return 0
        keys, rounds, outcomes, over = [], [], [], []
        while self.deadlines.is_over(now, strictly):
            key = self.deadlines.pop(&event)
            found = self.known.get(key)
            if isinstance(found, Round) and (<Round>found).number == event.number:
                over.append((key, found))  # else it expired
        try:
            if over:
                self.rule.reserve(len(over))
        except BaseException:
            for key, r in over:
                self.deadlines.push(r.story.due, r.number, NAN, key)
            raise
        for key, r in over:
            r.story.is_held = False
            outcome = r.story.outcome
            if not isnan(self.silence):
                self.rule.mature(r)
                if isnan(outcome):
                    outcome, r.story.is_silence = self.silence, True
                    self.weigh(r, 1.0)
            if isnan(outcome):
                continue  # it is learned when it arrives
            # Deadlines come up by time and number: what is left to order are rounds of one batch.
            if rounds and (<Round>rounds[len(rounds) - 1]).batch == r.batch:
                is_ordered = False
            keys.append(key)
            rounds.append(r)
            outcomes.append(outcome)
        if now > self.now:
            self.now = now
        if len(rounds) == 1:
            self.learn_one(keys[0], rounds[0], outcomes[0])
        elif rounds:
            if not is_ordered:
                order, rounds = learning_order(rounds, True)
                keys, outcomes = [keys[i] for i in order], [outcomes[i] for i in order]
            self.learn(keys, rounds, as_array(outcomes), None)
        return 0

    cdef int pass_to(self, double now, bint strictly) except -1:
        """Advance time: learn what becomes known, and what is due, before `now` or up to it."""
        cdef Event event
        cdef Round r
        cdef double known
        if strictly and self.has_deadlines:
            self.is_timed = True  # not a count of predictions
        while self.arrivals.is_over(now, strictly):
            key = self.arrivals.pop(&event)
            self.settle(event.when, True)
            if type(key) is float:  # of a state: its round was done with when that was saved
                self.count_late(event.outcome, key)
                continue
            found, known = self.known.get(key), self.silence
            if type(found) is float:
                known = found
            elif found is not None:
                r = found
                if r.number != event.number:
                    continue  # it expired, and the id was used again
                if r.story == NULL or isnan(r.story.outcome):
                    self.take(key, r, event.outcome, weight_of(r))
                    continue
                known = r.story.outcome
            elif key in self.gone:
                continue
            self.count_late(event.outcome, known)
        return self.settle(now, strictly)

    cdef int count_late(self, double outcome, double known) except -1:
        """Count an outcome of a table that comes when another, or the same, is known already."""
        if isnan(known):
            return 0  # its round expired
        self.late["repeated" if outcome == known else "conflict"] += 1
        return 0

    def let_pass(self, double now):
        """Advance time to `now`: what is due before is learned."""
        self.pass_to(now, True)

    def advance(self, double now):
        """Advance time to `now`, including what is due then; return how many were learned."""
        before = self.rule.learned
        self.is_timed = True
        self.pass_to(now, False)
        return self.rule.learned - before

    cdef int finish(self, object key, double outcome) except -1:
        """Finish a round."""
        if isinstance(key, Round):
            del self.known[key]
            self.nameless -= 1
            return 0
        self.named -= 1
        if self.remember:
            self.add_finished(key, outcome)
        else:
            del self.known[key]
        return 0

    cdef int add_finished(self, object name, double outcome) except -1:
        # Most outcomes are 0 or 1, and two objects can stand for all of these.
        self.known[name] = ZERO if outcome == 0.0 else ONE if outcome == 1.0 else outcome
        if len(self.ring) < self.remember:
            self.ring.append(name)
            return 0
        del self.known[self.ring[self.turn]]
        self.ring[self.turn] = name
        self.turn = (self.turn + 1) % self.remember
        return 0

    def take_settled(self):
        """Return what was settled since the last call, where `collect` asked for it."""
        settled, self.settled = self.settled, []
        keys, rounds = [key for key, _ in settled], [each for _, each in settled]
        return Settled(self.rule, keys, rounds, None)

    def collect(self, bint smooth=False):
        """Keep what is settled for `take_settled`, with the estimates for ranking if wanted."""
        self.settled, self.want_smooth = [], smooth

    def stop_collecting(self):
        """Keep no more of what is settled."""
        self.settled, self.want_smooth = None, False

    # -- tables ---------------------------------------------------------------------------------

    def play(self, columns, by, list names, const double[::1] outcomes, const double[::1] made,
             const double[::1] known, const double[::1] dues, const unsigned char[::1] observes,
             double[:, ::1] told, unsigned char[::1] answers, list opened=None,
             const double[::1] weights=None):
        """Play the rows of a table in order, each based on what was known when it was predicted.

        A row is predicted at its time `made`; its outcome, if it is not NaN, becomes `known` later,
        or at once if no time is given, and counts when it is due. Everything after the end remains
        pending: the next table, or the next step, continues as if all were one. A row that
        `observes` is not predicted: it has the outcome of its id.

        `weights` are the relative weights of outcomes.

        The rows of `told` receive the predictions, the expected predictions and, if there is a third row,
        the estimates for ranking; `answers` receives the answer to each row, and `opened` the rounds, if
        it is given. Returns the outcomes of the predicted rows that were settled meanwhile,
        in their order; NaN for none.
        """
        settled = np.full(outcomes.shape[0], NAN)
        cdef double[::1] record = settled
        self.first, self.recorded = self.rule.begun(), record.shape[0]
        self.record = &record[0] if record.shape[0] else NULL
        self.unseen = None if self.watcher is None else []
        before = None if self.watcher is None else self.watcher.copy()
        try:
            self.play_rows(
                columns, by, names, outcomes, made, known, dues, observes, told, answers, opened,
                weights,
            )
            self.show_unseen()
        except BaseException:
            if before is not None:
                self.watcher.go_back(before)
            raise
        finally:
            self.record, self.unseen = NULL, None
        return settled

    cdef int show_unseen(self) except -1:
        """Show the watcher everything that it has not seen yet."""
        if self.unseen:
            rounds, outcomes = zip(*self.unseen)
            self.unseen = []
            self.watcher.watch(Steps(self.rule, list(rounds), np.array(outcomes)))
        return 0

    cdef int play_rows(
        self, columns, by, list names, const double[::1] outcomes, const double[::1] made,
        const double[::1] known, const double[::1] dues, const unsigned char[::1] observes,
        double[:, ::1] told, unsigned char[::1] answers, list opened, const double[::1] weights,
    ) except -1:
        """Play the rows of a table."""
        cdef Py_ssize_t i, size = outcomes.shape[0]
        cdef double y, weight = 1.0
        cdef Round r
        cdef int64_t first
        cdef bint has_smooth = told.shape[0] > 2, is_late
        told[:, :] = NAN  # of rows that are not predicted
        for i in range(size):
            if self.unseen is not None and len(self.unseen) >= PORTION:
                self.show_unseen()
            y = outcomes[i]
            if weights is not None:
                weight = weights[i]
            name = None if names is None else names[i]
            is_late = observes is not None and observes[i]
            if not is_late and name is not None and name in self.known:
                answers[i] = USED
                continue
            if made is not None:
                self.pass_to(made[i], True)
            if is_late:
                answers[i] = self.observe_one(
                    name, y, NAN if made is None else made[i], EXPIRED, weight
                )
                continue
            first = self.rule.begun()
            r = self.rule.begin_row(columns, by, i)
            r.number = r.batch = first
            answers[i] = PREDICTED
            if opened is not None:
                opened.append(r)
            if made is not None:
                r.told().at = made[i]
                if made[i] > self.now:
                    self.now = made[i]
            told[0, i], told[1, i] = r.as_prediction(), r.as_expected()
            if has_smooth:
                self.rule.fill_smooth([r])
                told[2, i] = r.smooth
            if known is not None and isnan(known[i]):
                y = NAN  # it never becomes known
            if isnan(y) and name is None and isnan(self.silence):
                self.rule.drop(r)  # nothing can be learned of it
                if self.has_deadlines:
                    self.after_opening()
                continue
            if self.unseen is not None:
                self.unseen.append((r, NAN))
            if self.rule.is_watched:
                self.rule.opened([r])
            if not self.has_deadlines and known is None and not isnan(y):
                answers[i] = APPLIED
                self.weigh(r, weight)
                if weight_of(r) == 0.0:
                    self.lose(r)
                else:
                    self.rule.learn_one(r, y)
                self.tell(r if name is None else name, r, y)
                if name is not None and self.remember:
                    self.gone.pop(name, None)
                    self.add_finished(name, y)
                continue
            r.is_shared = made is not None
            if name is None:
                self.known[r] = r
                self.nameless += 1
                key = r
            else:
                self.keep(name, r)
                key = name
            if self.has_deadlines:
                self.hold(key, r, first + self.span if made is None else dues[i])
                self.after_opening()
            if isnan(y):
                continue
            if known is not None:
                if weight != 1.0:
                    r.told().weight = weight
                self.arrivals.push(known[i], r.number, y, key)
            elif self.known.get(key) is r:
                self.take(key, r, y, weight)
                answers[i] = APPLIED
            else:  # a count of predictions was over at once, and silence spoke first
                self.count_late(y, self.silence)

    # -- expiry ---------------------------------------------------------------------------------

    cpdef int forget_unnamed(self) except -1:
        """Drop the round without an id, if one is pending."""
        if self.unnamed is not None:
            self.rule.drop(self.unnamed)
            self.unnamed = None
        return 0

    cdef object oldest_name(self):
        """Return the id that has been pending longest.

        Finding the first item of a dict after deletions is slow, so it is not done each time.
        """
        while True:
            if not self.oldest:
                for name, found in self.known.items():
                    if type(found) is not float and name is not found:
                        self.oldest.append((name, found))
                        if len(self.oldest) > self.capacity // 16:
                            break
                self.oldest.reverse()
            name, found = self.oldest.pop()
            if self.known.get(name) is found:
                return name

    cdef int give_up(self, object name) except -1:
        cdef Round r = self.known.pop(name)
        self.named -= 1
        self.gone[name] = None
        self.expired += 1
        self.lose(r)
        if len(self.gone) > self.capacity:
            self.gone.popitem(False)
        return 0

    cdef int lose(self, Round r) except -1:
        """Drop a round, from which nothing is learned."""
        if self.watcher is not None and r is not self.unnamed:  # which it has not seen
            self.show_unseen()
            self.watcher.drop([r.number])
        self.rule.drop(r)
        return 0

    def expire(self, number=None, before=None):
        """Expire rounds below a number, or made before a time; return their ids."""
        cdef list old = []
        for name, found in self.known.items():
            if type(found) is float or name is found:
                continue
            if number is not None and found.number >= number:
                break
            if number is not None or found.at < before:
                old.append(name)
        for name in old:
            self.give_up(name)
        return old

    def forget(self):
        """Drop pending rounds, and forget all ids; return how many were pending."""
        waited = self.waiting()
        for key, each in waited:
            self.rule.drop(each)
        if self.watcher is not None:
            self.watcher.drop([(<Round>each).number for _, each in waited])
        self.clear()
        self.expired += len(waited)
        return len(waited)

    # -- saving ---------------------------------------------------------------------------------

    def load(self, list keys, list rounds, finished, gone):
        """Restore pending rounds, with numbers in order, finished ids, and expired ones.

        A round without an id has the key None.
        """
        cdef Round r
        self.clear()
        self.known.update(finished)
        self.ring, self.gone = list(finished), OrderedDict.fromkeys(gone)
        self.is_grouped = any(self.rule.group_of(each) is not None for each in rounds)
        for key, r in zip(keys, rounds, strict=True):
            if key is None:
                key = r
                self.nameless += 1
            else:
                self.named += 1
            self.known[key] = r
            if r.is_held():
                self.deadlines.push(r.story.due, r.number, NAN, key)

    def load_arrivals(self, list keys, times, outcomes):
        """Restore outcomes of pending rounds that become known later."""
        for key, when, outcome in zip(keys, times, outcomes, strict=True):
            self.arrivals.push(when, (<Round>self.known[key]).number, outcome, key)

    def coming(self):
        """Return the keys, times and outcomes of what becomes known later, of rounds that wait."""
        cdef Py_ssize_t i
        found = []
        for i in range(self.arrivals.count):
            event = &self.arrivals.events[i]
            if self.is_coming(event):
                found.append((event.number, <object>event.key, event.when, event.outcome))
        found.sort()
        return [each[1:] for each in found]

    def coming_late(self):
        """Return times, outcomes, and what is known already, of all else that becomes known later.

        Nothing is learned of it, but time passes up to it: what is due until then is one step. NaN
        is known of a round that expired.
        """
        cdef Py_ssize_t i
        cdef double known
        found = []
        for i in range(self.arrivals.count):
            event = &self.arrivals.events[i]
            if self.is_coming(event):
                continue
            key, known = <object>event.key, self.silence
            r = key if type(key) is float else self.known.get(key)
            if type(r) is float:
                known = r
            elif r is not None:
                known = (<Round>r).outcome if (<Round>r).number == event.number else NAN
            elif key in self.gone:
                known = NAN
            found.append((event.when, event.outcome, known))
        return sorted(found)

    def load_late(self, times, outcomes, known):
        """Restore what `coming_late` returned."""
        for when, outcome, each in zip(times, outcomes, known, strict=True):
            self.arrivals.push(when, -1, outcome, each)

    cdef bint is_coming(self, const Event *event) except -1:
        """Whether something will be learned of what becomes known."""
        key = <object>event.key
        r = None if type(key) is float else self.known.get(key)
        return (
            isinstance(r, Round) and (<Round>r).number == event.number
            and ((<Round>r).story == NULL or isnan((<Round>r).story.outcome))
        )


def number_of(item):
    """Return the number of a round that stands beside its key."""
    return (<Round>item[1]).number
