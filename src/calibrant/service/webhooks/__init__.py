"""Alarms that ring elsewhere: a signed POST to the operator's addresses, at least once.

`policy` says which stored events ring, `message` how one is written and signed, and `courier`
brings them: in order, again after a failure, from the last one that was received.
"""

try:
    import httpx as httpx
except ImportError as error:
    raise ImportError(
        "calibrant.service.webhooks needs httpx: pip install 'calibrant[service]'"
    ) from error
