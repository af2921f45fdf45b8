"""Recalibrators as released versions saved them, with the calls that followed and their results.

``python tests/recalibrate/saved.py FOLDER`` writes them with the calibrant that is installed, one
file a case: gzipped JSON with the bytes in base64 and the calls as [method, arguments, result].
"""

import base64
import gzip
import json
import sys
from pathlib import Path

import numpy as np

from calibrant import MulticlassRecalibrator, Recalibrator

PLAYED, FURTHER, LATE = 500, 50, 4  # rounds before saving and after it, and how late outcomes are

CASES = {
    "probability": (Recalibrator, {}),
    "logit": (Recalibrator, {"kind": "logit"}),
    "margin": (Recalibrator, {"kind": "margin"}),
    "groups": (Recalibrator, {"max_groups": 5}),
    "per-class": (MulticlassRecalibrator, {"classes": ["x", "y", 3]}),
    "top-label": (MulticlassRecalibrator, {"classes": 3, "mode": "top-label"}),
}


def stream(name):
    """Return the arguments of each round's predict and of its update, without ids."""
    random = np.random.default_rng(len(name))
    rounds = PLAYED + FURTHER
    cls, arguments = CASES[name]
    if cls is MulticlassRecalibrator:
        truth = random.dirichlet(np.ones(3), rounds)
        columns = (random.random((rounds, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
        classes = cls(**arguments).classes
        rows = truth**2 / (truth**2).sum(axis=1, keepdims=True)
        return (
            [{"probabilities": row} for row in rows.tolist()],
            [{"label": classes[column]} for column in columns],
        )
    scores = random.normal(0, 2, rounds)
    happened = (random.random(rounds) < 1 / (1 + np.exp(1 - 0.5 * scores))).tolist()
    if name in ("probability", "groups"):
        scores = 1 / (1 + np.exp(-scores))
    inputs = [{"score": score} for score in scores.tolist()]
    if name == "groups":
        inputs = [{**each, "by": ("a", "b", 7, None)[t % 4]} for t, each in enumerate(inputs)]
    return inputs, [{"outcome": outcome} for outcome in happened]


def write(folder, name):
    """Play a past, save it with predictions that wait and finished ids, and log what follows."""
    cls, arguments = CASES[name]
    recalibrator = cls(**arguments, seed=17, capacity=20)
    inputs, outcomes = stream(name)
    for t in range(PLAYED):
        recalibrator.predict(**inputs[t], id=t)
        if t >= LATE:
            recalibrator.update(**outcomes[t - LATE], id=t - LATE)
    recalibrator.predict(**inputs[0])  # one without an id waits too
    blob = recalibrator.to_bytes()
    last = PLAYED - LATE - 1
    calls = [("update", outcomes[0]), ("update", {**outcomes[last], "id": last})]  # told before
    for t in range(PLAYED, PLAYED + FURTHER):
        calls.append(("predict", {**inputs[t], "id": t}))
        calls.append(("update", {**outcomes[t - LATE], "id": t - LATE}))
    log = []
    for method, given in calls:
        result = getattr(recalibrator, method)(**given)
        log.append([method, given, result if result is None else np.asarray(result).tolist()])
    content = {"class": cls.__name__, "bytes": base64.b64encode(blob).decode(), "calls": log}
    path = folder / f"recalibrator-{name}.json.gz"
    path.write_bytes(gzip.compress(json.dumps(content).encode(), mtime=0))


if __name__ == "__main__":
    for case in CASES:
        write(Path(sys.argv[1]), case)
