"""Recalibrated scores of one event: the mixture, the safe stage, what silence means."""
