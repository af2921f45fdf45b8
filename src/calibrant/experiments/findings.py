"""The main findings, in sentences computed from the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from calibrant.experiments.claims import FAILS, NOT_VISIBLE, PASSES, VERDICTS, Claim
from calibrant.experiments.results import HOPELESS, rank, ratios
from calibrant.experiments.table1 import constants_of
from calibrant.report.style import show_number

Means = Mapping[str, Mapping[str, float]]


def headline(means: Means, measure: str) -> list[str]:
    """Say who has the smallest error on most streams, and how it does on the others."""
    order = rank(means)
    best = order[0]
    if len(order) == 1:
        return [f"{best} was run alone: the numbers say how it did, and compare it with none."]
    decided = {stream: row for stream, row in means.items() if np.isfinite(min(row.values()))}
    its = {stream: row for stream, row in decided.items() if best in row}
    if not its:
        return [f"Mean {measure} is infinite for all, on every stream: there is no winner."]
    lost = {stream: row for stream, row in its.items() if row[best] > min(row.values())}
    won = f"{len(its) - len(lost)} of {count(len(its), 'stream')}"
    if not lost:
        sentences = [f"{best} has the smallest mean {measure} on {won}."]
    else:
        sentences = [
            f"Over all streams, {best} does best: it has the smallest mean {measure} on {won}.",
            _where_lost(best, lost),
        ]
    if len(decided) < len(means):
        sentences.append(f"On {count(len(means) - len(decided), 'stream')}, all are infinite.")
    second = typical(decided, order[1])
    sentences.append(
        f"{order[1]} does as well."
        if second == typical(decided, best) == 1.0
        else f"Next over all streams is {order[1]}: typically {show_number(second)} times the "
        "smallest."
    )
    return sentences


def typical(means: Means, name: str) -> float:
    """Return the geometric mean of a forecaster's errors over the smallest; NaN if it has none."""
    over = [min(ratios(row)[name], HOPELESS) for row in means.values() if name in row]
    return float(np.exp(np.mean(np.log(over)))) if over else float("nan")


def _where_lost(best: str, lost: Means) -> str:
    """Say by how much the best forecaster loses where it does, in the worst case."""
    over = {stream: ratios(row)[best] for stream, row in lost.items()}
    worst = max(over, key=lambda stream: over[stream])
    row = lost[worst]
    numbers = (
        f"{show_number(row[best])} against {show_number(min(row.values()))} of {_winners(row)}, "
        f"on {worst}"
    )
    if np.isinf(over[worst]):
        finite = [ratio for ratio in over.values() if np.isfinite(ratio)]
        rest = f"; elsewhere it is at most {show_number(max(finite))} times" if finite else ""
        return f"Where it has not, the largest gap is {numbers}{rest}."
    return (
        f"Where it has not, it is at most {show_number(over[worst])} times the smallest: {numbers}."
    )


def losses(means: Means, best: str) -> list[list[str | float]]:
    """Return a row for each stream that the best forecaster does not win.

    The stream, its error, the smallest error and its forecaster, and the ratio of the two.
    """
    rows: list[list[str | float]] = []
    for stream, row in means.items():
        smallest = min(row.values())
        if best in row and row[best] > smallest:
            rows.append([stream, row[best], smallest, _winners(row), ratios(row)[best]])
    return rows


def _winners(row: Mapping[str, float]) -> str:
    """Return the forecasters with the smallest error."""
    first, *others = (name for name, error in row.items() if error == min(row.values()))
    return f"{first} and {count(len(others), 'other')}" if others else first


def verdicts(claims: Sequence[Claim]) -> str:
    """Say how many claims hold beyond the best fixed grid, by the constants behind them."""
    kinds = {"paper": "with printed constants", "tuned": "with tuned ones", "zoom": "of Zoom"}
    parts = []
    for constants, words in kinds.items():
        found = [each for each in claims if constants_of(each.forecaster) == constants]
        if not found:
            continue
        counts = Counter(claim.verdict for claim in found)
        rest = ", ".join(
            f"{counts[verdict]} {_verb(verdict, counts[verdict])}"
            for verdict in VERDICTS[1:]
            if counts[verdict]
        )
        parts.append(
            f"{counts[PASSES]} of {count(len(found), 'claim')} {words}" + (rest and f" ({rest})")
        )
    return f"Beyond the best fixed grid pass {', '.join(parts)}, at these sizes."


def reasons(claims: Sequence[Claim]) -> list[str]:
    """Say why claims fail or are not visible, grouped by reason."""
    groups: dict[tuple[str, str], list[str]] = {}
    for claim in claims:
        if claim.verdict in (FAILS, NOT_VISIBLE):
            groups.setdefault((claim.verdict, claim.reason), []).append(name_claim(claim))
    return [
        f"{verdict}: {'; '.join(names)}. {reason}" for (verdict, reason), names in groups.items()
    ]


def name_claim(claim: Claim) -> str:
    """Return which error of which forecaster a claim bounds, and in what."""
    return f"{claim.error} of {name_forecaster(claim)} in {claim.axis}"


def name_forecaster(claim: Claim) -> str:
    """Return the forecaster of a claim in a few words; (C) means that it is given the deviation."""
    given = claim.parameters
    # The error shows by which measure a base is tested.
    which = given.get("base", given.get("measure", ""))
    words = [claim.kind, which, "(C)" if "deviation" in given else ""]
    return " ".join(filter(None, words)) + (", paper" if given.get("constants") == "paper" else "")


def interval(low: float, high: float) -> str:
    """Return an interval as text that is not broken over two lines."""
    # Adding 0 turns a -0 that rounding left into 0.
    return f"{round(low, 2) + 0.0:.2f}\u00a0to\u00a0{round(high, 2) + 0.0:.2f}"


def _verb(verdict: str, number: int) -> str:
    if number == 1:
        return verdict if verdict == "fails" else f"is {verdict}"
    return "fail" if verdict == "fails" else f"are {verdict}"


def count(number: int, word: str) -> str:
    """Return a number of things."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
