"""The clause of a recalibrator's contract on outcomes that have weights, where it takes any."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from calibrant.testing.subject import Call, Subject, require, require_same

#: What is no weight.
NOT_WEIGHTS: tuple[Any, ...] = (-1.0, float("nan"), float("inf"), "heavy", None)


def check_weights(subject: Subject) -> None:
    """A weight that all outcomes have is none; `run` is the steps; 0 teaches nothing; saving."""
    if "weights" not in inspect.signature(subject.cls.run).parameters:  # type: ignore[attr-defined]
        return
    for kind, rounds in subject.streams(80, 31):
        weights = np.where(np.arange(80) % 5, 1.0, 20.0)
        plain, same, running, stepping = (subject.make() for _ in range(4))
        expected = [rounds.run(plain), rounds.run(same, weights=np.full(80, 4.0))]
        require_same(expected, f"the same weight for all is not as none on {kind}")
        ran = rounds.run(running, weights=weights)
        steps = []
        for t in range(80):
            steps.append(rounds.predict(stepping, t))
            named = subject.calls.name(t)
            more = {**named, "weight": float(weights[t])}
            subject.calls.update(stepping, rounds.outcomes[t], **more)
        require_same([ran, steps], f"run() with weights differs from the steps on {kind}")
        require(running.learned == 80, f"learned = {running.learned} of 80 with weights")
        nothing = subject.make()
        rounds.run(nothing, weights=np.zeros(80))
        require(nothing.learned == 0, f"learned = {nothing.learned} where all weights are 0")
        if subject.can("predict_many") and subject.can_be_saved:
            rounds.predict_many(running, 0, 40)
            again = type(running).from_bytes(running.to_bytes())
            for player in (running, again):
                rounds.update_many(player, list(range(40)), weights=weights[:40])
            states = [subject.state_of(player) for player in (running, again)]
            require(states[0] == states[1], f"a saved recalibrator weighs otherwise on {kind}")


def check_bad_weights(subject: Subject) -> None:
    """What is no weight is refused, and the whole call with it."""
    if "weights" not in inspect.signature(subject.cls.run).parameters:  # type: ignore[attr-defined]
        return
    if not subject.can("predict_many"):
        return
    outcomes = subject.stream(3, 26).columns[-1].tolist()
    calls: list[Call] = []
    for bad in NOT_WEIGHTS:
        if bad is not None:
            calls.append(("update", (outcomes[0],), {"id": "waits", "weight": bad}))
        calls.append(("update_many", (outcomes[:1],), {"ids": ["waits"], "weights": [bad]}))
    more = {"ids": ["waits"], "weights": [1.0, 2.0]}
    calls.append(("update_many", (outcomes[:1],), more))
    subject.require_refused(calls)


WEIGHTS = (check_weights, check_bad_weights)
