# build  corewalk and corewalkd   test   every test that needs Go and git only, but the long ones, and what was skipped
# test-long  every test, the long ones too: gdb parity, damaged files, whole libraries; half an hour. TURN=3/12: a twelfth of the long ones
# test-rights  the tests that depend on who runs them
# test-tools  the tests that need compilers, debuggers and servers, which make deps installs
# test-race  the packages that share state, with the race detector; TURN=1/4: a quarter of them
# deps   installs what tests compare with, on Debian; a test that is skipped names its package
# bench  every benchmark        fuzz   each fuzz target for FUZZTIME
# parity compares with gdb (docs/parity.md)
# lint   gofmt, go vet, staticcheck and the laws, and the types for every port   cores  remakes testdata/cores (see testdata/README.md)
# signatures  measures signatures again (docs/signatures.md)
# bench-peers  corewalk and its peers on large and small workloads, into docs/performance.md and docs/reference/figures.md; the first time half an hour
#        of building, 2 GB in BENCH_DIR; BENCH_SIZE=small, PEERS="-only W1,W3 -runs 20" prints them only
# bench-triage  a batch of TRIAGE_DUMPS small cores, and peers on a part of it (docs/performance.md)
# triage-page  remakes the pictures of docs/triage.md; needs chromium
# mutants  tests the tests: changes the code in one place at a time, and prints what no test
#        notices (CONTRIBUTING.md); MUTANTS="-sample 200 unwind" for flags and packages
# torture  reports of TORTURE damaged files of every format: no panic, no hang, bounded memory (CONTRIBUTING.md)
# release  archives for all targets, deb and rpm packages for Linux, with SHA256SUMS, in dist; VERSION=1.2.3, else what git describes
# vsix   builds and packs the extension for Visual Studio Code, dist/corewalk.vsix; needs npm
# soak   attaches to a busy process SOAK times (docs/performance.md, "Live processes")

GO ?= go
FUZZTIME ?= 10s
BENCH ?= .
CASES ?=
SOAK ?= 10000
TRIAGE_DUMPS ?= 1000
BENCH_DIR ?= $(HOME)/.cache/corewalk-bench
BENCH_SIZE ?= full
PEERS ?= $(if $(filter full,$(BENCH_SIZE)),-update)
# STATICCHECK is not a tool in go.mod, so that users of the module do not get its dependencies.
STATICCHECK ?= $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
PKGS ?= ./...
MUTANTS ?=
TORTURE ?= 1000000

.PHONY: build test test-32 test-long test-rights test-tools test-race services test-services deps bench cores fuzz lint parity soak signatures triage-page bench-peers bench-triage mutants torture release vsix

# The linker writes a program through a mapping, which leaves the kernel single pages of it. A copy, as an installation
# makes it, starts a twentieth to a tenth faster.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -tags nethttpomithttp2 -o ./ ./cmd/...
	@for p in ./cmd/*/; do p=$$(basename $$p); cp $$p $$p.copy && mv $$p.copy $$p || exit 1; done

# The same sources give the same bytes.
release:
	$(GO) run ./internal/release -o dist $(if $(VERSION),-version $(VERSION))

vsix:
	cd editors/vscode && npm ci --silent --no-audit --no-fund && mkdir -p ../../dist && npm run package -- -o ../../dist/corewalk.vsix

# tests runs tests, and says what was skipped and why; or what failed.
define tests
log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
if $(1) >"$$log" 2>&1; then \
	LC_ALL=C awk -f .ci/passed.awk "$$log"; \
else awk -f .ci/failed.awk "$$log"; exit 1; fi
endef

# What go test -vet=off ./... runs: that says nothing of tests that were skipped. What lint runs vets.
FLAGS ?=
test:
	@$(call tests,$(GO) test -v -vet=off $(FLAGS) $(PKGS))

# test-rights runs the tests that depend on who runs them.
test-rights:
	@$(call tests,$(GO) test -v -vet=off -count=1 $$($(GO) run ./internal/testsof Getuid Geteuid Credential))

# test-tools runs the tests that need compilers, debuggers, servers and other programs of this machine, which make test leaves out.
test-tools:
	@$(call tests,COREWALK_TOOLS=1 $(GO) test -v -vet=off -count=1 $$($(GO) run ./internal/testsof Tools Compile LLVM Cargo StartPostgres StartS3))

# LONG are the names by which tests ask which run it is.
LONG = IsLong IsLongRun Long LongPart Turn TurnPart Sample SampleOnly Half HalfOnly Rounds
EACH = IsLongRun,LongPart,TurnPart,Rounds
# TURN is a part of the long run, K/N: the tests that take long, without the others, of which it is the turn.
TURN ?=
# DEAREST begin first: one that takes minutes and begins last would leave the other processors idle.
DEAREST = $(addprefix ./,internal/systemtest internal/command internal/runtimes/hotspot internal/release internal/runtimes/native internal/service internal/runtimes/python \
	internal/torture dwarfvars internal/runtimes/v8 internal/runtimes/golang)
# As tests also wait, for processes that they started, one package more than there are processors is tested at a time.
AT_ONCE ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# SKIP is a pattern of tests that are left out.
SKIP ?=
test-long:
	@$(call tests,COREWALK_LONG=$(or $(TURN),1) $(GO) test -vet=off -count=1 -p $(AT_ONCE) -timeout 30m -v $(if $(SKIP),-skip '$(SKIP)') $(if $(TURN),$$($(GO) run ./internal/testsof -turn $(TURN) -each $(EACH) $(LONG)),$(filter $(if $(filter ./...,$(PKGS)),%,$(PKGS)),$(DEAREST)) $(PKGS)))

# SHARED are the packages that share state: of files that many reports read, of what is kept, of sessions and services. Those of TURN are every Nth.
SHARED = . corestate dwarfvars libstate livestate modules session steppers symlookup unwind $(addprefix internal/,service service/store/sqlite \
	triage triage/ledger/sqlite triage/signature triage/similar format/dwarf format/elffile $(patsubst internal/%/,%,$(sort $(dir $(wildcard internal/files/*/*_test.go)))))
