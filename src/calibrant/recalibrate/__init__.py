"""A model's scores in, calibrated probabilities out, whatever becomes of the model or the world."""

from calibrant.recalibrate.frames import recalibrate_frame as recalibrate_frame
from calibrant.recalibrate.multiclass import MulticlassRecalibrator as MulticlassRecalibrator
from calibrant.recalibrate.recalibrator import Recalibrator as Recalibrator
