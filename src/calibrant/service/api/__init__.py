"""The service over HTTP. `app` puts it together; each file has routes of one purpose."""

try:
    import fastapi as fastapi
    import jinja2 as jinja2
    import prometheus_client as prometheus_client
    import structlog as structlog
    import uvicorn as uvicorn
except ImportError as error:
    raise ImportError(
        "calibrant.service.api needs FastAPI and others: pip install 'calibrant[service]'"
    ) from error
