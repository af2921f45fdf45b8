"""The notebooks are what their tutorials say, whose examples are run by test_examples.py."""

import ast
import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("notebooks", ROOT / "packaging" / "notebooks.py")
notebooks = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(notebooks)


@pytest.mark.parametrize("name", notebooks.TUTORIALS)
def test_the_notebook_of_a_tutorial(name):
    written = (ROOT / "docs" / "notebooks" / f"{name}.ipynb").read_text()
    assert written == notebooks.notebook(name), "the tutorial changed: make notebooks"
    cells = json.loads(written)["cells"]
    typed = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(typed) >= 3
    for source in typed:
        if not source.startswith("!"):
            assert ast.parse(source).body
        assert ">>>" not in source
