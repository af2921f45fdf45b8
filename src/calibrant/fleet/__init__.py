"""Scores to probabilities for a million keys, in flat arrays.

`fleet.py` holds the class. A fleet has shards that share nothing, each with the keys of certain
hashes (`shard.py`); `rows.py` checks a batch and distributes its rows. `saving.py` converts a shard
to flat arrays, `file.py` writes them to one file. `watch.py` holds the monitors of a shard,
`monitors.py` shows what they found. The rule is in the kernels `fleet_rule` (a key),
`fleet_whole` (what all keys share) and `fleet` (a round); `fleet_state` holds what they learn.
"""

from calibrant.fleet.fleet import Fleet
from calibrant.fleet.known import KnownKey
from calibrant.fleet.monitors import FleetMonitor, FleetMonitors, KeyMiscalibration

__all__ = [
    "Fleet",
    "FleetMonitor",
    "FleetMonitors",
    "KeyMiscalibration",
    "KnownKey",
]
