# `make demo` and `make test` need Python 3.11 or newer and, for the io_uring
# engine, cargo. Everything else is installed into .venv on the first call.

PYTHON ?= python3
VENV := .venv
READY := $(VENV)/ready
SOURCES := pyproject.toml plugins/io_uring/engine/build_hook.py \
  plugins/io_uring/engine/Cargo.lock \
  $(shell find plugins/io_uring/engine/src -name '*.rs')

.PHONY: demo test lint clean

demo: $(READY)
	@examples/demo

test: $(READY)
	$(VENV)/bin/python -m pytest -n 2 --dist loadfile
	cargo test --release --locked --quiet --manifest-path plugins/io_uring/engine/Cargo.toml \
	  -- --test-threads=1

lint: $(READY)
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-cache >/dev/null || $(VENV)/bin/lint-imports --no-cache
	cd plugins/io_uring/engine && cargo fmt --check
	cd plugins/io_uring/engine && cargo clippy --all-targets --locked --quiet -- -D warnings

$(READY): $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) plugins/io_uring/engine/target plugins/io_uring/ioplan_io_uring/bin
