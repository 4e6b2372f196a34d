# syntax=docker/dockerfile:1
#
# vapshadow as an image: one static program, no shell, no root.
#
#   docker build --build-arg VERSION="$(git describe --tags --always)" --build-arg COMMIT="$(git rev-parse HEAD)" -t vapshadow .
#
# It runs with a read-only root file system. The one folder that may have to be writable is the working directory,
# /var/lib/vapshadow, and only where rows go to a SQLite file there: mount a volume that user 65532 may write to. With
# Postgres as the store nothing is written to disk.

FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=unknown
ARG COMMIT=unknown
RUN mkdir -p /out/data && \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-X main.version=$VERSION -X main.commit=$COMMIT" -o /out/vapshadow ./cmd/vapshadow

FROM gcr.io/distroless/static-debian12:nonroot
LABEL org.opencontainers.image.title="vapshadow" \
      org.opencontainers.image.description="Whom would this ValidatingAdmissionPolicy have stopped?" \
      org.opencontainers.image.source="https://github.com/vapshadow/vapshadow" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/vapshadow /usr/local/bin/vapshadow
# A new volume that is mounted here takes over the owner.
COPY --from=build --chown=65532:65532 /out/data /var/lib/vapshadow
WORKDIR /var/lib/vapshadow
# As a number, so that Kubernetes can see that it is not root.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/vapshadow"]
