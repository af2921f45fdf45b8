"""Speed, memory and error, compared with other libraries: ``python -m benchmarks``."""
