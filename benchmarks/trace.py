"""Which functions a file of five rows visits, from the command line to its report.

``python -m benchmarks.trace`` prints the functions of each module, and the totals, for a file with
groups and a report, and for one with deadlines and without. Not counted are the code of modules and
classes, which runs on import, methods that dataclasses and named tuples generate, and
comprehensions, which newer Pythons run inside the function that holds them.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType

import calibrant
from calibrant.cli import app

ROWS = """\
s,y,t,a,d,g
0.9,1,1,2.5,3,north
0.8,0,2,3.5,4,south
0.3,0,3,3.5,5,north
0.6,1,4,,6,south
0.7,1,5,5.5,7,north
"""
REPORT = "recalibrate rows.csv --score s --outcome y --time t --available a --by g --report r.html"
SILENCE = "recalibrate rows.csv --score s --outcome y --time t --available a --due d --silence 0"
PACKAGE = str(Path(calibrant.__file__).parent) + os.sep
#: Where rounds are played: who keeps them, the rules that predict and learn them, and what these
#: rules are saved as. The rest reads tables, measures, watches, draws and prints.
MACHINERY = ("_kernels.", "fleet.", "forecasters.", "recalibrate.", "rounds.")


def visited(command: str) -> dict[str, list[str]]:
    """Return the functions that a command visits, by module."""
    codes: set[CodeType] = set()

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("rows.csv").write_text(ROWS)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            sys.setprofile(look)
            try:
                app(command.split(), standalone_mode=False)
            finally:
                sys.setprofile(None)
    found = defaultdict(list)
    for code in codes:
        # Generated methods have no file; code of modules and classes lacks the flag.
        is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.endswith("comp>")
        if is_function and code.co_filename.startswith(PACKAGE):
            module = code.co_filename.removeprefix(PACKAGE).removesuffix(".py").replace(os.sep, ".")
            found[module].append(code.co_qualname)
    return dict(found)


def machinery(found: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return those of the modules that play rounds."""
    return {name: each for name, each in found.items() if name.startswith(MACHINERY)}


def counted(found: dict[str, list[str]]) -> str:
    """Return how many functions these are, and in how many modules."""
    return f"{sum(map(len, found.values()))} functions in {len(found)} modules"


def main() -> None:
    """Print what a row visits."""
    for command in (REPORT, SILENCE):
        found = visited(command)
        print(f"\ncalibrant {command}")
        for module, functions in sorted(found.items()):
            print(f"{module} ({len(functions)}): {', '.join(sorted(functions))}")
        print(f"{counted(found)}, of which {counted(machinery(found))} play rounds")


if __name__ == "__main__":
    main()
