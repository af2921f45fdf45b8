"""Clients of a service in Python: `client` sends requests, `protocol` says which and when again."""

from calibrant.service.client.client import AsyncClient, Client
from calibrant.service.client.protocol import (
    ClassPrediction,
    NumberPrediction,
    Prediction,
    RefusedError,
    ServiceError,
    UnavailableError,
)

__all__ = [
    "AsyncClient",
    "ClassPrediction",
    "Client",
    "NumberPrediction",
    "Prediction",
    "RefusedError",
    "ServiceError",
    "UnavailableError",
]
