"""A PostgreSQL of its own, in a temporary folder, for sieges and for tests."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

USER = "postgres"


def programs():
    """Return the folder of PostgreSQL's programs, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


def as_user(*command):
    """Run a command as a user that PostgreSQL accepts: anybody but root."""
    prefix = ["runuser", "-u", USER, "--"] if os.geteuid() == 0 else []
    return subprocess.run(
        [*prefix, *map(str, command)], check=True, capture_output=True, text=True, cwd="/"
    )


@contextlib.contextmanager
def database():
    """Start a PostgreSQL that listens on a socket in a folder; return its address."""
    bin_, folder = programs(), Path(tempfile.mkdtemp(prefix="calibrant-postgres-"))
    data = folder / "data"
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, USER)
        as_user(bin_ / "initdb", "-D", data, "-U", "calibrant", "-A", "trust", "-E", "UTF8", "-N")
        listens = f"-c listen_addresses= -c unix_socket_directories={folder}"
        as_user(bin_ / "pg_ctl", "-D", data, "-w", "-o", listens, "-l", folder / "log", "start")
        try:
            yield f"postgresql://calibrant@/postgres?host={folder}"
        finally:
            as_user(bin_ / "pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
