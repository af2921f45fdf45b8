"""Where alarms are sent and what signs them; neither is ever shown whole."""

from __future__ import annotations

import base64
import binascii
import re
from urllib.parse import urlsplit

#: Addresses, and characters of one.
MOST, MOST_CHARACTERS = 10, 2000
#: How a secret begins; the rest is base64.
PREFIX = "whsec_"
#: Bytes of a secret.
SHORTEST, LONGEST = 24, 64


def checked_url(url: str) -> str:
    """Return an address, or say which are allowed; the error does not show it."""
    try:
        parts = urlsplit(url)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good or len(url) > MOST_CHARACTERS or re.search(r"[^!-~]|#", url):
        raise ValueError("must be addresses that begin with https:// or http://")
    return url


def shown(url: str) -> str:
    """Return an address without what may be secret in it.

    Examples
    --------
    >>> shown("https://me:password@hooks.example:8443/T00/B00/XXXX?key=1")
    'https://hooks.example:8443/...'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/..."


def key_of(secret: str) -> bytes:
    """Return the key in a secret, or say what a secret is; the error does not show it.

    Examples
    --------
    >>> len(key_of("whsec_" + 8 * "MfKQ"))
    24
    """
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not SHORTEST <= len(key) <= LONGEST:
        raise ValueError(
            f"must be {PREFIX} and {SHORTEST} to {LONGEST} bytes in base64, such as "
            f"that of: echo {PREFIX}$(openssl rand -base64 32)"
        )
    return key
