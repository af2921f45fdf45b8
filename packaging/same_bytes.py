"""Check that other compilers and optimisation levels give the same draws and saved states.

    python packaging/same_bytes.py [--rounds 100000] [--compilers gcc clang] [--flags=-O0] ...

Compiles the kernels' C files that `make setup` left in build/ once for each compiler and each set
of flags, runs every public class on a synthetic stream with each of them, and compares digests of
the predictions and of the saved states, line by line. They agree because of IEEE arithmetic in the
order of the source (no fused multiply-add, no fast-math: see meson.build), an integer generator
inside the kernels, sums in a fixed order, and our own exp, log and related functions
(_kernels/functions.h), since those of C libraries differ in the last bit.
"""

import argparse
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLAGS = ("-O0", "-O2", "-O3 -march=native")


def digests(rounds: int) -> dict[str, str]:
    """Return a digest of the predictions and the state of every public class, by name."""
    sys.path[:0] = [str(ROOT / "tests")]
    from played import every_class  # noqa: PLC0415 - only where the classes are played

    found = {}
    for name, make, play in every_class(rounds):
        player = make()
        predictions = play(player, 0, rounds)
        state = player.to_bytes() if hasattr(player, "to_bytes") else b""
        found[name] = hashlib.sha256(predictions.tobytes() + state).hexdigest()[:16]
    return found


def compile_all(compiler: str, flags: str, package: Path) -> None:
    """Compile every kernel anew into a copy of the package."""
    build = ROOT / "build"
    entries = json.loads((build / "compile_commands.json").read_text())
    objects = [entry for entry in entries if entry["file"].endswith(".c")]

    def one(entry: dict[str, str]) -> None:
        given = shlex.split(entry["command"])
        kept = [each for each in given if each.startswith(("-I", "-f", "-D", "-std"))]
        place = entry["output"].split(".p/")[0]
        source = build / entry["file"]
        (target,) = package.rglob(Path(place).name)
        command = [compiler, "-shared", "-fPIC", "-w", *kept, *flags.split(), str(source)]
        subprocess.run([*command, "-o", str(target), "-lm"], check=True, cwd=build)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(one, objects))


def main() -> None:
    """Compare; the exit code is 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100_000)
    parser.add_argument("--compilers", nargs="+", default=["gcc", "clang"])
    parser.add_argument("--flags", action="append", help="may be repeated: --flags=-O0")
    parser.add_argument("--digests", action="store_true", help="print those of this Python")
    arguments = parser.parse_args()
    if arguments.digests:
        print(json.dumps(digests(arguments.rounds)))
        return
    import calibrant  # noqa: PLC0415

    installed = Path(calibrant.__file__).parent
    expected: dict[str, str] = digests(arguments.rounds)
    print(f"{len(expected)} ways of making the public classes, {arguments.rounds:,} rounds each")
    differ = False
    for compiler in arguments.compilers:
        for flags in arguments.flags or FLAGS:
            with tempfile.TemporaryDirectory() as folder:
                shutil.copytree(installed, Path(folder) / "calibrant")
                compile_all(compiler, flags, Path(folder) / "calibrant")
                environment = {**os.environ, "PYTHONPATH": folder}
                command = [sys.executable, __file__, "--digests", "--rounds", str(arguments.rounds)]
                printed = subprocess.run(
                    command, env=environment, check=True, capture_output=True, text=True
                ).stdout
            got = json.loads(printed)
            wrong = [name for name in expected if got[name] != expected[name]]
            differ |= bool(wrong)
            print(f"{compiler} {flags}: {wrong or 'the same bytes'}", flush=True)
    sys.exit(differ)


if __name__ == "__main__":
    main()
