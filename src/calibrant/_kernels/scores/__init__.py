"""Recalibrated scores of one event: the mixture, the safe stage, and the model of silence."""
