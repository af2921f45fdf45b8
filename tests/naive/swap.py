"""Swap from its formulas: whole histories, closed classes by definition, linear solves."""

import numpy as np


def interval_of(a, z):
    """Return the last interval between points z that a is not left of."""
    return min(int(np.searchsorted(z, a, side="right")) - 1, len(z) - 2)


def round_squared(a, z):
    """Return H(a): the two points around a, mixed so that their mean is a."""
    i = interval_of(a, z)
    return two_points(i, (z[i + 1] - a) / (z[i + 1] - z[i]), (a - z[i]) / (z[i + 1] - z[i]))


def round_log(a, z):
    """Return H(a) with crossed variances, a clipped to the grid first."""
    a = min(max(a, z[0]), z[-1])
    i = interval_of(a, z)
    d, b = z[i], z[i + 1]
    lower, upper = (b - a) / (b * (1 - b)), (a - d) / (d * (1 - d))
    return two_points(i, lower / (lower + upper), upper / (lower + upper))


def two_points(i, lower, upper):
    return {state: p for state, p in ((i, lower), (i + 1, upper)) if p > 0}


def reachable(rows, start):
    found, frontier = {start}, [start]
    while frontier:
        for state in rows[frontier.pop()]:
            if state not in found:
                found.add(state)
                frontier.append(state)
    return found


def closed_class(rows, start):
    """Return the closed class that `start` leads to; of several, the one with the least state."""
    reach = {state: reachable(rows, state) for state in reachable(rows, start)}
    for state in sorted(reach):
        if all(state in reach[other] for other in reach[state]):
            return sorted(reach[state])
    raise AssertionError("a finite chain has a closed class")


def stationary(rows, members):
    """Solve P Q = P, sum P = 1 on the members."""
    k = len(members)
    Q = np.array([[rows[s].get(t, 0.0) for t in members] for s in members])
    A = np.vstack([Q.T - np.eye(k), np.ones(k)])
    return np.linalg.lstsq(A, np.append(np.zeros(k), 1.0), rcond=None)[0]


def action(history, loss, prior=0.5):
    """Return a_s from the (P_t(s), y_t) of all rounds in which s had mass."""
    a, mass, positives = prior, 0.0, 0.0
    for p, y in history:
        mass += p
        positives += p * y
        a += p / max(mass, 1.0) * (y - a)
    return a if loss == "squared" else (2 * prior + positives) / (2 + mass)


class Swap:
    """One block on the points z."""

    def __init__(self, z, loss, prior=0.5):
        self.z, self.loss = z, loss
        self.prior = min(max(prior, z[0]), z[-1])
        self.history = [[] for _ in z]
        self.rows = [self.row(s) for s in range(len(z))]
        self.last = max(s for s in range(len(z)) if z[s] <= self.prior)

    def row(self, s):
        rounding = round_log if self.loss == "log" else round_squared
        return rounding(self.action(s), self.z)

    def action(self, s):
        return action(self.history[s], self.loss, self.prior)

    def place(self):
        """Return P_t over all points."""
        members = closed_class(self.rows, self.last)
        P = np.zeros(len(self.z))
        P[members] = stationary(self.rows, members)
        return P

    def learn(self, P, drawn, y):
        for s in np.flatnonzero(P):
            self.history[s].append((float(P[s]), float(y)))
            self.rows[s] = self.row(s)
        self.last = drawn
