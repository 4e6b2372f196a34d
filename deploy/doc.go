// Package deploy holds what it takes to run vapshadow: manifests for Kubernetes (base, overlays), and the configuration
// of docker-compose.yml. Its tests hold these, the Dockerfile and docker-compose.yml to what the tools say that read them.
package deploy
