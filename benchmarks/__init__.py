"""Speed, memory and error, side by side with peers: ``python -m benchmarks``."""
