# The service in a container. `make image` builds it, with or without a Docker engine; by hand:
#   make wheelhouse && docker build --build-arg BASE=docker.io/library/python:3.11-slim -t calibrant .
# The base needs Python and its venv module, of the version that the wheels in dist/image are for: that
# of .venv/bin/python.
ARG BASE=docker.io/library/python:3.13-slim

FROM ${BASE} AS build
# `parquet` besides lets the service export rows as Parquet, and takes 165 MB more.
ARG EXTRAS=service,postgres
# calibrant and all that it takes, as wheels: the build asks no index. Bytecode takes 25 MB and more
# than halves the time to start; the colours of code, which nobody sees here, go without.
COPY dist/image /wheels
RUN python3 -m venv /tmp/installer \
 && python3 -m venv --without-pip /opt/calibrant \
 && /tmp/installer/bin/pip --python /opt/calibrant/bin/python install --no-index --no-compile \
      --find-links /wheels "calibrant[${EXTRAS}]" \
 && find /opt/calibrant -depth -type d \( -name tests -o -name __pycache__ \) -exec rm -r {} + \
 && /opt/calibrant/bin/python -m compileall -q -x /pygments/ --invalidation-mode unchecked-hash /opt/calibrant

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
