"""The live pages: all streams at ``/``, and one of them at ``/streams/NAME``.

A page is a frame without numbers. Its scripts ask the API for these and draw them, again whenever
the server's events say that something changed, so a page never shows what the API does not say.
They are plain files: nothing is built, or fetched from other sites, which the gate's content
security policy forbids.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from calibrant import __version__
from calibrant.report.page import style_sheet
from calibrant.service.api.requests import asked, check_name, service_of

router = APIRouter(include_in_schema=False)

TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
#: Cached, but revalidated on every use: after an upgrade, the new files are shown.
KEPT = {"cache-control": "no-cache"}


@router.get("/")
async def get_streams() -> HTMLResponse:
    """Return the page of all streams."""
    return page("streams.html")


@router.get("/streams/{name}")
async def get_stream(name: str, request: Request) -> HTMLResponse:
    """Return the page of a stream."""
    service = service_of(request)
    check_name(name)
    # A problem if there is none.
    definition = await asked(service, lambda: service.owner.stream(name).definition)
    keyed, watched = definition.keyed, definition.watch_keys
    panels = definition.of_kind.panels
    return page("stream.html", name=name, keyed=keyed, watched=watched, panels=panels)


@router.get("/static/{name}")
async def get_file(name: str) -> Response:
    """Return a script, a style sheet or a picture."""
    files = static_files()
    if name not in files:
        return Response(status_code=404)
    content, kind = files[name]
    return Response(content, media_type=kind, headers=KEPT)


def page(template: str, **values: str | bool) -> HTMLResponse:
    """Return a page; all values are escaped."""
    text = templates().get_template(template).render(version=__version__, **values)
    return HTMLResponse(text)


@cache
def templates() -> Environment:
    """Return the templates."""
    loader = PackageLoader("calibrant.service.pages")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined)


@cache
def static_files() -> dict[str, tuple[bytes, str]]:
    """Return the files that pages need, by name: content and type."""
    folder = resources.files("calibrant.service.pages").joinpath("static")
    files = {
        each.name: (each.read_bytes(), TYPES[each.name.rpartition(".")[2]])
        for each in folder.iterdir()
    }
    files["page.css"] = (style_sheet().encode(), TYPES["css"])
    return files
