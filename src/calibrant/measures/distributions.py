"""Placeholder until the measures land."""

from dataclasses import dataclass


@dataclass
class Distributions:
    points: object
    weights: object
    starts: object
