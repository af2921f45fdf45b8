# cython: boundscheck=False, wraparound=False, cdivision=True
"""The stationary distribution of one closed class of a chain, exactly and by looking at little.

From a start, Tarjan's search visits what can be reached and completes the strongly connected
components. One that no way leaves is a closed class; of several, the one with the smallest state
is taken. Elimination without subtraction (Grassmann, Taksar & Heyman 1985) then gives its
stationary distribution with every entry accurate, periodic chains included. States that few ways
lead to are left out first, so that there is little to do for each.
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
    matrix_free(&c.matrix)


cdef int matrix_reserve(Matrix *x, Py_ssize_t side) noexcept nogil:
    cdef Matrix grown
    if side <= x.side:
        return 0
    side = max(side, 2 * x.side)
    grown.side = side
    grown.A = <double *>malloc(side * side * sizeof(double))
    grown.pi = <double *>malloc(side * sizeof(double))
    grown.ways = <Py_ssize_t *>malloc(side * sizeof(Py_ssize_t))
    grown.start = <Py_ssize_t *>malloc(side * sizeof(Py_ssize_t))
    if grown.A == NULL or grown.pi == NULL or grown.ways == NULL or grown.start == NULL:
        matrix_free(&grown)
        return -1
    matrix_free(x)
    x[0] = grown
    return 0


cdef void matrix_free(Matrix *x) noexcept nogil:
    free(x.A)
    free(x.pi)
    free(x.ways)
    free(x.start)


cdef Py_ssize_t chain_size(const Chain *c) noexcept nogil:
    cdef Py_ssize_t state = sizeof(State) + LISTS * sizeof(Py_ssize_t)
    return c.room * state + c.matrix.side * (c.matrix.side + 3) * sizeof(double)


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


cdef void order_members(Chain *c) noexcept nogil:
    """Give each member its place: the fewer ways lead to it, the later."""
    cdef Py_ssize_t *ways = c.matrix.ways
    cdef Py_ssize_t *start = c.matrix.start
    cdef Py_ssize_t k = c.size, before = 0, i
    cdef State *s
    for i in range(k):
        c.state[c.members[i]].place = i
        ways[i] = start[i] = 0
    for i in range(k):
        s = &c.state[c.members[i]]
        if s.lower > 0.0:
            ways[c.state[s.cell].place] += 1
        if s.upper > 0.0:
            ways[c.state[s.cell + 1].place] += 1
    # A member of a closed class has 1 to k ways: sort by counting, most ways first.
    for i in range(k):
        start[k - ways[i]] += 1
    for i in range(k):
        before += start[i]
        start[i] = before - start[i]
    for i in range(k):
        c.state[c.members[i]].place = start[k - ways[i]]
        start[k - ways[i]] += 1


cdef void fill(Chain *c) noexcept nogil:
    """Write the rows of the members into the matrix."""
    cdef Py_ssize_t k = c.size, i
    cdef State *s
    memset(c.matrix.A, 0, k * k * sizeof(double))
    for i in range(k):
        s = &c.state[c.members[i]]
        if s.lower > 0.0:
            c.matrix.A[s.place * k + c.state[s.cell].place] = s.lower
        if s.upper > 0.0:
            c.matrix.A[s.place * k + c.state[s.cell + 1].place] = s.upper


cdef inline double sum_of(const double *x, Py_ssize_t size) noexcept nogil:
    """Return a sum, in four strands so that no addition waits for the one before."""
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


cdef void leave_out(double *A, Py_ssize_t k, Py_ssize_t m) noexcept nogil:
    """Leave out member m, the last: whoever went there goes on as m would, its own loop apart."""
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
    cdef Py_ssize_t k = c.size, i, m
    cdef double total = 0.0
    cdef double *A
    cdef double *pi
    weights[0] = 1.0
    if k == 1:
        return 0
    if matrix_reserve(&c.matrix, k) < 0:
        return -1
    A, pi = c.matrix.A, c.matrix.pi
    order_members(c)
    fill(c)
    for m in range(k - 1, 0, -1):
        leave_out(A, k, m)
    pi[0] = 1.0
    for m in range(1, k):
        pi[m] = 0.0
    for i in range(k):
        # What i passes on; all that it receives came from places before its own.
        total += pi[i]
        for m in range(i + 1, k):
            pi[m] += pi[i] * A[i * k + m]
    for i in range(k):
        weights[i] = pi[c.state[c.members[i]].place] / total
    return 0
