"""A keyed stream of a million keys: filling it, its memory, its snapshots, a stop and a start.

``python -m benchmarks.keyed_service [KEYS]``. Each key is predicted and learned once, in requests
of 5,000 rows. Meanwhile another client requests one probability after the other: its longest wait
is the delay that a snapshot causes.
"""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import httpx

from benchmarks import machine

ROWS = 5000
STREAM = "/v1/streams/keys"


class Server:
    """``calibrant serve`` on a free port, and how long it took to start."""

    def __init__(self, store):
        begun = time.perf_counter()
        command = [sys.executable, "-m", "calibrant", "serve", "--store", store, "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        lines = (line.strip() for line in self.process.stderr)
        url = next(line for line in lines if line.startswith("http://")).rstrip("/")
        self.seconds = time.perf_counter() - begun
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.http = httpx.Client(base_url=url, timeout=120)

    def megabytes(self):
        """Return resident memory now, and at the most so far."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        found = dict(line.split(":") for line in lines)
        return [int(found[name].split()[0]) // 1024 for name in ("VmRSS", "VmHWM")]

    def processor_seconds(self):
        """Return the processor time that the server has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def timed(self, method, path, body=None):
        """Return how long a request took."""
        begun = time.perf_counter()
        self.http.request(method, STREAM + path, json=body).raise_for_status()
        return time.perf_counter() - begun

    def stop(self, how=signal.SIGTERM):
        """Return how long it takes to end."""
        begun = time.perf_counter()
        self.process.send_signal(how)
        self.process.wait()
        self.http.close()
        return time.perf_counter() - begun


def fill(server, keys):
    """Predict and learn each key once."""
    chance = random.Random(0)
    for start in range(0, keys, ROWS):
        names = [f"customer {key}" for key in range(start, start + ROWS)]
        rows = [{"id": name, "score": chance.random(), "key": name} for name in names]
        server.timed("POST", "/predictions", rows)
        outcomes = [{"id": row["id"], "outcome": int(chance.random() < 0.3)} for row in rows]
        server.timed("POST", "/outcomes", outcomes)


def ask_all_the_time(server, took, ends):
    """Predict single rows of the first keys."""
    while not ends.is_set():
        row = {"id": f"single {len(took)}", "score": 0.5, "key": f"customer {len(took) % 1000}"}
        took.append(server.timed("POST", "/predictions", row))


def snapshots(store):
    """Return the sequence and the size in MB of each snapshot."""
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as reader:
        rows = reader.execute("SELECT sequence, LENGTH(blob) FROM snapshots").fetchall()
        sizes = dict(
            reader.execute("SELECT sequence, SUM(LENGTH(blob)) FROM snapshot_pieces GROUP BY 1")
        )
    reader.close()
    return {sequence: (size + sizes.get(sequence, 0)) // 2**20 for sequence, size in rows}


def main():
    keys = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**6
    print(machine.describe())
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/store.db"
        server = Server(store)
        server.http.put(STREAM, json={"keyed": True}).raise_for_status()
        print("empty: MB now and at the most", server.megabytes())
        took, ends = [], threading.Event()
        asking = threading.Thread(target=ask_all_the_time, args=(server, took, ends))
        asking.start()
        begun = time.perf_counter()
        fill(server, keys)
        seconds = time.perf_counter() - begun
        ends.set()
        asking.join()
        took.sort()
        used = server.processor_seconds()
        print(f"{keys:,} keys, {2 * keys:,} rows in {seconds:,.0f} s: {2 * keys / seconds:,.0f} a "
              f"second, {2 * keys / used:,.0f} a second of the server's processor")  # fmt: skip
        shares = [took[int(share * (len(took) - 1))] for share in (0.5, 0.99, 1.0)]
        print("single rows meanwhile: median, 99 %, longest",
              *(f"{1000 * each:.0f} ms" for each in shares))  # fmt: skip
        print("MB now and at the most", server.megabytes())
        for path in ("", "/keys?limit=50", "/keys?sort=outcomes&limit=50", "/map"):
            print(f"GET {path or 'stream'}: {1000 * server.timed('GET', path):.0f} ms")
        print("snapshots so far, MB:", json.dumps(snapshots(store)))
        print(f"stop: {server.stop():.1f} s; snapshots", json.dumps(snapshots(store)))
        print(f"store: {Path(store).stat().st_size // 2**20:,} MB")
        server = Server(store)
        print(f"start: {server.seconds:.1f} s, {server.processor_seconds():.1f} of processor; "
              "MB now and at the most", server.megabytes())  # fmt: skip
        server.stop(signal.SIGKILL)
        with sqlite3.connect(store) as database:
            database.execute("DELETE FROM snapshots")
        database.close()
        server = Server(store)
        print(f"start from the log alone: {server.seconds:.1f} s, "
              f"{server.processor_seconds():.1f} of processor")  # fmt: skip
        server.stop(signal.SIGKILL)


if __name__ == "__main__":
    main()
