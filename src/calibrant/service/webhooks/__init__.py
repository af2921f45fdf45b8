"""Webhooks: alarms as signed POST requests to the operator's addresses, at least once.

`policy` decides which stored events are sent, `message` writes and signs one, and `courier` sends
them: in order, with retries, from the last one that was received.
"""

try:
    import httpx as httpx
except ImportError as error:
    raise ImportError(
        "calibrant.service.webhooks needs httpx: pip install 'calibrant[service]'"
    ) from error
