"""The OpenAPI document: FastAPI's, with what it cannot know."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi

from calibrant.service.limits import NAME

#: What is answered where it is not JSON.
KINDS = {
    "/metrics": "text/plain",
    "/v1/streams/{name}/export": "application/vnd.apache.parquet",
}


def document_of(app: FastAPI) -> dict[str, Any]:
    """Return the document of an app: names have a pattern, and not every answer is JSON."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        for path, operations in document["paths"].items():
            for operation in operations.values():
                for parameter in operation.get("parameters", ()):
                    if parameter["in"] == "path" and parameter["name"] == "name":
                        parameter["schema"]["pattern"] = f"^{NAME}$"
                if path in KINDS:
                    operation["responses"]["200"]["content"] = {KINDS[path]: {}}
        app.openapi_schema = document
    return app.openapi_schema


def methods_of(request: Request) -> list[str]:
    """Return the methods that the path of a request has, over all routes."""
    found: set[str] = set()
    for route in request.app.routes:
        pattern = getattr(route, "path_regex", None)
        if pattern is not None and pattern.match(request.scope["path"]):
            found |= getattr(route, "methods", None) or set()
    return sorted(found)
