"""The exact stationary distribution of one closed class of a chain, from the states it can reach.

From a start, Tarjan's search visits what can be reached and completes the strongly connected
components. One that no step leaves is a closed class; of several, the one with the smallest state
is taken. Elimination without subtraction (Grassmann, Taksar & Heyman 1985) then gives its
stationary distribution with every entry accurate, periodic chains included.

A state that only one step leads to is visited whenever that step is taken. About half of a class is
like that. Only the others, the core, take part in the elimination; their rows include the paths
through the states between them.
"""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

cdef Py_ssize_t LISTS = 4     # lists of states that share one piece of memory


cdef int chain_reserve(Chain *c, Py_ssize_t states) noexcept nogil:
    cdef State *state
    cdef Py_ssize_t *lists
    if states <= c.room:
        return 0
    state = <State *>calloc(states, sizeof(State))
    lists = <Py_ssize_t *>calloc(LISTS * states, sizeof(Py_ssize_t))
    if state == NULL or lists == NULL:
        free(state)
        free(lists)
        return -1
    chain_free_lists(c)
    c.state, c.room = state, states
    c.members, c.path = lists, lists + states
    c.stack, c.found = lists + 2 * states, lists + 3 * states
    return 0


cdef void chain_free_lists(Chain *c) noexcept nogil:
    free(c.state)
    free(c.members)   # the lists begin here


cdef void chain_free(Chain *c) noexcept nogil:
    chain_free_lists(c)
    free(c.A)
    free(c.pi)


cdef int reserve_core(Chain *c, Py_ssize_t side) noexcept nogil:
    cdef double *A
    cdef double *pi
    if side <= c.side:
        return 0
    A = <double *>malloc(side * side * sizeof(double))
    pi = <double *>malloc(side * sizeof(double))
    if A == NULL or pi == NULL:
        free(A)
        free(pi)
        return -1
    free(c.A)
    free(c.pi)
    c.A, c.pi, c.side = A, pi, side
    return 0


cdef Py_ssize_t chain_size(const Chain *c) noexcept nogil:
    cdef Py_ssize_t state = sizeof(State) + LISTS * sizeof(Py_ssize_t)
    return c.room * state + c.side * (c.side + 1) * sizeof(double)


cdef inline bint leaves(const Chain *c, const State *s) noexcept nogil:
    """Return whether a state on the stack has a step to a component that is complete."""
    return (s.lower > 0.0 and not c.state[s.at].waiting) or (
        s.upper > 0.0 and not c.state[s.at + 1].waiting
    )


cdef void keep(Chain *c, const Py_ssize_t *component, Py_ssize_t size) noexcept nogil:
    """Make a component the class found, in order."""
    cdef Py_ssize_t i, k
    c.size = size
    for i in range(size):
        k = i
        while k > 0 and c.members[k - 1] > component[i]:
            c.members[k] = c.members[k - 1]
            k -= 1
        c.members[k] = component[i]


cdef Py_ssize_t complete(Chain *c, Py_ssize_t depth, Py_ssize_t root) noexcept nogil:
    """Take the component of `root` off the stack; keep it if it is closed and the first so far.

    Returns what is left of the stack.
    """
    cdef Py_ssize_t start = depth, smallest = root, i, s
    cdef bint closed = True
    while True:
        start -= 1
        s = c.stack[start]
        smallest = min(smallest, s)
        closed = closed and not leaves(c, &c.state[s])
        if s == root:
            break
    if closed and (c.size == 0 or smallest < c.members[0]):
        keep(c, c.stack + start, depth - start)
    for i in range(start, depth):
        c.state[c.stack[i]].waiting = False
    return start


