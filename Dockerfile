# The service without its embedded database: in a container DATABASE_URL is needed.

FROM node:24.21.0-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json ./
COPY client/package.json client/
COPY crypto/package.json crypto/
# No package's script is needed for the build; the binaries of the compiler and the bundler are optional packages, so those are not left out here.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY README.md ./
COPY scripts/compile.mjs scripts/bundle.mjs scripts/swc-options.cjs scripts/
COPY src src
COPY client/src client/src
COPY crypto/src crypto/src
COPY examples examples
COPY bench bench
RUN npm run build && npm prune --ignore-scripts --omit=dev --omit=optional

# Neither npm nor a compiler: node alone, and an init process that reaps and passes signals on.
FROM debian:12.15-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates libatomic1 libstdc++6 tini \
  && rm -rf /var/lib/apt/lists/* \
  && install -d -o 65532 -g 65532 -m 0700 /data /srv/backups
COPY --from=build /usr/local/bin/node /usr/local/bin/node
WORKDIR /service
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist/service dist/service
COPY ops/health.mjs ops/health.mjs
COPY ops/healthcheck.mjs ops/healthcheck.mjs
COPY ops/watchdog.mjs ops/watchdog.mjs

ENV NODE_ENV=production HOST=0.0.0.0 PORT=8787 DATA_DIR=/data
USER 65532:65532
EXPOSE 8787
VOLUME /data
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 CMD ["node", "ops/healthcheck.mjs"]
ENTRYPOINT ["tini", "--"]
# Container engines do not restart what is merely unhealthy: the watchdog ends a service that has stopped responding.
CMD ["node", "--max-old-space-size=32", "ops/watchdog.mjs", "node", "--max-old-space-size=1024", "--max-semi-space-size=8", "--no-allocation-site-pretenuring", "dist/service/main.js"]
