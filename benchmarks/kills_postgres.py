"""A separate PostgreSQL server in a temporary folder, for benchmarks and tests."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

USER = "postgres"


def programs():
    """Return the folder of PostgreSQL's programs, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


def options():
    """Return how to start a program as a user that PostgreSQL accepts: anybody but root."""
    is_root = os.geteuid() == 0
    own = {"user": USER, "group": USER, "extra_groups": []} if is_root else {}
    return own | {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": "/"}


@contextlib.contextmanager
def database():
    """Start a PostgreSQL that listens on a socket in a folder; return its address."""
    bin_, folder = programs(), Path(tempfile.mkdtemp(prefix="calibrant-postgres-"))
    data, address = folder / "data", f"postgresql://calibrant@/postgres?host={folder}"
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, USER, USER)
        make = [bin_ / "initdb", "-D", data, "-U", "calibrant", "-A", "trust", "-E", "UTF8", "-N"]
        subprocess.run(make, check=True, **options())
        start = [bin_ / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="]
        server = subprocess.Popen(start, **options())
        try:
            wait_for(bin_ / "pg_isready", folder)
            yield address
        finally:
            server.send_signal(signal.SIGQUIT)  # at once; the data are not needed any more
            server.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(ready, folder, patience=60.0):
    """Wait until a database accepts connections on its socket."""
    end = time.monotonic() + patience
    while subprocess.run([ready, "-q", "-h", folder], check=False).returncode != 0:
        if time.monotonic() > end:
            raise TimeoutError(f"no PostgreSQL in {folder} after {patience:.0f} s")
        time.sleep(0.05)
