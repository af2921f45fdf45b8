"""Install a wheel as a user would, without a compiler and without the source, and use it.

    python packaging/check_wheel.py dist/calibrant-*.whl [--python python3.12] [--extra river ...]
    python packaging/check_wheel.py dist/calibrant-*.whl --tests [--numpy 'numpy==2.0.*']

First a fresh environment with the core only, in which the README's example and the command line
run; then one for each extra, with its own example. Prints the time of each. `--tests` runs the
quick part of the tests against the installed package instead of the extras.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT)]

from benchmarks import kills_postgres  # noqa: E402

# One short example an extra: what somebody would try first.
EXAMPLES = {
    "lp": """
import numpy as np
from calibrant.measures import lower_distance
print(lower_distance(np.array([0.2, 0.8, 0.8]), np.array([0.0, 1.0, 1.0])))
""",
    "parquet": """
import numpy as np, pyarrow as pa, pyarrow.parquet as pq, subprocess, sys
random = np.random.default_rng(1)
s = random.random(500)
pq.write_table(pa.table({"s": s, "y": (random.random(500) < s).astype(int)}), "scores.parquet")
subprocess.run(["calibrant", "recalibrate", "scores.parquet", "--score", "s", "--outcome", "y",
                "--out", "done.parquet"], check=True)
print(pq.read_table("done.parquet").column_names)
""",
    "sklearn": """
import numpy as np
from sklearn.naive_bayes import GaussianNB
from calibrant.integrations.sklearn import OnlineCalibratedClassifier
X = np.random.default_rng(0).normal(size=(2000, 3))
y = (X[:, 0] + np.random.default_rng(1).normal(size=2000) > 0).astype(int)
print(OnlineCalibratedClassifier(GaussianNB()).fit(X, y).predict_proba(X[:2]))
""",
    "river": """
from river import linear_model
from calibrant.integrations.river import CalibratedClassifier
model = CalibratedClassifier(linear_model.LogisticRegression())
for t in range(100):
    model.learn_one({"x": t % 7}, t % 7 > 3)
print(model.predict_proba_one({"x": 5}))
""",
    "plot": """
import subprocess
subprocess.run(["calibrant", "recalibrate", "nba538", "--score", "score", "--outcome", "outcome",
                "--report", "report.html"], check=True, stdout=subprocess.DEVNULL)
print(len(open("report.html").read()), "characters of report")
""",
    "ray": """
import subprocess
subprocess.run(["calibrant", "compare", "--forecasters", "zoom,epoch", "--streams", "iid",
                "--horizons", "100", "--seeds", "2", "--engine", "ray", "--out", "sweep"],
               check=True)
""",
    "spark": """
import os, sys
import pandas as pd
from pyspark.sql import SparkSession
from calibrant.integrations.spark import CONFIGURATION, recalibrate, to_folder
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
builder = SparkSession.builder.master("local[1]")
for name, value in CONFIGURATION.items():
    builder = builder.config(name, value)
spark = builder.config("spark.sql.shuffle.partitions", 1).getOrCreate()
times = pd.date_range("2026-01-01", periods=100, freq="s", unit="us")
os.makedirs("rows")
pd.DataFrame({"shop": ["a", "b"] * 50, "id": range(100), "score": 0.3, "sold": 0.0,
              "at": times}).to_parquet("rows/0.parquet")
schema = "shop string, id bigint, score double, sold double, at timestamp"
rows = spark.readStream.schema(schema).parquet("rows/")
answers = recalibrate(rows, key="shop", id="id", score="score", outcome="sold", time="at", shards=1)
query = answers.writeStream.foreachBatch(to_folder("answers/"))
query = query.option("checkpointLocation", "checkpoint/").trigger(availableNow=True).start()
query.awaitTermination()
assert len(pd.read_parquet("answers/")) == 100
""",
    "service": """
import subprocess, sys
from calibrant.service import Client
server = subprocess.Popen(["calibrant", "serve", "--port", "8471", *sys.argv[1:]])
try:
    with Client("http://127.0.0.1:8471") as client:
        client.put_stream("fraud")
        client.predict("fraud", 0.83, id="order 17")
        assert client.update("fraud", 1, id="order 17") == "applied"
finally:
    server.terminate()
    assert server.wait() == 0
""",
}
EXAMPLES["postgres"] = EXAMPLES["service"]  # with a database as its store
COMMAND = shlex.split(
    "calibrant recalibrate nycflights --score score --outcome outcome --time t "
    "--available landed --due due --silence 1"
)


def readme_example() -> str:
    """Return the README's first Python example, as it would be typed."""
    block = (ROOT / "README.md").read_text().split("```python\n", 1)[1].split("```", 1)[0]
    typed = [line[4:] for line in block.splitlines() if line.startswith((">>> ", "... "))]
    return "\n".join(typed)


