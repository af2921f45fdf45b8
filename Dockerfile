# The service in a container. `make image` builds it, with or without a Docker engine; by hand:
#   make wheelhouse && docker build -t calibrant .
# The base needs Python and its venv module, of the version that the wheels in dist/image are for.
ARG BASE=docker.io/library/python:3.13-slim

FROM ${BASE} AS build
# calibrant and all that it takes, as wheels: the build asks no index.
COPY dist/image /wheels
RUN python3 -m venv /tmp/installer \
 && python3 -m venv --without-pip /opt/calibrant \
 && /tmp/installer/bin/pip --python /opt/calibrant/bin/python install --no-index --no-compile \
      --find-links /wheels "calibrant[service,postgres]" \
 && find /opt/calibrant -depth -type d \( -name tests -o -name __pycache__ \) -exec rm -r {} +

FROM ${BASE}
COPY --from=build /opt/calibrant /opt/calibrant
# The only folder that is written to; with PostgreSQL as the store, none is.
RUN mkdir /data && chown 10001:10001 /data
VOLUME /data
USER 10001:10001
ENV PATH=/opt/calibrant/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    CALIBRANT_HOST=0.0.0.0 \
    CALIBRANT_PORT=8042 \
    CALIBRANT_STORE=/data/calibrant.db
EXPOSE 8042
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"CALIBRANT_PORT\"]}/readyz', timeout=2)"]
ENTRYPOINT ["calibrant"]
CMD ["serve"]
