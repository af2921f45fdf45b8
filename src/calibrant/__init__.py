"""Probability forecasts that stay calibrated while the world changes."""
