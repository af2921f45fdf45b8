"""Evidence against calibration: the loops behind `calibrant.monitor`."""
