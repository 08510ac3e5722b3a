# Everything here works on a fresh machine with Go, gcc, git and make.

GO      ?= go
TAGS    := sqlite_fts5
GOFLAGS_ALL := -tags $(TAGS)
LINT    := bin/golangci-lint
LINT_VERSION := v2.15.0
FUZZTIME ?= 20s
BENCHTIME ?= 200ms
SOAK ?= 10m

.DEFAULT_GOAL := build
.PHONY: build run show test soak lint fuzz bench golden arch tidy-check clean help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

build: ## build bin/plan
	$(GO) build $(GOFLAGS_ALL) -o bin/plan ./cmd/plan

run: build ## build, and run the demo: four phases, no key, no network
	bin/plan demo

show: build ## prove it on foreign code: an old release of a Go module, fifteen scripted runs
	testdata/show/run.sh

test: ## run all tests, with the race detector and in random order
	$(GO) test $(GOFLAGS_ALL) -race -shuffle=on -count=1 -timeout 20m ./...

$(LINT):
	GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

soak: ## kill runs at random times for SOAK (10m), and batches 50 times, and resume them
	SOAK=$(SOAK) $(GO) test $(GOFLAGS_ALL) -count=1 -timeout 0 -v -run '^TestSoak$$' ./cmd/plan
	BATCH_KILLS=50 $(GO) test $(GOFLAGS_ALL) -count=1 -timeout 0 -v -run '^TestBatchSurvivesKills$$' ./cmd/plan

lint: $(LINT) ## run the linters
	$(LINT) run --build-tags $(TAGS) ./...

arch: ## prove the floors of the house
	$(GO) test $(GOFLAGS_ALL) -count=1 ./internal/arch

fuzz: ## run every fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list $(GOFLAGS_ALL) ./...); do \
	  for target in $$($(GO) test $(GOFLAGS_ALL) -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$target"; \
	    $(GO) test $(GOFLAGS_ALL) -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; \
	  done; \
	done

bench: ## run the benchmarks, each beside its baseline
	$(GO) test $(GOFLAGS_ALL) -run '^$$' -bench . -benchmem -benchtime $(BENCHTIME) ./...

golden: ## rewrite the golden files; look at the diff before you commit
	$(GO) test $(GOFLAGS_ALL) -count=1 ./engine ./review ./cmd/plan -update

tidy-check: ## fail if go.mod or go.sum would change
	$(GO) mod tidy -diff

clean: ## remove what was built
	rm -rf bin
