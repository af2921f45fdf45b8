"""Scores to probabilities for a million keys, in flat arrays."""
