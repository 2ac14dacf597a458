# The gateway and the libraries it needs, and nothing else: no shell, no packages.
#
#   docker build -t heartline .
#   docker run --rm -p 127.0.0.1:7700:7700 -e HEARTLINE__AUTH__HS256_SECRET=... heartline
#
# Settings come by the environment (docs/operations.md). Without a Redis it keeps everything in its volume.

FROM rust:1.95-bookworm AS build
WORKDIR /build
COPY Cargo.toml Cargo.lock ./
COPY deploy/heartline.toml deploy/heartline.toml
COPY web-demo web-demo
COPY src src
# Cargo looks whether the benchmark is there that it is told of.
COPY benches benches
# What was built stays in the cache, so the program is taken out of it in the same step. Without the names of its
# functions a panic would tell nobody where; the lines, three quarters of the file, stay behind.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --release --locked --bin heartline && \
    mkdir -p /image/etc /image/var/lib/heartline && \
    strip --strip-debug -o /image/heartline target/release/heartline
# The libraries of this system that it was linked with, the loader among them; how names are looked up; who it runs as.
RUN ldd /image/heartline | grep -o '/[^ ]*' | xargs cp --parents --dereference --target-directory=/image && \
    echo 'hosts: files dns' >/image/etc/nsswitch.conf && \
    echo 'heartline:x:65532:65532:::' >/image/etc/passwd

FROM scratch
COPY --from=build /image /
COPY --from=build --chown=65532:65532 /image/var/lib/heartline /var/lib/heartline
USER 65532:65532
VOLUME /var/lib/heartline
# All addresses of the container: what is reached from outside is what is published. The demo is for loopback only.
ENV HEARTLINE__STORE__DATA_DIR=/var/lib/heartline \
    HEARTLINE__SERVER__LISTEN=0.0.0.0:7700 \
    HEARTLINE__DEMO__ENABLED=false
EXPOSE 7700
ENTRYPOINT ["/heartline"]
CMD ["serve"]
