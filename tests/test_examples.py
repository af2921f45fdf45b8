"""Every example in the docs, the README and the docstrings runs and gives what it shows."""

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import calibrant
import calibrant.testing
from calibrant.cli import app, console
from forecasters.table import FORECASTERS
from recalibrate.table import RECALIBRATORS

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]
MADE = [ROOT / "docs" / "api", ROOT / "docs" / "_build"]  # by `make docs`
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not set(MADE) & set(page.parents)),
]
#: Pages that take some seconds: they play all flights, draw many figures or fit models.
SLOW = {
    "docs/commandline.md",
    "docs/integrations.md",
    "docs/report.md",
    "docs/start/scores.md",
    "docs/tutorials/fivethirtyeight.md",
    "docs/tutorials/flights.md",
    "docs/tutorials/monitor.md",
    "docs/tutorials/months.md",
}
#: Pages whose Python needs a service or Spark: tests/service runs the former.
ELSEWHERE = {"docs/clients.md", "docs/spark.md"}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = [m.name for m in pkgutil.walk_packages(calibrant.__path__, "calibrant.")]


def page_id(page):
    return str(page.relative_to(ROOT))


def every_page(*pages, slow=SLOW):
    """Run a test with each of these pages."""
    marks = {name: [pytest.mark.slow] for name in slow}
    return pytest.mark.parametrize(
        "page",
        [pytest.param(page, marks=marks.get(page_id(page), [])) for page in pages],
        ids=page_id,
    )


def fenced(page, language):
    """Return the text of a page's code blocks in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


@pytest.mark.usefixtures("contracts")
@every_page(*(page for page in PAGES if page_id(page) not in ELSEWHERE))
def test_python_on_pages(page, tmp_path, monkeypatch):
    """All blocks of a page are one session."""
    monkeypatch.chdir(tmp_path)
    blocks = fenced(page, "python")
    assert all(">>>" in block for block in blocks), "a Python block without a prompt is not run"
    parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, page.name, 0)
    results = doctest.DocTestRunner(optionflags=FLAGS).run(parsed)
    assert results.failed == 0


@pytest.fixture
def contracts(monkeypatch):
    """In examples no contract is checked again: those of all classes are, over the tables."""

    def check(cls, *_, **__):
        assert cls in {row[0] for row in [*FORECASTERS, *RECALIBRATORS]}

    for name in ("check_forecaster", "check_recalibrator"):
        monkeypatch.setattr(calibrant.testing, name, check)


@every_page(*PAGES, slow=SLOW | {"README.md"})  # its command plays all flights
def test_commands_on_pages(page, tmp_path, monkeypatch):
    """A console block is a command after each `$ `, of one or more lines, and what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console.out, "width", 100)
    compare = doctest.OutputChecker().check_output
    for block in fenced(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, shown = re.sub(r"\\\n *", "", part).partition("\n")
            code, printed, messages = run_command(command)
            assert code == 0, f"{command}\n{messages}"
            if shown.strip():
                assert compare(shown, printed, FLAGS), f"{command}\n{printed}"


def run_command(command):
    """Return the exit code of a command and what it prints; a program takes a second to start."""
    if command.startswith("calibrant ") and not set("|<>;") & set(command):
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        return done.exit_code, done.stdout, done.stderr
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        command, shell=True, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.usefixtures("contracts")
@pytest.mark.parametrize("name", ["calibrant", *MODULES])
def test_docstrings(name):
    """Classes and functions are looked through by hand: doctest passes over compiled ones."""
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    own = [
        value
        for value in vars(module).values()
        if (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__ == name
    ]
    for thing in [module, *own]:
        finder = doctest.DocTestFinder(recurse=thing is not module)
        for example in finder.find(thing, module=False, globs=dict(vars(module))):
            runner.run(example)
    assert runner.failures == 0


def test_every_public_name_has_a_docstring_and_an_example(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "_ext")
    assert importlib.import_module("public_names").missing_docs() == []
