"""A model's scores in, calibrated probabilities out, whatever becomes of the model or the world."""

from calibrant.recalibrate.recalibrator import Recalibrator as Recalibrator
