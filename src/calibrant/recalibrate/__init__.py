"""Scores in, calibrated probabilities out."""
