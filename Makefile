# build  the command            test   every test
# bench  every benchmark        fuzz   each fuzz target for FUZZTIME
# parity compares with gdb (docs/parity.md)
# lint   gofmt and go vet       cores  remakes testdata/cores (see testdata/README.md)
# signatures  measures signatures anew (docs/signatures.md)
# bench-triage  a batch of TRIAGE_DUMPS small cores, and peers on a part of it (docs/performance.md)
# triage-page  makes the pictures of docs/triage.md anew; needs chromium
# mutants  changes the packages that decide in one place after the other, and prints what no
#        test notices (CONTRIBUTING.md); MUTANTS="-sample 200 unwind" for flags and packages
# soak   attaches to a working process SOAK times (docs/usage.md, "Running processes")

GO ?= go
FUZZTIME ?= 10s
BENCH ?= .
CASES ?=
SOAK ?= 10000
TRIAGE_DUMPS ?= 1000
PKGS ?= ./...
MUTANTS ?=

.PHONY: build test bench cores fuzz lint parity soak signatures triage-page bench-triage mutants

build:
	CGO_ENABLED=0 $(GO) build -trimpath -tags nethttpomithttp2 -o corewalk ./cmd/corewalk

test:
	$(GO) test $(PKGS)

bench:
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(PKGS)

cores:
	testdata/make-cores.sh $(CASES)

fuzz:
	@set -e; for pkg in $$($(GO) list $(PKGS)); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "$$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

# The figures and the differences; everything the tests say when one fails.
parity:
	@set -e; export COREWALK_LONG=1; command -v gdb >/dev/null || { echo "make parity needs gdb" >&2; exit 1; }; \
	log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	if $(GO) test -count=1 -v -run '^TestGDBParity$$' ./internal/systemtest >"$$log" 2>&1 && \
	$(GO) test -count=1 -v -timeout 30m -run '^TestGDBParity$$' ./dwarfvars -args -matrix -update >>"$$log" 2>&1; then \
		grep -aE '^ *(difference|parity): |frames of [0-9]+ stacks compared|parity.md: (written|current)|^ok|^ +[a-z_]+\.go:[0-9]+: .*(is not installed|not compared)' "$$log"; \
	else cat "$$log"; exit 1; fi

mutants:
	nice $(GO) run ./internal/mutants $(MUTANTS)

soak:
	COREWALK_SOAK=$(SOAK) $(GO) test -count=1 -timeout 30m -run '^TestSoak' -v ./livestate ./internal/systemtest

# Builds the programs of testdata/src/triage, needs core_pattern=core; minutes.
signatures:
	$(GO) test -count=1 -timeout 30m -run '^TestRecord$$' ./internal/triage/similar -record all
	$(GO) test -count=1 -run '^TestMeasure$$' ./internal/triage/similar -update

triage-page:
	GO=$(GO) testdata/triage-page.sh

bench-triage:
	COREWALK_TRIAGE_DUMPS=$(TRIAGE_DUMPS) $(GO) test -count=1 -v -run '^TestBenchTriage$$' ./cmd/corewalk
	$(GO) test -run '^$$' -bench 'Large|OfWarm|Serve' -benchmem ./internal/triage/ledger ./internal/triage/signature ./internal/triage

lint:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		echo "gofmt wants to change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet $(PKGS)
