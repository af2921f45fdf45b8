"""The hardware and the versions behind the numbers."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def processor():
    """Return the processor's name as the system gives it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def describe():
    """Return one line that names the machine, the system and the versions."""
    packages = []
    for name in ("calibrant", "numpy", "river"):
        try:
            packages.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return (
        f"{processor()}, {os.cpu_count()} cores; {platform.system()} {platform.machine()}; "
        f"Python {platform.python_version()}; {', '.join(packages)}"
    )
