# vapshadow: "make help" tells what there is. Building needs Go alone; what the tests start is in CONTRIBUTING.md.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION) -X main.commit=$(COMMIT)

PKG      ?= ./...
FUZZTIME ?= 20000x
COUNT    ?= 1
GOTOOL   := go tool -modfile=tools/go.mod

# The command whose output examples/expected.txt holds. The README shows the same line.
EXAMPLE := bin/vapshadow replay --policies examples/policies --cluster examples/cluster --audit-log examples/audit.log.gz

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  PKG=./engine/... narrows test, race, lint, fuzz and benchmarks to some packages (now $(PKG))."

.PHONY: build
build: ## Build bin/vapshadow
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/vapshadow ./cmd/vapshadow

.PHONY: test
test: vet ## Vet, run all tests, and lint
	go test -count=$(COUNT) $(PKG)
	$(MAKE) --no-print-directory lint

.PHONY: race
race: ## Run all tests with the race detector (needs a C compiler)
	go test -race -count=$(COUNT) $(PKG)

.PHONY: vet
vet: ## Run go vet
	go vet $(PKG)

.PHONY: lint
lint: ## Run golangci-lint; its first build takes a minute or two
	$(GOTOOL) golangci-lint run $(PKG)

.PHONY: fuzz
fuzz: ## Run FUZZTIME of each fuzz target (now 20000x, a number of inputs; or a time)
	tools/fuzz $(FUZZTIME) $(PKG)

.PHONY: benchmarks
benchmarks: ## Run the benchmarks; COUNT=6 gives what benchstat compares
	@packages="$$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' $(PKG) | tools/having Benchmark)"; \
	if [ -z "$$packages" ]; then echo "no benchmarks in $(PKG)"; else \
	go test -run '^$$' -bench . -benchmem -count=$(COUNT) $$packages; fi

.PHONY: bench
bench: build ## Measure beside the targets and the apiserver's own code, into docs/performance.md; LONG=1: long runs
	go run ./internal/speed -count $(COUNT) $(if $(LONG),-long)

.PHONY: benchstat
benchstat: ## Compare two outputs of benchmarks: make benchstat OLD=old.txt NEW=new.txt
	$(GOTOOL) benchstat $(OLD) $(NEW)

.PHONY: generate
generate: build ## Write what is made from something else: examples/expected.txt, the dashboards of Grafana
	$(EXAMPLE) > examples/expected.txt
	go generate ./dashboards/...

.PHONY: screenshots
screenshots: ## Take the pictures of docs/screenshots anew, with Chromium
	go test ./dashboards/web -run TestScreenshots -count=1 -screenshots

.PHONY: verify
verify: build ## Check that what is generated is up to date, and that go.mod is tidy
	@mkdir -p artifacts
	$(EXAMPLE) > artifacts/example.txt
	diff -u examples/expected.txt artifacts/example.txt
	@if [ -f README.md ] && ! grep -qF '$(EXAMPLE)' README.md; then \
	echo 'README.md does not show the example as it is run: $(EXAMPLE)' >&2; exit 1; fi
	go mod tidy -diff
	go -C tools mod tidy -diff
	go -C deploy/tools mod tidy -diff

.PHONY: clean
clean: ## Remove what was built here (Go's caches stay)
	rm -rf bin artifacts
