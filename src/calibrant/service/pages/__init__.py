"""The pages of the service: `live` shows the streams, `docs` the OpenAPI document."""
