"""Liveness and readiness probes."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response

from calibrant.service.api.requests import as_json, service_of
from calibrant.service.problems import Problem
from calibrant.service.stream import models

router = APIRouter()


@router.get("/healthz", response_model=models.Health)
async def healthz() -> Response:
    """Whether the process answers. Needs no token."""
    return as_json({"status": "ok"})


@router.get("/readyz", response_model=models.Ready)
async def readyz(request: Request) -> Response:
    """Whether rows can be stored. Needs no token; with one, the response has more fields."""
    owner, may_know = service_of(request).owner, request.state.access is not None
    if not owner.is_alive:
        raise Problem(503, "the service is stopping")
    trouble = owner.trouble or service_of(request).store.lost()
    if trouble is not None:
        why = f": {trouble}" if may_know else "; see the log"
        raise Problem(503, f"the store could not be written{why}")
    counts = {"streams": len(owner.streams), "closed": len(owner.closed)} if may_know else {}
    return as_json({"status": "ready", **counts})
