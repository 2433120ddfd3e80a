# All targets need Python 3.11 or newer and, for the io_uring engine, cargo.
# Everything else is installed into .venv on the first call: for the demo what
# users have, for the rest what developers need.

PYTHON ?= python3
VENV := .venv
USER_READY := $(VENV)/ready
READY := $(VENV)/ready-dev
DIST_READY := $(VENV)/ready-dist
CRATES := plugins/io_uring/engine plugins/witness/device
SOURCES := pyproject.toml plugins/io_uring/engine/build_hook.py \
  $(wildcard $(CRATES:=/Cargo.*) packaging/prebuilt_engine.py) \
  $(shell find $(CRATES:=/src) -name '*.rs')
OPTIONS :=
WORKERS := 4
SECONDS := 600
PYTEST = $(VENV)/bin/python -m pytest $(OPTIONS)

.PHONY: demo fast test test-engine test-python test-long test-vm test-tools soak
.PHONY: docs dist dist-test clean
.PHONY: parser lint format types layers engine
MAKEFLAGS += --jobs=2

demo: $(USER_READY)
	@examples/demo

# Lint, types, and the tests that start no process.
fast: lint
	$(PYTEST) -n 2 -m 'not slow and not machine and not long'

# All but what takes long or needs a virtual machine. The last line says how it went.
# The engine's tests, which wait most of their minute, run beside the first of the others.
test: $(READY)
	@$(MAKE) --no-print-directory --keep-going test-engine test-python

# The programs that the tests use for real.
test-tools:
	@tests/install_tools

# Drawn examples for so many seconds; what is found is kept as an @example.
soak: $(READY)
	$(VENV)/bin/python tests/support/soak.py $(SECONDS) $(OPTIONS)

# Those that measure time may be disturbed: what fails is run once more.
ENGINE_TESTS = cargo test --release --locked --quiet --no-fail-fast -- --test-threads=1
test-engine: $(READY)
	for crate in $(CRATES); do (cd $$crate && { $(ENGINE_TESTS) || \
	  { echo 'DISTURBED? The engine is tested once more.'; $(ENGINE_TESTS); }; }) \
	  || exit 1; done

# Two workers compute while two of them wait for I/O. What fails is run once more,
# alone, and named.
test-python: $(READY)
	$(PYTEST) -n $(WORKERS) --again --ignore tests/vm -m 'not long'

# Labs whose hosts, links and databases fail, whole examples, packages. Most of it waits.
test-long: $(READY)
	$(PYTEST) -n $(WORKERS) --again --ignore tests/vm -m long

test-vm: $(READY)
	$(PYTEST) -n 2 --again tests/vm

# The documents as a site that needs no network; a broken link is an error.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict

# All that is published, in dist/; KEY, a key of ssh, signs the checksums.
dist: $(DIST_READY)
	$(VENV)/bin/python packaging/dist.py $(if $(KEY),--key $(KEY))

# Installs that on other systems, and runs the demo there. As root; SUDO=sudo.
dist-test: $(DIST_READY)
	$(SUDO) $(VENV)/bin/python packaging/try_out.py

lint: format types layers engine

format: $(READY)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check --no-cache .

types: $(READY)
	$(VENV)/bin/mypy

layers: $(READY)
	$(VENV)/bin/lint-imports --no-cache >/dev/null || $(VENV)/bin/lint-imports --no-cache

engine: $(READY)
	for crate in $(CRATES); do (cd $$crate && cargo fmt --check && \
	  cargo clippy --all-targets --locked --quiet -- -D warnings) || exit 1; done

# For editors, after a change of the grammar. Needs tree-sitter's program:
# cargo install tree-sitter-cli --version 0.27.1 --locked --no-default-features
parser: $(READY)
	$(VENV)/bin/python editors/make/tree_sitter_grammar.py
	cd editors/tree-sitter-ioplan && tree-sitter generate --abi 14 grammar.json
	cd editors/tree-sitter-ioplan && \
	  sha256sum <grammar.json | cut -d ' ' -f 1 >src/grammar.sha256

$(USER_READY): $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python packaging/prebuilt_engine.py
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(READY): $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(USER_READY) $@

$(DIST_READY): $(USER_READY)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -e '.[dist]'
	@touch $@

clean:
	rm -rf $(VENV) $(CRATES:=/target) plugins/io_uring/ioplan_io_uring/bin dsl/ioplan/witness/bin
