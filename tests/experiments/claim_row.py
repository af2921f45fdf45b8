"""A row of table1.json."""

CLAIM = {
    "error": "Cal2", "world": "stationary", "claim": "log T", "theorem": "stationary",
    "forecaster": "epoch", "axis": "T", "claimed_exponent": 0.0, "log_power": 1.0,
    "fitted": 0.03, "low": -0.01, "high": 0.07, "x": [1000, 10000, 100000],
    "mean": [3.0, 4.1, 5.2], "spread": [0.5, 0.4, 0.6], "over_lower_bound": 2.0,
    "ns_per_round": None, "cost_exponent": None, "verdict": "passes",
    "reason": "0.03 is at most 0.08.",
}  # fmt: skip
