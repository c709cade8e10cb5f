# The ranking service and the indexer in one image: `toolsurface serve` and `toolsurface deploy`.
#
# The base is pinned by its exact tag: the machine this was written on reaches no registry, so no digest could be read.
# Pin yours: docker build --build-arg BASE=docker.io/library/python@sha256:… .
ARG BASE=docker.io/library/python:3.11.14-slim-bookworm

# hadolint ignore=DL3006
FROM ${BASE} AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE toolsurface.py ./
COPY surface ./surface
COPY indexer ./indexer
COPY models ./models
COPY selector ./selector
COPY deployment/constraints.txt ./
# pip stays in an environment of its own, so that none comes along into the next stage.
RUN python3 -m venv /pip \
 && /pip/bin/python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
 && python3 -m venv --without-pip /opt/toolsurface \
 && /pip/bin/python -m pip --python /opt/toolsurface/bin/python install --no-cache-dir \
    --constraint constraints.txt "$(echo /wheels/toolsurface-*.whl)[service,jwt,redis,object-store]"

# hadolint ignore=DL3006
FROM ${BASE}
LABEL org.opencontainers.image.title="toolsurface" \
      org.opencontainers.image.licenses="Apache-2.0"
# What the base brings for installing is of no use to a service, only to an intruder.
RUN rm -rf /usr/local/bin/pip* /usr/local/lib/python3.*/ensurepip /usr/local/lib/python3.*/site-packages/pip*
COPY --from=build /opt/toolsurface /opt/toolsurface
# Nothing is written but to standard output and error, so the root file system may be read-only.
ENV PATH=/opt/toolsurface/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001:10001
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/health/live', timeout=2)"]
ENTRYPOINT ["toolsurface"]
CMD ["serve", "--store", "/srv/toolsurface", "--host", "0.0.0.0", "--port", "8080", "--keys", "/run/secrets/toolsurface-keys"]
