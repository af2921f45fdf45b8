"""Start the service from the image that `make image` built, as its user, and use it.

    python packaging/check_image.py [--kills 1]

Needs root: the image is mounted by buildah and entered with chroot, without a container engine.
Prints the size of the image beyond its base, and the seconds until the service is ready and until
it stops. With `--kills`, clients write while the service is killed and restarted, and their answers
are compared with the store; this needs what `make setup` installs.
"""

import argparse
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
BUILDAH = ["buildah", "--storage-driver", "vfs"]
#: Seconds for the first answer of a machine that is busy with other things.
PATIENCE = 300.0


def buildah(*command: str) -> str:
    """Run buildah and return what it printed."""
    return subprocess.run([*BUILDAH, *command], check=True, capture_output=True, text=True).stdout


@contextlib.contextmanager
def mounted(image: str) -> Iterator[Path]:
    """Return the root folder of a container of an image."""
    container = buildah("from", "--pull-never", image).strip()
    try:
        yield Path(buildah("mount", container).strip())
    finally:
        buildah("rm", container)


class Server:
    """The service in the image: as its user, with its variables, and nothing of this machine's."""

    def __init__(self, root: Path, port: int):
        self.port, self.url = port, f"http://127.0.0.1:{port}"
        image = json.loads(buildah("inspect", "--type", "image", "calibrant"))
        settings = image["Docker"]["config"]
        # Not on all addresses: this is the machine of whoever builds.
        own = {"CALIBRANT_HOST": "127.0.0.1", "CALIBRANT_PORT": str(port)}
        self._variables = dict(each.split("=", 1) for each in settings["Env"]) | own
        self._command = ["chroot", f"--userspec={settings['User']}", str(root)]
        self._command += [*settings["Entrypoint"], *settings["Cmd"], "--log-level", "warning"]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, without waiting until it is ready."""
        # The PATH is the image's: chroot looks there for what it starts.
        self._process = subprocess.Popen(self._command, env=self._variables)

    def wait_until_ready(self) -> None:
        """Wait until the probe says that rows can be stored."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{self.url}/readyz", timeout=5).close()
                return
            time.sleep(0.01)
        sys.exit(f"not ready after {PATIENCE:g} seconds")

    @property
    def is_alive(self) -> bool:
        """Whether its process runs."""
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """End it with SIGKILL."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> float:
        """End it with SIGTERM, as an orchestrator does; return the seconds that it took."""
        assert self._process is not None
        began = time.monotonic()
        self._process.terminate()
        if self._process.wait(30) != 0:
            sys.exit(f"stopped with {self._process.returncode}")
        return time.monotonic() - began

    def last_words(self) -> str:
        """Return nothing: what it says is seen on the terminal."""
        return ""


def size(folder: Path) -> float:
    """Return what a folder takes on the disk, in MB."""
    found = subprocess.run(["du", "-s", "--block-size=1", folder], check=True, capture_output=True)
    return int(found.stdout.split()[0]) / 1e6


def main() -> None:
    """Check the image; the exit code is 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=0)
    kills = parser.parse_args().kills
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with mounted("calibrant") as root:
        print(f"image: {size(root / 'opt'):.0f} MB over a base of "
              f"{size(root) - size(root / 'opt'):.0f} MB")  # fmt: skip
        before = files(root)
        server = Server(root, port)
        try:
            began = time.monotonic()
            server.start()
            server.wait_until_ready()
            ready = time.monotonic() - began
            print(f"ready after {ready:.1f} s, stopped in {server.stop():.1f} s")
            if kills:
                under_kills(root, server, kills)
        finally:
            if server.is_alive:
                server.kill()
        written = sorted(files(root) ^ before)
        if written:
            sys.exit(f"written outside of /data: {written}")


def under_kills(root: Path, server: Server, kills: int) -> None:
    """Kill the service while clients write; leave if an answer is not what the store holds."""
    sys.path[:0] = [str(ROOT)]
    from benchmarks.kills import siege  # noqa: PLC0415 - takes the service's packages

    result = siege(root / "data" / "calibrant.db", [server], kills)
    counts = result.verdict.counts
    answers = counts["answers to predictions"] + counts["answers to outcomes"]
    print(f"{result.kills} kills, {answers:,} rows answered, found wrong: {result.verdict.wrong}")
    if result.verdict.wrong or result.kills < kills:
        sys.exit(1)


def files(root: Path) -> set[tuple[str, float]]:
    """Return the files outside of /data, and when each was written."""
    found = (
        os.path.join(folder, name)  # noqa: PTH118 - thousands
        for folder, _, names in os.walk(root)
        if folder != str(root / "data")
        for name in names
    )
    return {(path, os.lstat(path).st_mtime) for path in found}


if __name__ == "__main__":
    main()
