"""The recalibration rivals, as their papers say it: all of the past, summed anew each round."""

import math

import numpy as np
from scipy.optimize import isotonic_regression, minimize

from naive import rivals


def logistic(x):
    return math.exp(-np.logaddexp(0.0, -x))


def newton(features, start, outcomes, gamma=0.1, ridge=100.0):
    """Online Newton step: A_t is the ridge plus every gradient so far, and a system is solved."""
    theta = np.array(start, dtype=float)
    gradients, predictions = [], []
    for x, y in zip(features, outcomes, strict=True):
        p = logistic(float(theta @ x))
        predictions.append(p)
        gradients.append((p - y) * x)
        stack = np.array(gradients)
        A = ridge * np.eye(len(x)) + stack.T @ stack
        theta = theta - np.linalg.solve(A, gradients[-1]) / gamma
    return predictions


def inside(scores):
    return np.clip(scores, 0.001, 0.999)


def platt(scores, outcomes, **settings):
    p = inside(scores)
    logits = np.log(p) - np.log1p(-p)
    return newton(np.column_stack([logits, np.ones(len(p))]), [1, 0], outcomes, **settings)


def beta(scores, outcomes):
    p = inside(scores)
    features = np.column_stack([np.log(p), np.log1p(-p), np.ones(len(p))])
    return newton(features, [1, -1, 0], outcomes)


def bin_of(p, bins):
    return next(i for i in range(bins) if p < (i + 1) / bins or i == bins - 1)


def mean_of_same(places, outcomes, otherwise):
    """The mean of the past outcomes in this round's bin."""
    predictions = []
    for t, place in enumerate(places):
        past = [outcomes[s] for s in range(t) if places[s] == place]
        predictions.append(math.fsum(past) / len(past) if past else otherwise[t])
    return predictions


def tops(scores, outcomes, bins):
    places = [bin_of(p, bins) for p in platt(scores, outcomes)]
    return mean_of_same(places, outcomes, [(place + 0.5) / bins for place in places])


def calibeating(scores, outcomes, bins):
    grid = np.arange(bins + 1) / bins
    places = [int(np.abs(grid - score).argmin()) for score in scores]
    return mean_of_same(places, outcomes, [grid[place] for place in places])


def apart(places, outcomes, seeds, play):
    """Each bin's rounds are a stream of their own, played by themselves."""
    predictions = [None] * len(places)
    for place, seed in enumerate(seeds):
        rounds = [t for t, at in enumerate(places) if at == place]
        played = play([float(outcomes[t]) for t in rounds], seed)
        for t, p in zip(rounds, played, strict=True):
            predictions[t] = p
    return predictions


def seeds(seed, count):
    return np.random.SeedSequence(seed).generate_state(count, np.uint64).tolist()


def hops(scores, outcomes, bins, seed):
    places = [bin_of(p, bins) for p in platt(scores, outcomes)]
    return apart(
        places, outcomes, seeds(seed, bins), lambda past, own: rivals.foster_1999(past, bins, own)
    )


def kuleshov_ermon(scores, outcomes, bins, own_bins, seed):
    places = [bin_of(score, bins) for score in scores]
    return apart(
        places,
        outcomes,
        seeds(seed, bins),
        lambda past, own: rivals.foster_1999(past, own_bins, own),
    )


def refit(scores, outcomes, method, window, every):
    """Each round fits the window that the last refit saw, all over again."""
    predictions, best = [], None
    for t, score in enumerate(scores):
        if t and t % every == 0:
            x, y = scores[max(0, t - window) : t], outcomes[max(0, t - window) : t]
            if min(y) < max(y):
                best = {"isotonic": rising, "sigmoid": sigmoid}[method](x, y)
        predictions.append(best(score) if best else score)
    return predictions


def rising(x, y):
    """Least squares among rising maps: ties pooled, then a straight line between the scores."""
    levels, place = np.unique(x, return_inverse=True)
    weight = np.bincount(place)
    fitted = isotonic_regression(np.bincount(place, weights=y) / weight, weights=weight).x
    return lambda score: float(np.interp(score, levels, fitted))


def sigmoid(x, y):
    """Least log loss among sigmoids of the logit, with half the squared slope as a penalty."""

    def logit(p):
        p = inside(p)
        return np.log(p) - np.log1p(-p)

    def loss(line):
        margin = line[0] * logit(x) + line[1]
        return np.sum(np.logaddexp(0, margin) - y * margin) + line[0] ** 2 / 2

    a, b = minimize(loss, [1.0, 0.0], tol=1e-12).x
    return lambda score: logistic(a * float(logit(score)) + b)
