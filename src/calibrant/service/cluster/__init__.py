"""Several processes on one PostgreSQL database: each stream has one owner, and any process answers.

`member` takes and releases streams, `terms` keeps a process a member, and `relay` forwards requests
to the owner of their stream.
"""

try:
    import httpx as httpx
except ImportError as error:
    raise ImportError(
        "calibrant.service.cluster needs httpx: pip install 'calibrant[service]'"
    ) from error
