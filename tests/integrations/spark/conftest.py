"""One Spark session for all tests that need one; without Java they are skipped with a message."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

REQUIRED = "CALIBRANT_REQUIRE_JAVA"


@pytest.fixture(scope="session")
def java():
    """The Java runtime; without one, skip aloud or, where it is required, fail."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin" if home else None) or shutil.which("java")
    if found is None:
        reason = "no Java runtime is on the PATH"
        if os.environ.get(REQUIRED):
            pytest.fail(f"{reason}, and {REQUIRED} is set")
        pytest.skip(f"{reason}; nothing was run on Spark")
    return found


@pytest.fixture(scope="session")
def spark(java, tmp_path_factory):  # noqa: ARG001 - only where there is Java
    from pyspark.sql import SparkSession  # noqa: PLC0415

    from calibrant.integrations.spark import CONFIGURATION  # noqa: PLC0415

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("calibrant tests")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    for name, value in (settings | CONFIGURATION).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
