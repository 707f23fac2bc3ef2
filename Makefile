# Everything runs in .venv, which is made on first use from requirements.lock.
# Needed on the machine: make, and Python 3.11 or newer with venv.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready

# The first of these that runs and can make a virtual environment; PYTHON=... chooses another.
PYTHON ?= $(shell for python in python3.11 python3.13 python3.12 python3.14 python3; do \
	$$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$python && break; done)

# Settings of the tools: take the Python that is here, and look for no newer pyright.
export UV_PYTHON_DOWNLOADS := never
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

# The project is installed as a link to this directory, so a tree that was moved or copied is installed anew.
ifneq ($(shell cat $(READY) 2>/dev/null),$(CURDIR))
.PHONY: $(READY)
endif

.PHONY: help
help: ## Show the targets
	@sed -n 's/^\([a-z]*\):.*## /\1	/p' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(READY) ## Run the demo; MODEL=... names a model to use instead of the scripted one
	$(PY) examples/demo.py $(if $(MODEL),--model '$(MODEL)')

.PHONY: test
test: $(READY) ## Run the tests in two processes; ARGS=... is passed to pytest (-n0: one process)
	$(PY) -m pytest -n 2 --dist loadfile $(ARGS)

.PHONY: check
check: $(READY) ## Check formatting, lint, types, and that requirements.lock belongs to pyproject.toml
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m pyright
	$(PY) scripts/lock.py --check

.PHONY: bench
bench: $(READY) ## Run the benchmarks
	$(PY) benchmarks/run.py
	$(PY) benchmarks/authoring.py
	$(PY) benchmarks/pausing.py
	$(PY) benchmarks/catalog.py
	$(PY) benchmarks/durable.py

.PHONY: docs
docs: $(READY) ## Run the examples in the README and the docs
	$(PY) -m pytest tests/test_docs.py

.PHONY: soak
soak: $(READY) ## Run the long tests
	$(PY) -m pytest -m soak --timeout 3600 $(ARGS)

.PHONY: format
format: $(READY) ## Format the code, and fix what ruff can fix
	$(PY) -m ruff check --fix-only .
	$(PY) -m ruff format .

.PHONY: lock
lock: $(PY) ## Update requirements.lock from pyproject.toml; UPGRADE=all or ="PACKAGE ..." takes newer versions
	$(PY) scripts/lock.py $(if $(UPGRADE),--upgrade $(filter-out all,$(UPGRADE)))

.PHONY: clean
clean: ## Remove .venv, builds and caches
	rm -rf $(VENV) build dist .hypothesis .pytest_cache .ruff_cache
	find src tests benchmarks examples scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# An environment that has uv and nothing else. uv too comes with the version and hashes in the lock.
$(PY):
	@test -n '$(PYTHON)' || { echo 'No Python 3.11 or newer with venv was found: set PYTHON=...' >&2; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(PY) scripts/lock.py --show uv > $(VENV)/uv.txt
	$(PY) -m pip install --quiet --no-deps --requirement $(VENV)/uv.txt

$(READY): pyproject.toml requirements.lock | $(PY)
	$(PY) -m uv pip sync --quiet --require-hashes --python $(PY) requirements.lock
	$(PY) -m uv pip install --quiet --python $(PY) --no-deps --no-build-isolation --editable .
	@echo '$(CURDIR)' > $@
