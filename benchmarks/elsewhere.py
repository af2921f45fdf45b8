"""A calibrant object that lives in another Python: ``python -m benchmarks.elsewhere CLASS SEED``.

That Python may have another version installed, which knows none of today's opponents.
"""

import copy
import os
import pickle
import subprocess
import sys
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path

import calibrant

ROOT = Path(__file__).parents[1]
#: The other Python runs the files of this version.
HERE = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}"}


class Elsewhere:
    """What stands for the object, or for one of its attributes: a call is made there."""

    def __init__(self, process, path=()):
        self.process, self.path = process, path

    def __getattr__(self, name):
        return Elsewhere(self.process, (*self.path, name))

    def __call__(self, *given):
        pickle.dump((".".join(self.path), given), self.process.stdin)
        self.process.stdin.flush()
        return pickle.load(self.process.stdout)


def copied(own):
    """Return what has the methods of a copy: there, each of its calls is made by a new one."""
    return Elsewhere(own.process, ("copy",)) if isinstance(own, Elsewhere) else copy.deepcopy(own)


@contextmanager
def made(python, name, seed):
    """Give an object of this class in this Python, in a process of its own unless it is ours."""
    if python == sys.executable:
        yield getattr(calibrant, name)(seed=seed)
        return
    command = [python, "-m", "benchmarks.elsewhere", name, str(seed)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=HERE) as process:
        yield Elsewhere(process)


def version_of(python):
    """Return the version that a Python has installed."""
    asked = [python, "-c", "import calibrant; print(calibrant.__version__)"]
    return subprocess.check_output(asked, text=True).strip()


def main(name, seed):
    """Make the calls that come in, until there are no more."""
    own = getattr(calibrant, name)(seed=int(seed))
    while True:
        try:
            path, given = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        asked = copy.deepcopy(own) if path.startswith("copy.") else own
        pickle.dump(attrgetter(path.removeprefix("copy."))(asked)(*given), sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
