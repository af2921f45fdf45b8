"""A million keys in flat arrays: the loops behind `calibrant.fleet`."""
