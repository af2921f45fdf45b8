"""Install a wheel where a user would, with no compiler and no source in sight, and use it.

    python packaging/check_wheel.py dist/calibrant-*.whl [--python 3.12 ...] [--extra river ...]

For each Python: a fresh environment with the core alone, in which the README's example and the
command line run; then one environment for each extra, with an example of its own. Prints a table of
what each took. `--tests` runs the quick part of the tests against the installed package too.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]

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
import ray
print("ray", ray.__version__)
from calibrant.experiments.engines import ray as engine
print(engine.__name__)
""",
    "spark": """
import calibrant.integrations.spark as spark
print(sorted(name for name in spark.__all__))
""",
    "service": """
import calibrant.service
print(calibrant.service.__name__)
import subprocess
print(subprocess.run(["calibrant", "serve", "--help"], check=True, capture_output=True).stdout[:40])
""",
    "postgres": """
import psycopg
print("psycopg", psycopg.__version__)
""",
}
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
        self.run(*pip, "--disable-pip-version-check", *what)
        return time.perf_counter() - start


def main() -> None:
    """Check one wheel for each Python that it fits."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=sys.executable, help="the interpreter to use")
    parser.add_argument("--extra", action="append", help="only these extras", choices=[*EXAMPLES])
    parser.add_argument("--numpy", default="numpy", help="which NumPy, such as numpy==2.0.*")
    parser.add_argument("--tests", action="store_true", help="run the quick tests on it too")
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
        last = core.run(str(core.bin / COMMAND[0]), *COMMAND[1:]).strip().splitlines()[-1]
        print(f"recalibrate nycflights: {last.strip()}")
        took = core.run(python, "-c", IMPORT_TIME)
        print(f"import: {took.strip()}")
        if arguments.tests:
            core.install(
                *tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["quick"]
            )
            print(core.run(python, "-m", "pytest", *QUICK).splitlines()[-1])
        for extra in arguments.extra or ([] if arguments.tests else EXAMPLES):
            place = Environment(Path(folder) / extra, arguments.python)
            seconds = place.install(f"{wheel}[{extra}]", arguments.numpy)
            place.run(str(place.bin / "python"), "-c", EXAMPLES[extra])
            print(f"[{extra}]: installed in {seconds:.1f} s, its example runs")


IMPORT_TIME = """
import subprocess, sys, time, resource
def seconds(what):
    best = 9.0
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {what}"], check=True)
        best = min(best, time.perf_counter() - start)
    return best
bare, numpy, ours = seconds("sys"), seconds("numpy"), seconds("calibrant")
import calibrant
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{(ours - bare) / (numpy - bare):.2f} of NumPy's time, {memory:.0f} MiB resident")
"""
QUICK = [
    "-q", "--quick", "-p", "no:cacheprovider", "--numprocesses", "auto",
    *(str(ROOT / "tests" / room) for room in ("forecasters", "recalibrate", "monitor", "fleet")),
]  # fmt: skip

if __name__ == "__main__":
    main()
