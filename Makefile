# Everyday commands. The build itself is CMake's; see CMakePresets.json for the builds that there are.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 600
FUZZ_FLAGS ?=
MINUTES ?= 10
SDK ?=
SEED ?=

# CMake and ctest take their own -j; this makefile's steps follow one another.
.NOTPARALLEL:

source_dirs := $(wildcard src include tests fuzz bench examples docs/snippets)
cxx_files = find $(source_dirs) \( -name '*.h' -o -name '*.hpp' -o -name '*.cc' \) -print0

.PHONY: help
help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | expand -t 14

.PHONY: deps
deps:  ## Install the Debian packages that are missing
	@scripts/deps

.PHONY: build
build: deps  ## Build everything into build/ (programs in build/bin)
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS)

.PHONY: build-asan
build-asan: deps
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan -j $(JOBS) --target asan_tests

.PHONY: build-tsan
build-tsan: deps
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan -j $(JOBS) --target tsan_tests

.PHONY: build-fuzz
build-fuzz: deps
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz -j $(JOBS) --target fuzzers

.PHONY: test
test: build build-asan build-tsan build-fuzz  ## Run all tests, also under sanitizers, with a short fuzz run
	@ctest --test-dir build --output-on-failure --no-tests=error -j $(JOBS)

.PHONY: demo
demo: deps  ## Build a small shop, kill it in the middle of its orders, and check what becomes of them
	@echo "demo: building (the first time takes a few minutes)"
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target orders pawl
	@examples/orders/demo --keep build/bin

.PHONY: packages
packages: deps  ## Make the packages of the SDKs in dist/: a wheel, one for npm, a jar (SDK="python": only that)
	@JOBS=$(JOBS) scripts/packages $(SDK)

.PHONY: bench
bench: build  ## Run the benchmarks of the core and of the store (of the engine: pawl bench)
	@test -x bench/run || { echo "bench/run is missing" >&2; exit 1; }
	@bench/run

.PHONY: fmt
fmt: deps  ## Format all C++ files
	@$(cxx_files) | xargs -0r clang-format-19 -i

.PHONY: check-format
check-format:
	@$(cxx_files) | xargs -0r clang-format-19 --dry-run -Werror

.PHONY: check-layers
check-layers:
	@python3 tools/check_layers.py

.PHONY: check-docs
check-docs:
	@python3 tools/check_docs.py

# Test files are left out of clang-tidy: gtest's macros expand to code that its rules are not meant for.
.PHONY: lint
lint: build check-format check-layers check-docs  ## Check format, layers, documentation, and clang-tidy on src/
	@run-clang-tidy-19 -quiet -j $(JOBS) -p build '$(CURDIR)/src/(?!.*_(test|bench)\.cc$$).*\.cc$$'

.PHONY: fuzz
fuzz: build-fuzz  ## Run each fuzz harness for FUZZ_SECONDS (600)
	@for harness in build-fuzz/bin/fuzz_*; do \
	  $(MAKE) --no-print-directory fuzz-one FUZZER=$$(basename $$harness); \
	done

# New inputs go to build-fuzz/corpus; fuzz/corpus holds the committed ones and is only read. An input that fails is
# left as build-fuzz/<harness>-crash-...
.PHONY: fuzz-one
fuzz-one:
	@mkdir -p build-fuzz/corpus/$(FUZZER)
	@build-fuzz/bin/$(FUZZER) $(FUZZ_FLAGS) -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 \
	  -verbosity=1 -print_final_stats=1 -artifact_prefix=build-fuzz/$(FUZZER)- \
	  $(addprefix -dict=,$(wildcard fuzz/$(FUZZER).dict)) \
	  build-fuzz/corpus/$(FUZZER) $(wildcard fuzz/corpus/$(FUZZER))

.PHONY: mutants
mutants: deps  ## Break the core on purpose, one change at a time, and see the tests notice
	@python3 tests/mutants/run.py --jobs $(JOBS)

.PHONY: crash
crash: deps  ## Kill a process at each boundary of the reference workflows, also twice, and let writes fail
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target crash_host
	@tests/crash/boundaries.py build/bin/crash_host --jobs $(JOBS)
	@tests/crash/boundaries.py build/bin/crash_host --jobs $(JOBS) --twice 300
	@tests/crash/boundaries.py build/bin/crash_host --jobs $(JOBS) --errors 300

.PHONY: soak
soak: deps  ## Let a fleet on PostgreSQL have accidents for MINUTES (10), with SEED (any), and check what becomes of its runs
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target fleet
	@build/bin/fleet --seconds $$((60 * $(MINUTES))) $(addprefix --seed ,$(SEED))

.PHONY: clean
clean:  ## Remove all build directories
	rm -rf build build-release build-asan build-tsan build-fuzz build-mutants dist
