# The gateway and the libraries it needs, and nothing else: no shell, no packages.
#
#   docker build -t heartline .
#   docker run --detach --name heartline --stop-timeout 20 --publish 127.0.0.1:7700:7700 \
#     --volume heartline-data:/var/lib/heartline --env HEARTLINE__AUTH__HS256_SECRET=... heartline
#
# Settings come by the environment (docs/operations.md). Without a Redis all positions are in the volume: give it a name, or
# they go with the container.

FROM rust:1.95-bookworm AS build
WORKDIR /build
COPY Cargo.toml Cargo.lock ./
COPY deploy/heartline.toml deploy/heartline.toml
COPY web-demo web-demo
COPY README.md ./
COPY docs docs
COPY src src
# Cargo looks whether the benchmarks and the load generator are there that it is told of.
COPY benches benches
COPY tests/loadgen tests/loadgen
# What the metric heartline_build_info and the first line of the log say: --build-arg HEARTLINE_BUILD_COMMIT=$(git rev-parse HEAD)
ARG HEARTLINE_BUILD_COMMIT=unknown
# The build output stays in the cache, so the program is copied out of it in the same step.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --release --locked --features fleet && \
    mkdir /image && \
    cp target/release/heartline /image
# The libraries of this system that it was linked with, the loader among them; the certificates of public authorities, for
# deliveries to subscribers; how names are looked up; who it runs as. Group 0 may write the data, too: some platforms choose the
# user, and always this group.
RUN ldd /image/heartline | grep -o '/[^ ]*' | xargs cp --parents --dereference --target-directory=/image && \
    cp --parents --dereference --target-directory=/image /etc/ssl/certs/ca-certificates.crt && \
    echo 'hosts: files dns' >/image/etc/nsswitch.conf && \
    echo 'heartline:x:65532:65532:::' >/image/etc/passwd && \
    mkdir -p /image/var/lib/heartline && \
    chown 65532:0 /image/var/lib/heartline && \
    chmod 0770 /image/var/lib/heartline

FROM scratch
COPY --from=build /image /
COPY --from=build --chown=65532:0 /image/var/lib/heartline /var/lib/heartline
USER 65532:65532
VOLUME /var/lib/heartline
# All addresses of the container: what is reached from outside is what is published. Probes and metrics (7701) are asked for
# by the platform, from outside of the container. Control stays on its loopback. The demo is for loopback only.
ENV HEARTLINE__STORE__DATA_DIR=/var/lib/heartline \
    HEARTLINE__SERVER__LISTEN=0.0.0.0:7700 \
    HEARTLINE__ADMIN__LISTEN=0.0.0.0:7701 \
    HEARTLINE__DEMO__ENABLED=false
EXPOSE 7700 7701
# There is no shell to run anything else.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/heartline", "health"]
ENTRYPOINT ["/heartline"]
CMD ["serve"]
