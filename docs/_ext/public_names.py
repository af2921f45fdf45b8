"""The API reference, made from what the package exports; fails on a name without a docstring."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

MODULES = {
    "calibrant": "What most users need",
    "calibrant.forecasters": "Forecasters from past outcomes",
    "calibrant.forecasters.rivals": "What others do",
    "calibrant.recalibrate.rivals": "What others do with scores",
    "calibrant.measures": "How calibrated was it",
    "calibrant.partitions": "Intervals of probabilities",
    "calibrant.certificates": "What error a world explains",
    "calibrant.recalibrate": "A model's scores, recalibrated",
    "calibrant.fleet": "The same for a million keys",
    "calibrant.monitor": "Is it still calibrated",
    "calibrant.decide": "Act or not",
    "calibrant.rounds": "Rounds",
    "calibrant.checks": "Whether the question is right",
    "calibrant.tables": "Rows in and out",
    "calibrant.streams": "Where outcomes come from",
    "calibrant.report": "What was measured, as one page",
    "calibrant.report.figures": "What was measured, as figures",
    "calibrant.service": "Clients of the service",
    "calibrant.integrations.river": "Inside river",
    "calibrant.integrations.sklearn": "Inside scikit-learn",
    "calibrant.integrations.spark": "Inside Spark",
    "calibrant.forecasters.named": "Forecasters by name",
    "calibrant.streams.named": "Streams by name",
    "calibrant.experiments": "Sweeps and the paper's table",
    "calibrant.testing": "The contract as checks",
}

# Classes of others, whose members are described elsewhere and refer to pages that are not here.
STRANGERS = "tuple, float, Exception, BaseException, Base, ClassifierMixin, RegressorMixin"


def public_names(module: str) -> dict[str, object]:
    """Return what a module lists in `__all__`, by name."""
    imported = importlib.import_module(module)
    return {name: getattr(imported, name) for name in sorted(imported.__all__)}


def missing_docs() -> list[str]:
    """Return public names without a docstring or, for classes and functions, an example."""
    missing = []
    for module in MODULES:
        if not importlib.import_module(module).__doc__:
            missing.append(f"{module}: no docstring")
        for name, value in public_names(module).items():
            doc = inspect.getdoc(value) or ""
            if not (inspect.isclass(value) or inspect.isfunction(value)):
                continue  # a table, described by the comment above it
            if not doc:
                missing.append(f"{module}.{name}: no docstring")
            elif ">>>" not in doc:
                missing.append(f"{module}.{name}: no example")
            if inspect.isclass(value):
                missing += [
                    f"{module}.{name}.{member}: no docstring"
                    for member, thing in inspect.getmembers(value)
                    if not member.startswith("_")
                    and (inspect.isroutine(thing) or isinstance(thing, property))
                    and not inspect.getdoc(thing)
                ]
    return missing


def entry(path: str, value: object, *, again: bool) -> list[str]:
    """Return the directive that describes a name; one exported twice is indexed once."""
    index = ["   :no-index:"] if again else []
    if inspect.isclass(value):
        members = ["   :members:", f"   :inherited-members: {STRANGERS}"]
        # What scikit-learn puts in each class.
        requests = "set_fit_request, set_partial_fit_request, set_score_request"
        members += [f"   :exclude-members: {requests}, get_metadata_routing"]
        return [f".. autoclass:: {path}", *index, *members, ""]
    if inspect.isfunction(value):
        return [f".. autofunction:: {path}", *index, ""]
    assert isinstance(value, dict | tuple)
    return [f".. py:data:: {path}", *index, "", f"   Of these: {', '.join(value)}.", ""]


def keep_bars(  # the arguments are Sphinx's
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Let |x| be an absolute value, not reStructuredText's substitution."""
    for at, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            pieces = re.split(r"(``.*?``)", line)
            pieces[::2] = [piece.replace("|", r"\|") for piece in pieces[::2]]
            lines[at] = "".join(pieces)


def write_reference(app: Sphinx) -> None:
    """Write one page a module, with everything it exports."""
    missing = missing_docs()
    if missing:
        raise ExtensionError("public names without documentation:\n  " + "\n  ".join(missing))
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for page in folder.glob("*.md"):
        if page.stem not in (*MODULES, "index"):
            page.unlink()  # of a module that is gone
    contents = ["# Every public name", "", "```{toctree}", ":maxdepth: 1", "", *MODULES, "```", ""]
    write_if_new(folder / "index.md", "\n".join(contents))
    described: set[int] = set()
    for module, title in MODULES.items():
        lines = [f"# {module}: {title.lower()}", "", "```{eval-rst}"]
        lines += [f".. automodule:: {module}", "   :no-members:", ""]
        for name, value in public_names(module).items():
            lines += entry(f"{module}.{name}", value, again=id(value) in described)
            described.add(id(value))
        lines += ["```", ""]
        write_if_new(folder / f"{module}.md", "\n".join(lines))


def write_if_new(page: Path, text: str) -> None:
    """Write a page unless it says this already: Sphinx reads again what was written again."""
    if not page.exists() or page.read_text() != text:
        page.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_reference)
    app.connect("autodoc-process-docstring", keep_bars)
    return {"parallel_read_safe": True}
