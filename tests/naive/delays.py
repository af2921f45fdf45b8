"""The comparison of delays, pair by pair."""

import math


def compare_ranks(outcomes, late, scores):
    """Return z and the share of pairs in which the 1 came later, of rows five by five."""
    order = sorted(range(len(scores)), key=lambda row: scores[row])
    size, extra = divmod(len(order), 20)  # the first bins hold one row more
    explained, start = [0.0] * len(order), 0
    for number in range(20):
        rows = order[start : start + size + (number < extra)]
        start += len(rows)
        for row in rows:
            explained[row] = sum(outcomes[other] for other in rows) / len(rows)
    sets = [range(first, first + 5) for first in range(0, len(outcomes) - 4, 5)]
    # The slope of outcomes on what is explained of them, both as they differ within a set.
    above = below = 0.0
    for rows in sets:
        mean_y = sum(outcomes[row] for row in rows) / 5
        mean_e = sum(explained[row] for row in rows) / 5
        above += sum((explained[row] - mean_e) * (outcomes[row] - mean_y) for row in rows)
        below += sum((explained[row] - mean_e) ** 2 for row in rows)
    sums, pairs = [], 0
    for rows in sets:
        beaten = {
            row: sum(late[row] > late[other] for other in rows) / 2
            - sum(late[row] < late[other] for other in rows) / 2
            for row in rows
        }
        rest = {row: outcomes[row] - above / below * explained[row] for row in rows}
        sums.append(sum(rest[row] * beaten[row] for row in rows))
        pairs += sum(outcomes[a] == 1 and outcomes[b] == 0 for a in rows for b in rows)
    return sum(sums) / math.sqrt(sum(S * S for S in sums)), 0.5 + sum(sums) / pairs
