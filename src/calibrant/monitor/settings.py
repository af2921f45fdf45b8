"""The argument `monitor` of other classes, as in ``Recalibrator(monitor=...)``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calibrant._checks import describe
from calibrant.monitor.monitor import Monitor

#: The arguments of Monitor that may be given. The other object determines when outcomes arrive and
#: how many groups there may be.
ALLOWED = ("every", "tolerance", "alpha", "block")


def settings_of(monitor: object, allowed: tuple[str, ...] = ALLOWED) -> dict[str, Any] | None:
    """Return the arguments of the requested monitor, None if there is none.

    True stands for the defaults of `Monitor()`; others are given as a dict, or as a Monitor, of
    which only the arguments are used.
    """
    if monitor is None or monitor is False:
        return None
    if monitor is True:
        return {}
    if isinstance(monitor, Monitor):
        for name in set(ALLOWED) - set(allowed):
            if monitor._given[name] is not None:
                raise ValueError(f"monitor may have {', '.join(allowed)}, got {name!r}")
        return {name: monitor._given[name] for name in allowed}
    if not isinstance(monitor, Mapping):
        raise ValueError(
            "monitor must be True, a dict of a Monitor's arguments, or a Monitor that has them, "
            f"got {describe(monitor)}"
        )
    for name in monitor:
        if name not in allowed:
            raise ValueError(f"monitor may have {', '.join(allowed)}, got {name!r}")
    checked = Monitor(**monitor)  # raises an error for invalid arguments
    return {name: checked._given[name] for name in monitor}


def monitor_from(settings: Mapping[str, Any], max_groups: int, **more: Any) -> Monitor:
    """Return a monitor with the arguments of `settings_of`."""
    return Monitor(**settings, max_groups=max_groups, **more)
