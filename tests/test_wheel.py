"""The wheel, as a user gets it: in an empty environment, without extras or a compiler's traces.

And the image that is made from it.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import calibrant

ROOT = Path(__file__).parents[1]
UV = [sys.executable, "-m", "uv"]
# What `make` installed lies in the cache, so that an environment takes a second; and a company's
# proxy has a certificate that the system knows, and uv by itself does not.
ENVIRONMENT = {
    **os.environ,
    "UV_CACHE_DIR": str(Path(sys.prefix) / "cache"),
    "UV_SYSTEM_CERTS": "true",
}

IMPORT_EVERYTHING = """
import importlib, pkgutil, sys
import calibrant
names = [m.name for m in pkgutil.walk_packages(calibrant.__path__, "calibrant.")]
assert len(names) > 20, names
for name in names:
    try:
        importlib.import_module(name)
    except ImportError as error:
        assert name.startswith(("calibrant.integrations.", "calibrant.service.")), name
        assert "pip install 'calibrant[" in str(error), error
extras = {"scipy", "pandas", "polars", "pyarrow", "matplotlib", "river", "sklearn", "Cython",
          "fastapi", "uvicorn", "prometheus_client", "structlog", "httpx", "jinja2"}
assert not extras & set(sys.modules), extras & set(sys.modules)
print(calibrant.__file__)
"""

IMPORT_LIGHTLY = """
import sys
import calibrant
heavy = {"narwhals", "typer", "rich", "scipy", "pandas", "sqlite3", "calibrant.cli",
         "calibrant.integrations", "calibrant.service"}
heavy &= set(sys.modules)
assert not heavy, heavy
"""


def run(*command, **options):
    """Run a command and show what it printed if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the wheel, made in the build folder: what `make setup` compiled is not again."""
    folder = tmp_path_factory.mktemp("wheel")
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
        "--disable-pip-version-check", f"--config-settings=build-dir={ROOT / 'build'}",
        "--wheel-dir", str(folder), str(ROOT),
        env={**os.environ, "PATH": search},
    )  # fmt: skip
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def empty_environment(wheel, tmp_path_factory):
    """Return the bin folder of an environment that holds the wheel and what it asks for."""
    folder = tmp_path_factory.mktemp("empty")
    run(*UV, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder))
    python = ["--python", str(folder / "bin" / "python")]
    what = ["--quiet", "--constraint", str(ROOT / "requirements.txt"), str(wheel)]
    by_uv = subprocess.run([*UV, "pip", "install", *python, *what], env=ENVIRONMENT, check=False)
    if by_uv.returncode != 0:  # as in the Makefile: only pip may know the way to an index
        run(sys.executable, "-m", "pip", *python, "install", *what)
    return folder / "bin"


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.startswith("calibrant/_kernels/paper/zoom.") for name in names)
    assert "calibrant/py.typed" in names
    assert "calibrant/data/LICENSES.md" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    strays = [n for n in names if n.endswith((".c", ".o", ".pyc")) or n.startswith("tests")]
    assert not strays


def test_the_wheel_has_the_version_of_the_package(wheel):
    assert wheel.name.startswith(f"calibrant-{calibrant.__version__}-")


def test_every_module_imports_without_extras(empty_environment, tmp_path):
    printed = run(str(empty_environment / "python"), "-c", IMPORT_EVERYTHING, cwd=tmp_path)
    assert str(empty_environment.parent) in printed


def test_importing_the_package_imports_no_more_than_it_needs(empty_environment, tmp_path):
    assert run(str(empty_environment / "python"), "-c", IMPORT_LIGHTLY, cwd=tmp_path) == ""


def test_the_command_line_runs_there(empty_environment, tmp_path):
    source = tmp_path / "events.csv"
    source.write_text("outcome\n" + "1\n0\n1\n1\n" * 50)
    result = tmp_path / "out.csv"
    printed = run(
        str(empty_environment / "calibrant"), "forecast", str(source), "--outcome", "outcome",
        "--out", str(result), cwd=tmp_path,
    )  # fmt: skip
    assert "zoom" in printed.lower()
    lines = result.read_text().splitlines()
    assert lines[0] == "outcome,prediction"
    assert len(lines) == 201


def test_the_service_runs_in_the_image_and_survives_a_kill(wheel, tmp_path):
    """Built by buildah in a chroot, from Debian's packages if there is no other base."""
    missing = [each for each in ("buildah", "mmdebstrap") if shutil.which(each) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"building an image needs root, and {', '.join(missing) or 'nothing else'}")
    wheels = tmp_path / "dist" / "image"
    wheels.mkdir(parents=True)
    run(
        sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:",
        "--disable-pip-version-check", "--constraint", str(ROOT / "requirements-dev.txt"),
        "--dest", str(wheels), f"{wheel}[service,postgres]",
    )  # fmt: skip
    run("bash", str(ROOT / "packaging" / "build_image.sh"), str(tmp_path))
    check = [sys.executable, str(ROOT / "packaging" / "check_image.py"), "--kills", "1"]
    printed = run(*check, cwd=ROOT)
    megabytes = int(printed.split("image: ")[1].split()[0])
    assert megabytes < 200
    assert "1 kills" in printed
