"""Every example in the docs, the README and the docstrings runs and gives what it shows."""

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import calibrant

ROOT = Path(__file__).parents[1]
MADE = [ROOT / "docs" / "api", ROOT / "docs" / "_build"]  # by `make docs`
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not set(MADE) & set(page.parents)),
]
#: Pages whose Python needs a service or Spark: tests/service runs the former.
ELSEWHERE = {"docs/clients.md", "docs/spark.md"}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = [m.name for m in pkgutil.walk_packages(calibrant.__path__, "calibrant.")]


def page_id(page):
    return str(page.relative_to(ROOT))


def fenced(page, language):
    """Return the text of a page's code blocks in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


@pytest.mark.parametrize("page", [p for p in PAGES if page_id(p) not in ELSEWHERE], ids=page_id)
def test_python_on_pages(page, tmp_path, monkeypatch):
    """All blocks of a page are one session."""
    monkeypatch.chdir(tmp_path)
    blocks = fenced(page, "python")
    assert all(">>>" in block for block in blocks), "a Python block without a prompt is not run"
    parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, page.name, 0)
    results = doctest.DocTestRunner(optionflags=FLAGS).run(parsed)
    assert results.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_commands_on_pages(page, tmp_path):
    """A console block is a command after each `$ `, and what it prints."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
    compare = doctest.OutputChecker().check_output
    for block in fenced(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, shown = part.partition("\n")
            done = subprocess.run(
                command, shell=True, cwd=tmp_path, env=environment,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"{command}\n{done.stderr}"
            if shown.strip():
                assert compare(shown, done.stdout, FLAGS), f"{command}\n{done.stdout}"


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
