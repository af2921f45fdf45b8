"""Fleets on Spark: rows a second, and what is left after the driver was killed.

``python -m benchmarks.spark.throughput`` and ``python -m benchmarks.spark.kills``, each with
``--help``. Both need Java 17 and take minutes, so they are no shards of ``python -m benchmarks``.
"""
