"""The short way for rows: the two routes that carry them all do not pass through FastAPI.

The same functions stand in its routes, for the OpenAPI document; there a single row would cost
twice as much.
"""

from __future__ import annotations

import re

from fastapi import Request

from calibrant.service.api.gate import App, Receive, Scope, Send, refuse
from calibrant.service.api.writes import learned, predicted
from calibrant.service.problems import Problem
from calibrant.service.service import Service

ROWS = re.compile(r"/v1/streams/([^/]+)/(predictions|outcomes)")


class Direct:
    """Answer predictions and outcomes; hand on everything else."""

    def __init__(self, app: App, service: Service) -> None:
        self.app, self.service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        found = None
        if scope["type"] == "http" and scope["method"] == "POST":
            found = ROWS.fullmatch(scope["path"])
        if found is None:
            await self.app(scope, receive, send)
            return
        name, kind = found.groups()
        answered = predicted if kind == "predictions" else learned
        try:
            response = await answered(self.service, name, Request(scope, receive))
        except Problem as problem:
            await refuse(problem, send)
        else:
            await response(scope, receive, send)
