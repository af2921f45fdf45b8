"""Scores to probabilities for a million keys, in flat arrays.

`fleet.py` holds the class. A fleet has shards that share nothing, each with the keys of certain
hashes (`shard.py`); `rows.py` checks a batch and deals its rows out to them. `saving.py` makes flat
arrays of a shard, `file.py` one file of them. `watch.py` holds the monitors of a shard,
`monitors.py` shows what they found. The rule stands in the kernels `fleet_rule` (a key),
`fleet_whole` (what all keys share) and `fleet` (a round); `fleet_state` holds what they learn.
"""

from calibrant.fleet.fleet import Fleet as Fleet
from calibrant.fleet.known import KnownKey as KnownKey
from calibrant.fleet.monitors import FleetMonitor as FleetMonitor
from calibrant.fleet.monitors import FleetMonitors as FleetMonitors
from calibrant.fleet.monitors import KeyMiscalibration as KeyMiscalibration
