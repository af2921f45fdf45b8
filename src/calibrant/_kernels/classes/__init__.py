"""Several classes: vectors of probabilities mixed, and the rule that plays their rounds."""