class Environment:
    """A virtual environment in an empty folder, with nothing else on its PATH."""

    def __init__(self, folder: Path, python: str):
        self.bin = folder / "venv" / "bin"
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        subprocess.run([python, "-m", "venv", str(folder / "venv")], check=True)
        # No /usr/bin: a compiler that is not on the PATH cannot be used by mistake. HOME is kept,
        # since pip finds its configuration by it.
        self.variables = {"PATH": str(self.bin), "HOME": os.environ["HOME"], "LANG": "C.UTF-8"}
        for name, value in os.environ.items():
            if name.startswith("PIP_") or name.upper() in {"HTTPS_PROXY", "NO_PROXY", "JAVA_HOME"}:
                self.variables[name] = value

    def run(self, *command: str) -> str:
        """Run a command in the empty folder; show what it printed if it fails."""
        done = subprocess.run(
            command, cwd=self.work, env=self.variables, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            sys.exit(f"{command}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def install(self, *what: str) -> float:
        """Install and return the seconds that it took."""
        start = time.perf_counter()
        pip = [str(self.bin / "python"), "-m", "pip", "install", "-q", "--only-binary", ":all:"]
        # Spark, which is Java and Python, is published without wheels.
        self.run(*pip, "--no-binary", "pyspark", "--disable-pip-version-check", *what)
        return time.perf_counter() - start


def main() -> None:
    """Check one wheel with one Python."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=sys.executable, help="the interpreter to use")
    parser.add_argument("--extra", action="append", help="only these extras", choices=[*EXAMPLES])
    parser.add_argument("--numpy", default="numpy", help="which NumPy, such as numpy==2.0.*")
    parser.add_argument("--tests", action="store_true", help="run the quick tests on it")
    arguments = parser.parse_args()
    wheel = arguments.wheel.resolve()
    size = wheel.stat().st_size / 2**20
    print(f"{wheel.name}: {size:.1f} MiB")
    with tempfile.TemporaryDirectory() as folder:
        core = Environment(Path(folder) / "core", arguments.python)
        print(f"core: installed in {core.install(str(wheel), arguments.numpy):.1f} s")
        python = str(core.bin / "python")
        core.run(python, "-c", readme_example())
        print("README's first example: runs")
        printed = core.run(str(core.bin / COMMAND[0]), *COMMAND[1:])
        (finding,) = (line for line in printed.splitlines() if "the Brier score fell" in line)
        print(f"recalibrate nycflights: {finding}")
        took = core.run(python, "-c", IMPORT_TIME)
        print(f"import: {took.strip()}")
        if arguments.tests:
            settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
            core.install(*settings["dependency-groups"]["quick"], arguments.numpy)
            command = settings["tool"]["cibuildwheel"]["test-command"].format(project=ROOT)
            passed = core.run(str(core.bin / "python"), *shlex.split(command)[1:]).splitlines()[-1]
            print(f"{core.run(python, '-c', VERSIONS).strip()}: {passed}")
        for extra in arguments.extra or ([] if arguments.tests else EXAMPLES):
            place = Environment(Path(folder) / extra, arguments.python)
            extras = "service,postgres" if extra == "postgres" else extra
            seconds = place.install(f"{wheel}[{extras}]", arguments.numpy)
            print(f"[{extra}]: installed in {seconds:.1f} s, {example(place, extra)}", flush=True)


def example(place: Environment, extra: str) -> str:
    """Run the example of an extra; return what to say of it."""
    command = [str(place.bin / "python"), "-c", EXAMPLES[extra]]
    if extra == "spark":
        if shutil.which("java") is None:
            return "its example needs Java and did not run"
        # Spark starts by a shell script; what is installed is installed by now.
        place.variables["PATH"] += os.pathsep + os.environ["PATH"]
    if extra != "postgres":
        place.run(*command)
    elif kills_postgres.programs() is None:
        return "its example needs PostgreSQL and did not run"
    else:
        with kills_postgres.database() as address:
            place.run(*command, "--store", address)
    return "its example runs"


# In processor time, so that a busy machine does not matter. Names are imported when they are used:
# what the class that most people use takes is measured too.
IMPORT_TIME = """
import os, resource, sys
def seconds(code):
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", code], os.environ)
    used = os.wait4(child, 0)[2]
    return used.ru_utime + used.ru_stime
codes = "pass", "import numpy", "import calibrant", "from calibrant import Recalibrator"
tries = [[seconds(code) for code in codes] for _ in range(15)]
bare, numpy, package, name = map(min, zip(*tries))
from calibrant import Recalibrator
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{(package - bare) / (numpy - bare):.2f} of NumPy's time, with Recalibrator "
      f"{(name - bare) / (numpy - bare):.2f}, {memory:.0f} MiB resident")
"""
VERSIONS = (
    "import numpy, platform as p; print(f'CPython {p.python_version()}, NumPy {numpy.__version__}')"
)

if __name__ == "__main__":
    main()