# Without what asks one thing of each dump after the other.
ALIKE = TestGDBParity|TestSlim|TestSlimMinidumps|TestConvert|TestCapture|TestTextOnly|TestLeaveRounds|TestSameAsReport|TestKeepsNoMore|TestGoldenWalks|TestPack|TestPackOfImage|TestDamagedFiles|TestRedact|TestEndlessNotes
test-race: # whole reports take longest, and begin
	COREWALK_TOOLS=1 CGO_ENABLED=1 $(GO) test -race -vet=off -short -timeout 30m -skip '^($(ALIKE))$$' ./internal/systemtest \
		$(patsubst %,./%,$(if $(TURN),$(shell printf '%s\n' $(SHARED) | awk 'BEGIN { split("$(TURN)", t, "/") } NR % t[2] == t[1]'),$(SHARED)))

# The packages of Debian that tests need. What they are for: compilers and libraries of other architectures
# (gcc, clang, cross), tools that are compared with (gdb, objdump, llvm-pdbutil, cabextract ...), a server of
# debuginfod, a browser for the page of triage.
DEPS = mono-mcs mono-runtime libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0 gcc g++ gcc-multilib clang lld llvm clang-19 libclang-rt-19-dev lld-19 llvm-19 libc++-dev libc++abi-dev gdb gdb-multiarch binutils binutils-multiarch \
	elfutils libc6-dbg lldb-19 musl-tools qemu-user qemu-user-static libc6-dev-arm64-cross libgcc-12-dev-arm64-cross libstdc++-12-dev-arm64-cross librust-parking-lot-dev librust-tokio-dev librust-async-std-dev delve debuginfod rpm shellcheck cabextract gcab chromium strace util-linux zsh fish groff-base jq lua5.1 lua5.2 lua5.3 lua5.4 luajit neovim php-cli php-fpm postgresql mingw-w64-tools gcc-mingw-w64-x86-64 \
	$(foreach a,aarch64-linux-gnu arm-linux-gnueabihf riscv64-linux-gnu powerpc-linux-gnu powerpc64-linux-gnu \
	powerpc64le-linux-gnu s390x-linux-gnu mips-linux-gnu mipsel-linux-gnu mips64el-linux-gnuabi64 m68k-linux-gnu \
	sparc64-linux-gnu alpha-linux-gnu hppa-linux-gnu,binutils-$(a)) \
	$(foreach a,arm64 armhf riscv64 powerpc ppc64 ppc64el s390x mips mipsel mips64el m68k sparc64 alpha hppa,libc6-$(a)-cross)

# Packages that a release or an architecture of Debian does not have are left out, and named.
deps:
	@command -v apt-get >/dev/null || { echo "make deps needs apt-get: install by hand: $(DEPS)" >&2; exit 1; }
	apt-get update
	@have=; for p in $(DEPS); do if apt-cache show "$$p" >/dev/null 2>&1; then have="$$have $$p"; else echo "not in this Debian: $$p"; fi; done; \
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $$have

