# Everything is made inside the checkout: the environment, pip's cache and the tools' caches.

PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/installed
PIP := $(BIN)/python -m pip install --quiet --constraint .ci/constraints.txt

export PIP_CACHE_DIR := $(CURDIR)/.venv/pip-cache
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONPATH

# pip asks rustc for its version, and a rustup that finds no folder would make one in HOME.
ifeq ($(wildcard $(or $(RUSTUP_HOME),$(HOME)/.rustup)),)
export RUSTUP_HOME := $(CURDIR)/.venv/rustup
endif

.PHONY: help install demo test test-hosts smoke test-browser check faults bench docs clean
.DELETE_ON_ERROR:

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP) ## Make .venv with everything in it, at the pinned versions

# hatchling comes first so that the build itself uses the pinned version.
# The launcher is copied into the environment, so a change to it installs again.
$(STAMP): pyproject.toml .ci/constraints.txt server/_launch.py
	@test -x $(BIN)/pip || { echo "Making .venv (about a minute)"; $(PYTHON) -m venv .venv; }
	@$(PIP) hatchling
	@$(PIP) --no-build-isolation --editable '.[dev]'
	@touch $@

demo: install ## Replay a recorded session: a block, an advance, a completed plan
	@$(BIN)/turnkeeper demo

test: install ## Run the tests
	@$(BIN)/python -m pytest -q

test-hosts: install ## Run the real agent hosts offline (fetches them with npm, about 1 GB)
	@$(BIN)/python -m tests.hosts.programs
	@$(BIN)/python -m pytest -q tests/hosts

smoke: install ## Write docs/smoke-ledger.md anew from the real programs
	@$(BIN)/python -m tests.hosts.programs ledger
	@$(BIN)/python -m tests.hosts.smoke

test-browser: install ## Look at the report's page in a real Chromium
	@$(BIN)/python -m pytest -q tests/browser/test_report.py

check: install ## Lint, types, import rules, generated files, tidiness
	@$(BIN)/ruff check --quiet
	@$(BIN)/ruff format --quiet --check
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python -m handlers.docs --check
	@$(BIN)/python -m pytest -q tests/test_tidiness.py

faults: install ## Kill the server 200 times at random bytes
	@TURNKEEPER_KILLS=200 $(BIN)/python -m pytest -q tests/faults

# SAMPLES: recordings to make the corpus of. PEERS: a node_modules with ccusage and tokscale in it.
SAMPLES ?= server/demo_data
bench: install ## Measure against a stock server, and the report against other programs
	@$(BIN)/python -m tests.bench
	@$(BIN)/python -m tests.bench.report $(SAMPLES) $(addprefix --peers ,$(PEERS))

docs: install ## Write the generated pages and schemas again
	@$(BIN)/python -m handlers.docs

clean: ## Remove .venv, caches and built packages
	@rm -rf .venv dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis \
		.coverage htmlcov
	@find server handlers core tests -name __pycache__ -type d -prune -exec rm -rf {} +
