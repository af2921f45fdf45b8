"""Events without scores: the loops behind `EventForecaster`."""
