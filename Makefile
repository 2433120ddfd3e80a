# All targets need Python 3.11 or newer and, for the io_uring engine, Rust (cargo).
# Everything else is installed into .venv by packaging/clone.py, each part once: for the
# demo what users have, for the others what developers need.

PYTHON ?= python3
VENV := .venv
CRATES := plugins/io_uring/engine plugins/witness/device
OPTIONS :=
WORKERS := 4
SECONDS := 600
PYTEST = $(VENV)/bin/python -m pytest $(OPTIONS)

.PHONY: demo fast test test-engine test-python test-long test-vm test-tools soak
.PHONY: ready-demo ready-dev ready-dist
.PHONY: docs dist dist-test clean
.PHONY: lint format types layers promises seams engine
MAKEFLAGS += --jobs=2

demo: ready-demo
	@examples/demo

# Lint, types, and the tests that start no process.
fast: lint
	$(PYTEST) -n 2 -m 'not slow and not machine and not long'

# All but what takes long or needs a virtual machine. The last line says how it went.
# The engine's tests, which wait most of their minute, run beside the first of the others.
test: ready-dev
	@$(MAKE) --no-print-directory test-engine & engine=$$!; \
	  $(MAKE) --no-print-directory test-python; python=$$?; \
	  wait $$engine || { echo "FAILED: of the engine: $$(cat build/engine-failed)."; exit 1; }; \
	  exit $$python

# The programs that the tests use for real.
test-tools:
	@tests/install_tools

# Drawn examples for so many seconds; what is found is kept as an @example.
soak: ready-dev
	$(VENV)/bin/python tests/support/soak.py $(SECONDS) $(OPTIONS)

# Those that measure time may be disturbed: what fails is run once more.
test-engine: ready-dev
	@tests/engine_tests $(CRATES)

# Two workers compute while two of them wait for I/O. What fails is run once more,
# alone, and named.
test-python: ready-dev
	$(PYTEST) -n $(WORKERS) --again --ignore tests/vm -m 'not long'

# Labs whose hosts, links and databases fail, whole examples, packages. Most of it waits.
test-long: ready-dev
	$(PYTEST) -n $(WORKERS) --again --ignore tests/vm -m long

test-vm: ready-dev
	$(PYTEST) -n 2 --again tests/vm

# The documents as a site that needs no network; a broken link is an error.
docs: ready-dev
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict

# All that is published, in dist/; KEY, a key of ssh, signs the checksums.
dist: ready-dist
	$(VENV)/bin/python packaging/dist.py $(if $(KEY),--key $(KEY))

# Installs that on other systems, and runs the demo there. As root; SUDO=sudo.
dist-test: ready-dist
	$(SUDO) $(VENV)/bin/python packaging/try_out.py
	$(SUDO) $(VENV)/bin/python packaging/try_clone.py

lint: format types layers promises seams engine

format: ready-dev
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check --no-cache .

types: ready-dev
	$(VENV)/bin/mypy

layers: ready-dev
	$(VENV)/bin/lint-imports --no-cache >/dev/null || $(VENV)/bin/lint-imports --no-cache

# Each has a test, and stands in its document.
promises: ready-dev
	$(VENV)/bin/python tests/support/check_promises.py

# Tests import what packages export, and nothing behind that.
seams: ready-dev
	$(VENV)/bin/python tests/support/check_seams.py

engine: ready-dev
	for crate in $(CRATES); do (cd $$crate && cargo fmt --check && \
	  cargo clippy --all-targets --locked --quiet -- -D warnings) || exit 1; done

ready-demo ready-dev ready-dist:
	@command -v $(PYTHON) >/dev/null || \
	  { echo 'Python 3.11 or newer is needed, and $(PYTHON) was not found'; exit 1; }
	@$(PYTHON) packaging/clone.py $(@:ready-%=%)

clean:
	rm -rf $(VENV) $(CRATES:=/target) plugins/io_uring/ioplan_io_uring/bin plugins/witness/ioplan_witness/bin
