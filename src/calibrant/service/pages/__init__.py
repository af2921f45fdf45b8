"""The pages of the service: `live` shows the streams, `docs` the OpenAPI document."""

try:
    import fastapi as fastapi
    import jinja2 as jinja2
except ImportError as error:
    raise ImportError(
        "calibrant.service.pages needs FastAPI and Jinja: pip install 'calibrant[service]'"
    ) from error
