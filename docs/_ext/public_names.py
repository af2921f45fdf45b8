"""The API reference, made from what the package exports; fails on a name without a docstring."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

MODULES = {
    "calibrant": "What most users need",
    "calibrant.forecasters": "Who predicts",
    "calibrant.forecasters.rivals": "What others do",
    "calibrant.measures": "How calibrated was it",
    "calibrant.streams": "Where outcomes come from",
    "calibrant.testing": "The contract as checks",
}


def public_names(module: str) -> dict[str, object]:
    """Return the classes, functions and tables that a module exports, by name."""
    namespace = vars(importlib.import_module(module))
    names = namespace.get("__all__") or [
        name
        for name, value in namespace.items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__.startswith("calibrant.")
    ]
    return {name: namespace[name] for name in sorted(names)}


def missing_docs() -> list[str]:
    """Return public names without a docstring or, for classes and functions, an example."""
    missing = []
    for module in MODULES:
        if not importlib.import_module(module).__doc__:
            missing.append(f"{module}: no docstring")
        for name, value in public_names(module).items():
            doc = inspect.getdoc(value) or ""
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


def write_reference(app: Sphinx) -> None:
    """Write one page a module, with everything it exports."""
    missing = missing_docs()
    if missing:
        raise ExtensionError("public names without documentation:\n  " + "\n  ".join(missing))
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    written = set()
    for module, title in MODULES.items():
        lines = [f"# {module}: {title.lower()}", "", "```{eval-rst}"]
        lines += [f".. automodule:: {module}", "   :no-members:", ""]
        for name, value in public_names(module).items():
            kind = "class" if inspect.isclass(value) else "function"
            lines += [f".. auto{kind}:: {module}.{name}"]
            # A name exported twice is described in both places and indexed in one.
            if value in written:
                lines += ["   :no-index:"]
            written.add(value)
            if kind == "class":
                lines += ["   :members:", "   :inherited-members: tuple, Exception"]
            lines += [""]
        lines += ["```", ""]
        page, text = folder / f"{module}.md", "\n".join(lines)
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_reference)
    return {"parallel_read_safe": True}
