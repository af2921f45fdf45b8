"""Fleets whose keys are calibrated, and share shocks with their own pending rounds."""

import numpy as np

from calibrant import Fleet
from calibrant._kernels.watch.key_evidence import KeyEvidence


def share_with_a_false_name_of_shared_shocks(runs, wait, is_late):
    """Return the share of runs in which a key is named, and the bound on it.

    The outcomes of each `wait` rounds of a key are the same one event, of the predicted
    probability. If the evidence is to know that they wait together it is `is_late`, else it hears
    each at once.
    """
    random, rounds = np.random.default_rng(5), 400
    fleet, kernel = Fleet(monitor={"tolerance": 0.0}), KeyEvidence(1e6, 0.0, 0.0)
    if is_late:
        kernel = fleet._shards[0].watch.keys
    named, keys = np.zeros(runs, dtype=bool), np.repeat(np.arange(runs), wait)
    predicted = np.full(len(keys), 0.3)
    for block in range(rounds // wait):
        happened = np.repeat(random.random(runs) < 0.3, wait).astype(float)
        if is_late:
            ids = np.arange(len(keys)) + block * len(keys)
            fleet.predict_many(keys, predicted, ids=ids)
            fleet.update_many(happened, ids=ids)
            fleet.monitors  # noqa: B018 - who looks changes nothing
        else:
            kernel.run(keys, predicted, predicted, happened)
            kernel.empty()
        named |= kernel.cells_of_keys()["M"][:, 0].mean(axis=1) >= 5 * rounds
    return named.mean(), 0.2
