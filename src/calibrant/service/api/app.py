"""The app: the routes, the gate in front of them, and one form for every error."""

from __future__ import annotations

import re
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from calibrant import __version__
from calibrant.service.api import events, export, health, metrics, reads, schemas, writes
from calibrant.service.api.gate import App, Gate
from calibrant.service.api.writes import RowRoutes
from calibrant.service.pages import docs, live
from calibrant.service.problems import Problem
from calibrant.service.service import Service

PROBLEM = "application/problem+json"


def create_app(service: Service) -> App:
    """Return the ASGI app of a service that has been started: the gate, and what is behind it."""
    return Gate(RowRoutes(routes(service), service), service)


def routes(service: Service) -> FastAPI:
    """Return everything behind the gate."""
    app = FastAPI(
        title="calibrant",
        version=__version__,
        description="Calibrated probabilities over HTTP. Errors are RFC 9457 problems.",
        responses=schemas.PROBLEMS,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a path is right or wrong
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.service = service
    for part in (health, writes, reads, events, export, metrics, docs, live):
        app.include_router(part.router)
    schemas.completed(app.openapi())  # which is made once
    app.add_exception_handler(Problem, show_problem)
    app.add_exception_handler(RequestValidationError, show_bad_query)
    app.add_exception_handler(HTTPException, show_http_error)
    app.add_exception_handler(Exception, show_failure)
    return app


def as_response(problem: Problem) -> JSONResponse:
    """Return a problem as a response."""
    headers = {"retry-after": "1"} if problem.status == 503 else None
    return JSONResponse(problem.as_json(), problem.status, headers=headers, media_type=PROBLEM)


async def show_problem(_: Any, error: Exception) -> Any:
    """Answer a request that was rejected."""
    assert isinstance(error, Problem)
    return as_response(error)


async def show_bad_query(_: Any, error: Exception) -> Any:
    """Answer a request whose address has a value that is not allowed."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    field = str(first["loc"][-1])
    return as_response(Problem(422, f"{field}: {first['msg']}", field=field, allowed=first["msg"]))


async def show_http_error(request: Request, error: Exception) -> Any:
    """Answer a request for which there is no route."""
    assert isinstance(error, HTTPException)
    response = as_response(Problem(error.status_code, str(error.detail)))
    response.headers.update(error.headers or {})
    if error.status_code == 405:
        response.headers["allow"] = ", ".join(methods_of(request.app, request.url.path))
    return response


def methods_of(app: FastAPI, path: str) -> list[str]:
    """Return the methods that a path has in all routes together."""
    found = set()
    for template, methods in app.openapi()["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
            found |= {method.upper() for method in methods}
    return sorted(found)


async def show_failure(_: Any, __: Exception) -> Any:
    """Answer when the service itself failed; only its log has the details."""
    return as_response(Problem(500, "internal error; see the log of the service"))
