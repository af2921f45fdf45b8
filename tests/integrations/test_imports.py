"""Neither library is imported before it is needed, and there is an error for each missing one."""

import subprocess
import sys

import pytest

QUIET = """
import sys
import calibrant, calibrant.recalibrate, calibrant.integrations
loud = {"river", "sklearn", "scipy", "pandas", "matplotlib", "pyspark"} & set(sys.modules)
assert not loud, loud
"""

ALONE = """
import sys
import calibrant.integrations.%s
assert not %r & set(sys.modules)
"""


def test_importing_calibrant_imports_neither_library():
    subprocess.run([sys.executable, "-c", QUIET], check=True)


@pytest.mark.parametrize(
    ("module", "others"),
    [
        ("river", {"matplotlib", "pyspark"}),
        ("sklearn", {"river", "matplotlib", "pyspark"}),
        ("spark", {"river", "sklearn", "matplotlib"}),
    ],
)
def test_each_integration_imports_its_own_library_only(module, others):
    subprocess.run([sys.executable, "-c", ALONE % (module, others)], check=True)
