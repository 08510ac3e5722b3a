# Everything here works on a fresh machine with Go, gcc, git and make.

GO      ?= go
TAGS    := sqlite_fts5
GOFLAGS_ALL := -tags $(TAGS)
LINT    := bin/golangci-lint
LINT_VERSION := v2.15.0
FUZZTIME ?= 20s
BENCHTIME ?= 100ms
BENCHCOUNT ?= 6
BENCHES := ^Benchmark(Append|BareInsert|Runs|Command|Turn|Request|Edit|Count|Choose)$$
BENCHFACTS ?= 1000000
BENCHRUNS ?= 9
BENCHFILES ?= 50000
BENCHSTAT := bin/benchstat
BENCHSTAT_VERSION := v0.0.0-20251208221838-04cf7a2dca90
SOAK ?= 10m
KILLS := KillMatrix|KillMatrixOfAQuestion|BatchSurvivesKills
SAMPLED_TESTS := $(KILLS) StatusStays WhatIsStopped LastWords ChangesAreSeenAndUndone FalseDones Findings \
  ClaudeCost Scripts ScriptsWithTheRaceDetector Escapes DyingAnywhere OldHome NoFlippedByteGetsOut \
  EveryByteIsProven RescueOfWhatIsLeft PlanningGoesOnAnywhere AWindowIsLearntFromARefusal CompactionMakesRoom \
  ACrowd KilledMoves PowerCut PowerCutOfWorks NothingIsLeftOfTheKilled AnswersAreBounded QueueThroughTrouble \
  ARunOutlivesItsMachine TheQueueIsACluster ExamplesOfExtending AReviewSeesTheWorkAsACommit \
  BudgetBeforeTheRequest CarriedReasoning Counted FailedStreamIsBilled Families ForkByAnother Mended \
  ParkedByTheServer ReasoningOnly RefusedAnswer ReviewByAnotherHouse SlowIsNotDead SummaryByAnother \
  SwitchInTheMiddle TooLong WrongKey
SPACE := $(subst ,, )
SAMPLED := ^Test($(subst $(SPACE),|,$(strip $(SAMPLED_TESTS))))$$
JOBS ?= 1000
# The last commit before texts were handed from phase to phase.
TOKENS_BEFORE ?= 39e4451

.DEFAULT_GOAL := build
.PHONY: build run show show-batch show-machines bench-machines test soak lint fuzz bench bench-batch bench-tokens bench-compare golden arch tidy-check dist clean help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

build: ## build bin/plan
	$(GO) build $(GOFLAGS_ALL) -o bin/plan ./cmd/plan

run: build ## build, and run the demo: four phases, no key, no network
	bin/plan demo

show: build ## prove it on foreign code: an old release of a Go module, fifteen scripted runs
	testdata/show/run.sh

show-batch: build ## the same for batches: one scripted change over ten Go modules, with their own tests
	testdata/show/batch.sh

# The race detector is there where goroutines are, as packages.sh finds them; make soak
# plays whole runs of a program that was built with it. Without DWARF and symbols (-s) a test
# links in half the time, and make lint has vet look at the tests. A process with the detector
# would sleep a second at its end without GORACE. Walls start from a program that is only that,
# which takes a third of the time, and a fifth of what one with the detector takes; the tests of
# sandbox, the scripts of walls and all of make soak have the program itself. Repositories get no
# sample hooks: half of what git init costs.
test: export GORACE := atexit_sleep_ms=0
test: export PLAN_TEST_WALL := $(CURDIR)/bin/wall
test: export GIT_TEMPLATE_DIR := $(CURDIR)/internal/gittest/template
test: ## run the tests, with the race detector and in random order; the longest play a sample (make soak plays all)
	$(GO) build -tags $(TAGS) -o bin/wall ./internal/sampling/wall
	internal/sampling/inmemory.sh $(GO) test $(GOFLAGS_ALL) -race -vet=off -ldflags=-s -shuffle=on -count=1 -p 3 -timeout 20m \
	  $$(internal/sampling/packages.sh raced)
	internal/sampling/inmemory.sh $(GO) test $(GOFLAGS_ALL) -vet=off -ldflags=-s -shuffle=on -count=1 -parallel 8 -timeout 20m \
	  $$(internal/sampling/packages.sh others)

$(LINT):
	GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

soak: ## play whole what make test samples, by the kind; then kill runs for SOAK (10m)
	PLAN_TEST=all $(GO) test $(GOFLAGS_ALL) -race -count=1 -timeout 0 -v -run '$(SAMPLED)' ./checks ./cmd/plan ./engine ./host/walls ./internal/arch ./loop ./memory ./model/wires ./sandbox
	$(GO) test $(GOFLAGS_ALL) -race -count=1 -timeout 0 ./engine ./phases ./sandbox
	PLAN_TEST=all $(GO) test $(GOFLAGS_ALL) -race -count=1 -timeout 0 ./worktree
	$(GO) test -tags $(TAGS),browser -count=1 -run '^TestInABrowser' ./face/web
	SOAK=$(SOAK) $(GO) test $(GOFLAGS_ALL) -count=1 -timeout 0 -v -run '^TestSoak$$' ./cmd/plan

lint: $(LINT) ## run the linters
	$(LINT) run --build-tags $(TAGS) ./...
	@set -e; $(call vet_for,darwin,tree-sitter)
	@set -e; $(call vet_for,windows,tree-sitter|golang.org/x/sys/unix|internal/(scratch|intent)|cmd/plan/signals)

