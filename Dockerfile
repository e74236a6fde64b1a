# Debian, not Alpine: the Temporal SDK's native part needs glibc.
# The digest is what is built on; the tag says what it is: docs/deploy.md.
FROM node:24.21.0-bookworm-slim@sha256:2fe369e969550cde8e867afc3fe370b260140cab4a23d467074295b42163d553 AS node

FROM node AS build
WORKDIR /build
COPY package.json package-lock.json ./
# No scripts, since this image is the Node that one of them would download.
RUN npm ci --no-audit --no-fund --ignore-scripts
COPY . .
RUN node scripts/build.ts

FROM node AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund --ignore-scripts \
  # The SDK brings its native part for five platforms, 30 MB each.
  && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 \
    ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -r {} + \
  # Agents files in the image import `holdfast`.
  && ln -s .. node_modules/holdfast

FROM node
LABEL org.opencontainers.image.title="holdfast" \
  org.opencontainers.image.description="Durable agent orchestrator on Temporal: worker, gateway and command" \
  org.opencontainers.image.licenses="Apache-2.0"
# The native part trusts the system's certificates, which this image comes without.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/* \
  && ln -s /app/bin/holdfast.js /usr/local/bin/holdfast \
  && install --directory --owner=1000 --group=1000 /data
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY --from=build /build/package.json /build/LICENSE ./
COPY --from=build /build/bin bin
COPY --from=build /build/dist dist
COPY deploy/is-ready.mjs deploy/
# A gateway's check is another one: it has a port of its own.
ENV HOLDFAST_HEALTH_PORT=8081
HEALTHCHECK --interval=15s --timeout=10s --start-period=60s --retries=4 CMD ["node", "/app/deploy/is-ready.mjs", "8081"]
# For what agents write; a volume that is mounted here first takes over its owner.
WORKDIR /data
# The image's user `node`, by number: Kubernetes can check that it isn't root.
USER 1000:1000
ENTRYPOINT ["holdfast"]
CMD ["--help"]
