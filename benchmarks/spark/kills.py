"""Kill the driver with SIGKILL at random moments, restart it, and check sink and state.

Each time the whole process group is killed while the query works, including Python workers and
the Java runtime. In the end every row must have one answer, equal bit for bit to that of a
local fleet, and the state must equal that of the fleet.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.spark.job import BEGUN, STATE, write_files
from calibrant import Fleet


def start(folder: Path, shards: int) -> subprocess.Popen:
    """Start the query in a process group of its own."""
    command = [sys.executable, "-m", "benchmarks.spark.job", str(folder), "recalibrate"]
    with (folder / "log").open("a") as log:
        return subprocess.Popen(
            [*command, str(shards), "2"], stdout=log, stderr=log, start_new_session=True
        )


def batches_begun(folder: Path) -> int:
    return len(list((folder / "recalibrate-checkpoint" / "offsets").glob("[0-9]*")))


def kill_at_random(folder: Path, shards: int, kills: int, seed: int, window: float = 4.0) -> int:
    """Play the files, killed so many times on the way; return how many kills hit an open batch.

    A kill comes at random within a window of seconds after the start of the query, which grows
    until a batch is committed in it: kills strike before, within and after the commits of sink and
    state.
    """
    rng = np.random.default_rng(seed)
    (folder / "log").touch()
    killed = failed = inside = 0
    while killed < kills:
        lives, before = lives_begun(folder), committed(folder)
        query = start(folder, shards)
        while query.poll() is None and lives_begun(folder) == lives:
            time.sleep(0.05)
        time.sleep(rng.uniform(0.0, window))
        if query.poll() is not None:
            # Spark gives a Python worker ten seconds to start: on a busy machine that may fail.
            assert query.returncode != 0, f"no file is left after {killed} kills: give more"
            failed += 1
            assert failed < 5, (folder / "log").read_text()[-3000:]
            continue
        os.killpg(query.pid, signal.SIGKILL)
        query.wait()
        killed += 1
        open_now = batches_begun(folder) - committed(folder)
        inside += open_now
        window *= 1.3 if committed(folder) == before else 1.0
        print(f"kill {killed}: {committed(folder)} batches committed, {open_now} open", flush=True)
    assert start(folder, shards).wait() == 0, (folder / "log").read_text()[-3000:]
    return inside


def lives_begun(folder: Path) -> int:
    return (folder / "log").read_text().count(BEGUN)


def committed(folder: Path) -> int:
    return len(list((folder / "recalibrate-checkpoint" / "commits").glob("[0-9]*")))


def local_answers(folder: Path, shards: int) -> tuple[pd.Series, Fleet]:
    """Return what a local fleet says of the same rows, by id."""
    files = sorted((folder / "in").glob("*.parquet"))
    rows = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
    rows["micros"] = rows["time"].astype("int64")
    rows["late"] = rows["score"].isna()
    rows = rows.sort_values(["micros", "late", "key", "id"], kind="stable")
    fleet = Fleet(shards=shards)
    is_whole = rows["score"].notna() & rows["outcome"].notna()  # whose ids are not looked at
    said, _ = fleet.play(
        rows["key"].to_numpy(), rows["score"].to_numpy(), rows["outcome"].to_numpy(),
        ids=rows["id"].astype(object).mask(is_whole, None).tolist(),
        at=rows["micros"].to_numpy() / 1e6,
    )  # fmt: skip
    has = ~rows["late"].to_numpy()
    return pd.Series(said[has], index=rows["id"].to_numpy()[has]).sort_index(), fleet


def check(folder: Path, shards: int) -> str:
    """Compare sink and state with the local fleet; return what was compared, or raise."""
    said, local = local_answers(folder, shards)
    answers = pd.read_parquet(folder / "recalibrate")
    state = Fleet.load(folder / STATE)
    assert (answers["answer"] == "prediction").all(), answers["reason"].value_counts()
    assert len(answers) == len(said), f"{len(answers):,} answers to {len(said):,} rows"
    found = answers.set_index("id")["prediction"].sort_index()
    assert (found.index == said.index).all()
    assert (found.to_numpy() == said.to_numpy()).all(), "predictions differ"
    for shard in range(shards):
        ours, theirs = state.shard_arrays(shard), local.shard_arrays(shard)
        for name, array in theirs.items():
            if not name.endswith("_index_table"):
                assert ours[name].tobytes() == array.tobytes(), (shard, name)
    return f"{len(said):,} answers and {len(state):,} keys, equal bit for bit to a local fleet"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--files", type=int, default=60, help="one per batch")
    parser.add_argument("--rows", type=int, default=20_000, help="rows a file")
    parser.add_argument("--keys", type=int, default=20_000)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(
            folder / "in", files=given.files, rows=given.rows, keys=given.keys, late=0.2,
            seed=given.seed,
        )  # fmt: skip
        inside = kill_at_random(folder, given.shards, given.kills, given.seed)
        said = check(folder, given.shards)
        print(f"{given.kills} kills, {inside} inside a batch: {said}")


if __name__ == "__main__":
    main()
