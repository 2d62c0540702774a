# Turnkeeper, without llama-server. The first stage installs what the locks in requirements/ name, by hash; the second
# has the result and nothing to build with. It needs no writable file system but /data (the store and the keys) and
# /tmp (uploads). docs/howto/deploy-with-compose.md tells how to run it; deploy/container/try_image.py runs its steps
# without a container engine.

FROM python:3.13-slim-trixie AS builder

ENV PIP_NO_CACHE_DIR=1 \
    PIP_NO_INPUT=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1

WORKDIR /src

# pip and the build tool stand in a place of their own, so that the installed service has neither.
COPY requirements/build.txt requirements/runtime.txt requirements/
RUN python -m venv /opt/builder \
    && /opt/builder/bin/pip install --only-binary=:all: --require-hashes -r requirements/build.txt \
    && python -m venv --without-pip /opt/turnkeeper \
    && /opt/builder/bin/pip --python /opt/turnkeeper/bin/python install --only-binary=:all: --require-hashes -r requirements/runtime.txt

COPY pyproject.toml README.md LICENSE ./
COPY service service
RUN /opt/builder/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /opt/wheels . \
    && /opt/builder/bin/pip --python /opt/turnkeeper/bin/python install --no-deps --no-index /opt/wheels/*.whl

COPY deploy/container/start.sh deploy/container/check_health.py /opt/turnkeeper/container/


FROM python:3.13-slim-trixie

ARG VERSION=0.1.0.dev0
LABEL org.opencontainers.image.title="Turnkeeper" \
      org.opencontainers.image.description="Sessions, a bounded agent loop and an event log in front of llama-server" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"

# A named volume takes over the owner of the folder that it is mounted on. The service belongs to root, so that the
# process can't change it. /monitoring holds the key of Prometheus alone, which sees nothing of /data.
RUN python -m pip uninstall --yes --quiet --root-user-action=ignore pip \
    && groupadd --gid 10001 turnkeeper \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin turnkeeper \
    && install --directory --owner=10001 --group=10001 --mode=0750 /data /monitoring

COPY --from=builder /opt/turnkeeper /opt/turnkeeper

# The linter takes the name of the file of keys for a key.
# hadolint ignore=DL3064
ENV PATH="/opt/turnkeeper/bin:$PATH" \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    TURNKEEPER_HOST=0.0.0.0 \
    TURNKEEPER_PORT=8000 \
    TURNKEEPER_DATABASE_URL=sqlite:////data/turnkeeper.db \
    TURNKEEPER_API_KEYS_FILE=/data/keys.json

# A turnkeeper.toml is looked for here.
WORKDIR /data
VOLUME ["/data"]
USER 10001:10001
EXPOSE 8000
STOPSIGNAL SIGTERM

# Whether the process answers, and not whether llama-server does: a model may load for many minutes, and a restart of
# this container would not help it.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "/opt/turnkeeper/container/check_health.py"]

ENTRYPOINT ["/bin/sh", "/opt/turnkeeper/container/start.sh"]
CMD ["serve"]