# What macOS is given must compile there, as far as that can be told without its C compiler, and
# so must what needs no Unix on Windows. $(call vet_for,OS,WITHOUT): packages are left out that
# the expression WITHOUT fits, or one that they are made of.
vet_for = echo "vet for $(1)"; GOOS=$(1) CGO_ENABLED=0 $(GO) vet $$(GOOS=$(1) CGO_ENABLED=0 $(GO) list -e -test \
	  -f '{{.ImportPath}} {{.Deps}}' ./... | awk -v without='$(2)' '{ whole = $$0; sub(/(_test|\.test)$$/, "", $$1); \
	  all[$$1] } whole ~ without { left[$$1] } END { for (p in all) if (!(p in left)) print p }')

arch: ## prove the floors of the house
	$(GO) test $(GOFLAGS_ALL) -count=1 ./internal/arch

fuzz: ## run every fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list $(GOFLAGS_ALL) ./...); do \
	  for target in $$($(GO) test $(GOFLAGS_ALL) -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$target"; \
	    $(GO) test $(GOFLAGS_ALL) -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg; \
	  done; \
	done

bench: build ## measure plan beside its floor; writes bench/RESULTS.md, bench/go.txt and plots
	$(GO) build $(GOFLAGS_ALL) -o bin/floor ./bench/floor
	$(GO) build $(GOFLAGS_ALL) -o bin/bench ./bench
	$(GO) test $(GOFLAGS_ALL) -p 1 -run '^$$' -bench '$(BENCHES)' -benchmem -benchtime $(BENCHTIME) -count $(BENCHCOUNT) \
	  ./loop ./memory ./model/... ./sandbox ./skills ./tools > bin/go.txt || { cat bin/go.txt; exit 1; }
	$(GO) test $(GOFLAGS_ALL) -run '^$$' -bench '^Benchmark(Resume|Fold)$$/^10{3,4}$$' -benchmem -benchtime $(BENCHTIME) -count $(BENCHCOUNT) \
	  ./engine >> bin/go.txt || { cat bin/go.txt; exit 1; }
	PLAN_BENCH_FACTS=$(BENCHFACTS) $(GO) test $(GOFLAGS_ALL) -run '^$$' -bench '^BenchmarkRecall$$' -benchtime 200x \
	  ./memory >> bin/go.txt || { cat bin/go.txt; exit 1; }
	PLAN_REGRET_SVG='$(CURDIR)/bench/regret-%.svg' $(GO) test $(GOFLAGS_ALL) -run '^$$' -bench '^BenchmarkRegret$$' -benchtime 1x \
	  ./skills >> bin/go.txt || { cat bin/go.txt; exit 1; }
	grep -E '^(goos|goarch|pkg|cpu|Benchmark)' bin/go.txt > bench/go.txt
	bin/bench -go bench/go.txt -o bench/RESULTS.md -n $(BENCHRUNS) -files $(BENCHFILES)

$(BENCHSTAT):
	GOBIN=$(CURDIR)/bin $(GO) install golang.org/x/perf/cmd/benchstat@$(BENCHSTAT_VERSION)

bench-batch: build ## measure JOBS (1000) jobs in batches, 1 to 512 at a time; writes bench/BATCH.md
	$(GO) build $(GOFLAGS_ALL) -o bin/bench-batch ./bench/batch
	bin/bench-batch -jobs $(JOBS) -o bench/BATCH.md

bench-machines: build ## measure JOBS (here 24) jobs over 1, 2, 4 and 8 workers of a queue; writes bench/MACHINES.md
	$(GO) build $(GOFLAGS_ALL) -o bin/bench-batch ./bench/batch
	bin/bench-batch -machines 1,2,4,8 -jobs $(if $(filter command line environment,$(origin JOBS)),$(JOBS),24) -o bench/MACHINES.md

show-machines: build ## the same small, in two minutes: a queue, 1 and 4 workers
	$(GO) build $(GOFLAGS_ALL) -o bin/bench-batch ./bench/batch
	bin/bench-batch -machines 1,4 -jobs 16

bench-tokens: build ## count what each way sends, now and at TOKENS_BEFORE; writes bench/TOKENS.md
	$(GO) build $(GOFLAGS_ALL) -o bin/bench-tokens ./bench/tokens
	rm -rf bin/before && mkdir -p bin/before && git archive $(TOKENS_BEFORE) | tar -x -C bin/before
	cd bin/before && $(GO) build $(GOFLAGS_ALL) -o ../plan-before ./cmd/plan
	rm -rf bin/before
	bin/bench-tokens -before bin/plan-before -before-name $(TOKENS_BEFORE) -o bench/TOKENS.md

bench-compare: $(BENCHSTAT) ## compare bench/go.txt with the last commit's
	@git show HEAD:bench/go.txt > bin/go-before.txt 2>/dev/null || { echo "the last commit has no bench/go.txt to compare with: run make bench and commit what it writes"; exit 1; }
	@test -f bench/go.txt || { echo "there is no bench/go.txt: run make bench first"; exit 1; }
	$(BENCHSTAT) bin/go-before.txt bench/go.txt

golden: ## rewrite the golden files; look at the diff before you commit
	$(GO) test $(GOFLAGS_ALL) -count=1 ./engine ./review ./model/catalog ./face/render -update

tidy-check: ## fail if go.mod or go.sum would change
	$(GO) mod tidy -diff

dist: ## make archives of plan for Linux in bin/dist: amd64, and arm64 where there is aarch64-linux-gnu-gcc
	internal/dist/archives.sh bin/dist

clean: ## remove what was built
	rm -rf bin
