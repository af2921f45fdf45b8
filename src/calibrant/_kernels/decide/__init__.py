"""Decisions, compiled: rules for costs, a budget, a floor of precision and a floor of recall."""
