"""Act or not, compiled: one rule for costs, a budget, a floor of precision, a floor of recall."""
