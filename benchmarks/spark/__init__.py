"""Fleets on Spark: rows per second, and the state after the driver is killed.

``python -m benchmarks.spark.throughput`` and ``python -m benchmarks.spark.kills``, each with
``--help``. Both need Java 17 and take minutes, so they are not parts of ``python -m benchmarks``.
"""
