# cython: boundscheck=False, wraparound=False, cdivision=True
"""The stationary distribution of one closed class of a chain, exactly and by looking at little.

From a start, Tarjan's search visits what can be reached and completes the strongly connected
components. One that no way leaves is a closed class; of several, the one with the smallest state
is taken. Elimination without subtraction (Grassmann, Taksar & Heyman 1985) then gives its
stationary distribution with every entry accurate, periodic chains included. States lead to states
nearby, so the matrix is close to a band, and only the band is worked on.
"""

from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memset

cdef Py_ssize_t LISTS = 6     # lists of states that share one piece of memory


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
    c.members, c.path, c.stack = lists, lists + states, lists + 2 * states
    c.found, c.first, c.top = lists + 3 * states, lists + 4 * states, lists + 5 * states
    return 0


cdef void chain_free_lists(Chain *c) noexcept nogil:
    free(c.state)
    free(c.members)   # the lists begin here


cdef void chain_free(Chain *c) noexcept nogil:
    chain_free_lists(c)
    free(c.A)


cdef inline bint leaves(const Chain *c, const State *s) noexcept nogil:
    """Return whether a state on the stack has a way to a component that is complete."""
    return (s.lower > 0.0 and not c.state[s.cell].waiting) or (
        s.upper > 0.0 and not c.state[s.cell + 1].waiting
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
            to = s.cell + s.followed
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


cdef int fill(Chain *c) noexcept nogil:
    """Write the rows of the members into A, and where rows and columns begin."""
    cdef Py_ssize_t k = c.size, i, j, way
    cdef State *s
    cdef void *grown
    cdef double probability
    if k * k > c.square:
        grown = realloc(c.A, k * k * sizeof(double))
        if grown == NULL:
            return -1
        c.A = <double *>grown
        c.square = k * k
    memset(c.A, 0, k * k * sizeof(double))
    for i in range(k):
        c.state[c.members[i]].place = c.first[i] = c.top[i] = i
    for i in range(k):
        s = &c.state[c.members[i]]
        for way in range(2):
            probability = s.upper if way else s.lower
            if probability > 0.0:
                j = c.state[s.cell + way].place
                c.A[i * k + j] = probability
                c.first[i] = min(c.first[i], j)
                c.top[j] = min(c.top[j], i)
    return 0


cdef int find_stationary(Chain *c, double *pi) noexcept nogil:
    cdef Py_ssize_t k = c.size, i, j, m, first, top
    cdef double out, share, total
    cdef double *row
    cdef const double *gone
    pi[0] = 1.0
    if k == 1:
        return 0
    if fill(c) < 0:
        return -1
    # Leave out state m: whoever went there goes on as m would, its own loop apart.
    for m in range(k - 1, 0, -1):
        gone = c.A + m * k
        first, top = c.first[m], c.top[m]
        out = 0.0
        for j in range(first, m):
            out += gone[j]
        for i in range(top, m):
            row = c.A + i * k
            if row[m] > 0.0:
                share = row[m] / out
                row[m] = share
                for j in range(first, m):
                    row[j] += share * gone[j]
                c.first[i] = min(c.first[i], first)
        for j in range(first, m):
            c.top[j] = min(c.top[j], top)
    total = 1.0
    for m in range(1, k):
        pi[m] = 0.0
        for i in range(c.top[m], m):
            pi[m] += pi[i] * c.A[i * k + m]
        total += pi[m]
    for m in range(k):
        pi[m] /= total
    return 0
