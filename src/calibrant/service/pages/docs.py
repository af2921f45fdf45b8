"""``/docs``: the OpenAPI document as a plain page, without scripts or requests to other sites."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

router = APIRouter()

STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;
color:#1b1f24;background:#fff}h2{margin:2.5rem 0 .25rem;font-size:1.05rem}pre{background:#f3f5f7;
padding:.75rem;overflow:auto;border-radius:6px;font-size:.85rem}.m{display:inline-block;
min-width:3.5rem;font-weight:700}td,th{text-align:left;padding:.15rem .75rem .15rem 0;
vertical-align:top}@media(prefers-color-scheme:dark){body{color:#e3e7eb;background:#14171a}
pre{background:#20252a}a{color:#8ab8ff}}"""


@router.get("/docs", include_in_schema=False)
async def get_docs(request: Request) -> Response:
    """Return the page."""
    return Response(page(request.app.openapi()), media_type="text/html; charset=utf-8")


@router.get("/docs.css", include_in_schema=False)
async def get_style() -> Response:
    """Return the page's style."""
    return Response(STYLE, media_type="text/css; charset=utf-8")


def page(document: dict[str, Any]) -> str:
    """Return the OpenAPI document as HTML."""
    parts = [
        section(method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    info = document["info"]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(info["title"])} API</title><link rel="stylesheet" href="/docs.css"></head>'
        f"<body><main><h1>{escape(info['title'])} {escape(info['version'])}</h1>"
        f'<p>{escape(info["description"])} For programs: <a href="/openapi.json">openapi.json</a>.'
        f"</p>{''.join(parts)}</main></body></html>"
    )


def section(method: str, path: str, operation: dict[str, Any]) -> str:
    """Return one route as HTML."""
    text = operation.get("description", operation.get("summary", ""))
    lines = [
        f'<section><h2><span class="m">{method.upper()}</span> <code>{escape(path)}</code></h2>',
        f"<p>{escape(text)}</p>",
    ]
    rows = [
        f"<tr><th scope=row><code>{escape(each['name'])}</code></th><td>{escape(each['in'])}</td>"
        f"<td>{escape(words(each['schema']))}</td></tr>"
        for each in operation.get("parameters", ())
    ]
    if rows:
        lines.append(f"<table>{''.join(rows)}</table>")
    content = operation.get("requestBody", {}).get("content", {})
    for kind, body in content.items():
        lines.append(f"<p>{escape(kind)}:</p>")
        for name, example in body["examples"].items():
            shown = json.dumps(example["value"], indent=2)
            lines.append(f"<p>{escape(name)}</p><pre>{escape(shown)}</pre>")
        schema = json.dumps(body["schema"], indent=2)
        lines.append(f"<details><summary>Schema</summary><pre>{escape(schema)}</pre></details>")
    return "".join(lines) + "</section>"


def words(schema: dict[str, Any]) -> str:
    """Return a parameter's schema in a few words."""
    kinds = [each.get("type", "") for each in schema.get("anyOf", [schema])]
    bounds = {**schema, **(schema.get("anyOf", [{}])[0])}
    told = [" or ".join(kinds)]
    told += [f"{name} {bounds[name]}" for name in ("minimum", "maximum", "maxLength", "default")
             if bounds.get(name) is not None]  # fmt: skip
    return ", ".join(told)