cdef void find_closed_class(Chain *c, Py_ssize_t start) noexcept nogil:
    cdef Py_ssize_t visited = 0, depth = 0, length = 1, to, i
    cdef State *s
    cdef State *parent
    cdef double probability
    c.size = 0
    c.path[0] = start
    while length > 0:
        i = c.path[length - 1]
        s = &c.state[i]
        if s.order == 0:
            c.found[visited] = c.stack[depth] = i
            visited += 1
            depth += 1
            s.order = s.low = visited
            s.waiting = True
        if s.followed < 2:
            to = s.at + s.followed
            probability = s.upper if s.followed else s.lower
            s.followed += 1
            if probability > 0.0:
                if c.state[to].order == 0:
                    c.path[length] = to
                    length += 1
                elif c.state[to].waiting:
                    s.low = min(s.low, c.state[to].order)
            continue
        length -= 1
        if length > 0:
            parent = &c.state[c.path[length - 1]]
            parent.low = min(parent.low, s.low)
        if s.low == s.order:
            depth = complete(c, depth, i)
    for i in range(visited):
        s = &c.state[c.found[i]]
        s.order = 0
        s.followed = 0


cdef Py_ssize_t find_core(Chain *c) noexcept nogil:
    """Number the states that several steps lead to, and return how many there are."""
    cdef Py_ssize_t k = 0, i
    cdef State *s
    for i in range(c.size):
        c.state[c.members[i]].entries = 0
    for i in range(c.size):
        s = &c.state[c.members[i]]
        if s.lower > 0.0:
            c.state[s.at].entries += 1
        if s.upper > 0.0:
            c.state[s.at + 1].entries += 1
    for i in range(c.size):
        s = &c.state[c.members[i]]
        # A plain cycle has no such state; its last one is then the core.
        s.core = s.entries > 1 or (k == 0 and i == c.size - 1)
        if s.core:
            s.place, s.share = k, 1.0
            k += 1
    return k


cdef void fill(Chain *c, Py_ssize_t k) noexcept nogil:
    """Write the rows of the core: from each state, follow all steps until they meet the core."""
    cdef Py_ssize_t length, i, step
    cdef double *row
    cdef double share
    cdef State *root
    cdef State *s
    cdef State *to
    memset(c.A, 0, k * k * sizeof(double))
    for i in range(c.size):
        root = &c.state[c.members[i]]
        if not root.core:
            continue
        row = c.A + root.place * k
        c.path[0] = c.members[i]
        length = 1
        while length > 0:
            length -= 1
            s = &c.state[c.path[length]]
            for step in range(2):
                share = s.share * (s.upper if step else s.lower)
                if share > 0.0:
                    to = &c.state[s.at + step]
                    if to.core:
                        row[to.place] += share
                    else:
                        to.place, to.share = root.place, share
                        c.path[length] = s.at + step
                        length += 1


cdef inline double sum_of(const double *x, Py_ssize_t size) noexcept nogil:
    """Return a sum, as four partial sums, so that no addition waits for the one before."""
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef Py_ssize_t i = 0
    while i + 4 <= size:
        a += x[i]
        b += x[i + 1]
        c += x[i + 2]
        d += x[i + 3]
        i += 4
    while i < size:
        a += x[i]
        i += 1
    return (a + b) + (c + d)


cdef void eliminate(double *A, Py_ssize_t k, Py_ssize_t m) noexcept nogil:
    """Eliminate m, the last: steps to m go on as m would, without its loop to itself."""
    cdef const double *gone = A + m * k
    cdef double *row
    cdef Py_ssize_t i, j
    cdef double out = sum_of(gone, m), share
    for i in range(m):
        row = A + i * k
        if row[m] > 0.0:
            share = row[m] / out
            row[m] = share
            for j in range(m):
                row[j] += share * gone[j]


cdef int find_stationary(Chain *c, double *weights) noexcept nogil:
    cdef Py_ssize_t k, i, m
    cdef double total = 0.0
    cdef double *A
    cdef double *pi
    cdef const State *s
    weights[0] = 1.0
    if c.size == 1:
        return 0
    k = find_core(c)
    if reserve_core(c, k) < 0:
        return -1
    fill(c, k)
    A, pi = c.A, c.pi
    for m in range(k - 1, 0, -1):
        eliminate(A, k, m)
    pi[0] = 1.0
    for m in range(1, k):
        pi[m] = 0.0
    for i in range(k):
        # What i passes on; all that it receives came from smaller places.
        for m in range(i + 1, k):
            pi[m] += pi[i] * A[i * k + m]
    for i in range(c.size):
        s = &c.state[c.members[i]]
        weights[i] = pi[s.place] * s.share
        total += weights[i]
    for i in range(c.size):
        weights[i] /= total
    return 0
