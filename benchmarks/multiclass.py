"""Several classes: losses, calibration and the likeliest class in each mode."""

import numpy as np

from benchmarks.tables import table
from calibrant import MulticlassRecalibrator
from calibrant.measures import (
    classwise_ece,
    confidence_ece,
    multiclass_brier,
    multiclass_log_loss,
    top_label_ece,
)

TITLE = "Recalibration of several classes"
IN_README = ()
SEEDS = range(3)
ROUNDS = 20_000
CLASS_MEASURES = {
    "log loss": multiclass_log_loss,
    "Brier": multiclass_brier,
    "confidence ECE": confidence_ece,
    "top-label ECE": top_label_ece,
    "class-wise ECE": classwise_ece,
}


def overconfident(truth):
    """The model is too sure of itself."""
    return truth**2.5


def lopsided(truth):
    """It favours the later classes."""
    return truth * np.linspace(0.4, 2.0, truth.shape[1])


def drifting(truth):
    """It is right at first and ends too sure of itself."""
    return truth ** np.linspace(1, 3, len(truth))[:, None]


def right(truth):
    return truth


FAMILIES = {each.__name__: each for each in (right, overconfident, lopsided, drifting)}


def case(family, classes, seed):
    """Return the model's rows and the labels that happened."""
    random = np.random.default_rng([seed, classes])
    truth = random.dirichlet(np.ones(classes), ROUNDS)
    labels = (random.random((ROUNDS, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
    model = FAMILIES[family](truth)
    return model / model.sum(axis=1, keepdims=True), labels


def tables(progress):
    for classes in (3, 10):
        rows = []
        for family in FAMILIES:
            progress(f"multiclass: {family}, {classes} classes")
            for mode in ("raw", "per-class", "top-label"):
                values, changed = [], []
                for seed in SEEDS:
                    p, labels = case(family, classes, seed)
                    q = p
                    if mode != "raw":
                        q = MulticlassRecalibrator(classes, mode, seed=seed).run(p, labels)
                    values.append([measure(q, labels) for measure in CLASS_MEASURES.values()])
                    changed.append(np.mean(q.argmax(axis=1) != p.argmax(axis=1)))
                means = [f"{mean:.4f}" for mean in np.mean(values, axis=0)]
                rows.append([f"{family}, {mode}", *means, f"{100 * np.mean(changed):.1f} %"])
        yield table(
            f"{classes} classes, {ROUNDS:,} rounds",
            ["model, mode", *CLASS_MEASURES, "another class on top"],
            rows,
        )