# test-32 runs the readers' tests where an int has 32 bits: as 386 where the kernel runs that, else as arm by qemu-user.
READERS = ./internal/format/... ./unwind/... ./libstate ./corestate ./steppers ./symlookup ./modules
test-32:
	@d=$$(mktemp -d); trap 'rm -rf "$$d"' EXIT; printf 'package main\n\nfunc main() {}\n' >"$$d/main.go"; export CGO_ENABLED=0; \
	if GOARCH=386 $(GO) run "$$d/main.go" 2>/dev/null; then COREWALK_TOOLS=1 GOARCH=386 $(GO) test -vet=off -short $(FLAGS) $(READERS); \
	elif command -v qemu-arm-static >/dev/null; then COREWALK_TOOLS=1 GOARCH=arm $(GO) test -exec qemu-arm-static -vet=off -short $(FLAGS) $(READERS); \
	else echo "this kernel runs no programs of 386, and qemu-user-static is not installed: nothing was tested" >&2; exit 1; fi

# services installs the servers that tests need; test-services runs those tests, which are among those of test-long.
SERVERS = postgresql chromium
VERSITYGW = github.com/versity/versitygw/cmd/versitygw@v1.8.0
services:
	@if ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 && command -v chromium >/dev/null; then :; elif command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
		apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $(SERVERS); \
	else echo "not installed, its tests are skipped: $(SERVERS)" >&2; fi
	@command -v versitygw >/dev/null || [ -x "$$HOME/go/bin/versitygw" ] || GOBIN="$$HOME/go/bin" timeout 550 $(GO) install $(VERSITYGW) || \
		echo "not installed, its tests are skipped: versitygw" >&2

test-services: services
	$(GO) test ./internal/triage/ledger/... ./internal/service/store/... ./internal/service/objects/... ./internal/service/fleet/...
	COREWALK_LONG=1 $(GO) test -count=1 -run "^(TestFleet|TestPage)" ./internal/service

bench:
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(PKGS)

cores:
	testdata/make-cores.sh $(CASES)

fuzz:
	COREWALK_TOOLS=1 nice $(GO) run ./internal/fuzzing -time $(FUZZTIME) $(PKGS)

# The figures and the differences; everything the tests say when one fails.
parity:
	@set -e; export COREWALK_LONG=1; command -v gdb >/dev/null || { echo "make parity needs gdb" >&2; exit 1; }; \
	log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	if $(GO) test -count=1 -v -run '^TestGDBParity$$' ./internal/systemtest >"$$log" 2>&1 && \
	$(GO) test -count=1 -v -timeout 30m -run '^TestGDBParity$$' ./dwarfvars -args -matrix -update >>"$$log" 2>&1; then \
		grep -aE '^ *(difference|parity): |frames of [0-9]+ stacks compared|parity.md: (written|current)|^ok|^ +[a-z_]+\.go:[0-9]+: .*(is not installed|not compared)' "$$log"; \
	else awk -f .ci/failed.awk "$$log"; exit 1; fi

mutants:
	COREWALK_TOOLS=1 nice $(GO) run ./internal/mutants $(MUTANTS)

torture:
	nice $(GO) run ./internal/torture -n $(TORTURE) -corpus "$$HOME/.cache/corewalk-torture"

soak:
	COREWALK_SOAK=$(SOAK) $(GO) test -count=1 -timeout 30m -run '^TestSoak' -v ./livestate ./internal/systemtest

# Builds the programs of testdata/src/triage, needs core_pattern=core; minutes.
signatures:
	$(GO) test -count=1 -timeout 30m -run '^TestRecord$$' ./internal/triage/similar -record all
	$(GO) test -count=1 -run '^TestMeasure$$' ./internal/triage/similar -update

triage-page:
	GO=$(GO) testdata/triage-page.sh

# The machine should have nothing else to do.
bench-peers: build
	$(GO) run ./internal/benchpeers -corewalk ./corewalk -dir '$(BENCH_DIR)' -size $(BENCH_SIZE) $(PEERS)

bench-triage:
	COREWALK_TRIAGE_DUMPS=$(TRIAGE_DUMPS) $(GO) test -count=1 -v -run '^TestBenchTriage$$' ./internal/command
	$(GO) test -run '^$$' -bench 'Large|OfWarm|Serve' -benchmem ./internal/triage/ledger/sqlite ./internal/triage/signature ./internal/triage

lint:
	@unformatted=$$(gofmt -l .); if [ -n "$$unformatted" ]; then \
		echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet $(PKGS)
	$(STATICCHECK) $(PKGS)
	COREWALK_LONG=1 $(GO) test -count=1 ./internal/lint
	COREWALK_LONG=1 $(GO) test -count=1 -run '^TestPorts$$' ./internal/release
