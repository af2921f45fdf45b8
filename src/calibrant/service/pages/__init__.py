"""The live pages: all streams at ``/``, and one of them at ``/streams/NAME``.

A page is a frame without numbers. Its scripts ask the API for these and draw them, again whenever
the server's events say that something changed, so a page never shows what the API does not say.
They are plain files, nothing is built, and nothing is fetched from anywhere else: the content
security policy forbids it.
"""

from __future__ import annotations

from importlib import resources

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from calibrant import __version__
from calibrant.report.page import style_sheet

#: Scripts, styles and pictures from here, connections to here, and nothing else.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def pages() -> APIRouter:
    """Return the routes of the live pages."""
    router = APIRouter(include_in_schema=False)
    templates = Environment(
        loader=PackageLoader("calibrant.service.pages"),
        autoescape=True,
        undefined=StrictUndefined,
    )
    files = _static_files()

    def page(template: str, **values: str) -> HTMLResponse:
        text = templates.get_template(template).render(version=__version__, **values)
        return HTMLResponse(text, headers=HEADERS)

    @router.get("/")
    def streams() -> HTMLResponse:
        return page("streams.html")

    @router.get("/streams/{name}")
    def stream(name: str) -> HTMLResponse:
        return page("stream.html", name=name)

    @router.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in files:
            return Response(status_code=404)
        content, kind = files[name]
        return Response(content, media_type=kind, headers=HEADERS)

    return router


def _static_files() -> dict[str, tuple[bytes, str]]:
    """Return the files that pages need, by name: content and type."""
    folder = resources.files("calibrant.service.pages").joinpath("static")
    files = {
        each.name: (each.read_bytes(), TYPES["." + each.name.rpartition(".")[2]])
        for each in folder.iterdir()
    }
    files["page.css"] = (style_sheet().encode(), "text/css")
    return files
